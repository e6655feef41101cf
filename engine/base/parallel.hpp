// Splitting work among threads. Results must not depend on the number of threads.
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>

namespace gh {

/// How many threads work at a time: one per available processor, unless `use_threads` set it.
unsigned thread_count();
/// 0: one thread per processor. Call this before anything runs in parallel.
void use_threads(unsigned count);

/// Calls work(i, worker) once for every i below `count`, on several threads including the caller's.
/// Hands out numbers in order. `worker` is below thread_count() and does one thing at a time. The
/// first exception stops the work and is rethrown.
void in_parallel(std::size_t count,
                 const std::function<void(std::size_t i, std::size_t worker)>& work);

/// How many equal parts to cut `n` things into so that every thread gets one. No part is smaller
/// than `least`, and there is at least one.
inline std::size_t parts_of(std::size_t n, std::size_t least) {
  return std::clamp<std::size_t>(n / least, 1, thread_count());
}

/// Calls work(part, begin, end) for each of `parts` equal parts of `n` things, on several threads.
template <class Work>
void in_parts(std::size_t n, std::size_t parts, Work work) {
  in_parallel(parts, [&](std::size_t part, std::size_t) {
    work(part, n * part / parts, n * (part + 1) / parts);
  });
}

/// Calls work(first, end, worker) for all rows below `rows`, `chunk` at a time, on several threads.
template <class Work>
void in_chunks(std::size_t rows, std::size_t chunk, Work work) {
  in_parallel((rows + chunk - 1) / chunk, [&](std::size_t i, std::size_t worker) {
    work(i * chunk, std::min(rows, (i + 1) * chunk), worker);
  });
}

}  // namespace gh

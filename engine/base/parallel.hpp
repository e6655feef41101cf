// Work shared out among threads. What is computed must not depend on how many there are.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace gh {

/// How many threads work at one time: as many as there are processors for the program, unless
/// `use_threads` said otherwise.
unsigned thread_count();
/// 0: as many as there are processors. Call it before anything runs in parallel.
void use_threads(unsigned count);

/// Calls work(i, worker) for every i below `count`, each once, on several threads, among them the
/// caller's. Numbers are handed out in order. `worker` is below thread_count(): a worker does one
/// thing at a time. The first exception ends it and is thrown on.
template <class Work>
void in_parallel(std::size_t count, Work work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  const auto run = [&](std::size_t worker) {
    try {
      for (std::size_t i; !failed && (i = next++) < count;) work(i, worker);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t worker = 1; worker < std::min<std::size_t>(thread_count(), count); ++worker) {
      try {
        helpers.emplace_back(run, worker);
      } catch (const std::system_error&) {
        break;  // no more threads are to be had: those that there are do the rest
      }
    }
    run(0);
  }
  if (failure) std::rethrow_exception(failure);
}

/// How many equal parts `n` things are cut into so that each thread has one to work on: none of
/// less than `least`, but always one.
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

/// Calls work(first, end, worker) for all rows below `rows`, `chunk` of them at a time, likewise.
template <class Work>
void in_chunks(std::size_t rows, std::size_t chunk, Work work) {
  in_parallel((rows + chunk - 1) / chunk, [&](std::size_t i, std::size_t worker) {
    work(i * chunk, std::min(rows, (i + 1) * chunk), worker);
  });
}

}  // namespace gh

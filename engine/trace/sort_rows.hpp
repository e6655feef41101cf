// Sorts rows and their columns on all threads. The result is that of a stable sort: it does not
// depend on the number of threads or the chunk size.
#pragma once
#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "trace/trace.hpp"

namespace gh {

/// The sorted order of rows; null if they are in order already.
using RowOrder = std::unique_ptr<Row[]>;

/// How many rows a thread processes at a time: few enough to stay in the processor's cache, and
/// enough to be worth a thread.
inline constexpr std::size_t rows_a_chunk = std::size_t{1} << 16;

/// When two runs are merged, how many of the first `rows` come from `a`, found by bisection.
template <class Before>
std::size_t taken_from_first(std::span<const Row> a, std::span<const Row> b, std::size_t rows,
                             Before before) {
  std::size_t least = rows - std::min(rows, b.size()), most = std::min(rows, a.size());
  while (least < most) {
    const std::size_t middle = least + (most - least) / 2;
    if (before(b[rows - middle - 1], a[middle]))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}

/// Merges neighboring runs of `from` pairwise into `to` and returns the resulting runs. Each run is
/// sorted; `runs` holds where each begins, and the end. Every thread finds which rows of two runs
/// make up its chunk of the result.
template <class Before>
std::vector<std::size_t> merge_pairs(const Row* from, Row* to, const std::vector<std::size_t>& runs,
                                     Before before, std::size_t chunk) {
  // Two runs, and the offset in their merged result where the chunk begins.
  struct Piece {
    std::size_t first, second, end, at;
  };
  std::vector<std::size_t> longer{0};
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i + 1 < runs.size(); i += 2) {
    const std::size_t end = runs[std::min(i + 2, runs.size() - 1)];
    for (std::size_t at = 0; at < end - runs[i]; at += chunk)
      pieces.push_back({runs[i], runs[i + 1], end, at});
    longer.push_back(end);
  }
  in_parallel(pieces.size(), [&](std::size_t i, std::size_t) {
    const auto [first, second, end, at] = pieces[i];
    const std::span<const Row> a(from + first, second - first), b(from + second, end - second);
    const std::size_t until = std::min(at + chunk, end - first);
    const std::size_t a_first = taken_from_first(a, b, at, before);
    const std::size_t a_end = taken_from_first(a, b, until, before);
    const auto part_a = a.subspan(a_first, a_end - a_first);
    const auto part_b = b.subspan(at - a_first, until - a_end - (at - a_first));
    Row* const out = to + first + at;
    const bool in_order =
        part_a.empty() || part_b.empty() || !before(part_b.front(), part_a.back());
    if (in_order)
      std::copy(part_b.begin(), part_b.end(), std::copy(part_a.begin(), part_a.end(), out));
    else
      std::merge(part_a.begin(), part_a.end(), part_b.begin(), part_b.end(), out, before);
  });
  return longer;
}

/// The rows below `rows`, stably sorted by `before(a, b)`. A report is usually a few tables in
/// sequence, each already sorted, so this finds the sorted runs and merges them. If all rows are in
/// order, it only compares each with the next.
template <class Before>
RowOrder sorted_rows(std::size_t rows, Before before, std::size_t chunk = rows_a_chunk) {
  constexpr std::size_t most_runs = 4;  // per chunk; a chunk with more is sorted
  if (rows == 0) return nullptr;
  // For each chunk, the rows that must come before the row above them.
  std::vector<std::vector<std::size_t>> breaks((rows + chunk - 1) / chunk);
  in_chunks(rows, chunk, [&](std::size_t first, std::size_t end, std::size_t) {
    std::vector<std::size_t>& found = breaks[first / chunk];
    for (std::size_t i = std::max<std::size_t>(first, 1); i < end && found.size() <= most_runs; ++i)
      if (before(static_cast<Row>(i), static_cast<Row>(i - 1))) found.push_back(i);
  });
  if (std::all_of(breaks.begin(), breaks.end(), [](const auto& found) { return found.empty(); }))
    return nullptr;

  RowOrder order = std::make_unique_for_overwrite<Row[]>(rows);
  in_chunks(rows, chunk, [&](std::size_t first, std::size_t end, std::size_t) {
    std::iota(order.get() + first, order.get() + end, static_cast<Row>(first));
    std::vector<std::size_t>& found = breaks[first / chunk];
    if (found.size() <= most_runs) return;
    std::stable_sort(order.get() + first, order.get() + end, before);
    found.clear();
  });

  std::vector<std::size_t> runs{0};
  for (std::size_t c = 0; c < breaks.size(); ++c) {
    const std::size_t first = c * chunk;
    if (c > 0 && before(order[first], order[first - 1])) runs.push_back(first);
    for (const std::size_t at : breaks[c])
      if (at != first) runs.push_back(at);
  }
  runs.push_back(rows);

  RowOrder merged = std::make_unique_for_overwrite<Row[]>(rows);
  while (runs.size() > 2) {
    runs = merge_pairs(order.get(), merged.get(), runs, before, chunk);
    order.swap(merged);
  }
  return order;
}

/// Applies such an order to a column, with a buffer for all its rows. An empty column stays empty.
template <class T>
void reorder_column(const RowOrder& order, std::size_t rows, std::byte* buffer,
                    std::vector<T>& column) {
  if (column.empty()) return;
  T* const to = reinterpret_cast<T*>(buffer);
  in_chunks(rows, rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
    for (std::size_t i = first; i < end; ++i) to[i] = column[order[i]];
  });
  in_chunks(rows, rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
    std::copy(to + first, to + end, column.begin() + static_cast<std::ptrdiff_t>(first));
  });
}

/// Sorts all rows of a kind of event by `before(a, b)`, stably. All columns use the same buffer in
/// turn, because allocating memory takes longer than filling it.
template <class Events, class Before>
void sort_rows(Events& events, Before before) {
  const std::size_t rows = events.size();
  const RowOrder order = sorted_rows(rows, before);
  if (!order) return;
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(rows * sizeof(std::int64_t));
  each_column(
      [&](auto column, auto& values) {
        static_assert(sizeof(values[0]) <= sizeof(std::int64_t));
        if constexpr (is_recorded(column.contents))
          reorder_column(order, rows, buffer.get(), values);
      },
      events);
}

}  // namespace gh

// Rows put in order, and columns with them, by all threads. The order is that of a stable sort: it
// depends neither on the number of threads nor on the size of a chunk.
#pragma once
#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Rows in an order of theirs; null where they stand in it already.
using RowOrder = std::unique_ptr<Row[]>;

/// How many rows a thread works on at a time: few enough to stay in a processor's cache, and enough
/// to be worth a thread.
inline constexpr std::size_t rows_a_chunk = std::size_t{1} << 16;

/// How many of the first `rows` of two runs merged come from `a`, found by bisection.
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

/// Merges the neighbours among `runs` of `from` two by two into `to`, and returns the runs there.
/// Each run is in order by itself; `runs` holds where each begins, and the end. Every thread finds
/// which rows of two runs make up its chunk of what they become.
template <class Before>
std::vector<std::size_t> merge_pairs(const Row* from, Row* to, const std::vector<std::size_t>& runs,
                                     Before before, std::size_t chunk) {
  // Two runs, and from where on the chunk fills what they become.
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

/// The rows below `rows` in the order of `before(a, b)`, of equals the lower first. A report is
/// mostly a few tables one after the other, each in order by itself: runs that are in order are
/// found, and merged. Where all rows are in order, that costs one look at each.
template <class Before>
RowOrder sorted_rows(std::size_t rows, Before before, std::size_t chunk = rows_a_chunk) {
  constexpr std::size_t most_runs = 4;  // in a chunk: one of more is sorted
  if (rows == 0) return nullptr;
  // Of each chunk: the rows that belong before the one above them.
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

/// Puts columns in such an order. All go through the same memory, one after the other: the system
/// takes longer to give memory than a processor to fill it. Empty columns stay empty.
template <class... Columns>
void reorder(const RowOrder& order, std::size_t rows, Columns&... columns) {
  if (!order) return;
  const auto moved = std::make_unique_for_overwrite<std::byte[]>(
      rows * std::max({sizeof(typename Columns::value_type)...}));
  const auto move = [&]<class T>(std::vector<T>& column) {
    if (column.empty()) return;
    T* const to = reinterpret_cast<T*>(moved.get());
    in_chunks(rows, rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
      for (std::size_t i = first; i < end; ++i) to[i] = column[order[i]];
    });
    in_chunks(rows, rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
      std::copy(to + first, to + end, column.begin() + static_cast<std::ptrdiff_t>(first));
    });
  };
  (move(columns), ...);
}

}  // namespace gh

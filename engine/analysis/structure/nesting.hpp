// How the ranges of each host thread lie within each other, and which are open at a moment.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/crews.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Framework operators rather than ranges of the program: "aten::mm", "AddmmBackward0".
bool is_operator_name(std::string_view range);

/// By NameId: which ranges are operators, by their name or by how the profiler recorded them.
std::vector<std::uint8_t> operators_of(const Trace& trace);

/// "aten::mm, op_id = 3, sizes = [...]" -> "aten::mm"
std::string_view operator_of(std::string_view range);

/// By thread: the thread that called it, whose ranges, not counting operators, tell what it works
/// for: the one of its crew with most of them. Backward runs on a thread that hardly has any, while
/// the thread that called it waits inside of its own.
std::vector<std::uint16_t> callers_of(const Trace& trace, const Crews& crews,
                                      const std::vector<std::uint8_t>& is_operator);

/// Each range points at the innermost range that was open on its thread when it began. From the
/// last range of a thread that began before a moment, these pointers lead through all ranges that
/// are open at that moment, the innermost first: a range that is open now was open whenever a later
/// one began. Those on the way that have ended are skipped; ranges of two NVTX domains may overlap
/// in part. So stacks need no sweep of their own, and no memory but a number a range.
class Nesting {
 public:
  /// `Events`: Ranges, or Frames.
  template <class Events>
  Nesting(const Events& events, std::size_t threads)
      : start_(events.start), end_(events.end), around_(events.size()) {
    sort_by_thread(events.thread, threads);
    link(events.thread, threads);
  }

  /// The rows of a thread, in order.
  std::span<const Row> of(std::uint16_t thread) const {
    return std::span(rows_).subspan(first_[thread], first_[thread + 1] - first_[thread]);
  }
  /// The range in which another began, or no_row.
  Row around(Row row) const { return around_[row]; }
  /// How many rows of a thread began before a moment; the last of them leads to those open then.
  std::size_t begun_before(std::uint16_t thread, Ns at) const {
    const std::span<const Row> own = of(thread);
    return static_cast<std::size_t>(
        std::partition_point(own.begin(), own.end(), [&](Row r) { return start_[r] < at; }) -
        own.begin());
  }
  /// Calls take(row) with a row and those around it until it returns true; returns that row, or
  /// no_row.
  template <class Take>
  Row first_from(Row row, Take take) const {
    std::size_t passed = 0;
    for (; row != no_row && passed < most_open; row = around_[row], ++passed)
      if (take(row)) return row;
    return no_row;
  }
  /// The same for those that are open at a moment, the innermost first. `last`: the last row of the
  /// thread that began until then.
  template <class Take>
  Row first_open(Row last, Ns at, Take take) const {
    return first_from(last, [&](Row r) { return end_[r] > at && take(r); });
  }
  template <class Take>
  Row first_open(std::uint16_t thread, Ns at, Take take) const {
    const std::size_t begun = begun_before(thread, at + 1);
    return begun == 0 ? no_row : first_open(of(thread)[begun - 1], at, take);
  }
  /// Of a launch, on its own thread; no_row without a call.
  template <class Take>
  Row first_on_own_thread(const Calls& calls, Row call, Take take) const {
    return call == no_row ? no_row : first_open(calls.thread[call], calls.start[call], take);
  }
  /// Calls take(span, row) for each part of a thread's time, starting from its end: the innermost
  /// of the ranges for which wanted(row) holds, no_row in none.
  template <class Wanted, class Take>
  void split(std::uint16_t thread, Span span, Wanted wanted, Take take) const {
    const std::span<const Row> own = of(thread);
    const std::size_t before = begun_before(thread, span.start + 1);
    std::size_t begun = begun_before(thread, span.end);
    for (Ns end = span.end, start = span.start; end > span.start; end = start) {
      while (begun > before && (start_[own[begun - 1]] >= end || !wanted(own[begun - 1]))) --begun;
      // The part begins where the innermost range does, or where the last one within it ended.
      start = span.start;
      const Row innermost = first_from(begun == 0 ? no_row : own[begun - 1], [&](Row row) {
        if (!wanted(row)) return false;
        const bool is_open = end_[row] >= end;
        start = std::max(start, is_open ? start_[row] : end_[row]);
        return is_open;
      });
      take(Span{start, end}, innermost);
    }
  }

 private:
  /// Real programs nest a few dozen deep. Ignore deeper ranges, so that a report that never closes
  /// its ranges costs no more than others.
  static constexpr std::size_t most_open = 256;

  void sort_by_thread(const std::vector<std::uint16_t>& thread, std::size_t threads);
  void link(const std::vector<std::uint16_t>& thread, std::size_t threads);

  const std::vector<Ns>&start_, &end_;
  std::vector<Row> around_;         // by row
  std::vector<Row> rows_;           // by thread, then in order
  std::vector<std::size_t> first_;  // by thread: where its rows begin; and their end
};

/// What is open at moments that are asked for in order of time, so that nothing is searched for.
class OpenInOrder {
 public:
  /// `Events`: those of the nesting.
  template <class Events>
  OpenInOrder(const Nesting& nesting, const Events& events, std::size_t threads)
      : nesting_(nesting), start_(events.start), next_(threads) {}
  template <class Take>
  Row first_open(std::uint16_t thread, Ns at, Take take) {
    const std::span<const Row> own = nesting_.of(thread);
    std::size_t& next = next_[thread];
    while (next < own.size() && start_[own[next]] <= at) ++next;
    return next == 0 ? no_row : nesting_.first_open(own[next - 1], at, take);
  }
  /// The first around a launch: of its own thread, or else of the thread that called it.
  template <class Take>
  Row first_around(const Calls& calls, Row call, const std::vector<std::uint16_t>& callers,
                   Take take) {
    const std::uint16_t thread = calls.thread[call];
    const Ns at = calls.start[call];
    const Row own = first_open(thread, at, take);
    if (own != no_row || callers[thread] == thread) return own;
    return first_open(callers[thread], at, take);
  }

 private:
  const Nesting& nesting_;
  const std::vector<Ns>& start_;
  std::vector<std::size_t> next_;  // by thread: into its rows
};

}  // namespace gh

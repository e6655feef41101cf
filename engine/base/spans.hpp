// Sets of time as sorted, disjoint spans, and the handful of operations that every analysis is made
// of. Knows nothing of traces: integers in, integers out. All functions are linear in what they are
// given.
#pragma once
#include <cstdint>
#include <vector>

namespace gh {

using Ns = std::int64_t;  ///< nanoseconds: a point in time of the trace, or a duration

/// A half-open stretch of time [start, end), start <= end.
struct Span {
  Ns start = 0, end = 0;
  Ns length() const { return end - start; }
  friend bool operator==(const Span&, const Span&) = default;
};

/// A set of time: spans sorted by start, none empty, none touching another (what `united` returns).
using Spans = std::vector<Span>;

/// The union of spans in any order, which may overlap or be empty. Sorts only if it has to.
Spans united(std::vector<Span> spans);

/// What lies in both.
Spans intersection(const Spans& a, const Spans& b);

/// What lies in `a` and not in `b`.
Spans difference(const Spans& a, const Spans& b);

/// The length of a set of time.
Ns total(const Spans& spans);

/// The length of what lies in both, without building it.
Ns overlap(const Spans& a, const Spans& b);

/// The length of the part of `a` that lies in `span`: logarithmic in the size of `a`, then linear
/// in the part.
Ns overlap(const Spans& a, Span span);

/// The middle value (the mean of the two middle ones when there is an even number); 0 of nothing.
Ns median(std::vector<Ns> values);

}  // namespace gh

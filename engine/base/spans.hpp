// Sets of time as sorted, disjoint spans, and the few operations from which every analysis is
// built. Knows nothing about traces: integers in, integers out. Every function is linear in its
// input.
#pragma once
#include <cstdint>
#include <vector>

namespace gh {

using Ns = std::int64_t;  ///< nanoseconds: a point in time of the trace, or a duration

/// A half-open interval [start, end), start <= end.
struct Span {
  Ns start = 0, end = 0;
  Ns length() const { return end - start; }
  friend bool operator==(const Span&, const Span&) = default;
};

/// A set of time: spans sorted by start, none empty, no two touching (what `united` returns).
using Spans = std::vector<Span>;

/// The union of spans in any order, which may overlap or be empty. Sorts only when necessary.
Spans united(std::vector<Span> spans);

/// The time in both.
Spans intersection(const Spans& a, const Spans& b);

/// The time in `a` but not in `b`.
Spans difference(const Spans& a, const Spans& b);

/// The total length of a set of time.
Ns total(const Spans& spans);

/// The length of the intersection, without building it.
Ns overlap(const Spans& a, const Spans& b);

/// The length of the part of `a` inside `span`: logarithmic in the size of `a`, then linear in that
/// part.
Ns overlap(const Spans& a, Span span);

/// The middle value (the mean of the two middle ones for an even count); 0 if there are none.
Ns median(std::vector<Ns> values);

}  // namespace gh

// Two sets of time beside each other.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/spans.hpp"

namespace gh {

inline Span span_of(Span span) { return span; }
template <class Item>
Span span_of(const Item& item) {
  return item.span;
}

/// Finds what spans of time touch, which come in order of their starts: linear in both together.
/// The items are in order and disjoint, and each is a Span or has a `span`; refers to them.
template <class Item>
class SpanCursor {
 public:
  explicit SpanCursor(const std::vector<Item>& items) : items_(&items) {}
  /// Where no span will start before `start`.
  SpanCursor(const std::vector<Item>& items, Ns start) : items_(&items) {
    at_ = static_cast<std::size_t>(
        std::partition_point(items.begin(), items.end(),
                             [&](const Item& item) { return span_of(item).end <= start; }) -
        items.begin());
  }

  /// Calls take(i, part) for every item that the span touches, with the time in both.
  template <class Take>
  void each(Span span, Take take) {
    const std::vector<Item>& items = *items_;
    while (at_ < items.size() && span_of(items[at_]).end <= span.start) ++at_;
    for (std::size_t i = at_; i < items.size() && span_of(items[i]).start < span.end; ++i)
      take(i, Span{std::max(span.start, span_of(items[i]).start),
                   std::min(span.end, span_of(items[i]).end)});
  }

  Ns overlap(Span span) {
    Ns sum = 0;
    each(span, [&](std::size_t, Span part) { sum += part.length(); });
    return sum;
  }

 private:
  const std::vector<Item>* items_;
  std::size_t at_ = 0;
};

}  // namespace gh

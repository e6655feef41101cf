#include "base/spans.hpp"

#include <algorithm>
#include <numeric>

namespace gh {

Spans united(std::vector<Span> spans) {
  const auto earlier = [](const Span& a, const Span& b) { return a.start < b.start; };
  if (!std::is_sorted(spans.begin(), spans.end(), earlier))
    std::sort(spans.begin(), spans.end(), earlier);
  std::size_t kept = 0;
  for (const Span s : spans) {
    if (s.start >= s.end) continue;
    if (kept > 0 && s.start <= spans[kept - 1].end)
      spans[kept - 1].end = std::max(spans[kept - 1].end, s.end);
    else
      spans[kept++] = s;
  }
  spans.resize(kept);
  return spans;
}

Spans intersection(const Spans& a, const Spans& b) {
  Spans both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Span common{std::max(a[i].start, b[j].start), std::min(a[i].end, b[j].end)};
    if (common.start < common.end) both.push_back(common);
    if (a[i].end < b[j].end)
      ++i;
    else
      ++j;
  }
  return both;
}

Spans difference(const Spans& a, const Spans& b) {
  Spans rest;
  std::size_t j = 0;
  for (Span s : a) {
    while (j < b.size() && b[j].end <= s.start) ++j;
    for (std::size_t k = j; k < b.size() && b[k].start < s.end; ++k) {
      if (s.start < b[k].start) rest.push_back({s.start, b[k].start});
      s.start = std::max(s.start, b[k].end);
    }
    if (s.start < s.end) rest.push_back(s);
  }
  return rest;
}

Ns total(const Spans& spans) {
  Ns sum = 0;
  for (const Span s : spans) sum += s.length();
  return sum;
}

Ns overlap(const Spans& a, const Spans& b) {
  Ns sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max<Ns>(0, std::min(a[i].end, b[j].end) - std::max(a[i].start, b[j].start));
    if (a[i].end < b[j].end)
      ++i;
    else
      ++j;
  }
  return sum;
}

Ns overlap(const Spans& a, Span span) {
  Ns sum = 0;
  auto it =
      std::partition_point(a.begin(), a.end(), [&](const Span& s) { return s.end <= span.start; });
  for (; it != a.end() && it->start < span.end; ++it)
    sum += std::min(it->end, span.end) - std::max(it->start, span.start);
  return sum;
}

Ns median(std::vector<Ns> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

}  // namespace gh

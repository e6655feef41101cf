// Checks that what one thread does is either nested or sequential.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "read/doubts/checks.hpp"

namespace gh::doubts {
namespace {

constexpr Limit most_crossing{0.02};
constexpr Limit most_by_strangers{0.2};

// For a range: it cannot partly overlap others with the same thread and nest.
std::uint8_t nest_of(const Ranges& r, Row row) { return r.nest[row]; }
template <class Stretches>
std::uint8_t nest_of(const Stretches&, Row) {
  return 1;
}

// The intervals of one thread and nest that are open, the innermost last.
struct Nest {
  std::uint8_t number;
  std::vector<Ns> ends;
};

// How many of `inner` contain the start or end of one of `outer` on the same thread, by more than
// `tolerance_ns`.
template <class Inner, class Outer>
std::int64_t count_crossing(const Trace& t, const Inner& inner, const Outer& outer,
                            Ns tolerance_ns) {
  const bool same = static_cast<const void*>(&inner) == static_cast<const void*>(&outer);
  std::vector<std::vector<Nest>> open(t.threads.size());
  const auto end_before = [&](std::vector<Ns>& ends, Ns time) {
    while (!ends.empty() && ends.back() <= time + tolerance_ns) ends.pop_back();
  };
  const auto begin = [&](Row row) {
    const std::uint8_t number = nest_of(outer, row);
    if (number == 0) return;
    std::vector<Nest>& nests = open[outer.thread[row]];
    auto nest =
        std::find_if(nests.begin(), nests.end(), [&](const Nest& n) { return n.number == number; });
    if (nest == nests.end()) nest = nests.insert(nest, Nest{number, {}});
    end_before(nest->ends, outer.start[row]);
    nest->ends.push_back(outer.end[row]);
  };
  std::int64_t crossing = 0;
  Row next = 0;
  for (Row i = 0; i < inner.size(); ++i) {
    for (; next < outer.size() && outer.start[next] < inner.start[i] && (!same || next < i);
         ++next) {
      begin(next);
    }
    const std::uint8_t number = nest_of(inner, i);
    if (number == 0) continue;
    crossing +=
        std::any_of(open[inner.thread[i]].begin(), open[inner.thread[i]].end(), [&](Nest& nest) {
          if (same && nest.number != number) return false;
          end_before(nest.ends, inner.start[i]);
          return !nest.ends.empty() && inner.end[i] > nest.ends.back() + tolerance_ns;
        });
  }
  return crossing;
}

// Times come from three collectors, each of which reads the clock before or after what it records.
// PyTorch rounds starts and lengths to microseconds independently.
constexpr Ns same_collector_ns = 1'000, rounded_ns = 2'000, other_collector_ns = 5'000;

// A few long ranges can be crossed only at their ends, so take the share of the smaller number.
template <class Inner, class Outer>
void add_crossing(Checks& checks, const Inner& inner, const Outer& outer,
                  const std::vector<Source>& unknown, const char* which) {
  const Ns tolerance_ns = unknown.size() > 1 ? other_collector_ns
                          : checks.by_torch  ? rounded_ns
                                             : same_collector_ns;
  checks.add(count_crossing(checks.trace, inner, outer, tolerance_ns),
             std::min(inner.size(), outer.size()), most_crossing,
             fmt::format("{} on the same thread, which is impossible", which), unknown);
}

void check_nesting(Checks& checks) {
  const Trace& t = checks.trace;
  add_crossing(checks, t.calls, t.calls, {Source::calls}, "CUDA calls partly overlap others");
  add_crossing(checks, t.ranges, t.ranges, {Source::ranges}, "ranges partly overlap others");
  add_crossing(checks, t.os_calls, t.os_calls, {Source::os_calls},
               "OS runtime calls partly overlap others");
  add_crossing(checks, t.calls, t.ranges, {Source::calls, Source::ranges},
               "CUDA calls and ranges partly overlap");
  add_crossing(checks, t.calls, t.os_calls, {Source::calls, Source::os_calls},
               "CUDA calls and OS runtime calls partly overlap");
  add_crossing(checks, t.os_calls, t.ranges, {Source::ranges, Source::os_calls},
               "OS runtime calls and ranges partly overlap");
}

// Threads that ended early have no name, but every thread makes OS runtime calls. So if these and
// thread names were recorded, a caller that has neither is not a thread. PyTorch names only a few.
void check_strangers(Checks& checks) {
  const Trace& t = checks.trace;
  const auto is_nameless = [](const Thread& thread) { return thread.name.empty(); };
  if (checks.by_torch || t.os_calls.size() == 0 ||
      std::all_of(t.threads.begin(), t.threads.end(), is_nameless)) {
    return;
  }
  std::vector<std::uint8_t> is_seen(t.threads.size()), calls(t.threads.size());
  for (const std::uint16_t thread : t.calls.thread) calls[thread] = 1;
  for (const std::uint16_t thread : t.os_calls.thread) calls[thread] = 1;
  checks.add(count_rows(t.ranges.size(),
                        [&](Row r) {
                          const std::uint16_t thread = t.ranges.thread[r];
                          return is_nameless(t.threads[thread]) && !calls[thread];
                        }),
             t.ranges.size(), most_by_strangers,
             "ranges belong to threads that appear nowhere else in the report");
  for (const std::uint16_t thread : t.ranges.thread) is_seen[thread] = 1;
  for (const std::uint16_t thread : t.os_calls.thread) is_seen[thread] = 1;
  checks.add(count_rows(t.calls.size(),
                        [&](Row c) {
                          const std::uint16_t thread = t.calls.thread[c];
                          return is_nameless(t.threads[thread]) && !is_seen[thread];
                        }),
             t.calls.size(), most_by_strangers,
             "CUDA calls were made by threads that appear nowhere else in the report");
}

}  // namespace

void check_threads(Checks& checks) {
  check_nesting(checks);
  check_strangers(checks);
}

}  // namespace gh::doubts

#include "analysis/host_work.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace gh {
namespace {

// Of a step; a range that lasts longer holds all that is done in it.
constexpr double whole_share = 0.9;

// How many rows a search back in time looks at: what lies further back hardly ever still lasts.
constexpr std::size_t most_looked_at = 100'000;

// The name of the events of a thread that together cover at least half of a stretch; 0 of none. Of
// one thread only the last to begin before the stretch can last into it.
template <class Events>
NameId covering(const Events& events, std::uint16_t thread, Span stretch) {
  std::map<NameId, Ns> by_name;
  const auto take = [&](Row r) {
    const Ns shared =
        std::min(events.end[r], stretch.end) - std::max(events.start[r], stretch.start);
    if (shared > 0) by_name[events.name[r]] += shared;
  };
  const auto first =
      static_cast<Row>(std::lower_bound(events.start.begin(), events.start.end(), stretch.start) -
                       events.start.begin());
  for (Row r = first; r < events.size() && events.start[r] < stretch.end; ++r)
    if (events.thread[r] == thread) take(r);
  std::size_t looked = 0;
  for (Row r = first; r-- > 0 && looked < most_looked_at; ++looked)
    if (events.thread[r] == thread) {
      take(r);
      break;
    }
  for (const auto& [name, ns] : by_name)
    if (2 * ns >= stretch.length()) return name;
  return 0;
}

// Whether the thread gave the GPU work in a range.
bool launches_in(const Trace& trace, const NameClasses& names, Row range) {
  const Calls& calls = trace.calls;
  const auto first =
      std::lower_bound(calls.start.begin(), calls.start.end(), trace.ranges.start[range]) -
      calls.start.begin();
  for (auto c = static_cast<Row>(first);
       c < calls.size() && calls.start[c] < trace.ranges.end[range]; ++c)
    if (calls.thread[c] == trace.ranges.thread[range] && launches(names.call[calls.name[c]]))
      return true;
  return false;
}

}  // namespace

HostWork::HostWork(const Trace& trace, const NameClasses& names, Ns step_ns)
    : trace_(trace), ranges_(trace.threads.size()) {
  const Ranges& ranges = trace.ranges;
  std::vector<std::vector<std::uint32_t>> open(ranges_.size());  // places, the innermost last
  for (Row r = 0; r < ranges.size(); ++r) {
    const auto length = static_cast<double>(ranges.end[r] - ranges.start[r]);
    if (ranges.nest[r] == 0 ||
        (length >= whole_share * static_cast<double>(step_ns) && launches_in(trace, names, r)))
      continue;
    RangesOfThread& own = ranges_[ranges.thread[r]];
    std::vector<std::uint32_t>& around = open[ranges.thread[r]];
    while (!around.empty() && ranges.end[own.rows[around.back()]] <= ranges.start[r])
      around.pop_back();
    own.around.push_back(around.empty() ? no_row : around.back());
    around.push_back(static_cast<std::uint32_t>(own.rows.size()));
    own.rows.push_back(r);
  }
}

HostWork::Doing HostWork::during(std::uint16_t thread, Span stretch) const {
  if (thread == no_index || stretch.length() <= 0) return {};
  if (const Doing own = of_thread(thread, stretch); own.name != 0) return own;
  for (std::uint16_t other = 0; other < ranges_.size(); ++other) {
    if (other == thread || ranges_[other].rows.empty() ||
        trace_.threads[other].process != trace_.threads[thread].process)
      continue;
    if (const Doing beside = of_thread(other, stretch); beside.name != 0) return beside;
  }
  return {};
}

HostWork::Doing HostWork::of_thread(std::uint16_t thread, Span stretch) const {
  std::vector<Share> ranges = ranges_in(thread, stretch);
  std::erase_if(ranges, [&](const Share& s) { return 2 * s.ns < stretch.length(); });
  // The innermost takes least, and of those that take the same it begins last.
  std::sort(ranges.begin(), ranges.end(), [](const Share& a, const Share& b) {
    return std::tuple(a.ns, -a.begun, a.name) < std::tuple(b.ns, -b.begun, b.name);
  });
  Doing doing{covering(trace_.calls, thread, stretch), 0};
  if (doing.name == 0) doing.name = covering(trace_.os_calls, thread, stretch);
  if (doing.name == 0 && !ranges.empty()) {
    doing.name = ranges.front().name;
    if (!is_operator(doing.name)) return doing;
  }
  const auto own = std::find_if(ranges.begin(), ranges.end(),
                                [&](const Share& s) { return !is_operator(s.name); });
  if (own != ranges.end()) doing.within = own->name;
  return doing;
}

// How much of a stretch ranges of each name cover.
std::vector<HostWork::Share> HostWork::ranges_in(std::uint16_t thread, Span stretch) const {
  const Ranges& ranges = trace_.ranges;
  const RangesOfThread& own = ranges_[thread];
  std::map<NameId, Share> by_name;
  const auto take = [&](Row r) {
    const Ns shared =
        std::min(ranges.end[r], stretch.end) - std::max(ranges.start[r], stretch.start);
    if (shared <= 0) return;
    Share& share = by_name[ranges.name[r]];
    share.name = ranges.name[r];
    // One within another of its name does not count again.
    share.ns = std::min(stretch.length(), share.ns + shared);
    share.begun = ranges.start[r];
  };
  const auto first = std::partition_point(own.rows.begin(), own.rows.end(),
                                          [&](Row r) { return ranges.start[r] < stretch.start; }) -
                     own.rows.begin();
  std::vector<Row> around;
  for (std::uint32_t at = first > 0 ? static_cast<std::uint32_t>(first - 1) : no_row; at != no_row;
       at = own.around[at])
    around.push_back(own.rows[at]);
  std::for_each(around.rbegin(), around.rend(), take);
  for (auto at = static_cast<std::size_t>(first);
       at < own.rows.size() && ranges.start[own.rows[at]] < stretch.end; ++at)
    take(own.rows[at]);
  std::vector<Share> shares;
  for (const auto& [name, share] : by_name) shares.push_back(share);
  return shares;
}

// Operators of frameworks are named by their library, what the program itself marks seldom is.
bool HostWork::is_operator(NameId name) const {
  return trace_.names[name].find("::") != std::string::npos;
}

}  // namespace gh

#include "analysis/host_work.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

namespace gh {
namespace {

// How many other threads of a process, in addition to the one that launched, and how many enclosing
// ranges to look at. No program needs that many, and a damaged report may have millions.
constexpr std::size_t most_narrators = 16, most_around = 64;

// Of a step; a range that lasts longer contains everything that is done in it.
constexpr double whole_share = 0.9;

// The name whose events of a thread together cover at least half of a span; 0 if there is none.
// `rows`: the thread's events in order of start. Of those that begin before the span, only the last
// can reach into it.
template <class Events>
NameId covering(const Events& events, std::span<const Row> rows, Span stretch) {
  std::map<NameId, Ns> by_name;
  auto row = std::partition_point(rows.begin(), rows.end(),
                                  [&](Row r) { return events.start[r] < stretch.start; });
  if (row != rows.begin()) --row;
  Row last = no_row;  // an outer call stands for those nested in it, so it may come several times
  for (; row != rows.end() && events.start[*row] < stretch.end; ++row) {
    if (std::exchange(last, *row) == *row) continue;
    const Ns shared =
        std::min(events.end[*row], stretch.end) - std::max(events.start[*row], stretch.start);
    if (shared > 0) by_name[events.name[*row]] += shared;
  }
  for (const auto& [name, ns] : by_name)
    if (2 * ns >= stretch.length()) return name;
  return 0;
}

// By thread: when it launched GPU work.
std::vector<std::vector<Ns>> launches_of_threads(const Trace& trace, const NameClasses& names) {
  const Calls& calls = trace.calls;
  std::vector<std::vector<Ns>> launched(trace.threads.size());
  for (Row c = 0; c < calls.size(); ++c)
    if (launches(names.call[calls.name[c]])) launched[calls.thread[c]].push_back(calls.start[c]);
  return launched;
}

bool any_within(const std::vector<Ns>& times, Span span) {
  const auto first = std::lower_bound(times.begin(), times.end(), span.start);
  return first != times.end() && *first < span.end;
}

}  // namespace

HostWork::HostWork(const Trace& trace, const NameClasses& names, Ns step_ns)
    : trace_(trace), threads_(trace, names), ranges_(trace.threads.size()) {
  const Ranges& ranges = trace.ranges;
  const std::vector<std::vector<Ns>> launched = launches_of_threads(trace, names);
  std::vector<std::vector<std::uint32_t>> open(ranges_.size());  // places, the innermost last
  for (Row r = 0; r < ranges.size(); ++r) {
    const Span span{ranges.start[r], ranges.end[r]};
    const bool whole =
        static_cast<double>(span.length()) >= whole_share * static_cast<double>(step_ns);
    if (ranges.nest[r] == 0 || (whole && any_within(launched[ranges.thread[r]], span))) continue;
    RangesOfThread& own = ranges_[ranges.thread[r]];
    std::vector<std::uint32_t>& around = open[ranges.thread[r]];
    while (!around.empty() && ranges.end[own.rows[around.back()]] <= ranges.start[r])
      around.pop_back();
    own.around.push_back(around.empty() ? no_row : around.back());
    around.push_back(static_cast<std::uint32_t>(own.rows.size()));
    own.rows.push_back(r);
  }
  find_narrators();
  watch();
}

void HostWork::find_narrators() {
  narrators_.resize(trace_.processes.size());
  for (std::uint16_t t = 0; t < ranges_.size(); ++t)
    if (!ranges_[t].rows.empty()) narrators_[trace_.threads[t].process].push_back(t);
  for (std::vector<std::uint16_t>& threads : narrators_) {
    if (threads.size() <= most_narrators) continue;
    std::stable_sort(threads.begin(), threads.end(), [&](std::uint16_t a, std::uint16_t b) {
      return ranges_[a].rows.size() > ranges_[b].rows.size();
    });
    threads.resize(most_narrators);
  }
}

HostWork::Doing HostWork::during(std::uint16_t thread, std::uint16_t process, Span stretch) const {
  if (stretch.length() <= 0) return {};
  if (thread != no_index)
    if (const Doing own = of_thread(thread, stretch); own.name != 0) return own;
  for (const std::uint16_t other : narrators_[process])
    if (other != thread)
      if (const Doing beside = of_thread(other, stretch); beside.name != 0) return beside;
  return {};
}

HostWork::Doing HostWork::of_thread(std::uint16_t thread, Span stretch) const {
  std::vector<Share> ranges = ranges_in(thread, stretch);
  std::erase_if(ranges, [&](const Share& s) { return 2 * s.ns < stretch.length(); });
  // The innermost takes the least time; of those that take the same, it begins last.
  std::sort(ranges.begin(), ranges.end(), [](const Share& a, const Share& b) {
    return std::tuple(a.ns, -a.begun, a.name) < std::tuple(b.ns, -b.begun, b.name);
  });
  Doing doing{covering(trace_.calls, threads_[thread].calls, stretch), 0};
  if (doing.name == 0) doing.name = covering(trace_.python_lock, lock_waits_[thread], stretch);
  if (doing.name == 0) doing.name = covering(trace_.os_calls, threads_[thread].os_calls, stretch);
  if (doing.name == 0 && !ranges.empty()) {
    doing.name = ranges.front().name;
    if (!is_operator(doing.name)) return doing;
  }
  if (doing.name == 0) doing.name = sampled_in(thread, stretch);
  const auto own = std::find_if(ranges.begin(), ranges.end(), [&](const Share& s) {
    return s.name != doing.name && !is_operator(s.name);
  });
  if (own != ranges.end()) doing.within = own->name;
  return doing;
}

// How much of a span is covered by ranges of each name.
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
    // A range nested in one of the same name does not count again.
    share.ns = std::min(stretch.length(), share.ns + shared);
    share.begun = ranges.start[r];
  };
  const auto first = std::partition_point(own.rows.begin(), own.rows.end(),
                                          [&](Row r) { return ranges.start[r] < stretch.start; }) -
                     own.rows.begin();
  std::vector<Row> around;
  for (std::uint32_t at = first > 0 ? static_cast<std::uint32_t>(first - 1) : no_row;
       at != no_row && around.size() < most_around; at = own.around[at])
    around.push_back(own.rows[at]);
  std::for_each(around.rbegin(), around.rend(), take);
  for (auto at = static_cast<std::size_t>(first);
       at < own.rows.size() && ranges.start[own.rows[at]] < stretch.end; ++at)
    take(own.rows[at]);
  std::vector<Share> shares;
  for (const auto& [name, share] : by_name) shares.push_back(share);
  return shares;
}

// Framework operators have their library in the name; a program's ranges rarely do.
bool HostWork::is_operator(NameId name) const {
  return trace_.names[name].find("::") != std::string::npos;
}

}  // namespace gh

#include "analysis/structure/host_work.hpp"

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

HostWork::HostWork(const Trace& trace, const NameClasses& names, const Nesting& nesting,
                   const std::vector<std::uint8_t>& operators, Ns step_ns)
    : trace_(trace),
      names_(names),
      threads_(trace, names),
      nesting_(nesting),
      operators_(operators),
      says_nothing_(trace.ranges.size()) {
  find_narrators(step_ns);
  watch();
}

void HostWork::find_narrators(Ns step_ns) {
  const Ranges& ranges = trace_.ranges;
  const std::vector<std::vector<Ns>> launched = launches_of_threads(trace_, names_);
  std::vector<std::size_t> telling(trace_.threads.size());  // by thread: how many ranges
  for (Row r = 0; r < ranges.size(); ++r) {
    const Span span{ranges.start[r], ranges.end[r]};
    const bool whole =
        static_cast<double>(span.length()) >= whole_share * static_cast<double>(step_ns);
    says_nothing_[r] =
        ranges.nest[r] == 0 || (whole && any_within(launched[ranges.thread[r]], span));
    telling[ranges.thread[r]] += says_nothing_[r] ? 0 : 1;
  }
  narrators_.resize(trace_.processes.size());
  for (std::uint16_t t = 0; t < telling.size(); ++t)
    if (telling[t] > 0) narrators_[trace_.threads[t].process].push_back(t);
  for (std::vector<std::uint16_t>& threads : narrators_) {
    if (threads.size() <= most_narrators) continue;
    std::stable_sort(threads.begin(), threads.end(),
                     [&](std::uint16_t a, std::uint16_t b) { return telling[a] > telling[b]; });
    threads.resize(most_narrators);
  }
}

HostWork::Doing HostWork::during(std::uint16_t thread, std::uint16_t process, Span stretch) const {
  if (stretch.length() <= 0) return {};
  if (thread != no_index)
    if (const Doing own = of_thread(thread, stretch); own.name != 0) return own;
  for (const std::uint16_t other : narrators_[process]) {
    if (other == thread) continue;
    const Doing beside = of_thread(other, stretch);
    if (beside.name != 0 && !waits(beside.name)) return beside;
  }
  return {};
}

bool HostWork::waits(NameId name) const {
  return names_.does(OsCallDoes::wait, name) || names_.does(OsCallDoes::sleep, name);
}

HostWork::Doing HostWork::during(const Idle& idle, std::uint16_t process) const {
  // A wait after which the host has not yet got ahead is not what it does now.
  if (idle.call != no_row && !idle.drained) return {trace_.calls.name[idle.call], 0};
  return during(idle.thread, process, idle.span);
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
  std::map<NameId, Share> by_name;
  const auto take = [&](Row r) {
    if (says_nothing_[r]) return;
    const Ns shared =
        std::min(ranges.end[r], stretch.end) - std::max(ranges.start[r], stretch.start);
    if (shared <= 0) return;
    Share& share = by_name[ranges.name[r]];
    share.name = ranges.name[r];
    // A range nested in one of the same name does not count again.
    share.ns = std::min(stretch.length(), share.ns + shared);
    share.begun = ranges.start[r];
  };
  const std::span<const Row> own = nesting_.of(thread);
  const std::size_t first = nesting_.begun_before(thread, stretch.start);
  std::vector<Row> around;
  nesting_.first_open(first > 0 ? own[first - 1] : no_row, stretch.start, [&](Row r) {
    if (!says_nothing_[r]) around.push_back(r);
    return around.size() == most_around;
  });
  std::for_each(around.rbegin(), around.rend(), take);
  for (std::size_t at = first; at < own.size() && ranges.start[own[at]] < stretch.end; ++at)
    take(own[at]);
  std::vector<Share> shares;
  for (const auto& [name, share] : by_name) shares.push_back(share);
  return shares;
}

}  // namespace gh

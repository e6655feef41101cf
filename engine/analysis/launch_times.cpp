#include "analysis/launch_times.hpp"

#include <utility>

#include "base/parallel.hpp"

namespace gh {

LaunchTimes::LaunchTimes(const Trace& trace, const std::vector<Row>& ops)
    : trace_(trace), ops_(ops), blocks_((ops.size() + block - 1) / block) {
  in_parts(blocks_.size(), parts_of(blocks_.size(), least_part / block),
           [&](std::size_t, std::size_t begin, std::size_t end) {
             for (std::size_t b = begin; b < end; ++b)
               each_in(b, [&](Ns at) {
                 blocks_[b].first = std::min(blocks_[b].first, at);
                 blocks_[b].last = std::max(blocks_[b].last, at);
               });
           });
  Ns first = std::numeric_limits<Ns>::max();
  for (std::size_t b = blocks_.size(); b-- > 0;)
    blocks_[b].first_from = first = std::min(first, blocks_[b].first);
}

bool LaunchTimes::any(Span s) const {
  // Where launches are far from the order of starts, it is faster to sort them.
  constexpr std::size_t most_looked = 256;
  // Nothing starts before it is launched.
  const auto from = std::partition_point(ops_.begin(), ops_.end(),
                                         [&](Row op) { return trace_.ops.start[op] < s.start; }) -
                    ops_.begin();
  bool found = false;
  for (std::size_t b = static_cast<std::size_t>(from) / block, looked = 0;
       !found && b < blocks_.size() && blocks_[b].first_from < s.end; ++b) {
    if (++looked > most_looked) return count(s) > 0;
    if (blocks_[b].last >= s.start && blocks_[b].first < s.end)
      each_in(b, [&](Ns at) { found = found || (at >= s.start && at < s.end); });
  }
  return found;
}

std::size_t LaunchTimes::count(Span s) const {
  if (sorted_.empty()) {
    sorted_.reserve(ops_.size());
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      each_in(b, [&](Ns at) { sorted_.push_back(at); });
    std::sort(sorted_.begin(), sorted_.end());
  }
  const auto from = std::lower_bound(sorted_.begin(), sorted_.end(), s.start);
  return static_cast<std::size_t>(std::lower_bound(from, sorted_.end(), s.end) - from);
}

LaunchedUntil launched_until(const Trace& trace, const std::vector<Row>& ops,
                             std::vector<Ns> times) {
  for (std::size_t i = 1; i < times.size(); ++i) times[i] = std::max(times[i], times[i - 1]);
  using Launch = std::pair<Ns, Ns>;  // when, and the end of what it launched
  constexpr Launch none{std::numeric_limits<Ns>::max(), std::numeric_limits<Ns>::min()};
  struct Part {
    // What was launched since the time before. The last, after all times, is never used.
    std::vector<LaunchedUntil::At> since;
    Launch first;
  };
  std::vector<Part> parts(parts_of(ops.size(), std::max(least_part, times.size())));
  in_parts(ops.size(), parts.size(), [&](std::size_t p, std::size_t begin, std::size_t end) {
    std::vector<LaunchedUntil::At> since(times.size() + 1);
    Launch first = none;
    std::size_t at = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (is_unified(trace.ops.copy[ops[i]])) continue;
      const Launch launch{launched_at(trace, ops[i]), trace.ops.end[ops[i]]};
      first = std::min(first, launch);
      // Most were launched in the same interval as the one before, so a search is rarely needed.
      if ((at > 0 && times[at - 1] > launch.first) ||
          (at < times.size() && times[at] <= launch.first))
        at = static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), launch.first) -
                                      times.begin());
      ++since[at].count;
      since[at].last_end = std::max(since[at].last_end, launch.second);
    }
    parts[p] = {std::move(since), first};
  });

  LaunchedUntil launched{.at = std::vector<LaunchedUntil::At>(times.size())};
  Launch first = none;
  for (const Part& part : parts) first = std::min(first, part.first);
  launched.first_end = first.second;
  LaunchedUntil::At so_far;
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (const Part& part : parts) {
      so_far.count += part.since[i].count;
      so_far.last_end = std::max(so_far.last_end, part.since[i].last_end);
    }
    launched.at[i] = so_far;
  }
  return launched;
}

}  // namespace gh

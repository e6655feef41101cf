// Describes how times of different reports were compared, and checks that they can be from one job.
#include <fmt/format.h>

#include <algorithm>

#include "job/fleet_passes.hpp"

namespace gh {
namespace {

std::string clocks_text(const Fleet& fleet) {
  if (fleet.ranks.size() < 2) {
    return fleet.collectives
               ? "the other ranks' digests are missing, so how long it waits for them is unknown"
               : "there is only one rank";
  }
  if (!fleet.collectives) {
    return "no report contains a collective, without which the ranks' clocks cannot be aligned";
  }
  const auto aligned = std::count_if(fleet.ranks.begin(), fleet.ranks.end(),
                                     [](const FleetRank& r) { return r.group >= 0; });
  if (aligned == 0) {
    return "the ranks' collectives could not be matched, so times of different reports cannot be "
           "compared and late ranks cannot be found";
  }
  std::string text = fmt::format(
      "the clocks of {} of {} ranks were aligned by the ends of their collectives, which all "
      "ranks leave at about the same time",
      aligned, fleet.ranks.size());
  if (fleet.groups > 1) {
    text += fmt::format(
        "; they form {} groups that share no collectives, and were compared only within each group",
        fleet.groups);
  }
  return text;
}

}  // namespace

void add_clocks(const FleetMembers& members, Fleet& fleet) {
  fleet.collectives = std::any_of(members.begin(), members.end(), [](const FleetMember& m) {
    return !m.rank->collectives.first.empty();
  });
  fleet.clocks = clocks_text(fleet);
}

void check_clocks(const FleetMembers& members, Fleet& fleet) {
  // Profilers of a job start at the same step, and clocks of machines differ by seconds at most.
  constexpr Ns apart_ns = 60'000'000'000;
  const auto begin_ns = [&](std::size_t m) {
    return members[m].digest->epoch_ns + members[m].rank->window.start;
  };
  std::vector<std::size_t> known;
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (members[m].digest->epoch_ns > 0 && members[m].rank->unit != window_unit) known.push_back(m);
  }
  if (known.empty()) return;
  const auto [least, most] =
      std::minmax_element(known.begin(), known.end(),
                          [&](std::size_t a, std::size_t b) { return begin_ns(a) < begin_ns(b); });
  const Ns apart = begin_ns(*most) - begin_ns(*least);
  if (apart <= apart_ns) return;

  // If their collectives match, it is one job and a clock is wrong.
  const FleetRank &first = fleet.ranks[*least], &last = fleet.ranks[*most];
  if (first.group < 0 || first.group != last.group) {
    throw Error(
        fmt::format("{} and {} are not from the same job, because their steps begin {} apart; give "
                    "the digests of one job",
                    members[*least].digest->path, members[*most].digest->path, duration(apart)));
  }
  fleet.notes.push_back(
      fmt::format("the clocks of ranks {} and {} are {} apart although their collectives match, "
                  "so one machine's clock is wrong",
                  first.rank, last.rank, duration(apart)));
}

}  // namespace gh

// Finds how long ranks wait in collectives for the last one, and how late each comes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "job/fleet_passes.hpp"

namespace gh {
namespace {

using CollectivesByName = std::map<std::string, std::vector<const Collective*>>;

CollectivesByName by_name(const Collectives& collectives) {
  CollectivesByName by_name;
  for (const Collective& c : collectives.first) {
    by_name[collectives.names[c.name]].push_back(&c);
  }
  return by_name;
}

// One rank's part in a collective, on the clock of the group's first rank.
struct Part {
  std::size_t member;  // in the group
  const Collective* collective;
  Ns arrival, end;
};

// The parts of the k-th collective with that name on the group's first rank.
std::vector<Part> parts_of_collective(const FleetGroup& group,
                                      const std::vector<CollectivesByName>& collectives,
                                      const std::string& name, std::size_t k) {
  std::vector<Part> parts;
  for (std::size_t m = 0; m < group.members.size(); ++m) {
    const Alignment& alignment = group.alignments[m];
    const auto offset = alignment.offsets.find(name);
    const auto list = collectives[m].find(name);
    if (offset == alignment.offsets.end() || list == collectives[m].end()) continue;
    const std::ptrdiff_t i = static_cast<std::ptrdiff_t>(k) + offset->second;
    if (i < 0 || i >= static_cast<std::ptrdiff_t>(list->second.size())) continue;
    const Collective* c = list->second[static_cast<std::size_t>(i)];
    parts.push_back({m, c, c->start - alignment.ahead, c->end - alignment.ahead});
  }
  return parts;
}

// Sums over the collectives of a group; lists are parallel to its members.
struct GroupWaits {
  std::vector<double> wait_ns, late_ns;
  std::vector<std::size_t> matched,
      last;              // number of collectives, and of those to which it came last
  double waited_ns = 0;  // by the middle rank
  Ns begin = std::numeric_limits<Ns>::max(), end = 0;  // on the first rank's clock
};

double middle(const std::vector<Part>& parts, Ns Part::*time) {
  std::vector<double> times;
  for (const Part& p : parts) times.push_back(static_cast<double>(p.*time));
  return middle_of(std::move(times));
}

// Whether anybody waited.
bool add_collective(const std::vector<Part>& parts, GroupWaits& sums) {
  const Part& last =
      *std::max_element(parts.begin(), parts.end(),
                        [](const Part& a, const Part& b) { return a.arrival < b.arrival; });
  // Otherwise nobody waited: it is the root of a broadcast, or another group's collective.
  if (middle(parts, &Part::end) <= static_cast<double>(last.arrival)) return false;

  std::vector<double> waits;  // negated, so that the longer of two middle ones is used
  for (const Part& p : parts) {
    const double wait = p.collective->alone_within(last.arrival - p.arrival);
    sums.wait_ns[p.member] += wait;
    ++sums.matched[p.member];
    waits.push_back(-wait);
  }
  const double usual_wait = -middle_of(std::move(waits)),
               usual_arrival = middle(parts, &Part::arrival);
  sums.waited_ns += usual_wait;
  for (const Part& p : parts) {
    sums.late_ns[p.member] +=
        std::clamp(static_cast<double>(p.arrival) - usual_arrival, 0.0, usual_wait);
  }
  ++sums.last[last.member];
  return true;
}

GroupWaits waits_of(const FleetMembers& members, const FleetGroup& group) {
  const std::size_t n = group.members.size();
  std::vector<CollectivesByName> collectives;
  for (const std::size_t m : group.members) {
    collectives.push_back(by_name(members[m].rank->collectives));
  }
  const Span window = members[group.members.front()].rank->window;
  GroupWaits sums;
  sums.wait_ns.resize(n);
  sums.late_ns.resize(n);
  sums.matched.resize(n);
  sums.last.resize(n);
  for (const auto& [name, own] : collectives.front()) {
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (own[k]->end < window.start || own[k]->end > window.end) continue;
      const std::vector<Part> parts = parts_of_collective(group, collectives, name, k);
      if (parts.size() < 2 || 2 * parts.size() < n) continue;
      if (!add_collective(parts, sums)) continue;
      sums.begin = std::min(sums.begin, own[k]->start);
      sums.end = std::max(sums.end, own[k]->end);
    }
  }
  return sums;
}

}  // namespace

void add_waits(const FleetMembers& members, const std::vector<FleetGroup>& groups, Fleet& fleet) {
  fleet.groups = groups.size();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const FleetGroup& group = groups[g];
    const GroupWaits sums = waits_of(members, group);
    if (sums.end <= sums.begin) continue;
    const double step_ns = members[group.members.front()].rank->mean_step_ns;
    // A span of whole steps begins in the first step's collectives and ends in the last step's.
    const double steps =
        std::max(1.0, std::ceil(static_cast<double>(sums.end - sums.begin) / step_ns - 0.1));
    fleet.waited_ns = std::max(fleet.waited_ns, sums.waited_ns / steps);
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      FleetRank& r = fleet.ranks[group.members[m]];
      r.group = static_cast<int>(g);
      r.late_ns = sums.late_ns[m] / steps;
      r.wait_ns =
          std::min(sums.wait_ns[m] / steps, cause_ns_of(fleet, r, Cause::Of::communication));
      if (sums.matched[m] > 0) {
        r.last_fraction = static_cast<double>(sums.last[m]) / static_cast<double>(sums.matched[m]);
      }
    }
  }
}

}  // namespace gh

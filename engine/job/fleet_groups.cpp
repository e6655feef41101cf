// Finds ranks that ran the same collectives, and aligns their clocks by these.
#include <algorithm>

#include "base/parallel.hpp"
#include "job/fleet_passes.hpp"

namespace gh {
namespace {

// Characters of a name: enough to distinguish names, because each pair of ranks is compared.
constexpr std::size_t most_compared = 96;
constexpr std::size_t most_groups = 16;
// A few odd ranks must not hide the others. But if no rank matches any other, trying all is
// useless.
constexpr std::size_t most_odd = 8;

CollectiveEnds ends_of(const RankDigest& r) {
  CollectiveEnds ends;
  for (const Collective& c : r.collectives.first) {
    std::vector<Ns>& list = ends[r.collectives.names[c.name]];
    if (list.size() < most_compared) list.push_back(c.end);
  }
  return ends;
}

std::optional<Alignment> aligned(const CollectiveEnds& first, Ns first_epoch_ns,
                                 const CollectiveEnds& other, Ns other_epoch_ns) {
  if (first_epoch_ns > 0 && other_epoch_ns > 0) {
    if (auto found = align(first, other, first_epoch_ns - other_epoch_ns)) return found;
  }
  return align(first, other, std::nullopt);  // a clock may be wrong or unknown
}

Alignment with_itself(const CollectiveEnds& ends) {
  Alignment alignment;
  for (const auto& [name, list] : ends) alignment.offsets[name] = 0;
  return alignment;
}

}  // namespace

std::vector<FleetGroup> match_ranks(const FleetMembers& members) {
  std::vector<CollectiveEnds> ends;
  std::vector<std::size_t> rest;  // members without a group so far
  for (std::size_t m = 0; m < members.size(); ++m) {
    ends.push_back(ends_of(*members[m].rank));
    if (!ends[m].empty()) rest.push_back(m);
  }
  std::vector<FleetGroup> groups;
  std::size_t odd = 0;
  while (!rest.empty() && groups.size() < most_groups) {
    const std::size_t first = rest.front();
    std::vector<std::optional<Alignment>> found(rest.size());
    found[0] = with_itself(ends[first]);
    in_parallel(rest.size() - 1, [&](std::size_t i, std::size_t) {
      const std::size_t other = rest[i + 1];
      found[i + 1] = aligned(ends[first], members[first].digest->epoch_ns, ends[other],
                             members[other].digest->epoch_ns);
    });

    FleetGroup group;
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (found[i]) {
        group.members.push_back(rest[i]);
        group.alignments.push_back(std::move(*found[i]));
      } else {
        left.push_back(rest[i]);
      }
    }
    if (group.members.size() > 1) {
      groups.push_back(std::move(group));
    } else if (++odd > most_odd) {
      break;
    }
    rest = std::move(left);
  }
  return groups;
}

}  // namespace gh

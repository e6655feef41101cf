#include "analysis/meetings.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "analysis/collectives.hpp"
#include "analysis/ranks.hpp"

namespace gh {
namespace {

// Members leave a collective within some ten microseconds of each other.
constexpr Ns left_together_ns = 100'000;

// Collectives of one name on one stream.
struct Lane {
  bool messages = false;  // some from one rank to one other
  std::uint16_t device = 0;
  Group group;  // of one of them, if the report gives it
  std::vector<Row> ops;
};

bool run_together(const Trace& t, const Meeting& members) {
  Ns last_start = t.ops.start[members.front()], first_end = t.ops.end[members.front()];
  for (const Row op : members) {
    last_start = std::max(last_start, t.ops.start[op]);
    first_end = std::min(first_end, t.ops.end[op]);
  }
  return last_start < first_end;
}

std::vector<Ns> ends_of(const Trace& t, const Lane& lane) {
  std::vector<Ns> ends;
  ends.reserve(lane.ops.size());
  for (const Row op : lane.ops) ends.push_back(t.ops.end[op]);
  return ends;
}

// The n for which the i-th collective of `a` and the (i + n)-th of `b` are the same: nearly all of
// them run and end together. Nothing if there is none.
std::optional<std::ptrdiff_t> offset_between(const Trace& t, const Lane& a, const Lane& b) {
  const auto fits = [&](std::ptrdiff_t n) {
    const auto size = static_cast<std::ptrdiff_t>(a.ops.size()),
               other = static_cast<std::ptrdiff_t>(b.ops.size());
    std::size_t together = 0, count = 0;
    for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(0, -n); i < size && i + n < other; ++i) {
      const Row x = a.ops[static_cast<std::size_t>(i)], y = b.ops[static_cast<std::size_t>(i + n)];
      ++count;
      together +=
          run_together(t, {x, y}) && std::abs(t.ops.end[x] - t.ops.end[y]) <= left_together_ns;
    }
    // A sender may finish before the receiver starts: then neither has waited.
    return count > 0 && (a.messages ? 2 * together >= count : 20 * together >= 19 * count);
  };
  if (fits(0)) return 0;
  const auto n = matching(ends_of(t, a), ends_of(t, b), 0);
  return n && fits(*n) ? n : std::nullopt;
}

// Lanes of one group, and how far each is ahead of the first.
struct Family {
  std::vector<const Lane*> lanes;
  std::vector<std::ptrdiff_t> offsets;
};

// Removes from `lanes` the first and those of other devices that belong to it, while comparisons
// are left.
Family take_family(const Trace& t, std::vector<const Lane*>& lanes, std::size_t& comparisons) {
  Family family{{lanes.front()}, {0}};
  std::vector<const Lane*> rest;
  for (const Lane* lane : lanes) {
    if (lane == lanes.front()) continue;
    const Group &group = family.lanes.front()->group, &theirs = lane->group;
    const bool may_belong = (group == theirs || group.ranks == 0 || theirs.ranks == 0) &&
                            comparisons > 0 &&
                            std::none_of(family.lanes.begin(), family.lanes.end(),
                                         [&](const Lane* l) { return l->device == lane->device; });
    comparisons -= may_belong;
    const auto offset = may_belong ? offset_between(t, *family.lanes.front(), *lane) : std::nullopt;
    if (offset) {
      family.lanes.push_back(lane);
      family.offsets.push_back(*offset);
    } else {
      rest.push_back(lane);
    }
  }
  lanes = std::move(rest);
  return family;
}

// Adds the collectives that all lanes have in common.
void add_meetings(const Trace& t, const Family& family, std::vector<Meeting>& out) {
  std::ptrdiff_t from = 0, to = static_cast<std::ptrdiff_t>(family.lanes.front()->ops.size());
  for (std::size_t k = 0; k < family.lanes.size(); ++k) {
    from = std::max(from, -family.offsets[k]);
    to = std::min(to, static_cast<std::ptrdiff_t>(family.lanes[k]->ops.size()) - family.offsets[k]);
  }
  for (std::ptrdiff_t i = from; i < to; ++i) {
    Meeting members;
    for (std::size_t k = 0; k < family.lanes.size(); ++k)
      members.push_back(family.lanes[k]->ops[static_cast<std::size_t>(i + family.offsets[k])]);
    if (run_together(t, members)) out.push_back(std::move(members));
  }
}

}  // namespace

std::vector<Meeting> meetings(const Analysis& analysis, Row first, Row end) {
  const Trace& t = analysis.trace;
  std::vector<Meeting> out;
  if (t.devices.size() < 2 || !t.clocks_aligned) return out;
  const CollectiveKinds kinds(analysis);
  std::map<std::pair<NameId, std::uint32_t>, Lane> lanes;  // by name and stream
  for (Row op = first; op < end; ++op) {
    if (!analysis.is_collective(op)) continue;
    Lane& lane = lanes[{t.ops.name[op], t.ops.stream[op]}];
    lane.device = t.device_of(op);
    lane.messages = lane.messages || kinds.kind(op) == CollectiveKind::message;
    if (const Group* group = t.group_of(op)) lane.group = *group;
    lane.ops.push_back(op);
  }
  for (auto it = lanes.begin(); it != lanes.end();) {
    const NameId name = it->first.first;
    std::vector<const Lane*> alike;
    for (; it != lanes.end() && it->first.first == name; ++it) alike.push_back(&it->second);
    // There may be thousands of unrelated streams: stop after this many comparisons with what was
    // found.
    std::size_t comparisons = 64 * alike.size();
    while (alike.size() > 1 && comparisons > 0) {
      const Family family = take_family(t, alike, comparisons);
      const std::size_t all = std::max<std::size_t>(2, family.lanes.front()->group.ranks);
      if (family.lanes.size() >= all) add_meetings(t, family, out);
    }
  }
  return out;
}

}  // namespace gh

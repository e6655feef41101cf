#include "job/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "job/fleet_passes.hpp"

namespace gh {
namespace {

void add_notes(const FleetMembers& members, Fleet& fleet) {
  if (!fleet.numbered && fleet.ranks.size() > 1) {
    fleet.notes.push_back(
        "no digest knows its rank, so ranks are numbered in the order of their reports' names; "
        "give them with `gh-advise digest --first-rank N`");
  }
  if (!fleet.missing.empty()) {
    fleet.notes.push_back(
        fmt::format("{}, so what they did and whether others waited for them is unknown",
                    fleet_missing_text(fleet)));
  }
  const auto without_steps =
      std::count_if(members.begin(), members.end(),
                    [](const FleetMember& m) { return m.rank->unit == window_unit; });
  if (without_steps > 0) {
    fleet.notes.push_back(
        fmt::format("no steps were found on {}; figures for them cover the whole recording",
                    plural(without_steps, "rank")));
  }
}

}  // namespace

Fleet make_fleet(std::vector<Digest> digests, const Rule* late,
                 const std::vector<Suppression>& suppressions, const std::string& today) {
  if (digests.empty()) throw Error("there are no digests to combine");
  Fleet fleet;
  keep_one_job(digests, fleet.left_out);

  // Identify ranks, and find what each spends its steps on.
  const FleetMembers members = number_ranks(digests, fleet);
  add_account(members, fleet);

  // Find who waits for whom. Clocks of different reports are aligned by their collectives.
  const std::vector<FleetGroup> groups = match_ranks(members);
  add_waits(members, groups, fleet);
  add_clocks(members, fleet);
  check_clocks(members, fleet);

  // Collect what rules found on the ranks, and what shows only across ranks.
  add_findings(members, fleet);
  add_stragglers(fleet);
  add_late_finding(late, fleet);
  add_unlike(members, fleet);

  // Find what fixes are worth to the job.
  suppress_findings(suppressions, today, fleet);
  add_plan(members, fleet);
  sort_findings(fleet);

  add_notes(members, fleet);
  return fleet;
}

double middle_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double cause_ns_of(const Fleet& fleet, const FleetRank& r, const Cause& cause) {
  for (std::size_t c = 0; c < fleet.causes.size(); ++c) {
    if (Cause(fleet.causes[c]) == cause) return r.cause_ns[c];
  }
  return 0;
}

const FleetRank& rank_numbered(const Fleet& fleet, std::int64_t rank) {
  return *std::lower_bound(fleet.ranks.begin(), fleet.ranks.end(), rank,
                           [](const FleetRank& r, std::int64_t number) { return r.rank < number; });
}

std::string ranks_text(std::vector<std::int64_t> ranks, std::size_t most) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (runs++ == most) return text + fmt::format(" and {} more", ranks.size() - i);
    if (!text.empty()) text += ", ";
    text += i == j ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[j]);
    i = j + 1;
  }
  return text;
}

std::string fleet_missing_text(const Fleet& fleet) {
  const auto missing = fleet.world_size - static_cast<std::int64_t>(fleet.ranks.size()),
             listed = static_cast<std::int64_t>(fleet.missing.size());
  return fmt::format("{} of {} ranks are missing ({}{})", missing, fleet.world_size,
                     ranks_text(fleet.missing), missing > listed ? ", ..." : "");
}

}  // namespace gh

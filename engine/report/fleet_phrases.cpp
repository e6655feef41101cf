#include "report/fleet_phrases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/report.hpp"

namespace gh {

std::string fleet_saves_text(const Fleet& fleet, const Finding& f) {
  if (f.recoverable_ns <= 0) return "";
  return fmt::format("saves at most {} of the job's {} {} ({})", duration(f.recoverable_ns),
                     duration(fleet.step_ns), fleet.unit.noun, percent(f.recoverable_fraction));
}

std::string fleet_plan_note(const Fleet& fleet) {
  return fmt::format(
      "The slowest rank sets the job's {}, so a fix helps only down to the next slowest rank. How "
      "ranks will wait for each other after a fix is unknown.",
      fleet.unit.noun);
}

std::string on_node(const FleetRank& r) { return r.node.empty() ? "" : " on " + r.node; }

std::string ranks_label(const std::vector<std::int64_t>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + ranks_text(ranks);
}

bool found_any(const Fleet& fleet, const std::string& rule) {
  return std::any_of(fleet.findings.begin(), fleet.findings.end(),
                     [&](const FleetFinding& f) { return f.finding.rule == rule; });
}

std::string fleet_count_text(const Fleet& fleet) {
  const auto n = static_cast<std::int64_t>(fleet.ranks.size());
  std::string text = n == fleet.world_size ? fmt::format("{} rank{}", n, n == 1 ? "" : "s")
                                           : fmt::format("{} of {} ranks", n, fleet.world_size);
  const bool nodes_known = std::none_of(fleet.ranks.begin(), fleet.ranks.end(),
                                        [](const FleetRank& r) { return r.node.empty(); });
  if (!fleet.nodes.empty() && nodes_known)
    text += fmt::format(" on {} node{}", fleet.nodes.size(), fleet.nodes.size() == 1 ? "" : "s");
  return text;
}

std::string fleet_step_text(const Fleet& fleet) {
  const FleetRank& slowest = rank_numbered(fleet, fleet.slowest);
  if (slowest.group < 0 || !fleet.missing.empty())
    return fmt::format("The job's {} takes {}; how long ranks wait for each other is unknown",
                       fleet.unit.noun, duration(fleet.step_ns));
  return fmt::format(
      "The job's {} takes {}; rank {}{} sets the pace: it takes {} without waiting for others",
      fleet.unit.noun, duration(fleet.step_ns), slowest.rank, on_node(slowest),
      duration(slowest.step_ns - slowest.wait_ns));
}

std::string fleet_waits_text(const Fleet& fleet) {
  const bool partly = !fleet.missing.empty();
  if (fleet.groups > 0) {
    const char* who = partly                    ? "The middle one of the ranks that have a digest"
                      : fleet.ranks.size() == 2 ? "The waiting rank"
                                                : "The middle rank";
    return fmt::format("{} waits {} of {} {} for the last one in collectives ({}); {}.", who,
                       duration(fleet.waited_ns), fleet.unit.is_window() ? "the" : "each",
                       fleet.unit.noun, percent(fleet.waited_ns / fleet.step_ns), fleet.clocks);
  }
  if (fleet.collectives) return fmt::format("Unknown: {}.", fleet.clocks);
  if (partly)
    return fmt::format("No rank waits for another, as far as the reports of these ranks show: {}.",
                       fleet.clocks);
  return fmt::format("No rank waits for another, as far as the reports show: {}.", fleet.clocks);
}

}  // namespace gh

// Finds ranks that differ from most: in what they run on, what they do, or how long it takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "job/fleet_passes.hpp"

namespace gh {
namespace {

constexpr std::size_t most_values = 4;  // listed if no value has a majority

// The median distance from the middle value, scaled to match the standard deviation of a normal
// distribution.
double usual_distance(const std::vector<double>& values, double from) {
  std::vector<double> off;
  for (const double v : values) off.push_back(std::abs(v - from));
  return 1.4826 * middle_of(std::move(off));
}

// ---- words: GPUs, profilers

using RanksByValue = std::map<std::string, std::vector<std::int64_t>>;

std::string all_values_text(const std::string& name, const RanksByValue& values) {
  std::vector<std::string> parts;
  for (const auto& [value, ranks] : values) {
    if (parts.size() == most_values) break;
    parts.push_back(
        fmt::format("{} on {} {}", value, ranks.size() == 1 ? "rank" : "ranks", ranks_text(ranks)));
  }
  if (values.size() > parts.size()) {
    parts.push_back(fmt::format("{} other values", values.size() - parts.size()));
  }
  return fmt::format("{} differs: {}", name, fmt::join(parts, ", "));
}

// `value_of` returns the value of a member.
template <class Value>
void add_words(const std::string& name, Value value_of, Fleet& fleet) {
  RanksByValue values;
  std::vector<std::int64_t> all;
  for (std::size_t m = 0; m < fleet.ranks.size(); ++m) {
    values[value_of(m)].push_back(fleet.ranks[m].rank);
    all.push_back(fleet.ranks[m].rank);
  }
  const auto most = std::max_element(
      values.begin(), values.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (2 * most->second.size() <= all.size()) {
    fleet.unlike.push_back({all_values_text(name, values), all});
    return;
  }
  for (const auto& [value, ranks] : values) {
    if (value == most->first) continue;
    fleet.unlike.push_back({fmt::format("{}: {}, {} {}", name, value,
                                        values.size() == 2 ? "the others" : "most", most->first),
                            ranks});
  }
}

// ---- numbers

// How far from the middle a value must be: absolutely, or as a share of the middle value.
struct Distance {
  double least = 0, share = 0;
};

// A value is far from the middle if it is unusual among these ranks and the difference is of some
// size. `values` is parallel to the ranks.
template <class Shown>
void add_numbers(const std::string& name, const std::vector<std::optional<double>>& values,
                 const Distance& distance, Shown shown, Fleet& fleet) {
  std::vector<double> known;
  for (const auto& v : values) {
    if (v) known.push_back(*v);
  }
  if (known.size() < 3) return;
  const double usual = middle_of(known);
  const double far = std::max(distance.share > 0 ? distance.share * usual : distance.least,
                              5 * usual_distance(known, usual));
  for (const double sign : {1.0, -1.0}) {
    std::vector<std::int64_t> ranks;
    std::vector<double> theirs;
    for (std::size_t m = 0; m < values.size(); ++m) {
      if (!values[m] || sign * (*values[m] - usual) <= far) continue;
      ranks.push_back(fleet.ranks[m].rank);
      theirs.push_back(*values[m]);
    }
    if (ranks.empty() || 2 * ranks.size() >= known.size()) continue;
    fleet.unlike.push_back(
        {fmt::format("{}: {}, the others {}", name, shown(middle_of(theirs)), shown(usual)),
         ranks});
  }
}

std::vector<std::optional<double>> values_of_fact(const FleetMembers& members, const char* name) {
  std::vector<std::optional<double>> values;
  for (const FleetMember& m : members) {
    const auto fact = m.rank->facts.find(name);
    values.push_back(fact == m.rank->facts.end() ? std::nullopt : fact->second.value);
  }
  return values;
}

}  // namespace

void add_unlike(const FleetMembers& members, Fleet& fleet) {
  if (members.size() < 3) return;  // of two, neither is the odd one
  add_words(
      "GPU", [&](std::size_t m) { return fleet.ranks[m].devices; }, fleet);
  add_words(
      "profiler", [&](std::size_t m) { return members[m].digest->producer; }, fleet);
  add_words(
      "unit", [&](std::size_t m) { return members[m].rank->unit; }, fleet);
  add_words(
      fleet.unit.many + " recorded",
      [&](std::size_t m) { return std::to_string(fleet.ranks[m].steps); }, fleet);

  const Distance of_step{.least = warning_at * fleet.step_ns};
  for (std::size_t c = 0; c < fleet.causes.size(); ++c) {
    if (Cause(fleet.causes[c]) == Cause::Of::communication)
      continue;  // it mirrors which ranks are late
    std::vector<std::optional<double>> values;
    for (const FleetRank& r : fleet.ranks) values.emplace_back(r.cause_ns[c]);
    add_numbers(
        cause_label(fleet.causes[c]), values, of_step,
        [&](double ns) { return duration(ns) + ' ' + fleet.unit.per; }, fleet);
  }
  add_numbers(
      "kernels " + fleet.unit.per, values_of_fact(members, "kernels.per_step"), {.share = 0.02},
      [](double v) { return fmt::format("{:.0f}", v); }, fleet);
  add_numbers(
      "peak memory", values_of_fact(members, "memory.peak_bytes"), {.share = 0.10},
      [](double v) { return bytes_text(v); }, fleet);
  std::vector<std::optional<double>> steps;
  for (const FleetRank& r : fleet.ranks) steps.emplace_back(r.step_ns);
  add_numbers(
      "mean " + fleet.unit.noun, steps, of_step, [](double ns) { return duration(ns); }, fleet);
}

}  // namespace gh

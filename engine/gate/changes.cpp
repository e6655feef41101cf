// The step, its account, kernels and facts on both sides, and how they changed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gate/comparison_passes.hpp"

namespace gh {
namespace {

// ---- what captures hold

std::vector<double> doubles(const std::vector<Ns>& v) { return {v.begin(), v.end()}; }

// `value_of` gives one value of a capture, `steps_of` one of each step.
template <class Value, class Steps>
Measurements measured(const std::vector<Capture>& captures, Value value_of, Steps steps_of) {
  Measurements m;
  for (const Capture& c : captures) {
    m.captures.push_back(value_of(c));
    const std::vector<double> steps = steps_of(c);
    m.steps.insert(m.steps.end(), steps.begin(), steps.end());
    m.called = UnitWords(c.unit).many;
  }
  return m;
}

std::vector<double> whole_steps(const Capture& c) { return doubles(c.step_ns); }

// Of the median step.
template <class Steps>
Difference median_difference(const Sides& sides, Steps steps, double least_effect) {
  const auto median = [&](const Capture& c) { return median_of(steps(c)); };
  return difference_of(measured(sides.before, median, steps), measured(sides.after, median, steps),
                       {.least_effect = least_effect}, sides.settings);
}

// Of what steps take on the mean.
template <class Steps>
Difference mean_difference(const Sides& sides, Steps steps, Yardstick yardstick) {
  const auto mean = [&](const Capture& c) { return mean_of(steps(c)); };
  yardstick.means = true;
  return difference_of(measured(sides.before, mean, steps), measured(sides.after, mean, steps),
                       yardstick, sides.settings);
}

std::vector<double> cause_steps(const Capture& c, const std::string& cause) {
  const auto it = c.cause_ns.find(cause);
  return it == c.cause_ns.end() ? std::vector<double>(c.step_ns.size(), 0.0) : doubles(it->second);
}

using PathKey = std::pair<PathItem::Kind, std::string>;

// A capture names everything that took time in its steps.
std::vector<double> wait_steps(const Capture& c, const PathKey& key) {
  for (const PathUse& use : c.waits)
    if (PathKey(use.kind, use.name) == key) return doubles(use.step_ns);
  return std::vector<double>(c.waits.front().step_ns.size(), 0.0);
}

std::vector<double> shares_of_steps(const Capture& c, const std::vector<double>& ns) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < ns.size(); ++i) {
    shares.push_back(c.step_ns[i] > 0 ? ns[i] / static_cast<double>(c.step_ns[i]) : 0);
  }
  return shares;
}

std::vector<double> busy_steps(const Capture& c) {
  std::vector<double> busy = doubles(c.step_ns);
  for (const auto& [cause, ns] : c.cause_ns) {
    if (!Cause(cause).is_idle()) continue;
    for (std::size_t i = 0; i < ns.size(); ++i) busy[i] -= static_cast<double>(ns[i]);
  }
  return busy;
}

// A fact step by step, if the capture holds it that way.
std::vector<double> fact_steps(const Capture& c, std::string_view fact) {
  if (fact == "step.median_ns" || fact == "step.mean_ns") return doubles(c.step_ns);
  if (fact == "gpu.busy_fraction") return shares_of_steps(c, busy_steps(c));
  constexpr std::string_view account = "account.", ns = "_ns", fraction = "_fraction";
  if (!fact.starts_with(account)) return {};
  fact.remove_prefix(account.size());
  if (fact.ends_with(ns)) {
    return cause_steps(c, std::string(fact.substr(0, fact.size() - ns.size())));
  }
  if (fact.ends_with(fraction)) {
    return shares_of_steps(
        c, cause_steps(c, std::string(fact.substr(0, fact.size() - fraction.size()))));
  }
  return {};
}

Measurements measured_fact(const std::vector<Capture>& captures, const std::string& fact) {
  return measured(
      captures, [&](const Capture& c) { return *c.facts.at(fact).value; },
      [&](const Capture& c) { return fact_steps(c, fact); });
}

// The largest change first.
template <class Change, class Of>
void sort_by_change(std::vector<Change>& changes, Of change) {
  std::stable_sort(changes.begin(), changes.end(), [&](const Change& x, const Change& y) {
    return std::abs(change(x)) > std::abs(change(y));
  });
}

// A part of the step on both sides.
template <class Part>
double change_of(const Part& part) {
  return part.ns.after - part.ns.before;
}

Yardstick yardstick_of_parts(const Sides& sides, const Difference& step) {
  return {.least_effect = sides.settings.min_effect, .reference = step.before};
}

// ---- facts

// Why a fact is unknown on a side, or "".
std::string why_unknown(const std::vector<Capture>& captures, const std::string& fact,
                        bool baseline) {
  for (const Capture& c : captures) {
    const auto it = c.facts.find(fact);
    if (it == c.facts.end()) {
      return fmt::format("{} is unknown {}", fact, baseline ? "in the baseline" : "here");
    }
    if (!it->second.value) {
      return fmt::format("{} is unknown {}({})", fact, baseline ? "in the baseline " : "",
                         it->second.unknown);
    }
  }
  return "";
}

// Counts that the program decides do not vary from run to run.
bool is_counted(const std::string& fact) {
  return fact == "kernels.per_step" || fact == "gemm.flops_per_step" ||
         (fact.starts_with("copies.") && fact.ends_with("_bytes_per_step"));
}

// Means and shares of all steps together. For all other facts, the median over captures counts.
bool is_mean(const std::string& fact) {
  return fact == "step.mean_ns" || fact == "kernels.mean_ns" || fact == "gpu.busy_fraction" ||
         fact.starts_with("account.") || fact.ends_with("_per_step");
}

// Shown elsewhere, or not about the program.
bool is_shown_elsewhere(const std::string& fact) {
  return fact.starts_with("account.") || fact.starts_with("step") || fact.starts_with("device.") ||
         fact.starts_with("capture.");
}

}  // namespace

Difference step_difference(const Sides& sides, double least_effect) {
  return median_difference(sides, whole_steps, least_effect);
}

std::optional<Difference> slowest_gpu_difference(const Sides& sides) {
  for (const auto* side : {&sides.before, &sides.after})
    for (const Capture& c : *side)
      if (c.slowest_gpu_ns.empty()) return std::nullopt;
  return median_difference(
      sides, [](const Capture& c) { return doubles(c.slowest_gpu_ns); }, sides.settings.min_effect);
}

Difference mean_step_difference(const Sides& sides, double least_effect) {
  return mean_difference(sides, whole_steps, {.least_effect = least_effect});
}

std::vector<CauseChange> account_changes(const Sides& sides, const Difference& step) {
  std::set<std::string> causes;
  for (const auto* side : {&sides.before, &sides.after}) {
    for (const Capture& c : *side) {
      for (const auto& [cause, ns] : c.cause_ns) causes.insert(cause);
    }
  }
  std::vector<CauseChange> changes;
  for (const std::string& cause : causes) {
    const auto steps = [&](const Capture& c) { return cause_steps(c, cause); };
    changes.push_back({cause, mean_difference(sides, steps, yardstick_of_parts(sides, step))});
  }
  sort_by_change(changes, change_of<CauseChange>);
  return changes;
}

std::vector<WaitChange> wait_changes(const Sides& sides, const Difference& step) {
  std::set<PathKey> keys;
  for (const auto* side : {&sides.before, &sides.after}) {
    for (const Capture& c : *side) {
      if (c.waits.empty()) return {};
      for (const PathUse& use : c.waits) keys.insert({use.kind, use.name});
    }
  }
  std::vector<WaitChange> changes;
  for (const PathKey& key : keys) {
    const auto steps = [&](const Capture& c) { return wait_steps(c, key); };
    changes.push_back(
        {key.first, key.second, mean_difference(sides, steps, yardstick_of_parts(sides, step))});
  }
  sort_by_change(changes, change_of<WaitChange>);
  return changes;
}

std::vector<KernelChange> kernel_changes(const Sides& sides) {
  std::map<std::string, KernelChange> by_name;
  const auto add = [&](const std::vector<Capture>& captures, double KernelChange::*count,
                       double KernelChange::*ns) {
    const double n = static_cast<double>(captures.size());
    for (const Capture& c : captures) {
      for (const KernelUse& k : c.kernels) {
        KernelChange& change = by_name[k.name];
        change.name = k.name;
        change.kernel_class = k.kernel_class;
        change.*count += k.count_per_step / n;
        change.*ns += k.ns_per_step / n;
      }
    }
  };
  add(sides.before, &KernelChange::count_before, &KernelChange::ns_before);
  add(sides.after, &KernelChange::count_after, &KernelChange::ns_after);

  std::vector<KernelChange> changes;
  for (auto& [name, change] : by_name) changes.push_back(std::move(change));
  sort_by_change(changes, [](const KernelChange& k) { return k.ns_after - k.ns_before; });
  return changes;
}

std::vector<FactChange> fact_changes(const Sides& sides, const Difference& step) {
  std::vector<FactChange> changes;
  for (const auto& [name, fact] : sides.after.front().facts) {
    if (is_shown_elsewhere(name)) continue;
    const FactDifference d = fact_difference(sides, name, sides.settings.min_effect, step.before);
    if (const Difference* known = std::get_if<Difference>(&d); known && known->real) {
      changes.push_back({name, fact.unit, *known});
    }
  }
  sort_by_change(changes, [](const FactChange& f) { return f.value.effect; });
  return changes;
}

FactDifference fact_difference(const Sides& sides, const std::string& fact, double least_effect,
                               double step_before_ns) {
  std::string unknown = why_unknown(sides.after, fact, false);
  if (unknown.empty()) unknown = why_unknown(sides.before, fact, true);
  if (!unknown.empty()) return unknown;
  // The headline compares the same steps, so a budget of the step names the same figures.
  if (fact == "step.median_ns") return step_difference(sides, least_effect);
  if (fact == "step.mean_ns") return mean_step_difference(sides, least_effect);

  const Measurements before = measured_fact(sides.before, fact),
                     after = measured_fact(sides.after, fact);
  const bool account = fact.starts_with("account.");
  Yardstick yardstick{.least_effect = least_effect,
                      .means = is_mean(fact),
                      .exact = is_counted(fact),
                      .told_by_captures = true};
  // A tiny share may double and mean nothing, so the change of a part of a step is relative to at
  // least the minimum effect.
  if (account) {
    const Unit unit = sides.before.back().facts.at(fact).unit;
    const double step = unit == Unit::ns ? step_before_ns : 1;
    yardstick.reference =
        std::max(std::abs(mean_of(before.captures)), sides.settings.min_effect * step);
  }
  // The steps decide whether it changed. The fact, which is not always their median or mean, says
  // by how much.
  return difference_of(before, after, yardstick, sides.settings);
}

}  // namespace gh

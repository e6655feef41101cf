// Whether a change passes, and why.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "gate/comparison_passes.hpp"

namespace gh {
namespace {

// ---- why it fails

std::string failure_text(const FindingChange& f, const UnitWords& unit) {
  if (f.change == FindingState::fresh) {
    return fmt::format("{} is new: {} (its fix saves {} {} {})", f.finding.rule, f.finding.title,
                       f.finding.about ? "about" : "at most", duration(f.after_ns), unit.per);
  }
  return fmt::format("{} got worse: {} ({} {}, before {})", f.finding.rule, f.finding.title,
                     duration(f.after_ns), unit.per, duration(f.before_ns));
}

std::vector<std::string> failures(const Comparison& c) {
  std::vector<std::string> reasons;
  for (const FindingChange& f : c.findings) {
    if (f.fails) reasons.push_back(failure_text(f, c.unit));
  }
  for (const BudgetResult& b : c.budgets) {
    if (b.fails) reasons.push_back(b.message);
  }
  return reasons;
}

// ---- what the gate cannot tell

// Why a mean step that grew more than the median cannot pass, or "": the mean decides how long a
// run takes. One slow step may be bad luck, up to the noise floor. A budget of the mean, if the
// team sets one, decides instead.
std::string untold_mean(const Comparison& c, const Sides& sides, const StepTrend& trend) {
  const auto& budgets = sides.settings.budgets;
  const bool has_budget = std::any_of(budgets.begin(), budgets.end(), [](const Budget& b) {
    return b.fact == "step.mean_ns" && (b.max || b.max_increase);
  });
  const bool told = std::any_of(c.budgets.begin(), c.budgets.end(), [](const BudgetResult& b) {
    return b.budget.fact == "step.median_ns" &&
           (b.state == BudgetResult::State::broken || b.state == BudgetResult::State::accepted);
  });
  if (!c.incomparable.empty() || told || has_budget) return "";
  const Difference mean = mean_step_difference(sides, sides.settings.min_effect);
  const double elsewhere_ns = std::max(c.step.after - c.step.before, trend.accepted_ns);
  const auto share = [&](double ns) { return relative_change(ns - elsewhere_ns, mean.before); };
  const bool lasts = (mean.real || mean.open) && share(mean.lasting) > sides.settings.min_effect;
  if (share(mean.after - mean.before) <= sides.settings.noise_floor && !lasts) return "";
  return fmt::format(
      "the mean {0} takes {1} instead of {2} ({3}), the median {0} {4}: a few {5} take far longer; "
      "record more {5}, or set a budget for step.mean_ns",
      c.unit.noun, duration(mean.after), duration(mean.before), change_text(mean.effect),
      duration(c.step.after), c.unit.many);
}

// Why the slowest GPU cannot pass, or "": of GPUs that do not wait for each other it decides how
// long a run takes, and the mean over all hides it.
std::string untold_slowest_gpu(const Comparison& c, const Sides& sides, const StepTrend& trend) {
  const auto slowest = slowest_gpu_difference(sides);
  if (!c.incomparable.empty() || !slowest || !(slowest->real || slowest->open)) return "";
  const double elsewhere =
      std::max(c.step.real ? c.step.effect : 0, relative_change(trend.accepted_ns, c.step.before));
  if (slowest->effect - elsewhere <= sides.settings.min_effect) return "";
  return fmt::format(
      "on the slowest GPU the {0} takes {1} instead of {2} ({3}), on the mean of all {4}; compare "
      "that GPU alone, with --device",
      c.unit.noun, duration(slowest->after), duration(slowest->before),
      change_text(slowest->effect), duration(c.step.after));
}

std::string untold_text(const FindingChange& f) {
  if (f.change == FindingState::worse) {
    return fmt::format("{} got worse, and {}", f.finding.rule, f.why);
  }
  return fmt::format("whether {} {}: {}", f.finding.rule, f.unproved ? "got worse" : "is new",
                     f.why);
}

void add_blind_rules(const Sides& sides, std::vector<std::string>& untold) {
  std::map<std::string, std::vector<std::string>> blind;  // rules, by what they lack
  for (const auto& [id, outcome] : sides.after.front().rules) {
    const RuleOutcome *then = outcome_of(sides.before, id), *now = outcome_of(sides.after, id);
    if (now->state == RuleOutcome::State::failed) {
      untold.push_back(fmt::format("rule {} failed: {}", id, now->reason));
    }
    if (then && then->state == RuleOutcome::State::looked &&
        now->state == RuleOutcome::State::not_recorded) {
      blind[now->reason].push_back(id);
    }
  }
  for (const auto& [reason, ids] : blind) {
    untold.push_back(fmt::format("the baseline was checked for {}, but not this capture: {}",
                                 fmt::join(ids, ", "), reason));
  }
}

// A check that the baseline had and this capture lacks must not pass.
std::vector<std::string> what_cannot_be_told(const Comparison& c, const Sides& sides,
                                             const StepTrend& trend) {
  std::vector<std::string> untold;
  const Severity fail_on = sides.settings.fail_on.value_or(Severity::warning);
  for (const BudgetResult& b : c.budgets) {
    if (b.state != BudgetResult::State::unknown || b.budget.severity < fail_on) continue;
    untold.push_back(is_open(b) ? b.message
                                : fmt::format("the budget of {} cannot be checked: {}",
                                              b.budget.fact, b.message));
  }
  add_blind_rules(sides, untold);
  if (std::string why = untold_mean(c, sides, trend); !why.empty()) {
    untold.push_back(std::move(why));
  }
  if (std::string why = untold_slowest_gpu(c, sides, trend); !why.empty()) {
    untold.push_back(std::move(why));
  }
  for (const FindingChange& f : c.findings) {
    if (f.untold) untold.push_back(untold_text(f));
  }
  return untold;
}

// ---- notes

std::optional<double> measured_ns(const Capture& c) {
  const auto fact = c.facts.find("step.measured_ns");
  return fact == c.facts.end() ? std::nullopt : fact->second.value;
}

// Savings are of the measured step if there is one. The gate compares recorded steps, because there
// are many of them.
std::string measured_note(const Capture& then, const Capture& now, const UnitWords& unit) {
  const auto before = measured_ns(then), after = measured_ns(now);
  if (!before && !after) return "";
  if (!before || !after)
    return fmt::format(
        "the {0} was measured without the profiler on one side only, so the savings there are of a "
        "shorter {0}",
        unit.noun);
  return fmt::format(
      "measured without the profiler, the {} takes {}, before {} ({:+.1f} %); the gate compares "
      "the "
      "recorded {}",
      unit.noun, duration(*after), duration(*before), 100 * (*after / *before - 1), unit.many);
}

std::vector<std::string> notes_on(const Comparison& c, const Sides& sides) {
  std::set<std::string> problems;
  for (const auto* side : {&sides.before, &sides.after}) {
    for (const Capture& capture : *side) {
      for (const std::string& problem : capture.problems) {
        problems.insert(fmt::format("{}: {}", capture.path, problem));
      }
    }
  }
  std::vector<std::string> notes(problems.begin(), problems.end());
  const Capture &then = sides.before.front(), &now = sides.after.front();
  if (std::string note = weak_match_note(then.program, now.program, c.unit); !note.empty()) {
    notes.push_back(std::move(note));
  }
  if (std::string note = measured_note(then, now, c.unit); !note.empty())
    notes.push_back(std::move(note));
  if (then.producer != now.producer) {
    notes.push_back(fmt::format("recorded by {}, the baseline by {}: their overheads differ",
                                now.producer, then.producer));
  }
  const bool left_open = std::any_of(c.budgets.begin(), c.budgets.end(), [](const BudgetResult& b) {
    return b.budget.fact == "step.median_ns" && is_open(b);
  });
  if (!c.step.real && std::abs(c.step.effect) > sides.settings.min_effect && !left_open) {
    notes.push_back(
        fmt::format("the {} looks {} {}, but that may be noise ({}); record more captures",
                    c.unit.noun, percent(std::abs(c.step.effect)),
                    c.step.effect > 0 ? "longer" : "shorter", basis_text(c.step)));
  }
  for (const BudgetResult& b : c.budgets) {
    if (b.state == BudgetResult::State::broken && !b.fails) notes.push_back(b.message);
  }
  return notes;
}

// ---- the headline

// "the step takes 49.7 ms instead of 47.4 ms (+5.0 %)"
std::string step_text(const Comparison& c, const GateSettings& settings) {
  const Difference& step = c.step;
  const std::string the = "the " + c.unit.noun;
  const std::string now = duration(step.after), then = duration(step.before),
                    change = change_text(step.effect);
  if (step.effect == 0) return fmt::format("{} takes {}, as before", the, now);
  if (step.real) return fmt::format("{} takes {} instead of {} ({})", the, now, then, change);
  if (std::abs(step.effect) <= settings.min_effect) {
    return fmt::format("{} takes {}, before {} ({}, too little to count)", the, now, then, change);
  }
  return fmt::format("{} takes {}, before {} ({}, {})", the, now, then, change,
                     step.open ? "not proved" : "which may be noise");
}

// The rules of the findings that are `wanted`, each once.
template <class Wanted>
std::vector<std::string> rules_where(const Comparison& c, Wanted wanted) {
  std::vector<std::string> names;
  for (const FindingChange& f : c.findings) {
    if (wanted(f) && std::find(names.begin(), names.end(), f.finding.rule) == names.end()) {
      names.push_back(f.finding.rule);
    }
  }
  return names;
}

// "a, b are gone; ", or "" of none.
std::string clause(const std::vector<std::string>& names, const char* one, const char* many) {
  if (names.empty()) return "";
  return fmt::format("{} {}; ", fmt::join(names, ", "), names.size() == 1 ? one : many);
}

std::string what_regressed(const Comparison& c) {
  const auto fails = [&](FindingState state) {
    return rules_where(c, [=](const FindingChange& f) { return f.fails && f.change == state; });
  };
  std::string text = clause(fails(FindingState::fresh), "is new", "are new") +
                     clause(fails(FindingState::worse), "got worse", "got worse");
  std::set<std::string> broken;  // several budgets may name one fact
  for (const BudgetResult& b : c.budgets) {
    if (b.fails && !b.budget.where.empty() && broken.insert(b.budget.fact).second) {
      text += fmt::format("{} breaks its budget; ", b.budget.fact);
    }
  }
  return text;
}

std::string what_passed(const Comparison& c) {
  const auto in_state = [&](FindingState state) {
    return rules_where(c, [=](const FindingChange& f) {
      return f.finding.severity != Severity::note && f.change == state;
    });
  };
  std::vector<std::string> accepted =
      rules_where(c, [](const FindingChange& f) { return f.change == FindingState::accepted; });
  for (const BudgetResult& b : c.budgets) {
    if (b.state == BudgetResult::State::accepted) {
      accepted.push_back(b.budget.where.empty() ? "the longer " + c.unit.noun : b.budget.fact);
    }
  }
  return clause(in_state(FindingState::gone), "is gone", "are gone") +
         clause(in_state(FindingState::better), "got better", "got better") +
         clause(accepted, "is accepted", "are accepted");
}

std::string headline_of(const Comparison& c, const GateSettings& settings) {
  const std::string step = step_text(c, settings);
  switch (c.verdict) {
    case Verdict::regressed: return fmt::format("Regressed: {}{}.", what_regressed(c), step);
    case Verdict::passes: return fmt::format("Passes: {}{}.", what_passed(c), step);
    case Verdict::cannot_tell: break;
  }
  return fmt::format("Cannot tell: {}.", c.incomparable.front());
}

}  // namespace

const char* name_of(Verdict v) {
  constexpr const char* names[] = {"passes", "regressed", "cannot_tell"};
  return names[static_cast<std::size_t>(v)];
}

void decide(Comparison& c, const Sides& sides, const StepTrend& trend) {
  const bool comparable = c.incomparable.empty();
  const std::vector<std::string> untold = what_cannot_be_told(c, sides, trend);
  c.incomparable.insert(c.incomparable.end(), untold.begin(), untold.end());
  if (comparable) {
    c.reasons = failures(c);
    const std::vector<std::string> notes = notes_on(c, sides);
    c.notes.insert(c.notes.begin(), notes.begin(), notes.end());
  }

  if (comparable && !c.reasons.empty()) {
    c.verdict = Verdict::regressed;
  } else {
    c.verdict = comparable && untold.empty() ? Verdict::passes : Verdict::cannot_tell;
  }
  c.headline = headline_of(c, sides.settings);
}

}  // namespace gh

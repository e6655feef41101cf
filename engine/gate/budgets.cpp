// Budgets: a team's limits on facts, and the built-in limit on the step time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gate/comparison_passes.hpp"

namespace gh {
namespace {

// The built-in budget comes from no file.
bool is_own(const Budget& budget) { return budget.where.empty(); }

// The team's, and the built-in one unless the team limits how much longer the step may get.
std::vector<Budget> budgets_of(const GateSettings& settings) {
  std::vector<Budget> budgets = settings.budgets;
  if (std::none_of(budgets.begin(), budgets.end(),
                   [](const Budget& b) { return b.fact == "step.median_ns" && b.max_increase; })) {
    Budget own;
    own.fact = "step.median_ns";
    own.max_increase = settings.min_effect;
    budgets.insert(budgets.begin(), own);
  }
  return budgets;
}

Unit unit_of(const Budget& budget, const Capture& capture) {
  const auto known = capture.facts.find(budget.fact);
  if (known != capture.facts.end()) return known->second.unit;
  std::vector<std::string> names;
  for (const auto& [name, fact] : capture.facts) names.push_back(name);
  throw Error(fmt::format("{}: there is no numeric fact '{}'{}; `gh-advise facts` lists the facts",
                          budget.where, budget.fact, did_you_mean(budget.fact, names)));
}

void break_it(BudgetResult& r, std::string message) {
  r.state = BudgetResult::State::broken;
  r.message = std::move(message);
}

// Absolute limits.
void hold_value(BudgetResult& r, const Difference& here) {
  const Budget& budget = r.budget;
  const std::string now = shown(here.after, r.unit);
  r.value = here;
  if (r.state == BudgetResult::State::kept) {
    r.message = fmt::format("{} is {}", budget.fact, now);
  }
  if (budget.max && here.after > *budget.max) {
    break_it(r, fmt::format("{} is {}; the budget is at most {}", budget.fact, now,
                            shown(*budget.max, r.unit)));
  }
  if (budget.min && here.after < *budget.min) {
    break_it(r, fmt::format("{} is {}; the budget is at least {}", budget.fact, now,
                            shown(*budget.min, r.unit)));
  }
}

// "the step takes 49.7 ms instead of 47.4 ms"
std::string change_of(const BudgetResult& r, const Difference& d, const UnitWords& unit) {
  const std::string now = shown(d.after, r.unit), then = shown(d.before, r.unit);
  return is_own(r.budget) ? fmt::format("the {} takes {} instead of {}", unit.noun, now, then)
                          : fmt::format("{} is {} instead of {}", r.budget.fact, now, then);
}

// A change above a limit that the measurements do not prove.
void leave_open(BudgetResult& r, const Difference& d, const UnitWords& unit) {
  r.state = BudgetResult::State::unknown;
  r.message = fmt::format("{} ({}), which may be noise ({}): record more captures",
                          change_of(r, d, unit), change_text(d.effect), basis_text(d));
}

// Limits relative to the baseline: the change has to exceed the limit, and to be real.
void hold_change(BudgetResult& r, const Difference& d, const UnitWords& unit) {
  const std::string change = change_text(d.effect), basis = basis_text(d);
  r.value = d;
  if (r.state == BudgetResult::State::kept) {
    r.message += fmt::format(", before {}", shown(d.before, r.unit));
  }
  for (const auto& [limit, sign] :
       {std::pair(r.budget.max_increase, 1.0), {r.budget.max_decrease, -1.0}}) {
    if (!limit || sign * d.effect <= *limit) continue;
    if (d.real && is_own(r.budget)) {
      break_it(r, fmt::format("{} ({}, {}); more than {} fails", change_of(r, d, unit), change,
                              basis, percent(*limit)));
    } else if (d.real) {
      break_it(r, fmt::format("{} ({}); the budget is at most {} {} ({})", change_of(r, d, unit),
                              change, percent(*limit), sign > 0 ? "more" : "less", basis));
    } else if (r.state == BudgetResult::State::kept && d.open) {
      leave_open(r, d, unit);
    } else if (r.state == BudgetResult::State::kept) {
      r.message += fmt::format(" ({}), within the baseline's noise ({})", change, basis);
    }
  }
}

// Without exceptions. Absolute limits need no baseline, relative ones need both sides.
BudgetResult measured_budget(const Budget& budget, const Sides& sides, const Difference& step) {
  BudgetResult r;
  r.budget = budget;
  r.unit = unit_of(budget, sides.after.front());
  const bool relative = budget.max_increase || budget.max_decrease;
  r.title = is_own(budget) ? fmt::format("The {} became longer", sides.unit.noun)
                           : fmt::format("{} breaks its budget", budget.fact);
  const Sides only_now{sides.after, sides.after, sides.settings, sides.unit};
  const FactDifference here = fact_difference(only_now, budget.fact, 0, step.before);
  const FactDifference change =
      relative ? fact_difference(sides, budget.fact, 0, step.before) : here;
  if (const std::string* why = std::get_if<std::string>(&change)) {
    r.state = BudgetResult::State::unknown;
    r.message = *why;
  }
  if (const Difference* d = std::get_if<Difference>(&here)) hold_value(r, *d);
  if (const Difference* d = std::get_if<Difference>(&change); d && relative)
    hold_change(r, *d, sides.unit);
  r.fails = r.state == BudgetResult::State::broken &&
            budget.severity >= sides.settings.fail_on.value_or(Severity::warning);
  return r;
}

void accept_broken(BudgetResult& r, const StepTrend& trend, const Exceptions& exceptions) {
  const bool explained = trend.explained && is_own(r.budget);
  if (explained) {
    r.message += "; the accepted findings explain it";
  } else if (is_own(r.budget) && trend.accepted_ns > 0) {
    r.message += fmt::format("; {} of it is accepted", duration(trend.accepted_ns));
  }
  if (explained || exceptions.hold("budget", r.budget.fact, r.value.after)) {
    r.state = BudgetResult::State::accepted;
    r.fails = false;
  }
}

}  // namespace

const char* name_of(BudgetResult::State s) {
  constexpr const char* names[] = {"kept", "broken", "unknown", "accepted"};
  return names[static_cast<std::size_t>(s)];
}

bool is_open(const BudgetResult& r) {
  return r.state == BudgetResult::State::unknown && r.value.open;
}

std::vector<BudgetResult> judge_budgets(const Sides& sides, const Difference& step,
                                        const StepTrend& trend, const Exceptions& exceptions) {
  std::vector<BudgetResult> results;
  for (const Budget& budget : budgets_of(sides.settings)) {
    BudgetResult r = measured_budget(budget, sides, step);
    if (r.state == BudgetResult::State::broken || is_open(r)) accept_broken(r, trend, exceptions);
    results.push_back(std::move(r));
  }
  return results;
}

Finding finding_of(const BudgetResult& b) {
  Finding f;
  f.rule = "budget";
  f.category = "gate";
  f.subject = b.budget.fact;
  f.severity = b.budget.severity;
  f.message = b.message + '.';
  f.title = b.title;
  if (!is_own(b.budget)) f.message += fmt::format(" {} sets the budget.", b.budget.where);
  f.advice = {"Run `gh-advise diff` on both reports to see where the time went."};
  f.fingerprint = fingerprint(f);
  return f;
}

}  // namespace gh

#include "gate/comparison.hpp"

#include <fmt/format.h>

#include "gate/comparison_passes.hpp"

namespace gh {
namespace {

std::string side_text(const std::vector<Capture>& captures) {
  if (captures.size() == 1) return captures.front().path;
  return fmt::format("{} captures, {} and on", captures.size(), captures.front().path);
}

}  // namespace

Comparison compare(const std::vector<Capture>& before, const std::vector<Capture>& after,
                   const GateSettings& settings, const std::vector<Suppression>& suppressions,
                   const std::string& today, const Meant& meant) {
  const Sides sides{before, after, settings, UnitWords(after.front().unit)};
  const Exceptions exceptions{suppressions, today};

  Comparison c;
  c.unit = sides.unit;
  c.before = side_text(before);
  c.after = side_text(after);
  c.incomparable = incomparable(before, after);

  // What changed. This also shows sides that cannot be compared.
  c.step = step_difference(sides, settings.min_effect);
  c.account = account_changes(sides, c.step);
  c.waits = wait_changes(sides, c.step);
  c.kernels = kernel_changes(sides);
  c.findings = matched_findings(sides, c.step);
  c.facts = fact_changes(sides, c.step);

  // What of that fails.
  const double accepted_ns = accept_findings(c.findings, exceptions, after);
  const StepTrend trend = step_trend(c.step, accepted_ns, settings);
  judge_findings(c.findings, sides, c.step, trend);
  c.budgets = judge_budgets(sides, c.step, trend, exceptions);
  c.suppressions = suppression_states(exceptions, c, after);
  check_trust(c, sides, meant);

  decide(c, sides, trend);
  return c;
}

}  // namespace gh

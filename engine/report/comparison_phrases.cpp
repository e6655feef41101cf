#include "report/comparison_phrases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/phrases.hpp"
#include "report/report.hpp"

namespace gh {

std::string signed_ns(double ns) { return (ns < 0 ? "-" : "+") + duration(std::abs(ns)); }

bool matters(double change_ns, const Comparison& c) {
  return std::abs(change_ns) >= 0.002 * std::max(c.step.before, c.step.after);
}

std::vector<ChangedPart> changed_causes(const Comparison& c) {
  std::vector<ChangedPart> parts;
  for (const CauseChange& x : c.account) parts.push_back({cause_label(x.cause), &x.ns});
  return parts;
}

std::vector<ChangedPart> changed_waits(const Comparison& c, std::size_t most_letters) {
  std::vector<ChangedPart> parts;
  for (const WaitChange& x : c.waits)
    parts.push_back({shortened(path_label(x.kind, x.name), most_letters), &x.ns});
  return parts;
}

std::string change_worth_text(const FindingChange& f, const UnitWords& unit) {
  if (f.change == FindingState::worse || f.change == FindingState::better)
    return fmt::format("{} -> {} {}", duration(f.before_ns), duration(f.after_ns), unit.per);
  const double ns = f.present ? f.after_ns : f.before_ns;
  if (ns <= 0) return "";
  return fmt::format("{} {}", amount_text(f.finding, std::llround(ns)), unit.per);
}

const char* step_noise_text(const Comparison& c) {
  if (c.step.real || c.step.effect == 0) return "";
  return c.step.open ? ", not proved" : ", too little to count";
}

std::vector<std::string> suppression_lines(const Comparison& c) {
  std::vector<std::string> lines;
  for (const auto& [s, state] : c.suppressions)
    if (state != SuppressionState::not_checked) lines.push_back(suppression_text(s, state));
  return lines;
}

std::string suppression_text(const Suppression& s, SuppressionState state) {
  const std::string what = suppressed_text(s);
  switch (state) {
    case SuppressionState::expired: return "expired: " + what;
    case SuppressionState::unused: return "matches nothing any more: " + what;
    case SuppressionState::not_checked: return "not checked: " + what;
    default: return what;
  }
}

}  // namespace gh

#include "rules/suppression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "rules/finding.hpp"

namespace gh {
namespace {

bool matches(const Suppression& s, const Finding& f) {
  return f.rule == s.rule && glob_match(s.subject, f.subject) &&
         (!s.up_to || static_cast<double>(std::max(f.recoverable_ns, f.alone_ns)) <= *s.up_to);
}

bool looked(const Report& report, const std::string& rule) {
  return std::find(report.clean.begin(), report.clean.end(), rule) != report.clean.end() ||
         std::any_of(report.findings.begin(), report.findings.end(),
                     [&](const Finding& f) { return f.rule == rule; });
}

// Removes the findings that one suppression matches.
SuppressionState apply(Report& report, const Suppression& s) {
  std::vector<Finding>& findings = report.findings;
  const auto first = std::stable_partition(findings.begin(), findings.end(),
                                           [&](const Finding& f) { return !matches(s, f); });
  if (first == findings.end())
    return looked(report, s.rule) ? SuppressionState::unused : SuppressionState::not_checked;
  report.suppressed.insert(report.suppressed.end(), std::make_move_iterator(first),
                           std::make_move_iterator(findings.end()));
  findings.erase(first, findings.end());
  return SuppressionState::used;
}

}  // namespace

const char* name_of(SuppressionState s) {
  constexpr const char* names[] = {"used", "unused", "expired", "not_checked"};
  return names[static_cast<std::size_t>(s)];
}

std::string suppression_note(const Suppression& s, SuppressionState state) {
  if (state == SuppressionState::expired)
    return fmt::format(
        "{}: the suppression of {} expired after {}; fix the problem or renew the suppression",
        s.where, s.rule, s.until);
  if (state == SuppressionState::unused)
    return fmt::format("{}: the suppression of {} no longer matches anything; remove it", s.where,
                       s.rule);
  return "";
}

bool suppress(Report& report, const Accepted& accepted) {
  for (const Suppression& s : accepted.suppressions) {
    const SuppressionState state =
        s.holds(accepted.today) ? apply(report, s) : SuppressionState::expired;
    report.suppressions.emplace_back(s, state);
  }
  return !report.suppressed.empty();
}

}  // namespace gh

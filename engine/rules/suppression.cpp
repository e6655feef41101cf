#include "rules/suppression.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "rules/finding.hpp"

namespace gh {
namespace {

bool matches(const Suppression& s, const Estimated& f) {
  return f.rule == s.rule && glob_match(s.subject, f.subject) &&
         (!s.up_to || static_cast<double>(f.alone_ns) <= *s.up_to);
}

SuppressionState state_of(const Suppression& s, const std::string& today, const Answers& answers) {
  if (!s.holds(today)) return SuppressionState::expired;
  const auto any = [&](auto holds) {
    return std::any_of(answers.findings.begin(), answers.findings.end(), holds);
  };
  if (any([&](const Estimated& f) { return matches(s, f); })) return SuppressionState::used;
  const bool looked =
      std::find(answers.clean.begin(), answers.clean.end(), s.rule) != answers.clean.end() ||
      any([&](const Estimated& f) { return f.rule == s.rule; });
  return looked ? SuppressionState::unused : SuppressionState::not_checked;
}

const char* suppression_kind(const Suppression& s) {
  return s.gate_only ? "exception" : "suppression";
}

}  // namespace

const char* name_of(SuppressionState s) {
  constexpr const char* names[] = {"used", "unused", "expired", "not_checked"};
  return names[static_cast<std::size_t>(s)];
}

std::string suppression_note(const Suppression& s, SuppressionState state) {
  if (state == SuppressionState::expired)
    return fmt::format("{}: the {} of {} expired after {}; fix the finding, or set a new date",
                       s.where, suppression_kind(s), s.rule, s.until);
  if (state == SuppressionState::unused)
    return fmt::format("{}: the {} of {} matches nothing any more; remove it", s.where,
                       suppression_kind(s), s.rule);
  return "";
}

std::vector<std::size_t> hidden_by(const Report& report, const Suppression& s) {
  std::vector<std::size_t> hidden;
  for (std::size_t i = 0; i < report.suppressed.size(); ++i)
    if (matches(s, report.suppressed[i])) hidden.push_back(i);
  return hidden;
}

bool is_accepted(const Estimated& f, const Accepted& accepted) {
  return std::any_of(
      accepted.suppressions.begin(), accepted.suppressions.end(),
      [&](const Suppression& s) { return s.holds(accepted.today) && matches(s, f); });
}

std::vector<std::pair<Suppression, SuppressionState>> states_of(const Accepted& accepted,
                                                                const Answers& answers) {
  std::vector<std::pair<Suppression, SuppressionState>> states;
  for (const Suppression& s : accepted.suppressions)
    states.emplace_back(s, state_of(s, accepted.today, answers));
  return states;
}

}  // namespace gh

// Findings that a team has decided to live with.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gh {

struct Report;

/// A finding that a team has decided to live with, for a reason and perhaps until a day.
struct Suppression {
  std::string rule;
  std::string subject;  ///< a glob
  std::string reason;
  std::string until;  ///< the last day on which it holds, "2026-12-31", or "" for good
  std::string where;  ///< "gh-advise.toml:12"
  /// Nanoseconds a step that it may cost; of a budget, the fact's value.
  std::optional<double> up_to;

  bool holds(const std::string& today) const { return until.empty() || today <= until; }
};

/// What became of a suppression on one report. `unused`: its rule looked and found nothing that it
/// would suppress.
enum class SuppressionState : std::uint8_t { used, unused, expired, not_checked };
const char* name_of(SuppressionState);

/// "gh-advise.toml:3: the suppression of unfused-norm expired after 2026-11-20; fix it, or decide
/// anew"; "" of one that is in use or was not looked at.
std::string suppression_note(const Suppression& suppression, SuppressionState state);

/// What a team lives with, and the day on which it does.
struct Accepted {
  std::vector<Suppression> suppressions;
  std::string today;  ///< "2026-11-21"
};

/// Takes what the team lives with out of the findings; whether there was any.
bool suppress(Report& report, const Accepted& accepted);

}  // namespace gh

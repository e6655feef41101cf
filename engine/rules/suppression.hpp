// Findings that a team has decided to accept.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gh {

struct Report;

/// A finding that a team has decided to accept, for a reason and possibly until a date.
struct Suppression {
  std::string rule;
  std::string subject;  ///< a glob
  std::string reason;
  std::string until;  ///< the last day on which it holds, "2026-12-31", or "" for no end
  std::string where;  ///< "gh-advise.toml:12"
  /// The most that it may cost, in nanoseconds a step; for a budget, the fact's value.
  std::optional<double> up_to;

  bool holds(const std::string& today) const { return until.empty() || today <= until; }
};

/// What became of a suppression on one report. `unused`: its rule ran and found nothing that it
/// would suppress.
enum class SuppressionState : std::uint8_t { used, unused, expired, not_checked };
const char* name_of(SuppressionState);

/// "gh-advise.toml:3: the suppression of unfused-norm expired after 2026-11-20; fix the problem or
/// renew the suppression"; "" if it is in use or was not checked.
std::string suppression_note(const Suppression& suppression, SuppressionState state);

/// What a team accepts, and on which day.
struct Accepted {
  std::vector<Suppression> suppressions;
  std::string today;  ///< "2026-11-21"
};

/// Removes what the team accepts from the findings; returns whether there was any.
bool suppress(Report& report, const Accepted& accepted);

}  // namespace gh

// Findings that a team has decided to live with.
//
// [[suppress]], written by hand, hides a finding everywhere. [[accept]], which `gate --accept`
// writes, lets a change pass the gate and hides nothing: the advice stays true.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gh {

struct Answers;
struct Estimated;
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
  bool gate_only = false;  ///< [[accept]]

  bool holds(const std::string& today) const { return until.empty() || today <= until; }
};

/// What a suppression did on one report. `unused`: its rule ran and found nothing to suppress.
enum class SuppressionState : std::uint8_t { used, unused, expired, not_checked };
const char* name_of(SuppressionState);

/// "gh-advise.toml:3: the suppression of unfused-norm expired after 2026-11-20; fix the finding, or
/// set a new date"; "" if it is in use or its rule did not run.
std::string suppression_note(const Suppression& suppression, SuppressionState state);

/// What a team lives with, on which day.
struct Accepted {
  std::vector<Suppression> suppressions;
  std::string today;  ///< "2026-11-21"
};

/// Whether a team lives with a finding.
bool is_accepted(const Estimated& finding, const Accepted& accepted);

/// What each suppression did on a report. One that matches a finding is used, even if an earlier
/// one matches it too.
std::vector<std::pair<Suppression, SuppressionState>> states_of(const Accepted& accepted,
                                                                const Answers& answers);

/// The suppressed findings that a suppression hides, as indices into report.suppressed.
std::vector<std::size_t> hidden_by(const Report& report, const Suppression& suppression);

}  // namespace gh

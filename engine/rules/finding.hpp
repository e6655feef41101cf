// What rules find and a report says.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "base/text.hpp"
#include "whatif/plan.hpp"

namespace gh {

enum class Severity : std::uint8_t { note, warning, error };
const char* name_of(Severity);
/// note, warning or error; throws Error that starts with `where` otherwise.
Severity parse_severity(const std::string& name, const std::string& where);

/// A stretch of the trace that proves a finding. Fields that do not apply are -1 or "".
struct Evidence {
  Span span;
  std::int64_t device = -1;  ///< ordinal
  std::int64_t stream = -1;
  std::string thread;  ///< "python3 (447)"
  std::string name;    ///< of the kernel, call, range or pause
  std::string note;    ///< what happened in it
  SourceLine source;   ///< of the range around its launch, where that names one
};

struct Metric {
  std::string name;
  double value = 0;
  Unit unit = Unit::count;
  std::optional<double> threshold;
};

struct Finding {
  std::string rule, category, title;
  Severity severity = Severity::note;
  std::string message;    ///< one sentence or two, with the figures
  std::string subject;    ///< what it is about, without times or addresses: part of the fingerprint
  Ns recoverable_ns = 0;  ///< of the mean step: at most this, or about this
  double recoverable_fraction = 0;  ///< of the step, 0 to 1
  bool about = false;  ///< what is recoverable is an estimate, which the truth may exceed;
                       ///< otherwise a ceiling
  Changes changes;     ///< what the fix changes about the trace; none where that cannot be replayed
  std::optional<Prediction>
      predicted;  ///< the step after this fix alone; what is recoverable is then told from it
  std::string confidence = "high";  ///< high, medium, low
  std::vector<std::string> advice;  ///< the first is what to do first
  std::vector<Metric> metrics;
  std::vector<Evidence> evidence;  ///< the worst first
  std::string follows_from;  ///< the rule that found the root of which this is a consequence, or ""
  std::string fingerprint;   ///< the same when the same program is recorded again
  bool voids = false;        ///< it puts the report itself in doubt, and so comes first
};

/// A rule that could not look. `not_recorded`: for want of a source that it needs, rather than of
/// anything to look at.
struct NotChecked {
  std::string rule, reason, record_with;
  bool not_recorded = false;
};
struct Failed {
  std::string rule, error;
};

/// A finding that a team has decided to live with, for a reason and perhaps until a day.
struct Suppression {
  std::string rule;
  std::string subject;  ///< a glob
  std::string reason;
  std::string until;  ///< the last day on which it holds, "2026-12-31", or "" for good
  std::string where;  ///< "gh-advise.toml:12"
  std::optional<double>
      up_to;  ///< nanoseconds a step that it may cost; of a budget, the fact's value

  bool holds(const std::string& today) const { return until.empty() || today <= until; }
};

/// What became of a suppression on one report. `unused`: its rule looked and found nothing that it
/// would suppress.
enum class SuppressionState : std::uint8_t { used, unused, expired, not_checked };
const char* name_of(SuppressionState);

/// The outcome of all rules on one report.
struct Report {
  std::vector<Finding> findings;   ///< the best fix first
  std::vector<std::string> clean;  ///< rules that looked and found nothing
  std::vector<NotChecked> not_checked;
  std::vector<Failed> failed;
  std::vector<Finding> suppressed;  ///< taken out of `findings`
  std::shared_ptr<const Replay>
      replay;  ///< of the steps; it refers to the Analysis. Nothing where none was asked for
  std::optional<Plan> plan;  ///< nothing where the steps cannot be replayed
  std::vector<std::pair<Suppression, SuppressionState>> suppressions;
};

/// "gh-advise.toml:3: the suppression of unfused-norm expired after 2026-11-20; fix it, or decide
/// anew"; "" of one that is in use or was not looked at.
std::string suppression_note(const Suppression& suppression, SuppressionState state);

/// Takes what the team lives with out of the findings and the plan, for which the Analysis has to
/// be alive. `today` is a day like "2026-11-21".
void suppress(Report& report, const std::vector<Suppression>& suppressions,
              const std::string& today);

/// Sixteen hexadecimal digits of what does not change from one recording to the next: rule and
/// subject.
std::string fingerprint(const Finding& finding);

/// The order of findings: what puts the report in doubt, notes last, by what is recoverable, then
/// by rule and subject, so that it is total. What follows from another finding stands behind it,
/// and a root weighs as much as the heaviest that follows from it. A `follows_from` that no finding
/// above a note bears out is taken back.
void rank(std::vector<Finding>& findings);

/// Replays the step with a finding's changes and sets what is predicted and recoverable from it.
/// Leaves both as the rule has them where there is nothing to replay. `uncertain` is the rule's own
/// reason for the range of its factors.
void predict(Finding& finding, const Replay& replay, const std::string& uncertain);

/// What follows from another finding may be cured by that one's fix, which wins more: the range of
/// its prediction takes that in.
void widen_by_roots(std::vector<Finding>& findings);

/// The plan of all fixes that can be replayed. Nothing where the steps were not replayed.
std::optional<Plan> plan_of(const Report& report);

}  // namespace gh

// What rules find and a report says.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "base/text.hpp"
#include "rules/suppression.hpp"
#include "whatif/plan.hpp"

namespace gh {

enum class Severity : std::uint8_t { note, warning, error };
const char* name_of(Severity);
/// From this share of the step on a finding is an error.
inline constexpr double error_at = 0.20;
/// note, warning or error; throws Error that starts with `where` otherwise.
Severity parse_severity(const std::string& name, const std::string& where);

/// The unit that rules call ns, fraction, count, bytes, bytes/s, FLOP/s or W; throws likewise.
Unit parse_unit(const std::string& name, const std::string& where);

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
  std::string rule, category;
  std::string title;  ///< what is so in this recording: the rule's headline, else its title
  Severity severity = Severity::note;
  Severity severity_alone = Severity::note;  ///< by what this fix alone wins back
  bool severity_by_worth = false;            ///< and neither the rule nor a team has set it
  std::string message;                       ///< one sentence or two, with the figures
  std::string subject;  ///< what it is about, without times or addresses: part of the fingerprint

  // What it is worth. Where it is predicted, what is recoverable is told from that.
  Ns recoverable_ns = 0;            ///< of the mean step: at most this, or about this
  double recoverable_fraction = 0;  ///< of the step, 0 to 1
  bool of_window = false;  ///< no steps were found: all of this is of the whole window instead
  Ns step_ns = 0;          ///< that step
  bool about = false;  ///< recoverable is an estimate, which the truth may exceed; else a ceiling
  Ns alone_ns = 0;     ///< what this fix alone wins back
  /// The time of the step that the message names as lost: what stands in it before "of each step".
  std::optional<Ns> explained_ns;
  /// Fingerprints of the fixes after which the recoverable is told, since they win back a part of
  /// `alone_ns` themselves; none where that is all of it.
  std::vector<std::string> after;
  /// Found only once the fixes `after` were made: all of it is told of the step that they leave.
  bool masked = false;
  Changes changes;  ///< what the fix changes about the trace; none where that cannot be replayed
  std::optional<Prediction> predicted;  ///< the step after this fix alone

  std::string confidence = "high";  ///< high, medium, low
  std::vector<std::string> advice;  ///< the first is what to do first
  std::vector<Metric> metrics;
  std::vector<Evidence> evidence;  ///< the worst first
  std::string follows_from;  ///< the rule that found the root of which this is a consequence, or ""
  std::string fingerprint;   ///< the same when the same program is recorded again
  bool voids = false;        ///< it puts the report itself in doubt, and so comes first
};

/// Sixteen hexadecimal digits of what does not change from one recording to the next: rule and
/// subject.
std::string fingerprint(const Finding& finding);

/// What to do, in a few words: the first advice up to its first ": " or ". ", without a full stop.
/// "" where there is none.
std::string short_fix(const Finding& finding);
/// The program's own rules say it in no more letters.
inline constexpr std::size_t most_short_fix_letters = 60;

/// A rule that could not look. `not_recorded`: for want of a source that it needs, rather than of
/// anything to look at.
struct NotChecked {
  std::string rule, reason, record_with;
  bool not_recorded = false;
};
struct Failed {
  std::string rule, error;
};

/// The outcome of all rules on one report.
struct Report {
  std::vector<Finding> findings;   ///< the best fix first
  std::vector<std::string> clean;  ///< rules that looked and found nothing
  std::vector<NotChecked> not_checked;
  std::vector<Failed> failed;
  StepTime step;                    ///< by which times and shares are told
  std::vector<Finding> suppressed;  ///< taken out of `findings`
  /// Of the steps; it refers to the Analysis. Null where none was asked for.
  std::shared_ptr<const Replay> replay;
  std::optional<Plan> plan;  ///< nothing where the steps cannot be replayed
  std::vector<std::pair<Suppression, SuppressionState>> suppressions;
};

}  // namespace gh

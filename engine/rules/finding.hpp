// What rules find, and what a report contains.
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
/// Findings that save this share of the step or more are errors.
inline constexpr double error_at = 0.20;
/// note, warning or error; otherwise throws Error that starts with `where`.
Severity parse_severity(const std::string& name, const std::string& where);

/// The unit that rules call ns, fraction, count, bytes, bytes/s, FLOP/s or W; otherwise throws
/// Error.
Unit parse_unit(const std::string& name, const std::string& where);

/// A span of the trace that proves a finding. Fields that do not apply are -1 or "".
struct Evidence {
  Span span;
  std::int64_t device = -1;  ///< ordinal
  std::int64_t stream = -1;
  std::string thread;  ///< "python3 (447)"
  std::string name;    ///< of the kernel, call, range or pause
  std::string note;    ///< what happened in it
  SourceLine source;   ///< of the range around its launch, if that names one
  std::string layer;   ///< the module or range that launched what begins it: "blocks.5.attn"
};

/// A layer that a finding is about, or several equal ones.
struct ConcernedLayer {
  std::string path;       ///< "blocks.5.attn"; of several "blocks.*.attn"
  std::size_t count = 1;  ///< how many it concerns, ...
  std::size_t of = 1;     ///< ... of how many
  double share = 0;       ///< of what the finding is about, 0 to 1
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
  Severity severity_alone = Severity::note;  ///< by what this fix saves alone
  bool severity_by_worth = false;            ///< and neither the rule nor a team has set it
  std::string message;                       ///< one sentence or two, with the figures
  std::string subject;  ///< what it is about, without times or addresses: part of the fingerprint

  // What it saves. If it is predicted, `recoverable` comes from the prediction.
  Ns recoverable_ns = 0;            ///< of the mean step: at most this, or about this
  double recoverable_fraction = 0;  ///< of the step, 0 to 1
  bool of_window = false;  ///< no steps were found: everything here refers to the whole window
  Ns step_ns = 0;          ///< that step
  bool about =
      false;        ///< recoverable is an estimate, which may be exceeded; otherwise an upper limit
  Ns alone_ns = 0;  ///< what this fix saves alone
  /// The lost time that the message names: the figure before "of each step".
  std::optional<Ns> explained_ns;
  /// Fingerprints of the fixes that come before this one and save part of `alone_ns` themselves;
  /// empty if it saves all of that.
  std::vector<std::string> after;
  /// Found only after the fixes in `after`: everything here refers to the step that they leave.
  bool masked = false;
  Changes changes;  ///< the fix's effect on the trace; empty if it cannot be replayed
  std::optional<Prediction> predicted;  ///< the step after this fix alone

  std::string confidence = "high";  ///< high, medium, low
  std::vector<std::string> advice;  ///< the most important first
  /// Message and advice as the rule wrote them, with code between backticks, for the page.
  struct Marked {
    std::string message;
    std::vector<std::string> advice;
  } marked;
  std::vector<Metric> metrics;
  std::vector<Evidence> evidence;  ///< the worst first
  std::vector<ConcernedLayer>
      layers;                ///< the one that holds it, or a few; empty for all of a program
  std::string follows_from;  ///< the rule that found its root cause, or ""
  std::string fingerprint;   ///< the same for every recording of the same program
  bool voids = false;        ///< it casts doubt on the report itself, and so comes first
};

/// Sixteen hexadecimal digits from what is the same in every recording: rule and subject.
std::string fingerprint(const Finding& finding);

/// What to do, in a few words: the first advice up to its first ": " or ". ", without a full stop.
/// "" where there is none.
std::string short_fix(const Finding& finding);
/// The advice, and the short fix, with code between backticks where the rule has marked it.
const std::vector<std::string>& marked_advice(const Finding& finding);
std::string marked_short_fix(const Finding& finding);
/// The program's own rules say it in no more letters.
inline constexpr std::size_t most_short_fix_letters = 60;

/// A rule that could not check. `not_recorded`: because a source that it needs is missing, rather
/// than because there was nothing to check.
struct NotChecked {
  std::string rule, reason, record_with;
  bool not_recorded = false;
  std::string marked_record_with = "";  ///< with code between backticks, for the page
};
struct Failed {
  std::string rule, error;
};

/// The outcome of all rules on one report.
struct Report {
  std::vector<Finding> findings;   ///< the best fix first
  std::vector<std::string> clean;  ///< rules that found nothing
  std::vector<NotChecked> not_checked;
  std::vector<Failed> failed;
  StepTime step;                    ///< to which times and shares refer
  std::vector<Finding> suppressed;  ///< removed from `findings`
  /// Refers to the Analysis. Null if no replay was requested.
  std::shared_ptr<const Replay> replay;
  std::optional<Plan> plan;  ///< nothing if the steps cannot be replayed
  std::vector<std::pair<Suppression, SuppressionState>> suppressions;
};

}  // namespace gh

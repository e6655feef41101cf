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
#include "analysis/cause.hpp"
#include "analysis/facts.hpp"
#include "analysis/loop_place.hpp"
#include "base/text.hpp"
#include "rules/host_waits.hpp"
#include "rules/suppression.hpp"
#include "whatif/plan.hpp"

namespace gh {

enum class Severity : std::uint8_t { note, warning, error };
const char* name_of(Severity);
/// The share of a step from which what a fix saves is an error, and that from which it is a warning
/// unless a rule says otherwise.
inline constexpr double error_at = 0.20, warning_at = 0.05;
/// By the share of the step that a fix saves.
constexpr Severity severity_at(double share, double warns_from = warning_at) {
  if (share >= error_at) return Severity::error;
  return share >= warns_from ? Severity::warning : Severity::note;
}
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

/// How large a rule says that its finding is: what the estimate starts from. Shares are of the
/// step, 0 to 1.
struct Claim {
  double share = 0;               ///< that the fix saves, by the rule's own account
  bool about = false;             ///< which may be exceeded; otherwise an upper limit
  double cited_share = 1;         ///< that it cites: a fix is not said to save more for certain
  std::optional<double> lost_ns;  ///< the time of each step that its message explains
  std::string uncertain;          ///< why its changes are, "" if they are not
  std::string doubt;              ///< why what recording added may explain it, "" if it does not
  std::string confidence = "high";
  double warning_at = 0;                  ///< the share from which it is a warning
  std::optional<Severity> severity;       ///< if the rule sets it
  std::optional<Severity> team_severity;  ///< if the configuration does, which takes precedence
  Severity at_most = Severity::error;     ///< if neither does
};

/// What a rule said. Nothing changes it afterwards: evaluate.hpp shows the way of a finding.
struct Said {
  std::string rule, category;
  std::string title;    ///< what is so in this recording: the rule's headline, else its title
  std::string text;     ///< its message: one sentence or two, with the figures
  std::string subject;  ///< what it is about, without times or addresses: part of the fingerprint
  std::string fingerprint;  ///< the same for every recording of the same program
  std::string root;         ///< the rule that it says found its root cause, or ""
  bool voids = false;       ///< it casts doubt on the report itself, and so comes first
  bool of_window = false;   ///< no steps were found: everything refers to the whole window
  /// The operator, function, range or library that at least half of its time belongs to, "" if none
  /// or unknown; and its key in schemas/owners.toml, "" if that does not list it.
  std::string owner, owner_key;
  std::vector<std::string> advice;  ///< the most important first
  std::string fix;                  ///< the first in a few words, where it says that; see short_fix
  /// Text and advice as the rule wrote them, with code between backticks, for the page.
  struct Marked {
    std::string text, fix;
    std::vector<std::string> advice;
  } marked;
  std::vector<Metric> metrics;
  std::vector<Evidence> evidence;  ///< the worst first
  Changes changes;                 ///< the fix's effect on the replayed steps; empty if unknown
  Claim claim;
};

/// What a finding's fix saves by itself: from replaying the steps with its changes or, without a
/// replay, from the rule's claim.
struct Estimate {
  Ns step_ns = 0;                      ///< the step to which times and shares refer
  Ns alone_ns = 0;                     ///< what this fix saves: at most, or about
  double alone_fraction = 0;           ///< of the step, 0 to 1
  bool about = false;                  ///< that may be exceeded; otherwise it is an upper limit
  std::optional<Ns> explained_ns;      ///< the lost time that the message names
  std::optional<Prediction> replayed;  ///< the step after this fix: expected, least and most
  std::string doubt;                   ///< the claim's, if the replay does not settle it
  std::string confidence = "high";     ///< high, medium, low
  Severity severity_alone = Severity::note;  ///< by what this fix saves
};
struct Estimated : Said, Estimate {};

/// Whether the fix may lose, by what it was measured to do: advice to try it, and no forecast.
/// `alone_ns` is then what it saves at most.
inline bool is_to_try(const Estimate& e) { return e.replayed && e.replayed->may_lose; }

/// Where a finding stands among the others.
struct Standing {
  Severity severity = Severity::note;
  Ns recoverable_ns = 0;            ///< what its fix saves after those in `after`
  double recoverable_fraction = 0;  ///< of the step, 0 to 1
  /// Fingerprints of the fixes that come before this one and save part of `alone_ns` themselves;
  /// empty if it saves all of that.
  std::vector<std::string> after;
  /// Found only after the fixes in `after`: everything here refers to the step that they leave.
  bool masked = false;
  std::string follows_from;             ///< the rule that found its root cause, or ""
  std::optional<Prediction> predicted;  ///< the step after this fix alone; masked: after all
};

/// A finding as reports show it.
struct Finding : Estimated, Standing {
  std::string message;  ///< what the rule said, and what the replay adds to it
  std::vector<ConcernedLayer>
      layers;  ///< the one that holds it, or a few; empty for all of a program
};

/// What its fix saves at least and at most where `ns` is expected: where better fixes leave less of
/// it than it saves alone, no more than that. The finding has a prediction.
inline std::pair<Ns, Ns> saving_range(const Finding& f, Ns ns) {
  const auto [least, most] = f.predicted->saving_range(ns);
  return {least, ns < f.alone_ns ? ns : most};
}

/// Sixteen hexadecimal digits from what is the same in every recording: rule and subject.
std::string fingerprint(const Said& finding);

/// What to do, in a few words: `fix`. Of advice that does not say it, as in older rules of teams,
/// it is what stands before the first ": " or ". ", without a full stop; "" where there is no
/// advice.
std::string short_fix(const Said& finding);
/// The advice, and the short fix, with code between backticks where the rule has marked it.
const std::vector<std::string>& marked_advice(const Said& finding);
std::string marked_short_fix(const Said& finding);
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

/// What came of asking rules, besides findings.
struct Asked {
  std::vector<std::string> clean;  ///< rules that found nothing
  std::vector<NotChecked> not_checked;
  std::vector<Failed> failed;
  StepTime step;                ///< to which times and shares refer
  std::vector<HostWait> waits;  ///< of the recording itself
};

/// What all rules answered, in the rules' order.
struct Answers : Asked {
  std::vector<Estimated> findings;
};

/// Another loop of the program, judged by itself: `--unit` has the same steps.
struct JudgedLoop {
  std::string name;  ///< as in Segment::loop
  LoopPlace place = LoopPlace::before;
  std::int64_t steps = 0;          ///< that were judged, on the device that has the most
  Ns step_ns = 0;                  ///< the mean, as Asked::step has it
  double busy_fraction = 0;        ///< of that, in which the GPUs work, 0 to 1
  std::optional<Finding> finding;  ///< the worst, if there is a warning or an error
};

/// The outcome of all rules on one report.
struct Report : Asked {
  std::vector<Finding> findings;    ///< the best fix first
  std::vector<Finding> suppressed;  ///< which the team accepts, ranked among themselves
  /// Refers to the Analysis. Null if no replay was requested.
  std::shared_ptr<const Replay> replay;
  std::optional<Plan> plan;  ///< nothing if the steps cannot be replayed
  std::vector<std::pair<Suppression, SuppressionState>> suppressions;
  std::vector<JudgedLoop> loops;  ///< in order of time; filled by judged_loops, in advise
};

}  // namespace gh

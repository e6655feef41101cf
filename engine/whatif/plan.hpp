// What fixes save: each alone, and all that matter one after the other.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "whatif/replay.hpp"

namespace gh {

/// The length of a step after a change, without what the profiler added. If no steps were found
/// (Replay::whole_window), the window counts as one, here and in the plan.
struct Prediction {
  Ns step_ns = 0;
  Ns least_ns = 0, most_ns = 0;  ///< the measured step should lie between these
  std::string why;               ///< why the range is as wide as it is
  /// What the changes save of `now`, if recording slowed the host most and the fix does most, and
  /// if both do least; neither is a bound. Both 0 without changes.
  Ns saves_if_most_ns = 0, saves_if_least_ns = 0;
  /// Whether the changes make the step longer where their factors do least: then the fix is one to
  /// try, and `saves_if_most_ns` an upper limit.
  bool may_lose = false;

  /// What they save at least and at most, beside the expected `saves_ns`.
  std::pair<Ns, Ns> saving_range(Ns saves_ns) const {
    return std::minmax({saves_ns, saves_if_most_ns, saves_if_least_ns});
  }
};

/// Fixes in the order of their findings, each of which saves something after those before it.
struct Plan {
  struct Fix {
    std::string rule, fingerprint;  ///< of the finding
    Prediction step;                ///< with this fix and those before it
    bool masked = false;            ///< found only on the step that remains after those before it
  };
  std::vector<Fix> fixes;
  Ns recorded_ns = 0;     ///< the replayed steps' mean as recorded
  Prediction now;         ///< the same without what the profiler added, or as measured
  bool measured = false;  ///< whether `now` was measured
  double items = 0;       ///< tokens or samples in a step if ranges say so; otherwise 0
  std::string item;       ///< "tokens"
  Replay::Bounds bounds;  ///< with all of these fixes
  std::string ceiling;    ///< why savings are upper limits and not forecasts, or ""
};

/// A fix that can be replayed.
struct Candidate {
  std::string rule, fingerprint;      ///< of the finding
  std::string fix;                    ///< what to do, in a few words
  const Changes* changes = nullptr;   ///< its effect on the trace
  Ns most_ns = 0;                     ///< what its finding claims; the plan does not exceed it
  const Prediction* alone = nullptr;  ///< the step after this fix alone
};

/// The step with these changes. `why` says what makes the changes uncertain, "" if nothing does.
Prediction predicted(const Replay& replay, const Changes& changes, std::string why);

/// Whether a fix saves enough of what is left of the step: 2 %.
bool belongs_in_plan(Ns before_ns, Ns after_ns);

/// Makes the plan: each candidate in turn, the best first, that belongs in it after the ones
/// before. Two that say to do the same are one line, the first.
Plan make_plan(const Replay& replay, const std::vector<Candidate>& candidates);

}  // namespace gh

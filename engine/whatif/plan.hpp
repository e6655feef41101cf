// What fixes are worth: each alone, and all that matter one after the other.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "whatif/replay.hpp"

namespace gh {

/// What a step takes once something has been changed, without what the profiler added. Where no
/// steps were found (Replay::whole_window), the window stands for one, here and in the plan.
struct Prediction {
  Ns step_ns = 0;
  Ns least_ns = 0, most_ns = 0;  ///< the measured step is expected between these
  std::string why;               ///< why the range is as wide as it is
};

/// Fixes one after the other, each the one that then wins most.
struct Plan {
  struct Fix {
    std::string rule, fingerprint;  ///< of the finding
    Prediction step;                ///< with this fix and those before it
    bool masked = false;            ///< found only on the step that those before it leave
  };
  std::vector<Fix> fixes;
  Ns recorded_ns = 0;     ///< the replayed steps' mean as recorded
  Prediction now;         ///< the same without what the profiler added, or as it was measured
  bool measured = false;  ///< the latter
  double items = 0;       ///< tokens or samples in a step, where ranges say so; otherwise 0
  std::string item;       ///< "tokens"
  Replay::Bounds bounds;  ///< with all of these fixes
  std::string ceiling;    ///< why what fixes are worth is a ceiling and no forecast, or ""
};

/// A fix that can be replayed.
struct Candidate {
  std::string rule, fingerprint;     ///< of the finding
  const Changes* changes = nullptr;  ///< what it changes about the trace
  Ns most_ns = 0;                    ///< what its finding claims, which the plan does not exceed
};

/// The step with these changes. `why` is what makes the changes uncertain, "" where nothing does.
Prediction predicted(const Replay& replay, const Changes& changes, std::string why);

/// The plan: of all candidates, which come the best first, the one that wins most, then, with it
/// made, the one that wins most of the rest, until none wins 2 % of what is left.
Plan make_plan(const Replay& replay, std::vector<Candidate> candidates);

}  // namespace gh

#include "rules/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "whatif/replay.hpp"

namespace gh {
namespace {

// Relative to the step that is left: half of what a trusted replay may be off.
constexpr double as_good_as_explained = 0.01;

// What a fix saves of a step, and the step that it leaves.
struct Saving {
  Ns step_ns = 0;
  Ns ns = 0;
  double fraction = 0;
  std::optional<Prediction> replayed;

  void set(Ns saved_ns) {
    ns = std::clamp<Ns>(saved_ns, 0, step_ns);
    fraction = step_ns > 0 ? static_cast<double>(ns) / static_cast<double>(step_ns) : 0;
  }
  // Limits it to this share of the step.
  void claim_at_most(double share) {
    if (share >= fraction) return;
    set(std::llround(share * static_cast<double>(step_ns)));
    if (!replayed) return;
    replayed->step_ns = step_ns - ns;
    replayed->most_ns = std::max(replayed->most_ns, replayed->step_ns);
  }
};

Saving claimed(const Claim& claim, Ns step_ns) {
  return {step_ns, std::llround(claim.share * static_cast<double>(step_ns)), claim.share, {}};
}

Saving replayed(const Said& f, const Replay& replay) {
  Saving saving;
  saving.step_ns = replay.step_ns({});
  saving.replayed = predicted(replay, f.changes, f.claim.uncertain);
  saving.set(saving.step_ns - saving.replayed->step_ns);
  // A ceiling does not justify claiming more time than the finding cites.
  if (!replay.trusted()) saving.claim_at_most(f.claim.cited_share);
  return saving;
}

// The least that the fix saves, as a share of the step, if recording added the most ever observed.
// 0 if that is unknown or the replay is no forecast.
double share_if_overhead_is_most(const Said& f, const Replay& replay) {
  if (!replay.trusted()) return 0;
  // PyTorch's profiler also records operators, and there is no bound for how much that adds.
  if (replay.analysis().trace.recording_ns > 0 && replay.measured_ns() == 0) return 0;
  // Vary only the guessed overhead: the fix itself has its most likely effect.
  Changes changes = f.changes;
  for (Change& change : changes)
    std::visit(
        [](auto& c) {
          if constexpr (requires { c.factor; }) c.factor.least = c.factor.by;
        },
        change);
  const Ns now = replay.step_ns({}, Guess::least), then = replay.step_ns(changes, Guess::least);
  return now > 0 ? static_cast<double>(now - then) / static_cast<double>(now) : 0;
}

// From the savings, unless the rule or the configuration sets it. What may not exist at all is a
// note.
Severity severity_of(const Claim& claim, double fraction, bool doubted) {
  if (claim.team_severity) return *claim.team_severity;
  if (doubted) return Severity::note;
  if (claim.severity) return *claim.severity;
  return std::min(fraction >= error_at           ? Severity::error
                  : fraction >= claim.warning_at ? Severity::warning
                                                 : Severity::note,
                  claim.at_most);
}

}  // namespace

bool exceeds(Ns saved_ns, Ns explained_ns, Ns step_ns) {
  return static_cast<double>(saved_ns - explained_ns) >
         as_good_as_explained * static_cast<double>(step_ns - saved_ns);
}

Estimate estimate_of(const Said& f, const Analysis& analysis, const StepTime& step,
                     const Replay* replay) {
  const Claim& claim = f.claim;
  Estimate e;
  e.about = claim.about;
  Saving saving = claimed(claim, step.ns);
  if (replay && !f.changes.empty() && replay->reason().empty()) {
    saving = replayed(f, *replay);
    e.about = replay->trusted();
  }
  const bool doubted =
      !claim.doubt.empty() &&
      !(saving.replayed && share_if_overhead_is_most(f, *replay) >= claim.warning_at);
  if (doubted) {
    saving.claim_at_most(claim.share);
    e.doubt = claim.doubt;
  }
  if (claim.lost_ns && step.ns > 0)
    e.explained_ns =
        std::llround(std::clamp(*claim.lost_ns, 0.0, static_cast<double>(step.ns)) *
                     static_cast<double>(saving.step_ns) / static_cast<double>(step.ns));
  if (e.explained_ns && saving.step_ns > 0 &&
      !(saving.replayed && exceeds(saving.ns, *e.explained_ns, saving.step_ns)))
    saving.claim_at_most(static_cast<double>(*e.explained_ns) /
                         static_cast<double>(saving.step_ns));
  e.step_ns = saving.step_ns;
  e.alone_ns = saving.ns;
  e.alone_fraction = saving.fraction;
  e.replayed = saving.replayed;
  e.severity_alone = severity_of(claim, saving.fraction, doubted);
  // A report that contradicts itself proves nothing, except about the recording itself.
  const bool in_doubt = !analysis.trace.doubts.empty() && f.category != "capture";
  e.confidence = in_doubt ? "low" : doubted ? "medium" : claim.confidence;
  return e;
}

}  // namespace gh

#include "rules/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "whatif/changes.hpp"
#include "whatif/replay.hpp"

namespace gh {
namespace {

// Relative to the step that is left: half of what a trusted replay may be off.
constexpr double as_good_as_explained = 0.01;

void set_saving(Estimate& e, Ns ns) {
  e.alone_ns = std::clamp<Ns>(ns, 0, e.step_ns);
  e.alone_fraction =
      e.step_ns > 0 ? static_cast<double>(e.alone_ns) / static_cast<double>(e.step_ns) : 0;
}

// Limits the saving to this share of the step.
void claim_at_most(Estimate& e, double share) {
  if (share >= e.alone_fraction) return;
  set_saving(e, std::llround(share * static_cast<double>(e.step_ns)));
  if (!e.replayed) return;
  e.replayed->step_ns = std::max(e.replayed->step_ns, e.step_ns - e.alone_ns);
  e.replayed->most_ns = std::max(e.replayed->most_ns, e.replayed->step_ns);
  for (Ns* saves : {&e.replayed->saves_if_most_ns, &e.replayed->saves_if_least_ns})
    *saves = std::min(*saves, e.alone_ns);
}

// Whether a saving is no limit, even where the replay is no forecast: it may be a quarter more if
// recording slowed the host most and the fix does most.
bool may_save_more(const Estimate& e) {
  return e.alone_ns > 0 && 4 * (e.replayed->saves_if_most_ns - e.alone_ns) > e.alone_ns;
}

// What the fix saves, as a share of the step, if recording added the most ever observed: 0 if the
// replay does not explain the recording.
double share_if_overhead_is_most(const Said& f, const Replay& replay) {
  if (!replay.explains()) return 0;
  // The rule's factors are taken as they are; what a graph can span is not known.
  const Changes changes = with_factors(f.changes, [](Factor& factor) { factor.most = factor.by; });
  const Ns now = replay.step_ns({}, Guess::least),
           then = replay.step_ns(changes, Guess::least, Guess::most);
  return now > 0 ? static_cast<double>(now - then) / static_cast<double>(now) : 0;
}

// From the savings, unless the rule or the configuration sets it. What may not exist at all, or
// whose fix may lose, is a note.
Severity severity_of(const Claim& claim, double fraction, bool unsure) {
  if (claim.team_severity) return *claim.team_severity;
  if (unsure) return Severity::note;
  if (claim.severity) return *claim.severity;
  return std::min(severity_at(fraction, claim.warning_at), claim.at_most);
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
  e.step_ns = step.ns;
  e.alone_ns = std::llround(claim.share * static_cast<double>(step.ns));
  e.alone_fraction = claim.share;
  e.about = claim.about;
  if (replay && !f.changes.empty() && replay->reason().empty()) {
    e.step_ns = replay->step_ns({});
    e.replayed = predicted(*replay, f.changes, claim.uncertain);
    set_saving(e, e.step_ns - e.replayed->step_ns);
    // A ceiling does not justify claiming more time than the finding cites.
    if (!replay->trusted()) claim_at_most(e, claim.cited_share);
    e.about = replay->trusted() || (replay->distrust_of_measured().empty() && may_save_more(e));
    if (e.replayed->may_lose) {
      set_saving(e, e.replayed->saves_if_most_ns);
      e.about = false;
    }
  }
  if (!claim.doubt.empty() &&
      !(e.replayed && share_if_overhead_is_most(f, *replay) >= claim.warning_at)) {
    claim_at_most(e, claim.share);
    e.doubt = claim.doubt;
  }
  const auto of_step = static_cast<double>(e.step_ns), of_claim = static_cast<double>(step.ns);
  if (claim.lost_ns && step.ns > 0)
    e.explained_ns = std::llround(std::clamp(*claim.lost_ns, 0.0, of_claim) * of_step / of_claim);
  if (e.explained_ns && e.step_ns > 0 &&
      !(e.replayed && exceeds(e.alone_ns, *e.explained_ns, e.step_ns)))
    claim_at_most(e, static_cast<double>(*e.explained_ns) / of_step);
  const bool doubted = !e.doubt.empty();
  e.severity_alone = severity_of(claim, e.alone_fraction, doubted || is_to_try(e));
  // What may save next to nothing fails no merge.
  if (e.replayed && !claim.team_severity &&
      static_cast<double>(e.replayed->saving_range(e.alone_ns).first) <
          warning_at * static_cast<double>(e.step_ns))
    e.severity_alone = std::min(e.severity_alone, Severity::warning);
  // A report that contradicts itself proves nothing, except about the recording itself.
  const bool in_doubt = !analysis.trace.doubts.empty() && f.category != "capture";
  e.confidence = in_doubt ? "low" : doubted ? "medium" : claim.confidence;
  return e;
}

}  // namespace gh

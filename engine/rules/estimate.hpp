// Finding -> Estimate: what a finding's fix saves by itself, from replaying the step with its
// changes (whatif/).
#pragma once
#include "analysis/step_time.hpp"
#include "rules/finding.hpp"

namespace gh {

/// The estimate of a finding. `step`: to which its claim refers. `replay`: null or unable to
/// replay, and the rule's own claim counts.
///
/// Savings are limited to what the message explains, unless a replay exceeds that by more than it
/// may be off; and, where the replay is no forecast, to what the rule cites. A fix that is to be
/// tried is a note, with what it saves at most.
Estimate estimate_of(const Said& finding, const Analysis& analysis, const StepTime& step,
                     const Replay* replay);

/// Whether a saving is more than what a message explains, by more than a replay may be off.
bool exceeds(Ns saved_ns, Ns explained_ns, Ns step_ns);

}  // namespace gh

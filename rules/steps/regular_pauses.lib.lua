-- The idle time without a cause that comes in every n-th step only and that no rule for a phase
-- has: by place in trace:periodic_events, and all of it together. step-outlier reports it, and the
-- rules for other idle time leave it out. Last, that of such steps in which a checkpoint's worth is
-- copied to the host (saved_state).
local constants = {
  of_phase = 0.25, -- of what such steps take longer: as step-outlier's range_share
  checkpoint_bytes = 67108864, -- copied to the host: as checkpoint-stall's burst_bytes
}

return function(trace)
  local held_in = require "held_in"
  local unknown = trace:idle { cause = "unknown" }
  local none = unknown:minus(unknown)
  local steps, by_event, all, saving = trace:steps(), {}, none, none
  for i, event in ipairs(trace:periodic_events()) do
    local long, rest = event.steps, steps:minus(event.steps)
    local saved = trace:ops { direction = "d2h" }
    local more_bytes = held_in(trace, saved, long):sum "bytes"
      - long:count() / rest:count() * held_in(trace, saved, rest):sum "bytes"
    local least_ns = constants.of_phase * event.extra_ns * long:count()
    if
      event.cause == "idle.unknown" and not require "phase_apart"(trace, long, rest, least_ns)
    then
      local pauses = held_in(trace, unknown, long)
      if more_bytes >= constants.checkpoint_bytes * long:count() then
        saving = saving:plus(pauses)
      else
        by_event[i] = pauses
        all = all:plus(pauses)
      end
    end
  end
  return by_event, all, saving
end

-- The idle time without a cause that comes in every n-th step only and that no rule for a phase
-- has: by place in trace:periodic_events, and all of it together. step-outlier reports it, and the
-- rules for other idle time leave it out.
local constants = {
  of_phase = 0.25, -- of what such steps take longer: as step-outlier's range_share
  checkpoint_bytes = 67108864, -- copied to the host: as checkpoint-stall's burst_bytes
}

return function(trace)
  local held_in = require "held_in"
  local unknown = trace:idle { cause = "unknown" }
  local steps, by_event, all = trace:steps(), {}, unknown:minus(unknown)
  for i, event in ipairs(trace:periodic_events()) do
    local long, rest = event.steps, steps:minus(event.steps)
    local saved = trace:ops { direction = "d2h" }
    local more_bytes = held_in(trace, saved, long):sum "bytes"
      - long:count() / rest:count() * held_in(trace, saved, rest):sum "bytes"
    local least_ns = constants.of_phase * event.extra_ns * long:count()
    if
      event.cause == "idle.unknown"
      and more_bytes < constants.checkpoint_bytes * long:count()
      and not require "phase_apart"(trace, long, rest, least_ns)
    then
      by_event[i] = held_in(trace, unknown, long)
      all = all:plus(by_event[i])
    end
  end
  return by_event, all
end

-- A sentence after a space for the end of a message: that most of this idle time comes in
-- every n-th step only (trace:periodic_events). "" if it comes in all steps alike.
local constants = {
  share = 0.5, -- more than all else
}

return function(trace, idle)
  local steps = trace:steps()
  for _, event in ipairs(trace:periodic_events()) do
    local rest = steps:minus(event.steps)
    local more = idle:overlap_ns(event.steps)
      - event.steps:count() / rest:count() * idle:overlap_ns(rest)
    if more >= constants.share * idle:union_ns() then
      return string.format(
        " Most of it comes with every %s %s.",
        event.nth,
        trace:fact "unit.name"
      )
    end
  end
  return ""
end

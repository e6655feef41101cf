-- Of what comes in every n-th step only (trace:periodic_events), how this idle time has to do with
-- it: a sentence after a space for the end of a message, "" if it comes in all steps alike, and the
-- idle time that is left without what belongs to no cause and is reported by step-outlier.
local constants = {
  share = 0.5, -- more than all else
}

return function(trace, idle)
  local sentence, left = "", idle
  local steps = trace:steps()
  for _, event in ipairs(trace:periodic_events()) do
    local held, rest = event.steps, steps:minus(event.steps)
    local more = idle:overlap_ns(held) - held:count() / rest:count() * idle:overlap_ns(rest)
    if sentence == "" and more >= constants.share * idle:union_ns() then
      sentence =
        string.format(" Most of it comes with every %s %s.", event.nth, trace:fact "unit.name")
    end
    if event.cause == "idle.unknown" then
      for _, of in ipairs(held:group "device") do
        left = left:minus(left:where { device = tonumber(of.key), inside = of.rows })
      end
    end
  end
  return sentence, left
end

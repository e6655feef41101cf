-- The phase (checkpoint, evaluation, garbage_collection) whose ranges take at least so much more
-- time in the `long` steps than in as many of the `rest`, and the name of its largest range; nil if
-- none does.
return function(trace, long, rest, least_ns)
  for _, phase in ipairs { "checkpoint", "evaluation", "garbage_collection" } do
    local ranges = trace:ranges { phase = phase }
    local more = ranges:overlap_ns(long) - long:count() / rest:count() * ranges:overlap_ns(rest)
    if more > least_ns then return phase, ranges:group("name")[1].key end
  end
end

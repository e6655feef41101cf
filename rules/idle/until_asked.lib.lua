-- Whether the program then waits for longer than this idle time until something is asked of it
-- (arrivals): without the idle time it would wait for as much longer. With a sentence, after a
-- space, for the end of a finding's message; otherwise false and "".
return function(trace, idle_ns)
  if require "arrivals"(trace, trace:idle { stretch = "waits" }):union_ns() < idle_ns then
    return false, ""
  end
  return true,
    " Answers come sooner without that, but no more of them: the program waits for requests or a \z
      timer for longer, and the next comes no sooner."
end

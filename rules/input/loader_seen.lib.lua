-- Whether the recording shows a data loader: its range, its thread, or input that the
-- launching thread waits for, as it does for workers. Without one, what is uploaded may as well be
-- computed by the program itself.
return function(trace)
  local input = trace:idle { cause = "input" }
  local waited = input:where({ does = { "wait", "sleep" } }):union_ns()
  return 2 * waited > input:union_ns()
    or trace:threads { phase = "loader" } > 0
    or trace:ranges({ phase = "loader" }):count() > 0
    or trace:ranges({ name = "*DataLoaderIter*" }):count() > 0
end

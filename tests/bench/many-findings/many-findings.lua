-- A finding with a change for each kernel: what many findings cost, for ./dev count.
return {
  id = "many-findings",
  category = "compute",
  title = "Each kernel could be faster",
  since = "0.1",
  needs = { "kernels" },
  messages = { kernel = "{kernel} takes {time:ns}." },
  doc = {
    what = "Finds every kernel.",
    why = "Each could be faster.",
    fix = "Make it faster.",
    wrong = "Always.",
  },
  evaluate = function(trace)
    local found = {}
    for _, group in ipairs(trace:ops({}):group("name", 1000)) do
      local time = group.rows:own_ns()
      found[#found + 1] = {
        subject = group.key,
        message = "kernel",
        data = { kernel = group.key, time = time },
        recoverable_ns = time / 2,
        change = { { scale = group.rows, by = 0.5 } },
        advice = { "Make it faster." },
      }
    end
    return found
  end,
}

-- Six steps of 10 ms: between two kernels the GPU does nothing for `time` us; the second was
-- launched `launched`.
local function steps(time, launched, more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = {
      { 20, 2000, kernel = "first", launched = { 5, 10 } },
      { 2000 + time, 9990, kernel = "second", launched = launched },
    },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local early = { 12, 15 }

return {
  {
    name = "names what waits for a dependency",
    trace = steps(4000, early),
    expect = {
      {
        severity = "error",
        subject = "dependency",
        message = "The GPU is idle for 4.0* ms of each 10.0 ms step (40 %) although the next \z
          operation had been launched: another stream, device or process kept it waiting, most of \z
          it before 'second'.",
        worth = { 0.39, 0.41 },
      },
    },
  },
  {
    name = "is a note where processes have the GPU in turns",
    trace = steps(4000, early, {
      ops = {
        { 20, 2000, kernel = "first", launched = { 5, 10 } },
        { 6000, 9990, kernel = "second", launched = early },
        { 2500, 2600, kernel = "of another", rank = 1, gpu = 0, launched = { 2400, 2405 } },
      },
    }),
    expect = { { severity = "note", subject = "dependency" } },
  },
  {
    name = "and what the host does meanwhile",
    trace = steps(
      4000,
      early,
      { ranges = { { 0, 9900, "step {n}" }, { 1000, 6500, "distribute" } } }
    ),
    expect = { { message = "*before 'second'; meanwhile the host is in 'distribute'." } },
  },
  {
    name = "and in which call",
    trace = steps(4000, early, {
      ranges = { { 0, 9900, "step {n}" }, { 1000, 6500, "distribute" } },
      calls = { { 1900, 6200, "cudaMemcpyAsync" } },
    }),
    expect = {
      { message = "*meanwhile the host is in 'cudaMemcpyAsync' (within 'distribute')." },
    },
  },
  {
    name = "does not mention a host that nothing waits for",
    trace = steps(
      4000,
      early,
      { host_samples = { { 2500, "f (a.so)" }, { 3500, "f (a.so)" }, { 4500, "f (a.so)" } } }
    ),
    expect = { { subject = "dependency", message = "*'." } },
  },
  {
    name = "names latency",
    trace = steps(4000, { 1980, 2005 }),
    expect = { { severity = "error", subject = "launch_latency" } },
  },
  {
    name = "leaves gaps of single launches to the rule that has judged them",
    trace = steps(0, early, {
      ops = {
        { 20, 2000, kernel = "first", launched = { 5, 10 } },
        { 2800, 5000, kernel = "second", launched = { 2100, 2795 } },
        { 5800, 9990, kernel = "third", launched = { 5100, 5795 } },
      },
    }),
    expect = "clean",
  },
  {
    name = "has a large result reduced before it is copied",
    trace = steps(0, early, {
      ranges = { { 0, 9900, "step {n}" }, { 1, 9, "aten::mm" } },
      ops = {
        { 20, 5900, kernel = "second", launched = { 5, 10 } },
        { 5900, 9900, copy = "d2h", bytes = 1e8, to = "pageable", launched = early },
      },
    }),
    expect = {
      { subject = "copies", advice = "Reduce it on the GPU*" },
    },
  },
  {
    name = "but not the many parts of a model that is saved",
    trace = steps(0, early, {
      ops = {
        { 20, 5900, kernel = "second", launched = { 5, 10 } },
        { 5900, 7200, copy = "d2h", bytes = 3e7, to = "pageable", launched = early },
        { 7210, 8500, copy = "d2h", bytes = 3e7, to = "pageable", launched = { 16, 19 } },
        { 8510, 9900, copy = "d2h", bytes = 3e7, to = "pageable", launched = { 20, 23 } },
      },
    }),
    expect = { { subject = "copies", advice = "Look at these stretches in the timeline: *" } },
  },
  {
    name = "names copies that no rule reports",
    trace = steps(0, early, {
      ops = {
        { 20, 4000, copy = "h2d", bytes = 1e8, from = "pageable", launched = { 5, 10 } },
        { 4000, 9990, kernel = "second", launched = early },
      },
    }),
    expect = {
      {
        severity = "error",
        subject = "copies",
        message = "For 3.98 ms of each 10.0 ms step (40 %) copies run while nothing computes, \z
          most of them h2d.",
      },
    },
  },
  {
    name = "notes what several causes take together",
    trace = steps(1600, early, {
      ops = {
        { 20, 2000, kernel = "first", launched = { 5, 10 } },
        { 2700, 5000, kernel = "second", launched = early },
        { 5700, 9990, kernel = "third", launched = { 4980, 5005 } },
      },
    }),
    expect = {
      {
        severity = "note",
        subject = "several causes",
        message = "The GPU is idle for 1.*for several reasons, each below a tenth: *",
      },
    },
  },
  {
    name = "is a note where it may be the start",
    trace = {
      ops = {
        { 0, 1000, kernel = "a" },
        { 5000, 9000, kernel = "b", launched = { 10, 15 } },
        { 9000, 20000, kernel = "a" },
      },
    },
    expect = {
      {
        severity = "note",
        subject = "dependency",
        message = "* so it may be the program's start or end.",
      },
    },
  },
  {
    name = "goes by its share where it comes late only",
    trace = {
      ops = {
        { 0, 6000, kernel = "a" },
        { 6000, 9000, kernel = "b" },
        { 9000, 16000, kernel = "c" },
        { 20000, 22000, kernel = "d", launched = { 10, 15 } },
      },
    },
    expect = { { severity = "warning", subject = "dependency", message = "* before 'd'." } },
  },

  {
    name = "is silent about the GPU's own pauses",
    trace = steps(0, early, {
      ops = (function()
        local ops = { { 20, 23, kernel = "first", launched = { 5, 10 } } }
        for i = 1, 1990 do
          ops[#ops + 1] = { 20 + i * 5, 23 + i * 5, kernel = "second", launched = { 10, 12 } }
        end
        return ops
      end)(),
    }),
    expect = "clean",
  },
  { name = "is silent below a tenth", trace = steps(900, early), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = steps(4000, early),
    options = { share = 0.5 },
    expect = "clean",
  },
  { name = "is silent about a GPU that works", trace = steps(0, early), expect = "clean" },
  { name = "good", fixture = "good", expect = "clean" },
  {
    name = "tiles: copies that hide but for their ends",
    fixture = "tiles",
    expect = { { severity = "note", subject = "copies" } },
  },
}

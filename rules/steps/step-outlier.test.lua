-- Steps of 10 ms, of which those that `long` lists take `length` and launch only after `from`.
-- Times of `more` count from the first
-- long step on.
local gemm = "nvjet_tst_gemm"
local function steps(count, long, length, from, more, trace)
  local list, at, first = { ops = {}, ranges = {}, calls = {}, os_calls = {} }, 0, 0
  local is_long = {}
  for _, n in ipairs(long) do
    is_long[n] = true
  end
  for n = 1, count do
    if n == long[1] then first = at end
    local takes, waits = is_long[n] and length or 10000, is_long[n] and from or 20
    list.ops[n] = {
      at + waits,
      at + takes - 50,
      kernel = gemm,
      launched = { at + waits - 10, at + waits - 5 },
    }
    list.ranges[n] = { at, at + takes - 100, "step " .. n }
    at = at + takes
  end
  for key, rows in pairs(more or {}) do
    for _, row in ipairs(rows) do
      list[key][#list[key] + 1] = { first + row[1], first + row[2], row[3] }
    end
  end
  for key, value in pairs(trace or {}) do
    list[key] = value
  end
  return list
end

-- Twelve steps that copy for 10 ms each, at 25 GB/s, but the seventh for 40 ms, and then so many
-- bytes.
local function streamed(bytes)
  local trace, at = { ops = {}, ranges = {} }, 0
  for n = 1, 12 do
    local takes = n == 7 and 40000 or 10000
    trace.ops[n] = {
      at + 20,
      at + takes - 50,
      copy = "h2d",
      bytes = n == 7 and bytes or 250e6,
      launched = { at + 10, at + 15 },
    }
    trace.ops[n + 12] =
      { at + takes - 50, at + takes - 40, kernel = gemm, launched = { at + 16, at + 20 } }
    trace.ranges[n] = { at, at + takes - 100, "step " .. n }
    at = at + takes
  end
  return trace
end

return {
  {
    name = "fires on a pause that one step has",
    trace = steps(12, { 7 }, 40000, 30000),
    expect = {
      {
        severity = "error",
        subject = "long steps",
        message = "1 of 11 steps take*up to 40.0 ms, 4.0 times the median of 10.0 ms*: idle time \z
          that the trace does not explain (30.0 ms more).",
        worth = { 0.19, 0.22 },
      },
    },
  },
  {
    name = "names the checkpoint in it",
    trace = steps(12, { 7 }, 40000, 30000, { ranges = { { 100, 29000, "save_checkpoint" } } }),
    expect = { { severity = "error", message = "*in range 'save_checkpoint'." } },
  },
  {
    name = "names the loader in it",
    trace = steps(12, { 7 }, 40000, 30000, { ranges = { { 0, 29900, "dataloader" } } }),
    expect = { { message = "*waiting for input (29.9 ms more)*in range 'dataloader'." } },
  },
  {
    name = "names a range of the program's own",
    trace = steps(12, { 7 }, 40000, 30000, { ranges = { { 100, 29000, "log histograms" } } }),
    expect = { { message = "*in range 'log histograms'." } },
  },
  {
    name = "names garbage collection",
    trace = steps(12, { 7 }, 40000, 30000, { ranges = { { 100, 29000, "gc.collect" } } }),
    expect = { { message = "*in range 'gc.collect'." } },
  },
  {
    name = "names a call that it waits in",
    trace = steps(12, { 7 }, 40000, 30000, { calls = { { 100, 29900, "cuModuleLoadData" } } }),
    expect = { { message = "*loading code (29.8 ms more)*" } },
  },
  {
    name = "does not count work that only some steps have",
    trace = steps(12, { 7 }, 40000, 20),
    expect = {
      { severity = "note", message = "*computing (30.0 ms more).", worth = { 0, 0.01 } },
    },
  },
  {
    name = "does not count bytes that only some steps copy",
    trace = streamed(1e9),
    expect = { { severity = "note", message = "*copies (30.0 ms more).", worth = { 0, 0.01 } } },
  },
  {
    name = "counts copies that take longer for as many bytes",
    trace = streamed(250e6),
    expect = {
      { severity = "error", message = "*copies (30.0 ms more).", worth = { 0.19, 0.22 } },
    },
  },
  {
    name = "is a note where more than a quarter of the steps are long",
    trace = steps(12, { 4, 7, 10 }, 40000, 30000),
    expect = { { severity = "note", message = "3 of 11 steps*" } },
  },

  {
    name = "tells the period of steps that come regularly, and what they cost all steps",
    trace = steps(20, { 5, 10, 15, 20 }, 40000, 30000),
    expect = {
      {
        severity = "error",
        subject = "every n-th step, idle: unknown",
        title = "Every 5th step takes 30.0 ms longer",
        message = "Every 5th step takes 30.0 ms longer, 6.32 ms of the mean step*",
        advice = "*what the program does with every 5th step*",
        worth = { 0.37, 0.4 },
      },
    },
  },
  {
    name = "and not where they do not",
    trace = steps(20, { 5, 10, 16 }, 40000, 30000),
    expect = { { severity = "error", message = "3 of 19 steps*" } },
  },
  {
    name = "tells an empty queue by the wait in which each eighth step stands still",
    trace = steps(33, { 8, 16, 24, 32 }, 40000, 30000, {
      os_calls = {
        { 10, 29900, "pthread_cond_timedwait" },
        { 110010, 139900, "pthread_cond_timedwait" },
        { 220010, 249900, "pthread_cond_timedwait" },
        { 330010, 359900, "pthread_cond_timedwait" },
      },
    }),
    expect = {
      {
        severity = "error",
        title = "Every 8th step takes 30.0 ms longer, waiting in 'pthread_cond_timedwait'",
        advice = "Refill the queue before it is empty*",
      },
    },
  },
  {
    name = "takes a wait for a result for none for a queue",
    trace = (function()
      local trace = steps(33, { 8, 16, 24, 32 }, 40000, 30000, {
        os_calls = {
          { 10, 29900, "futex" },
          { 110010, 139900, "futex" },
          { 220010, 249900, "futex" },
          { 330010, 359900, "futex" },
        },
      })
      for n = 0, 3 do
        local at = 70000 + n * 110000
        trace.ops[#trace.ops + 1] =
          { at - 40, at - 30, copy = "d2h", bytes = 4, launched = { at - 900, at - 890 } }
      end
      return trace
    end)(),
    expect = { { severity = "error", advice = "Keep *on the device*" } },
  },
  {
    name = "says that steps which run more kernels do more",
    trace = (function()
      local trace = steps(33, { 8, 16, 24, 32 }, 40000, 30000)
      for n = 0, 3 do
        local at = 70000 + n * 110000
        trace.ops[#trace.ops + 1] =
          { at + 29000, at + 29900, kernel = gemm, launched = { at + 28990, at + 28995 } }
      end
      return trace
    end)(),
    expect = {
      {
        severity = "error",
        message = "*runs 2 kernels or graphs, the others 1.",
        advice = "Move what every 8th step adds*",
      },
    },
  },
  {
    name = "leaves a regular wait for input to the loader's rule",
    trace = steps(33, { 8, 16, 24, 32 }, 40000, 30000, {
      ranges = {
        { 0, 29900, "dataloader" },
        { 110000, 139900, "dataloader" },
        { 220000, 249900, "dataloader" },
        { 330000, 359900, "dataloader" },
      },
    }),
    expect = "clean",
  },
  {
    name = "leaves regular checkpoints to their rule",
    trace = (function()
      local trace = steps(33, { 8, 16, 24, 32 }, 40000, 30000)
      for n = 0, 3 do
        local at = 70000 + n * 110000
        trace.ops[#trace.ops + 1] =
          { at + 100, at + 4100, copy = "d2h", bytes = 1e8, launched = { at + 50, at + 60 } }
      end
      return trace
    end)(),
    expect = { { severity = "note", follows_from = "checkpoint-stall" } },
  },
  {
    name = "says nothing of regular work",
    trace = steps(20, { 5, 10, 15, 20 }, 40000, 20),
    expect = "clean",
  },
  { name = "is silent about steady steps", trace = steps(12, {}, 0, 0), expect = "clean" },
  {
    name = "is silent about 1.4 times the median",
    trace = steps(12, { 7 }, 14000, 4000),
    expect = "clean",
  },
  {
    name = "is silent about start-up",
    trace = steps(12, { 2 }, 40000, 30000),
    expect = "clean",
  },
  {
    name = "is silent about nothing, whatever the options say",
    trace = steps(12, { 7 }, 40000, 30000),
    options = { factor = 0, least_steps = 0, usual = 0 },
    expect = "clean",
  },

  { name = "needs five steps", trace = steps(5, { 4 }, 40000, 30000), expect = "not checked" },
  {
    name = "needs steps",
    trace = steps(12, { 7 }, 40000, 30000, nil, { ranges = {} }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(12, { 7 }, 40000, 30000, nil, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  { name = "starved: its steps take 145 to 193 ms", fixture = "starved", expect = "clean" },
  { name = "launchbound", fixture = "launchbound", expect = "clean" },
  { name = "ddp: two devices", fixture = "ddp", expect = "clean" },
  { name = "um: three steps", fixture = "um", expect = "not checked" },
}

-- Six steps of 10 ms: the host does something for `time` us between two kernels, outside of CUDA.
local MiB = 1048576
local function steps(time, more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = {
      { 20, 2000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
      { 2020 + time, 9990, kernel = "nvjet_tst_gemm", launched = { 2010 + time, 2015 + time } },
    },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
-- Twelve kernels of 1 ms that nothing repeats, and before each but the first a pause of so many us.
local function window(pauses, more)
  local ops, at = { { 0, 1000, kernel = "a" } }, 1000
  for i, pause in ipairs(pauses) do
    at = at + pause
    ops[#ops + 1] = {
      at + 20,
      at + 1000,
      kernel = string.char(97 + i),
      launched = { at + 10, at + 15 },
    }
    at = at + 1000
  end
  local trace = { ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local unseen = { "os_calls" } -- what the host did does not show
-- Eight busy steps of 10 ms, then kernels of 1 ms, before each of which the host does something for
-- so many us.
local function after_steps(pauses, more)
  local trace = { not_collected = { "os_calls" }, ranges = {}, ops = {} }
  for i = 0, 7 do
    local at = i * 10000
    trace.ranges[i + 1] = { at, at + 9900, "step " .. i }
    trace.ops[i + 1] =
      { at + 20, at + 9990, kernel = "nvjet_tst_gemm", launched = { at + 5, at + 10 } }
  end
  local at = 80000
  for _, pause in ipairs(pauses) do
    at = at + pause
    trace.ops[#trace.ops + 1] =
      { at + 20, at + 1000, kernel = "post", launched = { at + 10, at + 15 } }
    at = at + 1000
  end
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local function ranges(name) return { { 0, 9900, "step {n}" }, { 1000, 6500, name } } end

-- Steps of 10 ms, of which each eighth waits for 30 ms more.
local function every_eighth()
  local trace, at = { ops = {}, ranges = {}, os_calls = {} }, 0
  for n = 1, 33 do
    local waits = n % 8 == 0 and 30000 or 20
    trace.ops[n] = {
      at + waits,
      at + waits + 9900,
      kernel = "nvjet_tst_gemm",
      launched = { at + waits - 10, at + waits - 5 },
    }
    trace.ranges[n] = { at, at + waits + 9960, "step " .. n }
    if n % 8 == 0 then
      trace.os_calls[#trace.os_calls + 1] = { at + 10, at + 29900, "futex" }
    end
    at = at + waits + 9980
  end
  return trace
end

return {
  {
    name = "leaves what comes in every n-th step only to step-outlier",
    trace = every_eighth(),
    expect = "clean",
  },
  {
    name = "fires on a pause of which nothing tells what the host did",
    trace = steps(4000, { not_collected = unseen }),
    expect = {
      {
        severity = "error",
        subject = "host",
        confidence = "medium",
        message = "The GPU is idle for 4.01 ms of each 10.0 ms step (40 %) while the host does \z
          something outside of CUDA that no range names.",
        worth = { 0.39, 0.41 },
      },
    },
  },
  {
    name = "is a warning at a sixth",
    trace = steps(1700, { not_collected = unseen }),
    expect = { { severity = "warning" } },
  },
  {
    name = "leaves what the host computes to host-bound",
    trace = steps(4000, { ranges = ranges "compute metrics" }),
    expect = "clean",
  },
  {
    name = "leaves a thread that is in no call to host-bound",
    trace = steps(4000),
    expect = "clean",
  },
  {
    name = "leaves Python's lock to gil-contention",
    trace = steps(4000, {
      ranges = ranges "Waiting for GIL",
      python_lock = { { 2100, 6000 }, { 2000, 6000, thread = "chatter", holds = true } },
    }),
    expect = "clean",
  },
  {
    name = "adds what the host computes where that is little",
    trace = steps(
      1700,
      { os_calls = { { 2020, 2900, "poll" } }, calls = { { 2900, 2905, "cudaStreamQuery" } } }
    ),
    expect = { { severity = "warning" } },
  },
  {
    name = "names an operator that is slow to launch",
    trace = steps(
      4000,
      { ranges = { { 0, 9900, "step {n}" }, { 2005, 6100, "aten::_foreach_mul_" } } }
    ),
    expect = { { message = "*in 'aten::_foreach_mul_'." } },
  },
  {
    name = "tells waiting from working",
    trace = steps(4000, { os_calls = { { 2100, 5900, "pthread_cond_wait" } } }),
    expect = {
      {
        severity = "error",
        message = "*while the host waits for something other than the GPU*in 'pthread_cond_wait'.",
      },
    },
  },
  {
    name = "says as a note that nothing is asked while the thread that asks sleeps",
    trace = steps(4000, {
      os_calls = {
        { 2100, 5900, "sem_wait" },
        { 2000, 5850, "clock_nanosleep", thread = "clients" },
      },
    }),
    expect = {
      {
        severity = "note",
        subject = "arrivals",
        message = "*waits for requests or for a timer*in 'sem_wait'*",
      },
    },
  },
  {
    name = "does not take the wait of training for its own input for that",
    trace = steps(4000, {
      ranges = { { 0, 9900, "step {n}" }, { 30, 40, "Optimizer.step#AdamW.step" } },
      os_calls = {
        { 2100, 5900, "sem_wait" },
        { 2000, 5850, "clock_nanosleep", thread = "clients" },
      },
    }),
    expect = { { severity = "error" } },
  },
  {
    name = "accuses a thread that works before it lets the launching one go on",
    trace = steps(4000, {
      os_calls = {
        { 2100, 5900, "sem_wait" },
        { 2000, 3000, "clock_nanosleep", thread = "producer" },
      },
    }),
    expect = { { severity = "error", subject = "host" } },
  },
  {
    name = "accuses one that polls for what others do",
    trace = steps(4000, {
      os_calls = {
        { 2100, 5900, "sem_wait" },
        { 2000, 3000, "clock_nanosleep", thread = "producer" },
        { 3010, 4000, "clock_nanosleep", thread = "producer" },
        { 4010, 5000, "clock_nanosleep", thread = "producer" },
        { 5010, 5850, "clock_nanosleep", thread = "producer" },
      },
    }),
    expect = { { severity = "error", subject = "host" } },
  },
  {
    name = "accuses one that waits for a process to end",
    trace = steps(4000, {
      os_calls = {
        { 2100, 5900, "sem_wait" },
        { 2000, 5850, "waitpid", thread = "producer" },
      },
    }),
    expect = { { severity = "error", subject = "host" } },
  },
  {
    name = "tells that it was held off the CPU",
    trace = steps(
      4000,
      { cpu_stretches = { { 0, 3000 }, { 6000, 9990 }, { 3000, 6000, thread = "other" } } }
    ),
    expect = {
      {
        message = "*For 7* % of that time the launching thread was off the CPU, outside of any \z
          waiting call, mostly while other recorded threads used it.",
      },
    },
  },
  {
    name = "tells who was at work while it waited",
    trace = steps(4000, {
      os_calls = { { 2100, 5900, "pthread_cond_wait" } },
      cpu_stretches = {
        { 0, 2200 },
        { 5890, 9990 },
        { 2200, 5880, thread = "loader", cpu = 1 },
      },
    }),
    expect = {
      {
        message = "*For 9* % of that time the launching thread waited, and 'loader (2)' was \z
          running before most waits ended.",
      },
    },
  },
  {
    name = "fires next to unified memory",
    trace = steps(4000, {
      ops = {
        { 20, 2000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 3000, 3100, copy = "um_d2h", bytes = 65536, address = 65536, cause = "fault" },
        { 6020, 9990, kernel = "nvjet_tst_gemm", launched = { 6010, 6015 } },
      },
    }),
    expect = { { severity = "error" } },
  },

  { name = "is silent below a tenth", trace = steps(900), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = steps(4000),
    options = { share = 0.5 },
    expect = "clean",
  },
  {
    name = "is silent about loading",
    trace = steps(4000, { ranges = ranges "dataloader" }),
    expect = "clean",
  },
  {
    name = "is silent about a checkpoint, which has a rule",
    trace = steps(4000, { ranges = ranges "save_checkpoint" }),
    expect = "clean",
  },
  {
    name = "is silent about an evaluation, which has a rule",
    trace = steps(4000, { ranges = ranges "validation loop" }),
    expect = "clean",
  },
  {
    name = "is silent about garbage collection, which has a rule",
    trace = steps(4000, { ranges = ranges "gc.collect" }),
    expect = "clean",
  },
  {
    name = "is silent about waits",
    trace = steps(4000, { calls = { { 1000, 6005, "cudaStreamSynchronize" } } }),
    expect = "clean",
  },
  {
    name = "is silent about launching",
    trace = steps(0, {
      ops = (function()
        local ops = {}
        for i = 0, 19 do
          ops[#ops + 1] = {
            i * 500 + 220,
            i * 500 + 500,
            kernel = "nvjet_tst_gemm",
            launched = { i * 500 + 210, i * 500 + 215 },
          }
        end
        return ops
      end)(),
    }),
    expect = "clean",
  },
  {
    name = "is silent about allocation",
    trace = steps(4000, { calls = { { 2000, 6005, "cudaMalloc" } } }),
    expect = "clean",
  },
  {
    name = "is silent about offloading, which has a rule",
    trace = steps(0, {
      ops = {
        { 100, 1000, kernel = "nvjet_tst_gemm" },
        { 1000, 1500, copy = "d2h", bytes = 8 * MiB },
        { 1500, 2000, copy = "d2h", bytes = 16 * MiB },
        { 6000, 6500, copy = "h2d", bytes = 16 * MiB },
        { 6500, 7000, copy = "h2d", bytes = 8 * MiB },
        { 7000, 9950, kernel = "nvjet_tst_gemm" },
      },
    }),
    expect = "clean",
  },
  { name = "is silent about a GPU that works", trace = steps(0), expect = "clean" },
  {
    name = "is silent with a threshold of zero and nothing idle",
    trace = steps(0),
    options = { share = 0 },
    expect = "clean",
  },

  {
    name = "goes by its share without steps, if it goes on all through",
    trace = steps(4000, { ranges = {}, not_collected = unseen }),
    expect = {
      {
        severity = "error",
        message = "The GPU is idle for 24.* ms of the window's 60.0 ms*that no range names.",
      },
    },
  },
  {
    name = "is a note, and says so, where it may be the start",
    trace = {
      not_collected = unseen,
      ops = {
        { 0, 1000, kernel = "a" },
        { 5000, 9000, kernel = "b" },
        { 9000, 20000, kernel = "a" },
      },
    },
    expect = {
      { severity = "note", message = "* so it may be the program's start or end." },
    },
  },
  {
    name = "goes by its share where pauses come late only",
    trace = window({ 0, 0, 0, 0, 0, 0, 0, 2000, 2000, 2000, 2000 }, { not_collected = unseen }),
    expect = { { severity = "error", message = "*that no range names." } },
  },
  {
    name = "goes by its share where they come anywhere",
    trace = window(
      { 700, 700, 700, 700, 700, 700, 700, 700, 700, 700, 700 },
      { not_collected = unseen }
    ),
    expect = { { severity = "error", message = "*that no range names." } },
  },
  {
    name = "goes by its share where the start pauses for long, but later pauses take as much",
    trace = window(
      { 3000, 0, 0, 500, 500, 500, 500, 500, 500, 500, 0 },
      { not_collected = unseen }
    ),
    expect = { { severity = "error", message = "*that no range names." } },
  },
  {
    name = "is a note where pauses at the start take far more than later ones",
    trace = window({ 3000, 3000, 0, 0, 0, 100, 0, 0, 0, 100, 0 }, { not_collected = unseen }),
    expect = {
      { severity = "note", message = "* so it may be the program's start or end." },
    },
  },
  {
    name = "is a note where the host uses results, and the GPU has nothing left to compute",
    trace = {
      not_collected = unseen,
      ops = {
        { 0, 9000, kernel = "a" },
        { 9000, 20000, kernel = "b" },
        { 24000, 24100, copy = "um_d2h", bytes = 65536, cause = "fault" },
        { 28000, 28100, copy = "um_d2h", bytes = 65536, cause = "fault" },
      },
    },
    expect = {
      { severity = "note", message = "* so it may be the program's start or end." },
    },
  },
  {
    name = "counts pauses between migrations as others",
    trace = {
      not_collected = unseen,
      ops = {
        { 0, 9000, kernel = "a" },
        { 9000, 20000, kernel = "b" },
        { 24000, 24100, copy = "um_d2h", bytes = 65536, cause = "fault" },
        { 28000, 28100, copy = "um_d2h", bytes = 65536, cause = "fault" },
        { 28200, 30000, kernel = "c" },
      },
    },
    expect = { { severity = "error", message = "*that no range names." } },
  },
  {
    name = "is a note where the first of five steps has the pause",
    trace = (function()
      local trace = { not_collected = unseen, ranges = {}, ops = {} }
      for i = 0, 5 do
        local at, pause = i * 10000, i == 1 and 6500 or 0
        trace.ranges[i + 1] = { at, at + 9900, "step " .. i }
        trace.ops[2 * i + 1] =
          { at + 20, at + 2000, kernel = "nvjet_tst_gemm", launched = { at + 5, at + 10 } }
        trace.ops[2 * i + 2] = {
          at + 2020 + pause,
          at + 9990,
          kernel = "nvjet_tst_gemm",
          launched = { at + 2010 + pause, at + 2015 + pause },
        }
      end
      return trace
    end)(),
    expect = {
      { severity = "note", message = "* so it may be the program's start or end." },
    },
  },
  {
    name = "is a note on one long pause after the last step",
    trace = after_steps { 30000 },
    expect = {
      {
        severity = "note",
        subject = "after the last step",
        confidence = "medium",
        message = "After the last step the GPU is idle for 30.0 ms (27 % of the recording) in one \z
          pause, while the host does something outside of CUDA that no range names. It hardly \z
          recurs, so a longer recording may show less of it.",
      },
    },
  },
  {
    name = "is a warning where long pauses after the last step recur",
    trace = after_steps { 15000, 15000, 15000 },
    expect = {
      {
        severity = "warning",
        message = "After the last step the GPU is idle for 45.0 ms (35 % of the recording) in 3 \z
          pauses, each longer than a step, while the host does something outside of CUDA that no \z
          range names.",
      },
    },
  },
  {
    name = "is a note where one of the pauses after the last step takes most",
    trace = after_steps { 60000, 11000 },
    expect = { { severity = "note", message = "*in 2 pauses*hardly recurs*" } },
  },
  {
    name = "names what the host does after the last step",
    trace = after_steps(
      { 30000 },
      { os_calls = { { 80100, 109000, "clock_nanosleep" } }, not_collected = {} }
    ),
    expect = {
      {
        severity = "note",
        confidence = "high",
        message = "*while the host does something else, 30.0 ms of it in 'clock_nanosleep'.*",
      },
    },
  },
  {
    name = "is silent about a pause after the last step that is no longer than one",
    trace = after_steps { 9000, 9000, 9000 },
    expect = "clean",
  },
  {
    name = "is silent about what little is idle outside of the steps",
    trace = after_steps({ 11000 }, { calls = { { 195000, 200000, "cudaFree" } } }),
    expect = "clean",
  },
  {
    name = "is silent about the end of the program, after the last work",
    trace = after_steps({}, { calls = { { 130000, 140000, "cudaFree" } } }),
    expect = "clean",
  },
  {
    name = "is silent about allocation after the last step",
    trace = after_steps({ 30000 }, { calls = { { 80005, 110005, "cudaMalloc" } } }),
    expect = "clean",
  },
  {
    name = "is silent about start-up before the steps",
    trace = (function()
      local trace = after_steps {}
      for _, op in ipairs(trace.ops) do
        op[1], op[2] = op[1] + 60000, op[2] + 60000
        op.launched = { op.launched[1] + 60000, op.launched[2] + 60000 }
      end
      for _, range in ipairs(trace.ranges) do
        range[1], range[2] = range[1] + 60000, range[2] + 60000
      end
      table.insert(trace.ops, 1, { 20, 100, kernel = "init", launched = { 5, 10 } })
      return trace
    end)(),
    expect = "clean",
  },
  {
    name = "needs calls",
    trace = steps(4000, { not_collected = { "calls" } }),
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  {
    name = "unit-idle-tail: the host writes after the last step, and copies one number down",
    fixture = "unit-idle-tail",
    expect = { { severity = "note", subject = "after the last step" } },
  },
  { name = "starved: the loader", fixture = "starved", expect = "clean" },
  {
    name = "launchbound: threads that launch in turns wait for each other",
    fixture = "launchbound",
    expect = {
      {
        severity = "warning",
        message = "*'pthread_cond_wait'.*",
        follows_from = "launch-bound",
      },
    },
  },
  { name = "offload: copies", fixture = "offload", expect = "clean" },
  {
    name = "um-umtouch-full: the host touches pages of the GPU's, which um-migration-storm has",
    fixture = "um-umtouch-full",
    expect = "clean",
  },
  {
    name = "beat: the loader, though another thread launches tiny kernels meanwhile",
    fixture = "beat",
    expect = "clean",
  },
  {
    name = "products: what comes before the first kernel is no loop",
    fixture = "products",
    expect = "clean",
  },
}

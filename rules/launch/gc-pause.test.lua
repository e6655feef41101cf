-- Ten steps of 100 ms; in the fifth the thread may pause for 300.
local gemm = "nvjet_tst_gemm"
local function steps(pause, more)
  local trace = { ops = {}, ranges = {}, os_calls = {} }
  local at = 0
  for n = 1, 11 do
    local wait = n == 5 and pause or 20
    trace.ops[#trace.ops + 1] = {
      at + wait,
      at + wait + 99000,
      kernel = gemm,
      launched = { at + wait - 10, at + wait - 5 },
    }
    trace.ranges[#trace.ranges + 1] = { at, at + wait + 98000, "step " .. n }
    at = at + wait + 99980
  end
  for key, rows in pairs(more or {}) do
    if key == "not_collected" then
      trace[key] = rows
    else
      for _, row in ipairs(rows) do
        trace[key][#trace[key] + 1] = row
      end
    end
  end
  return trace
end
local function range(name, thread)
  return { ranges = { { 400100, 699000, name, thread = thread } } }
end

-- Six steps that pause before they upload, and train: such a pause is taken for loading.
local function uploads(pause, more)
  local trace = {
    repeats = { times = 6, every = pause + 10000 },
    ranges = { { 0, pause + 9000, "step {n}" } },
    ops = {
      { pause + 10, pause + 50, copy = "h2d", bytes = 65536, launched = { pause, pause + 5 } },
      { pause + 50, pause + 9900, kernel = gemm, launched = { pause + 10, pause + 15 } },
      {
        pause + 9950,
        pause + 9990,
        kernel = "multi_tensor_apply_kernel<FusedAdam>",
        launched = { pause + 20, pause + 25 },
      },
    },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end

return {
  {
    name = "fires when a range tells",
    trace = steps(300000, range "gc.collect"),
    expect = {
      {
        severity = "error",
        subject = "garbage collection",
        confidence = "high",
        message = "Python collects garbage once, and meanwhile the GPU is idle for 29.9 ms*, \z
          298.9 ms at the longest.",
        worth = { 0.22, 0.24 },
      },
    },
  },
  {
    name = "fires on a range of its generation",
    trace = steps(300000, range "GC generation 2"),
    expect = { { severity = "error" } },
  },
  {
    name = "is a warning where it takes less",
    trace = steps(100000, { ranges = { { 400100, 499000, "Python GC" } } }),
    expect = { { severity = "warning", worth = { 0.08, 0.1 } } },
  },
  {
    name = "is a note where it is short",
    trace = steps(30000, { ranges = { { 400100, 429000, "Python GC" } } }),
    expect = { { severity = "note", worth = { 0.02, 0.03 } } },
  },
  {
    name = "takes a rare silent pause for a note, with low confidence",
    trace = steps(300000),
    expect = {
      {
        severity = "note",
        subject = "silent pauses",
        confidence = "low",
        message = "*a likely cause.",
      },
    },
  },

  {
    name = "is silent when the GPU works meanwhile",
    trace = steps(20, { ranges = { { 400100, 490000, "gc.collect" } } }),
    expect = "clean",
  },
  {
    name = "is silent when another thread collects",
    trace = steps(300000, range("gc.collect", "helper")),
    expect = "clean",
  },
  { name = "is silent about shorter pauses", trace = steps(150000), expect = "clean" },
  {
    name = "is silent about a pause in which the thread writes",
    trace = steps(300000, { os_calls = { { 410000, 500000, "write" } } }),
    expect = "clean",
  },
  {
    name = "but not about what another thread does",
    trace = steps(
      300000,
      { os_calls = { { 410000, 500000, "poll", thread = "pt_data_pin" } } }
    ),
    expect = { { severity = "note" } },
  },
  {
    name = "is silent about a checkpoint",
    trace = steps(300000, range "save_checkpoint"),
    expect = "clean",
  },
  {
    name = "is silent about the loader",
    trace = steps(300000, range "dataloader"),
    expect = "clean",
  },
  {
    name = "is silent about what every step has",
    trace = {
      repeats = { times = 6, every = 400000 },
      ranges = { { 0, 399000, "step {n}" } },
      ops = { { 300010, 399900, kernel = gemm, launched = { 300000, 300005 } } },
    },
    expect = "clean",
  },
  {
    name = "is silent about nothing, whatever the options say",
    trace = steps(20),
    options = { share = 0, note_share = 0, pause_ns = 0 },
    expect = "clean",
  },

  {
    name = "cannot tell a silent pause from loading where it was taken for that",
    trace = uploads(300000),
    expect = "not checked",
  },
  {
    name = "nor without OS calls",
    trace = uploads(300000, { not_collected = { "os_calls" } }),
    expect = "not checked",
  },
  {
    name = "but where the thread waits for workers",
    trace = uploads(300000, { os_calls = { { 1000, 290000, "poll" } } }),
    expect = "clean",
  },
  { name = "and where the pause is short", trace = uploads(150000), expect = "clean" },
  {
    name = "and where a range tells",
    trace = uploads(
      300000,
      { ranges = { { 0, 309000, "step {n}" }, { 100, 299000, "gc.collect" } } }
    ),
    expect = { { severity = "error" } },
  },
  {
    name = "needs OS calls to call a pause silent",
    trace = steps(300000, { not_collected = { "os_calls" } }),
    expect = "not checked",
  },
  {
    name = "needs steps to call a pause rare",
    trace = {
      ops = {
        { 0, 99000, kernel = gemm },
        { 400010, 499000, kernel = gemm, launched = { 400000, 400005 } },
      },
    },
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(300000, { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  {
    name = "needs calls",
    trace = steps(300000, { not_collected = { "calls" } }),
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  {
    name = "offload-pageoff: pauses of milliseconds",
    fixture = "offload-pageoff",
    expect = "clean",
  },
  {
    name = "um-umtouch-full: the host works between steps",
    fixture = "um-umtouch-full",
    expect = "clean",
  },
  { name = "starved", fixture = "starved", expect = "clean" },
  {
    name = "gc-pause",
    fixture = "gc-pause",
    expect = { { severity = "error", worth = { 0.9, 1 } } },
  },
}

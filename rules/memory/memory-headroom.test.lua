-- Six steps of 10 ms, of which the GPU computes 9.9, or less; memory in GiB of the 141 that it has.
local gemm, GiB = "nvjet_tst_gemm", 2 ^ 30
local function steps(used, more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = { { 20, 9950, kernel = gemm } },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  if used then
    trace.memory_use = { { 0, bytes = used * GiB }, { 9900, bytes = -used * GiB } }
  end
  return trace
end
-- Short kernels, each launched when the one before is done.
local function fed_by_hand()
  local ops = {}
  for i = 0, 18 do
    ops[#ops + 1] = { i * 500 + 20, i * 500 + 320, kernel = gemm }
  end
  return ops
end
local waiting = {
  ranges = { { 0, 9900, "step {n}" }, { 100, 6000, "dataloader" } },
  ops = { { 6010, 9900, kernel = gemm, launched = { 6000, 6005 } } },
}

return {
  {
    name = "notes that memory is nearly full",
    trace = steps(135),
    expect = {
      {
        severity = "note",
        subject = "device memory",
        message = "135 GiB of 141 GiB are in use at the peak (96 %)*out-of-memory error.",
        worth = { 0, 0 },
      },
    },
  },
  {
    name = "notes it on Grace Hopper",
    trace = steps(93, { device = { name = "NVIDIA GH200 480GB", memory_gib = 96 } }),
    expect = { { severity = "note" } },
  },
  {
    name = "notes room while the GPU is fed from hand to mouth",
    trace = steps(20, { ops = fed_by_hand() }),
    expect = {
      {
        severity = "note",
        title = "Only 20 GiB of 141 GiB is used: try a larger problem",
        message = "Only 20 GiB of 141 GiB*a larger problem*",
        worth = { 0, 0 },
      },
    },
  },

  {
    name = "is silent in between",
    trace = steps(100, { ops = fed_by_hand() }),
    expect = "clean",
  },
  { name = "is silent about room while the GPU is busy", trace = steps(20), expect = "clean" },
  {
    name = "is silent about room while the GPU waits for input",
    trace = steps(20, waiting),
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(135),
    options = { full = 0.99 },
    expect = "clean",
  },
  {
    name = "takes thresholds of nothing",
    trace = steps(20),
    options = { full = 0, empty = 0, idle = 0 },
    expect = { { severity = "note", message = "*out-of-memory*" } },
  },

  { name = "needs allocations", trace = steps(nil), expect = "not checked" },
  {
    name = "needs the recording of memory",
    trace = steps(20, { not_collected = { "memory_use" } }),
    expect = "not checked",
  },
  {
    name = "needs the device's size",
    trace = steps(20, { device = { memory_gib = 0 } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(20, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  { name = "good: 6 % in use, and busy", fixture = "good", expect = "clean" },
  { name = "fp32", fixture = "fp32", expect = "clean" },
  {
    name = "starved: a larger batch does not load faster",
    fixture = "starved",
    expect = "clean",
  },
  { name = "offload: copies, not idle", fixture = "offload", expect = "clean" },
  {
    name = "launchbound: memory was not recorded",
    fixture = "launchbound",
    expect = "not checked",
  },
}

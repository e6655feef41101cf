-- Six steps of 10 ms with a number of all-reduces, 100 us from each to the next, alone on the GPU.
local gemm, reduce = "nvjet_tst_gemm", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
local function steps(count, length, more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = { { 20, 1000, kernel = gemm }, { 9000, 9950, kernel = gemm } },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  for i = 1, count do
    local at = 1000 + i * 100
    trace.ops[#trace.ops + 1] = { at, at + length, kernel = reduce, stream = 8 }
    if trace.bytes then
      trace.ranges[#trace.ranges + 1] =
        { at - 12, at - 4, "ncclAllReduce", bytes = trace.bytes }
    end
  end
  trace.bytes = nil
  return trace
end

-- Sixty that take the host 50 us each, before the GPU gets anything else to do.
local starting, started =
  { { 0, 9900, "step {n}" } }, { { 20, 500, kernel = gemm }, { 9000, 9950, kernel = gemm } }
for i = 1, 60 do
  starting[#starting + 1] = { 500 + i * 100, 550 + i * 100, "nccl:all_reduce" }
  started[#started + 1] = {
    540 + i * 100,
    541 + i * 100,
    kernel = reduce,
    stream = 8,
    launched = { 520 + i * 100, 525 + i * 100 },
  }
end
return {
  {
    name = "fires on many short collectives",
    trace = steps(60, 20),
    expect = {
      {
        severity = "warning",
        subject = "small collectives",
        message = "60 small collectives a step on each GPU (of 60, median 20.0 us)*1.20 ms of \z
          each 10.0 ms step (12 %).",
        worth = { 0.11, 0.13 },
      },
    },
  },
  {
    name = "fires on many small messages that take long",
    trace = steps(60, 80, { bytes = 65536 }),
    expect = {
      {
        severity = "error",
        message = "60 small collectives*median 80.0 us*",
        worth = { 0.47, 0.49 },
      },
    },
  },
  {
    name = "fires on one message a parameter",
    trace = steps(60, 80, { bytes = 2 * 1048576 }),
    expect = { { message = "60 small collectives*median 80.0 us*" } },
  },
  {
    name = "counts only what shows",
    trace = steps(
      60,
      20,
      { ops = { { 20, 4000, kernel = gemm }, { 9000, 9950, kernel = gemm } } }
    ),
    expect = { { severity = "warning", worth = { 0.05, 0.07 } } },
  },
  {
    name = "is a note where little shows",
    trace = steps(60, 5),
    expect = { { severity = "note", worth = { 0.02, 0.04 } } },
  },
  {
    name = "counts the host's time to start them where the GPU waits for launches",
    trace = { repeats = { times = 6, every = 10000 }, ranges = starting, ops = started },
    expect = {
      {
        severity = "error",
        message = "*take the host 3.00 ms of each 10.0 ms step (30 %) to start*",
      },
    },
  },
  {
    name = "asks for as few as the team wants",
    trace = steps(20, 40),
    options = { per_step = 10 },
    expect = { { severity = "warning" } },
  },
  {
    name = "and none at all is none, whatever the options say",
    trace = steps(0, 0),
    options = { per_step = 0, note_share = 0 },
    expect = "clean",
  },

  { name = "is silent about few of them", trace = steps(40, 40), expect = "clean" },
  { name = "is silent about buckets", trace = steps(60, 80), expect = "clean" },
  {
    name = "is silent about buckets of known size",
    trace = steps(60, 80, { bytes = 26214400 }),
    expect = "clean",
  },
  {
    name = "is silent when compute hides them",
    trace = steps(60, 20, { ops = { { 20, 9950, kernel = gemm } } }),
    expect = "clean",
  },
  {
    name = "is silent about small kernels that do not communicate",
    trace = steps(0, 0, { ops = { { 20, 9950, kernel = "tiny_kernel" } } }),
    expect = "clean",
  },

  {
    name = "needs kernels",
    trace = steps(60, 20, { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  {
    name = "needs the kernels within graphs",
    trace = steps(0, 0, { ops = { { 20, 9950, graph = true } } }),
    expect = "not checked",
  },

  { name = "ddp: 17 a step, of 25 MB", fixture = "ddp", expect = "clean" },
  { name = "good", fixture = "good", expect = "clean" },
  { name = "launchbound: small kernels, one GPU", fixture = "launchbound", expect = "clean" },
  { name = "eager", fixture = "eager", expect = "clean" },
  {
    name = "ddp-small-collectives",
    fixture = "ddp-small-collectives",
    expect = { { severity = "warning" } },
  },
  { name = "ddp-straggler: DDP buckets", fixture = "ddp-straggler", expect = "clean" },
}

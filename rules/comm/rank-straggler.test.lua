-- Six steps of 10 ms on two GPUs, an all-reduce at the end of each. `first` and `second` say when
-- they begin it; it ends at 9.5 ms.
local gemm, reduce = "nvjet_tst_gemm", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
local function ranks(list, more)
  local trace = { repeats = { times = 6, every = 10000 }, ranges = {}, ops = {} }
  for rank, enter in ipairs(list) do
    trace.ranges[#trace.ranges + 1] = { 0, 9000, "step {n}", rank = rank - 1 }
    trace.ops[#trace.ops + 1] = { 20, enter - 5, kernel = gemm, rank = rank - 1 }
    trace.ops[#trace.ops + 1] = { enter, 9500, kernel = reduce, stream = 8, rank = rank - 1 }
    trace.ops[#trace.ops + 1] = { 9500, 9950, kernel = gemm, rank = rank - 1 }
  end
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
-- Two all-reduces a step: to the first the one is late, to the second the other.
local function in_turn()
  local ranges, ops = {}, {}
  for rank = 0, 1 do
    for half = 0, 1 do
      local at, enter = half * 5000, half == rank and 4000 or 3000
      ops[#ops + 1] = { at + 20, at + enter, kernel = gemm, rank = rank }
      ops[#ops + 1] = { at + enter, at + 4500, kernel = reduce, stream = 8, rank = rank }
      ops[#ops + 1] = { at + 4500, at + 4950, kernel = gemm, rank = rank }
    end
    ranges[#ranges + 1] = { 0, 9000, "step {n}", rank = rank }
  end
  return { repeats = { times = 6, every = 10000 }, ranges = ranges, ops = ops }
end
local loader = {
  { 0, 9000, "step {n}" },
  { 0, 9000, "step {n}", rank = 1 },
  { 0, 3000, "dataloader", rank = 1 },
}

-- Two exchanges of equal size in each of six steps of 10 ms on one GPU: the first takes 50 us, the
-- second as long as given.
local function exchanged(time, second_bytes)
  local kernel = "ncclDevKernel_SendRecv"
  return {
    repeats = { times = 6, every = 10000 },
    ranges = {
      { 0, 9900, "step {n}" },
      { 2900, 2990, "nccl:all_to_all", bytes = 8192 },
      { 5900, 5990, "nccl:all_to_all", bytes = second_bytes or 8192 },
    },
    ops = {
      { 20, 3000, kernel = gemm, launched = { 5, 10 } },
      { 3000, 3050, kernel = kernel, stream = 8, launched = { 2910, 2920 } },
      { 3060, 6000, kernel = gemm, launched = { 2930, 2940 } },
      { 6000, 6000 + time, kernel = kernel, stream = 8, launched = { 5910, 5920 } },
      { 6010 + time, 9900, kernel = gemm, launched = { 5930, 5940 } },
    },
  }
end
-- The same exchange on two GPUs, of which the second enters later.
local function late_to_exchange()
  local ops, ranges = {}, {}
  for rank, enter in ipairs { 4000, 6000 } do
    ranges[#ranges + 1] = { 0, 9000, "step {n}", rank = rank - 1 }
    ranges[#ranges + 1] = { 3000, 3500, "nccl:all_to_all", rank = rank - 1 }
    ops[#ops + 1] = { 20, enter - 5, kernel = gemm, rank = rank - 1 }
    ops[#ops + 1] = {
      enter,
      6100,
      kernel = "ncclDevKernel_SendRecv",
      stream = 8,
      rank = rank - 1,
      launched = { 3100, 3110 },
    }
    ops[#ops + 1] = { 6100, 9950, kernel = gemm, rank = rank - 1 }
  end
  return { repeats = { times = 6, every = 10000 }, ranges = ranges, ops = ops }
end

return {
  {
    name = "fires on one rank whose calls of one size take far longer than the shortest",
    trace = exchanged(2050),
    expect = {
      {
        severity = "warning",
        subject = "ranks outside the report",
        message = "5 of 10 collectives wait for ranks that are not in the report, and come later: \z
          2.00 ms of each 10.0 ms step (20 %). They take 2.05 ms (median), where calls of the \z
          same operator, group and size take 50.0 us.",
        advice = "Record all ranks together*",
        worth = { 0.19, 0.21 },
      },
    },
  },
  {
    name = "knows nothing of waits where the longer call is larger",
    trace = exchanged(2050, 16384),
    expect = "not checked",
  },
  {
    name = "or where a shared link explains it",
    trace = exchanged(95),
    options = { note_share = 0 },
    expect = "not checked",
  },
  {
    name = "matches all-to-alls that run as messages, where the operator says so",
    trace = late_to_exchange(),
    expect = { { subject = "device 1", message = "The other GPU waits for GPU 1*" } },
  },
  {
    name = "fires when one rank comes late",
    trace = ranks { 7000, 8500 },
    expect = {
      {
        severity = "warning",
        subject = "device 1",
        confidence = "high",
        title = "The rank on GPU 1 is 1.50 ms late each step (it computes longer)",
        message = "The other GPU waits for GPU 1, which is the last to enter 1 collective a step: \z
          1.50 ms of each 10.0 ms step (15 %). It spends 1.5 ms a step longer computing than the \z
          others.",
        worth = { 0.14, 0.16 },
      },
    },
  },
  {
    name = "names the unit of what it found",
    trace = ranks({ 7000, 8500 }, { ranges = {} }),
    expect = {
      {
        severity = "warning",
        subject = "device 1",
        message = "*1 collective an iteration: 1.50 ms of each 10.0 ms iteration*It spends 1.5 ms \z
          an iteration longer computing than the others.",
      },
    },
  },
  {
    name = "fires on the late one of four",
    trace = ranks { 6000, 6000, 8500, 6000 },
    expect = {
      {
        severity = "error",
        subject = "device 2",
        message = "The other 3 GPUs wait for GPU 2*",
        worth = { 0.24, 0.26 },
      },
    },
  },
  {
    name = "names its data loader",
    trace = ranks({ 7000, 9000 }, {
      ranges = loader,
      ops = {
        { 20, 7000, kernel = gemm },
        { 7000, 9500, kernel = reduce, stream = 8 },
        { 9500, 9950, kernel = gemm },
        { 3010, 9000, kernel = gemm, rank = 1, launched = { 3000, 3005 } },
        { 9000, 9500, kernel = reduce, stream = 8, rank = 1 },
        { 9500, 9950, kernel = gemm, rank = 1 },
      },
    }),
    expect = {
      {
        severity = "error",
        subject = "device 1",
        message = "*longer waiting for its input than the others.",
      },
    },
  },
  {
    name = "tells ranks that take turns",
    trace = in_turn(),
    expect = {
      {
        severity = "error",
        subject = "ranks in turn",
        message = "Ranks take turns*wait 2.00 ms of each*",
        worth = { 0.19, 0.21 },
      },
    },
  },
  {
    name = "is a note from 2 % on",
    trace = ranks { 8200, 8500 },
    expect = { { severity = "note", worth = { 0.02, 0.04 } } },
  },

  {
    name = "is silent when ranks come together",
    trace = ranks { 8500, 8500 },
    expect = "clean",
  },
  { name = "is silent about 1 %", trace = ranks { 8400, 8500 }, expect = "clean" },
  {
    name = "is silent when the others compute while they wait",
    trace = ranks({ 7000, 8500 }, {
      ops = {
        { 20, 9400, kernel = gemm },
        { 7000, 9500, kernel = reduce, stream = 8 },
        { 9500, 9950, kernel = gemm },
        { 20, 8500, kernel = gemm, rank = 1 },
        { 8500, 9500, kernel = reduce, stream = 8, rank = 1 },
        { 9500, 9950, kernel = gemm, rank = 1 },
      },
    }),
    expect = "clean",
  },
  {
    name = "is silent about the root of a broadcast, which does not wait",
    trace = ranks({ 0, 0 }, {
      ops = {
        { 20, 5000, kernel = gemm },
        { 5000, 5100, kernel = "ncclDevKernel_Broadcast_RING_LL", stream = 8 },
        { 5100, 8000, kernel = gemm },
        { 8000, 8500, kernel = reduce, stream = 8 },
        { 8500, 9950, kernel = gemm },
        { 20, 7000, kernel = gemm, rank = 1 },
        { 7000, 7100, kernel = "ncclDevKernel_Broadcast_RING_LL", stream = 8, rank = 1 },
        { 7100, 8000, kernel = gemm, rank = 1 },
        { 8000, 8500, kernel = reduce, stream = 8, rank = 1 },
        { 8500, 9950, kernel = gemm, rank = 1 },
      },
      ranges = { { 0, 9000, "step {n}" }, { 0, 9000, "step {n}", rank = 1 } },
    }),
    expect = "clean",
  },
  {
    name = "is silent without communication, whatever the options say",
    trace = ranks(
      {},
      { ranges = { { 0, 9000, "step {n}" } }, ops = { { 20, 9950, kernel = gemm } } }
    ),
    options = { note_share = 0 },
    expect = "clean",
  },
  {
    name = "is silent about nothing, whatever the options say",
    trace = ranks { 8500, 8500 },
    options = { share = 0, note_share = 0, persistent = 0 },
    expect = "clean",
  },

  { name = "needs more than one rank", trace = ranks { 7000 }, expect = "not checked" },
  {
    name = "needs collectives that match",
    trace = ranks({ 0, 0 }, {
      ops = {
        { 20, 7000, kernel = gemm },
        { 7000, 9500, kernel = "ncclDevKernel_SendRecv" },
        { 9500, 9950, kernel = gemm },
        { 20, 9000, kernel = gemm, rank = 1 },
        { 9000, 9500, kernel = "ncclDevKernel_SendRecv", rank = 1 },
        { 9500, 9950, kernel = gemm, rank = 1 },
      },
    }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = ranks({ 7000, 8500 }, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  { name = "ddp: ranks wait 0.3 % for each other", fixture = "ddp", expect = "clean" },
  { name = "good: one GPU, no collectives", fixture = "good", expect = "clean" },
  { name = "starved", fixture = "starved", expect = "clean" },
  { name = "offload", fixture = "offload", expect = "clean" },
  {
    name = "ddp-straggler",
    fixture = "ddp-straggler",
    expect = {
      {
        severity = "error",
        subject = "device 1",
        title = "The rank on GPU 1 is * ms late each * (it sleeps in clock_nanosleep)",
        message = "*waits for GPU 1*longer in 'clock_nanosleep' than the others.",
        worth = { 0.5, 0.6 },
      },
    },
  },
}

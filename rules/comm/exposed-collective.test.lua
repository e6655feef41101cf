-- Six steps of 10 ms on a GPU: backward computes until 6 ms, an all-reduce runs from 5 to 8 on a
-- separate stream, the optimizer after it.
local gemm, reduce = "nvjet_tst_gemm", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
local function steps(ops, more)
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9000, "step {n}" } }, ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local function reduced(from, to, name, more)
  return steps({
    { 20, 6000, kernel = gemm },
    { from, to, kernel = name or reduce, stream = 8 },
    { math.max(to, 6000), 9950, kernel = gemm },
  }, more)
end
-- The same on a second GPU, which computes until 8 ms and enters only then.
local function late()
  local ops = {
    { 20, 6000, kernel = gemm },
    { 6000, 8500, kernel = reduce, stream = 8 },
    { 8500, 9950, kernel = gemm },
    { 20, 8000, kernel = gemm, rank = 1 },
    { 8000, 8500, kernel = reduce, stream = 8, rank = 1 },
    { 8500, 9950, kernel = gemm, rank = 1 },
  }
  return steps(ops, { ranges = { { 0, 9000, "step {n}" }, { 0, 9000, "step {n}", rank = 1 } } })
end

return {
  {
    name = "fires when an all-reduce outlasts backward",
    trace = reduced(5000, 8000),
    expect = {
      {
        severity = "error",
        subject = "collectives",
        confidence = "high",
        message = "*computing for 2.00 ms of each 10.0 ms step (20 %): 33 % of their 3.00 ms \z
          hides*is all-reduce.",
        worth = { 0.19, 0.21 },
      },
    },
  },
  {
    name = "fires on sharded weights",
    trace = reduced(6000, 7500, "ncclDevKernel_AllGather_RING_LL"),
    expect = {
      {
        severity = "warning",
        message = "*reduce-scatter and all-gather*",
        worth = { 0.14, 0.16 },
      },
    },
  },
  {
    name = "fires on a pipeline",
    trace = reduced(6000, 7500, "ncclDevKernel_SendRecv"),
    expect = { { severity = "warning", message = "*send and receive*" } },
  },
  {
    name = "tells all-to-all from messages by the operator that launched it",
    trace = reduced(
      6000,
      7500,
      "ncclDevKernel_SendRecv",
      { ranges = { { 0, 9000, "step {n}" }, { 5980, 5998, "nccl:all_to_all" } } }
    ),
    expect = { { severity = "warning", message = "*is all-to-all." } },
  },
  {
    name = "and by the messages of which it consists",
    trace = reduced(6000, 7500, "ncclDevKernel_SendRecv", {
      ranges = {
        { 0, 9000, "step {n}" },
        { 5980, 5981, "ncclSend" },
        { 5982, 5983, "ncclSend" },
        { 5984, 5985, "ncclRecv" },
        { 5986, 5987, "ncclRecv" },
      },
    }),
    expect = { { severity = "warning", message = "*is all-to-all." } },
  },
  {
    name = "leaves out what calls of one size take beyond the shortest",
    trace = steps({
      { 20, 3000, kernel = gemm, launched = { 5, 10 } },
      { 3000, 3050, kernel = "ncclDevKernel_SendRecv", stream = 8, launched = { 2910, 2920 } },
      { 3060, 6000, kernel = gemm, launched = { 2930, 2940 } },
      { 6000, 8050, kernel = "ncclDevKernel_SendRecv", stream = 8, launched = { 5910, 5920 } },
      { 8060, 9900, kernel = gemm, launched = { 5930, 5940 } },
    }, {
      ranges = {
        { 0, 9900, "step {n}" },
        { 2900, 2990, "nccl:all_to_all", bytes = 8192 },
        { 5900, 5990, "nccl:all_to_all", bytes = 8192 },
      },
    }),
    expect = "clean",
  },
  {
    name = "knows activations of tensor parallelism by gathers that follow scatters",
    trace = steps((function()
      local ops = { { 20, 1000, kernel = gemm } }
      for layer = 0, 2 do
        local at = 1000 + layer * 2500
        for i, name in ipairs { "ReduceScatter_Sum_bf16", "AllGather" } do
          local from = at + (i - 1) * 1200
          ops[#ops + 1] = {
            from,
            from + 400,
            kernel = "ncclDevKernel_" .. name .. "_RING_LL",
            stream = 8,
          }
          ops[#ops + 1] = { from + 400, from + 1200, kernel = gemm }
        end
      end
      return ops
    end)()),
    expect = { { advice = "Send one half of the batch while the other half computes*" } },
  },
  {
    name = "and by the operator that launched them",
    trace = reduced(6000, 7500, "ncclDevKernel_AllGather_RING_LL", {
      ranges = { { 0, 9000, "step {n}" }, { 5980, 5998, "Redistribute" } },
    }),
    expect = { { advice = "Send one half of the batch while the other half computes*" } },
  },
  {
    name = "takes gathers after all scatters for sharded weights",
    trace = steps((function()
      local ops = { { 20, 1000, kernel = gemm } }
      for i, name in ipairs { "ReduceScatter", "ReduceScatter", "AllGather", "AllGather" } do
        local at = i * 2000 - 1000
        ops[#ops + 1] =
          { at, at + 500, kernel = "ncclDevKernel_" .. name .. "_RING_LL", stream = 8 }
        ops[#ops + 1] = { at + 500, at + 2000, kernel = gemm }
      end
      return ops
    end)()),
    expect = { { advice = "Start communication in pieces*" } },
  },
  {
    name = "names the group where the report tells",
    trace = steps {
      { 20, 6000, kernel = gemm },
      { 6000, 7500, kernel = reduce, stream = 8, group = "tp [0, 1, 2, 3]", ranks = 4 },
      { 7500, 9950, kernel = gemm },
    },
    expect = {
      { severity = "warning", message = "*is all-reduce in group tp [0, 1, 2, 3] of 4 ranks." },
    },
  },
  {
    name = "fires on broadcasts",
    trace = reduced(6000, 7500, "ncclDevKernel_Broadcast_RING_LL"),
    expect = {
      {
        severity = "warning",
        message = "*is broadcast.",
        advice = "Send what does not change only once*",
      },
    },
  },
  {
    name = "takes DeepEP's dispatch for an all-to-all",
    trace = reduced(6000, 7500, "void deep_ep::intranode::dispatch<8>(int4*)"),
    expect = { { severity = "warning", message = "*is all-to-all." } },
  },
  {
    name = "names what DeepEP has to hide it",
    trace = steps {
      { 20, 6000, kernel = "void at::native::mm" },
      { 6000, 7500, kernel = "void deep_ep::internode_ll::dispatch<8>(int4*)", stream = 8 },
      { 7500, 9950, kernel = "void at::native::mm" },
    },
    expect = { { severity = "warning", advice = "Overlap dispatch and combine*async_finish*" } },
  },
  {
    name = "names the switch of the server that calls it",
    trace = steps {
      { 20, 6000, kernel = "void vllm::moe::silu" },
      { 6000, 7500, kernel = "void deep_ep::internode_ll::dispatch<8>(int4*)", stream = 8 },
      { 7500, 9950, kernel = "void vllm::moe::silu" },
    },
    expect = { { severity = "warning", advice = "*--enable-dbo*" } },
  },
  {
    name = "fires on kernels of another kind",
    trace = reduced(6000, 7500, "nvshmem_barrier"),
    expect = { { severity = "warning", message = "*of another kind*" } },
  },
  {
    name = "tells waiting for a late rank from sending",
    trace = late(),
    expect = {
      {
        severity = "note",
        message = "*About 67 % of it is waiting for a late rank, which is not counted here.",
        worth = { 0.049, 0.051 },
      },
    },
  },
  {
    name = "is a note between the two thresholds",
    trace = reduced(5000, 6700),
    expect = { { severity = "note", worth = { 0.06, 0.08 } } },
  },

  { name = "is silent when backward hides it", trace = reduced(3000, 6000), expect = "clean" },
  { name = "is silent about the last bucket", trace = reduced(5000, 6400), expect = "clean" },
  {
    name = "is silent about copies",
    trace = steps {
      { 20, 6000, kernel = gemm },
      { 6000, 9000, copy = "d2h", bytes = 1e8 },
      { 9000, 9950, kernel = gemm },
    },
    expect = "clean",
  },
  {
    name = "is silent without communication",
    trace = steps { { 20, 9950, kernel = gemm } },
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = reduced(5000, 8000),
    options = { share = 0.5, note_share = 0.5 },
    expect = "clean",
  },

  {
    name = "needs kernels",
    trace = reduced(5000, 8000, nil, { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  {
    name = "needs the kernels within graphs",
    trace = steps { { 20, 9950, graph = true } },
    expect = "not checked",
  },

  { name = "ddp: all but 0.4 % hidden", fixture = "ddp", expect = "clean" },
  { name = "good: one GPU", fixture = "good", expect = "clean" },
  { name = "offload: copies alone", fixture = "offload", expect = "clean" },
  { name = "starved", fixture = "starved", expect = "clean" },
  {
    name = "compile-graphs: nothing to see in graphs",
    fixture = "compile-graphs",
    expect = "not checked",
  },
  {
    name = "ddp-straggler: what shows is waiting",
    fixture = "ddp-straggler",
    expect = "clean",
  },
}

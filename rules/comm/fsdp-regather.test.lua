-- As of fsdp-late-gather: four blocks that are gathered in forward and, unless `kept`, again in
-- backward; 64 MiB from each of two ranks.
local gemm, loss, update =
  "nvjet_tst_gemm",
  "nll_loss_forward_reduce_cuda_kernel_2d",
  "multi_tensor_apply_kernel<FusedAdamMathFunctor>"
local gather, scatter =
  "ncclDevKernel_AllGather_RING_LL", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"
local MiB = 1048576

local function steps(more)
  more = more or {}
  local ops, ranges = {}, { { 0, 9990, "step {n}" } }
  for rank = 0, 1 do
    local n = 0
    local function op(from, to, kernel, stream)
      n = n + 1
      ops[#ops + 1] = {
        from,
        to,
        kernel = kernel,
        stream = stream,
        launched = { n * 0.2, n * 0.2 + 0.1 },
        rank = rank,
      }
      if kernel == gather and more.bytes then
        ranges[#ranges + 1] =
          { n * 0.2 - 0.02, n * 0.2 + 0.12, "ncclAllGather", bytes = more.bytes, rank = rank }
      end
    end
    local at = 20
    for _ = 1, 4 do
      op(at, at + 400, gather, 8)
      op(at + 400, at + 900, gemm, 7)
      at = at + 900
    end
    op(at, at + 20, loss, 7)
    at = at + 20
    for _ = 1, 4 do
      if not more.kept then
        op(at, at + 400, gather, 8)
        at = at + 400
      end
      op(at, at + 800, gemm, 7)
      op(at + 800, at + 850, scatter, 9)
      at = at + 850
    end
    op(9500, 9990, update, 7)
  end
  return {
    repeats = { times = 6, every = 10000 },
    ranges = ranges,
    ops = ops,
    memory_use = more.memory_use,
    not_collected = more.not_collected,
  }
end

return {
  {
    name = "says what it can where memory was not recorded",
    trace = steps { not_collected = { "memory_use" } },
    expect = {
      {
        severity = "note",
        subject = "second gathers of weights",
        message = "4 gathers a step fetch weights that were gathered before and freed: 1.60 ms \z
          of*is unknown: memory was not recorded.",
      },
    },
  },
  {
    name = "counts what they would take",
    trace = steps { bytes = 64 * MiB, memory_use = { { 0, bytes = 20 * 1024 * MiB } } },
    expect = {
      {
        subject = "second gathers of weights",
        message = "*Keeping them takes 0.5 GiB more; * of 141 GiB are in use.",
        confidence = "high",
      },
    },
  },
  {
    name = "is silent where they do not fit",
    trace = steps { bytes = 64 * MiB, memory_use = { { 0, bytes = 130 * 1024 * MiB } } },
    expect = "clean",
  },
  {
    name = "is silent about weights that are kept",
    trace = steps { kept = true },
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(),
    options = { share = 0.9 },
    expect = "clean",
  },
  {
    name = "is silent without gathers",
    trace = {
      repeats = { times = 6, every = 1000 },
      ranges = { { 0, 990, "step {n}" } },
      ops = { { 20, 980, kernel = gemm } },
    },
    expect = "clean",
  },
  {
    name = "cannot tell weights without steps",
    trace = { ops = { { 20, 900, kernel = gemm }, { 900, 990, kernel = gather, stream = 8 } } },
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps { not_collected = { "kernels" } },
    expect = "not checked",
  },

  {
    name = "two-fsdp-no-prefetch: full shards",
    fixture = "two-fsdp-no-prefetch",
    expect = { { severity = "note" } },
  },
  { name = "ddp", fixture = "ddp", expect = "clean" },
}

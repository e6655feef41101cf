-- Six steps of 10 ms on two ranks. Four blocks: each is gathered (400 us) and computed (500 us) in
-- forward, and gathered, computed (900 us)
-- and scattered (300 us) in backward, one after the other; then the optimizer.
local gemm, loss, update =
  "nvjet_tst_gemm",
  "nll_loss_forward_reduce_cuda_kernel_2d",
  "multi_tensor_apply_kernel<FusedAdamMathFunctor>"
local gather, scatter =
  "ncclDevKernel_AllGather_RING_LL", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"

-- `ahead`: gathers run next to the block before. `early_scatter`: activations are scattered in
-- forward too, as tensor parallelism does.
local function steps(more)
  more = more or {}
  local ops = {}
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
    end
    local at = 20
    for block = 1, 4 do
      if more.ahead then
        op(at - (block > 1 and 450 or 0), at + (block > 1 and -50 or 400), gather, 8)
      else
        op(at, at + 400, gather, 8)
      end
      if not more.ahead or block == 1 then at = at + 400 end
      op(at, at + 500, gemm, 7)
      at = at + 500
      if more.early_scatter then
        op(at, at + 200, scatter, 9)
        at = at + 200
      end
    end
    if more.loss ~= false then op(at, at + 20, loss, 7) end
    at = at + 20
    for _ = 1, 4 do
      if not more.kept then
        if more.ahead then
          op(at - 450, at - 50, gather, 8)
        else
          op(at, at + 400, gather, 8)
          at = at + 400
        end
      end
      op(at, at + 800, gemm, 7)
      at = at + 800
      if not more.no_scatter then
        op(at, at + 50, scatter, 9)
        at = at + 50
      end
    end
    op(9500, 9990, update, 7)
  end
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    ops = ops,
    not_collected = more.not_collected,
  }
end

return {
  {
    name = "fires on gathers between blocks",
    trace = steps(),
    replay = true,
    expect = {
      {
        subject = "gathers of weights",
        message = "* of 8 weight gathers a step start only after the previous block has computed*",
      },
    },
  },
  {
    name = "fires where no loss is known by its kernels",
    trace = steps { loss = false },
    expect = { { subject = "gathers of weights" } },
  },
  {
    name = "is silent about gathers that come ahead",
    trace = steps { ahead = true },
    expect = "clean",
  },
  {
    name = "is silent about tensor parallelism, which gathers and scatters activations in turn",
    trace = steps { early_scatter = true },
    expect = "clean",
  },
  {
    name = "is silent about gathers without a scattered gradient: inference",
    trace = steps { no_scatter = true },
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
    name = "two-fsdp-no-prefetch: measured 30.3 ms, and 27.3 with prefetching",
    fixture = "two-fsdp-no-prefetch",
    expect = { { severity = "warning", worth = { 0.05, 0.12 } } },
  },
  { name = "ddp", fixture = "ddp", expect = "clean" },
  { name = "two-tensor-parallel", fixture = "two-tensor-parallel", expect = "clean" },
}

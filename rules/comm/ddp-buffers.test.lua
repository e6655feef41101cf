-- Six training steps of 10 ms: a broadcast, `copies` copies that the host launches `pause` us one
-- after the other, forward, a loss, backward.
local gemm, loss, update =
  "nvjet_tst_gemm",
  "nll_loss_forward_reduce_cuda_kernel_2d",
  "multi_tensor_apply_kernel<FusedAdamMathFunctor>"
local broadcast = "ncclDevKernel_Broadcast_RING_LL"

local function steps(copies, pause, more)
  more = more or {}
  local ops, ranges = {}, { { 0, 9990, "step {n}" } }
  local function op(from, to, what)
    what[1], what[2], what.launched = from, to, what.launched or { from - 8, from - 4 }
    ops[#ops + 1] = what
  end
  ranges[#ranges + 1] = { 20, 120, "aten::flatten_dense_tensors" }
  ranges[#ranges + 1] = { 120, 140, "c10d::broadcast_" }
  local at = 150
  if not more.none then op(at, at + 20, { kernel = more.kernel or broadcast, stream = 8 }) end
  at = at + 20
  for _ = 1, copies do
    at = at + pause
    op(at, at + 2, { copy = "d2d", bytes = 4096 })
    at = at + 2
    if more.between then
      op(at, at + 20, { kernel = gemm })
      at = at + 20
    end
  end
  at = at + 10
  op(at, at + 2000, { kernel = gemm })
  if not more.after_loss then op(at + 2000, at + 2020, { kernel = loss }) end
  op(at + 2020, 9400, { kernel = gemm })
  op(9400, 9990, { kernel = update })
  return {
    repeats = { times = 6, every = 10000 },
    ranges = ranges,
    ops = ops,
    not_collected = more.not_collected,
  }
end

return {
  {
    name = "fires on buffers that are put back one by one",
    trace = steps(40, 40),
    expect = {
      {
        severity = "warning",
        subject = "buffers",
        title = "Buffers are broadcast each step and put back by 40 copies",
        message = "Before the loss, 1 broadcast sends buffers a step*With 40 copies that put them \z
          back*",
      },
    },
  },
  { name = "is silent about few of them", trace = steps(1, 40), expect = "clean" },
  {
    name = "is silent where putting them back takes next to nothing",
    trace = steps(20, 3),
    expect = "clean",
  },
  {
    name = "is silent about copies between which the GPU computes",
    trace = steps(40, 40, { between = true }),
    expect = "clean",
  },
  {
    name = "is silent about copies after an all-reduce",
    trace = steps(40, 40, { kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" }),
    expect = "clean",
  },
  {
    name = "is silent where no loss follows",
    trace = steps(40, 40, { after_loss = true }),
    expect = "clean",
  },
  {
    name = "is silent without broadcasts",
    trace = steps(40, 40, { none = true }),
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(40, 40),
    options = { share = 0.5 },
    expect = "clean",
  },
  {
    name = "cannot tell the start from a step without steps",
    trace = {
      ops = {
        { 20, 40, kernel = broadcast, stream = 8 },
        { 400, 800, kernel = gemm },
        { 800, 810, kernel = loss },
        { 900, 990, kernel = update },
      },
    },
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(40, 40, { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  { name = "ddp: one small broadcast", fixture = "ddp", expect = "clean" },
}

-- Six steps of 10 ms of one process with two GPUs: `tensors` broadcasts (or copies) of 20 us, then
-- both compute.
local gemm, update =
  "void at::native::vectorized_elementwise_kernel<gemm>",
  "multi_tensor_apply_kernel<FusedAdamMathFunctor>"
local broadcast = "ncclDevKernel_Broadcast_RING_LL"

local function steps(tensors, more)
  more = more or {}
  local ops = {}
  for i = 0, tensors - 1 do
    local at = 100 + 30 * i
    if more.copies then
      ops[#ops + 1] = { at, at + 25, copy = "p2p", bytes = 1048576, stream = 9 }
    else
      for gpu = 0, 1 do
        ops[#ops + 1] = {
          at,
          at + 25,
          kernel = broadcast,
          stream = 8,
          gpu = not more.ranks and gpu or nil,
          rank = more.ranks and gpu or nil,
        }
      end
    end
  end
  local from = 100 + 30 * tensors
  for gpu = 0, 1 do
    local to = gpu == 1 and more.uneven and from + 200 or 9900
    for i = 0, (gpu == 1 and more.uneven) and 1 or 9 do
      local step = (to - from) / 10
      ops[#ops + 1] = {
        from + i * step,
        from + (i + 1) * step - 1,
        kernel = gemm,
        launched = { 10 + i, 10.5 + i },
        gpu = not more.ranks and gpu or nil,
        rank = more.ranks and gpu or nil,
      }
    end
  end
  ops[#ops + 1] = { 9910, 9990, kernel = update }
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9995, "step {n}" }, { 5, 9000, more.range or "DataParallel.forward" } },
    ops = ops,
    not_collected = more.not_collected,
  }
end

return {
  {
    name = "fires on a model that is broadcast each step",
    trace = steps(40),
    expect = {
      {
        subject = "replicas",
        message = "One process drives 2 GPUs and sends * tensors a step from one to the others*",
        advice = "Run one process per GPU: torchrun --nproc-per-node 2*",
      },
    },
  },
  {
    name = "fires on a model that is copied each step",
    trace = steps(60, { copies = true }),
    expect = { { subject = "replicas" } },
  },
  {
    name = "fires where no range says so",
    trace = steps(40, { range = "forward" }),
    expect = { { subject = "replicas", confidence = "medium" } },
  },
  { name = "is silent about inputs and outputs alone", trace = steps(3), expect = "clean" },
  {
    name = "is silent about one process a GPU",
    trace = steps(40, { ranks = true }),
    expect = "clean",
  },
  {
    name = "is silent about GPUs that do different work",
    trace = steps(40, { uneven = true }),
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(40),
    options = { share = 0.9 },
    expect = "clean",
  },
  {
    name = "needs kernels",
    trace = steps(40, { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  { name = "ddp: one process a GPU", fixture = "ddp", expect = "clean" },
  { name = "good: one GPU", fixture = "good", expect = "clean" },
}

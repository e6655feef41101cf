-- Six steps of 10 ms.
local gemm, update, message =
  "nvjet_tst_gemm", "multi_tensor_apply_kernel<FusedAdamMathFunctor>", "ncclDevKernel_SendRecv"

-- Two stages, `parts` micro-batches forward and then backward. A stage waits in its message until
-- the other one has come.
local function stages(parts, more)
  more = more or {}
  local ops = {}
  local function op(rank, from, to, kernel)
    ops[#ops + 1] = {
      from,
      to,
      kernel = kernel,
      rank = rank,
      stream = kernel == message and 8 or 7,
      launched = { #ops * 0.05 + 1, #ops * 0.05 + 1.02 },
    }
  end
  local slot = 9600 / (2 * (parts + 1))
  for m = 0, parts - 1 do
    local at = 100 + m * slot
    op(0, at, at + slot - 20, gemm)
    op(0, at + slot - 15, at + slot, message)
    op(1, m == 0 and 100 or at + slot - 15, at + slot, message)
    op(1, at + slot, at + 2 * slot - 20, gemm)
  end
  for m = 0, parts - 1 do
    local at = 100 + (parts + 1 + m) * slot
    op(1, at, at + slot - 20, gemm)
    op(1, at + slot - 15, at + slot, message)
    op(0, m == 0 and 100 + parts * slot + 5 or at + slot - 15, at + slot, message)
    if m < parts - 1 then op(0, at + slot, at + 2 * slot - 20, gemm) end
  end
  for rank = 0, 1 do
    op(rank, 9710, 9990, update)
  end
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9995, "step {n}", rank = more.rank }, more.range },
    ops = ops,
    not_collected = more.not_collected,
  }
end

-- One process whose GPUs work one after the other, or `together`.
local function layers(more)
  more = more or {}
  local ops = {}
  local function op(gpu, from, to, launched)
    ops[#ops + 1] =
      { from, to, kernel = gemm, gpu = gpu, launched = { launched, launched + 2 } }
  end
  op(0, 20, 4000, 1)
  ops[#ops + 1] =
    { 4000, 4050, copy = more.apart and "d2d" or "p2p", bytes = 67108864, launched = { 4, 6 } }
  op(1, more.together and 20 or 4055, 8000, 7)
  if not more.together then
    op(1, 8005, 9990, 12)
  else
    op(1, 8005, 9990, 12)
    op(0, 4055, 9980, 9)
  end
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9995, "step {n}" } },
    ops = ops,
    memory_use = more.memory_use,
  }
end

return {
  {
    name = "fires on two stages with one batch at a time",
    trace = stages(1),
    expect = {
      {
        severity = "warning",
        subject = "stages",
        message = "2 GPUs wait in * messages a step for each other's results*",
      },
    },
  },
  {
    name = "fires on two micro-batches",
    trace = stages(2),
    expect = { { subject = "stages" } },
  },
  { name = "is silent about many", trace = stages(16), expect = "clean" },
  {
    name = "is silent about an all-to-all",
    trace = stages(2, { range = { 0, 9990, "c10d::alltoall_base_" } }),
    expect = "clean",
  },
  {
    name = "fires on layers that are spread over the GPUs of one process",
    trace = layers(),
    expect = {
      {
        severity = "error",
        subject = "one process",
        message = "One process has spread its work over 2 GPUs, and two of them hardly ever work \z
          at once*",
      },
    },
  },
  {
    name = "says that it fits",
    trace = layers { memory_use = { { 0, bytes = 8 * 2 ^ 30 } } },
    expect = { { subject = "one process" } },
  },
  {
    name = "is silent about GPUs that work at once",
    trace = layers { together = true },
    expect = "clean",
  },
  {
    name = "is silent where nothing goes from one to the other",
    trace = layers { apart = true },
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = stages(2),
    options = { share = 0.9 },
    expect = "clean",
  },
  {
    name = "is silent about one GPU",
    trace = {
      repeats = { times = 6, every = 1000 },
      ranges = { { 0, 990, "step {n}" } },
      ops = { { 20, 980, kernel = gemm } },
    },
    expect = "clean",
  },
  {
    name = "cannot tell waiting from sending with one rank",
    trace = {
      repeats = { times = 6, every = 1000 },
      ranges = { { 0, 990, "step {n}" } },
      ops = { { 20, 480, kernel = gemm }, { 480, 980, kernel = message, stream = 8 } },
    },
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = stages(2, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "two-pipeline-2: measured 53.1 ms, and 49.5 with eight micro-batches",
    fixture = "two-pipeline-2",
    expect = { { severity = "warning", subject = "stages", worth = { 0.1, 0.2 } } },
  },
  { name = "two-experts: all-to-all", fixture = "two-experts", expect = "clean" },
  { name = "two-straggler", fixture = "two-straggler", expect = "clean" },
  { name = "ddp", fixture = "ddp", expect = "clean" },
}

local MiB = 1048576
-- Six steps of 20 ms: products, gradients that come down, `work` us of the host's, parameters that
-- go up.
local function steps(work, more)
  local ops = {
    { 20, 4000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
    {
      4000,
      4100,
      kernel = more and more.untrained and "stencil"
        or "nll_loss_backward_reduce_cuda_kernel_2d",
      launched = { 11, 15 },
    },
  }
  for i = 0, 3 do
    ops[#ops + 1] = {
      4100 + 200 * i,
      4290 + 200 * i,
      copy = "d2h",
      bytes = (8 + i) * MiB,
      to = "pinned",
      launched = { 20 + 5 * i, 24 + 5 * i },
    }
  end
  for i = 0, 3 do
    ops[#ops + 1] = {
      4920 + work + 200 * i,
      5110 + work + 200 * i,
      copy = "h2d",
      bytes = (8 + i) * MiB,
      from = "pinned",
      launched = { 4910 + work + 200 * i, 4915 + work + 200 * i },
    }
  end
  for _, op in ipairs(more and more.ops or {}) do
    ops[#ops + 1] = op
  end
  ops[#ops + 1] =
    { 5800 + work, 19990, kernel = "nvjet_tst_gemm", launched = { 5710 + work, 5715 + work } }
  local trace = {
    repeats = { times = 6, every = 20000 },
    ranges = {
      { 0, 19990, "training step {n}" },
      { 16, 19, "aten::nll_loss_backward" },
      { 0, 4, "Optimizer.step#AdamW.step" },
    },
    calls = { { 60, 4895, "cudaStreamSynchronize" } },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  trace.ops, trace.untrained = ops, nil
  return trace
end
local fused = {
  {
    19000,
    19400,
    kernel = "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>",
    launched = { 5720, 5725 },
  },
}
local norm = {
  { 4895, 4897, copy = "d2h", bytes = 4096, to = "pinned", launched = { 41, 45 } },
  { 13711, 13712, copy = "h2d", bytes = 4096, from = "pinned", launched = { 13701, 13705 } },
}

return {
  {
    name = "fires on gradients down, a stretch of the host's, parameters up",
    trace = steps(8000),
    replay = true,
    expect = {
      {
        severity = "error",
        subject = "optimizer",
        message = "38*MiB of gradients come down a step, the host works for 8.0* ms*",
      },
    },
  },
  {
    name = "fires where the last gradient is that of a norm, smaller than others",
    trace = steps(8000, { ops = norm }),
    expect = { { severity = "error", subject = "optimizer" } },
  },
  {
    name = "is silent about a loss that comes down last, and activations that come back after \z
      kernels",
    trace = steps(0, {
      ops = {
        { 4892, 4893, copy = "d2h", bytes = 4, to = "pinned", launched = { 41, 42 } },
        { 4895, 4918, kernel = "nvjet_tst_gemm", launched = { 4900, 4905 } },
      },
    }),
    expect = "clean",
  },
  {
    name = "is silent where the optimizer runs on the GPU",
    trace = steps(8000, { ops = fused }),
    expect = "clean",
  },
  {
    name = "is silent about activations, which come back after kernels",
    trace = steps(
      0,
      { ops = { { 4895, 4918, kernel = "nvjet_tst_gemm", launched = { 4900, 4905 } } } }
    ),
    expect = "clean",
  },
  {
    name = "is silent about a program that trains nothing",
    trace = steps(8000, { untrained = true, ranges = { { 0, 19990, "iteration {n}" } } }),
    expect = "clean",
  },
  {
    name = "is silent below its share",
    trace = steps(8000),
    options = { share = 0.9 },
    expect = "clean",
  },
  {
    name = "needs copies",
    trace = steps(8000, { not_collected = { "copies" } }),
    expect = "not checked",
  },
  { name = "good", fixture = "good", expect = "clean" },
  { name = "offload: activations", fixture = "offload", expect = "clean" },
  {
    name = "offload-pageoff: activations, through pageable memory",
    fixture = "offload-pageoff",
    expect = "clean",
  },
}

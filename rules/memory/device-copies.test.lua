-- Six steps of 10 ms: a product, and a copy of `time` us.
local cat = "void at::native::(anonymous namespace)::CatArrayBatchedCopy_contig<...>"
local clone =
  "void at::native::elementwise_kernel<128, 4, void \z
    at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase \z
    &)::...>>"
local cast =
  "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIter\z
    atorBase &)::..., LoadWithCast<1>>"
local function steps(copy, time, more)
  copy[1], copy[2], copy.launched = 9950 - time, 9950, { 20, 25 }
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    ops = { { 20, 9950 - time, kernel = "nvjet_tst_gemm", launched = { 5, 10 } }, copy },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
-- The same in PyTorch, where autograd's thread launches a gradient's kernel and, if it is told, the
-- copy.
local function with_backward(thread)
  local trace = steps({ kernel = cat, thread = thread }, 2000)
  trace.ops[1].thread = "main"
  trace.ops[3] = {
    9950,
    9980,
    kernel = "void at::native::layer_norm_grad_input_Backward<float>(int)",
    launched = { 30, 35 },
    thread = "autograd",
  }
  return trace
end

-- A copy of 1 ms before statistics of groups, if `norm` are these, and one after what follows them.
local function around(norm)
  local ops, at = { { 20, 3000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } } }, 3000
  for _, kernel in ipairs {
    { clone, 1000 },
    { norm, 300 },
    { "void at::native::(anonymous namespace)::ComputeFusedParamsCUDAKernel<float>(long)", 2 },
    { "void at::native::elementwise_kernel<128, 4, GroupNormKernelImplInternal<float>>", 500 },
    { "void at::native::vectorized_elementwise_kernel<4, at::native::silu_kernel>", 500 },
    { clone, 1000 },
    { "nvjet_tst_gemm", 3600 },
  } do
    ops[#ops + 1] = { at, at + kernel[2], kernel = kernel[1], launched = { 20, 25 } }
    at = at + kernel[2]
  end
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    ops = ops,
  }
end

return {
  {
    name = "names group normalization where that asks for the copies",
    trace = around "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>(long)",
    expect = {
      {
        severity = "warning",
        advice = "Use a group normalization that reads channels_last: 100 % of this are copies*",
      },
    },
  },
  {
    name = "does not where another norm, which reads any rows, stands there",
    trace = around "void at::native::(anonymous \z
      namespace)::vectorized_layer_norm_kernel<float>(int)",
    expect = {
      { severity = "warning", advice = "Avoid .contiguous(), .clone() and .copy_()*" },
    },
  },
  {
    name = "says that PyTorch makes copies in backward itself",
    trace = with_backward "autograd",
    expect = { { severity = "warning", advice = "Compile the model: torch.compile(model). *" } },
  },
  {
    name = "leaves those of forward to whoever joins there",
    trace = with_backward "main",
    expect = { { advice = "Write into slices of one tensor*" } },
  },
  {
    name = "fires on plain copies",
    trace = steps({ copy = "d2d", bytes = 1e9 }, 2000),
    expect = {
      {
        severity = "warning",
        subject = "copies on the device",
        confidence = "medium",
        message = "1 copy on the device a step computes nothing and takes 2.00 ms of each 10.0 ms \z
          step (20 %): plain copies 20 %.",
        worth = { 0.19, 0.21 },
      },
    },
  },
  {
    name = "fires on concatenations",
    trace = steps({ kernel = cat }, 2000),
    expect = { { severity = "warning", message = "*: concatenations 20 %." } },
  },
  {
    name = "fires on clones",
    trace = steps({ kernel = clone }, 2000),
    expect = {
      { severity = "warning", message = "*: copies to another layout, or clones 20 %." },
    },
  },
  {
    name = "names the operator",
    trace = steps(
      { kernel = clone },
      2000,
      { ranges = { { 0, 9990, "step {n}" }, { 18, 30, "aten::contiguous" } } }
    ),
    expect = { { message = "*Most are launched in 'aten::contiguous'." } },
  },

  {
    name = "leaves what is kept and joined before attention to kv-concat",
    trace = {
      repeats = { times = 10, every = 1000 },
      ranges = { { 0, 990, "step {n}" } },
      ops = {
        { 10, 110, kernel = "nvjet_tst_gemm", launched = { 2, 4 } },
        { 110, 310, kernel = cat, launched = { 4, 5 } },
        { 310, 510, kernel = cat, launched = { 5, 6 } },
        { 510, 560, kernel = "void pytorch_flash::flash_fwd_kernel<...>", launched = { 6, 7 } },
      },
    },
    expect = "clean",
  },

  { name = "is silent about casts", trace = steps({ kernel = cast }, 2000), expect = "clean" },
  {
    name = "is silent about what healthy training has",
    trace = steps({ kernel = cat }, 600),
    expect = "clean",
  },
  {
    name = "is silent about copies over the link",
    trace = steps({ copy = "h2d", bytes = 1e8 }, 2000),
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps({ copy = "d2d", bytes = 1e9 }, 2000),
    options = { share = 0.3 },
    expect = "clean",
  },
  {
    name = "is silent with a threshold of zero and no copy",
    trace = { ops = { { 20, 900, kernel = "nvjet_tst_gemm" } } },
    options = { share = 0 },
    expect = "clean",
  },

  {
    name = "needs kernels",
    trace = steps({ copy = "d2d", bytes = 1e9 }, 2000, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  { name = "eager", fixture = "eager", expect = "clean" },
  {
    name = "two-fsdp-no-prefetch: weights gathered into buffers",
    fixture = "two-fsdp-no-prefetch",
    expect = "clean",
  },
  { name = "launchbound", fixture = "launchbound", expect = "clean" },
}

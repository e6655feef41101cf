-- Six steps of 10 ms: attention takes `time` us in two kernels, the rest a product.
local gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local function forward(type)
  return "fmha_cutlassF_"
    .. type
    .. "_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t, \z
      cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)"
end
local function backward(type)
  return "fmha_cutlassB_"
    .. type
    .. "_aligned_64x64_k64_sm80(PyTorchMemEffAttention::AttentionBackwardKernel<cutlass::bfloat16_\z
      t, cutlass::arch::Sm80, true, false, false, 64, 64, 64, false>::Params)"
end
local flash =
  "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, \z
    cutlass::bfloat16_t> >(pytorch_flash::Flash_fwd_params)"
local scale =
  "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, \z
    float, at::native::binary_internal::MulFunctor<float> > >(int)"
local softmax =
  "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, \z
    false, false>(c10::BFloat16*)"
local softmax_backward =
  "void (anonymous namespace)::softmax_warp_backward<c10::BFloat16, c10::BFloat16, float, 10, \z
    false, false>(c10::BFloat16*)"
local a100 = { name = "NVIDIA A100-SXM4-80GB", compute = 8.0, sm_count = 108, memory_gib = 80 }
local t4 = { name = "Tesla T4", compute = 7.5, sm_count = 40, memory_gib = 16 }

local function steps(first, second, time, more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    ops = {
      { 20, 20 + time / 2, kernel = first, launched = { 5, 10 } },
      { 20 + time / 2, 20 + time, kernel = second, launched = { 12, 15 } },
      { 20 + time, 10000, kernel = gemm, launched = { 15, 18 } },
    },
  }
  for key, value in pairs(more or {}) do
    if key == "range" then
      table.insert(trace.ranges, { 4, 11, value })
    else
      trace[key] = value
    end
  end
  return trace
end
local function efficient(time, more) return steps(forward "bf16", backward "bf16", time, more) end
local function math_path(range, name)
  local kernels, ops =
    { gemm, scale, softmax, gemm, scale, gemm, gemm, scale, softmax_backward, gemm, gemm }, {}
  for i, kernel in ipairs(kernels) do
    ops[i] = {
      20 + (i - 1) * 400,
      20 + i * 400,
      kernel = name and kernel == gemm and name or kernel,
      launched = { i * 10, i * 10 + 5 },
    }
  end
  ops[#ops + 1] = {
    20 + #kernels * 400,
    10000,
    kernel = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, \z
      float, false>(int, float)",
    launched = { 300, 305 },
  }
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" }, { 5, 48, range } },
    ops = ops,
  }
end

return {
  {
    name = "fires on memory-efficient attention in BF16",
    trace = efficient(4000),
    expect = {
      {
        severity = "error",
        subject = "memory-efficient attention",
        confidence = "medium",
        message = "Attention in BF16 runs on CUTLASS's memory-efficient kernels: 2 of them take \z
          4.00 ms of each 10.0 ms step (40 %). This GPU can run flash and cuDNN attention, which \z
          take about 0.45 of that.",
        worth = { 0.215, 0.225 },
      },
    },
  },
  {
    name = "fires in FP16",
    trace = steps(forward "f16", backward "f16", 1000),
    expect = { { severity = "warning", message = "Attention in FP16*" } },
  },
  {
    name = "promises less before Hopper",
    trace = efficient(4000, { device = a100 }),
    expect = {
      {
        severity = "warning",
        message = "*can run flash attention, which takes about 0.60 of that.",
        worth = { 0.155, 0.165 },
      },
    },
  },
  {
    name = "is sure where the operator's shapes show no mask",
    trace = efficient(4000, {
      range = "aten::_scaled_dot_product_efficient_attention, sizes = [[8, 16, 1024, 64], [8, 16, \z
        1024, 64], [8, 16, 1024, 64], [], [], [], [], []]",
    }),
    expect = { { severity = "error", confidence = "high" } },
  },
  {
    name = "only notes it where a mask is passed",
    trace = efficient(4000, {
      range = "aten::_scaled_dot_product_efficient_attention, sizes = [[8, 16, 1024, 64], [8, 16, \z
        1024, 64], [8, 16, 1024, 64], [8, 16, 1024, 1024], [], []]",
    }),
    expect = {
      {
        severity = "note",
        confidence = "low",
        message = "*They pass a mask or bias as a tensor*",
      },
    },
  },
  {
    name = "fires on the math path, backward included",
    trace = math_path "aten::_scaled_dot_product_attention_math, sizes = [[8, 16, 1024, 64], [8, \z
      16, 1024, 64], [8, 16, 1024, 64], [], [], [], [], []]",
    expect = {
      {
        severity = "error",
        subject = "math attention",
        confidence = "high",
        message = "The framework's attention fell back to its math path once a step*",
      },
    },
  },
  {
    name = "a step of 18.95 ms measured 13.44 on flash",
    replay = true,
    trace = {
      repeats = { times = 6, every = 18950 },
      ranges = { { 0, 18949, "step {n}" } },
      calls = { { 12, 18948, "cudaDeviceSynchronize" } },
      ops = {
        { 20, 3000, kernel = forward "bf16", launched = { 1, 3 } },
        { 3000, 10000, kernel = gemm, launched = { 3, 5 } },
        { 10000, 15900, kernel = backward "bf16", launched = { 5, 7 } },
        { 15900, 18945, kernel = gemm, launched = { 7, 9 } },
      },
    },
    expect = { { severity = "error", worth = { 0.25, 0.32 } } },
  },

  {
    name = "is silent about flash attention",
    trace = steps(flash, flash, 4000),
    expect = "clean",
  },
  {
    name = "is silent about cuDNN's",
    trace = steps(
      "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_128x128x128_4x1x1_cga1x1\z
        x1_kernel0_0",
      "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7_64x128x128_kernel0_0",
      4000
    ),
    expect = "clean",
  },
  {
    name = "is silent about FP32, which only these take",
    trace = steps(forward "f32", backward "f32", 4000),
    expect = "clean",
  },
  {
    name = "is silent about heads that flash may not take",
    trace = steps(
      "fmha_cutlassF_bf16_aligned_32x128_gmem_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass\z
        ::bfloat16_t>::Params)",
      "fmha_cutlassB_bf16_aligned_64x64_k65536_sm80(PyTorchMemEffAttention::AttentionBackwardKerne\z
        l<cutlass::bfloat16_t>::Params)",
      4000
    ),
    expect = "clean",
  },
  { name = "is silent about 4 %", trace = efficient(400), expect = "clean" },
  {
    name = "is silent before Ampere, which has no flash attention",
    trace = efficient(4000, { device = t4 }),
    expect = "clean",
  },
  {
    name = "is silent about the math path in FP32",
    trace = math_path("aten::_scaled_dot_product_attention_math", "ampere_sgemm_128x64_tn"),
    expect = "clean",
  },
  {
    name = "leaves attention written by hand to another rule",
    trace = math_path "MultiHeadAttention",
    expect = "not checked",
  },

  {
    name = "needs to know the GPU",
    trace = efficient(4000, { device = { name = "", compute = 0, sm_count = 0 } }),
    expect = "not checked",
  },
  { name = "needs attention", trace = steps(gemm, gemm, 4000), expect = "not checked" },
  {
    name = "needs kernels",
    trace = efficient(4000, { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = steps(
      gemm,
      gemm,
      4000,
      { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = flash } } }
    ),
    expect = "not checked",
  },

  { name = "good: cuDNN's", fixture = "good", expect = "clean" },
  { name = "tf32: FP32 data", fixture = "tf32", expect = "clean" },
  { name = "fp32", fixture = "fp32", expect = "clean" },
}

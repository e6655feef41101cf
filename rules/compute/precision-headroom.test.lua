-- Six steps of 10 ms of kernels back to back, given as { name, us }; the rest is a product in BF16.
local bf16 = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local tf32 =
  "sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x256x32_warpgroupsize2x1x1_execute_segment_k_\z
    off_kernel__5x_cublas"
local convolution =
  "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_warps\z
    ize2x2x1_g1_tensor16x8x8_alignc4_execute_kernel__5x_cudnn"
local fp32 =
  "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_align\z
    c4_execute_kernel__5x_cublas"
local fp8 = "nvjet_sm90_qqtst_128x128_128x6_2x1_v_bz_coopA_algo2_TNT"
local attention =
  "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, \z
    cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)"
local flash =
  "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, \z
    cutlass::bfloat16_t> >(pytorch_flash::Flash_fwd_params)"
local add =
  "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, \z
    std::array<char*, 3ul> >(int, float)"
local embedding =
  "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, \z
    -2, true>(float)"
local rtx3070 =
  { name = "NVIDIA GeForce RTX 3070 Ti", compute = 8.6, sm_count = 48, memory_gib = 8 }
local half_convolution =
  "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_stage4_warp\z
    size2x2x1_g1_tensor16x8x16_kernel_cudnn"
local a100 = { name = "NVIDIA A100-SXM4-80GB", compute = 8.0, sm_count = 108, memory_gib = 80 }
local v100 = { name = "Tesla V100-SXM2-32GB", compute = 7.0, sm_count = 80, memory_gib = 32 }

local trains = { { 0, 9995, "step {n}" }, { 9990, 9994, "Optimizer.step#AdamW.step" } }

local function steps(kernels, more)
  local ops, at = {}, 20
  for _, k in ipairs(kernels) do
    ops[#ops + 1] = { at, at + k[2], kernel = k[1], launched = { 5, 10 } }
    at = at + k[2]
  end
  if at < 10000 then
    ops[#ops + 1] =
      { at, 10000, kernel = more and more.rest or embedding, launched = { 10, 15 } }
  end
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9995, "step {n}" } }, ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  trace.rest = nil
  return trace
end

return {
  {
    name = "promises nothing for products that leave most SMs empty",
    trace = {
      repeats = { times = 6, every = 10000 },
      ranges = { { 0, 9995, "step {n}" } },
      ops = {
        { 20, 5020, kernel = tf32, blocks = 64 },
        { 5020, 9990, kernel = embedding },
      },
    },
    expect = "clean",
  },
  -- TF32 attains 6.2 times FP32's rate, BF16 15.5 times: 60 % of 5 ms.
  {
    name = "fires on TF32",
    trace = steps { { tf32, 5000 } },
    expect = {
      {
        severity = "error",
        subject = "BF16",
        confidence = "medium",
        message = "GEMMs of FP32 data run in TF32: they take 5.00 ms of each 10.0 ms step*",
        worth = { 0.28, 0.32 },
      },
    },
  },
  {
    name = "fires on an A100",
    trace = steps({ { tf32, 5000 } }, { device = a100 }),
    expect = { { severity = "error", subject = "BF16", worth = { 0.25, 0.32 } } },
  },
  {
    name = "adds attention in FP32",
    trace = steps { { tf32, 2000 }, { attention, 3000 } },
    expect = {
      {
        severity = "error",
        message = "*and attention in FP32 3.0 ms of*",
        worth = { 0.37, 0.4 },
      },
    },
  },
  {
    name = "adds what memory bounds where the model is in BF16",
    trace = steps { { tf32, 4000 }, { add, 4000 } },
    expect = { { severity = "error", worth = { 0.4, 0.42 } } },
  },
  {
    name = "and less where it convolves",
    trace = steps { { convolution, 4000 }, { add, 4000 } },
    expect = { { severity = "error", worth = { 0.35, 0.37 } } },
  },
  {
    name = "but not in training, under autocast",
    trace = steps({ { tf32, 4000 }, { add, 4000 } }, { ranges = trains }),
    expect = { { severity = "error", worth = { 0.23, 0.25 } } },
  },
  {
    name = "nor where that convolves",
    trace = steps({ { convolution, 4000 }, { add, 4000 } }, { ranges = trains }),
    expect = { { severity = "error", worth = { 0.23, 0.25 } } },
  },
  {
    name = "is a warning at 12 %",
    trace = steps { { tf32, 2000 } },
    expect = { { severity = "warning", worth = { 0.11, 0.13 } } },
  },
  {
    name = "notes 6 %",
    trace = steps { { tf32, 1000 } },
    expect = { { severity = "note", subject = "BF16" } },
  },
  {
    name = "is a note below the team's own threshold",
    trace = steps { { tf32, 5000 } },
    options = { share = 0.5 },
    expect = { { severity = "note", subject = "BF16" } },
  },
  {
    name = "fires without steps, on the whole window",
    trace = { ops = { { 0, 5000, kernel = tf32 }, { 5000, 10000, kernel = embedding } } },
    expect = { { severity = "error" } },
  },

  {
    name = "leaves CUDA-core products to their own rule, and notes what is beyond",
    trace = steps { { fp32, 9000 } },
    expect = {
      {
        severity = "note",
        subject = "BF16",
        message = "Beyond TF32 there is BF16*",
        worth = { 0.08, 0.1 },
      },
    },
  },
  {
    name = "has nothing to add where TF32 gains nothing",
    trace = steps({ { fp32, 9000 } }, { device = rtx3070 }),
    expect = "clean",
  },
  {
    name = "has nothing to say of complex products",
    trace = steps {
      { "void cutlass::Kernel2<cutlass_80_simt_cgemm_64x64_8x3_nn_align1>(T1::Params)", 9000 },
    },
    expect = "clean",
  },
  {
    name = "leaves out what waits for pages of unified memory",
    trace = steps({ { tf32, 5000 } }, { gpu_faults = { { 20, 4720, address = 0 } } }),
    expect = "clean",
  },
  {
    name = "has nothing to add to a few of them",
    trace = steps { { fp32, 2000 }, { flash, 5000 } },
    expect = "clean",
  },

  {
    name = "notes FP8 on a Hopper, never more",
    trace = steps { { bf16, 9000 } },
    expect = {
      {
        severity = "note",
        subject = "FP8",
        message = "BF16 and FP16 GEMMs take 9.00 ms *(90 %)*",
        worth = { 0.29, 0.31 },
      },
    },
  },
  {
    name = "is silent about FP8 for convolutions",
    trace = steps { { half_convolution, 9000 } },
    expect = "clean",
  },
  {
    name = "and counts the products next to them",
    trace = steps { { half_convolution, 4000 }, { bf16, 5000 } },
    expect = {
      {
        severity = "note",
        subject = "FP8",
        message = "BF16 and FP16 GEMMs take 5.00 ms *",
        worth = { 0.16, 0.17 },
      },
    },
  },
  {
    name = "is silent about FP8 where products wait for pages",
    trace = steps({ { bf16, 9000 } }, { gpu_faults = { { 20, 8720, address = 0 } } }),
    expect = "clean",
  },
  {
    name = "is silent about FP8 on an A100, which has none",
    trace = steps({ { bf16, 9000 } }, { device = a100 }),
    expect = "clean",
  },
  {
    name = "is silent about FP8 where products are little of the step",
    trace = steps { { bf16, 2000 } },
    expect = "clean",
  },
  {
    name = "is silent about FP8 for small products",
    trace = { repeats = { times = 200, every = 50 }, ops = { { 5, 45, kernel = bf16 } } },
    expect = "clean",
  },
  {
    name = "is silent where FP8 is in use",
    trace = steps { { bf16, 5000 }, { fp8, 3000 } },
    expect = "clean",
  },
  {
    name = "is silent about attention in half precision",
    trace = steps { { bf16, 1000 }, { flash, 8000 } },
    expect = "clean",
  },
  { name = "is silent about 3 % of TF32", trace = steps { { tf32, 500 } }, expect = "clean" },
  {
    name = "is silent about a V100 in FP16",
    trace = steps(
      { { "volta_fp16_s884gemm_fp16_64x128_ldg8_f2f_nn", 9000 } },
      { device = v100 }
    ),
    expect = "clean",
  },
  {
    name = "takes any options",
    trace = steps { { tf32, 5000 } },
    options = {
      share = 0,
      note_share = 0,
      attention_speedup = 0,
      fp8_speedup = 0,
      memory_factor = 0,
      fp8_min_ns = 0,
    },
    expect = { { severity = "error" } },
  },

  {
    name = "has no say on a GPU without tensor cores",
    trace = steps(
      { { "maxwell_sgemm_128x64_nn", 5000 } },
      { device = { name = "NVIDIA GeForce GTX 1080 Ti", compute = 6.1, sm_count = 28 } }
    ),
    expect = "not checked",
  },
  {
    name = "nor where the report does not tell the GPU",
    trace = steps({ { tf32, 5000 } }, { device = { name = "", compute = 0, sm_count = 0 } }),
    expect = "not checked",
  },
  { name = "needs products", trace = steps { { add, 5000 } }, expect = "not checked" },
  {
    name = "needs what graphs hold",
    trace = steps({}, { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = add } } }),
    expect = "not checked",
  },
  {
    name = "judges the products beside them",
    trace = steps({}, { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = tf32 } } }),
    expect = { { severity = "note", subject = "BF16", worth = { 0.05, 0.07 } } },
  },
  {
    name = "needs kernels",
    trace = steps({ { tf32, 5000 } }, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "tf32",
    fixture = "tf32",
    expect = {
      {
        severity = "error",
        subject = "BF16",
        message = "*attention in FP32*",
        worth = { 0.48, 0.57 },
      },
    },
  },
  {
    name = "fp32: what is beyond TF32 is a note",
    fixture = "fp32",
    expect = { { severity = "note", subject = "BF16", message = "Beyond*" } },
  },
  {
    name = "good: FP8 is a note",
    fixture = "good",
    expect = { { severity = "note", subject = "FP8" } },
  },
  { name = "lora: FP32 adapters are the other rule's", fixture = "lora", expect = "clean" },
  { name = "starved", fixture = "starved", expect = "clean" },
  { name = "launchbound: small products", fixture = "launchbound", expect = "clean" },
  { name = "offload", fixture = "offload", expect = "clean" },
  {
    name = "compile-graphs: its kernels are hidden",
    fixture = "compile-graphs",
    expect = "not checked",
  },
}

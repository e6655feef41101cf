-- Six steps of 10 ms: `time` us in one kernel, the rest in a BF16 product.
local fp32 =
  "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_align\z
    c4_execute_kernel__5x_cublas"
local bf16 = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local function steps(kernel, time, more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    ops = {
      { 20, 20 + time, kernel = kernel, launched = { 5, 10 } },
      { 20 + time, 10000, kernel = more and more.rest or bf16, launched = { 10, 15 } },
    },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  trace.rest = nil
  return trace
end
local complex = "void cutlass::Kernel2<cutlass_80_simt_cgemm_64x64_8x3_nn_align1>(T1::Params)"
local softmax =
  "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, \z
    false>(float*, float const*, int, int, int, bool const*, int, bool)"
local function attention(between, time)
  return steps(fp32, 0, {
    ops = {
      { 20, 1020, kernel = fp32 },
      { 1020, 1520, kernel = between },
      { 1520, 2520, kernel = fp32 },
      { 2520, 2540, kernel = "a_norm" },
      { 2540, 3540, kernel = fp32 },
      { 3540, 4040, kernel = between },
      { 4040, 5040, kernel = fp32 },
      { 5040, 5060, kernel = "a_norm" },
      { 5060, 5060 + time, kernel = fp32 },
      { 5060 + time, 10000, kernel = "a_norm" },
    },
  })
end
local v100 = { name = "Tesla V100-SXM2-32GB", compute = 7.0, sm_count = 80, memory_gib = 32 }
local rtx3090 =
  { name = "NVIDIA GeForce RTX 3090", compute = 8.6, sm_count = 82, memory_gib = 24 }

-- The product of `fp32` in steps of 10 ms, of this many rows, whose weights take 4.6 ms to read.
local function rows(number)
  return steps(fp32, 5000, {
    ranges = {
      { 0, 9990, "step {n}" },
      { 0, 9, "aten::mm, sizes = [[" .. number .. ", 16384], [16384, 286720]]" },
    },
    calls = { { 20, 10002, "cudaDeviceSynchronize" } },
  })
end

return {
  {
    name = "is silent about a run that takes longer than all others of its shape together",
    trace = steps(fp32, 0, {
      ops = {
        { 20, 30, kernel = fp32 },
        { 30, 40, kernel = fp32 },
        { 40, 5000, kernel = fp32 },
        { 5000, 9900, kernel = bf16 },
      },
      repeats = { times = 1, every = 10000 },
      ranges = {},
    }),
    expect = "clean",
  },
  {
    name = "forecasts no more than the memory allows where a product reads weights for one row",
    replay = true,
    trace = rows(1),
    expect = { { severity = "note", worth = { 0.03, 0.05 } } },
  },
  {
    name = "forecasts no more than the operations allow",
    replay = true,
    trace = rows(155), -- 1.46 TFLOP at 318 TFLOP/s
    expect = { { severity = "note", worth = { 0.03, 0.05 } } },
  },
  {
    name = "fires on FP32 products of cuBLAS",
    trace = steps(fp32, 5000),
    expect = {
      {
        severity = "error",
        subject = "FP32 GEMMs",
        confidence = "high",
        message = "1 GEMM or convolution runs on CUDA cores a step: 5.00 ms of each 10.0 ms step \z
          (50 %), 50 % of all GEMM time. In TF32 this GPU's tensor cores are about 6.2 times as \z
          fast.",
        worth = { 0.41, 0.43 },
      },
    },
  },
  {
    name = "fires on FP32 products of CUTLASS",
    trace = steps(
      "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(T1::Params)",
      1000
    ),
    expect = { { severity = "warning" } },
  },
  {
    name = "fires on FP32 convolutions",
    trace = steps(
      "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, \z
        true>(int, int, int)",
      5000
    ),
    expect = { { severity = "error" } },
  },
  {
    name = "fires on FP16 data multiplied on CUDA cores",
    trace = steps("volta_fp16_sgemm_fp16_128x64_nn", 5000),
    expect = { { severity = "error" } },
  },
  {
    name = "fires on a V100, which has no TF32",
    trace = steps(
      fp32,
      5000,
      { device = v100, rest = "volta_fp16_s884gemm_fp16_64x128_ldg8_f2f_nn" }
    ),
    expect = {
      { severity = "error", message = "*In half precision this GPU's tensor cores are*" },
    },
  },
  {
    name = "promises nothing of TF32 on a GeForce, where it gains nothing",
    trace = steps("ampere_sgemm_128x64_tn", 5000, { device = rtx3090 }),
    expect = {
      {
        severity = "error",
        message = "*In half precision this GPU's tensor cores are*",
        worth = { 0.2, 0.3 },
      },
    },
  },
  {
    name = "says no factor where nothing is known of the GPU",
    trace = steps(fp32, 5000, { device = { name = "NVIDIA X1", compute = 9.0, sm_count = 0 } }),
    expect = {
      {
        severity = "error",
        confidence = "medium",
        message = "*of all GEMM time.",
        worth = { 0.49, 0.51 },
      },
    },
  },
  {
    name = "fires without steps, on the whole window",
    trace = { ops = { { 0, 5000, kernel = fp32 }, { 5000, 10000, kernel = bf16 } } },
    expect = { { severity = "error", worth = { 0.41, 0.43 } } },
  },

  {
    name = "follows from attention as separate kernels where it is most of that",
    trace = attention(softmax, 1000),
    expect = {
      {
        severity = "error",
        message = "*Most of it is attention that runs as separate kernels.",
      },
    },
  },
  {
    name = "stands on its own where other products take more",
    trace = attention(softmax, 4500),
    expect = { { severity = "error", message = "*times as fast." } },
  },
  {
    name = "stands on its own where no softmax is between",
    trace = attention(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
      1000
    ),
    expect = { { severity = "error", message = "*times as fast." } },
  },
  {
    name = "leaves out what waits for pages of unified memory",
    trace = steps(fp32, 5000, { gpu_faults = { { 20, 4020, address = 0 } } }),
    expect = {
      {
        severity = "warning",
        message = "*: 1.00 ms of each 10.0 ms step (10 %)*",
        worth = { 0.08, 0.09 },
      },
    },
  },
  {
    name = "and what waits for migrations",
    trace = steps(fp32, 0, {
      ops = {
        { 20, 5020, kernel = fp32 },
        { 20, 4970, copy = "um_h2d", bytes = 1e6, stream = 9 },
        { 5020, 10000, kernel = bf16 },
      },
    }),
    expect = "clean",
  },
  {
    name = "promises complex products TF32 alone",
    trace = steps(complex, 5000),
    expect = {
      { severity = "error", message = "*In TF32*Most of it multiplies complex numbers." },
    },
  },
  {
    name = "and nothing where TF32 gains nothing",
    trace = steps(complex, 5000, { device = rtx3090 }),
    expect = "clean",
  },
  {
    name = "nor on a V100, which has none",
    trace = steps(complex, 5000, { device = v100 }),
    expect = "clean",
  },

  {
    name = "notes 3 %",
    trace = steps(fp32, 300),
    expect = { { severity = "note", worth = { 0.02, 0.03 } } },
  },
  {
    name = "is a note below the team's own threshold",
    trace = steps(fp32, 5000),
    options = { share = 0.6 },
    expect = { { severity = "note" } },
  },

  { name = "is silent about 1 %", trace = steps(fp32, 100), expect = "clean" },
  { name = "is silent about BF16", trace = steps(bf16, 5000), expect = "clean" },
  {
    name = "is silent about TF32",
    trace = steps(
      "sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x256x32_warpgroupsize2x1x1_execute_segmen\z
        t_k_off_kernel__5x_cublas",
      5000
    ),
    expect = "clean",
  },
  {
    name = "is silent about FP8",
    trace = steps("nvjet_sm90_qqtst_128x128_128x6_2x1_v_bz_coopA_algo2_TNT", 5000),
    expect = "clean",
  },
  {
    name = "is silent about FP64, which no tensor core advice helps",
    trace = steps(
      "void cutlass::Kernel2<cutlass_80_simt_dgemm_64x128_8x4_nn_align1>(T1::Params)",
      5000
    ),
    expect = "clean",
  },
  {
    name = "is silent about vectors, which memory bounds",
    trace = steps(
      "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false, \z
        cublasGemvParamsEx<int> >(float)",
      5000
    ),
    expect = "clean",
  },
  {
    name = "is silent about FP32 work that is no product",
    trace = steps(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, \z
        std::array<char*, 3ul> >(int, float)",
      5000
    ),
    expect = "clean",
  },

  {
    name = "has no say on a GPU without tensor cores",
    trace = steps(
      "maxwell_sgemm_128x64_nn",
      5000,
      { device = { name = "NVIDIA GeForce GTX 1080 Ti", compute = 6.1, sm_count = 28 } }
    ),
    expect = "not checked",
  },
  {
    name = "nor on a Turing without them",
    trace = steps(
      "volta_sgemm_128x64_nn",
      5000,
      { device = { name = "NVIDIA GeForce GTX 1660", compute = 7.5, sm_count = 22 } }
    ),
    expect = "not checked",
  },
  {
    name = "nor where the report does not tell the GPU",
    trace = steps(fp32, 5000, { device = { name = "", compute = 0, sm_count = 0 } }),
    expect = "not checked",
  },
  {
    name = "nor on a GPU of another make",
    trace = steps(fp32, 5000, { device = { name = "AMD Instinct MI250X", compute = 9.0 } }),
    expect = "not checked",
  },
  {
    name = "needs products",
    trace = steps("my_stencil", 5000, { rest = "my_stencil" }),
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = steps(
      fp32,
      5000,
      { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = bf16 } } }
    ),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(fp32, 5000, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "fp32",
    fixture = "fp32",
    expect = {
      {
        severity = "error",
        subject = "FP32 GEMMs",
        confidence = "high",
        message = "*(86 %), 100 % of all GEMM time. In TF32*",
        worth = { 0.69, 0.75 },
      },
    },
  },
  {
    name = "lora: FP32 adapters",
    fixture = "lora",
    expect = {
      { severity = "warning", message = "238 *(13 %), 34 % of all*", worth = { 0.14, 0.18 } },
    },
  }, -- its casts go as well; measured 0.21
  { name = "tf32", fixture = "tf32", expect = "clean" },
  { name = "good", fixture = "good", expect = "clean" },
  {
    name = "compile-graphs: its kernels are hidden",
    fixture = "compile-graphs",
    expect = "not checked",
  },
  { name = "compile-graphsnode: they do", fixture = "compile-graphsnode", expect = "clean" },
}

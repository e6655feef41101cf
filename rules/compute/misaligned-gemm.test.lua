-- Six steps of 10 ms: `time` us in one kernel, the rest in an aligned product.
local aligned = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local align1 =
  "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>(T1::Params)"
local align2 =
  "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x4_nn_align2>(T1::Params)"
local function steps(kernel, time, more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    ops = {
      { 20, 20 + time, kernel = kernel, launched = { 5, 10 } },
      { 20 + time, 10000, kernel = more and more.rest or aligned, launched = { 10, 15 } },
    },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  trace.rest = nil
  return trace
end
-- The same for 5 ms, launched within a range that carries shapes.
local function shaped(kernel, range, thread)
  return steps(
    kernel,
    5000,
    { ranges = { { 0, 9990, "step {n}" }, { 4, 11, range, thread = thread } } }
  )
end
-- Kernels of `us` each, the last one for the rest of the step.
local attention =
  "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, \z
    false, false>(c10::BFloat16*)"
local loss =
  "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, \z
    at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*)"
local cast =
  "void at::native::vectorized_elementwise_kernel<8, \z
    at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
local norm =
  "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, \z
    false>(int, float)"
local function among(kernels, us)
  local ops = {}
  for i, kernel in ipairs(kernels) do
    ops[i] = { 20 + (i - 1) * us, i == #kernels and 10000 or 20 + i * us, kernel = kernel }
  end
  return steps(align1, 5000, { ops = ops })
end
local a100 = { name = "NVIDIA A100-SXM4-80GB", compute = 8.0, sm_count = 108, memory_gib = 80 }

return {
  {
    name = "fires on align1",
    trace = steps(align1, 5000),
    expect = {
      {
        severity = "error",
        subject = "unaligned GEMMs",
        confidence = "medium",
        message = "1 tensor-core GEMM works*it loads one element at a time and takes 5.00 ms of \z
          each 10.0 ms step (50 %), 50 % of all GEMM time. Aligned, they would be about 5 times \z
          as fast.",
        worth = { 0.39, 0.41 },
      },
    },
  },
  {
    name = "fires on align2",
    trace = steps(align2, 1000),
    expect = {
      {
        severity = "warning",
        message = "*loads two elements at a time*",
        worth = { 0.079, 0.081 },
      },
    },
  },
  {
    name = "fires on cuBLAS's own",
    trace = steps(
      "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8\z
        x16_aligna2_alignc2_execute_kernel__5x_cublas",
      1000
    ),
    expect = { { severity = "warning", message = "*two elements*" } },
  },
  {
    name = "fires on TF32",
    trace = steps(
      "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nt_align1>(T1::Params)",
      1000
    ),
    expect = { { severity = "warning" } },
  },
  {
    name = "promises less before Hopper",
    trace = steps(align1, 5000, { device = a100 }),
    expect = {
      { severity = "error", message = "*about 2 times as fast.", worth = { 0.24, 0.26 } },
    },
  },
  {
    name = "promises least where the GPU is unknown",
    trace = steps(align1, 5000, { device = { name = "", compute = 0, sm_count = 0 } }),
    expect = { { worth = { 0.24, 0.26 } } },
  },
  {
    name = "fires without steps, on the whole window",
    trace = { ops = { { 0, 5000, kernel = align1 }, { 5000, 10000, kernel = aligned } } },
    expect = { { severity = "error" } },
  },
  {
    name = "leaves out what waits for pages of unified memory",
    trace = steps(align1, 5000, { gpu_faults = { { 20, 5000, address = 0 } } }),
    expect = "clean",
  },
  { name = "notes 3 %", trace = steps(align1, 300), expect = { { severity = "note" } } },
  {
    name = "is a note below the team's own threshold",
    trace = steps(align1, 5000),
    options = { share = 0.6 },
    expect = { { severity = "note" } },
  },

  {
    name = "is sure of it by shapes, and names the dimension",
    trace = shaped(align1, "aten::mm, sizes = [[8192, 768], [768, 50257]]"),
    expect = {
      {
        severity = "error",
        confidence = "high",
        message = "*the longest of them 50257 elements long ([8192, 768] x [768, 50257])*about 5 \z
          times*",
      },
    },
  },
  {
    name = "finds by shapes what no name tells, and promises less",
    trace = shaped(
      "void my_tensorop_bf16_gemm_kernel()",
      "aten::mm, sizes = [[8192, 768], [768, 50257]]"
    ),
    expect = {
      { severity = "error", confidence = "high", message = "*by their shapes*about 2 times*" },
    },
  },
  {
    name = "sees by strides that the odd dimension is that of a saved operand",
    trace = shaped(
      align1,
      "aten::mm, sizes = [[50257, 8192], [8192, 768]], strides = [[1, 50257], [768, 1]]"
    ),
    expect = {
      { confidence = "high", message = "*50257 elements long ([50257, 8192] x [8192, 768])*" },
    },
  },
  {
    name = "asks the name where sizes do not tell",
    trace = shaped(align1, "aten::mm, sizes = [[8191, 768], [768, 4096]]"),
    expect = { { confidence = "medium" } },
  },
  {
    name = "believes strides that an odd number of tokens harms nothing",
    trace = shaped(
      align1,
      "aten::mm, sizes = [[8191, 768], [768, 4096]], strides = [[768, 1], [1, 768]]"
    ),
    expect = "clean",
  },
  {
    name = "is silent about aligned shapes, whatever the name says",
    trace = shaped(align1, "aten::addmm, sizes = [[4096], [8192, 768], [768, 4096], [], []]"),
    expect = "clean",
  },
  {
    name = "is silent about kernels that load eight at a time anyway",
    trace = shaped(aligned, "aten::mm, sizes = [[8192, 768], [768, 50257]]"),
    expect = "clean",
  },
  {
    name = "asks TF32 for multiples of 4 only",
    trace = shaped(
      "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nt_align1>(T1::Params)",
      "aten::mm, sizes = [[8192, 768], [768, 1004]]"
    ),
    expect = "clean",
  },
  {
    name = "is not led by shapes of another thread",
    trace = shaped(align1, "aten::mm, sizes = [[8192, 768], [768, 4096]]", "other"),
    expect = { { confidence = "medium" } },
  },

  {
    name = "stands behind attention as separate kernels, which needs no padding once fused",
    trace = among({ align1, attention, align1, norm, align1, attention, align1, norm }, 500),
    expect = {
      {
        severity = "warning",
        message = "4 tensor-core GEMMs*",
        advice = "Use fused attention, which needs no padding*",
      },
    },
  },
  {
    name = "names the vocabulary where the loss is beside",
    trace = among({ align1, cast, loss, cast, align1, align1, norm }, 500),
    expect = { { advice = "Pad the vocabulary or number of classes*" } },
  },
  { name = "is silent about 1 %", trace = steps(align1, 100), expect = "clean" },
  { name = "is silent about aligned products", trace = steps(aligned, 5000), expect = "clean" },
  {
    name = "is silent about align8",
    trace = steps(
      "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x3_nt_align8>(\z
        T1::Params)",
      5000
    ),
    expect = "clean",
  },
  {
    name = "is silent about align16, which FP8 takes",
    trace = steps(
      "void \z
        cutlass::Kernel2<cutlass_89_tensorop_e4m3_gemm_e4m3_128x64_64x3_tn_align16>(T1::Params)",
      5000
    ),
    expect = "clean",
  },
  {
    name = "is silent about TF32 that loads four at a time",
    trace = steps(
      "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8\z
        _aligna4_alignc4_execute_kernel__5x_cublas",
      5000
    ),
    expect = "clean",
  },
  {
    name = "is silent about CUDA cores, which align1 anyway",
    trace = steps(
      "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(T1::Params)",
      5000
    ),
    expect = "clean",
  },
  {
    name = "is silent about what is no product",
    trace = steps(
      "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<int, unsigned \z
        int, 1, 128, 1>(int)",
      5000
    ),
    expect = "clean",
  },
  {
    name = "takes any options",
    trace = steps(aligned, 5000),
    options = { share = 0, note_share = 0, speedup = 0, hopper_speedup = 0 },
    expect = "clean",
  },

  {
    name = "needs products",
    trace = steps("my_stencil", 5000, { rest = "my_stencil" }),
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = steps(
      align1,
      5000,
      { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = aligned } } }
    ),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(align1, 5000, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  { name = "fp32: its align1 is on CUDA cores", fixture = "fp32", expect = "clean" },
  { name = "tf32: a few microseconds on CUDA cores", fixture = "tf32", expect = "clean" },
  { name = "lora", fixture = "lora", expect = "clean" },
  {
    name = "compile-graphs: its kernels are hidden",
    fixture = "compile-graphs",
    expect = "not checked",
  },
}

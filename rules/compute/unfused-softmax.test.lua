-- Six steps of 10 ms of kernels back to back, 500 us each unless given as { name, us, blocks }.
local gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local scale =
  "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, \z
    float, at::native::binary_internal::MulFunctor<float> > >(int)"
local cast =
  "void at::native::vectorized_elementwise_kernel<8, \z
    at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase &)>(int)"
local dropout =
  "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, \z
    unsigned int, 1, 8, bool>(int)"
local softmax =
  "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, \z
    false>(float*, float const*, int, int, int, bool const*, int, bool)"
local backward =
  "void (anonymous namespace)::softmax_warp_backward<float, float, float, 10, false, \z
    false>(float*, float const*, float const*, int, int, int, bool const*)"
local loss =
  "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float, \z
    at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*)"
local maximum =
  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MaxOps<float>, \z
    unsigned int, float, 4, 4> >(float)"
local sum =
  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, \z
    at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float> >, unsigned \z
    int, float, 4, 4> >(float)"
local subtract =
  "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, \z
    std::array<char*, 3ul> >(int, float)"
local exponential =
  "void at::native::vectorized_elementwise_kernel<4, \z
    at::native::exp_kernel_cuda(at::TensorIteratorBase&), std::array<char*, 2ul> >(int)"
local divide =
  "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, \z
    float, at::native::binary_internal::DivFunctor<float> > >(int)"
local topk = "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(float)"
local norm =
  "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, \z
    false>(int, float)"

local function steps(kernels, more)
  local ops, at = {}, 20
  for _, k in ipairs(kernels) do
    local name, us = type(k) == "table" and k[1] or k, type(k) == "table" and k[2] or 500
    ops[#ops + 1] = { at, at + us, kernel = name, blocks = type(k) == "table" and k[3] or 1024 }
    at = at + us
  end
  if at < 10000 then ops[#ops + 1] = { at, 10000, kernel = norm } end
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9995, "step {n}" } }, ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
-- The kernels in two layers, 250 us each.
local function twice(kernels)
  local list = {}
  for _ = 1, 2 do
    for _, name in ipairs(kernels) do
      list[#list + 1] = { name, 250 }
    end
    list[#list + 1] = { norm, 10 }
  end
  return list
end
local forward = { gemm, scale, softmax, cast, gemm }
-- The same, launched in time and waited for at the end of the step.
local align1 =
  "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>(T1::Params)"
local function odd(product)
  local trace = steps(twice { product, scale, softmax, cast, product })
  for i, op in ipairs(trace.ops) do
    op.launched = { i, i + 0.5 }
  end
  trace.repeats.every, trace.ranges[1][2] = 3000, 2999
  trace.ops[#trace.ops][2] = 2990
  trace.calls = { { 16, 2995, "cudaDeviceSynchronize" } }
  return trace
end
local found =
  "Attention runs as separate kernels once a step*take 1.50 ms of that (15 % of the step)*"

return {
  -- 1.5 ms between the products, and of the products' own two times 0.5 ms 58 % is to be won:
  -- 20.8 %.
  {
    name = "fires on softmax between two products",
    trace = steps(twice(forward)),
    expect = {
      {
        severity = "error",
        subject = "attention",
        confidence = "high",
        message = "Attention runs as separate kernels 2 times a step*take 1.50 ms of that (15 % \z
          of the step)*",
        worth = { 0.206, 0.21 },
      },
    },
  },
  {
    name = "fires with dropout and a mask",
    trace = steps(twice { gemm, scale, subtract, softmax, dropout, cast, gemm }),
    expect = { { severity = "error", message = "*2 times*(25 % *", worth = { 0.29, 0.31 } } },
  },
  {
    name = "fires on the backward pass, which has two products on either side",
    trace = steps(twice { gemm, gemm, dropout, backward, scale, gemm, gemm }),
    expect = { { severity = "error", message = "*2 times*(15 % *", worth = { 0.26, 0.27 } } },
  },
  {
    name = "fires on softmax by hand",
    trace = steps(
      twice { gemm, scale, maximum, subtract, exponential, sum, divide, cast, gemm }
    ),
    expect = { { severity = "error", message = "*2 times*(35 % *" } },
  },
  {
    name = "fires on Megatron's fused softmax, which is not fused attention",
    trace = steps {
      gemm,
      "void (anonymous namespace)::scaled_upper_triang_masked_softmax_warp_forward<c10::BFloat16, \z
        c10::BFloat16, float, 11>(c10::BFloat16*)",
      gemm,
    },
    options = { least_chains = 1 },
    expect = { { severity = "warning", message = "*(5.0 % *" } },
  },
  {
    name = "fires on FP32 products too",
    trace = steps { "ampere_sgemm_128x64_tn", scale, softmax, "ampere_sgemm_128x64_nn" },
    options = { least_chains = 1 },
    expect = { { severity = "warning" } },
  },
  {
    name = "fires across a copy within the device",
    trace = steps({}, {
      ops = {
        { 20, 1000, kernel = gemm },
        { 1000, 1500, copy = "d2d", bytes = 1e6 },
        { 1500, 2000, kernel = softmax },
        { 2000, 2500, set = true },
        { 2500, 3000, kernel = gemm },
        { 3000, 10000, kernel = norm },
      },
    }),
    options = { least_chains = 1 },
    expect = { { message = found } },
  },
  {
    name = "is not misled by what other streams do meanwhile",
    trace = steps({}, {
      ops = {
        { 20, 1000, kernel = gemm },
        { 1000, 1500, kernel = scale },
        { 1200, 1400, kernel = norm, stream = 8 },
        { 1500, 2000, kernel = softmax },
        { 2000, 2500, kernel = cast },
        { 2400, 2450, kernel = topk, stream = 8 },
        { 2500, 3000, kernel = gemm },
        { 3000, 10000, kernel = norm },
      },
    }),
    options = { least_chains = 1 },
    expect = { { message = found } },
  },
  {
    name = "counts two attentions",
    trace = steps { gemm, scale, softmax, gemm, norm, gemm, scale, softmax, gemm },
    expect = { { severity = "error", message = "*2 times a step: *(20 % *" } },
  },

  {
    name = "adds forward and backward of a single layer",
    trace = steps { gemm, scale, softmax, gemm, norm, gemm, backward, scale, gemm },
    expect = { { severity = "error", message = "*once a step, forward and backward: *" } },
  },
  {
    name = "only notes one chain where there are no steps",
    trace = {
      ops = {
        { 0, 1000, kernel = gemm },
        { 1000, 2000, kernel = softmax },
        { 2000, 3000, kernel = gemm },
      },
    },
    expect = { { severity = "note", confidence = "medium" } },
  },
  {
    name = "leaves out what waits for pages of unified memory",
    trace = steps(twice(forward), { gpu_faults = { { 20, 2540, address = 0 } } }),
    expect = "clean",
  },

  {
    name = "wins more of products of an odd length, which padding would cure as well",
    replay = true,
    trace = odd(align1),
    expect = { { severity = "error", worth = { 0.79, 0.81 } } },
  },
  {
    name = "than of those of an even one",
    replay = true,
    trace = odd(gemm),
    expect = { { severity = "error", worth = { 0.69, 0.7 } } },
  },
  {
    name = "fires on the math path of scaled_dot_product_attention, which attention-backend names",
    trace = steps(twice(forward), {
      ranges = {
        { 0, 9995, "step {n}" },
        { 30, 3000, "aten::_scaled_dot_product_attention_math" },
      },
      ops = (function()
        local ops = steps(twice(forward)).ops
        for i, op in ipairs(ops) do
          op.launched = { 40 + i * 5, 42 + i * 5 }
        end
        return ops
      end)(),
    }),
    expect = { { severity = "error", subject = "attention" } },
  },

  {
    name = "only notes a gate that mixes experts, once a step",
    trace = steps { gemm, softmax, scale, gemm },
    expect = {
      {
        severity = "note",
        confidence = "medium",
        message = "Softmax runs as a separate kernel*once*",
        worth = { 0.09, 0.11 },
      },
    },
  },
  {
    name = "only notes two of different size",
    trace = steps { gemm, { softmax, 1000, 8 }, gemm, norm, gemm, softmax, gemm },
    expect = { { severity = "note", confidence = "medium", worth = { 0.14, 0.16 } } },
  },
  {
    name = "only notes a softmax by hand that does not repeat",
    trace = steps { gemm, maximum, subtract, exponential, sum, divide, gemm },
    expect = { { severity = "note", confidence = "medium" } },
  },
  {
    name = "is silent about a loss on probabilities, with its backward behind it",
    trace = steps { gemm, softmax, scale, subtract, sum, scale, backward, gemm, gemm },
    expect = "clean",
  },
  {
    name = "even where gradients are accumulated",
    trace = steps {
      gemm,
      softmax,
      scale,
      sum,
      backward,
      gemm,
      gemm,
      norm,
      gemm,
      softmax,
      scale,
      sum,
      backward,
      gemm,
      gemm,
    },
    expect = "clean",
  },
  {
    name = "notes 3 %",
    trace = steps { { gemm, 100 }, { scale, 100 }, { softmax, 200 }, { gemm, 100 } },
    expect = { { severity = "note" } },
  },
  {
    name = "is a note below the team's own threshold",
    trace = steps(forward),
    options = { share = 0.2 },
    expect = { { severity = "note" } },
  },
  {
    name = "is silent about 1 %",
    trace = steps { { gemm, 100 }, { softmax, 100 }, { gemm, 100 } },
    expect = "clean",
  },

  {
    name = "is silent about the loss",
    trace = steps { gemm, cast, loss, scale, gemm },
    expect = "clean",
  },
  {
    name = "is silent about a router's softmax with its choice behind it",
    trace = steps { gemm, softmax, topk, scale, gemm },
    expect = "clean",
  },
  {
    name = "is silent about a router's own kernel",
    trace = steps {
      gemm,
      "void vllm::moe::topkGatingSoftmax<8, 64, 4, 16, int>(float const*, bool const*, float*, \z
        int, int*, int*, int, int, int)",
      gemm,
    },
    expect = "clean",
  },
  {
    name = "is silent about a softmax after the last product",
    trace = steps { gemm, scale, softmax, cast, norm },
    expect = "clean",
  },
  {
    name = "is silent where a norm stands between",
    trace = steps { gemm, scale, softmax, norm, gemm },
    expect = "clean",
  },
  {
    name = "is silent where the next product is far away",
    trace = steps({
      { gemm, 100 },
      softmax,
      { scale, 100 },
      { scale, 100 },
      { scale, 100 },
      { gemm, 100 },
    }),
    options = { most = 2 },
    expect = "clean",
  },
  {
    name = "is silent about products on another stream",
    trace = steps({}, {
      ops = {
        { 20, 1000, kernel = gemm },
        { 1000, 1500, kernel = softmax, stream = 8 },
        { 1500, 3000, kernel = gemm },
        { 3000, 10000, kernel = norm },
      },
    }),
    expect = "clean",
  },
  {
    name = "is silent about an exponential without maximum and sum",
    trace = steps { gemm, scale, exponential, divide, gemm },
    expect = "clean",
  },
  {
    name = "is silent about fused attention",
    trace = steps {
      gemm,
      "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, \z
        false, cutlass::bfloat16_t> >(pytorch_flash::Flash_fwd_params)",
      gemm,
    },
    expect = "clean",
  },
  {
    name = "is silent about activations between products",
    trace = steps { gemm, scale, cast, gemm },
    expect = "clean",
  },

  { name = "needs products", trace = steps { softmax, scale }, expect = "not checked" },
  {
    name = "needs what graphs hold",
    trace = steps({}, { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = gemm } } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(forward, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "eager",
    fixture = "eager",
    expect = {
      {
        severity = "error",
        subject = "attention",
        message = "Attention runs as separate kernels 6 times a step, forward and backward*(40 % *",
        worth = { 0.39, 0.46 },
      },
    },
  },
  {
    name = "eager-autogradnvtx: ranges change nothing",
    fixture = "eager-autogradnvtx",
    expect = {
      {
        severity = "error",
        message = "*6 times a step, forward and backward*(40 % *",
        worth = { 0.39, 0.46 },
      },
    },
  },
  {
    name = "gpumetrics: nor do samples",
    fixture = "gpumetrics",
    expect = { { severity = "error", message = "*6 times a step, forward and backward*" } },
  },
  { name = "good: fused", fixture = "good", expect = "clean" },
  { name = "compile: its loss is no attention", fixture = "compile", expect = "clean" },
  {
    name = "compile-graphs: its kernels are hidden",
    fixture = "compile-graphs",
    expect = "not checked",
  },
}

-- Six steps of 10 ms of kernels back to back, 100 us each unless given as { name, us }; all of
-- 1024 blocks unless given.
local gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local function elementwise(functor)
  return "void at::native::vectorized_elementwise_kernel<4, at::native::"
    .. functor
    .. ", std::array<char*, 3ul> >(int, float)"
end
local add, multiply =
  elementwise "CUDAFunctor_add<float>",
  elementwise "BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >"
local cast, silu =
  elementwise "bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)",
  elementwise "(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)"
local power =
  elementwise "(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, \z
    float>(at::TensorIteratorBase&, float)"
local epsilon, root =
  elementwise "CUDAFunctorOnSelf_add<float>",
  elementwise "rsqrt_kernel_cuda(at::TensorIteratorBase&)"
local square_root, divide =
  elementwise "sqrt_kernel_cuda(at::TensorIteratorBase&)",
  elementwise "BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> >"
local tanh = elementwise "tanh_kernel_cuda(at::TensorIteratorBase&)"
local mean =
  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, \z
    float, float, float>, unsigned int, float, 4, 4> >(float)"
local sum =
  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, \z
    at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float> >, unsigned \z
    int, float, 4, 4> >(float)"
local fused =
  "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, \z
    false>(int, float)"
local optimizer =
  "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous \z
    namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous \z
    namespace)::FusedAdamMathFunctor<float, 4> >(float)"
local small_root, small_power = { root, 2, blocks = 8 }, { power, 2, blocks = 8 }

local function steps(kernels, more)
  local ops, at = {}, 20
  for _, k in ipairs(kernels) do
    local name, us, blocks =
      type(k) == "table" and k[1] or k,
      type(k) == "table" and k[2] or 100,
      type(k) == "table" and k.blocks or 1024
    ops[#ops + 1] = name == "clear" and { at, at + us, set = true }
      or { at, at + us, kernel = name, blocks = blocks }
    at = at + us
  end
  ops[#ops + 1] = { at, 10000, kernel = gemm }
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9995, "step {n}" } }, ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local forward = { gemm, add, cast, power, mean, epsilon, root, multiply, cast, multiply, gemm }

return {
  -- Nine kernels of 100 us, of which a fifth stays.
  {
    name = "fires on an RMSNorm as separate kernels",
    trace = steps(forward),
    expect = {
      {
        severity = "warning",
        subject = "normalization",
        confidence = "high",
        message = "1 normalization runs as separate kernels a step*9 kernels take 900.0 us of \z
          each 10.0 ms step (9.0 %).",
        worth = { 0.071, 0.073 },
      },
    },
  },
  {
    name = "fires on a LayerNorm as separate kernels",
    trace = steps {
      gemm,
      mean,
      add,
      multiply,
      mean,
      epsilon,
      square_root,
      divide,
      gemm,
      mean,
      add,
      multiply,
      mean,
      epsilon,
      square_root,
      divide,
      gemm,
    },
    expect = { { severity = "warning", message = "2 *(14 %)*" } },
  },
  {
    name = "is silent about the root of a mean, once a step, which is a loss",
    trace = steps { gemm, add, power, { mean, 500 }, square_root, divide, multiply, gemm },
    expect = "clean",
  },
  {
    name = "and about two of different size",
    trace = steps {
      gemm,
      power,
      { mean, 500 },
      { square_root, 100, blocks = 1 },
      gemm,
      power,
      mean,
      square_root,
      gemm,
    },
    expect = "clean",
  },
  {
    name = "takes a team's word that one is enough",
    trace = steps { gemm, power, { mean, 500 }, square_root, divide, gemm },
    options = { least_chains = 1 },
    expect = { { severity = "warning" } },
  },
  {
    name = "fires behind attention and before an embedding's end too",
    trace = steps { fused, cast, power, mean, epsilon, root, multiply, optimizer },
    expect = { { severity = "note", message = "1 *(6.0 %)*" } },
  },
  {
    name = "adds the backward pass, around a root's power",
    trace = steps {
      gemm,
      power,
      mean,
      small_root,
      multiply,
      gemm,
      gemm,
      multiply,
      sum,
      multiply,
      small_power,
      multiply,
      multiply,
      add,
      gemm,
    },
    expect = { { severity = "warning", message = "2 normalizations*(9.0 %)*" } },
  },
  {
    name = "is not stopped by a reduction that clears its result first",
    trace = steps { gemm, power, { "clear", 2 }, mean, epsilon, root, multiply, cast, gemm },
    expect = { { severity = "note", message = "1 *(6.0 %)*" } },
  },
  {
    name = "counts two norms",
    trace = steps { gemm, power, mean, root, multiply, gemm, power, mean, root, multiply, gemm },
    expect = { { severity = "warning", message = "2 normalizations*(8.0 %)*" } },
  },
  {
    name = "is an error where it is most of the step",
    trace = steps { gemm, { power, 1000 }, { mean, 1000 }, root, { multiply, 2000 }, gemm },
    expect = { { severity = "error", worth = { 0.32, 0.34 } } },
  },
  {
    name = "notes 3 %",
    trace = steps { gemm, power, mean, root, gemm },
    expect = { { severity = "note" } },
  },
  {
    name = "is a note below the team's own threshold",
    trace = steps(forward),
    options = { share = 0.5 },
    expect = { { severity = "note" } },
  },
  {
    name = "leaves out what waits for pages of unified memory",
    trace = steps(forward, { gpu_faults = { { 120, 1020, address = 0 } } }),
    expect = "clean",
  },

  {
    name = "is silent about 1 %",
    trace = steps { gemm, { power, 30 }, { mean, 30 }, { root, 30 }, gemm },
    expect = "clean",
  },
  {
    name = "is silent about a norm in one kernel",
    trace = steps { gemm, add, { fused, 2000 }, cast, gemm },
    expect = "clean",
  },
  {
    name = "is silent about activations",
    trace = steps { gemm, silu, multiply, gemm, power, multiply, add, tanh, multiply, gemm },
    expect = "clean",
  },
  {
    name = "is silent about a root without a mean",
    trace = steps { gemm, power, epsilon, root, multiply, gemm },
    expect = "clean",
  },
  {
    name = "is silent about a mean without a root",
    trace = steps { gemm, power, mean, multiply, gemm },
    expect = "clean",
  },
  {
    name = "is silent where a product stands between mean and root",
    trace = steps { gemm, power, mean, gemm, root, multiply, gemm },
    expect = "clean",
  },
  {
    name = "is silent about powers and sums of large matrices without any root",
    trace = steps { gemm, power, sum, multiply, gemm },
    expect = "clean",
  },
  {
    name = "is silent where both are far apart",
    trace = steps { gemm, power, mean, add, add, add, root, multiply, gemm },
    options = { most = 2 },
    expect = "clean",
  },
  {
    name = "takes any options",
    trace = steps { gemm, add, gemm },
    options = { note_share = 0, share = 0, most = 0, fused_factor = 0 },
    expect = "clean",
  },

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
    name = "good: RMSNorm in eager PyTorch",
    fixture = "good",
    expect = {
      {
        severity = "warning",
        subject = "normalization",
        message = "26 normalizations*(22 %)*",
        worth = { 0.15, 0.2 },
      },
    },
  },
  {
    name = "lora",
    fixture = "lora",
    expect = { { severity = "warning", message = "25 normalizations*" } },
  },
  { name = "compile: fused", fixture = "compile", expect = "clean" },
  { name = "compile-graphsnode", fixture = "compile-graphsnode", expect = "clean" },
  { name = "offload: little of its step", fixture = "offload", expect = "clean" },
  { name = "um: its kernels wait for pages", fixture = "um", expect = "clean" },
  {
    name = "compile-graphs: its kernels are hidden",
    fixture = "compile-graphs",
    expect = "not checked",
  },
}

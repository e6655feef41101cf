-- Six steps of 10 ms: the kernels given as { name, us }, then a product.
local gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local gather =
  "void at::native::vectorized_gather_kernel<16, long>(char *, char *, long *, int)"
local scatter =
  "void at::native::_scatter_gather_elementwise_kernel<128, 8, void \z
    at::native::_cuda_scatter_gather_internal_kernel<true, float, \z
    long>::operator()<at::native::ReduceAdd>(at::TensorIterator &)>(int)"
local index_add =
  "void at::native::indexFuncLargeIndex<float, long, unsigned int, 2, 2, -2, true, \z
    at::native::(anonymous namespace)::ReduceAdd>(at::cuda::detail::TensorInfo<float, unsigned \z
    int>)"
local backward =
  "void (anonymous namespace)::indexing_backward_kernel<float, 4>(long const *, long const *)"
local sort =
  "void at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortOnesweepKernel<long>(int)"
local multiply =
  "BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>"
local by_row = "void at::native::elementwise_kernel<128, 2, void \z
  at::native::gpu_kernel_impl_nocast<"
  .. multiply
  .. ">(at::TensorIteratorBase &)>(int)"
local function vectorized(functor)
  return "void at::native::vectorized_elementwise_kernel<4, at::native::" .. functor .. ">(int)"
end

local function steps(kernels, more)
  local ops, at = {}, 20
  for _, k in ipairs(kernels) do
    ops[#ops + 1] = { at, at + k[2], kernel = k[1], launched = { 5, 10 } }
    at = at + k[2]
  end
  ops[#ops + 1] = { at, 10000, kernel = gemm, launched = { 10, 15 } }
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9995, "step {n}" } }, ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end

return {
  -- 2.5 ms, of which 0.15 stays.
  {
    name = "fires on rows that are gathered and added up",
    trace = steps { { gather, 1000 }, { scatter, 1500 } },
    expect = {
      {
        severity = "error",
        subject = "messages",
        title = "1 gather writes messages a step that are then added up",
        message = "1 gather writes a row for each edge a step, * 2.50 ms of each 10.0 ms step (25 \z
          %).*",
        advice = "Aggregate by a sparse product: *",
        worth = { 0.21, 0.22 },
      },
    },
  },
  {
    name = "fires where degrees are counted in between, for a mean",
    trace = steps {
      { gather, 1000 },
      { vectorized "FillFunctor<float>", 50 },
      { scatter, 40 },
      { vectorized "launch_clamp_scalar(at::TensorIteratorBase &)", 5 },
      { scatter, 1500 },
    },
    expect = { { message = "1 gather writes *2.50 ms *" } },
  },
  {
    name = "fires where each row has a factor",
    trace = steps { { gather, 500 }, { by_row, 500 }, { index_add, 1000 } },
    expect = { { severity = "warning", message = "*1.50 ms *" } },
  },
  {
    name = "fires in backward, which sorts",
    trace = steps { { gather, 500 }, { sort, 10 }, { backward, 700 } },
    expect = { { severity = "warning", message = "*1.20 ms *" } },
  },
  {
    name = "counts each pair",
    trace = steps {
      { gather, 500 },
      { scatter, 700 },
      { gemm, 100 },
      { gather, 500 },
      { index_add, 700 },
    },
    expect = { { severity = "error", message = "2 gathers write *2.40 ms *" } },
  },
  {
    name = "is silent about rows whose factors a softmax over edges computes",
    trace = steps {
      { vectorized "exp_kernel_cuda(at::TensorIteratorBase &)", 20 },
      { gather, 500 },
      { by_row, 500 },
      { index_add, 1000 },
    },
    expect = "clean",
  },
  {
    name = "is silent about messages from a product",
    trace = steps { { gather, 1000 }, { gemm, 100 }, { index_add, 1500 } },
    expect = "clean",
  },
  {
    name = "is silent where each element has a factor, which is no sparse product",
    trace = steps { { gather, 1000 }, { vectorized(multiply), 1000 }, { index_add, 1500 } },
    expect = "clean",
  },
  {
    name = "is silent about outputs of experts, whose weights alone are gathered",
    trace = steps { { gather, 20 }, { by_row, 500 }, { index_add, 1500 } },
    expect = "clean",
  },
  {
    name = "is silent about a table that is looked up, and its gradient",
    trace = steps { { gather, 1000 }, { gemm, 3000 }, { sort, 10 }, { backward, 1000 } },
    expect = "clean",
  },
  {
    name = "is silent about gathers alone",
    trace = steps { { gather, 1000 }, { by_row, 1000 } },
    expect = "clean",
  },
  {
    name = "is silent below 5 %",
    trace = steps { { gather, 200 }, { scatter, 250 } },
    expect = "clean",
  },
  {
    name = "takes any options",
    trace = steps { { gather, 1000 }, { by_row, 1500 } },
    options = { share = 0, gathered = 0 },
    expect = "clean",
  },
  {
    name = "needs kernels",
    trace = steps({ { gather, 1000 }, { scatter, 1500 } }, { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = steps({}, { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = gemm } } }),
    expect = "not checked",
  },
  { name = "good", fixture = "good", expect = "clean" },
  { name = "moe", fixture = "moe", expect = "clean" },
  { name = "expert-gather", fixture = "expert-gather", expect = "clean" },
}

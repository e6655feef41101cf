-- Six steps of 10 ms of kernels back to back, given as { name, us }; the rest is a norm's.
local gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local function elementwise(functor)
  return "void at::native::vectorized_elementwise_kernel<4, at::native::"
    .. functor
    .. ", std::array<char*, 2ul> >(int)"
end
local up =
  "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIter\z
    atorBase&)::{lambda(float)#1}, std::array<char*, 2ul>, 4>(int)"
local down, fill =
  elementwise "bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)",
  elementwise "FillFunctor<float>"
local forward =
  "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, \z
    at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, float const*, int)"
local backward =
  "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, float, float, float, \z
    at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(float*, float const*, float \z
    const*, long)"
local nll =
  "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, \z
    long>(float*)"
local norm =
  "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, \z
    false>(int, float)"

local function steps(kernels, more)
  local ops, at = { { 20, 100, kernel = norm } }, 100
  for _, k in ipairs(kernels) do
    if k.set then
      ops[#ops + 1] = { at, at + k[2], set = true }
    else
      ops[#ops + 1] = { at, at + k[2], kernel = k[1], blocks = 1024 }
    end
    at = at + k[2]
  end
  ops[#ops + 1] = { at, 10000, kernel = norm }
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9995, "step {n}" } }, ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
-- A head in which products take `product` us each and what is between 1,000 * `factor`.
local function head(product, factor)
  return {
    { gemm, product },
    { up, 200 * factor },
    { forward, 250 * factor },
    { nll, 20 * factor },
    { fill, 60 * factor },
    { backward, 330 * factor },
    { down, 140 * factor },
    { gemm, product },
    { gemm, product },
  }
end
local cleared = head(500, 1)
table.insert(cleared, 9, { nil, 1, set = true })

return {
  -- Of 1 ms between the products 0.33 is left: 6.7 % of the step is saved.
  {
    name = "fires on the loss over a large vocabulary",
    trace = steps(head(500, 1)),
    expect = {
      {
        severity = "warning",
        subject = "loss",
        message = "From the projection*takes 2.50 ms of each 10.0 ms step (25 %). 1.00 ms of that \z
          (40 %) is outside of matrix products: for each loss 6 kernels cast*",
        worth = { 0.066, 0.068 },
      },
    },
  },
  {
    name = "counts both gradients where a workspace is cleared between them",
    trace = steps(cleared),
    expect = { { message = "*2.50 ms of each*" } },
  },
  {
    name = "fires on narrow rows, whose log-softmax is another kernel",
    trace = steps {
      { gemm, 500 },
      {
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, \z
          false>(float*)",
        1000,
      },
      { gemm, 500 },
    },
    expect = { { severity = "warning" } },
  },
  {
    name = "notes one of which products take nearly all",
    trace = steps(head(1000, 0.3)),
    expect = { { severity = "note" } },
  },
  {
    name = "fires without steps",
    trace = {
      ops = {
        { 0, 1000, kernel = gemm },
        { 1000, 2000, kernel = forward },
        { 2000, 3000, kernel = backward },
        { 3000, 4000, kernel = gemm },
      },
    },
    expect = { { severity = "error" } },
  },
  {
    name = "a step of 17.1 ms measured 11.7 once fused",
    replay = true,
    trace = {
      repeats = { times = 6, every = 17090 },
      ranges = { { 0, 17089, "step {n}" } },
      calls = { { 20, 17088, "cudaDeviceSynchronize" } },
      ops = {
        { 20, 5000, kernel = gemm, launched = { 1, 3 } },
        { 5000, 6100, kernel = norm, launched = { 3, 5 } },
        { 6100, 7500, kernel = gemm, launched = { 5, 7 } },
        { 7500, 9000, kernel = up, launched = { 7, 9 } },
        { 9000, 10800, kernel = forward, launched = { 9, 11 } },
        { 10800, 13100, kernel = backward, launched = { 11, 13 } },
        { 13100, 14200, kernel = down, launched = { 13, 15 } },
        { 14200, 15600, kernel = gemm, launched = { 15, 17 } },
        { 15600, 17085, kernel = gemm, launched = { 17, 19 } },
      },
    },
    expect = { { severity = "error", worth = { 0.25, 0.36 } } },
  },

  {
    name = "is silent about a small vocabulary",
    trace = steps(head(150, 0.2)),
    expect = "clean",
  },
  {
    name = "is silent about a compiled loss",
    trace = steps {
      { gemm, 1000 },
      {
        "triton_red_fused__log_softmax__to_copy__unsafe_view_prepare_softmax_online_view_11",
        500,
      },
      { "triton_red_fused__log_softmax__log_softmax_backward_data_nll_loss_backward_12", 500 },
      { gemm, 1000 },
    },
    expect = "clean",
  },
  {
    name = "is silent about a fused cross-entropy",
    trace = steps { { gemm, 1000 }, { "liger_cross_entropy_kernel", 1000 }, { gemm, 1000 } },
    expect = "clean",
  },
  {
    name = "is silent about attention",
    trace = steps {
      { gemm, 1000 },
      {
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, \z
          false>(float*)",
        1000,
      },
      { gemm, 1000 },
    },
    expect = "clean",
  },
  {
    name = "is silent about a loss after which nothing is multiplied",
    trace = steps { { gemm, 1000 }, { up, 500 }, { forward, 500 }, { nll, 20 } },
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(head(500, 1)),
    options = { share = 0.5 },
    expect = "clean",
  },

  { name = "needs products", trace = steps { { forward, 1000 } }, expect = "not checked" },
  {
    name = "needs what graphs hold",
    trace = steps({}, { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = gemm } } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(head(500, 1), { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  { name = "good: 32,000 words are 4 %", fixture = "good", expect = "clean" },
  { name = "lora", fixture = "lora", expect = "clean" },
  { name = "fp32", fixture = "fp32", expect = "clean" },
  { name = "compile: fused", fixture = "compile", expect = "clean" },
}

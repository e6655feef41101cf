-- Six steps of `passes` passes over two layers and a head of a model whose weights are FP32 under
-- autocast: casts of `us` each.
local gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local cast =
  "void at::native::vectorized_elementwise_kernel<8, \z
    at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, \z
    std::array<char*, 2ul> >(int)"
local half =
  "void at::native::vectorized_elementwise_kernel<8, \z
    at::native::float16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, \z
    std::array<char*, 2ul> >(int)"
local norm =
  "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int, \z
    float)"
local nll =
  "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, \z
    long>(float*)"
local update =
  "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous \z
    namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous \z
    namespace)::FusedAdamMathFunctor<float, 4> >(int)"

-- A layer: norm, casts of weight, activation and bias, product; then one whose input is in half
-- precision already.
local function layer(us, name)
  return {
    { norm, 20 },
    { name, us, 2304 },
    { name, us / 2, 6144 },
    { name, 1, 3 },
    { gemm, 200 },
    { name, us, 2304 },
    { name, 1, 1 },
    { gemm, 200 },
  }
end
local function steps(passes, us, more)
  more = more or {}
  local ops, at = {}, 20
  local function add(kernels)
    for _, k in ipairs(kernels) do
      ops[#ops + 1] = {
        at,
        at + k[2],
        kernel = k[1],
        blocks = k[3] or 132,
        launched = { #ops * 2 + 1, #ops * 2 + 2 },
      }
      at = at + k[2]
    end
  end
  for _ = 1, passes do
    for _ = 1, 2 do
      add(layer(us, more.name or cast))
    end
    add {
      { norm, 20 },
      { more.name or cast, us, 37693 },
      { more.name or cast, us / 2, 6144 },
      { gemm, 300 },
    }
    if not more.inference then add { { nll, 10 }, { gemm, 300 }, { gemm, 300 } } end
  end
  if not more.inference then add { { update, 200 } } end
  local trace = {
    repeats = { times = 6, every = at + 20 },
    ranges = { { 0, at + 15, more.inference and "frame {n}" or "step {n}" } },
    ops = ops,
  }
  for key, value in pairs(more) do
    if key ~= "inference" and key ~= "name" then trace[key] = value end
  end
  return trace
end

return {
  {
    name = "fires on weights cast for each of four micro-batches",
    trace = steps(4, 100),
    expect = {
      {
        severity = "warning",
        subject = "weights",
        confidence = "medium",
        message = "Weights are cast to half precision 4 times a step, once for each \z
          micro-batch*in 20 casts, and only one in 4 is needed.",
        worth = { 0.15, 0.152 },
      },
    },
  },
  {
    name = "keeps the casts of one micro-batch of four",
    replay = true,
    trace = steps(4, 100, { calls = { { 400, 9930, "cudaDeviceSynchronize" } } }),
    expect = { { severity = "warning", worth = { 0.15, 0.156 } } },
  },
  {
    name = "fires in FP16",
    trace = steps(4, 100, { name = half }),
    expect = { { severity = "warning" } },
  },
  {
    name = "is silent where each weight is cast once a step",
    trace = steps(1, 100),
    expect = "clean",
  },
  {
    name = "is silent about casts of activations alone",
    trace = steps(4, 100, {
      ops = (function()
        local ops = steps(4, 100).ops
        for _, op in ipairs(ops) do
          if op.kernel == cast then op.blocks = 6144 end
        end
        return ops
      end)(),
    }),
    expect = "clean",
  },
  { name = "is silent about short ones", trace = steps(4, 10), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = steps(4, 100),
    options = { share = 0.5 },
    expect = "clean",
  },
  {
    name = "fires on weights cast in inference, where none changes",
    trace = steps(1, 100, { inference = true }),
    expect = {
      {
        severity = "error",
        message = "Weights that never change are cast to half precision in each pass: 5 casts \z
          take*",
        worth = { 0.265, 0.275 },
      },
    },
  },
  {
    name = "needs products in half precision",
    trace = steps(1, 100, { ops = { { 20, 1000, kernel = norm } } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(4, 100, { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = steps(
      1,
      100,
      { ops = { { 20, 900, graph = true }, { 900, 1000, kernel = norm } } }
    ),
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  { name = "lora", fixture = "lora", expect = "clean" },
  { name = "eager", fixture = "eager", expect = "clean" },
  { name = "fp32: nothing in half precision", fixture = "fp32", expect = "not checked" },
}

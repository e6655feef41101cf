-- Six steps of 10 ms of kernels back to back, given as { name, us }; the rest is a norm's.
local fp8 = "nvjet_sm90_qqtst_128x256_128x4_2x1_v_bz_coopA_NTN"
local gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local norm =
  "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, \z
    false>(int, float)"
local function elementwise(functor)
  return "void at::native::vectorized_elementwise_kernel<4, at::native::"
    .. functor
    .. ", std::array<char*, 2ul> >(int)"
end
local absolute, clamp =
  elementwise "abs_kernel_cuda(at::TensorIteratorBase&)",
  elementwise "(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&)"
local up, multiply =
  elementwise "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}",
  elementwise "BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >"
local cast = elementwise "float8_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}"
local silu = elementwise "(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)"
local maximum =
  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, \z
    at::native::MaxOps<c10::BFloat16>, unsigned int, c10::BFloat16, 4, 4> >(float)"

local function steps(kernels, more)
  local ops, at = { { 20, 100, kernel = norm, launched = { 1, 2 } } }, 100
  for i, k in ipairs(kernels) do
    ops[#ops + 1] = { at, at + k[2], kernel = k[1], launched = { i * 2 + 1, i * 2 + 2 } }
    at = at + k[2]
  end
  if at < 9990 then
    ops[#ops + 1] = { at, 9990, kernel = norm, launched = { #ops * 2 + 3, #ops * 2 + 4 } }
  end
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9998, "step {n}" } },
    calls = { { 90, 9996, "cudaDeviceSynchronize" } },
    ops = ops,
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
-- Both operands of a product, scaled and cast by PyTorch.
local function written_out(us, first)
  local list = { first }
  for _ = 1, 2 do
    for _, name in ipairs { absolute, maximum, up, multiply, clamp, cast } do
      list[#list + 1] = { name, us }
    end
  end
  list[#list + 1] = { fp8, 1000 }
  return list
end

return {
  {
    name = "fires on operands that are scaled and cast kernel by kernel",
    trace = steps(written_out(200)),
    expect = {
      {
        severity = "warning",
        subject = "FP8 casts",
        message = "2 operands are scaled and cast to FP8 a step in 12 separate kernels*2.40 ms of \z
          each 10.0 ms step (24 %), compared with 1.00 ms for the FP8 products*",
        worth = { 0.19, 0.21 },
      },
    },
  },
  {
    name = "leaves out the activation before",
    trace = steps(written_out(200, { silu, 1000 })),
    expect = { { message = "*2.40 ms of each*" } },
  },
  {
    name = "is not misled by a reduction that clears its result, and fuses the activation",
    replay = true,
    trace = (function()
      local trace = steps(written_out(200, { silu, 1000 }))
      for i = #trace.ops, 1, -1 do
        local op = trace.ops[i]
        if op.kernel == maximum then
          table.insert(trace.ops, i, { op[1], op[1] + 5, set = true, launched = { 0, 1 } })
          op[1] = op[1] + 5
        end
      end
      return trace
    end)(),
    expect = {
      {
        severity = "error",
        message = "2 operands*12 separate kernels*",
        worth = { 0.29, 0.31 },
      },
    },
  },
  {
    name = "a step of 7.71 ms measured 3.91 fused",
    replay = true,
    trace = (function()
      local kernels = written_out(383) -- 4.6 ms of casts
      kernels[#kernels] = { fp8, 1400 }
      local trace = steps(kernels, { repeats = { times = 6, every = 7740 } })
      trace.ops[#trace.ops][2] = 7730
      trace.ranges[1][2], trace.calls[1][2] = 7739, 7735
      return trace
    end)(),
    expect = { { severity = "error", worth = { 0.45, 0.53 } } },
  },

  {
    name = "is silent about Transformer Engine's casts",
    trace = steps {
      {
        "void transformer_engine::cast_transpose_fused_kernel_notaligned<false, false, false, \z
          float>(int)",
        2000,
      },
      { fp8, 2000 },
    },
    expect = "clean",
  },
  {
    name = "is silent about compiled casts",
    trace = steps {
      { "triton_red_fused_abs_max_0", 500 },
      { "triton_poi_fused__to_copy_clamp_mul_1", 500 },
      { fp8, 2000 },
    },
    expect = "clean",
  },
  {
    name = "is silent about delayed scaling, which takes no maximum",
    trace = steps { { multiply, 500 }, { cast, 500 }, { fp8, 2000 } },
    expect = "clean",
  },
  { name = "is silent about short ones", trace = steps(written_out(20)), expect = "clean" },
  { name = "needs products in FP8", trace = steps { { gemm, 1000 } }, expect = "not checked" },
  {
    name = "needs kernels",
    trace = steps(written_out(200), { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = steps({}, { ops = { { 20, 9000, graph = true }, { 9000, 9990, kernel = norm } } }),
    expect = "not checked",
  },
  { name = "good: BF16", fixture = "good", expect = "not checked" },
}

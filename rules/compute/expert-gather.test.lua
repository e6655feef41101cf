-- Six steps of 10 ms of kernels back to back, given as { name, us, launched in a product's range
-- }; the rest is a norm's.
local gather =
  "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, \z
    long, long, bool)"
local index =
  "void at::native::index_elementwise_kernel<128, 4, \z
    at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<2> \z
    >(at::TensorIteratorBase&)> >(long)"
local gemv =
  "void gemvNSP_kernel<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 1, 32, 4, 1024, \z
    cublasGemvParamsEx<int> >(int)"
local batched =
  "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(T1:\z
    :Params)"
local gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local silu =
  "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous \z
    namespace)::silu_kernel(at::TensorIteratorBase&), std::array<char*, 2ul> >(int)"
local softmax =
  "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, \z
    false, false>(c10::BFloat16*)"
local norm =
  "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, \z
    false>(int, float)"

local function steps(kernels, range, more)
  local ops, ranges, at =
    { { 20, 100, kernel = norm, launched = { 1, 5 } } }, { { 0, 9998, "step {n}" } }, 100
  for i, k in ipairs(kernels) do
    ops[#ops + 1] = { at, at + k[2], kernel = k[1], launched = { i * 10, i * 10 + 5 } }
    if k[1] == batched and range then
      ranges[#ranges + 1] = { i * 10 - 1, i * 10 + 6, range }
    end
    at = at + k[2]
  end
  ops[#ops + 1] = { at, 9990, kernel = norm, launched = { 200, 205 } }
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = ranges,
    calls = { { 210, 9996, "cudaDeviceSynchronize" } },
    ops = ops,
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
-- Copies of 1024 matrices of 2 MiB, a vector copied into place, and the product that reads them.
local function matrices(columns, product_us, kernel)
  local copy =
    "void at::native::elementwise_kernel<128, 4, void at::native::gpu_kernel_impl_nocast<at::nativ\z
      e::direct_copy_kernel_cuda(at::TensorIteratorBase&)> >(int)"
  local trace, at = steps {}, 100
  table.remove(trace.ops)
  for i = 1, 4 do
    local gathered = at + 643
    trace.ops[#trace.ops + 1] = {
      at,
      gathered,
      kernel = gather,
      blocks = 524288,
      blocks_x = columns,
      launched = { i * 30, i * 30 + 5 },
    }
    trace.ops[#trace.ops + 1] =
      { gathered, gathered + 5, kernel = copy, launched = { i * 30 + 6, i * 30 + 11 } }
    trace.ops[#trace.ops + 1] = {
      gathered + 5,
      gathered + 5 + product_us,
      kernel = kernel or gemm,
      blocks = 132,
      launched = { i * 30 + 12, i * 30 + 17 },
    }
    at = gathered + 5 + product_us
  end
  trace.ops[#trace.ops + 1] = { at, 9990, kernel = norm, launched = { 200, 205 } }
  trace.device =
    { name = "NVIDIA H200", sm_count = 132, compute = 9.0, memory_gib = 141, clock_mhz = 1980 }
  return trace
end
local function experts(product, gathers)
  return {
    { gathers or gather, 2500 },
    { product, 700 },
    { silu, 20 },
    { gathers or gather, 2500 },
    { product, 700 },
  }
end

return {
  {
    name = "fires on gathers before matrix-vector products",
    trace = steps(experts(gemv)),
    expect = {
      {
        severity = "error",
        subject = "expert weights",
        message = "2 gathers copy matrices a step that products of a single row then read once: \z
          5.00 ms of each 10.0 ms step (50 %), and the products 1.40 ms*",
        worth = { 0.49, 0.51 },
      },
    },
  },
  {
    name = "fires on an index whose gather is elementwise",
    trace = steps(experts(gemv, index)),
    expect = { { severity = "error" } },
  },
  {
    name = "fires on batched products of one row, by their shapes",
    trace = steps(experts(batched), "aten::bmm, sizes = [[64, 1, 2048], [64, 2048, 1408]]"),
    expect = { { severity = "error" } },
  },
  {
    name = "foretells what the products at least keep",
    replay = true,
    trace = steps(experts(gemv)),
    expect = { { severity = "error", worth = { 0.54, 0.6 } } },
  },

  {
    name = "fires on copies of matrices that a product reads once, without shapes",
    trace = matrices(1024, 490),
    expect = {
      {
        severity = "error",
        message = "4 gathers copy matrices a step (8 GiB), one of 2 MiB for each index, and the \z
          next product then reads each copy once: 2.57 ms of each 10.0 ms step (26 %), and the \z
          products 1.96 ms*",
      },
    },
  },
  {
    name = "is silent about rows that are gathered",
    trace = matrices(131072, 490),
    expect = "clean",
  },
  {
    name = "is silent where the product does more than read the matrices once",
    trace = matrices(1024, 1200),
    expect = "clean",
  },
  {
    name = "is silent where the product cannot have read them",
    trace = matrices(1024, 100),
    expect = "clean",
  },

  {
    name = "is silent about batched products of many rows",
    trace = steps(experts(batched), "aten::bmm, sizes = [[64, 128, 2048], [64, 2048, 1408]]"),
    expect = "clean",
  },
  {
    name = "is silent where no shape tells",
    trace = steps(experts(batched)),
    expect = "clean",
  },
  {
    name = "is silent about tokens that are sorted before grouped products",
    trace = steps { { index, 1000 }, { gemm, 4000 }, { silu, 50 }, { gemm, 4000 } },
    expect = "clean",
  },
  {
    name = "is silent about attention that gathers its cache",
    trace = steps {
      { gather, 2000 },
      { gemv, 300 },
      { softmax, 100 },
      { gather, 2000 },
      { gemv, 300 },
    },
    expect = "clean",
  },
  {
    name = "is silent about a look-up before a product",
    trace = steps { { gather, 2000 }, { gemv, 300 }, { gemm, 3000 } },
    expect = "clean",
  },
  {
    name = "is silent about gathers shorter than their products",
    trace = steps {
      { gather, 900 },
      { gemv, 2000 },
      { silu, 20 },
      { gather, 900 },
      { gemv, 2000 },
    },
    expect = "clean",
  },
  {
    name = "is silent about what writes by index",
    trace = steps(
      experts(
        gemv,
        "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native\z
          ::index_put_kernel_impl<at::native::OpaqueType<2> >(at::TensorIterator&)> >(long)"
      )
    ),
    expect = "clean",
  },
  {
    name = "is silent about 5 %",
    trace = steps { { gather, 250 }, { gemv, 70 }, { silu, 20 }, { gather, 250 }, { gemv, 70 } },
    expect = "clean",
  },
  { name = "needs products", trace = steps { { gather, 2000 } }, expect = "not checked" },
  {
    name = "needs kernels",
    trace = steps(experts(gemv), nil, { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = steps(
      {},
      nil,
      { ops = { { 20, 9000, graph = true }, { 9000, 9990, kernel = norm } } }
    ),
    expect = "not checked",
  },
  { name = "good", fixture = "good", expect = "clean" },
}

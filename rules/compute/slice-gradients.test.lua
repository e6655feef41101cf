-- Six steps of 10 ms: a product, then for each of `count` slices a tensor of 1024 blocks that is
-- cleared (50 us), a copy of `blocks` blocks and an addition (100 us); `more` in between.
local function vectorized(functor)
  return "void at::native::vectorized_elementwise_kernel<4, at::native::" .. functor .. ">(int)"
end
local gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local copy =
  "void at::native::elementwise_kernel<128, 2, void \z
    at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase \z
    &)>>(int)"

local function slices(count, blocks, more, not_collected)
  more = more or {}
  local ops, at = { { 20, 1000, kernel = gemm, launched = { 5, 10 } } }, 1000
  local function op(name, us, grid)
    ops[#ops + 1] = { at, at + us, kernel = name, blocks = grid, launched = { at - 9, at - 6 } }
    at = at + us
  end
  op("void at::native::(anonymous namespace)::softmax_warp_backward<float>(float *)", 5, 132)
  for _ = 1, count do
    op(vectorized "FillFunctor<float>", 50, 1024)
    op(copy, 5, blocks)
    if more.between then op(more.between, 5, 1024) end
    op(vectorized "CUDAFunctor_add<float>", 100, more.sum or 1024)
    op(more.cell or gemm, 20, 132)
  end
  ops[#ops + 1] = { at, 10000, kernel = gemm, launched = { at - 9, at - 6 } }
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9995, "step {n}" } },
    ops = ops,
    not_collected = not_collected,
  }
end

return {
  {
    name = "fires on a loop over slices",
    trace = slices(16, 16),
    expect = {
      {
        severity = "error",
        subject = "gradients of slices",
        title = "Backward clears and adds a whole tensor for each of 16 slices a step",
        message = "Backward clears a tensor 16 times a step, *: 2.40 ms of each 10.0 ms step (24 \z
          %)*",
        advice = "Take the tensor apart once*",
        worth = { 0.23, 0.25 },
      },
    },
  },
  {
    name = "is a warning below a fifth",
    trace = slices(10, 16, { cell = "void lstm_cell_backward<float>(float)" }),
    expect = { { severity = "warning", message = "*10 times a step*" } },
  },
  {
    name = "is silent about halves, as rotary embeddings take them",
    trace = slices(16, 512),
    expect = "clean",
  },
  { name = "is silent about a few slices", trace = slices(4, 16), expect = "clean" },
  {
    name = "is silent where what is added has another size",
    trace = slices(16, 16, { sum = 512 }),
    expect = "clean",
  },
  {
    name = "is silent where something else fills the tensor too",
    trace = slices(16, 16, { between = vectorized "MulFunctor<float>" }),
    expect = "clean",
  },
  {
    name = "is a note below the team's own threshold",
    trace = slices(16, 16),
    options = { share = 0.5 },
    expect = { { severity = "note" } },
  },
  {
    name = "takes any options",
    trace = slices(16, 512),
    options = { share = 0, note_share = 0, slices = 1000 },
    expect = "clean",
  },
  {
    name = "needs kernels",
    trace = slices(16, 16, {}, { "kernels" }),
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = {
      repeats = { times = 6, every = 10000 },
      ranges = { { 0, 9995, "step {n}" } },
      ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = gemm } },
    },
    expect = "not checked",
  },
  { name = "good: halves of rotary embeddings", fixture = "good", expect = "clean" },
  { name = "launchbound", fixture = "launchbound", expect = "clean" },
}

-- Six steps of 10 ms: a product, then rows of elementwise kernels of `us` each with `gap` us
-- between, then another product.
local gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local function elementwise(functor)
  return "void at::native::vectorized_elementwise_kernel<4, at::native::"
    .. functor
    .. ", std::array<char*, 3ul> >(int, float)"
end
local multiply =
  elementwise "AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >"
local adamw = {
  multiply,
  elementwise "lerp_scalar_kernel(at::TensorIteratorBase&, c10::Scalar const&)",
  multiply,
  elementwise "addcmul_cuda_kernel(at::TensorIteratorBase&, c10::Scalar const&)",
  elementwise "sqrt_kernel_cuda(at::TensorIteratorBase&)",
  elementwise "BUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >",
  elementwise "CUDAFunctorOnSelf_add<float>",
  elementwise "addcdiv_cuda_kernel(at::TensorIteratorBase&, c10::Scalar const&)",
}
local sgd = { multiply, elementwise "CUDAFunctor_add<float>" }
local fill = { elementwise "FillFunctor<float>" }
local norms = {
  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, \z
    at::native::NormTwoOps<float, float, float>, unsigned int, float, 4, 4> >(float)",
}
local fused = {
  "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous \z
    namespace)::TensorListMetadata<4>, at::native::(anonymous \z
    namespace)::BinaryOpScalarFunctor<float, 1, 1, 0> >(float)",
}

local function steps(kernels, count, us, more)
  more = more or {}
  local gap, every = more.gap or 0, more.interrupt
  local ops = { { 20, 1000, kernel = gemm, launched = { 5, 10 } } }
  local at = 1000
  for i = 1, count do
    at = at + gap
    ops[#ops + 1] = {
      at,
      at + us,
      kernel = kernels[(i - 1) % #kernels + 1],
      launched = more.late and { at - 8, at - 3 } or { 100 + i, 101 + i },
    }
    at = at + us
    if every and i % every == 0 then
      ops[#ops + 1] = { at, at + 1, kernel = more.by or gemm, launched = { 100 + i, 101 + i } }
      at = at + 1
    end
  end
  ops[#ops + 1] = { at, 10000, kernel = gemm, launched = { 1000, 1001 } }
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9995, "step {n}" } },
    ops = ops,
    not_collected = more.not_collected,
  }
  if more.range then trace.ranges[2] = { 100, 900, more.range } end
  if more.ops then trace.ops = more.ops end
  return trace
end
local closure = { interrupt = 20, range = "Optimizer.step#AdamW.step" }

return {
  -- 80 kernels of 10 us: fused they take 0.37 of that.
  {
    name = "fires on AdamW tensor by tensor, without a range",
    trace = steps(adamw, 80, 10),
    expect = {
      {
        severity = "warning",
        subject = "optimizer",
        confidence = "medium",
        message = "The optimizer runs 80 elementwise kernels a step: with the gaps between them * \z
          they take 800.0 us of each 10.0 ms step (8.0 %)*",
        worth = { 0.05, 0.051 },
      },
    },
  },
  {
    name = "is sure where a range marks the optimizer",
    trace = steps(adamw, 80, 10, { range = "Optimizer.step#AdamW.step" }),
    expect = { { severity = "warning", confidence = "high", worth = { 0.05, 0.051 } } },
  },
  {
    name = "and then does not mind what stands between",
    trace = steps(adamw, 80, 10, { range = "optimizer_step", interrupt = 10, by = norms[1] }),
    expect = { { severity = "warning", confidence = "high", message = "*80 elementwise*" } },
  },
  {
    name = "fires on SGD where a range marks it",
    trace = steps(sgd, 60, 20, { range = "Optimizer.step#SGD.step" }),
    expect = { { severity = "warning", confidence = "high", worth = { 0.075, 0.077 } } },
  },
  {
    name = "only notes additions that may add up gradients",
    trace = steps({ sgd[2] }, 60, 100),
    expect = { { severity = "note", confidence = "medium" } },
  },
  {
    name = "even with a root among many",
    trace = steps({
      sgd[2],
      sgd[2],
      sgd[2],
      sgd[2],
      sgd[2],
      sgd[2],
      sgd[2],
      sgd[2],
      sgd[2],
      sgd[2],
      sgd[2],
      sgd[2],
      sgd[2],
      adamw[5],
    }, 60, 100),
    expect = { { severity = "note" } },
  },
  {
    name = "only notes SGD without a range",
    trace = steps(sgd, 60, 20),
    expect = { { severity = "note", worth = { 0.075, 0.077 } } },
  },
  {
    name = "adds the gaps that launching leaves",
    trace = steps(adamw, 80, 10, { gap = 20, late = true }),
    expect = {
      {
        severity = "error",
        message = "*the gaps between them (1.58 ms) they take 2.38 ms of*",
        worth = { 0.2, 0.21 },
      },
    },
  },
  {
    name = "is an error where the loop is most of the step",
    trace = steps(adamw, 100, 60),
    expect = { { severity = "error", worth = { 0.37, 0.39 } } },
  },
  {
    name = "is a warning from 3 %, the remedy being a switch",
    trace = steps(adamw, 64, 10),
    expect = { { severity = "warning", worth = { 0.04, 0.041 } } },
  },
  { name = "notes less", trace = steps(adamw, 80, 3), expect = { { severity = "note" } } },
  {
    name = "is a note below the team's own threshold",
    trace = steps(adamw, 80, 10),
    options = { share = 0.2 },
    expect = { { severity = "note" } },
  },
  {
    name = "counts what the team thinks a fused update takes",
    trace = steps(adamw, 80, 10),
    options = { fused_factor = 0 },
    expect = { { worth = { 0.079, 0.081 } } },
  },

  { name = "is silent about a few parameters", trace = steps(adamw, 48, 10), expect = "clean" },
  {
    name = "is silent about a few in a range",
    trace = steps(adamw, 48, 10, { range = "optimizer_step" }),
    expect = "clean",
  },
  { name = "is silent below 1 %", trace = steps(adamw, 80, 1), expect = "clean" },
  {
    name = "is silent about a foreach optimizer",
    trace = steps(fused, 80, 10, { range = "optimizer_step" }),
    expect = "clean",
  },
  {
    name = "is silent about elementwise work between products",
    trace = steps(adamw, 80, 10, { interrupt = 20 }),
    expect = "clean",
  },
  {
    name = "is silent about a closure, in which the model runs",
    trace = steps(adamw, 80, 10, closure),
    expect = "clean",
  },
  {
    name = "is silent about gradients set to zero one by one",
    trace = steps(fill, 80, 10),
    expect = "clean",
  },
  {
    name = "is silent about norms of gradients",
    trace = steps(norms, 80, 10),
    expect = "clean",
  },
  {
    name = "takes any options",
    trace = steps(fused, 80, 10),
    options = { kernels = 0, note_share = 0, share = 0 },
    expect = "clean",
  },

  {
    name = "needs a model",
    trace = steps(adamw, 80, 10, { ops = { { 20, 9990, kernel = multiply } } }),
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = steps(
      adamw,
      80,
      10,
      { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = gemm } } }
    ),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(adamw, 80, 10, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "loopopt",
    fixture = "loopopt",
    expect = {
      {
        severity = "warning",
        subject = "optimizer",
        confidence = "high",
        message = "*456 elementwise kernels a step*",
        worth = { 0.04, 0.052 },
      },
    },
  },
  { name = "good: fused", fixture = "good", expect = "clean" },
  { name = "lora", fixture = "lora", expect = "clean" },
  { name = "compile", fixture = "compile", expect = "clean" },
  { name = "launchbound: fused as well", fixture = "launchbound", expect = "clean" },
  { name = "ddp", fixture = "ddp", expect = "clean" },
  {
    name = "compile-graphs: its kernels are hidden",
    fixture = "compile-graphs",
    expect = "not checked",
  },
}

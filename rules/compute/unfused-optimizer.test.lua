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

local function multi_tensor(metadata, functor)
  return "void at::native::(anonymous \z
    namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    .. metadata
    .. ", at::native::(anonymous namespace)::"
    .. functor
    .. ">(T1, T2, T3...)"
end
local foreach_adam = {
  multi_tensor(
    "TensorListMetadata<2>",
    "TernaryOpScalarFunctor<float, 2, 2, 0>, at::native::LerpFunctor<float>, float"
  ),
  multi_tensor(
    "TensorListMetadata<1>",
    "BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float"
  ),
  multi_tensor(
    "TensorListMetadata<3>",
    "PointwiseOpScalarFunctor<float, 3, 3, 0>, std::multiplies<float>, float"
  ),
  multi_tensor(
    "TensorListMetadata<2>",
    "UnaryOpFunctor<float, 2, 1, 1>, at::native::Sqrt<float>"
  ),
  multi_tensor(
    "TensorListScalarListMetadata<float, 1>",
    "BinaryOpScalarListFunctor<float, 1, 1, 0>, std::divides<float>"
  ),
  multi_tensor(
    "TensorListMetadata<1>",
    "BinaryOpScalarFunctor<float, 1, 1, 0>, std::plus<float>, float"
  ),
  multi_tensor(
    "TensorListScalarListMetadata<float, 3>",
    "PointwiseOpScalarListFunctor<float, 3, 3, 0>, std::divides<float>"
  ),
}
local foreach_average = {
  multi_tensor(
    "TensorListMetadata<1>",
    "BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float"
  ),
  multi_tensor(
    "TensorListMetadata<2>",
    "BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float"
  ),
}
local foreach_clip = {
  multi_tensor("TensorListMetadata<1>", "LpNormFunctor<float, NormType::L2, float, 1, 1, 0>"),
  multi_tensor(
    "TensorListMetadata<1>",
    "BinaryOpScalarTensorFunctor<float, 1, 1, 0>, std::multiplies<float>, float"
  ),
}

-- Adam's passes over a table of 12.8 million numbers, of which backward writes as many as its
-- `blocks` of 64 threads.
local function of_table(blocks, clear_us)
  local ops = {
    { 20, 1000, kernel = gemm, launched = { 5, 10 } },
    {
      1000,
      1000 + clear_us,
      kernel = fill[1],
      blocks = 12500,
      threads = 128,
      launched = { 11, 12 },
    },
    {
      1300,
      1305,
      kernel = "void \z
        at_cuda_detail::cub::detail::unique_by_key::DeviceUniqueByKeySweepKernel<int>(int)",
      launched = { 13, 14 },
    },
    {
      1310,
      1312,
      kernel = "void at::native::(anonymous namespace)::krn_partials_per_segment<long>(long *)",
      launched = { 15, 16 },
    },
    {
      1320,
      1325,
      kernel = "void at::native::(anonymous namespace)::compute_grad_weight<float, long>(long *)",
      blocks = blocks,
      threads = 64,
      launched = { 17, 18 },
    },
  }
  for i, kernel in ipairs(foreach_adam) do
    ops[#ops + 1] = {
      1400 + 100 * i,
      1500 + 100 * i,
      kernel = kernel,
      launched = { 20 + i, 21 + i },
    }
  end
  ops[#ops + 1] = { 2200, 10000, kernel = gemm, launched = { 40, 41 } }
  return ops
end

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
    name = "is silent about a foreach optimizer of one pass",
    trace = steps(fused, 80, 10, { range = "optimizer_step" }),
    expect = "clean",
  },
  -- Fused, Adam's seven passes take 0.41 of their time.
  {
    name = "fires on the passes of a foreach update",
    trace = steps(foreach_adam, 14, 100),
    expect = {
      {
        severity = "warning",
        subject = "optimizer",
        confidence = "high",
        title = "The optimizer takes 7 passes over memory a step",
        message = "*in 7 passes over memory (14 kernels a step): they take 1.40 ms of each 10.0 \z
          ms step (14 %).*",
        advice = "*fused=True*",
        worth = { 0.082, 0.084 },
      },
    },
  },
  {
    name = "fires on those of SGD with momentum where a range marks them",
    trace = steps(foreach_average, 10, 100, { range = "Optimizer.step#SGD.step" }),
    expect = { { severity = "warning", message = "*in 2 passes *", worth = { 0.058, 0.06 } } },
  },
  {
    name = "takes no loop of the model for the optimizer where that updates all tensors together",
    trace = steps(
      (function()
        local kernels = {}
        for i = 1, 80 do
          kernels[i] = adamw[(i - 1) % #adamw + 1]
        end
        for _, name in ipairs(foreach_adam) do
          kernels[#kernels + 1] = name
        end
        return kernels
      end)(),
      87,
      50
    ),
    expect = { { message = "*in 7 passes over memory (7 kernels a step)*" } },
  },
  {
    name = "is silent about an average of the weights, which looks the same without a range",
    trace = steps(foreach_average, 10, 100),
    expect = "clean",
  },
  {
    name = "is silent about gradients that are scaled down to a norm",
    trace = steps(foreach_clip, 10, 100),
    expect = "clean",
  },
  {
    name = "says where it is tables of which little is looked up",
    trace = steps({}, 0, 0, { ops = of_table(4505, 35) }),
    expect = {
      { message = "*95 % of what it updates, or more, are embedding tables, *4.5 % at most." },
    },
  },
  {
    name = "but not where much of them is looked up",
    trace = steps({}, 0, 0, { ops = of_table(20000, 35) }),
    expect = { { message = "*once." } },
  },
  {
    name = "nor where most of what it updates is elsewhere",
    trace = steps({}, 0, 0, { ops = of_table(4505, 12) }),
    expect = { { message = "*once." } },
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

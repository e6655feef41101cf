-- Six steps of 10 ms of kernels back to back, 500 us each unless given as { name, us }; the rest
-- is a product.
local gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
local function elementwise(functor)
  return "void at::native::vectorized_elementwise_kernel<4, at::native::"
    .. functor
    .. ", std::array<char*, 3ul> >(int, float)"
end
local add, multiply =
  elementwise "CUDAFunctor_add<float>",
  elementwise "BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >"
local cast, root, tanh =
  elementwise "bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)",
  elementwise "rsqrt_kernel_cuda(at::TensorIteratorBase&)",
  elementwise "tanh_kernel_cuda(at::TensorIteratorBase&)"
local power =
  elementwise "(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, \z
    float>(at::TensorIteratorBase&, float)"
local exponential = elementwise "exp_kernel_cuda(at::TensorIteratorBase&)"
local silu, silu_backward =
  elementwise "(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)",
  elementwise "(anonymous namespace)::silu_backward_kernel(at::TensorIteratorBase&)"
local converted =
  "void cudnn::engines_precompiled::nhwcToNchwKernel<__nv_bfloat16, __nv_bfloat16, float, true, \z
    false, (cudnnKernelDataType_t)0>(int)"
local dropout =
  "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, \z
    unsigned int, 1, 8, bool>(int)"
local norm =
  "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, \z
    false>(int, float)"
local mean =
  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, \z
    float, float, float>, unsigned int, float, 4, 4> >(float)"
local sum =
  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, \z
    at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float> >, unsigned \z
    int, float, 4, 4> >(float)"
local maximum =
  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MaxOps<float>, \z
    unsigned int, float, 4, 4> >(float)"
local softmax =
  "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, \z
    false>(float*, float const*, int, int, int, bool const*, int, bool)"

local scan =
  "void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float> >(float*, float \z
    const*, unsigned int, unsigned int, unsigned int, float, std::plus<float>)"

local function steps(kernels, more)
  local ops, at = {}, 20
  for _, k in ipairs(kernels) do
    local name, us = type(k) == "table" and k[1] or k, type(k) == "table" and k[2] or 500
    ops[#ops + 1] = { at, at + us, kernel = name, launched = { 5, 10 } }
    at = at + us
  end
  ops[#ops + 1] = { at, 10000, kernel = gemm, launched = { 10, 15 } }
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9995, "step {n}" } }, ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local gelu = { gemm, multiply, power, add, tanh, multiply }
local function loop(count, us)
  local kernels = { gemm }
  for i = 1, count do
    kernels[i + 1] = { i % 2 == 0 and multiply or add, us }
  end
  return kernels
end

local normalize =
  "void at::native::batch_norm_transform_input_channels_last_kernel<c10::BFloat16, float, \z
    c10::BFloat16, 4>(c10::BFloat16 const*)"
local statistics =
  "void at::native::batch_norm_collect_statistics_channels_last_kernel<at::native::Var, \z
    c10::BFloat16, float, 4>(c10::BFloat16 const*)"
local deviation =
  elementwise "(anonymous namespace)::batch_norm_calc_invstd(at::Tensor const&, at::Tensor const&)"
local rectify =
  elementwise "(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&)"
local layout =
  "void at::native::elementwise_kernel<128, 4, void \z
    at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase \z
    &)::...>>"
local moments =
  "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::BFloat16>(long, float)"
local parameters =
  "void at::native::(anonymous namespace)::ComputeFusedParamsCUDAKernel<c10::BFloat16>(long)"
local scale =
  "void at::native::elementwise_kernel<128, 4, void at::native::gpu_kernel_impl_nocast<void \z
    at::native::(anonymous namespace)::GroupNormKernelImplInternal<c10::BFloat16>(...)>>"

local shard =
  "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIter\z
    atorBase &)::..., LoadWithCast<1>>"
local clear = elementwise "FillFunctor<float>"
-- Backward: a product, and sums over the given numbers of blocks; a GELU's have 4096.
local function accumulation(blocks)
  local trace = steps({ gemm, { multiply, 100 } }, {
    ranges = { { 0, 9995, "step {n}" }, { 9990, 9994, "Optimizer.step#AdamW.step" } },
  })
  trace.ops[2].blocks = 4096
  trace.ops[3] = { 620, 700, kernel = gemm }
  for i, count in ipairs(blocks) do
    local at = 700 + (i - 1) * 2000
    trace.ops[3 + i] = { at, at + 2000, kernel = add, blocks = count }
  end
  trace.ops[#trace.ops + 1] = { 700 + #blocks * 2000, 9990, kernel = gemm }
  return trace
end

-- Of CuPy: 2 ms of elementwise kernels around a shifted copy, then what `last` says.
local function stencil(last)
  local plus, copy = "cupy_add__float64_float64_float64", "cupy_copy__float64_float64"
  local names = { plus, copy, "shift", plus, "cupy_multiply__float_float64_float64" }
  local ops = {}
  for i, name in ipairs(names) do
    local at = 400 * i
    ops[i] = { at, at + 400, kernel = name, launched = { 5, 10 } }
    if name == "shift" then
      ops[i] = { at, at + 400, copy = "d2d", bytes = 33554432, launched = { 5, 10 } }
    end
  end
  ops[#ops + 1] = { 2400, 10000, kernel = last, launched = { 10, 15 } }
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9995, "step {n}" } },
    ops = ops,
  }
end

-- Training: a GELU and a product by one thread, and a product by the next.
local function trained(backward)
  local kernels = { gemm, multiply, power, add, tanh, multiply, gemm }
  local trace = steps(kernels, {
    ranges = { { 0, 9995, "step {n}" }, { 9990, 9994, "Optimizer.step#AdamW.step" } },
  })
  for i, op in ipairs(trace.ops) do
    op.thread = i > backward and "pt_autograd_0" or "main"
  end
  return trace
end
local selected =
  "void at_cuda_detail::cub::detail::select::DeviceSelectSweepKernel<at_cuda_detail::cub::detail::\z
    select::policy_hub<long, bool, int> >(long)"

return {
  {
    name = "names the loss where the runs lie between forward and backward",
    trace = trained(6),
    expect = { { advice = "Compile the loss: *" } },
  },
  {
    name = "names the model where they lie before its last product",
    trace = trained(7),
    expect = { { advice = "Compile the model: *" } },
  },
  {
    name = "has the read-backs removed first, at which a compiled model is cut",
    trace = (function()
      local select = "void at::native::NonZeroOp<bool>"
      local trace = steps { gemm, multiply, power, add, tanh, multiply, gemm }
      trace.calls = {}
      for i = 1, 3 do
        local at = 4000 + 1000 * i
        table.insert(
          trace.ops,
          { at, at + 10, kernel = select, launched = { at - 20, at - 15 }, stream = 9 }
        )
        table.insert(trace.ops, {
          at + 11,
          at + 13,
          copy = "d2h",
          bytes = 4,
          to = "pageable",
          launched = { at - 10, at - 5 },
          stream = 9,
        })
        table.insert(trace.calls, { at - 4, at + 20, "cudaStreamSynchronize" })
      end
      return trace
    end)(),
    expect = { { advice = "Remove the read-backs, then compile the model: *" } },
  },
  {
    name = "leaves out selections",
    trace = steps { gemm, selected, selected, selected, selected, gemm },
    expect = "clean",
  },
  {
    name = "fires on CuPy's operators, with the shifted copies between them",
    trace = stencil "void regular_fft<1024u>(int)",
    expect = {
      {
        severity = "warning",
        message = "1 run a step * (5 kernels) takes 2.00 ms *",
        advice = "Put each expression into one kernel: *",
        worth = { 0.15, 0.16 },
      },
    },
  },
  -- Thirty sweeps of three kernels of 100 us, each of which ends with an assignment.
  {
    name = "cuts a long run of CuPy where an expression is assigned",
    trace = (function()
      local trace, at = { ops = {} }, 10
      for i = 1, 90 do
        local name = i % 3 == 0 and "cupy_copy__float32_float32"
          or i % 3 == 1 and "cupy_add__float32_float32_float32"
          or "cupy_multiply__float_float32_float32"
        trace.ops[i] = { at, at + 100, kernel = name, launched = { at - 8, at - 6 } }
        at = at + 100
      end
      return trace
    end)(),
    options = { least = 2 },
    expect = {
      {
        severity = "warning",
        message = "1 run an iteration *(2 kernels)*",
        worth = { 0.3, 0.35 },
      },
    },
  },
  -- Five kernels of 500 us, of which one's time stays.
  {
    name = "fires on an activation as separate kernels",
    trace = steps(gelu),
    expect = {
      {
        severity = "warning",
        subject = "elementwise runs",
        confidence = "medium",
        message = "1 run a step*(5 kernels) takes 2.50 ms of each 10.0 ms step (25 %). Fused, a \z
          run takes about as long as its longest kernel: 500.0 us in all. 100 % of that is the \z
          activation of an MLP, between its products.",
        worth = { 0.199, 0.201 },
      },
    },
  },
  {
    name = "fires on casts and sums",
    trace = steps { gemm, cast, multiply, sum, cast, gemm },
    expect = { { severity = "warning", worth = { 0.149, 0.151 } } },
  },
  {
    name = "is silent about shards that are cast and gradients that are cleared, one after another",
    trace = steps { gemm, shard, shard, shard, shard, clear, clear, clear, clear, gemm },
    expect = "clean",
  },
  {
    name = "leaves out gradients that are added up: nothing else computes in their sizes",
    trace = accumulation { 65536, 49152, 40000 },
    expect = "clean",
  },
  {
    name = "counts sums in the sizes of activations",
    trace = accumulation { 4096, 4096, 4096 },
    expect = { { severity = "warning" } },
  },
  {
    name = "tells a program that is compiled in part to compile the rest",
    trace = steps(gelu, {
      ranges = {
        { 0, 9995, "step {n}" },
        { 1, 3, "Torch-Compiled Region: 0/0" },
        { 4, 12, "aten::upsample_bilinear2d" },
      },
    }),
    expect = {
      {
        advice = "Compile what still runs eagerly: part of the program is compiled already, and \z
          these kernels come from outside, most from 'aten::upsample_bilinear2d'.",
      },
    },
  },
  {
    name = "counts runs by themselves",
    trace = steps { gemm, add, multiply, cast, gemm, add, multiply, cast },
    expect = {
      {
        severity = "warning",
        message = "2 runs*(6 kernels)*1.00 ms in all.",
        worth = { 0.199, 0.201 },
      },
    },
  },
  -- 500 us of 1 ms remain, by 1.15.
  {
    name = "fires on batch normalization with fixed statistics and its activation",
    trace = steps({ gemm, { deviation, 2 }, normalize, rectify, gemm }, {
      ranges = { { 0, 9995, "step {n}" }, { 3, 12, "aten::batch_norm" } },
    }),
    expect = {
      {
        severity = "warning",
        message = "*(3 kernels)*50 % of that is batch normalization with fixed statistics, which \z
          only scales and shifts.",
        worth = { 0.042, 0.051 },
        advice = "Compile the model: *",
      },
    },
  },
  {
    name = "fires on two kernels around it: cuDNN's needs no others",
    trace = steps {
      gemm,
      { normalize, 1000 },
      { rectify, 1000 },
      gemm,
    },
    expect = { { severity = "warning", message = "*(2 kernels)*" } },
  },
  {
    name = "leaves batch normalization with the batch's statistics alone",
    trace = steps {
      gemm,
      { statistics, 1000 },
      { deviation, 2 },
      { normalize, 1000 },
      { rectify, 1000 },
      gemm,
    },
    expect = "clean",
  },
  -- Two copies of 1 ms go, and of two kernels of 500 us one remains.
  {
    name = "counts copies around group normalization, which compiled code does without",
    trace = steps {
      gemm,
      { layout, 1000 },
      { moments, 300 },
      { parameters, 2 },
      scale,
      silu,
      { layout, 1000 },
      gemm,
    },
    expect = {
      {
        severity = "warning",
        message = "*67 % of that are copies to another layout and back around group \z
          normalization, which a compiled one does not need.",
        worth = { 0.23, 0.26 },
      },
    },
  },
  {
    name = "keeps a copy that no normalization asks for",
    trace = steps { gemm, { layout, 1000 }, scale, silu, { layout, 1000 }, gemm },
    expect = { { severity = "warning", worth = { 0.18, 0.21 } } },
  },
  {
    name = "promises little where one kernel is most of a run",
    trace = steps { gemm, { add, 2000 }, { cast, 100 }, { multiply, 100 }, gemm },
    expect = { { severity = "note", worth = { 0.019, 0.021 } } },
  },
  {
    name = "is silent about scans, which do not fuse",
    trace = steps { gemm, scan, scan, scan, scan },
    expect = "clean",
  },
  {
    name = "is silent about casts in a row, of a weight each",
    trace = steps { gemm, cast, cast, cast, gemm, cast, cast, cast },
    expect = "clean",
  },
  {
    name = "is not misled by what other streams do meanwhile",
    trace = steps({}, {
      ops = {
        { 20, 1000, kernel = gemm },
        { 1000, 2000, kernel = add },
        { 1500, 1600, kernel = gemm, stream = 8 },
        { 2000, 3000, kernel = multiply },
        { 3000, 4000, kernel = cast },
        { 4000, 10000, kernel = gemm },
      },
    }),
    expect = { { severity = "warning", message = "1 run*(3 kernels)*" } },
  },
  {
    name = "fires without steps, on the whole window",
    trace = {
      ops = {
        { 0, 2000, kernel = add },
        { 2000, 4000, kernel = cast },
        { 4000, 6000, kernel = add },
        { 6000, 10000, kernel = gemm },
      },
    },
    expect = { { severity = "warning" } },
  },
  {
    name = "notes 6 %",
    trace = steps { gemm, { add, 200 }, { multiply, 200 }, { cast, 200 } },
    expect = { { severity = "note" } },
  },
  {
    name = "is a note below the team's own threshold",
    trace = steps(gelu),
    options = { share = 0.5 },
    expect = { { severity = "note" } },
  },

  {
    name = "is silent about pairs",
    trace = steps { gemm, add, cast, gemm, add, cast, gemm, add, cast, gemm },
    expect = "clean",
  },
  {
    name = "is silent about 3 %",
    trace = steps { gemm, { add, 100 }, { multiply, 100 }, { cast, 100 } },
    expect = "clean",
  },
  {
    name = "fires on an MLP's activation and gate, of which two are enough",
    trace = steps {
      gemm,
      gemm,
      silu,
      multiply,
      gemm,
      gemm,
      gemm,
      multiply,
      multiply,
      silu_backward,
      gemm,
    },
    expect = {
      {
        severity = "warning",
        message = "2 runs a step of elementwise*(5 kernels) take 2.50 ms*100 % of that is the \z
          activation of an MLP, between its products.",
        worth = { 0.149, 0.151 },
      },
    },
  },
  {
    name = "fires on a gate whose activation stands apart",
    replay = true,
    trace = (function()
      local trace = steps({
        gemm,
        { silu, 1500 },
        gemm,
        { multiply, 1500 },
        gemm,
        gemm,
        { silu, 1500 },
        gemm,
        { multiply, 1500 },
      }, { calls = { { 60, 9992, "cudaDeviceSynchronize" } } })
      for i, op in ipairs(trace.ops) do
        op.launched = { i * 2, i * 2 + 1 }
      end
      trace.ops[#trace.ops][2] = 9990
      return trace
    end)(),
    expect = {
      {
        severity = "warning",
        message = "4 runs a step*(4 kernels)*100 % of that is the activation of an MLP, between \z
          its products.",
        worth = { 0.29, 0.31 },
      },
    },
  },
  {
    name = "is silent about an activation without a gate",
    trace = steps { gemm, { silu, 1500 }, gemm, gemm, { silu, 1500 }, gemm },
    expect = "clean",
  },
  {
    name = "fires where there are no longer ones",
    trace = steps { gemm, gemm, silu, multiply, gemm },
    expect = {
      {
        severity = "warning",
        message = "1 run a step of elementwise*",
        worth = { 0.049, 0.051 },
      },
    },
  },
  {
    name = "fuses dropout and residual into the norm behind them",
    replay = true,
    trace = (function()
      local trace = steps(
        { gemm, dropout, add, norm, gemm, cast, add, tanh },
        { calls = { { 40, 9992, "cudaDeviceSynchronize" } } }
      )
      for i, op in ipairs(trace.ops) do
        op.launched = { i * 2, i * 2 + 1 }
      end
      trace.ops[#trace.ops][2] = 9990
      return trace
    end)(),
    expect = {
      {
        severity = "warning",
        message = "*Dropout, residual and normalization (1.5 ms) fuse with each other as well.*",
        worth = { 0.18, 0.19 },
      },
    },
  },
  {
    name = "leaves out what cuDNN converts around convolutions, which a compiler does not fuse",
    trace = steps { gemm, converted, add, converted, gemm },
    expect = "clean",
  },
  {
    name = "is silent about two kernels that are no MLP's",
    trace = steps { gemm, add, multiply, gemm },
    expect = "clean",
  },
  {
    name = "is silent about runs that are too short for the team",
    trace = steps(gelu),
    options = { least = 10 },
    expect = "clean",
  },
  {
    name = "leaves attention as separate kernels to its rule",
    trace = steps { gemm, add, multiply, cast, softmax, add, multiply, cast, gemm },
    expect = "clean",
  },
  {
    name = "by hand, too",
    trace = steps { gemm, multiply, maximum, add, exponential, sum, multiply, cast, gemm },
    expect = "clean",
  },
  {
    name = "leaves a norm as separate kernels to its rule",
    trace = steps { gemm, add, power, mean, root, multiply, cast, gemm },
    expect = "clean",
  },
  {
    name = "leaves an optimizer's loop to its rule",
    trace = steps(loop(60, 50)),
    expect = "clean",
  },
  {
    name = "in a range, too",
    trace = steps({ gemm, gemm, add, multiply, cast, add }, {
      ranges = { { 0, 9995, "step {n}" }, { 4, 9, "optimizer_step" } },
      ops = {
        { 20, 5000, kernel = gemm, launched = { 1, 2 } },
        { 5000, 6000, kernel = add, launched = { 5, 6 } },
        { 6000, 7000, kernel = multiply, launched = { 6, 7 } },
        { 7000, 8000, kernel = add, launched = { 7, 8 } },
        { 8000, 10000, kernel = gemm, launched = { 12, 13 } },
      },
    }),
    expect = "clean",
  },
  {
    name = "leaves out what waits for pages of unified memory",
    trace = steps(gelu, { gpu_faults = { { 520, 3020, address = 0 } } }),
    expect = "clean",
  },
  {
    name = "takes any options",
    trace = steps { gemm, gemm },
    options = { note_share = 0, share = 0, least = 0, loop = 0 },
    expect = "clean",
  },

  {
    name = "needs what graphs hold",
    trace = steps({}, { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = gemm } } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(gelu, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "good: what its norms leave",
    fixture = "good",
    expect = { { severity = "warning", subject = "elementwise runs", worth = { 0.26, 0.32 } } },
  }, -- compiled, its norms are fused as well; measured 0.26
  {
    name = "lora",
    fixture = "lora",
    expect = { { severity = "warning", worth = { 0.34, 0.4 } } },
  }, -- measured 0.38
  { name = "compile", fixture = "compile", expect = "clean" },
  { name = "compile-graphsnode", fixture = "compile-graphsnode", expect = "clean" },
  { name = "offload: little of its step", fixture = "offload", expect = "clean" },
  { name = "um: its kernels wait for pages", fixture = "um", expect = "clean" },
  {
    name = "launchbound: its kernels are little of the step",
    fixture = "launchbound",
    expect = "clean",
  },
  {
    name = "compile-graphs: its kernels are hidden",
    fixture = "compile-graphs",
    expect = "not checked",
  },
}

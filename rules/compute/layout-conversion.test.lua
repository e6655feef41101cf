-- Six steps of 10 ms: `time` us in conversions around a convolution, half of the rest in batch
-- normalization.
local convolution =
  "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsi\z
    ze1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"
local into, back =
  "void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, float, false, \z
    true, (cudnnKernelDataType_t)0>(int)",
  "void cudnn::engines_precompiled::nhwcToNchwKernel<__nv_bfloat16, __nv_bfloat16, float, true, \z
    false, (cudnnKernelDataType_t)0>(int)"
local batch_norm =
  "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct)"
local group_norm =
  "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::BFloat16>(long)"
local relu =
  "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous \z
    namespace)::launch_clamp_scalar(at::TensorIteratorBase&)>(int)"

local function steps(time, norm, more)
  local rest = (9975 - time) / 2
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9999, "step {n}" } },
    calls = { { 12, 9998, "cudaDeviceSynchronize" } },
    ops = {
      { 20, 20 + time / 2, kernel = into, launched = { 1, 3 } },
      { 20 + time / 2, 20 + time / 2 + rest, kernel = convolution, launched = { 3, 5 } },
      { 20 + time / 2 + rest, 20 + time + rest, kernel = back, launched = { 5, 7 } },
      { 20 + time + rest, 9995, kernel = norm, launched = { 7, 9 } },
    },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end

-- Six steps of these kernels, one after the other: { name, us }.
local function measured(kernels)
  local ops, at = {}, 20
  for i, k in ipairs(kernels) do
    ops[i] = { at, at + k[2], kernel = k[1], launched = { 2 * i, 2 * i + 1 } }
    at = at + k[2]
  end
  return {
    repeats = { times = 6, every = at + 5 },
    ranges = { { 0, at + 4, "step {n}" } },
    calls = { { 12, at + 3, "cudaDeviceSynchronize" } },
    ops = ops,
  }
end

return {
  {
    name = "fires on conversions around a convolution",
    trace = steps(2000, relu),
    expect = {
      {
        severity = "error",
        subject = "convolutions",
        confidence = "medium",
        message = "2 kernels a step convert operands of convolutions between NCHW and NHWC: 2.00 \z
          ms of each 10.0 ms step (20 %)*",
        worth = { 0.19, 0.21 },
      },
    },
  },
  {
    name = "foretells a faster batch normalization",
    replay = true,
    trace = steps(2000, batch_norm),
    expect = { { severity = "error", worth = { 0.42, 0.44 } } },
  },
  {
    name = "only notes it next to group normalization, which may become slower",
    trace = steps(2000, group_norm),
    expect = {
      {
        severity = "note",
        confidence = "low",
        message = "*group normalization, whose operands are then copied to NCHW and back*",
      },
    },
  },
  {
    name = "counts what an older cuDNN calls them",
    trace = steps(2000, relu, {
      ops = {
        {
          20,
          1000,
          kernel = "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, \z
            (cudnnKernelDataType_t)2>(cudnn::ops::nchw2nhwc_params_t<float>, float const*, \z
            float*)",
        },
        { 1000, 10000, kernel = convolution },
      },
    }),
    expect = { { severity = "warning" } },
  },
  {
    name = "a step of 32.5 ms measured 18.3 in NHWC",
    replay = true,
    trace = {
      repeats = { times = 6, every = 32520 },
      ranges = { { 0, 32519, "step {n}" } },
      calls = { { 12, 32518, "cudaDeviceSynchronize" } },
      ops = {
        { 20, 4500, kernel = into, launched = { 1, 3 } },
        { 4500, 12500, kernel = convolution, launched = { 3, 5 } },
        { 12500, 16000, kernel = back, launched = { 5, 7 } },
        { 16000, 29000, kernel = batch_norm, launched = { 7, 9 } },
        { 29000, 32515, kernel = relu, launched = { 9, 11 } },
      },
    },
    expect = { { severity = "error", worth = { 0.44, 0.47 } } },
  },

  -- Steps as measured on an H100, by kind of kernel.
  {
    name = "a UNet with batch normalization, training in 14.6 ms, measured 9.3 in NHWC",
    replay = true,
    trace = measured {
      { into, 2190 },
      { convolution, 2480 },
      { batch_norm, 5550 },
      { relu, 4380 },
    },
    expect = { { severity = "error", worth = { 0.28, 0.37 } } },
  },
  {
    name = "the same in inference, 4.4 ms, measured 4.7: to be tried",
    replay = true,
    trace = measured {
      { into, 880 },
      { convolution, 1410 },
      { "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float)", 480 },
      { relu, 1670 },
    },
    expect = { { severity = "note", confidence = "medium", worth = { 0.31, 0.33 } } },
  },
  {
    name = "a UNet with group normalization, 6.2 ms, measured 7.6: to be tried",
    replay = true,
    trace = measured {
      { into, 990 },
      { convolution, 1550 },
      { group_norm, 930 },
      { relu, 2610 },
    },
    expect = { { severity = "note", confidence = "low", worth = { 0, 0.001 } } },
  },
  {
    name = "a RegNetY in inference, 7.8 ms, measured 8.8: to be tried",
    replay = true,
    trace = measured {
      { into, 940 },
      { convolution, 2670 },
      { batch_norm, 1810 },
      { relu, 1960 },
      {
        "void tensorTransformGeneric<__nv_bfloat16, __nv_bfloat16, float, true, false>(int)",
        310,
      },
    },
    expect = { { severity = "note" } },
  },
  { name = "is silent about 4 %", trace = steps(400, relu), expect = "clean" },
  {
    name = "is silent about convolutions in NHWC",
    trace = steps(
      2000,
      batch_norm,
      { ops = { { 20, 5000, kernel = convolution }, { 5000, 10000, kernel = batch_norm } } }
    ),
    expect = "clean",
  },
  {
    name = "is silent about a transposition of the program",
    trace = steps(2000, relu, {
      ops = {
        { 20, 5000, kernel = "void transpose_kernel<float>(float*)" },
        { 5000, 10000, kernel = convolution },
      },
    }),
    expect = "clean",
  },
  {
    name = "needs convolutions",
    trace = steps(2000, relu, { ops = { { 20, 10000, kernel = relu } } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(2000, relu, { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = steps(
      2000,
      relu,
      { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = relu } } }
    ),
    expect = "not checked",
  },

  { name = "good: no convolution", fixture = "good", expect = "clean" },
}

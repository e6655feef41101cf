-- Six steps of 10 ms on 132 SMs: one kernel of `time` us and `blocks` blocks, the rest in a full
-- one.
local full, little = "my_full_kernel", "my_small_kernel"
local function steps(time, blocks, more)
  more = more or {}
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    ops = {
      { 20, 20 + time, kernel = more.kernel or little, blocks = blocks, launched = { 5, 10 } },
      { 20 + time, 10000, kernel = full, launched = { 10, 15 } },
    },
  }
  for key, value in pairs(more) do
    trace[key] = value
  end
  trace.kernel = nil
  return trace
end

local function sampled(percent)
  return {
    { 500, "SMs Active [Throughput %]", percent },
    { 5500, "SMs Active [Throughput %]", percent },
  }
end

-- A kernel of 6 us and 4 blocks, and the host after each.
local function tiny(more)
  local kernel = { 5, 11, kernel = little, blocks = 4, launched = { 0, 5 } }
  for key, value in pairs(more or {}) do
    kernel[key] = value
  end
  return { repeats = { times = 40, every = 20 }, ops = { kernel } }
end

local function of(kernel)
  return steps(
    5000,
    8,
    { kernel = kernel, ranges = { { 0, 9990, "step {n}" }, { 0, 9, "aten::x" } } }
  )
end
local spatial =
  "void at::native::(anonymous namespace)::cunn_SpatialSoftMaxForward<float, float, float, int, \z
    at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, float const*, int)"

-- Forty steps of 1 ms. The host writes a page that two kernels use. For five steps it comes back to
-- the GPU by a fault (`alternates`), for the next five it stays on the host, and the kernels take
-- `far` us instead of 20.
local function left_on_host(far, alternates)
  local trace = { ranges = {}, ops = {}, gpu_faults = {} }
  for step = 0, 39 do
    local at = step * 1000
    local near = alternates and step % 10 < 5
    local long = step % 10 < 5 and 20 or far
    trace.ranges[#trace.ranges + 1] = { at, at + 950, "step " .. step }
    for i, kernel in ipairs { "push", "solve" } do
      local start = at + 50 + (i - 1) * (long + 5)
      trace.ops[#trace.ops + 1] = {
        start,
        start + long,
        kernel = kernel,
        blocks = kernel == "solve" and 1 or 1056,
        threads = 256,
        launched = { at + 5 * i, at + 5 * i + 3 },
      }
    end
    trace.ops[#trace.ops + 1] =
      { at + 900, at + 940, kernel = "deposit", blocks = 2000, threads = 256 }
    if near then
      trace.gpu_faults[#trace.gpu_faults + 1] = { at + 51, at + 55, address = 0 }
      trace.ops[#trace.ops + 1] =
        { at + 56, at + 58, copy = "um_h2d", bytes = 4096, address = 0, cause = "fault" }
    end
  end
  return trace
end

return {
  {
    name = "leaves a block that is long where its page is far to um-migration-storm",
    trace = left_on_host(400, true),
    expect = "clean",
  },
  {
    name = "but not one that is long for another reason",
    trace = left_on_host(400, false),
    expect = { { subject = "small grids" } },
  },
  {
    name = "says how a softmax over another dimension than the last gets blocks",
    trace = of(spatial),
    expect = {
      {
        severity = "error",
        message = "*% of the kernel time, 100 % of it in 'cunn_SpatialSoftMaxForward<float, *",
        advice = "Let softmax reduce the last dimension: 'cunn_SpatialSoftMaxForward<float, *",
      },
    },
  },
  {
    name = "says how rows that are sorted or summed up get blocks",
    trace = of "void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float> \z
      >(float*)",
    expect = {
      { advice = "Give rows to more blocks: 'tensor_kernel_scan_innermost_dim*" },
    },
  },
  {
    name = "says how groups that are normalized get blocks",
    trace = of "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>(long, \z
      float)",
    expect = { { advice = "Normalize in a kernel that shares a group among blocks: *" } },
  },
  {
    name = "asks for more work where a product is most of it, whose tiles are more then",
    trace = of "ampere_sgemm_128x64_nn",
    expect = { { advice = "Use a larger batch*" } },
  },
  {
    name = "claims nothing of the time that a kernel takes on any number of SMs",
    trace = tiny(),
    expect = { { worth = { 0.14, 0.155 } } }, -- 3 of 6 us; the window ends with the last kernel
  },
  {
    name = "advises more blocks where a program's own kernel is long, whatever idles",
    trace = {
      repeats = { times = 6, every = 10000 },
      ops = { { 20, 3000, kernel = little, blocks = 64, threads = 128, launched = { 5, 10 } } },
    },
    expect = { { advice = "Launch more blocks: *fewer blocks than this GPU has SMs (132)*" } },
  },
  {
    name = "advises more work in each launch where it is short",
    trace = tiny { blocks = 64, threads = 128 },
    expect = { { advice = "Put more work in each launch: *" } },
  },
  {
    name = "advises more blocks where one block runs, whatever idles",
    trace = tiny { blocks = 1, threads = 1024 },
    expect = { { advice = "Launch more blocks: *runs with 1 x 1024 threads*" } },
  },
  {
    name = "is silent about a kernel that waits for its first page",
    trace = {
      not_collected = { "gpu_faults" },
      ops = {
        { 20, 490, kernel = little, blocks = 16 },
        { 460, 464, copy = "um_h2d", bytes = 65536, address = 65536, cause = "fault" },
        { 600, 1000, kernel = full },
      },
    },
    expect = "clean",
  },
  {
    name = "does not take what precedes a page for a wait if that is longer than any such wait",
    trace = {
      not_collected = { "gpu_faults" },
      ops = {
        { 20, 4900, kernel = little, blocks = 16 },
        { 4600, 4604, copy = "um_h2d", bytes = 65536, address = 65536, cause = "fault" },
        { 5000, 5200, kernel = full },
      },
    },
    expect = { { severity = "error" } },
  },
  {
    name = "leaves out a run that takes longer than all others together",
    trace = {
      ops = {
        { 20, 30, kernel = little, blocks = 4 },
        { 30, 40, kernel = little, blocks = 4 },
        { 40, 2500, kernel = little, blocks = 4 },
        { 2500, 3500, kernel = full },
      },
    },
    expect = "clean",
  },
  {
    name = "says what was sampled",
    trace = steps(5000, 1, { samples = sampled(40) }),
    expect = {
      {
        severity = "error",
        message = "*of the kernel time, 100 % of it in 'my_small_kernel', which runs with 1 x 256 \z
          (blocks x threads a block). SMs were sampled as active 40 % of the time.",
        worth = { 0.49, 0.5 },
      },
    },
  },
  {
    name = "is worth no more than sampling leaves",
    trace = steps(5000, 1, { samples = sampled(80) }),
    expect = {
      { severity = "warning", message = "*active 80 % of the time.", worth = { 0.19, 0.2 } },
    },
  },
  {
    name = "is silent where sampling finds the SMs at work",
    trace = steps(5000, 1, { samples = sampled(97) }),
    expect = "clean",
  },
  {
    name = "fires on one block",
    trace = steps(5000, 1),
    expect = {
      {
        severity = "error",
        subject = "small grids",
        confidence = "medium",
        message = "1 kernel a step is too small to fill this GPU (132 SMs): it takes 5.00 ms of \z
          each 10.0 ms step, and meanwhile 99 % of the SMs are empty*",
        worth = { 0.49, 0.5 },
      },
    },
  },
  {
    name = "weighs by what is left empty",
    trace = steps(5000, 66),
    expect = { { severity = "error", worth = { 0.24, 0.26 } } },
  },
  {
    name = "is a warning at 12 %",
    trace = steps(1500, 27),
    expect = { { severity = "warning", worth = { 0.11, 0.13 } } },
  },
  {
    name = "adds up what is different",
    trace = steps(0, 1, {
      ops = {
        { 20, 1020, kernel = "a", blocks = 12 },
        { 1020, 2020, kernel = "b", blocks = 24 },
        { 2020, 10000, kernel = full },
      },
    }),
    expect = { { severity = "warning", message = "2 kernels*", worth = { 0.16, 0.18 } } },
  },
  {
    name = "fires on a graph's nodes",
    trace = steps(0, 1, {
      ops = {
        { 20, 5020, kernel = little, blocks = 1, in_graph = true },
        { 5020, 10000, kernel = full },
      },
    }),
    expect = { { severity = "error" } },
  },
  {
    name = "fires on another GPU, by its own SMs",
    trace = steps(
      5000,
      132,
      { device = { name = "NVIDIA B200", compute = 10.0, sm_count = 148, memory_gib = 180 } }
    ),
    options = { share = 0.05 },
    expect = { { severity = "warning", message = "*(148 SMs)*" } },
  },
  {
    name = "goes by the time in which kernels run",
    trace = steps(
      0,
      1,
      { ops = { { 20, 420, kernel = little, blocks = 1 }, { 420, 1000, kernel = full } } }
    ),
    expect = {
      {
        severity = "note",
        message = "*% of the kernel time, 100 % of it in 'my_small_kernel', *",
        worth = { 0.03, 0.05 },
      },
    },
  },

  {
    name = "fires on as many blocks as SMs, of one warp each",
    trace = steps(5000, 132, {
      ops = {
        { 20, 5020, kernel = little, blocks = 132, threads = 32 },
        { 5020, 10000, kernel = full },
      },
    }),
    expect = {
      {
        severity = "error",
        message = "*and meanwhile 75 % of the SMs are empty*",
        advice = "Use blocks of 128 threads or more: *'my_small_kernel' runs with 132 x 32 \z
          threads*",
        worth = { 0.37, 0.38 },
      },
    },
  },
  {
    name = "counts what runs beside, moment by moment",
    trace = steps(0, 1, {
      ops = {
        { 20, 5020, kernel = little, blocks = 33 },
        { 20, 5020, kernel = little, blocks = 33, stream = 8 },
        { 5020, 10000, kernel = full },
      },
    }),
    expect = {
      {
        severity = "error",
        message = "2 kernels*and meanwhile 50 % of the SMs are empty*",
        worth = { 0.24, 0.26 },
      },
    },
  },
  {
    name = "is silent about many blocks of one warp",
    trace = steps(0, 1, {
      ops = {
        { 20, 9000, kernel = little, blocks = 600, threads = 32 },
        { 9000, 10000, kernel = full },
      },
    }),
    expect = "clean",
  },
  {
    name = "is silent next to a persistent product",
    trace = steps(0, 1, {
      ops = {
        { 20, 9000, kernel = little, blocks = 4, stream = 8 },
        { 20, 9000, kernel = "nvjet_sm90_tst_64x8_64x16_2x4_h_bz_NNT", blocks = 64 },
        { 9000, 10000, kernel = full },
      },
    }),
    expect = "clean",
  },
  { name = "is silent about a nearly full kernel", trace = steps(9000, 128), expect = "clean" },
  { name = "is silent about a full one", trace = steps(9000, 132), expect = "clean" },
  { name = "is silent below a tenth", trace = steps(900, 1), expect = "clean" },
  {
    name = "is silent about collectives, which need few",
    trace = steps(
      5000,
      24,
      { kernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)" }
    ),
    expect = "clean",
  },
  {
    name = "is silent about persistent products",
    trace = steps(5000, 64, { kernel = "nvjet_sm90_tst_64x8_64x16_2x4_h_bz_NNT" }),
    expect = "clean",
  },
  {
    name = "is silent about stream-k",
    trace = steps(5000, 64, {
      kernel = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_ldg8_relu_s\z
        tream_k_nn_align8>(T1::Params)",
    }),
    expect = "clean",
  },
  {
    name = "is silent about attention on Hopper",
    trace = steps(5000, 64, {
      kernel = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1\z
        _cga1x1x1_kernel0_0",
    }),
    expect = "clean",
  },
  {
    name = "is silent about paged attention, which decodes",
    trace = steps(5000, 64, {
      kernel = "void vllm::paged_attention_v1_kernel<unsigned short, unsigned short, 128, 16, \z
        128, (vllm::Fp8KVCacheDataType)0, false>(float*)",
    }),
    expect = "clean",
  },
  {
    name = "is silent about attention before Hopper",
    trace = steps(5000, 64, {
      kernel = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, \z
        false, false, cutlass::bfloat16_t> >(pytorch_flash::Flash_fwd_params)",
    }),
    expect = "clean",
  },
  {
    name = "asks for fewer boxes, not for more work, where a kernel decides on one after another",
    trace = steps(5000, 1, {
      kernel = "void vision::ops::gather_keep_from_mask<unsigned long long>(bool*, int)",
      ranges = { { 0, 9900, "step {n}" }, { 0, 9, "aten::mm" } },
    }),
    expect = { { advice = "Keep fewer boxes before non-maximum suppression: *" } },
  },
  {
    name = "warns without steps where one kernel is most of all",
    trace = {
      ops = {
        { 20, 9000, kernel = little, blocks = 1, threads = 1 },
        { 9000, 10000, kernel = full },
      },
    },
    expect = { { severity = "error" } },
  },
  {
    name = "only mentions kernels that run side by side and fill most of the GPU",
    trace = steps(0, 1, {
      ops = {
        { 20, 9000, kernel = little, blocks = 50 },
        { 20, 9000, kernel = little, blocks = 40, stream = 8 },
        { 9000, 10000, kernel = full },
      },
    }),
    expect = { { severity = "note" } },
  },
  {
    name = "is silent where kernels of two streams fill the GPU together",
    trace = steps(0, 1, {
      ops = {
        { 20, 9000, kernel = little, blocks = 112 },
        { 20, 9000, kernel = little, blocks = 20, stream = 8 },
        { 9000, 10000, kernel = full },
      },
    }),
    expect = "clean",
  },
  {
    name = "goes by its share without steps",
    trace = {
      ops = { { 20, 4020, kernel = little, blocks = 1 }, { 4020, 10000, kernel = full } },
    },
    expect = {
      {
        severity = "error",
        subject = "small grids",
        message = "1 kernel in all*",
        worth = { 0.39, 0.41 },
      },
    },
  },
  {
    name = "leaves out what waits for pages of unified memory",
    trace = steps(5000, 1, { gpu_faults = { { 20, 5000, address = 0 } } }),
    expect = "clean",
  },
  {
    name = "is silent about kernels that are over at once",
    trace = steps(0, 1, {
      repeats = { times = 200, every = 5 },
      ranges = {},
      ops = { { 1, 3, kernel = little, blocks = 1 } },
    }),
    expect = "clean",
  },
  {
    name = "is silent where others run next to it",
    trace = steps(0, 1, {
      ops = {
        { 20, 5020, kernel = little, blocks = 1, stream = 8 },
        { 20, 10000, kernel = full },
      },
    }),
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(5000, 1),
    options = { share = 0.6 },
    expect = "clean",
  },
  {
    name = "takes any options",
    trace = steps(0, 1, { ops = { { 20, 10000, kernel = full } } }),
    options = { share = 0, min_ns = 0 },
    expect = "clean",
  },

  {
    name = "needs to know the SMs",
    trace = steps(5000, 1, { device = { name = "", compute = 0, sm_count = 0 } }),
    expect = "not checked",
  },
  {
    name = "needs a kernel",
    trace = steps(0, 1, { ops = { { 20, 10000, copy = "h2d", bytes = 1e9 } } }),
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = steps(
      0,
      1,
      { ops = { { 20, 9000, graph = true }, { 9000, 10000, kernel = little, blocks = 1 } } }
    ),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(5000, 1, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  { name = "lora", fixture = "lora", expect = "clean" },
  { name = "ddp: collectives", fixture = "ddp", expect = "clean" },
  { name = "compile", fixture = "compile", expect = "clean" },
  {
    name = "launchbound: its kernels are over at once",
    fixture = "launchbound",
    expect = "clean",
  },
  {
    name = "compile-graphs: its kernels are hidden",
    fixture = "compile-graphs",
    expect = "not checked",
  },
}

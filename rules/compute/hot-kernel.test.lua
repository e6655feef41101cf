-- Six iterations of 10 ms in which `hot` runs for `time` us, launched as `more` says, and a
-- library's kernel for the rest.
local hot = "void solver::relax<float>(float *, const float *, int)"
local function steps(time, more)
  local op = { 20, 20 + time, kernel = hot, blocks = 60000, threads = 256, registers = 32 }
  for key, value in pairs(more or {}) do
    op[key] = value
  end
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    ops = {
      op,
      {
        20 + time,
        10000,
        kernel = "void cub::DeviceReduceKernel<int>(int)",
        launched = { 10, 15 },
      },
    },
  }
end
local function with(trace, fields)
  for key, value in pairs(fields) do
    trace[key] = value
  end
  return trace
end
-- Thirty launches of one grid, a third of which takes 40 us, the others `long`.
local function shrinking(long, blocks)
  local ops, at = {}, 20
  for i = 1, 30 do
    ops[i] = { at, at + (i > 20 and 40 or long), kernel = hot, blocks = blocks, threads = 256 }
    at = at + (i > 20 and 45 or long + 5)
  end
  return { ops = ops }
end

-- The same with lengths from 40 to 400 us in no order.
local function unordered(blocks, threads)
  local ops, at = {}, 20
  for i = 1, 30 do
    local time = 40 + (i * 17) % 31 * 12
    ops[i] = { at, at + time, kernel = hot, blocks = blocks, threads = threads, registers = 32 }
    at = at + time + 5
  end
  return { ops = ops }
end
-- A PyTorch program with a product of its own.
local function product(more)
  more.kernel, more.registers = "matmul_k(float *, float *, float *, int)", more.registers or 0
  local trace = steps(9000, more)
  trace.ops[2].kernel = "void at::native::vectorized_elementwise_kernel<4>(int)"
  return trace
end

-- Counting for `time` us after a kernel of one block that takes 4.5 ms.
local function counting(time, more)
  more.kernel = more.kernel or "void countHistogram(const unsigned char *, unsigned int *)"
  local trace = steps(time, more)
  table.insert(trace.ops, 1, {
    20 + time,
    4520 + time,
    kernel = "range_of(const unsigned char *, int *)",
    blocks = 1,
    launched = { 5, 10 },
  })
  trace.ops[3][1] = 4520 + time
  return trace
end

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
    for i, kernel in ipairs { "void push<float>(float*)", "solve" } do
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
    name = "leaves a kernel that is long where its page is far to um-migration-storm",
    trace = left_on_host(400, true),
    expect = "clean",
  },
  {
    name = "but not one that is long for another reason",
    trace = left_on_host(400, false),
    expect = { { subject = "push" } },
  },
  {
    name = "fires on counting without shared memory, beside a grid that is too small",
    trace = counting(4000, {}),
    expect = {
      {
        severity = "warning",
        subject = "countHistogram",
        title = "'countHistogram' takes 40 % of kernel time, counting without shared memory",
        message = "*threads that add to the same bin of global memory wait for each other.*",
        advice = "Count in shared memory first: *",
        worth = { 0.33, 0.34 },
      },
    },
  },
  {
    name = "is a note where counting uses shared memory",
    trace = counting(4000, { shared = 1024 }),
    expect = { { severity = "note", advice = "Ask Nsight Compute*" } },
  },
  {
    name = "is a note where only a part of the name is that of counting",
    trace = counting(4000, { kernel = "void keepHistory(const float *, float *)" }),
    expect = { { severity = "note", advice = "Ask Nsight Compute*" } },
  },
  {
    name = "is silent where it is little of what fills the GPU",
    trace = counting(2000, {}),
    expect = "clean",
  },
  {
    name = "fires on blocks of half a warp",
    trace = steps(9000, { threads = 16, blocks = 60000, registers = 16 }),
    expect = {
      {
        severity = "error",
        subject = "relax",
        message = "'void solver::relax<float>(float *, const float *, int)' takes 9.00 ms of each \z
          10.0 ms step (90 %)*60000 blocks of 16 threads (16 registers a thread, 0 bytes of \z
          shared memory a block: 50 % of an SM's warps, by its blocks): a warp has 32 lanes, of \z
          which 50 % have no thread.*",
        advice = "Launch blocks of 128 or 256*",
        worth = { 0.44, 0.46 },
      },
    },
  },
  {
    name = "fires on blocks of which an SM holds too few",
    trace = with(steps(9000, { threads = 32, registers = 16 }), {
      device = {
        name = "NVIDIA GeForce RTX 3090",
        compute = 8.6,
        sm_count = 82,
        memory_gib = 24,
      },
    }),
    expect = {
      {
        severity = "error",
        message = "*an SM holds at most 16 blocks, and such small ones fill 33 % of its warps.*",
        worth = { 0.59, 0.61 },
      },
    },
  },
  {
    name = "fires on a last wave that is nearly empty",
    trace = steps(9000, { blocks = 132 * 8 + 60, threads = 256 }),
    expect = {
      {
        severity = "error",
        message = "*the GPU holds 1056 of them at once, so the last wave leaves 94 % of it empty.*",
        advice = "Cut the work into a multiple of 1056 blocks*",
        worth = { 0.42, 0.43 },
      },
    },
  },
  {
    name = "fires on a grid that stays while the work shrinks",
    trace = shrinking(400, 20000),
    expect = {
      {
        severity = "warning",
        message = "*with the same grid, a tenth of its launches takes 40.0 us or less and a tenth \z
          400.0 us or more*",
        advice = "Launch only as many blocks as there is work*",
        worth = { 0.09, 0.19 },
      },
    },
  },
  {
    name = "is a note where the work changes from launch to launch, but in no order",
    trace = unordered(20000, 256),
    expect = { { severity = "note" } },
  },
  {
    name = "says nothing about the grid of such work where lanes are empty",
    trace = unordered(20000, 4),
    expect = {
      {
        severity = "error",
        message = "*of which 88 % have no thread*",
        advice = "Launch blocks of 128 or 256*",
      },
    },
  },
  {
    name = "fires on a product without shared memory, whoever launches it",
    trace = product { registers = 32 },
    expect = {
      {
        severity = "error",
        title = "'matmul_k' takes 90 % of kernel time, a product without shared memory",
        message = "*each thread loads all that it multiplies from global memory.*",
        advice = "Multiply with torch.matmul*",
      },
    },
  },
  {
    name = "is a note where a product uses shared memory",
    trace = product { registers = 32, shared = 16384 },
    expect = { { severity = "note", advice = "Multiply with torch.matmul*" } },
  },
  {
    name = "is a note where it is unknown whether a product does",
    trace = product {},
    expect = { { severity = "note" } },
  },
  {
    name = "is a note where the work stays",
    trace = shrinking(100, 20000),
    expect = { { severity = "note" } },
  },
  {
    name = "is a note where few blocks loop over all of it",
    trace = shrinking(400, 1056),
    expect = { { severity = "note" } },
  },
  {
    name = "is a note where the launch is sound",
    trace = steps(9000),
    expect = {
      {
        severity = "note",
        message = "*which suits the device*",
        advice = "Ask Nsight Compute what bounds it: ncu --kernel-name relax *",
      },
    },
  },
  {
    name = "is a note where registers limit it: that may be meant so",
    trace = steps(9000, { registers = 255 }),
    expect = {
      {
        severity = "note",
        message = "*(255 registers a thread, 0 bytes of shared memory a block: 12 % of an SM's \z
          warps, by its registers)*",
      },
    },
  },
  {
    name = "is a note where memory is busy",
    trace = with(steps(9000, { threads = 48 }), {
      samples = {
        { 500, "DRAM Read Bandwidth [Throughput %]", 50 },
        { 500, "DRAM Write Bandwidth [Throughput %]", 40 },
      },
    }),
    expect = {
      {
        severity = "note",
        message = "*Memory was sampled as busy 90 % of the time.",
        advice = "Ask Nsight Compute*",
      },
    },
  },
  {
    name = "goes by the window without steps",
    trace = { ops = { { 20, 9000, kernel = hot, blocks = 60000, threads = 16 } } },
    expect = { { severity = "error" } },
  },

  {
    name = "is silent where it is one of several",
    trace = steps(4500, { threads = 16 }),
    expect = "clean",
  },
  {
    name = "is silent about a library's kernel",
    trace = steps(9000, {
      kernel = "void at::native::elementwise_kernel<128, 4, float>(int, float)",
      threads = 16,
    }),
    expect = "clean",
  },
  {
    name = "is silent about cuBLAS",
    trace = steps(9000, { kernel = "ampere_sgemm_128x64_nn", threads = 16 }),
    expect = "clean",
  },
  {
    name = "is silent about cuFFT",
    trace = steps(9000, {
      kernel = "void regular_fft<1024u, EPT<8u>, 32u>(kernel_arguments_t<unsigned int>)",
      threads = 16,
    }),
    expect = "clean",
  },
  {
    name = "is silent about compiled code",
    trace = steps(9000, { kernel = "triton_poi_fused_add_0", threads = 16 }),
    expect = "clean",
  },
  {
    name = "is silent about collectives",
    trace = steps(9000, {
      kernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
      threads = 16,
    }),
    expect = "clean",
  },
  {
    name = "leaves a grid that is too small to low-sm-fill",
    trace = steps(9000, { blocks = 1, threads = 1 }),
    expect = "clean",
  },
  {
    name = "is silent where the kernel waits for pages of unified memory",
    trace = with(steps(9000, { threads = 16 }), { gpu_faults = { { 20, 9000, address = 0 } } }),
    expect = "clean",
  },
  {
    name = "is silent where the GPU hardly computes",
    trace = {
      repeats = { times = 6, every = 10000 },
      ranges = { { 0, 9990, "step {n}" } },
      ops = { { 20, 1000, kernel = hot, threads = 16 } },
    },
    expect = "clean",
  },

  {
    name = "needs kernels",
    trace = with(steps(9000), { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  {
    name = "needs a kernel",
    trace = { ops = { { 20, 9000, copy = "h2d", bytes = 1e9 } } },
    expect = "not checked",
  },
  {
    name = "needs what graphs hold",
    trace = { ops = { { 20, 9000, graph = true } } },
    expect = "not checked",
  },

  {
    name = "cu-own-product: 416 us, 117 by tiles",
    fixture = "cu-own-product",
    expect = {
      {
        severity = "warning",
        subject = "matmul",
        message = "*without shared memory*",
        worth = { 0.68, 0.74 },
      },
    },
  },
  {
    name = "cu-own-product-lookalike",
    fixture = "cu-own-product-lookalike",
    expect = { { severity = "note", subject = "matmul_tiled" } },
  },
  { name = "good", fixture = "good", expect = "clean" },
  { name = "compile", fixture = "compile", expect = "clean" },
  { name = "products: cuBLAS by hand", fixture = "products", expect = "clean" },
}

-- Six steps of 10 ms, in each some migrations of 64 KiB and 100 us, 200 us apart, next to a kernel.
local kib64 = 65536
local function steps(count, more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9000, "step {n}" } },
    ops = { { 20, 9950, kernel = "nvjet_tst_gemm", launched = { 5, 10 } } },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  for i = 1, count do
    trace.ops[#trace.ops + 1] = {
      i * 200,
      i * 200 + 100,
      copy = more and more.direction or "um_h2d",
      bytes = kib64,
      address = i * kib64,
      cause = more and more.cause or "fault",
    }
  end
  trace.direction, trace.cause = nil, nil
  return trace
end
local function with(op)
  return { { 20, 9950, kernel = "nvjet_tst_gemm", launched = { 5, 10 } }, op }
end
-- The host touches 40 pages, 100 us each: a fault, and 30 us later the page comes, 10 us long.
local function touched_ops()
  local ops = { { 20, 3000, kernel = "my_stencil", launched = { 5, 10 } } }
  for i = 0, 39 do
    ops[#ops + 1] = {
      3040 + i * 100,
      3050 + i * 100,
      copy = "um_d2h",
      bytes = kib64,
      address = i * kib64,
      cause = "fault",
    }
  end
  ops[#ops + 1] = { 7020, 9950, kernel = "my_stencil", launched = { 7005, 7010 } }
  return ops
end
local function touched_faults()
  local faults = {}
  for i = 0, 39 do
    faults[#faults + 1] = { 3010 + i * 100, address = i * kib64 }
  end
  return faults
end
local ten_percent = { 0.099, 0.101 }

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
    name = "fires on pages that stay on the host, where kernels reach them",
    trace = left_on_host(400, true),
    expect = {
      {
        severity = "error",
        subject = "unified memory",
        message = "'push' takes 400.0 us in 20 of its 39 runs, where no page of unified memory \z
          comes to the GPU in the step, and 20.0 us where one does: *",
        advice = "Take what host and kernels both write out of managed memory: *'push' then \z
          always takes about 20.0 us.",
        worth = { 0.36, 0.42 },
      },
    },
  },
  {
    name = "is silent about kernels that vary where no page comes or goes",
    trace = left_on_host(400, false),
    expect = "clean",
  },
  {
    name = "is silent about kernels that take as long without a page",
    trace = left_on_host(40, true),
    expect = "clean",
  },
  {
    name = "fires when pages move by fault",
    trace = steps(10),
    expect = {
      {
        severity = "warning",
        subject = "unified memory",
        confidence = "high",
        message = "10 migrations move 640 KiB a step*(10 %).",
        worth = ten_percent,
      },
    },
  },
  {
    name = "fires when the driver moves ahead of faults",
    trace = steps(10, { cause = "speculative" }),
    expect = { { severity = "warning", worth = ten_percent } },
  },
  {
    name = "fires when device memory runs over",
    trace = steps(10, { cause = "eviction", direction = "um_d2h" }),
    expect = { { severity = "warning", worth = ten_percent } },
  },
  {
    name = "fires when access counters move pages",
    trace = steps(10, { cause = "access_counter" }),
    expect = { { severity = "warning", worth = ten_percent } },
  },
  {
    name = "fires on Grace Hopper",
    trace = steps(10, { device = { name = "NVIDIA GH200 480GB", memory_gib = 96 } }),
    expect = { { severity = "warning", worth = ten_percent } },
  },
  {
    name = "fires though the faults were not recorded, with the wait for the first page",
    trace = steps(10, { not_collected = { "gpu_faults" } }),
    expect = { { severity = "warning", worth = { 0.117, 0.119 } } },
  },
  {
    name = "adds the faults on pages that move",
    trace = steps(10, { gpu_faults = { { 5000, 6500, address = kib64, count = 9 } } }),
    expect = { { severity = "error", worth = { 0.24, 0.26 } } },
  },
  {
    name = "leaves the faults on other pages to another rule",
    trace = steps(10, { gpu_faults = { { 5000, 6500, address = 1000 * kib64 } } }),
    expect = { { severity = "warning", worth = ten_percent } },
  },
  {
    name = "counts a fault and the copy it causes once",
    trace = steps(10, { gpu_faults = { { 200, 300, address = kib64 } } }),
    expect = { { worth = ten_percent } },
  },
  {
    name = "adds the time for which the host touches one page after the other",
    trace = {
      repeats = { times = 6, every = 10000 },
      ranges = { { 0, 9000, "step {n}" }, { 3000, 7000, "write edge" } },
      ops = touched_ops(),
      calls = { { 30, 3010, "cudaDeviceSynchronize" } },
      cpu_faults = touched_faults(),
    },
    expect = {
      {
        severity = "error",
        message = "*while the GPU idles and the host touches one page after the other, in 'write \z
          edge'.*",
        worth = { 0.38, 0.42 },
      },
    },
  },
  {
    name = "tells thrashing: the same page, both ways, in every step",
    trace = steps(0, {
      ops = {
        { 20, 9950, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 1000, 1500, copy = "um_h2d", bytes = kib64, address = kib64, cause = "fault" },
        { 9000, 9500, copy = "um_d2h", bytes = kib64, address = kib64, cause = "fault" },
      },
    }),
    expect = { { severity = "warning", message = "* 100 % of the bytes thrash*" } },
  },
  {
    name = "calls nothing thrashing that goes up in two pieces and comes down once",
    trace = {
      ops = {
        { 20, 9950, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 1000, 1500, copy = "um_h2d", bytes = 4096, address = kib64, cause = "fault" },
        {
          1600,
          2100,
          copy = "um_h2d",
          bytes = kib64 - 4096,
          address = kib64 + 4096,
          cause = "speculative",
        },
        { 9000, 9500, copy = "um_d2h", bytes = kib64, address = kib64, cause = "fault" },
      },
    },
    expect = { { message = "*(15 %)." } },
  },
  {
    name = "is a note where little of the step is lost",
    trace = steps(2),
    expect = { { severity = "note", worth = { 0.019, 0.021 } } },
  },

  {
    name = "is silent about prefetches that the program asked for",
    trace = steps(20, { cause = "prefetch" }),
    expect = "clean",
  },
  {
    name = "is silent about a small share of memory operations, as with LoRA",
    trace = steps(2, { ops = with { 3000, 8000, copy = "h2d", bytes = 1e8, stream = 9 } }),
    expect = "clean",
  },
  {
    name = "but not about the same migrations among fewer copies",
    trace = steps(2, { ops = with { 3000, 5000, copy = "h2d", bytes = 1e8, stream = 9 } }),
    expect = { { severity = "note" } },
  },
  {
    name = "is silent below 1 % of the step, were it all there is of memory operations",
    trace = steps(0, {
      ops = with { 500, 590, copy = "um_h2d", bytes = kib64, address = kib64, cause = "fault" },
    }),
    expect = "clean",
  },
  {
    name = "is silent about faults without migration",
    trace = steps(0, { gpu_faults = { { 1000, 8000, address = kib64 } } }),
    expect = "clean",
  },
  { name = "is silent without unified memory", trace = steps(0), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = steps(10),
    options = { step_share = 0.2 },
    expect = "clean",
  },

  {
    name = "counts the wait for a kernel's first page where faults were not recorded",
    trace = {
      not_collected = { "gpu_faults" },
      ops = {
        { 20, 490, kernel = "my_add", blocks = 16 },
        { 460, 470, copy = "um_h2d", bytes = kib64, address = kib64, cause = "fault" },
        { 500, 520, kernel = "my_add", blocks = 16 },
      },
    },
    expect = { { severity = "warning", message = "*take 450.0 us*", worth = { 0.88, 0.89 } } },
  },
  {
    name = "does not guess which of two kernels waited",
    trace = {
      not_collected = { "gpu_faults" },
      ops = {
        { 20, 490, kernel = "my_add", blocks = 16 },
        { 30, 480, kernel = "my_other", blocks = 16, stream = 8 },
        { 460, 470, copy = "um_h2d", bytes = kib64, address = kib64, cause = "fault" },
      },
    },
    expect = { { severity = "note", message = "*take 10.0 us*" } },
  },
  {
    name = "needs unified copies",
    trace = steps(10, { not_collected = { "unified_copies" } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(10, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "um-umtouch-full",
    fixture = "um-umtouch-full",
    expect = {
      {
        severity = "error",
        subject = "unified memory",
        message = "4361 migrations move 259 MiB a step*26.2 ms of it while the GPU idles*in 'cpu \z
          param update'.*60 % of the bytes thrash*",
        worth = { 0.19, 0.22 },
      },
    },
  },
  {
    name = "um-umtouch-lora: 0.2 ms of migration",
    fixture = "um-umtouch-lora",
    expect = "clean",
  },
  { name = "um: faults alone", fixture = "um", expect = "clean" },
  { name = "offload: copies alone", fixture = "offload", expect = "clean" },
}

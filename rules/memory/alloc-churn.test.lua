-- Six steps of 10 ms in twenty pieces of 500 us: the host allocates for `time` us while the GPU is
-- idle, and launches.
local function steps(time, more)
  local ops, calls = {}, {}
  for i = 0, 19 do
    local at = i * 500
    ops[#ops + 1] = {
      at + time + 20,
      at + 500,
      kernel = "nvjet_tst_gemm",
      launched = { at + time + 10, at + time + 15 },
    }
    calls[#calls + 1] = { at, at + time / 2, more and more.call or "cudaMalloc" }
    calls[#calls + 1] = { at + time / 2, at + time, more and more.free or "cudaFree" }
  end
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = ops,
    calls = calls,
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  trace.call, trace.free = nil, nil
  return trace
end
-- A cudaMalloc in each step fails, and the allocator gives back what it keeps.
local function retries(result)
  local trace = steps(200)
  trace.calls[1].result = result
  for _, op in ipairs(trace.ops) do
    op.kernel = "void at::native::elementwise"
  end
  return trace
end
local function faults(time)
  local list = {}
  for i = 0, 19 do
    list[#list + 1] = { i * 500 + 300, i * 500 + 300 + time, address = i * 65536 }
  end
  return list
end

local function ranks(number) -- of which the first does as above, and the others are busy
  local trace = steps(250)
  for rank = 1, number - 1 do
    trace.ranges[#trace.ranges + 1] = { 0, 9900, "step {n}", rank = rank }
    trace.ops[#trace.ops + 1] =
      { 20, 9990, kernel = "nvjet_tst_gemm", launched = { 5, 10 }, rank = rank }
  end
  return trace
end

-- Twenty rounds of 500 us: 50 us in cudaMallocAsync, a kernel, and 60 us in which the host still
-- synchronizes, `driver` us of them in ioctl.
local function trims(driver, free)
  local ops, calls, os_calls = {}, {}, {}
  for i = 0, 19 do
    local at = i * 500
    calls[#calls + 1] = { at, at + 50, "cudaMallocAsync" }
    ops[#ops + 1] = { at + 65, at + 435, kernel = "filter", launched = { at + 55, at + 60 } }
    calls[#calls + 1] = { at + 61, at + 63, free or "cudaFreeAsync" }
    calls[#calls + 1] = { at + 64, at + 495, "cudaStreamSynchronize" }
    os_calls[#os_calls + 1] = { at + 437, at + 437 + driver, "ioctl" }
  end
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9999, "step {n}" } },
    ops = ops,
    calls = calls,
    os_calls = os_calls,
  }
end

return {
  {
    name = "blames no empty_cache where allocations fail",
    trace = retries(2),
    expect = { { severity = "error", advice = "Use less memory: *expandable_segments*" } },
  },
  {
    name = "does where none fails",
    trace = retries(0),
    expect = { { severity = "error", advice = "*torch.cuda.empty_cache()*" } },
  },
  {
    name = "counts pools that give back at each synchronization",
    trace = trims(55),
    replay = true,
    expect = {
      {
        severity = "error",
        message = "20 allocations and 20 frees a step: cudaMallocAsync takes memory from the \z
          system, and each synchronization returns the pool's free memory*",
        advice = "Let the memory pool keep its memory: *",
        worth = { 0.19, 0.23 },
      },
    },
  },
  {
    name = "leaves other waits to their rule",
    trace = trims(5),
    replay = true,
    expect = {
      {
        severity = "warning",
        message = "20 allocations and 20 frees a step, most of the time in cudaMallocAsync*",
        worth = { 0.09, 0.12 },
      },
    },
  },
  {
    name = "leaves waits alone where memory is not freed in stream order",
    trace = trims(55, "cudaEventRecord"),
    expect = { { message = "20 allocations and 0 frees a step, most*" } },
  },
  {
    name = "counts for the rank that does it",
    trace = ranks(8),
    expect = {
      {
        severity = "warning",
        message = "20 allocations and 20 frees a step on 1 of 8 GPUs, most*",
        worth = { 0.06, 0.07 },
      },
    },
  },
  {
    name = "leaves out what other threads allocate",
    trace = steps(50, {
      calls = (function()
        local calls = steps(50).calls
        for i = 0, 99 do
          calls[#calls + 1] =
            { i * 100 + 40, i * 100 + 45, "cudaHostAlloc", thread = "pt_data_pin" }
        end
        return calls
      end)(),
    }),
    expect = { { severity = "warning", message = "20 allocations and 20 frees a step, most*" } },
  },
  {
    name = "fires on memory allocated and freed again",
    trace = steps(50),
    expect = {
      {
        severity = "warning",
        subject = "allocations",
        message = "20 allocations and 20 frees a step, most of the time in cudaFree, *(10 %).",
        worth = { 0.09, 0.11 },
      },
    },
  },
  {
    name = "is an error from a fifth of the step on",
    trace = steps(120),
    expect = { { severity = "error", worth = { 0.23, 0.25 } } },
  },
  {
    name = "warns from 3 % on, since the fix is a line",
    trace = steps(20),
    expect = { { severity = "warning", worth = { 0.03, 0.045 } } },
  },
  {
    name = "fires on pinned buffers",
    trace = steps(50, { call = "cudaHostAlloc", free = "cudaFreeHost" }),
    expect = { { severity = "warning" } },
  },
  {
    name = "fires on the driver's mapping",
    trace = steps(50, { call = "cuMemCreate", free = "cuMemUnmap" }),
    expect = { { severity = "warning" } },
  },
  {
    name = "fires on stream-ordered allocation that takes as long",
    trace = steps(50, { call = "cudaMallocAsync", free = "cudaFreeAsync" }),
    expect = { { severity = "warning", message = "*most of the time in cudaFreeAsync*" } },
  },
  {
    name = "fires on managed memory",
    trace = steps(50, { call = "cudaMallocManaged" }),
    expect = { { severity = "warning", subject = "managed allocations" } },
  },
  {
    name = "fires on managed memory that faults as well",
    trace = steps(50, { call = "cudaMallocManaged", gpu_faults = faults(100) }),
    expect = { { severity = "warning", subject = "managed allocations" } },
  },

  {
    name = "is a note where a single step allocates",
    trace = {
      ranges = {
        { 0, 950, "step 1" },
        { 1000, 1950, "step 2" },
        { 2000, 2950, "step 3" },
        { 3000, 3950, "step 4" },
        { 4000, 4950, "step 5" },
      },
      calls = { { 2000, 2700, "cudaMalloc" } },
      ops = {
        { 20, 990, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 1020, 1990, kernel = "nvjet_tst_gemm", launched = { 1005, 1010 } },
        { 2720, 2990, kernel = "nvjet_tst_gemm", launched = { 2705, 2710 } },
        { 3020, 3990, kernel = "nvjet_tst_gemm", launched = { 3005, 3010 } },
        { 4020, 4990, kernel = "nvjet_tst_gemm", launched = { 4005, 4010 } },
      },
    },
    expect = { { severity = "note" } },
  },

  {
    name = "is silent while the GPU works",
    trace = steps(0, {
      ops = {
        { 20, 5000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 5000, 9990, kernel = "nvjet_tst_gemm", launched = { 10, 15 } },
      },
      calls = { { 20, 4800, "cudaMalloc" } },
    }),
    expect = "clean",
  },
  {
    name = "is silent about stream-ordered allocation that only queues",
    trace = steps(4, { call = "cudaMallocAsync", free = "cudaFreeAsync" }),
    expect = "clean",
  },
  { name = "is silent about 2 %", trace = steps(10), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = steps(50),
    options = { share = 0.2 },
    expect = "clean",
  },
  {
    name = "is silent about waits, which have a rule",
    trace = steps(50, { call = "cudaStreamSynchronize", free = "cudaStreamSynchronize" }),
    expect = "clean",
  },
  {
    name = "is silent with thresholds of zero and no allocation",
    trace = steps(50, { calls = {} }),
    options = { share = 0, fault_share = 0 },
    expect = "clean",
  },

  {
    name = "fires without ranges",
    trace = steps(50, { ranges = {} }),
    expect = { { severity = "warning", message = "1 allocation and 1 free an iteration*" } },
  },
  {
    name = "leaves out what sets something up, without steps",
    trace = (function()
      local trace = steps(50, { ranges = {} })
      table.insert(
        trace.ops,
        1,
        { -9000, -8990, kernel = "nvjet_tst_gemm", launched = { -9020, -9015 } }
      )
      table.insert(trace.calls, 1, { -8980, -20, "cudaMalloc" })
      trace.repeats = { times = 1, every = 0 }
      return trace
    end)(),
    options = { share = 0.5 },
    expect = "clean",
  },
  {
    name = "is silent without steps about allocations at the start",
    trace = {
      calls = { { 200, 1900, "cudaMalloc" } },
      ops = { { 0, 100, kernel = "a" }, { 2000, 9000, kernel = "a" } },
    },
    expect = "clean",
  },
  {
    name = "fires without steps on allocations that come late only",
    trace = (function()
      local trace = { ops = {}, calls = {} }
      for i = 1, 32 do
        trace.ops[i] = { (i - 1) * 250, i * 250, kernel = "build_" .. i }
      end
      for i = 0, 5 do
        local at = 8000 + 1000 * i
        trace.calls[#trace.calls + 1] = { at, at + 300, "cudaMalloc" }
        trace.ops[#trace.ops + 1] = {
          at + 320,
          at + 1000,
          kernel = "solve_" .. i,
          launched = { at + 305, at + 310 },
        }
      end
      return trace
    end)(),
    expect = { { severity = "warning" } },
  },
  {
    name = "needs calls",
    trace = steps(50, { not_collected = { "calls" } }),
    expect = "not checked",
  },

  {
    name = "um",
    fixture = "um",
    expect = {
      {
        severity = "warning",
        subject = "managed allocations",
        message = "507 allocations and 505 frees a step, most of the time in cudaFree*",
        worth = { 0.15, 0.19 },
      },
    },
  },
  {
    name = "um-umtouch-full",
    fixture = "um-umtouch-full",
    expect = { { severity = "warning", subject = "managed allocations" } },
  },
  { name = "good", fixture = "good", expect = "clean" },
  { name = "launchbound", fixture = "launchbound", expect = "clean" },
  { name = "offload", fixture = "offload", expect = "clean" },
  { name = "ddp", fixture = "ddp", expect = "clean" },
  {
    name = "alloc-churn: empty_cache in every step",
    fixture = "alloc-churn",
    expect = { { severity = "error", worth = { 0.25, 0.5 } } },
  },
}

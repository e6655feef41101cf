-- Six steps of 10 ms: the host loads or compiles for `time` us before it launches.
local function steps(time, more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = {
      { 30 + time, 9990, kernel = "nvjet_tst_gemm", launched = { 20 + time, 25 + time } },
    },
    calls = { { 10, 10 + time, more and more.call or "cuModuleLoadData" } },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  trace.call = nil
  return trace
end
local function step(number, ready)
  local at = (number - 1) * 1000
  return {
    at + ready + 20,
    at + 990,
    kernel = "nvjet_tst_gemm",
    launched = { at + ready + 5, at + ready + 10 },
  }
end
local function some(calls, second, third)
  return {
    ranges = {
      { 0, 950, "step 1" },
      { 1000, 1950, "step 2" },
      { 2000, 2950, "step 3" },
      { 3000, 3950, "step 4" },
      { 4000, 4950, "step 5" },
    },
    ops = { step(1, 0), step(2, second), step(3, third), step(4, 0), step(5, 0) },
    calls = calls,
  }
end

local function ranks(number) -- that all load as above
  local trace = { repeats = { times = 6, every = 10000 }, ranges = {}, ops = {}, calls = {} }
  for rank = 0, number - 1 do
    trace.ranges[#trace.ranges + 1] = { 0, 9900, "step {n}", rank = rank }
    trace.ops[#trace.ops + 1] =
      { 1530, 9990, kernel = "nvjet_tst_gemm", launched = { 1520, 1525 }, rank = rank }
    trace.calls[#trace.calls + 1] = { 10, 1510, "cuModuleLoadData", rank = rank }
  end
  return trace
end

-- Two kernels and, late, two that are compiled before they run.
local function late(third, fourth, copies)
  return {
    ops = {
      { 0, 4000, kernel = "a" },
      { 4000, 8000, kernel = "b" },
      { 10000, 11000, kernel = third, launched = { 9980, 9985 } },
      { 13000, 14000, kernel = fourth, launched = { 12980, 12985 } },
      table.unpack(copies or {}),
    },
    calls = { { 8000, 9950, "nvrtcCompileProgram" }, { 11000, 12950, "nvrtcCompileProgram" } },
  }
end

-- A library that is loaded in each step, and ten kernels that the host times, if it waits for both
-- events and the device, or for events alone.
local function timed(both)
  local trace = steps(1500)
  trace.ranges[2] = { 0, 9, "aten::convolution" }
  trace.ops = { { 9000, 9990, kernel = "nvjet_tst_gemm", launched = { 8990, 8995 } } }
  for i = 0, 9 do
    local at = 1600 + i * 700
    trace.ops[#trace.ops + 1] = {
      at + 20,
      at + 300,
      kernel = "sm80_xmma_fprop_implicit_gemm_bf16_nhwc",
      launched = { at + 10, at + 15 },
    }
    trace.calls[#trace.calls + 1] = { at + 20, at + 305, "cudaEventSynchronize" }
    if both then
      trace.calls[#trace.calls + 1] = { at + 310, at + 315, "cudaDeviceSynchronize" }
    end
  end
  return trace
end

-- A library that is made and loaded before the second of two launches of a kernel in each step.
local function made(kernel)
  return steps(0, {
    ranges = { { 0, 9900, "step {n}" }, { 0, 5, "aten::linear" } },
    ops = {
      { 1020, 1100, kernel = kernel, launched = { 1000, 1005 } },
      { 8020, 9990, kernel = kernel, launched = { 8000, 8005 } },
    },
    calls = { { 7900, 7990, "cuLibraryLoadData" } },
  })
end

-- Seven of ten milliseconds in a range of a compiler, on the launching thread or another.
local function compiled(thread, name)
  return steps(0, {
    ranges = {
      { 0, 9900, "step {n}" },
      { 2, 4, name or "XlaCompile:#module=jit_f#" },
      { 1000, 8000, name or "XlaCompile:#module=jit_f#", thread = thread },
    },
    ops = { { 8120, 9990, kernel = "nvjet_tst_gemm", launched = { 8100, 8105 } } },
    calls = {},
  })
end

return {
  {
    name = "counts what the host did to make a library that it loads again, here attention",
    trace = made "cudnn_generated_fort_native_sdpa_sm90_flash_fprop",
    expect = {
      {
        severity = "error",
        worth = { 0.6, 0.75 },
        message = "Code is loaded or compiled in 5 of 5 steps (mostly cuLibraryLoadData)*",
        advice = "Keep cuDNN from building attention anew: *",
      },
    },
  },
  {
    name = "does not speak of attention where other code is made",
    trace = made "nvjet_tst_gemm",
    expect = { { severity = "error", advice = "Keep the number of shapes small: *" } },
  },
  {
    name = "counts what the host does in ranges of a compiler",
    trace = compiled(),
    expect = {
      { severity = "error", worth = { 0.6, 0.8 }, message = "*(mostly XlaCompile:*" },
    },
  },
  {
    name = "counts what other threads compile for one that compiles too",
    trace = compiled "pool",
    expect = { { severity = "error", worth = { 0.6, 0.8 } } },
  },
  {
    name = "does not count other ranges of the same library",
    trace = compiled(nil, "XlaModule:#hlo_module=jit_f#"),
    expect = "clean",
  },
  {
    name = "says that cuDNN measures its algorithms anew",
    trace = timed(true),
    expect = {
      {
        message = "Code is loaded or compiled in 5 of 5 steps*",
        advice = "Keep cuDNN from measuring anew: torch.backends.cudnn.benchmark = False. It \z
          tries its algorithms, 10 trials a step, *",
      },
    },
  },
  {
    name = "does not where a program waits for events of its own",
    trace = timed(false),
    expect = { { advice = "Keep the number of shapes small: *" } },
  },
  {
    name = "counts steps, not those of each rank",
    trace = ranks(8),
    expect = {
      {
        severity = "warning",
        message = "Code is loaded or compiled in 5 of 5 steps (mostly cuModuleLoadData): *(15 %).",
        worth = { 0.14, 0.16 },
      },
    },
  },
  {
    name = "fires on modules loaded in each step",
    trace = steps(1500),
    expect = {
      {
        severity = "warning",
        subject = "code",
        message = "Code is loaded or compiled in 5 of 5 steps (mostly cuModuleLoadData): *(15 %).",
        worth = { 0.14, 0.16 },
      },
    },
  },
  {
    name = "is an error from a fifth of the step on",
    trace = steps(3000),
    expect = { { severity = "error" } },
  },
  {
    name = "warns from 3 % on",
    trace = steps(400),
    expect = { { severity = "warning", worth = { 0.03, 0.045 } } },
  },
  {
    name = "fires on libraries",
    trace = steps(1500, { call = "cuLibraryLoadData" }),
    expect = { { severity = "warning" } },
  },
  {
    name = "fires on compiling",
    trace = steps(1500, { call = "nvrtcCompileProgram" }),
    expect = { { severity = "warning" } },
  },
  {
    name = "fires on graphs instantiated again",
    trace = steps(1500, { call = "cudaGraphInstantiate" }),
    expect = { { severity = "warning", message = "*cudaGraphInstantiate*" } },
  },
  {
    name = "fires where it comes again in some steps",
    trace = some(
      { { 1000, 1600, "cuModuleLoadData" }, { 2000, 2400, "cuModuleLoadData" } },
      600,
      400
    ),
    expect = { { severity = "error", message = "*in 2 of 4 steps*" } },
  },
  {
    name = "is a note where it comes once",
    trace = some({ { 1000, 1600, "nvrtcCompileProgram" } }, 600, 0),
    expect = {
      {
        severity = "note",
        message = "*in one of 4 steps (mostly nvrtcCompileProgram): the GPU is idle for 600.0 us \z
          there*",
      },
    },
  },
  {
    name = "counts what the host did to make a module",
    trace = steps(3000, { calls = { { 2800, 3010, "cuModuleLoadData" } } }),
    expect = { { severity = "error", worth = { 0.29, 0.31 } } },
  },
  {
    name = "counts what the host does between two such calls of a step",
    trace = steps(0, {
      ops = { { 5030, 9990, kernel = "nvjet_tst_gemm", launched = { 5020, 5025 } } },
      calls = { { 10, 410, "cuLibraryLoadData" }, { 4610, 5010, "cuLibraryLoadData" } },
    }),
    expect = { { severity = "error", worth = { 0.48, 0.52 } } },
  },
  {
    name = "does not count what the host does in warm steps as well",
    trace = (function()
      local trace = { ranges = {}, ops = {}, calls = {} }
      for index = 0, 5 do
        local at = 10000 * index
        trace.ranges[index + 1] = { at, at + 9900, "step " .. index }
        trace.ops[#trace.ops + 1] =
          { at + 20, at + 500, kernel = "nvjet_tst_gemm", launched = { at + 5, at + 10 } }
        trace.ops[#trace.ops + 1] = {
          at + 5030,
          at + 9990,
          kernel = "nvjet_tst_gemm",
          launched = { at + 5020, at + 5025 },
        }
        if index == 2 or index == 4 then
          trace.calls[#trace.calls + 1] = { at + 510, at + 910, "cuLibraryLoadData" }
          trace.calls[#trace.calls + 1] = { at + 4610, at + 5010, "cuLibraryLoadData" }
        end
      end
      return trace
    end)(),
    expect = { { message = "*in 2 of 5 steps*", worth = { 0.02, 0.06 } } },
  },
  {
    name = "fires without steps on what is no start",
    trace = steps(1500, { ranges = {} }),
    expect = {
      {
        severity = "warning",
        message = "Code is loaded or compiled not only as the program starts (mostly \z
          cuModuleLoadData)*",
      },
    },
  },
  {
    name = "fires without steps on what comes late only",
    trace = late("a", "b"),
    expect = { { severity = "error", message = "*not only as the program starts*" } },
  },
  {
    name = "leaves what is compiled for a kernel's first run to first-use, however late",
    trace = late("c", "d"),
    expect = "clean",
  },
  {
    name = "only notes what comes once, for a kernel that had run before",
    trace = late("c", "a"),
    expect = {
      { severity = "note", message = "*once for a kernel that had run before*1.95 ms of*" },
    },
  },
  {
    name = "leaves what is compiled before a copy that comes before the first run",
    trace = late(
      "c",
      "d",
      { { 9960, 9980, copy = "h2d", bytes = 4, launched = { 9950, 9955 } } }
    ),
    expect = "clean",
  },

  {
    name = "is silent while the GPU works",
    trace = steps(0, {
      ops = {
        { 20, 5000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 5000, 9990, kernel = "nvjet_tst_gemm", launched = { 10, 15 } },
      },
      calls = { { 20, 4800, "cuModuleLoadData" } },
    }),
    expect = "clean",
  },
  { name = "is silent about 2 %", trace = steps(200), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = steps(1500),
    options = { share = 0.2 },
    expect = "clean",
  },
  {
    name = "is silent about graphs that are launched",
    trace = steps(1500, { call = "cudaGraphLaunch" }),
    expect = "clean",
  },
  {
    name = "is silent about allocations, which have a rule",
    trace = steps(1500, { call = "cudaMalloc" }),
    expect = "clean",
  },
  {
    name = "is silent with a threshold of zero and nothing compiled",
    trace = steps(0, { calls = {} }),
    options = { share = 0 },
    expect = "clean",
  },

  {
    name = "is a note about a start, and says so",
    trace = {
      calls = { { 200, 1900, "nvrtcCompileProgram" } },
      ops = { { 0, 100, kernel = "a" }, { 2000, 9000, kernel = "a" } },
    },
    expect = {
      {
        severity = "note",
        message = "Code is compiled as the program starts (mostly nvrtcCompileProgram*",
      },
    },
  },
  {
    name = "leaves a module that is loaded once to first-use",
    trace = some({ { 1000, 1600, "cuLibraryLoadData" } }, 600, 0),
    expect = "clean",
  },
  {
    name = "needs calls",
    trace = steps(1500, { not_collected = { "calls" } }),
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  { name = "compile", fixture = "compile", expect = "clean" },
  { name = "compile-graphs", fixture = "compile-graphs", expect = "clean" },
  { name = "compile-graphsnode", fixture = "compile-graphsnode", expect = "clean" },
  { name = "launchbound", fixture = "launchbound", expect = "clean" },
  {
    name = "products: loads what it needs before it begins",
    fixture = "products",
    expect = "clean",
  },
}

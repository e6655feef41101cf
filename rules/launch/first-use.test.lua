-- Launches of 5 us each 100 us; that of `kernel` at 1 ms takes `long` us.
local function launches(kernel, long, more)
  local ops = {}
  for i = 0, 30 do
    ops[#ops + 1] =
      { i * 100 + 10, i * 100 + 90, kernel = "usual", launched = { i * 100, i * 100 + 5 } }
  end
  ops[#ops + 1] =
    { 3200 + long, 3290 + long, kernel = kernel, launched = { 3190, 3190 + long } }
  local trace = { ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end

return {
  {
    name = "fires on a kernel's first launch that takes long",
    trace = launches("new", 2000),
    expect = {
      {
        severity = "warning",
        subject = "loading",
        message = "The GPU is idle for 2.00 ms of*while the host loads code: 1 first launch of a \z
          kernel, the longest 2.00 ms in cudaLaunchKernel.",
      },
    },
  },
  {
    name = "is worth what a usual launch would leave of it",
    trace = launches("new", 2000),
    replay = true,
    expect = { { severity = "warning", worth = { 0.38, 0.42 } } },
  },
  {
    name = "is worth no less where another stream had ended before the kernel was handed over",
    trace = (function()
      local trace = launches("new", 2000)
      local last = trace.ops[#trace.ops]
      last[1], last[2] = last[1] + 300, last[2] + 300
      trace.ops[#trace.ops + 1] =
        { 3110, 3170, kernel = "beside", stream = 8, launched = { 3100, 3105 } }
      return trace
    end)(),
    replay = true,
    expect = { { severity = "warning", worth = { 0.3, 0.42 } } },
  },
  {
    name = "fires on a module",
    trace = launches("usual", 5, {
      calls = { { 3100, 3185, "cudaGetDevice" }, { 3195, 6000, "cuLibraryLoadData" } },
      ops = {
        { 0, 1000, kernel = "a" },
        { 6020, 7000, kernel = "a", launched = { 6005, 6010 } },
      },
    }),
    expect = {
      {
        severity = "warning",
        message = "*while the host loads code: 1 call that loads a module*in cuLibraryLoadData.",
      },
    },
  },

  {
    name = "counts compiling before a kernel's first run, where no step shows what recurs",
    trace = {
      ops = {
        { 0, 4000, kernel = "a" },
        { 10000, 11000, kernel = "b", launched = { 9980, 9985 } },
        { 13000, 14000, kernel = "c", launched = { 12980, 12985 } },
      },
      calls = { { 4000, 9950, "nvrtcCompileProgram" }, { 11000, 12950, "cuModuleLoadData" } },
    },
    expect = {
      {
        severity = "warning",
        title = "The GPU waits while code is compiled for its first use",
        message = "The GPU is idle for 7.9* ms of the window's 14.0 ms (5* %) while the host \z
          compiles and loads code: 1 time that code is compiled, 1 call that loads a module, the \z
          longest 5.95 ms at nvrtcCompileProgram.",
      },
    },
  },
  {
    name = "is silent about a kernel that was launched before",
    trace = launches("usual", 2000),
    expect = "clean",
  },
  {
    name = "is silent about a first launch that takes no longer than others",
    trace = launches("new", 40),
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = launches("new", 2000),
    options = { share = 0.9 },
    expect = "clean",
  },
  {
    name = "is silent about loading in every step, which has a rule",
    trace = {
      repeats = { times = 6, every = 10000 },
      ranges = { { 0, 9900, "step {n}" } },
      calls = { { 2000, 5000, "cuModuleLoadData" } },
      ops = {
        { 20, 1900, kernel = "a", launched = { 5, 10 } },
        { 5100, 9990, kernel = "a", launched = { 5010, 5015 } },
      },
    },
    expect = "clean",
  },
  {
    name = "needs calls",
    trace = launches("new", 2000, { not_collected = { "calls" } }),
    expect = "not checked",
  },
  { name = "good", fixture = "good", expect = "clean" },
  { name = "launchbound", fixture = "launchbound", expect = "clean" },
}

-- Six ranges of a step, that is five steps.
local function steps(more)
  local trace = {
    repeats = { times = 6, every = 1000 },
    ranges = { { 0, 900, "step {n}" } },
    ops = { { 20, 950, kernel = "nvjet_tst_gemm" } },
  }
  for key, value in pairs(more) do
    trace[key] = value
  end
  return trace
end

-- Six steps of two kernels each; those in `lost` lack their second kernel, but not its launch.
local function losing(lost)
  local ranges, ops, calls = {}, {}, {}
  for n = 0, 5 do
    local at = 1000 * n
    ranges[#ranges + 1] = { at, at + 900, "step " .. n }
    ops[#ops + 1] = { at + 20, at + 400, kernel = "nvjet_tst_gemm" }
    if lost[n] then
      calls[#calls + 1] = { at + 390, at + 395, "cudaLaunchKernel" }
    else
      ops[#ops + 1] = { at + 400, at + 950, kernel = "relu" }
    end
  end
  return { ranges = ranges, ops = ops, calls = calls }
end

return {
  {
    name = "says which steps are left out because their kernels were lost",
    trace = losing { [2] = true },
    expect = {
      {
        severity = "warning",
        subject = "lost work",
        title = "2 of 6 steps are left out: the profiler lost their kernels",
        message = "*1 of 12 launches have no kernel*",
      },
    },
  },
  {
    name = "says that no step is whole",
    trace = losing {
      [0] = true,
      [1] = true,
      [2] = true,
      [3] = true,
      [4] = true,
      [5] = true,
    },
    expect = {
      {
        severity = "warning",
        subject = "lost work",
        title = "The profiler lost kernels in what is judged",
        message = "*6 of 12 launches have no kernel*",
      },
    },
  },
  {
    name = "voids a report without GPU work",
    trace = { ranges = { { 0, 900, "step 1" } } },
    expect = {
      {
        severity = "error",
        subject = "GPU work",
        title = "No GPU work was recorded",
        message = "The report holds no GPU work*",
        advice = "Record the process that uses the GPU*",
      },
    },
  },
  {
    name = "sends whoever launched work to the driver, and not to another process",
    trace = { calls = { { 10, 15, "cudaLaunchKernel" }, { 20, 25, "cudaLaunchKernel" } } },
    expect = {
      {
        severity = "error",
        subject = "GPU work",
        advice = "Update the GPU's driver*",
      },
    },
  },
  {
    name = "and says why",
    trace = { not_collected = { "kernels" } },
    expect = { { severity = "error", subject = "GPU work", message = "*not recorded*" } },
  },
  {
    name = "reports lost events",
    trace = steps { diagnostics = { "1234 events were lost: the buffer was full" } },
    expect = {
      { severity = "warning", subject = "lost events", message = '*"1234 events were lost*' },
    },
  },
  {
    name = "reports dropped events, once",
    trace = steps {
      diagnostics = {
        "CUPTI: 77 records have been dropped",
        "CUPTI: 78 records have been dropped",
      },
    },
    expect = { { severity = "warning", subject = "lost events" } },
  },
  {
    name = "reports dropped events however they are spelt",
    trace = steps { diagnostics = { "Dropped 77 records" } },
    expect = { { severity = "warning", subject = "lost events" } },
  },
  {
    name = "says how few steps there are",
    trace = steps { repeats = { times = 3, every = 1000 } },
    expect = {
      {
        severity = "note",
        subject = "steps",
        title = "Only 2 steps were recorded",
        message = "Only 2 steps*",
      },
    },
  },
  {
    name = "asks for as many as the team wants",
    trace = steps {},
    options = { least_steps = 10 },
    expect = { { severity = "note", subject = "steps", message = "Only 5 steps*" } },
  },
  {
    name = "says that no steps were found",
    trace = steps { ranges = {} },
    expect = {
      {
        severity = "note",
        subject = "steps",
        title = "No steps were found",
        message = "No steps were found, so*",
      },
    },
  },
  {
    name = "says how much of the recording is start-up",
    trace = {
      ops = (function()
        local ops = { { 0, 300, kernel = "nvjet_tst_gemm", launched = { -10, -5 } } }
        for i = 0, 19 do
          ops[#ops + 1] = { 30100 + 500 * i, 30200 + 500 * i, copy = "h2d", bytes = 65536 }
          ops[#ops + 1] = { 30200 + 500 * i, 30500 + 500 * i, kernel = "nvjet_tst_gemm" }
        end
        return ops
      end)(),
    },
    expect = {
      {
        severity = "note",
        subject = "start-up",
        message = "30.* ms of the recording come before the first iteration*",
      },
    },
  },
  {
    name = "says that launches are missing",
    trace = steps {
      ops = {
        { 20, 500, kernel = "nvjet_tst_gemm", launched = false },
        { 500, 950, kernel = "nvjet_tst_gemm" },
      },
    },
    expect = { { severity = "note", subject = "launches", message = "50 % of*" } },
  },
  {
    name = "says what the profiler took",
    fixture = "compile-graphs",
    options = { overhead_share = 0.001 },
    expect = {
      { severity = "note", subject = "overhead", message = "The profiler itself takes 0.5 %*" },
    },
  },
  {
    name = "says what recording added to a measured step",
    trace = steps { measured_step = 880 },
    expect = {
      {
        severity = "note",
        subject = "what recording added",
        message = "Recording made the step 14 % longer: 880.0 us without the profiler, 1.00 ms \z
          with it.*",
      },
    },
  },
  {
    name = "from where on the team says",
    trace = steps { measured_step = 960 },
    options = { added_share = 0.04 },
    expect = { { severity = "note", subject = "what recording added" } },
  },
  {
    name = "warns of a measured step that is longer than the recorded one",
    trace = steps { measured_step = 1200 },
    expect = {
      {
        severity = "warning",
        subject = "measured step",
        message = "The measured step of 1.20 ms is 20 % longer*",
      },
    },
  },
  {
    name = "is silent about one that is as much longer as runs differ",
    trace = steps { measured_step = 1050 },
    expect = "clean",
  },
  {
    name = "is silent about a little that recording added",
    trace = steps { measured_step = 950 },
    expect = "clean",
  },

  { name = "is silent about a good recording", trace = steps {}, expect = "clean" },
  {
    name = "is silent about harmless warnings",
    trace = steps {
      diagnostics = {
        "Not all CUDA events might have been collected.",
        "Symbols of libcudnn could not be resolved.",
      },
    },
    expect = "clean",
  },
  {
    name = "is silent about migrations, which have no launch",
    trace = steps {
      ops = {
        { 20, 950, kernel = "nvjet_tst_gemm" },
        { 100, 200, copy = "um_h2d", bytes = 4096, cause = "fault", address = 4096 },
      },
    },
    expect = "clean",
  },
  { name = "good: fifteen harmless warnings", fixture = "good", expect = "clean" },
  { name = "compile-graphs", fixture = "compile-graphs", expect = "clean" },
  { name = "ddp: two devices of five steps each", fixture = "ddp", expect = "clean" },
}

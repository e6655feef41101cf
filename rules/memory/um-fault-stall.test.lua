-- Six steps of 10 ms, of which faults take `time` us in ten pieces while a kernel waits for them.
local kib64 = 65536
local function steps(time, more)
  local faults = {}
  for i = 0, 9 do
    faults[#faults + 1] =
      { i * 900 + 100, i * 900 + 100 + time / 10, address = i * kib64, count = 4 }
  end
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = { { 20, 9990, kernel = "nvjet_tst_gemm", launched = { 5, 10 } } },
    gpu_faults = faults,
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local function migrating(copy) -- the faulting pages also move
  local ops = { { 20, 9990, kernel = "nvjet_tst_gemm", launched = { 5, 10 } } }
  for i = 0, 9 do
    ops[#ops + 1] = {
      i * 900 + 150,
      i * 900 + 150 + copy,
      copy = "um_h2d",
      bytes = kib64,
      address = i * kib64,
      cause = "fault",
    }
  end
  return ops
end
local churn = {
  ops = { { 2020, 9990, kernel = "nvjet_tst_gemm", launched = { 2010, 2015 } } },
  calls = { { 20, 1000, "cudaMallocManaged" }, { 1000, 2000, "cudaFree" } },
  gpu_faults = { { 2100, 5100, address = 0 } },
}

return {
  {
    name = "fires on first touches",
    trace = steps(4000),
    expect = {
      {
        severity = "error",
        subject = "page faults",
        message = "Page faults of the GPU take 4.00 ms of each 10.0 ms step (40 %), 40 a step: \z
          kernels stop until each page of unified memory that they touch first is mapped.",
        worth = { 0.39, 0.41 },
      },
    },
  },
  { name = "fires on a tenth", trace = steps(1000), expect = { { severity = "warning" } } },
  {
    name = "counts faults that overlap once",
    trace = steps(0, {
      gpu_faults = {
        { 100, 2100, address = 0 },
        { 100, 2100, address = kib64 },
        { 1100, 2600, address = 2 * kib64 },
      },
    }),
    expect = { { severity = "error", worth = { 0.24, 0.26 } } },
  },
  {
    name = "adds managed allocations, which the same fix ends",
    trace = steps(0, churn),
    expect = {
      {
        severity = "error",
        message = "*1 page fault of the GPU a step takes 3.00 ms *; allocating and freeing \z
          managed memory takes 2.0 ms more.",
        worth = { 0.48, 0.51 },
      },
    },
  },
  {
    name = "adds no others",
    trace = steps(0, {
      ops = churn.ops,
      gpu_faults = churn.gpu_faults,
      calls = { { 20, 1000, "cudaMalloc" }, { 1000, 2000, "cudaFree" } },
    }),
    expect = { { severity = "error", worth = { 0.29, 0.31 } } },
  },
  {
    name = "says so where the pages migrate",
    trace = steps(4000, { ops = migrating(50) }),
    expect = {
      {
        severity = "error",
        message = "*most of them on pages that move between host and device.",
        worth = { 0.39, 0.41 },
      },
    },
  },
  {
    name = "adds migrations where most faults are first touches",
    trace = steps(4000, {
      ops = {
        { 20, 9000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 9200, 9990, copy = "um_h2d", bytes = kib64, address = 100 * kib64, cause = "fault" },
      },
    }),
    expect = { { severity = "error", worth = { 0.49, 0.51 } } },
  },
  {
    name = "fires without steps",
    trace = steps(4000, { ranges = {} }),
    expect = { { severity = "error" } },
  },
  {
    name = "fires on Grace Hopper",
    trace = steps(4000, { device = { name = "NVIDIA GH200 480GB", memory_gib = 96 } }),
    expect = { { severity = "error" } },
  },

  { name = "is silent about 2 %", trace = steps(200), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = steps(4000),
    options = { share = 0.5 },
    expect = "clean",
  },
  {
    name = "is silent without faults",
    trace = steps(0, { gpu_faults = {} }),
    expect = "clean",
  },
  {
    name = "is silent about migrations without faults",
    trace = steps(0, { gpu_faults = {}, ops = migrating(500) }),
    expect = "clean",
  },
  {
    name = "is silent about managed allocations without faults",
    trace = steps(0, { ops = churn.ops, calls = churn.calls, gpu_faults = {} }),
    expect = "clean",
  },
  {
    name = "is silent with a threshold of zero and no faults",
    trace = steps(0, { gpu_faults = {} }),
    options = { share = 0 },
    expect = "clean",
  },

  {
    name = "cannot tell on Grace Hopper when none were recorded",
    trace = steps(
      0,
      { gpu_faults = {}, device = { name = "NVIDIA GH200 480GB", memory_gib = 96 } }
    ),
    expect = "not checked",
  },
  {
    name = "needs faults",
    trace = steps(4000, { not_collected = { "gpu_faults" } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(4000, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "um",
    fixture = "um",
    expect = {
      {
        severity = "error",
        message = "*of each 217.4 ms step (92 %): * page faults of the GPU a step take 174.7 ms *",
        worth = { 0.94, 0.96 },
      },
    },
  },
  {
    name = "um-umtouch-lora",
    fixture = "um-umtouch-lora",
    expect = { { severity = "error", worth = { 0.94, 0.96 } } },
  },
  {
    name = "um-umtouch-full: and the host's turns",
    fixture = "um-umtouch-full",
    expect = { { severity = "error", worth = { 0.95, 0.97 } } },
  },
  { name = "good: faults were not recorded", fixture = "good", expect = "not checked" },
  { name = "launchbound", fixture = "launchbound", expect = "not checked" },
  { name = "offload", fixture = "offload", expect = "not checked" },
  { name = "compile-graphs", fixture = "compile-graphs", expect = "not checked" },
}

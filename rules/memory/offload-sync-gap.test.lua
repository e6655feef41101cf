-- Six steps of 10 ms. Two tensors leave, 1 ms each, and come back, 1 ms each, with nothing next to
-- them.
local MiB = 1048576
local gemm = "nvjet_tst_gemm"
local function steps(ops, more)
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9000, "step {n}" } }, ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local function offloaded(first, second, back, memory)
  return {
    { 100, 2000, kernel = gemm },
    { 2000, 3000, copy = "d2h", bytes = first, to = memory },
    { 3000, 4000, copy = "d2h", bytes = second, to = memory },
    { 4000, 5000, kernel = gemm },
    { 5000, 6000, copy = "h2d", bytes = back, from = memory },
    { 6000, 6500, kernel = gemm },
    { 6500, 7500, copy = "h2d", bytes = first, from = memory },
    { 7500, 9950, kernel = gemm },
  }
end
local exposed = offloaded(8 * MiB, 16 * MiB, 16 * MiB)
local function streamed(layers) -- a weight before each layer
  local ops = {}
  for i = 0, layers - 1 do
    ops[#ops + 1] = {
      i * 1600 + 20,
      i * 1600 + 600,
      copy = "h2d",
      bytes = 8 * MiB,
      launched = { i * 1600, i * 1600 + 5 },
    }
    ops[#ops + 1] = {
      i * 1600 + 600,
      i * 1600 + 1600,
      kernel = gemm,
      launched = { i * 1600 + 10, i * 1600 + 15 },
    }
  end
  ops[#ops + 1] =
    { layers * 1600, 9980, kernel = gemm, launched = { layers * 1600 - 10, layers * 1600 - 5 } }
  return ops
end

return {
  {
    name = "fires on round trips with no kernel next to them",
    trace = steps(exposed),
    expect = {
      {
        severity = "error",
        subject = "offloaded tensors",
        confidence = "high",
        message = "48 MiB a step go to host memory and come back (2 round trips *",
        worth = { 0.4, 0.42 },
      },
    },
  },
  {
    name = "fires through pageable memory",
    trace = steps(offloaded(8 * MiB, 16 * MiB, 16 * MiB, "pageable")),
    expect = { { severity = "error" } },
  },
  {
    name = "fires on Grace Hopper, where the link is faster but the wait the same",
    trace = steps(exposed, { device = { name = "NVIDIA GH200 480GB", memory_gib = 96 } }),
    expect = { { severity = "error", subject = "offloaded tensors", worth = { 0.4, 0.42 } } },
  },
  {
    name = "fires around graphs traced whole",
    trace = steps {
      { 100, 2000, graph = true },
      { 2000, 3000, copy = "d2h", bytes = 8 * MiB },
      { 3000, 4000, copy = "d2h", bytes = 16 * MiB },
      { 4000, 5000, graph = true },
      { 5000, 6000, copy = "h2d", bytes = 16 * MiB },
      { 6000, 7000, copy = "h2d", bytes = 8 * MiB },
      { 7000, 9950, graph = true },
    },
    expect = { { severity = "error", worth = { 0.4, 0.42 } } },
  },
  {
    name = "counts the wait for a copy as well",
    trace = steps({
      { 100, 2000, kernel = gemm },
      { 2000, 2300, copy = "d2h", bytes = 8 * MiB },
      { 3300, 3600, copy = "d2h", bytes = 16 * MiB, launched = { 3290, 3295 } },
      { 4600, 5000, kernel = gemm, launched = { 4590, 4595 } },
      { 5000, 5300, copy = "h2d", bytes = 16 * MiB },
      { 5300, 5600, copy = "h2d", bytes = 8 * MiB },
      { 5600, 9950, kernel = gemm },
    }, {
      calls = {
        { 2000, 3250, "cudaStreamSynchronize" },
        { 3300, 4550, "cudaStreamSynchronize" },
      },
    }),
    expect = { { severity = "error", worth = { 0.31, 0.33 } } },
  }, -- 1.2 ms of copies, 2 of waiting
  {
    name = "counts only what kernels do not hide",
    trace = steps {
      { 100, 7000, kernel = gemm },
      { 2000, 3000, copy = "d2h", bytes = 8 * MiB, stream = 8 },
      { 3000, 4000, copy = "d2h", bytes = 16 * MiB, stream = 8 },
      { 6500, 7500, copy = "h2d", bytes = 16 * MiB, stream = 8 },
      { 7500, 8000, copy = "h2d", bytes = 8 * MiB, stream = 8 },
      { 8000, 9950, kernel = gemm },
    },
    expect = { { severity = "warning", worth = { 0.1, 0.11 } } },
  },
  {
    name = "fires on weights fetched layer by layer",
    trace = steps(streamed(5)),
    expect = {
      {
        severity = "error",
        subject = "streamed weights",
        message = "*(40 MiB a step in 5 copies*",
        worth = { 0.28, 0.31 },
      },
    },
  },

  {
    name = "is silent when kernels hide the copies",
    trace = steps {
      { 100, 9950, kernel = gemm },
      { 2000, 3000, copy = "d2h", bytes = 8 * MiB, stream = 8 },
      { 3000, 4000, copy = "d2h", bytes = 16 * MiB, stream = 8 },
      { 5000, 6000, copy = "h2d", bytes = 16 * MiB, stream = 8 },
      { 6500, 7500, copy = "h2d", bytes = 8 * MiB, stream = 8 },
    },
    expect = "clean",
  },
  {
    name = "is silent below the threshold",
    trace = steps(exposed),
    options = { share = 0.5 },
    expect = "clean",
  },
  {
    name = "is silent about a single result that comes back",
    trace = steps {
      { 100, 2000, kernel = gemm },
      { 2000, 4000, copy = "d2h", bytes = 8 * MiB },
      { 4000, 5000, kernel = gemm },
      { 5000, 7000, copy = "h2d", bytes = 8 * MiB },
      { 7000, 9950, kernel = gemm },
    },
    expect = "clean",
  },
  {
    name = "is silent about what leaves and does not come back",
    trace = steps {
      { 100, 2000, kernel = gemm },
      { 2000, 4000, copy = "d2h", bytes = 8 * MiB },
      { 4000, 6000, copy = "d2h", bytes = 16 * MiB },
      { 6000, 9950, kernel = gemm },
    },
    expect = "clean",
  },
  {
    name = "is silent when other bytes come back than went",
    trace = steps {
      { 100, 2000, kernel = gemm },
      { 2000, 3000, copy = "d2h", bytes = 8 * MiB },
      { 3000, 4000, copy = "d2h", bytes = 16 * MiB },
      { 5000, 6000, copy = "h2d", bytes = 9 * MiB },
      { 6000, 7000, copy = "h2d", bytes = 17 * MiB },
      { 7000, 9950, kernel = gemm },
    },
    expect = "clean",
  },
  {
    name = "is silent about small copies",
    trace = steps(offloaded(1000, 2000, 2000)),
    expect = "clean",
  },
  {
    name = "is silent about a batch of many tensors",
    trace = steps {
      { 100, 800, copy = "h2d", bytes = 8 * MiB },
      { 800, 1500, copy = "h2d", bytes = 8 * MiB },
      { 1500, 2200, copy = "h2d", bytes = 8 * MiB },
      { 2200, 2900, copy = "h2d", bytes = 8 * MiB },
      { 2900, 3600, copy = "h2d", bytes = 8 * MiB },
      { 3600, 9950, kernel = gemm },
    },
    expect = "clean",
  },
  {
    name = "is silent about three bursts of input",
    trace = steps(streamed(3)),
    expect = "clean",
  },
  {
    name = "is silent about copies within the device",
    trace = steps {
      { 100, 2000, kernel = gemm },
      { 2000, 3000, copy = "d2d", bytes = 8 * MiB },
      { 3000, 4000, copy = "d2d", bytes = 16 * MiB },
      { 4000, 9950, kernel = gemm },
    },
    expect = "clean",
  },

  {
    name = "needs a model: without any product nothing is offloaded",
    trace = steps {
      { 100, 2000, kernel = "my_stencil" },
      { 2000, 3000, copy = "d2h", bytes = 8 * MiB },
      { 3000, 4000, copy = "d2h", bytes = 16 * MiB },
      { 5000, 6000, copy = "h2d", bytes = 16 * MiB },
      { 6000, 7000, copy = "h2d", bytes = 8 * MiB },
      { 7000, 9950, kernel = "my_stencil" },
    },
    expect = "not checked",
  },
  {
    name = "needs copies",
    trace = steps(exposed, { not_collected = { "copies" } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(exposed, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "offload",
    fixture = "offload",
    expect = {
      {
        severity = "error",
        subject = "offloaded tensors",
        message = "*175 round trips at 55.3 GB/s*",
        worth = { 0.8, 0.9 },
      },
    },
  },
  {
    name = "offload-pageoff",
    fixture = "offload-pageoff",
    expect = {
      {
        severity = "error",
        subject = "offloaded tensors",
        message = "*3.88 GB/s*",
        worth = { 0.93, 0.99 },
      },
    },
  },
  { name = "good", fixture = "good", expect = "clean" },
  { name = "starved: batches go up", fixture = "starved", expect = "clean" },
  {
    name = "um-umtouch-full: migrations are another rule's",
    fixture = "um-umtouch-full",
    expect = "clean",
  },
  {
    name = "compile-graphs: nothing to see in or around graphs",
    fixture = "compile-graphs",
    expect = "clean",
  },
}

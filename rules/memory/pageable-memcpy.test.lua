-- Six steps of 10 ms: a batch is copied for `time` us with nothing next to it.
local MiB = 1048576
local function steps(time, bytes, more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = {
      { 20, 20 + time, copy = "h2d", bytes = bytes, from = "pageable", launched = { 5, 10 } },
      { 20 + time, 9990, kernel = "nvjet_tst_gemm", launched = { 12, 15 } },
    },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local function downloads(memory)
  return {
    { 20, 8000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
    { 8000, 9990, copy = "d2h", bytes = 10 * MiB, to = memory, launched = { 12, 15 } },
  }
end
local function trips(memory)
  return {
    { 20, 2000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
    { 2000, 3000, copy = "d2h", bytes = 8 * MiB, to = memory },
    { 3000, 5000, copy = "d2h", bytes = 16 * MiB, to = memory },
    { 5000, 6000, kernel = "nvjet_tst_gemm" },
    { 6000, 8000, copy = "h2d", bytes = 16 * MiB, from = memory },
    { 8000, 9000, copy = "h2d", bytes = 8 * MiB, from = memory },
    { 9000, 9990, kernel = "nvjet_tst_gemm" },
  }
end

-- Both ways, the download so many times as long as the upload.
local function both_ways(times)
  return steps(1000, 5 * MiB, {
    ops = {
      { 20, 1020, copy = "h2d", bytes = 5 * MiB, from = "pageable", launched = { 5, 10 } },
      { 1030, 6000, kernel = "nvjet_tst_gemm", launched = { 12, 15 } },
      {
        6010,
        6010 + 1000 * times,
        copy = "d2h",
        bytes = 5 * times * MiB,
        to = "pageable",
        launched = { 16, 20 },
      },
    },
  })
end

-- Ten tensors in a row, after which the host works.
local function saving()
  local ops = { { 20, 4000, kernel = "nvjet_tst_gemm", launched = { 10, 15 } } }
  for i = 0, 9 do
    local at = 4000 + 300 * i
    local launched = { i == 0 and 16 or at + 5, at + 300 }
    ops[#ops + 1] =
      { at, at + 300, copy = "d2h", bytes = 1.5 * MiB, to = "pageable", launched = launched }
  end
  ops[#ops + 1] = { 9500, 9990, kernel = "stencil", launched = { 9480, 9490 } }
  return steps(1000, 5 * MiB, { ops = ops })
end

return {
  {
    name = "begins with the direction that takes longer",
    trace = both_ways(3),
    expect = { { advice = "Copy back to a reused pinned buffer*" } },
  },
  {
    name = "has the GPU do what the host does with a download",
    trace = steps(1000, 5 * MiB, {
      ops = {
        { 20, 4000, kernel = "nvjet_tst_gemm", launched = { 10, 15 } },
        {
          4000,
          7000,
          copy = "d2h",
          bytes = 15 * MiB,
          to = "pageable",
          launched = { 16, 7000 },
        },
        { 9500, 9990, kernel = "stencil", launched = { 9480, 9490 } },
      },
    }),
    expect = { { advice = "Do on the GPU what the host does with it next*" } },
  },
  {
    name = "but not with the many parts of a state that is saved",
    trace = saving(),
    expect = { { advice = "Copy back to a reused pinned buffer*" } },
  },
  {
    name = "begins with uploads where those do",
    trace = both_ways(0.5),
    expect = { { advice = "Pin what is uploaded*" } },
  },
  {
    name = "follows from resident-data where the data could stay on the device",
    trace = {
      repeats = { times = 8, every = 10000 },
      ranges = { { 0, 9900, "step {n}" } },
      ops = {
        { 20, 2020, copy = "h2d", bytes = 2e7, from = "pageable", launched = { 5, 10 } },
        { 2030, 7930, kernel = "stencil", launched = { 12, 15 } },
        { 7940, 9950, copy = "d2h", bytes = 2e7, to = "pageable", launched = { 16, 20 } },
      },
    },
    expect = { { severity = "error" } },
  },
  {
    name = "fires on a pageable batch",
    trace = steps(2000, 10 * MiB),
    expect = {
      {
        severity = "warning",
        subject = "uploads",
        confidence = "high",
        message = "10 MiB a step go through pageable host memory, at 5.24 GB/s where pinned \z
          memory reaches about 55.0 GB/s: 2.0* ms of*",
        worth = { 0.17, 0.19 },
      },
    },
  },
  {
    name = "advises a CUDA program with CUDA's calls",
    trace = steps(2000, 10 * MiB),
    expect = { { advice = "Pin what is uploaded: cudaHostAlloc*" } },
  },
  {
    name = "says what fits any program where nothing shows a loader",
    trace = steps(
      2000,
      10 * MiB,
      { ranges = { { 0, 9900, "step {n}" }, { 0, 9, "aten::to" } } }
    ),
    expect = { { advice = "Make it on the GPU, or upload from a pinned buffer: *" } },
  },
  {
    name = "knows a loader by the wait for its workers",
    trace = steps(2000, 10 * MiB, {
      ranges = { { 0, 9000, "step {n}" }, { 5900, 5909, "aten::to" } },
      ops = {
        {
          6010,
          8010,
          copy = "h2d",
          bytes = 10 * MiB,
          from = "pageable",
          launched = { 6000, 6005 },
        },
        { 8010, 9900, kernel = "nvjet_tst_gemm", launched = { 6010, 6015 } },
        {
          9990,
          9995,
          kernel = "multi_tensor_apply_kernel<FusedAdam>",
          launched = { 6020, 6025 },
        },
      },
      os_calls = { { 500, 5800, "pthread_cond_timedwait" } },
    }),
    expect = { { advice = "Pin the batches: *" } },
  },
  {
    name = "tells PyTorch of its loader's",
    trace = steps(2000, 10 * MiB, {
      ranges = {
        { 0, 9900, "step {n}" },
        { 0, 9, "aten::to" },
        { 9, 11, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" },
      },
    }),
    expect = { { advice = "Pin the batches: *" } },
  },
  {
    name = "is an error from a fifth of the step on",
    trace = steps(4000, 20 * MiB),
    expect = { { severity = "error", worth = { 0.35, 0.38 } } },
  },
  {
    name = "warns from 3 % on, since the fix is a line",
    trace = steps(400, 2 * MiB),
    expect = { { severity = "warning", worth = { 0.03, 0.045 } } },
  },
  {
    name = "fires on results",
    trace = steps(0, 0, { ops = downloads("pageable") }),
    expect = { { severity = "warning", subject = "downloads" } },
  },
  {
    name = "fires on offloaded tensors",
    trace = steps(0, 0, { ops = trips("pageable") }),
    expect = {
      {
        severity = "error",
        subject = "offloaded tensors",
        message = "48 MiB a step*",
        advice = "Stop offloading, it fits: *",
      },
    },
  },
  {
    name = "fires on weights fetched layer by layer",
    trace = steps(0, 0, {
      ops = (function()
        local ops = {}
        for i = 0, 5 do
          ops[#ops + 1] = {
            i * 1600 + 20,
            i * 1600 + 600,
            copy = "h2d",
            bytes = 4 * MiB,
            from = "pageable",
          }
          ops[#ops + 1] = { i * 1600 + 600, i * 1600 + 1600, kernel = "nvjet_tst_gemm" }
        end
        return ops
      end)(),
    }),
    expect = {
      {
        severity = "error",
        subject = "offloaded tensors",
        advice = "Offload through pinned *",
      },
    },
  },
  {
    name = "expects of Grace Hopper what its link gives",
    trace = steps(
      2000,
      10 * MiB,
      { device = { name = "NVIDIA GH200 480GB", memory_gib = 96 } }
    ),
    expect = {
      {
        severity = "warning",
        confidence = "medium",
        message = "*reaches about 200.0 GB/s*",
        worth = { 0.193, 0.199 },
      },
    },
  },
  {
    name = "names no link that it does not know",
    trace = steps(
      2000,
      10 * MiB,
      { device = { name = "NVIDIA X1", compute = 99.0, sm_count = 0 } }
    ),
    expect = {
      {
        severity = "error",
        confidence = "medium",
        message = "10 MiB a step go through pageable host memory, at 5.24 GB/s: *",
        worth = { 0.19, 0.21 },
      },
    },
  },
  {
    name = "goes by its share of what repeats without ranges",
    trace = steps(4000, 20 * MiB, { ranges = {} }),
    expect = { { severity = "error", message = "20 MiB an iteration go*waiting for it." } },
  },
  {
    name = "is a note where it may be the start",
    trace = {
      ops = (function()
        local ops = { { 10000, 60000, kernel = "my_stencil" } }
        for i = 0, 9 do
          ops[#ops + 1] =
            { i * 1000, i * 1000 + 900, copy = "h2d", bytes = 5 * MiB, from = "pageable" }
        end
        return ops
      end)(),
    },
    expect = {
      { severity = "note", message = "* so it may be the program's start or end." },
    },
  },
  {
    name = "goes by its share where the copies come late only",
    trace = {
      ops = (function()
        local ops = {}
        for i = 1, 40 do
          ops[i] = { (i - 1) * 1000, i * 1000, kernel = "build_" .. i }
        end
        for i = 0, 9 do
          local at = 40000 + i * 2000
          ops[#ops + 1] = { at, at + 900, copy = "h2d", bytes = 5 * MiB, from = "pageable" }
          ops[#ops + 1] = { at + 900, at + 2000, kernel = "merge_" .. i }
        end
        return ops
      end)(),
    },
    expect = { { severity = "warning", message = "*or waiting for it." } },
  },
  {
    name = "counts no host work before a copy, and is a note where that takes longer than the copy",
    trace = steps(0, 0, {
      ops = {
        { 20, 1000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        {
          6000,
          7000,
          copy = "h2d",
          bytes = 5 * MiB,
          from = "pageable",
          launched = { 5990, 6900 },
        },
        { 7020, 9990, kernel = "nvjet_tst_gemm", launched = { 7005, 7010 } },
      },
    }),
    expect = { { severity = "note", worth = { 0.05, 0.12 } } },
  },
  {
    name = "is no note where what the host does in between is work on results that came down",
    trace = steps(0, 0, {
      ops = {
        { 20, 1000, kernel = "my_stencil", launched = { 5, 10 } },
        { 1000, 2000, copy = "d2h", bytes = 4 * MiB, to = "pageable", launched = { 12, 2000 } },
        {
          6000,
          7000,
          copy = "h2d",
          bytes = 5 * MiB,
          from = "pageable",
          launched = { 5990, 6900 },
        },
        { 7020, 9990, kernel = "my_stencil", launched = { 7005, 7010 } },
      },
    }),
    expect = {
      {
        severity = "warning",
        message = "9 MiB a step go through pageable host memory, at 4.72 GB/s (to the device 5.2 \z
          GB/s, to the host 4.2 GB/s) where*",
      },
    },
  },
  {
    name = "speaks of no offloaded tensors where no model runs",
    trace = steps(0, 0, {
      ops = (function()
        local ops = trips("pageable")
        for _, op in ipairs(ops) do
          op.kernel = op.kernel and "my_stencil"
        end
        return ops
      end)(),
    }),
    expect = { { severity = "error", subject = "downloads" } },
  },
  {
    name = "counts no pause of the program's own without steps",
    trace = steps(0, 0, {
      ranges = {},
      ops = {
        { 20, 1020, copy = "h2d", bytes = 5 * MiB, from = "pageable", launched = { 5, 10 } },
        { 9000, 9990, kernel = "my_stencil" },
      },
    }),
    expect = { { severity = "warning", worth = { 0.08, 0.1 } } },
  },
  {
    name = "counts the host's part between two pieces",
    trace = steps(0, 0, {
      ops = {
        {
          20,
          1020,
          copy = "h2d",
          bytes = 5 * MiB,
          from = "pageable",
          launched = { 5, 1025 },
        },
        {
          1520,
          2520,
          copy = "h2d",
          bytes = 5 * MiB,
          from = "pageable",
          launched = { 1100, 2525 },
        },
        { 2540, 9990, kernel = "nvjet_tst_gemm", launched = { 2530, 2535 } },
      },
    }),
    expect = { { severity = "error", worth = { 0.22, 0.25 } } },
  },

  {
    name = "is silent about three copies of a benchmark",
    trace = steps(2000, 10 * MiB, { ranges = {}, repeats = { times = 3, every = 10000 } }),
    expect = "clean",
  },
  {
    name = "is silent about one copy in five steps",
    trace = {
      ranges = {
        { 0, 900, "step 1" },
        { 1000, 1900, "step 2" },
        { 2000, 2900, "step 3" },
        { 3000, 3900, "step 4" },
        { 4000, 4900, "step 5" },
      },
      ops = {
        { 20, 990, kernel = "nvjet_tst_gemm" },
        { 1020, 1990, kernel = "nvjet_tst_gemm" },
        { 2020, 2600, copy = "h2d", bytes = 3 * MiB, from = "pageable" },
        { 2600, 2990, kernel = "nvjet_tst_gemm" },
        { 3020, 3990, kernel = "nvjet_tst_gemm" },
        { 4020, 4990, kernel = "nvjet_tst_gemm" },
      },
    },
    expect = "clean",
  },
  {
    name = "is silent about pinned memory",
    trace = steps(2000, 100 * MiB, {
      ops = {
        { 20, 2020, copy = "h2d", bytes = 100 * MiB, launched = { 5, 10 } },
        { 2020, 9990, kernel = "nvjet_tst_gemm", launched = { 12, 15 } },
      },
    }),
    expect = "clean",
  },
  {
    name = "is silent about 64 KiB, whatever they take",
    trace = steps(2000, 65536),
    expect = "clean",
  },
  {
    name = "is silent where kernels hide the copy",
    trace = steps(0, 0, {
      ops = {
        { 20, 9990, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 100, 2100, copy = "h2d", bytes = 10 * MiB, from = "pageable", stream = 8 },
      },
    }),
    expect = "clean",
  },
  { name = "is silent about 2 %", trace = steps(200, MiB), expect = "clean" },
  {
    name = "is silent where the link gives no more",
    trace = steps(2000, 110 * MiB),
    expect = "clean",
  },
  {
    name = "is silent about a checkpoint, which has a rule",
    trace = steps(0, 0, {
      ops = downloads("pageable"),
      ranges = { { 0, 9900, "step {n}" }, { 11, 9990, "save_checkpoint" } },
    }),
    expect = "clean",
  },
  {
    name = "is silent about offloading through pinned memory",
    trace = steps(0, 0, { ops = trips("pinned") }),
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(2000, 10 * MiB),
    options = { share = 0.3 },
    expect = "clean",
  },
  {
    name = "is silent with thresholds of zero and no copy",
    trace = { ops = { { 20, 900, kernel = "nvjet_tst_gemm" } } },
    options = { share = 0, min_bytes = 0 },
    expect = "clean",
  },

  {
    name = "needs copies",
    trace = steps(2000, 10 * MiB, { not_collected = { "copies" } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(2000, 10 * MiB, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "offload-pageoff",
    fixture = "offload-pageoff",
    expect = {
      {
        severity = "error",
        subject = "offloaded tensors",
        message = "*3.88 GB/s*",
        worth = { 0.88, 0.93 },
      },
    },
  },
  { name = "offload: pinned", fixture = "offload", expect = "clean" },
  { name = "syncs-pageable: 64 KiB", fixture = "syncs-pageable", expect = "clean" },
  { name = "good", fixture = "good", expect = "clean" },
  { name = "starved", fixture = "starved", expect = "clean" },
  { name = "eager: a few bytes", fixture = "eager", expect = "clean" },
}

-- Six steps of 10 ms: copies of `time` us before, or beside, the kernels.
local MiB = 1048576
local function steps(ops, more)
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9900, "step {n}" } }, ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local function upload(time, from, kernel)
  return {
    {
      20,
      20 + time,
      copy = "h2d",
      bytes = time * 50000,
      from = from,
      launched = { 5, 10 },
      stream = 8,
    },
    { kernel or 20 + time, 9990, kernel = "nvjet_tst_gemm", launched = { 12, 15 } },
  }
end

-- A chunk of vectors on each of four streams in turn: two uploads, a short kernel, a download, all
-- of one size.
local function chunks(engines)
  local ops = {}
  for stream = 1, 4 do
    local at = (stream - 1) * 2500
    for i, way in ipairs { "h2d", "h2d", "d2h" } do
      local from = at + 20 + (i - 1) * 800 + (way == "d2h" and 50 or 0)
      ops[#ops + 1] = {
        from,
        from + 800,
        copy = way,
        bytes = 10 * MiB,
        from = way == "h2d" and "pinned" or nil,
        to = way == "d2h" and "pinned" or nil,
        stream = stream,
        launched = { i, i + 0.5 },
      }
    end
    ops[#ops + 1] =
      { at + 1625, at + 1665, kernel = "add", stream = stream, launched = { 4, 5 } }
  end
  return {
    device = { name = "NVIDIA GeForce RTX 4060 Ti", copy_engines = engines },
    repeats = { times = 6, every = 10100 },
    ranges = { { 0, 10050, "step {n}" } },
    ops = ops,
  }
end

return {
  {
    name = "fires where kernels are too short to hide them: less data has to be sent",
    trace = steps {
      { 20, 8020, copy = "h2d", bytes = 400 * MiB, from = "pinned", launched = { 5, 10 } },
      { 8020, 8420, kernel = "sum", launched = { 12, 15 } },
    },
    expect = {
      {
        severity = "warning",
        message = "400 MiB a step are copied to the device while*The kernels that could still \z
          hide some of it take 400.0 us.",
        advice = "Send less, or keep on the device what is sent repeatedly: copy what does*",
        worth = { 0.39, 0.41 },
      },
    },
  },
  {
    name = "fires on pieces over several streams that no kernel hides",
    trace = chunks(1),
    expect = {
      {
        severity = "warning",
        message = "120 MiB a step are copied in both directions while*This GPU has one copy \z
          engine: its uploads and downloads take turns.",
      },
    },
  },
  {
    name = "says that both directions can overlap where the GPU has the engines",
    trace = chunks(2),
    expect = { { advice = "Let uploads and downloads overlap*" } },
  },
  {
    name = "fires on a batch that nothing hides",
    trace = steps(upload(1500)),
    expect = {
      {
        severity = "warning",
        subject = "copies to the device",
        message = "71.5 MiB a step are copied to the device while nothing computes: 1.50 ms \z
          of*(15 %), at 50.0 GB/s over a link of about 55 GB/s.",
        worth = { 0.14, 0.16 },
      },
    },
  },
  {
    name = "is an error from a fifth of the step on",
    trace = steps(upload(2500)),
    expect = { { severity = "error" } },
  },
  {
    name = "fires on results",
    trace = steps {
      { 20, 8000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
      { 8000, 9500, copy = "d2h", bytes = 70 * MiB },
      { 9500, 9990, kernel = "nvjet_tst_gemm" },
    },
    expect = { { severity = "warning", subject = "copies to the host" } },
  },
  {
    name = "fires on copies between GPUs",
    trace = steps {
      { 20, 8000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
      { 8000, 9990, copy = "p2p", bytes = 70 * MiB },
    },
    expect = { { severity = "warning", subject = "copies between devices" } },
  },
  {
    name = "counts what kernels leave of a copy that they hide in part",
    trace = steps(upload(2000, "pinned", 1420)),
    expect = { { severity = "warning", worth = { 0.13, 0.15 } } },
  },
  {
    name = "fires without steps",
    trace = steps(upload(1500), { ranges = {}, repeats = { times = 3, every = 10000 } }),
    expect = { { severity = "warning" } },
  },
  {
    name = "fires on Grace Hopper",
    trace = steps(upload(1500), { device = { name = "NVIDIA GH200 480GB", memory_gib = 96 } }),
    expect = { { severity = "warning" } },
  },

  {
    name = "fires on prefetches that nothing hides",
    trace = steps((function()
      local ops = { { 1020, 9990, kernel = "nvjet_tst_gemm", launched = { 5, 10 } } }
      for i = 0, 19 do
        ops[#ops + 1] = {
          i * 50 + 20,
          i * 50 + 70,
          copy = "um_h2d",
          bytes = 2 * MiB,
          cause = "prefetch",
          address = i * 2 * MiB,
        }
      end
      return ops
    end)()),
    expect = {
      {
        severity = "warning",
        subject = "prefetches to the device",
        message = "40 MiB a step of unified memory are prefetched to the device while nothing \z
          computes*",
        worth = { 0.09, 0.11 },
      },
    },
  },
  {
    name = "says so where they go both ways",
    trace = steps {
      { 20, 520, copy = "um_h2d", bytes = 20 * MiB, cause = "prefetch", address = 0 },
      { 520, 9490, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
      { 9490, 9990, copy = "um_d2h", bytes = 20 * MiB, cause = "prefetch", address = 0 },
    },
    expect = {
      {
        severity = "warning",
        message = "40 MiB a step of unified memory are prefetched in both directions while*",
      },
    },
  },
  {
    name = "counts short copies in a row together",
    trace = steps((function()
      local ops = { { 1820, 9990, kernel = "nvjet_tst_gemm", launched = { 12, 15 } } }
      for i = 0, 19 do
        ops[#ops + 1] = {
          i * 90 + 20,
          i * 90 + 110,
          copy = "h2d",
          bytes = 4 * MiB,
          launched = { i * 0.5, i * 0.5 + 0.4 },
        }
      end
      return ops
    end)()),
    expect = {
      {
        severity = "warning",
        subject = "copies to the device",
        message = "80 MiB a step are*",
        worth = { 0.17, 0.19 },
      },
    },
  },

  {
    name = "is silent about prefetches next to kernels",
    trace = steps((function()
      local ops = { { 20, 9990, kernel = "nvjet_tst_gemm", launched = { 5, 10 } } }
      for i = 0, 19 do
        ops[#ops + 1] = {
          i * 50 + 20,
          i * 50 + 70,
          copy = "um_h2d",
          bytes = 2 * MiB,
          cause = "prefetch",
          address = i * 2 * MiB,
        }
      end
      return ops
    end)()),
    expect = "clean",
  },
  {
    name = "is silent about short copies in a row next to kernels",
    trace = steps((function()
      local ops = { { 20, 9990, kernel = "nvjet_tst_gemm", launched = { 5, 10 } } }
      for i = 0, 19 do
        ops[#ops + 1] = {
          i * 90 + 20,
          i * 90 + 110,
          copy = "h2d",
          bytes = 4 * MiB,
          stream = 8,
          launched = { i * 0.5 + 11, i * 0.5 + 11.4 },
        }
      end
      return ops
    end)()),
    expect = "clean",
  },
  {
    name = "is silent where kernels hide more than half",
    trace = steps(upload(2000, "pinned", 520)),
    expect = "clean",
  },
  { name = "is silent below 5 %", trace = steps(upload(400)), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = steps(upload(1500)),
    options = { share = 0.3 },
    expect = "clean",
  },
  {
    name = "is silent about data that could stay on the device, which has a rule",
    trace = {
      repeats = { times = 8, every = 10000 },
      ranges = { { 0, 9900, "step {n}" } },
      ops = {
        { 20, 1520, copy = "h2d", bytes = 70 * MiB, from = "pinned", launched = { 5, 10 } },
        { 1530, 8430, kernel = "stencil", launched = { 12, 15 } },
        { 8440, 9950, copy = "d2h", bytes = 70 * MiB, to = "pinned", launched = { 16, 20 } },
      },
    },
    expect = "clean",
  },
  {
    name = "forecasts nothing of data that the host has a turn with",
    trace = {
      repeats = { times = 8, every = 10000 },
      ranges = { { 0, 9900, "step {n}" } },
      ops = {
        {
          3020,
          4520,
          copy = "h2d",
          bytes = 70 * MiB,
          from = "pinned",
          launched = { 3005, 3010 },
        },
        { 4530, 8430, kernel = "stencil", launched = { 3012, 3015 } },
        {
          8440,
          9950,
          copy = "d2h",
          bytes = 70 * MiB,
          to = "pinned",
          launched = { 3016, 3020 },
        },
      },
    },
    expect = {
      { severity = "error", message = "140 MiB a step are copied in both directions*" },
    },
  },
  {
    name = "is silent about many short copies",
    trace = steps((function()
      local ops = {}
      for i = 0, 19 do
        ops[#ops + 1] = {
          i * 500 + 20,
          i * 500 + 110,
          copy = "h2d",
          bytes = MiB / 2,
          launched = { i * 500 + 5, i * 500 + 10 },
        }
        ops[#ops + 1] = { i * 500 + 110, i * 500 + 515, kernel = "nvjet_tst_gemm" }
      end
      return ops
    end)()),
    expect = "clean",
  },
  {
    name = "is silent about pageable memory, which has a rule",
    trace = steps(upload(1500, "pageable")),
    expect = "clean",
  },
  {
    name = "is silent about copies within the device",
    trace = steps {
      { 20, 8000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
      { 8000, 9990, copy = "d2d", bytes = 70 * MiB },
    },
    expect = "clean",
  },
  {
    name = "is silent about offloaded tensors, which have a rule",
    trace = steps {
      { 100, 2000, kernel = "nvjet_tst_gemm" },
      { 2000, 3000, copy = "d2h", bytes = 8 * MiB },
      { 3000, 4000, copy = "d2h", bytes = 16 * MiB },
      { 4000, 5000, kernel = "nvjet_tst_gemm" },
      { 5000, 6000, copy = "h2d", bytes = 16 * MiB },
      { 6000, 6500, kernel = "nvjet_tst_gemm" },
      { 6500, 7500, copy = "h2d", bytes = 8 * MiB },
      { 7500, 9950, kernel = "nvjet_tst_gemm" },
    },
    expect = "clean",
  },
  {
    name = "is silent about a checkpoint, which has a rule",
    trace = steps({
      { 20, 8000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
      { 8000, 9990, copy = "d2h", bytes = 70 * MiB },
    }, { ranges = { { 0, 9900, "step {n}" }, { 7900, 9990, "save_checkpoint" } } }),
    expect = "clean",
  },
  {
    name = "is silent about migrations, which have a rule",
    trace = steps {
      { 20, 8000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
      { 8000, 9500, copy = "um_h2d", bytes = 70 * MiB, cause = "fault", address = 65536 },
      { 9500, 9990, kernel = "nvjet_tst_gemm" },
    },
    expect = "clean",
  },
  {
    name = "is silent with thresholds of zero and no copy",
    trace = { ops = { { 20, 900, kernel = "nvjet_tst_gemm" } } },
    options = { share = 0, min_ns = 0, hidden_share = 0 },
    expect = "clean",
  },

  {
    name = "needs copies",
    trace = steps(upload(1500), { not_collected = { "copies" } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(upload(1500), { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  { name = "offload: another rule's", fixture = "offload", expect = "clean" },
  { name = "offload-pageoff: another rule's", fixture = "offload-pageoff", expect = "clean" },
  { name = "starved", fixture = "starved", expect = "clean" },
  { name = "um-umtouch-full: migrations", fixture = "um-umtouch-full", expect = "clean" },
  {
    name = "exposed-copy",
    fixture = "exposed-copy",
    expect = { { severity = "error", worth = { 0.25, 0.32 } } },
  },
  {
    name = "tiles: copies of one size on three streams, of which the ends show",
    fixture = "tiles",
    expect = "clean",
  },
}

-- Six steps of 10 ms: an upload of 64 MiB in `time` us, and a product. An H200's link carries 55
-- GB/s: 1220 us.
local MiB = 1048576
local function steps(time, more, copy)
  local up = {
    20,
    20 + time,
    copy = "h2d",
    bytes = 64 * MiB,
    from = "pinned",
    launched = { 5, 10 },
    stream = 8,
  }
  for key, value in pairs(copy or {}) do
    up[key] = value
  end
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = { up, { 20 + time, 9950, kernel = "nvjet_tst_gemm", launched = { 12, 15 } } },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end

return {
  {
    name = "fires where pinned copies get a third of what the link carries",
    trace = steps(3600),
    expect = {
      {
        severity = "warning",
        subject = "device 0",
        confidence = "medium",
        message = "Copies of 8 MiB or more between pinned memory and GPU 0 run at 18.6 GB/s, \z
          while this link carries about 55.0 GB/s in practice: 3.60 ms of each 10.0 ms step (36 \z
          %)*",
        worth = { 0.22, 0.26 },
      },
    },
  },

  {
    name = "fires where both directions at once carry less than one could",
    trace = {
      repeats = { times = 6, every = 10000 },
      ranges = { { 0, 9990, "step {n}" } },
      ops = {
        { 10, 5700, copy = "d2h", bytes = 64 * MiB, to = "pinned", stream = 20 },
        { 50, 9980, copy = "h2d", bytes = 64 * MiB, from = "pinned", stream = 22 },
        { 9985, 9990, kernel = "stencil" },
      },
    },
    expect = {
      { severity = "warning", message = "*run at 13.5 GB/s, both directions together, while*" },
    },
  },
  {
    name = "is silent where both directions share what the link carries",
    trace = {
      repeats = { times = 6, every = 10000 },
      ranges = { { 0, 9990, "step {n}" } },
      ops = {
        { 10, 9980, copy = "d2h", bytes = 180 * MiB, to = "pinned", stream = 20 },
        { 50, 9980, copy = "h2d", bytes = 180 * MiB, from = "pinned", stream = 22 },
        { 9985, 9990, kernel = "stencil" },
      },
    },
    expect = "clean",
  },
  {
    name = "is silent where the link gives what it carries",
    trace = steps(1300),
    expect = "clean",
  },
  {
    name = "is silent about pageable memory, which has a rule",
    trace = steps(3600, nil, { from = "pageable" }),
    expect = "clean",
  },
  {
    name = "is silent about copies too short to reach the rate",
    trace = steps(3600, nil, { bytes = 4 * MiB }),
    expect = "clean",
  },
  {
    name = "is silent where both ways share the link",
    trace = steps(2400, {
      ops = {
        {
          20,
          3620,
          copy = "h2d",
          bytes = 64 * MiB,
          from = "pinned",
          launched = { 5, 10 },
          stream = 8,
        },
        {
          20,
          3620,
          copy = "d2h",
          bytes = 64 * MiB,
          to = "pinned",
          launched = { 11, 14 },
          stream = 9,
        },
        { 3630, 9950, kernel = "nvjet_tst_gemm", launched = { 15, 18 } },
      },
    }),
    expect = "clean",
  },
  {
    name = "is silent where kernels hide them",
    trace = steps(3600, {
      ops = {
        { 20, 9950, kernel = "nvjet_tst_gemm", launched = { 12, 15 } },
        {
          40,
          3640,
          copy = "h2d",
          bytes = 64 * MiB,
          from = "pinned",
          launched = { 16, 20 },
          stream = 8,
        },
      },
    }),
    expect = "clean",
  },
  {
    name = "counts on half of what NVLink-C2C carries",
    trace = steps(450, { device = { name = "NVIDIA GH200 480GB", memory_gib = 96 } }),
    expect = "clean",
  },

  {
    name = "cannot judge a GPU that no table lists",
    trace = steps(3600, { device = { name = "Some GPU", memory_gib = 8, compute = 0 } }),
    expect = "not checked",
  },
  {
    name = "needs copies",
    trace = steps(3600, { not_collected = { "copies" } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(3600, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  { name = "offload: 55 GB/s", fixture = "offload", expect = "clean" },
  { name = "exposed-copy", fixture = "exposed-copy", expect = "clean" },
  { name = "tiles", fixture = "tiles", expect = "clean" },
}

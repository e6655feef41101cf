-- Six steps of 10 ms on two devices of one process: activations come down from the first and go up
-- to the second.
local MiB = 1048576
local function steps(more)
  more = more or {}
  local bytes, gpu = more.bytes or 64 * MiB, more.to or 1
  local ops = {
    { 20, 4000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
    { 4000, 5300, copy = "d2h", bytes = bytes, to = "pinned", launched = { 12, 15 } },
    {
      5320,
      6620,
      copy = "h2d",
      bytes = more.up or bytes,
      from = "pinned",
      launched = { 5305, 5310 },
      gpu = gpu,
      rank = more.rank,
    },
    {
      6640,
      9950,
      kernel = "nvjet_tst_gemm",
      launched = { 5311, 5315 },
      gpu = 1,
      rank = more.rank,
    },
  }
  if more.own then
    ops[#ops + 1] = {
      8000,
      8900,
      copy = "h2d",
      bytes = bytes,
      from = "pinned",
      launched = { 7990, 7995 },
      stream = 9,
    }
  end
  return {
    repeats = { times = 8, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    ops = ops,
    not_collected = more.not_collected,
  }
end

-- Sixty kernels that nothing repeats, on two devices; from the one numbered `first` on, twelve of
-- the first device's results go through the host to the second, whose next kernel waits for them.
local function window(first)
  local ops, at = {}, 0
  for i = 1, 60 do
    local sends = i >= first and i < first + 12
    ops[#ops + 1] = { at, at + 1000, kernel = "part_" .. i }
    at = at + 1000
    if sends then
      local bytes = 64 * MiB + i
      ops[#ops + 1] = { at, at + 1300, copy = "d2h", bytes = bytes, to = "pinned" }
      ops[#ops + 1] =
        { at + 1320, at + 2620, copy = "h2d", bytes = bytes, from = "pinned", gpu = 1 }
      at = at + 2640
    end
    ops[#ops + 1] = { at, at + 900, kernel = "rest_" .. i, gpu = 1 }
  end
  return { ops = ops }
end

return {
  {
    name = "fires without steps where it comes late only",
    trace = window(46),
    expect = { { subject = "copies through the host" } },
  },
  { name = "is silent where it may be the start", trace = window(1), expect = "clean" },
  {
    name = "fires where one device's data goes up to another",
    trace = steps(),
    expect = {
      {
        severity = "warning",
        subject = "copies through the host",
        confidence = "medium",
        message = "1 copy comes down from one GPU and goes up to another a step (64 MiB). 1.30 ms \z
          of*",
      },
    },
  },

  {
    name = "is silent where it goes up to the same device",
    trace = steps { to = 0 },
    expect = "clean",
  },
  { name = "is silent about other sizes", trace = steps { up = 32 * MiB }, expect = "clean" },
  {
    name = "is silent where the device takes as many bytes back: they may be its own",
    trace = steps { own = true },
    expect = "clean",
  },
  {
    name = "is silent about another process, whose data it cannot be",
    trace = steps { rank = 1 },
    expect = "clean",
  },
  { name = "is silent about small copies", trace = steps { bytes = 4096 }, expect = "clean" },
  {
    name = "is silent about one device",
    trace = { ops = { { 20, 900, kernel = "nvjet_tst_gemm" } } },
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(),
    options = { share = 0.5 },
    expect = "clean",
  },

  {
    name = "needs copies",
    trace = steps { not_collected = { "copies" } },
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps { not_collected = { "kernels" } },
    expect = "not checked",
  },
  {
    name = "needs calls",
    trace = steps { not_collected = { "calls" } },
    expect = "not checked",
  },

  { name = "two-pipeline-2: send and receive", fixture = "two-pipeline-2", expect = "clean" },
  {
    name = "two-slow-loader: each device its own batches",
    fixture = "two-slow-loader",
    expect = "clean",
  },
}

-- Six rounds of 10 ms: two arrays go up, a kernel works on both, and both come down, `gap` us
-- before the next round.
local MiB = 1048576
local function rounds(more, gap, sizes)
  local ops, at, time = {}, 20, 900
  sizes = sizes or { 64 * MiB, 64 * MiB }
  for _, bytes in ipairs(sizes) do
    ops[#ops + 1] = {
      at,
      at + time,
      copy = "h2d",
      bytes = bytes,
      from = more.memory or "pinned",
      launched = { at - 8, at - 5 },
    }
    at = at + time + 10
  end
  ops[#ops + 1] = {
    at,
    9950 - #sizes * (time + 10) - (gap or 10),
    kernel = more.kernel or "stencil",
    launched = { at - 8, at - 5 },
  }
  at = 9950 - #sizes * (time + 10) - (gap or 10)
  for _, bytes in ipairs(more.down or sizes) do
    ops[#ops + 1] = {
      at,
      at + time,
      copy = "d2h",
      bytes = bytes,
      to = more.memory or "pinned",
      launched = { at - 8, at - 5 },
      stream = more.down_stream,
    }
    at = at + time + 10
  end
  local trace = {
    repeats = { times = 8, every = 10000 },
    ranges = more.ranges or { { 0, 9990, "iteration {n}" } },
    ops = ops,
  }
  if more.device then trace.device = more.device end
  if more.not_collected then trace.not_collected = more.not_collected end
  return trace
end
-- Rounds of 60 us of a compiler of directives: an allocation, an upload of 1 KiB, a kernel of 2 us.
local function regions(more)
  more = more or {}
  local calls = { { 12, 20, "cuMemAlloc" }, { 50, 56, "cuStreamSynchronize" } }
  if more.kept then calls = { calls[2] } end
  return {
    repeats = { times = 60, every = 60 },
    ops = {
      {
        30,
        32,
        copy = "h2d",
        bytes = more.bytes or 1024,
        from = "pinned",
        launched = { 20, 28 },
      },
      { 46, 48, kernel = more.kernel or "fill_42_gpu__F1L42_2", launched = { 36, 44 } },
    },
    calls = calls,
    ranges = { { 1, 59, "iteration {n}" } },
  }
end

-- Sixty kernels that nothing repeats; for eight of them, from the one numbered `first` on, an array
-- goes up before and comes down after.
local function window(first)
  local ops, at = {}, 0
  local function add(time, op)
    op[1], op[2], op.launched = at + 10, at + time, { at + 2, at + 5 }
    ops[#ops + 1] = op
    at = at + time
  end
  for i = 1, 60 do
    local moves = i >= first and i < first + 8
    if moves then add(900, { copy = "h2d", bytes = 64 * MiB, from = "pinned" }) end
    add(500, { kernel = "stencil_" .. i })
    if moves then add(900, { copy = "d2h", bytes = 64 * MiB, to = "pinned" }) end
  end
  return { ops = ops }
end

return {
  {
    name = "fires without steps where it comes late only",
    trace = window(50),
    expect = { { subject = "data that comes and goes" } },
  },
  { name = "is silent where it may be the start", trace = window(1), expect = "clean" },
  {
    name = "fires on arrays that come and go in each round",
    trace = rounds {},
    expect = {
      {
        severity = "warning",
        subject = "data that comes and goes",
        confidence = "medium",
        message = "1* MiB an iteration come back to the host and go up again within *too soon for \z
          the host to have changed them: 3.* ms of each 10.0 ms iteration (3* %)*",
        worth = { 0.3, 0.4 },
      },
    },
  },
  {
    name = "the same from pageable memory",
    trace = rounds { memory = "pageable" },
    expect = { { severity = "warning" } },
  },
  {
    name = "is an error where a compiler copies by itself",
    trace = rounds { kernel = "nvkernel_main_F1L42_2" },
    expect = { { severity = "error", advice = "Keep the data on the device: target data*" } },
  },
  {
    name = "knows other sizes apart",
    trace = rounds({}, 10, { 32 * MiB, 64 * MiB }),
    expect = { { severity = "warning" } },
  },
  {
    name = "fires where small arrays are allocated and uploaded again for each region",
    trace = regions { kernel = "nvkernel_main_F1L42_2" },
    expect = {
      {
        severity = "error",
        subject = "arrays of parallel regions",
        message = "Each parallel region allocates and uploads its arrays again: 1 allocation and \z
          1 upload (1 KiB) an iteration*",
      },
    },
  },
  {
    name = "is a note where memory is kept and only sizes recur",
    trace = regions { kernel = "nvkernel_main_F1L42_2", kept = true },
    expect = {
      {
        severity = "note",
        message = "The same arrays, by their sizes, are uploaded in each *",
      },
    },
  },

  {
    name = "is silent about an upload that begins before the download of its size has ended",
    trace = {
      repeats = { times = 8, every = 10000 },
      ranges = { { 0, 9990, "iteration {n}" } },
      ops = {
        { 10, 5700, copy = "d2h", bytes = 64 * MiB, to = "pinned", stream = 20 },
        { 50, 9980, copy = "h2d", bytes = 64 * MiB, from = "pinned", stream = 22 },
        { 9985, 9990, kernel = "stencil" },
      },
    },
    expect = "clean",
  },
  {
    name = "is silent where the host has the time to work on them",
    trace = rounds({}, 1500),
    expect = "clean",
  },
  {
    name = "is silent about batches, which go up and leave small results",
    trace = rounds { down = { 4096 } },
    expect = "clean",
  },
  {
    name = "is silent about results of another size",
    trace = rounds { down = { 48 * MiB } },
    expect = "clean",
  },
  {
    name = "leaves offloaded tensors of a model to another rule",
    trace = rounds { kernel = "nvjet_tst_gemm" },
    expect = "clean",
  },
  {
    name = "is silent about uploads of other programs, which may be new each time",
    trace = regions { kernel = "fill" },
    expect = "clean",
  },
  {
    name = "is silent where nothing is copied",
    trace = { repeats = { times = 6, every = 1000 }, ops = { { 20, 900, kernel = "stencil" } } },
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = rounds {},
    options = { share = 0.5 },
    expect = "clean",
  },

  {
    name = "needs copies",
    trace = rounds { not_collected = { "copies" } },
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = rounds { not_collected = { "kernels" } },
    expect = "not checked",
  },
  {
    name = "needs calls",
    trace = rounds { not_collected = { "calls" } },
    expect = "not checked",
  },

  { name = "tiles: pieces over three streams", fixture = "tiles", expect = "clean" },
  { name = "exposed-copy: one way only", fixture = "exposed-copy", expect = "clean" },
  { name = "offload: another rule's", fixture = "offload", expect = "clean" },
}

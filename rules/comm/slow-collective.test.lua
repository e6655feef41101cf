-- Six steps of 10 ms on two GPUs with one collective each, alone on the GPU from 4 to 8 ms: 4 ms
-- for `bytes`.
local gemm, MiB = "nvjet_tst_gemm", 1048576
local function steps(bytes, more)
  more = more or {}
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = {},
    ops = {},
    not_collected = more.not_collected,
  }
  for rank = 0, (more.ranks or 2) - 1 do
    local enter = 4000 - 3000 * (more.early == rank and 1 or 0)
    trace.ranges[#trace.ranges + 1] = { 0, 9000, "step {n}", rank = rank }
    if bytes then
      trace.ranges[#trace.ranges + 1] = {
        enter - 12 - (more.grouped and 50 or 0),
        enter - 4 - (more.grouped and 50 or 0),
        more.range or "ncclAllReduce",
        bytes = bytes,
        rank = rank,
      }
    end
    trace.ops[#trace.ops + 1] = { 20, enter, kernel = gemm, rank = rank }
    trace.ops[#trace.ops + 1] = {
      enter,
      8000,
      kernel = more.name or "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
      stream = 8,
      rank = rank,
    }
    trace.ops[#trace.ops + 1] =
      { more.hidden and 4000 or 8000, 9950, kernel = gemm, rank = rank }
  end
  return trace
end

return {
  -- 16 MiB in 4 ms are 4.2 GB/s; two ranks send each byte once.
  {
    name = "fires where the network falls back to sockets",
    trace = steps(16 * MiB),
    expect = {
      {
        severity = "error",
        subject = "bandwidth of collectives",
        confidence = "medium",
        message = "Collectives of 16 MiB (median) reach 4.19 GB/s*17 % of a link of 25.0 GB/s; \z
          4.00 ms of each 10.0 ms step*",
        worth = { 0.32, 0.34 },
      },
    },
  },
  {
    name = "counts what each rank of four sends",
    trace = steps(16 * MiB, { ranks = 4 }),
    expect = { { message = "*reach 6.29 GB/s*" } },
  },
  {
    name = "counts an all-gather's message from every other rank",
    trace = steps(
      8 * MiB,
      { ranks = 4, name = "ncclDevKernel_AllGather_RING_LL", range = "ncclAllGather" }
    ),
    expect = { { message = "*reach 6.29 GB/s*" } },
  },
  {
    name = "takes the time of the rank that waited for nobody",
    trace = steps(16 * MiB, { early = 0 }),
    expect = { { message = "*reach 4.19 GB/s*" } },
  },
  {
    name = "compares with the link that the team has",
    trace = steps(100 * MiB),
    options = { link_bytes_per_s = 450e9 },
    expect = { { severity = "error", message = "*26.2 GB/s*5.8 % of a link of 450.0 GB/s*" } },
  },
  {
    name = "and with as many ranks",
    trace = steps(16 * MiB),
    options = { ranks = 1024 },
    expect = { { message = "*reach 8.38 GB/s*" } },
  },
  {
    name = "is a note where compute hides it",
    trace = steps(16 * MiB, { hidden = true }),
    expect = { { severity = "note", worth = { 0, 0.01 } } },
  },

  {
    name = "is silent at the bandwidth of PCIe, where the team says that this is the link",
    trace = steps(60 * MiB),
    options = { link_bytes_per_s = 26e9 },
    expect = "clean",
  },
  {
    name = "cannot tell where the link may be NVLink",
    trace = steps(60 * MiB),
    expect = "not checked",
  },
  { name = "is silent about small messages", trace = steps(MiB // 2), expect = "clean" },
  {
    name = "is silent without communication",
    trace = steps(nil, { name = gemm }),
    expect = "clean",
  },
  {
    name = "is silent where no link is fast, whatever the options say",
    trace = steps(16 * MiB),
    options = { link_bytes_per_s = 0, min_bytes = 0 },
    expect = "clean",
  },

  { name = "needs sizes", trace = steps(nil), expect = "not checked" },
  {
    name = "needs more than one rank",
    trace = steps(16 * MiB, { ranks = 1 }),
    expect = "not checked",
  },
  {
    name = "needs ranges",
    trace = steps(16 * MiB, { not_collected = { "ranges" } }),
    expect = "not checked",
  },
  {
    name = "needs launches within the ranges",
    trace = steps(16 * MiB, { grouped = true }),
    expect = "not checked",
  },
  {
    name = "needs collectives that match",
    trace = steps(16 * MiB, { name = "ncclDevKernel_SendRecv" }),
    expect = "not checked",
  },

  { name = "ddp: sizes were not exported", fixture = "ddp", expect = "not checked" },
  { name = "good: one GPU", fixture = "good", expect = "clean" },
  { name = "offload", fixture = "offload", expect = "clean" },
  { name = "starved", fixture = "starved", expect = "clean" },
}

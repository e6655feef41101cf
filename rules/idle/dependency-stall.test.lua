-- Six steps of 10 ms: `turns` kernels on each of two streams, one after the other, all launched at
-- the start.
local function steps(turns, more)
  more = more or {}
  local ops, calls = {}, {}
  local length = 9900 / (2 * turns)
  for i = 0, 2 * turns - 1 do
    local first = i % 2 == 0
    local at = 60 + (more.beside and (i // 2) * 2 * length or i * length)
    ops[#ops + 1] = {
      at,
      at + (more.beside and 2 or 1) * length - 2,
      kernel = first and "advance" or "reduce_flux",
      stream = first and 7 or 13,
      order = first and (more.first or "legacy") or more.second or "blocking",
      blocks = more.blocks or 40,
      threads = 256,
      launched = { (more.late and at - 20 or 1 + i), (more.late and at - 18 or 1.4 + i) },
    }
  end
  if more.waits then calls[1] = { 55, 9975, "cudaDeviceSynchronize" } end
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    ops = ops,
    calls = calls,
    not_collected = more.not_collected,
  }
end

-- Forty kernels of 2 ms, all launched at the start, that two streams take turns with, `of_second`
-- of each ten on the second; no ranges.
local function launched_ahead(of_second)
  local ops = {}
  for i = 0, 39 do
    local first = of_second == 5 and i % 2 == 0 or of_second < 5 and i % 10 >= of_second
    ops[#ops + 1] = {
      100 + 2000 * i,
      2098 + 2000 * i,
      kernel = "advance",
      stream = first and 7 or 13,
      order = first and "legacy" or "blocking",
      blocks = 40,
      threads = 256,
      launched = { 1 + i, 1.4 + i },
    }
  end
  return { ops = ops }
end

return {
  {
    name = "fires where a unit is one turn of each",
    trace = launched_ahead(5),
    expect = { { severity = "warning", message = "Kernels of two streams take turns *" } },
  },
  {
    name = "is silent where a stream now and then has its turn",
    trace = launched_ahead(1),
    expect = "clean",
  },
  {
    name = "fires on the legacy default stream",
    trace = steps(10),
    expect = {
      {
        severity = "warning",
        subject = "legacy default stream",
        message = "Kernels of two streams take turns * times a step*legacy default stream*",
        advice = "Create non-blocking streams: cudaStreamCreateWithFlags*",
      },
    },
  },
  {
    name = "half of the step is won where both do as much",
    trace = steps(10, { waits = true }),
    replay = true,
    expect = { { severity = "warning", worth = { 0.40, 0.52 } } },
  },
  {
    name = "is silent about streams made not to wait",
    trace = steps(10, { second = "apart" }),
    expect = "clean",
  },
  {
    name = "is silent about two blocking streams, which CUDA does not order",
    trace = steps(10, { first = "blocking" }),
    expect = "clean",
  },
  {
    name = "is silent about kernels that do not fit together",
    trace = steps(10, { blocks = 800 }),
    expect = "clean",
  },
  {
    name = "is silent about kernels that run side by side",
    trace = steps(10, { beside = true }),
    expect = "clean",
  },
  {
    name = "is silent about kernels that are launched one by one",
    trace = steps(10, { late = true }),
    expect = "clean",
  },
  { name = "is silent about few turns", trace = steps(1), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = steps(10),
    options = { share = 0.9 },
    expect = "clean",
  },
  {
    name = "needs kernels",
    trace = steps(10, { not_collected = { "kernels" } }),
    expect = "not checked",
  },
  {
    name = "needs calls",
    trace = steps(10, { not_collected = { "calls" } }),
    expect = "not checked",
  },
  { name = "tiles: three streams that overlap", fixture = "tiles", expect = "clean" },
  { name = "products", fixture = "products", expect = "clean" },
  { name = "good", fixture = "good", expect = "clean" },
  {
    name = "two-fsdp-no-prefetch: events of PyTorch",
    fixture = "two-fsdp-no-prefetch",
    expect = "clean",
  },
}

-- Six steps of 10 ms in twenty pieces of 500 us: a kernel, a synchronous copy of its flag, and
-- `refill` us until the next kernel is there.
local function steps(refill, more)
  local ops, calls = {}, {}
  for i = 0, 19 do
    local at = i * 500
    ops[#ops + 1] =
      { at + refill, at + 495, kernel = "nvjet_tst_gemm", launched = { at + 10, at + 12 } }
    ops[#ops + 1] =
      { at + 495, at + 498, copy = "d2h", bytes = 4, to = "pageable", launched = false }
    calls[#calls + 1] =
      { at + 20, at + 500 + (more and more.tail or 8), more and more.call or "cudaMemcpy" }
  end
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = ops,
    calls = calls,
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  trace.call, trace.tail = nil, nil
  return trace
end
-- As above, with a host that gets out of the copy late.
local function late(tail, more)
  local ops, calls = {}, {}
  for i = 0, 19 do
    local at = i * 500
    ops[#ops + 1] = {
      at + tail + 10,
      at + 495,
      kernel = "nvjet_tst_gemm",
      launched = { at + tail + 2, at + tail + 7 },
    }
    calls[#calls + 1] = { at + tail + 10, at + 500 + tail, more and more.call or "cudaMemcpy" }
  end
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = ops,
    calls = calls,
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  trace.call = nil
  return trace
end

local cases = {
  {
    name = "fires on cudaMemcpy",
    trace = late(40),
    expect = {
      {
        severity = "warning",
        subject = "cudaMemcpy",
        message = "20 synchronous copies or memsets a step (mostly cudaMemcpy)*",
        worth = { 0.1, 0.115 },
      },
    },
  },
  {
    name = "is an error from a fifth of the step on",
    trace = late(120),
    expect = { { severity = "error" } },
  },
  {
    name = "warns from 3 % on, since the fix is a line",
    trace = late(16),
    expect = { { severity = "warning", worth = { 0.05, 0.065 } } },
  },
  {
    name = "fires on copies from symbols",
    trace = late(40, { call = "cudaMemcpyFromSymbol" }),
    expect = { { severity = "warning", subject = "cudaMemcpyFromSymbol" } },
  },
  {
    name = "fires on memsets",
    trace = late(40, { call = "cudaMemset" }),
    expect = { { severity = "warning", subject = "cudaMemset" } },
  },
  {
    name = "fires on the driver's form",
    trace = late(40, { call = "cuMemcpyDtoH" }),
    expect = { { severity = "warning", subject = "cuMemcpyDtoH" } },
  },
  {
    name = "fires without steps",
    trace = late(40, { ranges = {} }),
    expect = {
      { severity = "warning", message = "120 synchronous copies or memsets in all (mostly*" },
    },
  },
  {
    name = "tells fewer than one a step as they are",
    trace = {
      ranges = (function()
        local list = {}
        for i = 0, 30 do
          list[#list + 1] = { i * 1000, i * 1000 + 950, "step " .. i + 1 }
        end
        return list
      end)(),
      ops = (function()
        local list = {}
        for i = 0, 30 do
          local ready = i % 2 * 600 + 20
          list[#list + 1] = {
            i * 1000 + ready,
            i * 1000 + 1000,
            kernel = "nvjet_tst_gemm",
            launched = { i * 1000 + ready - 10, i * 1000 + ready - 5 },
          }
        end
        return list
      end)(),
      calls = (function()
        local list = {}
        for i = 1, 30, 2 do
          list[#list + 1] = { i * 1000 - 10, i * 1000 + 605, "cudaMemcpy" }
        end
        return list
      end)(),
    },
    expect = { { severity = "error", message = "0.5 synchronous copies*" } },
  },

  {
    name = "is silent while the GPU works",
    trace = steps(0.5, { tail = 1 }),
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = late(40),
    options = { share = 0.2 },
    expect = "clean",
  },
  {
    name = "is silent about asynchronous copies",
    trace = late(40, { call = "cudaMemcpyAsync" }),
    expect = "clean",
  },
  {
    name = "is silent about waits, which have a rule",
    trace = late(40, { call = "cudaStreamSynchronize" }),
    expect = "clean",
  },
  {
    name = "is silent about large pageable copies, which have a rule",
    trace = late(40, {
      ops = (function()
        local ops = {}
        for i = 0, 19 do
          ops[#ops + 1] = {
            i * 500 + 50,
            i * 500 + 495,
            copy = "d2h",
            bytes = 1e6,
            to = "pageable",
            launched = { i * 500 + 42, i * 500 + 47 },
          }
        end
        return ops
      end)(),
    }),
    expect = "clean",
  },
  {
    name = "is silent about a few in the whole recording",
    trace = late(40),
    options = { least = 1000 },
    expect = "clean",
  },
  {
    name = "is silent with thresholds of zero and no copy",
    trace = { ops = { { 20, 900, kernel = "nvjet_tst_gemm" } } },
    options = { share = 0, least = 0 },
    expect = "clean",
  },

  {
    name = "needs calls",
    trace = late(40, { not_collected = { "calls" } }),
    expect = "not checked",
  },
  {
    name = "needs copies",
    trace = late(40, { not_collected = { "copies" } }),
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  {
    name = "syncs-pageable: waits, and asynchronous copies",
    fixture = "syncs-pageable",
    expect = "clean",
  },
  { name = "offload", fixture = "offload", expect = "clean" },
  { name = "um: allocations", fixture = "um", expect = "clean" },
  { name = "launchbound", fixture = "launchbound", expect = "clean" },
}
-- What a wait costs is told by replaying the steps without it.
for _, case in ipairs(cases) do
  case.replay = case.trace and true or nil
end
return cases

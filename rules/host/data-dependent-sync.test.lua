-- Six steps of 10 ms with a loop of four: a kernel, a result of `bytes` that the host waits for,
-- and a kernel whose grid is
-- blocks(step, i). `more.before`: what comes between the kernel and the result.
local function steps(blocks, more)
  more = more or {}
  local trace = { ranges = {}, ops = {}, calls = {} }
  local ops, calls = trace.ops, trace.calls
  for step = 1, 6 do
    local start = 10000 * (step - 1)
    trace.ranges[step] = { start, start + 9950, "step " .. step }
    for k = 0, 7 do
      ops[#ops + 1] = {
        start + 20 + 10 * k,
        start + 28 + 10 * k,
        kernel = "gemm",
        blocks = more.first and more.first(step) or 64,
        launched = { start + k, start + k + 1 },
      }
    end
    for i = 0, 3 do
      local at = start + 1000 + 2000 * i
      ops[#ops + 1] = {
        at + 10,
        at + 100,
        kernel = more.before or "route",
        blocks = 8,
        launched = { at, at + 5 },
      }
      ops[#ops + 1] = {
        at + 101,
        at + 103,
        copy = "d2h",
        bytes = more.bytes or 4,
        to = "pageable",
        launched = { at + 6, at + 10 },
      }
      if not more.ahead then
        calls[#calls + 1] = { at + 11, at + 120, "cudaStreamSynchronize" }
      end
      for k = 0, 3 do
        ops[#ops + 1] = {
          at + 320 + 400 * k,
          at + 600 + 400 * k,
          kernel = "expert",
          blocks = blocks(step, i),
          launched = { at + 310 + 400 * k, at + 315 + 400 * k },
        }
      end
    end
    ops[#ops + 1] = {
      start + 9000,
      start + 9990,
      kernel = "backward",
      blocks = 64,
      launched = { start + 8990, start + 8995 },
    }
  end
  return trace
end
-- The same of PyTorch, with a selection before each result, and `kernel` in place of what comes
-- after it.
local function of_pytorch(blocks, kernel)
  local trace = steps(blocks, { before = "void at::native::NonZeroOp<bool>" })
  for _, op in ipairs(trace.ops) do
    if op.kernel == "expert" then op.kernel = kernel end
  end
  return trace
end
local function changing(step, i) return 10 + (7 * step + 3 * i) % 23 end
local function steady(_, i) return 10 + i end

-- Forty turns of a loop, each of which is a step: a selection, its size that the host waits for,
-- and what works on it.
local function turns(more)
  local ops = {
    {
      10,
      14,
      kernel = more.before or "void cub::DeviceReduceSingleTileKernel<NonZeroOp<bool>>",
      blocks = 1,
      launched = { 2, 6 },
    },
    { 15, 16, copy = "d2h", bytes = 4, to = "pinned", launched = { 7, 10 } },
  }
  for k = 0, more.launches - 1 do
    ops[#ops + 1] = {
      40 + 12 * k,
      43 + 12 * k,
      kernel = ("work_%d"):format(k),
      blocks = 8,
      launched = { 34 + 12 * k, 39 + 12 * k },
    }
  end
  return {
    repeats = { times = 40, every = 60 + 12 * more.launches },
    ops = ops,
    calls = { { 11, 25, "cudaStreamSynchronize" } },
    ranges = { { 0, 55 + 12 * more.launches, "iteration {n}" } },
  }
end

-- Forty-eight kernels that nothing repeats; after twelve of them, from the one numbered `first` on,
-- the host waits for the size of a selection, and launches the next 600 us later.
local function window(first)
  local trace, at = { ops = {}, calls = {} }, 0
  for i = 1, 48 do
    local reads = i >= first and i < first + 12
    trace.ops[#trace.ops + 1] = {
      at + 10,
      at + 400,
      kernel = (reads and "NonZeroOp_" or "expert_") .. i,
      launched = { at, at + 5 },
    }
    if reads then
      trace.ops[#trace.ops + 1] = {
        at + 401,
        at + 403,
        copy = "d2h",
        bytes = 4,
        to = "pageable",
        launched = { at + 6, at + 10 },
      }
      trace.calls[#trace.calls + 1] = { at + 11, at + 420, "cudaStreamSynchronize" }
    end
    at = at + (reads and 1000 or 400)
  end
  return trace
end

return {
  {
    name = "takes a loop of suppressions at once",
    trace = of_pytorch(changing, "void vision::ops::nms_kernel_impl<float>"),
    expect = { { advice = "*Suppress the boxes of all classes at once*" } },
  },
  {
    name = "fires without steps on a loop that comes late",
    trace = window(36),
    expect = { { severity = "error", subject = "sizes" } },
  },
  {
    name = "is silent without steps where the start reads sizes back",
    trace = window(1),
    expect = "clean",
  },
  {
    name = "fires on a selection in each turn of a loop",
    trace = turns { launches = 8 },
    expect = {
      {
        severity = "error",
        subject = "sizes",
        message = "The host reads a result back an iteration to learn how much was selected*",
      },
    },
  },
  {
    name = "is silent about a flag that is read in each turn",
    trace = turns { launches = 8, before = "residual" },
    expect = "clean",
  },
  {
    name = "is silent about one selection among the launches of a model",
    trace = turns { launches = 60 },
    expect = "clean",
  },
  {
    name = "fires where grids change with what was read",
    trace = steps(changing),
    expect = {
      {
        severity = "error",
        subject = "decisions",
        message = "The host reads 4 results back a step, and what it launches next depends on \z
          them.*",
      },
    },
  },
  {
    name = "fires on a selection, whatever its sizes",
    trace = steps(steady, { before = "void cub::DeviceReduceKernel<NonZeroOp<bool>>" }),
    expect = {
      {
        severity = "error",
        subject = "sizes",
        confidence = "high",
        message = "The host reads 4 results back a step to learn how much was selected*",
      },
    },
  },
  {
    name = "speaks of experts where products follow each selection",
    trace = of_pytorch(changing, "nvjet_tst_gemm"),
    expect = { { advice = "Multiply all at once: *experts*" } },
  },
  {
    name = "speaks of masks that never change where the same follows in every step",
    trace = of_pytorch(steady, "void at::native::elementwise"),
    expect = { { advice = "Turn masks that never change into index tensors once: *" } },
  },
  {
    name = "speaks of masks where other sizes follow in each step",
    trace = of_pytorch(changing, "void at::native::elementwise"),
    expect = { { advice = "Select without asking how much: *" } },
  },
  {
    name = "speaks of no masks where nothing selects",
    trace = (function()
      local trace = of_pytorch(changing, "void at::native::elementwise")
      for _, op in ipairs(trace.ops) do
        if op.kernel == "void at::native::NonZeroOp<bool>" then op.kernel = "route" end
      end
      return trace
    end)(),
    expect = { { subject = "decisions", advice = "Make shapes known in advance: *" } },
  },
  {
    name = "is silent about norms that are read back, each of another size",
    trace = steps(steady),
    expect = "clean",
  },
  {
    name = "is silent where all of the step changes, as with batches of many lengths",
    trace = steps(changing, { first = function(step) return 64 + step end }),
    expect = "clean",
  },
  {
    name = "is silent about results that nothing waits for",
    trace = steps(changing, { ahead = true }),
    expect = "clean",
  },
  {
    name = "is silent about large results",
    trace = steps(changing, { bytes = 1048576 }),
    expect = "clean",
  },
  {
    name = "is silent below its share",
    trace = steps(changing),
    options = { share = 0.9 },
    expect = "clean",
  },
  {
    name = "is silent about few of them",
    trace = steps(changing),
    options = { least = 5 },
    expect = "clean",
  },
  { name = "good: one loss a step", fixture = "good", expect = "clean" },
  {
    name = "syncs-pageable: norms that are logged",
    fixture = "syncs-pageable",
    expect = "clean",
  },
  {
    name = "checkpoint-stall: tensors that are saved",
    fixture = "checkpoint-stall",
    expect = "clean",
  },
  { name = "tiles: results of tiles", fixture = "tiles", expect = "clean" },
}

-- Six steps of 10 ms in twenty pieces of 500 us. The host queues a kernel, waits for it, and needs
-- `refill` us until the next one is there.
local function steps(refill, more)
  local ops, calls = {}, {}
  for i = 0, 19 do
    local at = i * 500
    ops[#ops + 1] = {
      at + refill,
      at + 500,
      kernel = more and more.kernel or "nvjet_tst_gemm",
      launched = { at + refill - 8, at + refill - 3 },
    }
    calls[#calls + 1] = { at + refill, at + 505, more and more.call or "cudaStreamSynchronize" }
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
  trace.call, trace.kernel = nil, nil
  return trace
end
local MiB = 1048576
local function offloading() -- four tensors leave and come back, the host waiting for each
  local ops, calls = {}, {}
  for i = 0, 7 do
    local at, copy = i * 1200, i < 4 and "d2h" or "h2d"
    ops[#ops + 1] =
      { at + 100, at + 500, kernel = "nvjet_tst_gemm", launched = { at + 90, at + 95 } }
    ops[#ops + 1] = {
      at + 600,
      at + 1100,
      copy = copy,
      bytes = (8 + (i < 4 and i or 7 - i)) * MiB,
      launched = { at + 590, at + 595 },
    }
    calls[#calls + 1] = { at + 600, at + 1105, "cudaStreamSynchronize" }
  end
  return { ops = ops, calls = calls }
end

-- Four ranks, each with its own slow host; the first `waiting` also wait, 500 us of each step.
local function ranks(waiting)
  local trace = { repeats = { times = 6, every = 10000 }, ranges = {}, ops = {}, calls = {} }
  for rank = 0, 3 do
    trace.ranges[#trace.ranges + 1] = { 0, 9900, "step {n}", rank = rank }
    trace.ops[#trace.ops + 1] =
      { 500, 995, kernel = "nvjet_tst_gemm", launched = { 480, 485 }, rank = rank }
    for i = 0, 88 do
      trace.ops[#trace.ops + 1] = {
        i * 100 + 1050,
        i * 100 + 1090,
        kernel = "nvjet_tst_gemm",
        launched = { i * 100 + 1040, i * 100 + 1045 },
        rank = rank,
      }
    end
    if rank < waiting then
      trace.calls[#trace.calls + 1] = { 490, 1000, "cudaStreamSynchronize", rank = rank }
    end
  end
  return trace
end
local function seldom() -- steps of 1 ms, of which one waits
  local trace = { ranges = {}, ops = {}, calls = {} }
  for step = 0, 5 do
    local at = step * 1000
    trace.ranges[#trace.ranges + 1] = { at, at + 950, "step " .. step + 1 }
    local ready = step == 3 and at + 600 or at + 10
    trace.ops[#trace.ops + 1] =
      { ready + 10, at + 1005, kernel = "nvjet_tst_gemm", launched = { ready, ready + 5 } }
  end
  trace.ops[#trace.ops][2] = 5990
  trace.calls[1] = { 2990, 3590, "cudaStreamSynchronize" }
  return trace
end

-- The driver gives a pool's memory back once the GPU has finished, when the pool frees in stream
-- order.
local function trims(free)
  local trace = steps(10)
  trace.os_calls = {}
  for i = 0, 19 do
    local at = i * 500
    trace.ops[i + 1][2] = at + 460
    trace.calls[#trace.calls + 1] = { at + 11, at + 13, free }
    trace.os_calls[#trace.os_calls + 1] = { at + 462, at + 503, "ioctl" }
  end
  return trace
end

-- Each wait reads a value back within an operator, of which `before` is the one before.
local function reads(within, before, kernel)
  local trace = steps(50, { kernel = kernel })
  for i = 0, 19 do
    local at = i * 500
    if within then
      trace.ranges[#trace.ranges + 1] = { at + 20, at + 40, before }
      trace.ranges[#trace.ranges + 1] = { at + 49, at + 506, within }
    end
    trace.ops[#trace.ops + 1] = {
      at + 500,
      at + 501,
      copy = "d2h",
      bytes = 4,
      launched = { at + 49.2, at + 49.5 },
    }
  end
  return trace
end
-- In turns a flag that is read back, and a larger result that is waited for longer.
local function flags_and_results()
  local trace = reads("aten::is_nonzero", "aten::any", "void at::native::reduce")
  for i = 0, 19 do
    local at, within = i * 500, trace.ranges[2 * i + 3]
    if i % 2 == 1 then
      trace.ops[i + 21].bytes, within[3] = 512, "aten::copy_"
    else
      trace.ops[i + 1][2] = at + 200
      trace.ops[i + 21][1], trace.ops[i + 21][2] = at + 200, at + 201
      trace.calls[i + 1][2], within[2] = at + 205, at + 206
    end
  end
  return trace
end
-- The host waits for the device, and touches a page that moves to it, before it launches again.
local function touches(bytes, cause)
  local trace = steps(150, { call = "cudaDeviceSynchronize", kernel = "stencil" })
  for i = 0, 19 do
    local at = i * 500
    trace.ops[#trace.ops + 1] = {
      at + 20,
      at + 60,
      copy = "um_d2h",
      bytes = bytes,
      cause = cause or "fault",
    }
  end
  return trace
end
-- At the end of each step the host fetches a batch, in which it may wait for a worker.
local function fetches(waits)
  local trace = steps(20)
  trace.ops[20], trace.calls[20] = nil, nil
  trace.ranges[2] = { 9506, 9994, "dataloader" }
  trace.os_calls = waits and { { 9508, 9992, "sem_clockwait" } } or {}
  return trace
end
local norm_kernel =
  "void at::native::reduce_kernel<512, 1, ReduceOp<float, at::native::NormTwoOps<float>>>"
-- Each wait is for an upload, of which nothing shows more than its copy.
local function uploads(between, bytes)
  local trace = steps(50, { kernel = "void at::native::elementwise" })
  for i = 0, 19 do
    local at = i * 500
    trace.ops[#trace.ops + 1] = {
      at + 500,
      at + 501,
      copy = "h2d",
      bytes = bytes or 8,
      launched = { at + 49.2, at + 49.5 },
    }
    if between then
      trace.ops[#trace.ops + 1] = {
        at + 501,
        at + 502,
        kernel = "void at::native::elementwise",
        launched = { at + 49.6, at + 49.8 },
      }
    end
  end
  return trace
end
-- The first `count` of its turns also read 2 KiB back.
local function results_too(trace, count)
  for i = 0, count - 1 do
    local at = i * 500
    trace.ops[#trace.ops + 1] = {
      at + 501,
      at + 502,
      copy = "d2h",
      bytes = 2048,
      launched = { at + 506, at + 507 },
    }
    trace.calls[#trace.calls + 1] = { at + 508, at + 512, "cudaEventSynchronize" }
  end
  return trace
end
-- No loop: algorithms that cuDNN tries, each with a wait for an event.
local function tries(range)
  local trace = { ranges = {}, ops = {}, calls = {} }
  for i = 0, 19 do
    local at = i * i * 40 + i * 300
    trace.ops[i + 1] = {
      at + 50,
      at + 250 + i,
      kernel = "void at::native::algorithm_" .. i,
      launched = { at + 30, at + 35 },
    }
    trace.calls[i + 1] = { at + 40, at + 255 + i, "cudaEventSynchronize" }
    trace.ranges[i + 1] = { at + 20, at + 260 + i, range }
  end
  return trace
end

local cases = {
  {
    name = "says what to do about the norm that is read back",
    trace = reads("aten::item", "aten::linalg_vector_norm", "void at::native::reduce"),
    expect = { { advice = "Keep norms on the device:*" } },
  },
  {
    name = "knows a norm by its kernel where there are no operators",
    trace = reads(nil, nil, norm_kernel),
    expect = { { advice = "Keep norms on the device:*" } },
  },
  {
    name = "says what to do about flags",
    trace = reads("aten::is_nonzero", "aten::any", "void at::native::reduce"),
    expect = { { advice = "Leave checks out, or read their flags together: *" } },
  },
  {
    name = "goes by the values where larger results are waited for longer",
    trace = flags_and_results(),
    expect = { { advice = "Leave checks out, or read their flags together: *" } },
  },
  {
    name = "saves nothing where the host then waits longer for a loader's workers",
    trace = fetches(true),
    expect = "clean",
  },
  {
    name = "has the host load beside the GPU where it does that itself",
    trace = fetches(false),
    expect = { { severity = "warning" } },
  },
  {
    name = "removes no wait after which the host touches pages of managed memory",
    trace = touches(4096),
    expect = { { advice = "Read results less often, or a step later: *" } },
  },
  {
    name = "leaves waits to the rules of unified memory after which much of it moves",
    trace = touches(1048576),
    expect = "clean",
  },
  {
    name = "knows that pages which make room are no results",
    trace = touches(4096, "eviction"),
    expect = { { advice = "Remove cudaDeviceSynchronize calls that only time or check: *" } },
  },
  {
    name = "says what to do about values that no table lists",
    trace = reads("aten::item", "aten::mean", "void at::native::reduce"),
    expect = { { advice = "Read scalars together*20 single values a step*" } },
  },
  {
    name = "has many small uploads go together",
    trace = uploads(),
    expect = { { advice = "Send small uploads together: 20 a step are waited for, *" } },
  },
  {
    name = "however long the wait for a result is",
    trace = results_too(uploads(), 1),
    expect = {
      {
        message = "cudaStreamSynchronize makes the host wait for the GPU 20 times a step*",
        advice = "Send small uploads together: * are waited for, *",
      },
    },
  },
  {
    name = "but not where what is sent may depend on what was read",
    trace = results_too(uploads(), 20),
    expect = { { advice = "Launch ahead, and read results a step later: *" } },
  },
  {
    name = "has uploads go without a wait",
    trace = uploads(false, 100000),
    expect = { { advice = "Upload without waiting:*non_blocking=True*" } },
  },
  {
    name = "does not blame an upload after which a kernel was launched",
    trace = uploads(true),
    expect = { { advice = "Remove torch.cuda.synchronize()*" } },
  },
  {
    name = "leaves what cuDNN tries at the start to the start",
    trace = tries "aten::cudnn_convolution",
    expect = "clean",
  },
  {
    name = "knows other waits at the start for what they are",
    trace = tries "aten::mm",
    expect = { { subject = "cudaEventSynchronize" } },
  },
  {
    name = "leaves pools that give memory back to alloc-churn",
    trace = trims "cudaFreeAsync",
    expect = "clean",
  },
  {
    name = "knows no pool where nothing is freed in stream order",
    trace = trims "cudaEventRecord",
    expect = { { severity = "warning" } },
  },
  {
    name = "names the switch of a server of tokens",
    trace = steps(100, { kernel = "void vllm::rms_norm_kernel" }),
    expect = { { advice = "*--async-scheduling*" } },
  },
  {
    name = "fires on waits after which the GPU runs out of work",
    trace = steps(50),
    expect = {
      {
        severity = "warning",
        subject = "cudaStreamSynchronize",
        confidence = "high",
        message = "cudaStreamSynchronize makes the host wait for the GPU 20 times a step. Each \z
          time*",
        worth = { 0.09, 0.105 },
      },
    },
  },
  {
    name = "is an error from a fifth of the step on",
    trace = steps(120),
    expect = { { severity = "error", worth = { 0.22, 0.25 } } },
  },
  {
    name = "warns from 3 % on, since the fix is a line",
    trace = steps(20),
    expect = { { severity = "warning", worth = { 0.03, 0.045 } } },
  },
  {
    name = "fires on the driver's form",
    trace = steps(50, { call = "cuStreamSynchronize" }),
    expect = { { severity = "warning", subject = "cuStreamSynchronize" } },
  },
  {
    name = "fires on waits for the device",
    trace = steps(50, { call = "cudaDeviceSynchronize" }),
    expect = { { severity = "warning", subject = "cudaDeviceSynchronize" } },
  },
  {
    name = "fires on waits for events",
    trace = steps(50, { call = "cudaEventSynchronize" }),
    expect = { { severity = "warning" } },
  },
  {
    name = "names the narrowest range",
    trace = steps(50, {
      ranges = {
        { 0, 9990, "step {n}" },
        { 0, 9995, "train" },
        { 5, 8000, "clip gradients" },
        { 10, 20, "zero_grad" },
      },
    }),
    expect = {
      {
        severity = "warning",
        message = "*20 times a step, most in range 'clip gradients'. Each*",
      },
    },
  },
  {
    name = "fires without steps",
    trace = steps(50, { ranges = {} }),
    expect = { { severity = "warning" } },
  },
  {
    -- 510 us of the 9.1 ms that are left without what recording launches adds
    name = "counts no more than the host was blocked",
    trace = steps(0, {
      calls = { { 490, 1000, "cudaStreamSynchronize" } },
      ops = (function()
        -- then a host that is slow anyway
        local ops = { { 500, 995, kernel = "nvjet_tst_gemm", launched = { 480, 485 } } }
        for i = 0, 88 do
          ops[#ops + 1] = {
            i * 100 + 1050,
            i * 100 + 1090,
            kernel = "nvjet_tst_gemm",
            launched = { i * 100 + 1040, i * 100 + 1045 },
          }
        end
        return ops
      end)(),
    }),
    expect = { { severity = "warning", worth = { 0.054, 0.058 } } },
  },

  {
    name = "counts in one rank of four what that rank was blocked",
    trace = ranks(1),
    options = { share = 0.005 },
    expect = {
      {
        severity = "note",
        message = "*for the GPU once a step. Each*",
        worth = { 0.0135, 0.0145 },
      },
    },
  },
  {
    name = "counts in four ranks what all were blocked",
    trace = ranks(4),
    expect = {
      {
        severity = "warning",
        message = "*for the GPU once a step. Each*",
        worth = { 0.054, 0.058 },
      },
    },
  },
  {
    name = "says how seldom it waits",
    trace = seldom(),
    expect = {
      {
        severity = "warning",
        message = "*for the GPU in one of 5 steps. The GPU then*",
        worth = { 0.1, 0.13 },
      },
    },
  },
  {
    name = "names the unit of what it found",
    trace = steps(50, { ranges = {} }),
    expect = { { severity = "warning", message = "*for the GPU once an iteration. Each*" } },
  },

  {
    name = "is silent about a wait while the GPU has work queued",
    trace = steps(0, {
      ops = {
        { 20, 5000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 5000, 9990, kernel = "nvjet_tst_gemm", launched = { 10, 15 } },
      },
      calls = { { 20, 4800, "cudaStreamSynchronize" } },
    }),
    expect = "clean",
  },
  {
    name = "is silent about a short wait once a step",
    trace = steps(0, {
      ops = {
        { 20, 4900, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 5000, 9990, kernel = "nvjet_tst_gemm", launched = { 4990, 4995 } },
      },
      calls = { { 20, 4905, "cudaStreamSynchronize" } },
    }),
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(50),
    options = { share = 0.2 },
    expect = "clean",
  },
  {
    name = "is silent with thresholds of zero and no wait",
    trace = { ops = { { 20, 900, kernel = "nvjet_tst_gemm" } } },
    options = { share = 0 },
    expect = "clean",
  },
  {
    name = "is silent where the host was not blocked",
    trace = steps(50, { calls = { { 1, 2, "cudaStreamSynchronize" } } }),
    expect = "clean",
  },
  {
    name = "is silent about synchronous copies, which have a rule",
    trace = steps(50, { call = "cudaMemcpy" }),
    expect = "clean",
  },
  {
    name = "is silent about allocations, which have a rule",
    trace = steps(50, { call = "cudaFree" }),
    expect = "clean",
  },
  {
    name = "is silent about waits for offloaded tensors",
    trace = steps(0, offloading()),
    expect = "clean",
  },
  {
    name = "counts what the host does after a wait: it would do that beside the GPU",
    trace = steps(0, {
      ranges = { { 0, 9900, "step {n}" }, { 5, 4000, "dataloader" } },
      ops = { { 4020, 9990, kernel = "nvjet_tst_gemm", launched = { 4005, 4010 } } },
      calls = { { 4020, 10000, "cudaStreamSynchronize" } },
    }),
    expect = { { severity = "error", worth = { 0.39, 0.41 } } },
  },
  {
    name = "is silent where the host cannot keep up without the wait either",
    trace = steps(0, {
      ranges = { { 0, 9990, "step {n}" }, { 2100, 9900, "preparing" } },
      ops = { { 20, 2000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } } },
      calls = { { 20, 2005, "cudaStreamSynchronize" } },
    }),
    options = { share = 0.25 },
    expect = "clean",
  },
  {
    name = "is silent about launches without a wait",
    trace = steps(50, { calls = {} }),
    expect = "clean",
  },

  {
    name = "needs calls",
    trace = steps(50, { not_collected = { "calls" } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(50, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "syncs-pageable",
    fixture = "syncs-pageable",
    expect = {
      {
        severity = "warning",
        subject = "cudaStreamSynchronize",
        message = "*60 times a step, most in range 'optimizer'*",
        worth = { 0.06, 0.09 },
      },
    },
  },
  { name = "good: one loss.item() a step", fixture = "good", expect = "clean" },
  { name = "fed", fixture = "fed", expect = "clean" },
  { name = "launchbound: its waits are short", fixture = "launchbound", expect = "clean" },
  { name = "offload: waits for offloaded tensors", fixture = "offload", expect = "clean" },
  { name = "um: stalls are to blame", fixture = "um", expect = "clean" },
  { name = "ddp", fixture = "ddp", expect = "clean" },
  {
    name = "goes by its share without steps",
    trace = (function()
      local trace = steps(50, { ranges = {}, repeats = { times = 1, every = 10000 } })
      for i, op in ipairs(trace.ops) do
        op.kernel = "stage_" .. i
      end
      return trace
    end)(),
    expect = {
      {
        severity = "warning",
        message = "cudaStreamSynchronize makes the host wait for the GPU 20 times in all*",
      },
    },
  },
  {
    name = "is a note about a few waits without steps",
    trace = {
      ops = (function()
        local ops = {}
        for i = 0, 4 do
          ops[i + 1] = {
            i * 500 + 100,
            i * 500 + 400 + 20 * i,
            kernel = "k" .. i,
            launched = { i * 500 + 92, i * 500 + 97 },
          }
        end
        return ops
      end)(),
      calls = {
        { 100, 405, "cudaStreamSynchronize" },
        { 600, 925, "cudaStreamSynchronize" },
        { 1100, 1445, "cudaStreamSynchronize" },
        { 1600, 1965, "cudaStreamSynchronize" },
      },
    },
    expect = { { severity = "note" } },
  },
}
-- What a wait costs is told by replaying the steps without it.
for _, case in ipairs(cases) do
  case.replay = case.trace and true or nil
end
return cases

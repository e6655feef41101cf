-- Six steps of 10 ms: a kernel of `length` us for each launch, one every 100 us, or as the host
-- likes. A recorded launch takes `call` us; recording adds twice as much.
local function steps(length, more, call)
  local ops = {}
  for i = 0, 99 do
    ops[#ops + 1] = {
      i * 100 + 20,
      i * 100 + 20 + length,
      kernel = "nvjet_tst_gemm",
      launched = { i * 100 + 10, i * 100 + 10 + (call or 3) },
    }
  end
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9900, "step {n}" } }, ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
local function graphed() -- a graph of 20 kernels, and half a millisecond until the next is launched
  local ops = {}
  for g = 0, 9 do
    for i = 0, 19 do
      ops[#ops + 1] = {
        g * 1000 + 100 + i * 20,
        g * 1000 + 115 + i * 20,
        kernel = "nvjet_tst_gemm",
        in_graph = true,
        launched = i == 0 and { g * 1000 + 85, g * 1000 + 95 } or false,
      }
    end
    ops[#ops + 1] = {
      g * 1000 + 990,
      g * 1000 + 992,
      set = true,
      launched = { g * 1000 + 985, g * 1000 + 988 },
    }
  end
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9950, "step {n}" } },
    ops = ops,
  }
end
local function ranks(number) -- each as above
  local trace = { repeats = { times = 6, every = 10000 }, ranges = {}, ops = {} }
  for rank = 0, number - 1 do
    trace.ranges[#trace.ranges + 1] = { 0, 9900, "step {n}", rank = rank }
    for i = 0, 99 do
      trace.ops[#trace.ops + 1] = {
        i * 100 + 20,
        i * 100 + 60,
        kernel = "nvjet_tst_gemm",
        launched = { i * 100 + 10, i * 100 + 15 },
        rank = rank,
      }
    end
  end
  return trace
end
local pinning = {}
for i = 0, 9 do
  pinning[#pinning + 1] =
    { i * 1000 + 20, i * 1000 + 920, "cudaHostAlloc", thread = "pt_data_pin" }
end
local function waits(length) -- for each kernel of so long
  local calls = {}
  for i = 0, 99 do
    calls[#calls + 1] = { i * 100 + 16, i * 100 + 20 + length, "cudaStreamSynchronize" }
  end
  return calls
end

-- Forty tokens of 20 kernels each, in a decoder's loop. `blocks(token)` of one of them.
local function tokens(blocks)
  local trace = { ranges = { { 0, 9, "aten::mm" } }, ops = {} }
  for token = 0, 39 do
    local at = token * 2000
    trace.ranges[#trace.ranges + 1] = { at, at + 1990, "step " .. token }
    for i = 0, 19 do
      trace.ops[#trace.ops + 1] = {
        at + i * 100 + 20,
        at + i * 100 + 60,
        kernel = i == 7 and "void at::native::elementwise_kernel<128, 4, copy>"
          or "nvjet_tst_gemm",
        blocks = i == 7 and blocks(token) or 64,
        launched = { at + i * 100 + 10, at + i * 100 + 13 },
      }
    end
  end
  return trace
end

-- Cells of a recurrent network: a product, and then these functions.
local function cells(names)
  local kernels, ops = { "nvjet_tst_gemm" }, {}
  for _, name in ipairs(names) do
    kernels[#kernels + 1] = "void at::native::vectorized_elementwise_kernel<4, at::native::"
      .. name
      .. "_kernel_cuda(at::TensorIteratorBase&)::...>"
  end
  for i = 0, 99 do
    ops[#ops + 1] = {
      i * 100 + 20,
      i * 100 + 60,
      kernel = kernels[i % #kernels + 1],
      launched = { i * 100 + 10, i * 100 + 13 },
    }
  end
  return steps(0, { ops = ops, ranges = { { 0, 9900, "step {n}" }, { 0, 9, "aten::mm" } } })
end

-- Each of its kernels comes after a small upload, for `every` of which a result is read back.
local function uploading(every, piece)
  local trace =
    steps(20, { ranges = { { 0, 9900, "step {n}" }, { 0, 9, "aten::mm" } }, calls = {} })
  for i = 0, 99, piece or 1 do
    local at = i * 100
    trace.ops[#trace.ops + 1] =
      { at + 6, at + 7, copy = "h2d", bytes = 8, launched = { at + 4, at + 6 } }
    if every and i % every == 0 then
      trace.ops[#trace.ops + 1] =
        { at + 41, at + 42, copy = "d2h", bytes = 8, launched = { at + 14, at + 16 } }
      trace.calls[#trace.calls + 1] = { at + 17, at + 44, "cudaStreamSynchronize" }
    end
  end
  return trace
end
-- After each step of 10 ms, 10 ms in which another thread does this while the launching one waits.
local function served(call)
  local trace = steps(40)
  trace.repeats.every = 20000
  trace.os_calls = { { 9950, 19990, "sem_wait" }, { 9900, 19950, call, thread = "clients" } }
  return trace
end

return {
  {
    name = "has small uploads go together that each come before a kernel",
    trace = uploading(),
    expect = { { advice = "Send small uploads together: 100 a step come one by one, *" } },
  },
  {
    name = "but not where results are read in between, on which they may depend",
    trace = uploading(1),
    expect = { { advice = "Remove the read-backs, then capture CUDA graphs: *" } },
  },
  {
    name = "nor the few inputs of a step",
    trace = uploading(nil, 25),
    expect = { { advice = "Capture the work in CUDA graphs: *" } },
  },
  {
    name = "is a note where the program then waits for the next request for longer",
    trace = served "clock_nanosleep",
    expect = { { severity = "note", message = "*the next comes no sooner.*" } },
  },
  {
    name = "is none where the thread that it waits for waits for a process",
    trace = served "waitpid",
    expect = { { severity = "error" } },
  },
  {
    name = "asks for fixed sizes first where a kernel grows from step to step",
    trace = tokens(function(token) return 1000 + token end),
    expect = {
      {
        severity = "error",
        advice = "Keep sizes fixed, then capture CUDA graphs: '*' grows from * blocks here*",
      },
    },
  },
  {
    name = "does not where its size goes up and down",
    trace = tokens(function(token) return 1000 + token * 7 % 40 end),
    expect = { { advice = "Capture the work in CUDA graphs: *" } },
  },
  {
    name = "asks for one call where a recurrent cell is written out",
    trace = cells { "sigmoid", "sigmoid", "tanh" },
    expect = {
      {
        severity = "error",
        advice = "Give whole sequences to one call: a recurrent cell is launched by itself 25 \z
          times a step. *",
      },
    },
  },
  {
    name = "asks for one call where PyTorch's cell runs",
    trace = steps(0, {
      ranges = { { 0, 9900, "step {n}" }, { 0, 9, "aten::mm" } },
      ops = (function()
        local ops = {}
        for i = 0, 99 do
          ops[#ops + 1] = {
            i * 100 + 20,
            i * 100 + 60,
            kernel = i % 2 == 0 and "nvjet_tst_gemm"
              or "void at::native::(anonymous namespace)::kernel::lstm_cell_forward<float>(int)",
            launched = { i * 100 + 10, i * 100 + 13 },
          }
        end
        return ops
      end)(),
    }),
    expect = { { advice = "Give whole sequences to one call: *itself 50 times a step*" } },
  },
  {
    name = "does not where a gated layer has one sigmoid and one tanh",
    trace = cells { "sigmoid", "tanh", "mul" },
    expect = { { advice = "Capture the work in CUDA graphs: *" } },
  },
  {
    name = "fires on kernels shorter than the pace of the host",
    trace = steps(40),
    expect = {
      {
        severity = "error",
        subject = "launches",
        confidence = "high",
        message = "*(60 %) because the next launch has not been issued yet: 100 launches a step, \z
          one every 100.0 us, for operations that take 40.0 us on average.",
        worth = { 0.58, 0.6 },
      },
    },
  },
  {
    name = "advises a CUDA program to capture its loop",
    trace = steps(40),
    expect = { { advice = "Capture the loop's body in a CUDA graph: cudaStreamBeginCapture*" } },
  },
  {
    name = "tells PyTorch to compile",
    trace = steps(40, { ranges = { { 0, 9900, "step {n}" }, { 0, 9, "aten::mm" } } }),
    expect = { { advice = "Capture the work in CUDA graphs: torch.compile*" } },
  },
  {
    name = "fires on a fifth",
    trace = steps(80),
    expect = { { severity = "warning", worth = { 0.19, 0.2 } } },
  },
  {
    name = "fires without steps",
    trace = steps(40, { ranges = {} }),
    expect = { { severity = "error" } },
  },
  {
    name = "fires next to a thread that pins memory and launches nothing",
    trace = steps(40, { calls = pinning }),
    expect = { { severity = "error", worth = { 0.58, 0.6 } } },
  },
  {
    name = "fires next to a thread that waits and launches nothing",
    trace = steps(
      40,
      { calls = { { 20, 9900, "cudaStreamSynchronize", thread = "watchdog" } } }
    ),
    expect = { { severity = "error", worth = { 0.58, 0.6 } } },
  },
  {
    name = "tells the pace of each rank, which has its own thread",
    trace = ranks(4),
    expect = {
      {
        severity = "error",
        message = "*100 launches a step, one every 100.0 us, *",
        worth = { 0.58, 0.6 },
      },
    },
  },
  {
    name = "fires where the waits are too short to be to blame",
    trace = steps(40, { calls = { { 60, 61, "cudaStreamSynchronize" } } }),
    expect = { { severity = "error" } },
  },
  {
    name = "fires between graphs, and then does not say to use them",
    trace = graphed(),
    expect = {
      {
        severity = "error",
        message = "*although most of its work is in CUDA graphs*",
        worth = { 0.4, 0.65 },
      },
    },
  },
  {
    name = "fires between graphs traced whole",
    trace = steps(0, {
      ops = (function()
        local ops = {}
        for i = 0, 99 do
          ops[#ops + 1] = {
            i * 100 + 20,
            i * 100 + 60,
            graph = true,
            launched = { i * 100 + 10, i * 100 + 15 },
          }
        end
        return ops
      end)(),
    }),
    expect = {
      { severity = "error", message = "*although most of its work is in CUDA graphs*" },
    },
  },
  {
    name = "is a note where the profiler's own share explains it",
    trace = steps(85, nil, 15),
    expect = {
      {
        severity = "note",
        confidence = "medium",
        message = "*The profiler's own overhead may explain it*",
        worth = { 0, 0.001 },
      },
    },
  },

  { name = "is silent below the threshold", trace = steps(92), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = steps(80),
    options = { share = 0.3 },
    expect = "clean",
  },
  { name = "is silent when the host is ahead", trace = steps(99.9), expect = "clean" },
  {
    name = "is silent with thresholds of zero and nothing idle",
    trace = { ops = { { 20, 900, kernel = "nvjet_tst_gemm" } } },
    options = { share = 0 },
    expect = "clean",
  },
  {
    name = "is a note where the host waits for each kernel: no graph spans two of them",
    trace = steps(60, { calls = waits(60) }),
    expect = { { severity = "note" } },
  },
  {
    name = "notes what is left where it waits for less",
    trace = steps(40, { calls = waits(40) }),
    expect = {
      {
        severity = "note",
        message = "*idle for 1.60 ms of each 10.0 ms step (16 %)*",
        worth = { 0.08, 0.09 },
      },
    },
  },
  {
    name = "is silent about a few launches",
    trace = steps(40, {
      repeats = { times = 1, every = 0 },
      ranges = {},
      ops = { { 20, 40, kernel = "my_stencil" }, { 140, 160, kernel = "my_stencil" } },
    }),
    expect = "clean",
  },
  {
    name = "is silent where allocations hold the host up",
    trace = steps(80, {
      calls = (function()
        local calls = {}
        for i = 0, 99 do
          calls[#calls + 1] = { i * 100 + 30, i * 100 + 90, "cudaFree" }
        end
        return calls
      end)(),
    }),
    expect = "clean",
  },
  {
    name = "is silent about a pause that is no launching",
    trace = steps(
      0,
      { ops = { { 3000, 9990, kernel = "nvjet_tst_gemm", launched = { 2980, 2990 } } } }
    ),
    expect = "clean",
  },
  {
    name = "is silent about a launch that loads a module",
    trace = steps(
      0,
      { ops = { { 3000, 9990, kernel = "nvjet_tst_gemm", launched = { 5, 2990 } } } }
    ),
    expect = "clean",
  },
  {
    name = "is silent about a graph traced whole",
    trace = steps(0, { ops = { { 20, 9990, graph = true } } }),
    expect = "clean",
  },
  {
    name = "is silent about pauses within a graph traced node by node",
    trace = steps(0, {
      ops = (function()
        local ops = {}
        for i = 0, 99 do
          ops[#ops + 1] = {
            i * 100 + 20,
            i * 100 + 60,
            kernel = "nvjet_tst_gemm",
            in_graph = true,
            launched = { i * 100 + 10, i * 100 + 15 },
          }
        end
        return ops
      end)(),
    }),
    expect = "clean",
  },

  {
    name = "says that graphs end where results are read back",
    trace = steps(40, {
      ops = (function()
        local ops = {}
        for i = 0, 99 do
          ops[#ops + 1] = i % 20 == 19
              and {
                i * 100 + 60,
                i * 100 + 62,
                copy = "d2h",
                bytes = 4,
                to = "pageable",
                launched = { i * 100 + 40, i * 100 + 64 },
              }
            or {
              i * 100 + 60,
              i * 100 + 100,
              kernel = "at::native::add",
              launched = { i * 100 + 50, i * 100 + 55 },
            }
        end
        return ops
      end)(),
      calls = (function()
        local calls = {}
        for i = 19, 99, 20 do
          calls[#calls + 1] = { i * 100 + 65, i * 100 + 67, "cudaStreamSynchronize" }
        end
        return calls
      end)(),
    }),
    expect = {
      {
        advice = "Remove the read-backs, then capture CUDA graphs: * results a step are read back \z
          while the host waits, and no CUDA graph can be captured across one.",
      },
    },
  },

  {
    name = "needs calls",
    trace = steps(40, { not_collected = { "calls" } }),
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps(40, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  {
    name = "launchbound",
    fixture = "launchbound",
    expect = {
      {
        severity = "error",
        message = "*1004 launches a step*for operations that take 2.06 us*",
        worth = { 0.76, 0.88 },
      },
    },
  },
  {
    name = "compile-graphsnode: between its graphs",
    fixture = "compile-graphsnode",
    expect = { { message = "*although most of its work is in CUDA graphs*" } },
  },
  { name = "compile-graphs", fixture = "compile-graphs", expect = "clean" },
  { name = "good", fixture = "good", expect = "clean" },
  {
    name = "loopopt: a thousand launches of the optimizer, the host ahead of them",
    fixture = "loopopt",
    expect = "clean",
  },
  { name = "syncs-pageable: waits are to blame", fixture = "syncs-pageable", expect = "clean" },
  { name = "um: stalls are to blame", fixture = "um", expect = "clean" },
  { name = "starved: the loader is to blame", fixture = "starved", expect = "clean" },
  { name = "beat: the GPU waits for batches", fixture = "beat", expect = "clean" },
}

-- Six steps of 10 ms: the host computes for `time` us between two kernels, outside of CUDA.
local function steps(time, more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = {
      { 20, 2000, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
      { 2020 + time, 9990, kernel = "nvjet_tst_gemm", launched = { 2010 + time, 2015 + time } },
    },
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
-- The same of PyTorch, in a range.
local function of_pytorch(name)
  local trace = steps(4000, { ranges = { { 0, 9900, "step {n}" }, { 2000, 5900, name } } })
  for _, op in ipairs(trace.ops) do
    op.kernel = "void at::native::elementwise"
  end
  return trace
end
local function ranges(name) return { { 0, 9900, "step {n}" }, { 1000, 6500, name } } end

-- Twelve kernels of 1 ms that nothing repeats, and before each but the first a pause of so many us.
local function window(pauses, more)
  local ops, at = { { 0, 1000, kernel = "a" } }, 1000
  for i, pause in ipairs(pauses) do
    at = at + pause
    ops[#ops + 1] = {
      at + 20,
      at + 1000,
      kernel = string.char(97 + i),
      launched = { at + 10, at + 15 },
    }
    at = at + 1000
  end
  local trace = { ops = ops }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end

-- A result that the host reads back, works on for `time` us, and then launches again, five times a
-- step.
local function reads(time, more, bytes, upload_bytes)
  local ops, calls = {}, {}
  for i = 0, 4 do
    local at = 2000 * i
    ops[#ops + 1] = { at + 20, at + 400, kernel = "policy", launched = { at + 5, at + 10 } }
    ops[#ops + 1] = {
      at + 401,
      at + 403,
      copy = "d2h",
      bytes = bytes or 512,
      to = "pageable",
      launched = { at + 12, at + 404 },
    }
    calls[#calls + 1] = { at + 405, at + 410, "cudaStreamSynchronize" }
    ops[#ops + 1] = {
      at + 430 + time,
      at + 440 + time,
      copy = "h2d",
      bytes = upload_bytes or 32768,
      from = "pageable",
      launched = { at + 415 + time, at + 425 + time },
    }
    ops[#ops + 1] = {
      at + 460 + time,
      at + 1990,
      kernel = "policy",
      launched = { at + 430 + time, at + 435 + time },
    }
  end
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    ops = ops,
    calls = calls,
  }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end

-- The same, with a kernel in place of what is sent to the GPU afterwards.
local function keeps(time, bytes)
  local trace = reads(time)
  for _, op in ipairs(trace.ops) do
    if op.copy == "h2d" then
      op.copy, op.bytes, op.from, op.kernel = nil, nil, nil, "policy"
    elseif op.copy then
      op.bytes = bytes
    end
  end
  return trace
end

-- Ten tensors at the end of each step, which may be written; nothing shows whether without calls
-- of the system.
local function saves(os_calls)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9900, "step {n}" } },
    ops = { { 20, 4000, kernel = "k", launched = { 5, 10 } } },
    os_calls = os_calls,
    not_collected = not os_calls and { "os_calls" } or nil,
  }
  for i = 0, 9 do
    local at = 4010 + 100 * i
    trace.ops[#trace.ops + 1] = {
      at,
      at + 90,
      copy = "d2h",
      bytes = 2097152,
      to = "pageable",
      launched = { at - 5, at + 92 },
    }
  end
  trace.ops[#trace.ops + 1] = { 9800, 9890, kernel = "k", launched = { 9790, 9795 } }
  return trace
end

-- A result of so many bytes at the end of each step, on which the host may work before the next
-- upload.
local function last(bytes)
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 5600, "step {n}" } },
    ops = {
      { 20, 30, copy = "h2d", bytes = 32768, launched = { 5, 10 } },
      { 40, 5000, kernel = "k", launched = { 12, 18 } },
      { 5001, 5500, copy = "d2h", bytes = bytes, to = "pageable", launched = { 20, 5505 } },
    },
  }
end

return {
  {
    name = "leaves to jit-in-loop what the host does in ranges of a compiler",
    trace = steps(4000, {
      ranges = { { 0, 9900, "step {n}" }, { 1900, 6100, "XlaCompile:#module=jit_f#" } },
    }),
    expect = "clean",
  },
  {
    name = "does not take other ranges of the same library for its compiler",
    trace = steps(4000, {
      ranges = { { 0, 9900, "step {n}" }, { 1900, 6100, "XlaModule:#hlo_module=jit_f#" } },
    }),
    expect = { { severity = "error" } },
  },
  {
    name = "fires on what lies between a result and the next upload",
    trace = reads(1000),
    expect = {
      {
        severity = "error",
        subject = "host",
        confidence = "high",
        message = "The host reads a result back 5 times a step and works on it before it launches \z
          again: meanwhile the GPU is idle for 5.0* ms of each 10.0 ms step (50 %)*",
      },
    },
  },
  {
    name = "fires on it where nothing of the host but its calls was recorded",
    trace = reads(1000, { not_collected = { "os_calls" } }),
    expect = {
      { severity = "error", message = "The host reads a result back 5 times a step*" },
    },
  },
  {
    name = "has work done on the GPU from which nothing goes back to it",
    trace = keeps(1000, 1048576),
    expect = { { advice = "Compute what is wanted of these results on the GPU: *" } },
  },
  {
    name = "has small results handed on, of which the GPU could make nothing smaller",
    trace = keeps(1000, 512),
    expect = { { advice = "Hand these results to another thread or process, or *" } },
  },
  {
    name = "has work done on the GPU whose result goes back to it",
    trace = reads(1000),
    expect = { { advice = "Do the work in between in a kernel: *" } },
  },
  {
    name = "takes work between a single value and a large upload for the next input",
    trace = reads(1000, nil, 8, 131072),
    expect = {
      { message = "*works, on it or on the next input,*", advice = "Prepare inputs ahead: *" },
    },
  },
  {
    name = "does not take it for that where little is uploaded",
    trace = reads(1000, nil, 8),
    expect = { { advice = "Do the work in between in a kernel: *" } },
  },
  {
    name = "leaves time next to checkpoints to checkpoint-stall",
    trace = saves({ { 5600, 7000, "fwrite" } }),
    expect = "clean",
  },
  {
    name = "says of much that is read in a row that it may be saved",
    trace = saves(),
    expect = { { advice = "If this is a state that is saved, write it beside the steps: *" } },
  },
  {
    name = "does not take another thread's wait for what the host does",
    trace = reads(1000, {
      ranges = { { 0, 9990, "step {n}" }, { 100, 200, "backward", thread = "autograd" } },
      os_calls = { { 210, 9900, "pthread_cond_wait", thread = "autograd" } },
    }),
    expect = { { message = "The host reads a result back 5 times a step*" } },
  },
  {
    name = "says of work after a step's last result that it may be for the next",
    trace = last(1048576),
    expect = {
      {
        confidence = "high",
        message = "The host reads a result back once a step and works, on it or on the next \z
          input, before*",
      },
    },
  },
  {
    name = "does not take a logged loss for what the host works on",
    trace = last(4),
    expect = { { message = "*while the launching thread computes." } },
  },
  {
    name = "is silent about results that are read back and followed at once",
    trace = reads(20),
    expect = "clean",
  },
  {
    name = "fires on a thread that is in no call that waits",
    trace = steps(4000),
    expect = {
      {
        severity = "error",
        confidence = "medium",
        message = "The GPU is idle for 4.0* ms of each 10.0 ms step (40 %) while the launching \z
          thread computes.",
        worth = { 0.39, 0.41 },
      },
    },
  },
  {
    name = "names the range",
    trace = steps(4000, { ranges = ranges "compute metrics" }),
    expect = {
      {
        severity = "error",
        subject = "host",
        confidence = "high",
        message = "The GPU is idle for 4.0* ms of each 10.0 ms step (40 %) while the host \z
          computes, 4.0* ms of it in 'compute metrics'.",
      },
    },
  },
  {
    name = "names the narrowest range",
    trace = steps(4000, {
      ranges = {
        { 0, 9900, "step {n}" },
        { 100, 9800, "train" },
        { 1000, 6500, "compute metrics" },
        { 3000, 3100, "log" },
      },
    }),
    expect = { { message = "*in 'compute metrics'." } },
  },
  {
    name = "does not name a range that holds the whole loop",
    trace = steps(4000, {
      repeats = { times = 6, every = 10000 },
      ranges = { { 0, 9900, "step {n}" }, { 0, 9999, "train" } },
    }),
    expect = { { message = "*while the launching thread computes." } },
  },
  {
    name = "names an operator, and the range around it",
    trace = steps(4000, {
      ranges = {
        { 0, 9900, "step {n}" },
        { 1000, 6500, "make data" },
        { 2000, 5900, "aten::randn" },
      },
    }),
    expect = { { message = "*in 'aten::randn' (within 'make data')." } },
  },
  {
    name = "says what to do about random numbers",
    trace = of_pytorch "aten::randn",
    expect = { { advice = 'Make random numbers on the GPU: *device="cuda"*' } },
  },
  {
    name = "says what to do about what computes on the CPU",
    trace = of_pytorch "aten::topk",
    expect = { { advice = "Run aten::topk on the GPU: *" } },
  },
  {
    name = "says what to do about a tokenizer",
    trace = of_pytorch "tokenizer.encode",
    expect = { { advice = "Tokenize ahead of time: *" } },
  },
  {
    name = "says of other work that it can go elsewhere",
    trace = of_pytorch "simulate",
    expect = { { advice = "Move this work off the launching thread: *" } },
  },
  {
    name = "says first what no thread beside the GPU can hide",
    trace = steps(6000),
    expect = {
      {
        advice = "Do this work on the GPU, in several processes, or less of it: *would save at \z
          most 3.9* ms of 6.0* ms.",
      },
    },
  },
  {
    name = "names many short ones by what they have in common",
    trace = steps(4000, {
      ranges = (function()
        local short = { { 0, 9900, "step {n}" }, { 1000, 6500, "make data" } }
        for i = 0, 39 do
          short[#short + 1] = { 2000 + i * 100, 2080 + i * 100, "aten::randn" }
        end
        return short
      end)(),
    }),
    expect = { { message = "*in 'aten::randn' (within 'make data')." } },
  },
  {
    name = "names what another thread of the process does where its own tells nothing",
    trace = steps(
      4000,
      { ranges = { { 0, 9900, "step {n}" }, { 1000, 6500, "collate", thread = "worker" } } }
    ),
    expect = { { message = "*in 'collate'." } },
  },
  {
    name = "shortens a range's name",
    trace = steps(4000, { ranges = ranges(("x"):rep(100)) }),
    expect = { { message = "*xxx...xxx*'." } },
  },
  { name = "fires on a sixth", trace = steps(1700), expect = { { severity = "warning" } } },
  {
    name = "names system calls that are waited for",
    trace = steps(4000, { os_calls = { { 2100, 5900, "connect" } } }),
    expect = { { severity = "error", message = "*in 'connect'." } },
  },
  {
    name = "says in which function the thread was sampled",
    trace = steps(4000, {
      host_samples = (function()
        local samples = {}
        for i = 0, 9 do
          samples[#samples + 1] = {
            2500 + i * 300,
            i < 8 and "tokenize (prepare.py)" or "hash (prepare.py)",
            module = "prepare.py",
            line = i < 8 and "prepare.py(40): tokenize" or "prepare.py(9): hash",
            python = true,
          }
        end
        return samples
      end)(),
    }),
    expect = {
      {
        confidence = "high",
        message = "*of it in 'tokenize (prepare.py)'. The launching thread was in 'tokenize \z
          (prepare.py)' in 40 of its 50 samples there, most often at prepare.py(40).",
      },
    },
  },
  {
    name = "says in whose code it was sampled where no function stands out",
    trace = steps(4000, {
      host_samples = {
        { 2500, "a (libfoo.so)", module = "libfoo.so" },
        { 3500, "b (libfoo.so)", module = "libfoo.so" },
        { 4500, "c (libfoo.so)", module = "libfoo.so" },
      },
    }),
    expect = {
      {
        message = "*The launching thread was in code of 'libfoo.so' in 15 of its 15 samples there.",
      },
    },
  },
  {
    name = "does not judge by two samples",
    trace = steps(
      4000,
      { repeats = { times = 2, every = 10000 }, host_samples = { { 2500, "a (libfoo.so)" } } }
    ),
    expect = { { message = "*while the launching thread computes." } },
  },
  {
    name = "leaves what nothing reports to gpu-idle",
    trace = steps(4000, { not_collected = { "os_calls" } }),
    expect = "clean",
  },
  {
    name = "leaves a thread that waits to gpu-idle",
    trace = steps(4000, { os_calls = { { 2100, 5900, "pthread_cond_wait" } } }),
    expect = "clean",
  },
  {
    name = "leaves a thread that waits for another to end to gpu-idle",
    trace = steps(4000, { os_calls = { { 2100, 5900, "pthread_join" } } }),
    expect = "clean",
  },
  {
    name = "leaves an operator that is slow to launch to gpu-idle",
    trace = steps(
      4000,
      { ranges = { { 0, 9900, "step {n}" }, { 2005, 6100, "aten::_foreach_mul_" } } }
    ),
    expect = "clean",
  },
  {
    name = "leaves a thread that was preempted to gpu-idle",
    trace = steps(
      4000,
      { cpu_stretches = { { 0, 3000 }, { 6000, 9990 }, { 3000, 6000, thread = "other" } } }
    ),
    expect = "clean",
  },
  {
    name = "fires on a thread that is on a CPU",
    trace = steps(4000, { not_collected = { "os_calls" }, cpu_stretches = { { 0, 9990 } } }),
    expect = { { severity = "error" } },
  },
  {
    name = "leaves what follows a collective to the rules of communication",
    trace = steps(4000, {
      ops = {
        { 20, 2000, kernel = "ncclDevKernel_Broadcast_RING_LL", launched = { 5, 10 } },
        { 6020, 9990, kernel = "nvjet_tst_gemm", launched = { 6010, 6015 } },
      },
    }),
    expect = "clean",
  },
  {
    name = "is silent about compiling",
    trace = steps(
      4000,
      { calls = { { 1990, 2100, "cuModuleLoadData" }, { 5900, 6005, "cuModuleLoadData" } } }
    ),
    expect = "clean",
  },
  {
    name = "is silent about loading",
    trace = steps(4000, { ranges = ranges "dataloader" }),
    expect = "clean",
  },
  {
    name = "is silent about a checkpoint, which has a rule",
    trace = steps(4000, { ranges = ranges "save_checkpoint" }),
    expect = "clean",
  },
  {
    name = "is silent about waits for the GPU",
    trace = steps(4000, { calls = { { 1000, 6005, "cudaStreamSynchronize" } } }),
    expect = "clean",
  },
  { name = "is silent below a tenth", trace = steps(900), expect = "clean" },
  {
    name = "is silent below the team's own threshold",
    trace = steps(4000),
    options = { share = 0.5 },
    expect = "clean",
  },
  {
    name = "is silent about a GPU that works",
    trace = steps(0),
    options = { share = 0 },
    expect = "clean",
  },
  {
    name = "is a note, and says so, where it may be the start",
    trace = {
      ops = {
        { 0, 1000, kernel = "a" },
        { 5000, 9000, kernel = "b" },
        { 9000, 20000, kernel = "a" },
      },
    },
    expect = { { severity = "note", message = "* it may be the program's start or end." } },
  },
  {
    name = "goes by its share where it comes late only",
    trace = window { 0, 0, 0, 0, 0, 0, 0, 2000, 2000, 2000, 2000 },
    expect = { { severity = "error", message = "*thread computes." } },
  },
  {
    name = "needs calls",
    trace = steps(4000, { not_collected = { "calls" } }),
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  { name = "launchbound: launching", fixture = "launchbound", expect = "clean" },
  {
    name = "two-slow-loader: a range of the program's own",
    fixture = "two-slow-loader",
    expect = { { severity = "error", message = "*in 'load'*" } },
  },
}

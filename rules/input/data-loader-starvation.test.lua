-- Six steps of 10 ms, of which the GPU computes 3.9; the host is at the loader until it launches,
-- 6 ms into each. What trains has an
-- optimizer.
local function steps(more)
  local trace = {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9000, "step {n}" } },
    ops = { { 6010, 9900, kernel = "nvjet_tst_gemm", launched = { 6000, 6005 } } },
  }
  for key, value in pairs(more) do
    trace[key] = value
  end
  local ops = { table.unpack(trace.ops) }
  if ops[1] then
    ops[#ops + 1] =
      { 9990, 9995, kernel = "multi_tensor_apply_kernel<FusedAdam>", launched = { 6020, 6025 } }
  end
  trace.ops = ops
  return trace
end
local loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
local upload = {
  { 6010, 6050, copy = "h2d", bytes = 65536, launched = { 6000, 6005 } },
  { 6050, 9900, kernel = "nvjet_tst_gemm", launched = { 6010, 6015 } },
}
-- The same with no range at all, and the steps as long as `every` says.
local function unmarked(every, more)
  local function at(us, op)
    op[1], op[2], op.launched =
      every - 4000 + us, every - 4000 + us + op[1], { every - 4010 + us, every - 4005 + us }
    return op
  end
  local trace = {
    repeats = { times = 8, every = every },
    ops = {
      at(0, { 40, copy = "h2d", bytes = 65536 }),
      at(3200, { 200, kernel = "multi_tensor_apply_kernel<FusedAdam>" }),
    },
  }
  for n, name in ipairs {
    "embedding_kernel",
    "layer_norm_kernel",
    "nvjet_tst_gemm",
    "gelu_kernel",
    "softmax_warp_forward",
    "nll_loss_forward",
    "fill_kernel",
    "sum_kernel",
  } do
    trace.ops[#trace.ops + 1] = at(50 + 300 * n, { 250, kernel = name })
  end
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
-- The same without loss and update, waiting for another thread before it uploads: the loader, if it
-- has that name.
local function inference(thread)
  local trace = unmarked(20000, {
    os_calls = { { 1000, 15000, "sem_clockwait" }, { 900, 950, "poll", thread = thread } },
  })
  table.remove(trace.ops, 8) -- the loss
  table.remove(trace.ops, 2) -- the update
  return trace
end
-- A fetch that lasts until then, and the only step, launched after 5 ms.
local function window(until_us)
  return {
    ranges = { { 100, until_us, loader } },
    ops = {
      { 5010, 5050, copy = "h2d", bytes = 65536, launched = { 5000, 5005 } },
      { 5050, 20000, kernel = "nvjet_tst_gemm", launched = { 5010, 5015 } },
    },
  }
end
local main = "*because the launching thread itself loads*"

return {
  -- A range tells.
  {
    name = "fires when the launching thread loads in a range",
    trace = steps { ranges = { { 0, 9000, "step {n}" }, { 100, 6000, loader } } },
    expect = {
      {
        severity = "error",
        subject = "data loader",
        confidence = "high",
        message = main,
        worth = { 0.58, 0.6 },
      },
    },
  },
  {
    name = "counts the fetch before the first work, which is no start-up",
    trace = window(5000),
    expect = { { severity = "error", message = main, worth = { 0.24, 0.26 } } },
  },
  {
    name = "but not one long before it",
    trace = window(2000),
    expect = "not checked",
  },
  {
    name = "fires next to a thread that launches something small now and then",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 100, 6000, loader } },
      ops = (function()
        local ops = { { 6010, 9900, kernel = "nvjet_tst_gemm", launched = { 6000, 6005 } } }
        for at = 300, 9300, 1000 do
          ops[#ops + 1] = { at, at + 1, kernel = "heartbeat", stream = 9, thread = "monitor" }
        end
        return ops
      end)(),
    },
    expect = { { severity = "error", message = main, worth = { 0.58, 0.6 } } },
  },
  {
    name = "fires next to a thread that uploads batches ahead",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 100, 6000, loader } },
      ops = {
        { 3000, 3040, copy = "h2d", bytes = 65536, stream = 9, thread = "fetcher" },
        { 6010, 9900, kernel = "nvjet_tst_gemm", launched = { 6000, 6005 } },
      },
    },
    expect = { { severity = "error", message = main, worth = { 0.57, 0.6 } } },
  },
  {
    name = "fires on a range between the steps",
    trace = steps { ranges = { { 6000, 9950, "step {n}" }, { 0, 5900, "batch-generator" } } },
    expect = { { severity = "error", message = main, worth = { 0.57, 0.6 } } },
  },
  {
    name = "fires when the thread waits for workers in the range",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 100, 6000, "dataloader" } },
      os_calls = { { 200, 5900, "sem_timedwait" } },
    },
    expect = { { severity = "error", message = "*waits for its loader workers*" } },
  },
  {
    name = "does not take the end of a thread for a batch of workers",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 100, 6000, "dataloader" } },
      os_calls = { { 200, 5900, "pthread_join" } },
    },
    expect = { { severity = "error", message = main } },
  },
  {
    name = "knows workers by their threads",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 100, 6000, "dataloader" } },
      os_calls = { { 200, 300, "poll", thread = "pt_data_pin" } },
    },
    expect = { { message = "*waits for its loader workers*" } },
  },
  {
    name = "believes a loader's range that it has no workers, whatever it waits for",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 100, 6000, loader } },
      os_calls = { { 200, 5900, "recvfrom" } },
    },
    expect = { { severity = "error", message = main } },
  },
  {
    name = "knows workers by the loader's range",
    trace = steps {
      ranges = {
        { 0, 9000, "step {n}" },
        { 100, 6000, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__" },
      },
    },
    expect = { { message = "*waits for its loader workers*" } },
  },
  {
    name = "counts loading that begins while the GPU is busy only from when it is not",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 100, 6000, loader } },
      ops = {
        { 20, 4900, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 6010, 9990, kernel = "nvjet_tst_gemm", launched = { 6000, 6005 } },
      },
    },
    expect = { { severity = "warning", worth = { 0.109, 0.111 } } },
  },
  {
    name = "fires without steps where a range tells",
    trace = steps { ranges = { { 100, 6000, loader } } },
    expect = { { severity = "error", confidence = "high" } },
  },
  {
    name = "fires without steps in a recording of ranges only around the loader of Lightning",
    trace = steps {
      ranges = { { 100, 6000, "[pl][profile][_TrainingEpochLoop].train_dataloader_next" } },
    },
    expect = { { severity = "error" } },
  },

  {
    name = "leaves pauses alone that other ranges name",
    trace = steps {
      ranges = { { 6000, 9950, "step {n}" }, { 100, 5900, "log_metrics" } },
      os_calls = { { 150, 5800, "read" } },
    },
    expect = "clean",
  },
  {
    name = "is silent about validation between steps",
    trace = steps {
      ranges = { { 6000, 9950, "step {n}" }, { 100, 5900, "validation" } },
      ops = upload,
    },
    expect = "clean",
  },
  -- Only the pause tells.
  {
    name = "infers it from a pause before the upload of a batch",
    trace = steps { ops = upload },
    expect = {
      {
        severity = "error",
        confidence = "medium",
        message = "*most likely loading or computing the next batch.",
        advice = "Prepare inputs ahead, or on the GPU: *",
        worth = { 0.55, 0.62 },
      },
    },
  },
  {
    name = "says so to PyTorch, whose loader nothing shows",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 6000, 6009, "aten::to" } },
      ops = upload,
    },
    expect = { { advice = "Prepare batches ahead, or on the GPU: *" } },
  },
  {
    name = "infers it from reading files",
    trace = steps { os_calls = { { 1000, 1100, "read" } } },
    expect = {
      {
        severity = "error",
        confidence = "medium",
        message = "*most likely loading the next batch*",
        advice = "Prepare the next inputs in separate threads: *",
      },
    },
  },
  {
    name = "infers it from waiting for another thread",
    trace = steps { os_calls = { { 500, 5800, "pthread_cond_timedwait" } } },
    expect = { { severity = "error", confidence = "medium" } },
  },
  {
    name = "infers it where the host had run ahead of the GPU",
    trace = steps { ranges = { { 0, 7500, "step {n}" } }, ops = upload },
    expect = { { severity = "error", confidence = "medium" } },
  },

  {
    name = "infers it without any range",
    trace = unmarked(20000),
    expect = {
      { severity = "error", confidence = "medium", message = "*most likely loading*" },
    },
  },
  {
    name = "infers it in inference where the loader has a thread",
    trace = inference "pt_data_pin",
    expect = {
      { severity = "error", confidence = "medium", message = "*most likely loading*" },
    },
  },
  {
    name = "and not where the thread may serve requests",
    trace = inference "requests",
    expect = "clean",
  },
  {
    name = "does not where the pause may be a garbage collection",
    trace = unmarked(400000),
    expect = { { severity = "warning", confidence = "low", message = "*or collect garbage*" } },
  },
  {
    name = "but does where the thread reads meanwhile",
    trace = unmarked(400000, { os_calls = { { 1000, 1100, "read" } } }),
    expect = {
      { severity = "error", confidence = "medium", message = "*most likely loading*" },
    },
  },

  -- A note.
  {
    name = "notes 3 %",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 150, 450, loader } },
      ops = { { 510, 9900, kernel = "nvjet_tst_gemm", launched = { 500, 505 } } },
    },
    expect = {
      {
        severity = "note",
        message = "*while the launching thread fetches*",
        worth = { 0.029, 0.031 },
      },
    },
  },
  {
    name = "is a note below the team's own threshold",
    trace = steps { ranges = { { 0, 9000, "step {n}" }, { 100, 6000, loader } } },
    options = { share = 0.7 },
    expect = { { severity = "note" } },
  },

  -- Silence.
  {
    name = "is silent when loading hides behind the GPU",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 100, 6000, loader } },
      ops = { { 20, 9990, kernel = "nvjet_tst_gemm", launched = { 5, 10 } } },
    },
    expect = "clean",
  },
  {
    name = "is silent when another thread loads",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 100, 6000, loader, thread = "prefetcher" } },
    },
    expect = "clean",
  },
  {
    name = "is silent about a pause outside the loader's own range",
    trace = steps { ranges = { { 0, 9000, "step {n}" }, { 20, 50, loader } }, ops = upload },
    expect = "clean",
  },
  {
    name = "is silent about a pause in which nothing was read, waited for or uploaded",
    trace = steps {},
    expect = "clean",
  },
  {
    name = "is silent about a pause within a step",
    trace = steps {
      ops = {
        { 20, 2900, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 7010, 9990, kernel = "nvjet_tst_gemm", launched = { 7000, 7005 } },
      },
      os_calls = { { 4000, 4100, "read" } },
    },
    expect = "clean",
  },
  {
    name = "is silent about short waits while launching",
    trace = steps {
      ops = {
        { 20, 9100, kernel = "nvjet_tst_gemm", launched = { 5, 10 } },
        { 9200, 9990, kernel = "nvjet_tst_gemm", launched = { 9190, 9195 } },
      },
      os_calls = { { 9110, 9190, "poll" } },
    },
    expect = "clean",
  },
  {
    name = "is silent about a range that carries the batch to the device",
    trace = steps { ranges = { { 0, 9000, "step {n}" }, { 100, 6000, "batch to device" } } },
    expect = "clean",
  },
  {
    name = "is silent when synchronization is to blame",
    trace = steps { calls = { { 150, 5950, "cudaDeviceSynchronize" } } },
    expect = "clean",
  },
  {
    name = "is silent about 1 %",
    trace = steps {
      ranges = { { 0, 9000, "step {n}" }, { 150, 250, loader } },
      ops = { { 310, 9900, kernel = "nvjet_tst_gemm", launched = { 300, 305 } } },
    },
    expect = "clean",
  },

  {
    name = "beat: another thread's tiny kernels do not hide what the launching one does",
    fixture = "beat",
    expect = { { severity = "error", worth = { 0.8, 0.9 } } },
  },

  -- No verdict.
  {
    name = "needs calls",
    trace = steps { not_collected = { "calls" } },
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps { not_collected = { "kernels" } },
    expect = "not checked",
  },
  {
    name = "needs something that repeats or a loader's range",
    trace = steps { ranges = {}, ops = upload, repeats = { times = 2, every = 10000 } },
    expect = "not checked",
  },
  { name = "needs GPU work", trace = steps { ops = {} }, expect = "not checked" },

  -- Recorded.
  {
    name = "starved",
    fixture = "starved",
    expect = {
      { severity = "error", confidence = "high", message = main, worth = { 0.68, 0.74 } },
    },
  },
  { name = "fed", fixture = "fed", expect = "clean" },
  { name = "good", fixture = "good", expect = "clean" },
  {
    name = "syncs-pageable: 1 ms of loading shows",
    fixture = "syncs-pageable",
    expect = { { severity = "note" } },
  },
  {
    name = "launchbound: host bound, but not by its loader",
    fixture = "launchbound",
    expect = "clean",
  },
  { name = "um: stalls are no starvation", fixture = "um", expect = "clean" },
  { name = "ddp: two devices", fixture = "ddp", expect = "clean" },
  { name = "gc-pause: the pause has a name", fixture = "gc-pause", expect = "clean" },
}

-- Six steps of 10 ms, of which the GPU computes 4.9; before that, the thread may save a checkpoint.
local gemm, MiB = "nvjet_tst_gemm", 1048576
local late = { { 5010, 9900, kernel = gemm, launched = { 5000, 5005 } } }
local function steps(more)
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9900, "step {n}" } }, ops = late }
  for key, value in pairs(more) do
    trace[key] = value
  end
  return trace
end
local function ranges(name, thread)
  return { { 0, 9900, "step {n}" }, { 20, 5000, name, thread = thread } }
end
-- Ten tensors fetched between 0 and 1 ms, one after the other.
local function fetched(bytes)
  local ops = { late[1] }
  for i = 0, 9 do
    ops[#ops + 1] = {
      10 + i * 100,
      100 + i * 100,
      copy = "d2h",
      bytes = bytes,
      launched = { 5 + i * 100, 8 + i * 100 },
    }
  end
  return ops
end
local function and_brought_back(ops)
  for i = 0, 9 do
    ops[#ops + 1] = {
      4000 + i * 100,
      4090 + i * 100,
      copy = "h2d",
      bytes = 8 * MiB,
      launched = { 3990 + i * 100, 3995 + i * 100 },
    }
  end
  return ops
end
local writes = { { 1200, 3000, "writev" }, { 3000, 3200, "fsync" } }

return {
  {
    name = "fires while a checkpoint is saved",
    trace = steps { ranges = ranges "save_checkpoint" },
    expect = {
      {
        severity = "error",
        subject = "checkpoint",
        confidence = "high",
        message = "*4.98 ms of each 10.0 ms step (50 %)*4.98 ms each time (range \z
          'save_checkpoint').",
        worth = { 0.48, 0.5 },
      },
    },
  },
  {
    name = "fires on Lightning's range",
    trace = steps {
      ranges = ranges "[pl][profile][Callback]ModelCheckpoint{}.on_train_batch_end",
    },
    expect = { { severity = "error", subject = "checkpoint" } },
  },
  {
    name = "counts copies that it waits for",
    trace = steps { ranges = ranges "save_checkpoint", ops = fetched(8 * MiB) },
    expect = { { severity = "error", worth = { 0.48, 0.5 } } },
  },
  {
    name = "fires while the model is evaluated on the host",
    trace = steps { ranges = ranges "validation" },
    expect = {
      { severity = "error", subject = "evaluation", message = "*evaluates the model*" },
    },
  },
  {
    name = "does not count the work of an evaluation",
    trace = steps {
      ranges = ranges "evaluate",
      ops = { { 20, 4000, kernel = gemm, launched = { 10, 15 } }, late[1] },
    },
    expect = { { severity = "warning", subject = "evaluation", worth = { 0.09, 0.11 } } },
  },
  {
    name = "is a note below 5 %",
    trace = steps {
      ranges = ranges "save_checkpoint",
      ops = { { 20, 4700, kernel = gemm, launched = { 10, 15 } }, late[1] },
    },
    expect = { { severity = "note" } },
  },
  {
    name = "infers it from tensors that leave and files that are written",
    trace = steps { ops = fetched(8 * MiB), os_calls = writes },
    expect = {
      {
        severity = "error",
        subject = "checkpoint",
        confidence = "medium",
        message = "*most likely checkpoints.",
        worth = { 0.5, 0.52 },
      },
    },
  },
  {
    name = "fires on Grace Hopper",
    trace = steps {
      ranges = ranges "save_checkpoint",
      device = { name = "NVIDIA GH200 480GB", memory_gib = 96 },
      ops = fetched(8 * MiB),
    },
    expect = { { severity = "error" } },
  },

  {
    name = "is silent when kernels run meanwhile",
    trace = steps {
      ranges = ranges "save_checkpoint",
      ops = { { 10, 9900, kernel = gemm, launched = { 0, 5 } } },
    },
    expect = "clean",
  },
  {
    name = "is silent when another thread saves",
    trace = steps { ranges = ranges("save_checkpoint", "writer") },
    expect = "clean",
  },
  {
    name = "is silent about recomputed activations",
    trace = steps { ranges = ranges "activation checkpoint" },
    expect = "clean",
  },
  {
    name = "is silent when a checkpoint is loaded",
    trace = steps { ranges = ranges "load_checkpoint" },
    expect = "clean",
  },
  {
    name = "is silent about tensors that leave with nothing written",
    trace = steps { ops = fetched(8 * MiB), os_calls = { { 1200, 3000, "read" } } },
    expect = "clean",
  },
  {
    name = "is silent about files that another thread writes",
    trace = steps {
      ops = fetched(8 * MiB),
      os_calls = { { 1200, 3000, "write", thread = "logger" } },
    },
    expect = "clean",
  },
  {
    name = "is silent about files written after a metric was fetched",
    trace = steps { ops = fetched(4), os_calls = writes },
    expect = "clean",
  },
  {
    name = "is silent about offloaded gradients, whose weights come back",
    trace = steps { ops = and_brought_back(fetched(8 * MiB)), os_calls = writes },
    expect = "clean",
  },
  {
    name = "is silent about a pause without either",
    trace = steps { os_calls = writes },
    expect = "clean",
  },
  {
    name = "is silent about nothing, whatever the options say",
    trace = steps {
      ops = { { 10, 9900, kernel = gemm, launched = { 0, 5 } } },
      ranges = ranges "save_checkpoint",
    },
    options = { share = 0, note_share = 0, burst = 0, burst_bytes = 0, write_share = 0 },
    expect = "clean",
  },
  {
    name = "and without ranges",
    trace = steps { ops = { { 10, 9990, kernel = gemm, launched = { 0, 5 } } } },
    options = { share = 0, note_share = 0, burst = 0, burst_bytes = 0, write_share = 0 },
    expect = "clean",
  },

  {
    name = "needs OS calls where tensors leave",
    trace = steps { ops = fetched(8 * MiB), not_collected = { "os_calls" } },
    expect = "not checked",
  },
  {
    name = "needs copies where no range tells",
    trace = steps { not_collected = { "copies" } },
    expect = "not checked",
  },
  {
    name = "fires on files written after tensors have left, also where no ranges were recorded",
    trace = steps {
      ranges = {},
      ops = fetched(8 * MiB),
      os_calls = writes,
      not_collected = { "ranges" },
    },
    expect = { { subject = "checkpoint", confidence = "medium" } },
  },
  {
    name = "needs ranges where the GPU is stopped",
    trace = steps { ranges = {}, not_collected = { "ranges" } },
    expect = "not checked",
  },
  {
    name = "but not where it never does",
    trace = steps {
      ranges = {},
      ops = { { 10, 9990, kernel = gemm, launched = { 0, 5 } } },
      not_collected = { "ranges" },
    },
    expect = "clean",
  },
  {
    name = "needs kernels",
    trace = steps { not_collected = { "kernels" } },
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  { name = "starved: the loader's pauses", fixture = "starved", expect = "clean" },
  { name = "offload: tensors that come back", fixture = "offload", expect = "clean" },
  {
    name = "um-umtouch-full: the host works between steps",
    fixture = "um-umtouch-full",
    expect = "clean",
  },
  { name = "compile-graphs", fixture = "compile-graphs", expect = "clean" },
  {
    name = "checkpoint-stall",
    fixture = "checkpoint-stall",
    expect = { { severity = "error", worth = { 0.8, 0.95 } } },
  },
}

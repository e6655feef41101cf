return {
  id = "gc-pause",
  category = "launch",
  title = "Python's garbage collection stops the GPU",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: idle time of the GPU during garbage collection.",
    },
    note_share = {
      default = 0.01,
      unit = "fraction",
      doc = "From this share of the step it is a note.",
    },
    pause_ns = {
      default = 200000000,
      unit = "ns",
      doc = "Without ranges: how long the launching thread has to be silent while the GPU is idle \z
        for garbage collection to be likely. msprof reports host gaps from 200 ms on.",
    },
    silent = {
      default = 0.95,
      unit = "fraction",
      doc = "Without ranges: share of a pause in which the thread is in no operating-system call, \z
        from which it is silent. Chosen: a collection makes none.",
    },
  },
  messages = {
    ranges = "Python collects garbage {count:once|# times}, and meanwhile the GPU is idle for \z
      {idle:lost} of {each_step} ({share:fraction}), {longest:ns} at the longest.",
    pauses = "{count:Once|# times} the launching thread pauses for up to {longest:ns} with the \z
      GPU idle, {idle:lost} of {each_step} ({share:fraction}), and the trace does not show what \z
      it does. It calls neither CUDA nor the operating system then; Python's garbage collector is \z
      a likely cause.",
  },
  headlines = {
    ranges = "Python's garbage collection stops the GPU {count:once|# times}",
    pauses = "{count:A long pause|# long pauses} may be garbage collection",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the thread that launches its work is \z
      inside a range of Python's garbage collector (around `gc.collect`, or made by a hook in \z
      `gc.callbacks`). Without such ranges it reports rare pauses of 200 ms or more in which the \z
      thread calls neither CUDA nor the operating system.",
    why = "A full collection walks every object that Python holds, hundreds of thousands in a \z
      training program, and holds the interpreter meanwhile. The number of allocations triggers \z
      it, at a different time on each rank: then all ranks wait for each one's pause.",
    fix = "After warm-up `gc.collect()`, `gc.freeze()` and `gc.disable()`, then `gc.collect(1)` \z
      every few hundred steps on all ranks at the same step. Megatron and NeMo: `--manual-gc \z
      --manual-gc-interval 100`; torchtitan: `gc_freq`.",
    wrong = "Without ranges the pause may be any computation in Python or a native library: it is \z
      a note then, with low confidence. A range around `gc.callbacks`, or py-spy, shows which.",
  },
  advice = {
    {
      megatron = "Collect garbage at fixed steps{.}: `--manual-gc --manual-gc-interval 100`.",
      nemo = "Collect garbage at fixed steps{.}: with the GarbageCollectionCallback, at the same \z
        step on all ranks, every 100 steps.",
      torchtitan = "Collect garbage at fixed steps{.}: `--training.gc_freq`, on all ranks at the \z
        same step.",
      training = "Collect garbage at fixed steps{.}: `gc.collect()`, `gc.freeze()` and \z
        `gc.disable()` after warm-up, then `gc.collect(1)` every few hundred steps, on all ranks \z
        at the same step.",
      cuda = "Collect garbage when nothing waits{.}: `gc.collect()`, `gc.freeze()` and \z
        `gc.disable()` after warm-up, then `gc.collect(1)` at such moments.",
    },
    {
      when = "pauses",
      "Make sure first{.}: put a range around collections (`gc.callbacks`), or sample the process \z
        with py-spy.",
    },
    "Break reference cycles that hold large arrays instead of having them collected.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local ranges = trace:ranges { phase = "garbage_collection" }
    if ranges:count() > 0 then
      local idle = 0
      for _, group in ipairs(ranges:group("thread", 1000)) do
        idle = idle + trace:idle { thread = group.key }:overlap_ns(group.rows)
      end
      local share = idle / total
      if share == 0 or share < options.note_share then return {} end
      return {
        {
          subject = "garbage collection",
          message = "ranges",
          data = {
            count = ranges:count(),
            idle = idle / steps,
            share = share,
            longest = ranges:top(1)[1].duration_ns,
          },
          recoverable_ns = idle,
          change = { { pause = ranges } },
          at_most = share < options.share and "note" or nil,
          metrics = {
            {
              name = "idle during garbage collection",
              value = share,
              unit = "fraction",
              threshold = options.share,
            },
          },
          evidence = ranges:evidence { most = 5 },
        },
      }
    end

    if not trace:is "python" then return {} end
    -- No range marks collections. A pause that another phase or an operating-system call fills is
    -- something else, and so is one that every step has.
    local function silent_of(pauses)
      local silent = pauses:minus(pauses)
      for _, group in ipairs(pauses:group("thread", 1000)) do
        silent =
          silent:plus(group.rows:exposed(trace:os_calls { thread = group.key }, options.silent))
      end
      return silent
    end
    local pauses = trace:idle { cause = "unknown", min_ns = options.pause_ns }
    pauses = pauses:exposed(trace:ranges { phase = { "loader", "checkpoint", "evaluation" } })
    if pauses:count() == 0 then
      -- A silent pause before an upload was taken for loading; without ranges it may also be a
      -- collection.
      local taken =
        silent_of(trace:idle { cause = "input", inferred = true, min_ns = options.pause_ns })
      if taken:count() > 0 and taken:union_ns() >= options.note_share * total then
        return nil,
          "the launching thread pauses for long before it uploads data, and no range shows \z
            whether it loads that data or collects garbage",
          trace:words {
            nsys = '`--trace=cuda,nvtx,osrt`, with an NVTX range around garbage collection \z
              (`gc.callbacks`) and one around the loader ("dataloader")',
            torch_profiler = '`torch.profiler.profile`, with `record_function` around garbage \z
              collection (`gc.callbacks`) and around the loader ("dataloader")',
          }
      end
      return {}
    end
    if trace:fact "steps.found" == 0 then
      return nil,
        "no steps were found, so a pause cannot be told from the program's start-up",
        trace:words {
          nsys = "`--trace=cuda,nvtx,osrt`, with an NVTX range around each step, and one around \z
            garbage collection (`gc.callbacks`)",
          torch_profiler = "`torch.profiler.profile`, with `profiler.step()` after each step, and \z
            `record_function` around garbage collection (`gc.callbacks`)",
        }
    end
    local known, reason, record_with = trace:available "os_calls"
    if not known then
      return nil,
        "the launching thread pauses for long; whether it was in an operating-system call is \z
          unknown: "
          .. reason,
        record_with
    end
    local silent = silent_of(pauses)
    if silent:count() == 0 or silent:count() > steps / 2 then return {} end
    local idle = silent:union_ns()
    if idle / total < options.note_share then return {} end
    return {
      {
        subject = "silent pauses",
        message = "pauses",
        data = {
          count = silent:count(),
          idle = idle / steps,
          share = idle / total,
          longest = silent:top(1)[1].duration_ns,
        },
        recoverable_ns = idle,
        change = { { pause = silent } },
        at_most = "note",
        confidence = "low",
        follows_from = "gpu-idle",
        metrics = {
          {
            name = "idle in silent pauses",
            value = idle / total,
            unit = "fraction",
            threshold = options.note_share,
          },
        },
        evidence = silent:evidence { most = 4 },
      },
    }
  end,
}

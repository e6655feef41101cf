return {
  id = "gc-pause",
  category = "launch",
  title = "Python's garbage collection stops the GPU",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Idle time of the GPU during garbage collection, of the step, from which it counts." },
    note_share = { default = 0.01, unit = "fraction", doc = "From this share on it is mentioned as a note." },
    pause_ns = { default = 200000000, unit = "ns", doc = "Without ranges: how long the launching thread has to be silent, with the GPU idle, for garbage collection to be likely. msprof takes host gaps from 200 ms on." },
  },
  messages = {
    ranges = "Python collects garbage {count} times, and the GPU is idle for {idle:ns} of {each_step} ({share:fraction}) meanwhile, {longest:ns} the longest.",
    pauses = "{count} times the launching thread does nothing that the trace shows for {longest:ns} or less, with the GPU idle: {idle:ns} of {each_step} ({share:fraction}). Neither CUDA nor the operating system is called then; Python's garbage collector is a likely cause.",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the thread that launches its work is inside a range of Python's garbage collector (around gc.collect, or made by a hook in gc.callbacks). Without such ranges it points at rare pauses of 200 ms and more in which the thread calls neither CUDA nor the operating system.",
    why = "A full collection walks every object that Python holds, hundreds of thousands in a training program, and holds the interpreter meanwhile. It comes when allocations say so, at another time on each rank: then all ranks wait for each one's pause.",
    fix = "After warm-up gc.collect(), gc.freeze() and gc.disable(), and gc.collect(1) every few hundred steps on all ranks at the same step. Megatron and NeMo: --manual-gc --manual-gc-interval 100; torchtitan: gc_freq.",
    wrong = "Without ranges the pause may be any computation in Python or a native library: it is a note then, with low confidence. A range around gc.callbacks, or py-spy, tells.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local advice = {
      {
        megatron = "--manual-gc --manual-gc-interval 100.",
        nemo = "The GarbageCollectionCallback: collections at the same step on all ranks, every 100 steps.",
        torchtitan = "--training.gc_freq, on all ranks at the same step.",
        training = "After warm-up: gc.collect(); gc.freeze(); gc.disable(). Then gc.collect(1) every few hundred steps, on all ranks at the same step.",
        cuda = "After warm-up: gc.collect(); gc.freeze(); gc.disable(). Then gc.collect(1) where nobody waits.",
      },
      "Reference cycles that hold large arrays are better broken than collected.",
    }
    local ranges = trace:ranges { phase = "garbage_collection" }
    if ranges:count() > 0 then
      local idle = 0
      for _, group in ipairs(ranges:group("thread", 1000)) do idle = idle + trace:idle { thread = group.key }:overlap_ns(group.rows) end
      local share = idle / total
      if share == 0 or share < options.note_share then return {} end
      return { {
        subject = "garbage collection",
        message = "ranges",
        data = { count = ranges:count(), idle = idle / steps, share = share, longest = ranges:top(1)[1].duration_ns },
        recoverable_ns = idle,
        change = { { pause = ranges } },
        at_most = share < options.share and "note" or nil,
        metrics = { { name = "idle during garbage collection", value = share, unit = "fraction", threshold = options.share } },
        evidence = ranges:evidence { most = 5 },
        advice = advice,
      } }
    end

    if not trace:is "python" then return {} end
    -- No range tells. What another phase, or a call to the operating system, fills is something else; so is what every step has.
    local function silent_of(pauses)
      local silent = pauses:minus(pauses)
      for _, group in ipairs(pauses:group("thread", 1000)) do silent = silent:plus(group.rows:exposed(trace:os_calls { thread = group.key }, 0.95)) end
      return silent
    end
    local pauses = trace:idle { cause = "unknown", min_ns = options.pause_ns }
    pauses = pauses:exposed(trace:ranges { phase = { "loader", "checkpoint", "evaluation" } }, 0.5)
    if pauses:count() == 0 then
      -- Nor does any tell whether a silent pause before an upload was loading, for which it was taken, or a collection.
      local taken = silent_of(trace:idle { cause = "input", inferred = true, min_ns = options.pause_ns })
      if taken:count() > 0 and taken:union_ns() >= options.note_share * total then
        return nil, "the launching thread pauses for long before it uploads data, and no range tells whether it loads that or collects garbage",
          trace:words {
            nsys = "--trace=cuda,nvtx,osrt, with an NVTX range around garbage collection (gc.callbacks) and one around the loader (\"dataloader\")",
            torch_profiler = "torch.profiler.profile, with record_function around garbage collection (gc.callbacks) and around the loader (\"dataloader\")",
          }
      end
      return {}
    end
    if trace:fact "steps.found" == 0 then
      return nil, "nothing was found that repeats, so a pause cannot be told from the program's own start-up", trace:words {
        nsys = "--trace=cuda,nvtx,osrt, with an NVTX range around each step, and one around garbage collection (gc.callbacks)",
        torch_profiler = "torch.profiler.profile, with profiler.step() after each step, and record_function around garbage collection (gc.callbacks)",
      }
    end
    local known, reason, record_with = trace:available "os_calls"
    if not known then return nil, "the launching thread pauses for long; whether it was in a call to the operating system does not show: " .. reason, record_with end
    local silent = silent_of(pauses)
    if silent:count() == 0 or silent:count() > steps / 2 then return {} end
    local idle = silent:union_ns()
    if idle / total < options.note_share then return {} end
    table.insert(advice, 1, "Make sure first: put a range around collections (gc.callbacks), or sample the process with py-spy.")
    return { {
      subject = "silent pauses",
      message = "pauses",
      data = { count = silent:count(), idle = idle / steps, share = idle / total, longest = silent:top(1)[1].duration_ns },
      recoverable_ns = idle,
      change = { { pause = silent } },
      at_most = "note",
      confidence = "low",
      follows_from = "gpu-idle",
      metrics = { { name = "idle in silent pauses", value = idle / total, unit = "fraction", threshold = options.note_share } },
      evidence = silent:evidence { most = 4 },
      advice = advice,
    } }
  end,
}

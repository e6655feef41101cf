local causes = { "input", "sync", "launch", "allocation", "compilation", "loading", "faults", "failed", "launch_latency", "dependency", "unknown" }
local words = { input = "waiting for input", sync = "waiting for synchronization", launch = "waiting for launches", allocation = "allocating memory", compilation = "compiling code", loading = "loading code", faults = "handling page faults of the host", failed = "in calls that failed", launch_latency = "between launches and kernels",
  dependency = "waiting between kernels", unknown = "idle time that the trace does not explain", compute = "computing", communication = "collectives", copies = "copies" }
local roots = { input = "data-loader-starvation", sync = "host-sync", launch = "launch-bound", allocation = "alloc-churn", compilation = "jit-in-loop", loading = "first-use", faults = "um-migration-storm", failed = "failed-calls", launch_latency = "launch-bound", unknown = "gpu-idle", communication = "exposed-collective", copies = "exposed-memcpy" }
local fixes = {
  input = { pytorch = "The loader is late now and then: raise prefetch_factor and num_workers, so that a slow batch is bridged; persistent_workers=True, so that workers do not start anew.", cuda = "Input is late now and then: prepare more of it ahead, so that a slow one is bridged." },
  sync = { training = "Something waits for the GPU in these only (logging, metrics, gradient norms): keep such values on the device, and read them later.", cuda = "Something waits for the GPU in these only (output, checks): keep such values on the device, and read them later." },
  launch = { pytorch = "The host was slow to launch: look for what else ran on its core (bind the process, fewer loader workers than cores), or capture the loop's body in CUDA graphs.", cuda = "The host was slow to launch: look for what else ran on its core (bind the process), or capture the loop's body in CUDA graphs." },
  allocation = { pytorch = "Memory was allocated or freed: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, no torch.cuda.empty_cache() in the loop, and the longest sequence first, so that the cache has its final size.", cuda = "Memory was allocated or freed: allocate for the largest case before the loop, or from a pool that keeps what it has (cudaMemPoolAttrReleaseThreshold)." },
  loading = "Code was loaded: warm up each shape before the loop, or load early (CUDA_MODULE_LOADING=EAGER).",
  compilation = { pytorch = "Code was compiled: pad to few shapes (dynamic=True or mark_dynamic with torch.compile), and warm up each shape before the loop; TORCH_LOGS=recompiles tells which.", jax = "Code was compiled: pad to few shapes, and warm up each before the loop; jax_log_compiles tells which.", cuda = "Code was compiled: do so before the loop, for each shape and type that occurs." },
  communication = "Communication took longer: compare the ranks' timelines in these steps, a late one makes all others wait.",
  copies = "More is copied than usual: see what, and copy it from or to pinned memory beside the kernels.",
  compute = { training = "These have more work (a larger batch, an optimizer step after several micro-batches, an evaluation): intended, or bucket sequences by length.", inference = "These have more work (a larger batch, longer sequences): intended, or bucket them by length.", cuda = "These have more work: intended, or balance it." },
}

local function bytes_in(copies, steps)
  local bytes = 0
  for _, of in ipairs(steps:group "device") do bytes = bytes + copies:where { device = tonumber(of.key), inside = of.rows }:sum "bytes" end
  return bytes
end

-- Whether long steps come at one stride: a loop around them has more to do then, which is no exception.
local function come_regularly(long)
  local numbers = {}
  local seen = {}  -- each device has its own
  for _, row in ipairs(long:top(1000, "number")) do
    if not seen[row.number] then numbers[#numbers + 1], seen[row.number] = row.number, true end
  end
  table.sort(numbers)
  for i = 3, #numbers do
    if numbers[i] - numbers[i - 1] ~= numbers[2] - numbers[1] then return false end
  end
  return #numbers >= 3
end

local numbered = { "*0*", "*1*", "*2*", "*3*", "*4*", "*5*", "*6*", "*7*", "*8*", "*9*" }

return {
  id = "step-outlier",
  category = "steps",
  title = "Some rounds of the loop take far longer than the others",
  since = "0.1",
  needs = { "kernels" },
  options = {
    factor = { default = 1.5, unit = "count", doc = "How many times the median a step has to take to be an outlier. Recorded: the longest of the steady steps takes 1.0 to 1.3 times the median." },
    least_steps = { default = 5, unit = "count", doc = "Steps on each device from which a median means something." },
    usual = { default = 0.25, unit = "fraction", doc = "Where more steps than this share are long, long steps are a part of the program: a note." },
  },
  messages = {
    main = "{count} of {steps} {units} take far longer: up to {longest:ns}, {factor} times the median of {median:ns}. What they hold and the others do not: {what}{range}.",
  },
  doc = {
    what = "Compares steps that take more than a multiple of the median with the others, by what the GPU did in them and why it was idle, and by ranges. Start-up steps are left out already.",
    why = "Pauses that come seldom (a checkpoint, garbage collection, a new shape that is compiled, a slow file) hide in averages, and with many ranks each rank's pause stops all.",
    fix = "What the long steps hold says it: see the rule about that cause, which the finding names.",
    wrong = "Steps with more work on purpose (an optimizer step after several micro-batches, an evaluation) are long as well; what they compute and copy more is not counted as recoverable.",
  },
  evaluate = function(trace, options)
    local steps = trace:steps()
    if steps:count() == 0 then
      return nil, "nothing was found that repeats, so nothing can take longer than usual", trace:words {
        nsys = "--trace=cuda,nvtx,osrt, with an NVTX range around each step (\"step 1\", \"step 2\", ...)",
        torch_profiler = "torch.profiler.profile, with profiler.step() after each step",
      }
    end
    if steps:count() < options.least_steps * trace:fact "device.count" then
      return nil, string.format("only %d repetitions were recorded: what is usual and what is not cannot be told apart", steps:count() // trace:fact "device.count"), trace:words { nsys = "--capture-range=cudaProfilerApi around ten steps or more", torch_profiler = "torch.profiler.profile with schedule(wait=10, warmup=3, active=10)" }
    end
    local middle = trace:fact "step.median_ns"
    local long = steps:where { min_ns = math.floor(options.factor * middle) + 1 }
    local rest = steps:minus(long)
    if long:count() == 0 or rest:count() == 0 then return {} end

    -- How much more of something there is in the long steps, all of them together.
    local times = long:count() / rest:count()
    local function more(selection) return selection:overlap_ns(long) - times * selection:overlap_ns(rest) end
    local comm = trace:ops { class = "collective" }
    local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    local copies = trace:ops { kind = "copy" }
    local extra = { compute = more(compute) }
    extra.communication = more(compute:plus(comm)) - extra.compute
    extra.copies = more(compute:plus(comm):plus(copies)) - extra.compute - extra.communication
    local kinds = { "compute", "communication", "copies" }
    for _, cause in ipairs(causes) do kinds[#kinds + 1], extra[cause] = cause, more(trace:idle { cause = cause }) end

    local excess = long:sum "duration_ns" - times * rest:sum "duration_ns"
    -- Bytes that the others do not copy are more work, as more computing is, and take what bytes take in the others.
    local rate = copies:overlap_ns(rest) / math.max(1, bytes_in(copies, rest))
    local more_work = { compute = math.huge, copies = rate * math.max(0, bytes_in(copies, long) - times * bytes_in(copies, rest)) }
    local order, lost = {}, 0
    for _, what in ipairs(kinds) do
      if extra[what] >= excess / 10 then order[#order + 1] = what end
      lost = lost + math.max(0, extra[what] - (more_work[what] or 0))
    end
    table.sort(order, function(a, b) return extra[a] > extra[b] or extra[a] == extra[b] and a < b end)
    local held = {}
    for i = 1, math.min(2, #order) do
      local longer = extra[order[i]] / long:count()
      held[i] = string.format(longer < 1e5 and "%s (%.0f us more)" or "%s (%.1f ms more)", words[order[i]], longer / (longer < 1e5 and 1e3 or 1e6))
    end

    -- The range that explains it: of a phase that steps do not have as a rule, else the one that grew most. Names with numbers
    -- are those of steps.
    local range, root = nil, roots[order[1]]
    for _, phase in ipairs { "checkpoint", "evaluation", "garbage_collection" } do
      local ranges = trace:ranges { phase = phase }
      if not range and more(ranges) > excess / 4 then range, root = ranges:group("name")[1].key, phase == "garbage_collection" and "gc-pause" or "checkpoint-stall" end
    end
    if not range then
      local most = excess / 4
      local candidates = trace:ranges { min_ns = excess / long:count() / 4 }
      for _, group in ipairs(candidates:minus(candidates:where { name = numbered }):group("name", 50)) do
        local grown = more(group.rows)
        if grown > most and group.rows:overlap_ns(rest) < rest:sum "duration_ns" / 2 then range, most = group.key, grown end
      end
    end
    local advice = { range and string.format("Look into '%s' in these steps.", range) or "Compare one of these steps with its neighbours in the timeline." }
    if root == "checkpoint-stall" then advice[1] = string.format("Take '%s' out of the launching thread: save asynchronously%s, evaluate seldom or elsewhere.", range, trace:words { pytorch = " (torch.distributed.checkpoint.async_save)", cuda = "" })
    elseif root == "gc-pause" then advice[1] = "Collect garbage at fixed steps, on all ranks at once: gc.disable() after warm-up, gc.freeze(), and gc.collect() every few hundred steps."
    elseif fixes[order[1]] then advice[#advice + 1] = fixes[order[1]] end

    local count = long:count() // 1
    return { {
      subject = "long steps",
      message = "main",
      data = { count = count, steps = steps:count(), longest = trace:fact "step.longest_ns", median = middle, factor = string.format("%.1f", trace:fact "step.longest_ns" / middle),
        what = #held > 0 and table.concat(held, ", ") or "a little of everything", range = range and string.format(", in range '%s'", range) or "" },
      about = true,
      recoverable_ns = math.min(lost, math.max(excess, 0)),
      -- What is told by its launches is longer by nature where a loop around it has more to do.
      at_most = (count > options.usual * steps:count() or come_regularly(long) or trace:fact "steps.told_by" == "launches") and "note" or nil,
      follows_from = root,
      metrics = { { name = "longest step of the median", value = trace:fact "step.longest_ns" / middle, unit = "count", threshold = options.factor } },
      evidence = long:evidence { most = 5 },
      advice = advice,
    } }
  end,
}

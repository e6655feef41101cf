local constants = {
  shown_in_ns = 1e5, -- shorter times are shown in microseconds
}
local causes = {
  "input",
  "sync",
  "launch",
  "allocation",
  "compilation",
  "loading",
  "faults",
  "failed",
  "launch_latency",
  "dependency",
  "unknown",
}
local words = {
  input = "waiting for input",
  sync = "waiting for synchronization",
  launch = "waiting for launches",
  allocation = "allocating memory",
  compilation = "compiling code",
  loading = "loading code",
  faults = "handling page faults of the host",
  failed = "in calls that failed",
  launch_latency = "between launches and kernels",
  dependency = "waiting between kernels",
  unknown = "idle time that the trace does not explain",
  compute = "computing",
  communication = "collectives",
  copies = "copies",
}
local roots = {
  input = "data-loader-starvation",
  sync = "host-sync",
  launch = "launch-bound",
  allocation = "alloc-churn",
  compilation = "jit-in-loop",
  loading = "first-use",
  faults = "um-migration-storm",
  failed = "failed-calls",
  launch_latency = "launch-bound",
  unknown = "gpu-idle",
  communication = "exposed-collective",
  copies = "exposed-memcpy",
}
local function bytes_in(copies, steps)
  local bytes = 0
  for _, of in ipairs(steps:group "device") do
    bytes = bytes + copies:where { device = tonumber(of.key), inside = of.rows }:sum "bytes"
  end
  return bytes
end

-- Whether long steps come at a fixed distance: then a loop around them has more to do, and they
-- are no exception.
local function come_regularly(long, least)
  local numbers = {}
  local seen = {} -- each device has its own
  for _, row in ipairs(long:top(1000, "number")) do
    if not seen[row.number] then
      numbers[#numbers + 1], seen[row.number] = row.number, true
    end
  end
  table.sort(numbers)
  for i = 2, #numbers do
    if numbers[i] - numbers[i - 1] ~= numbers[2] - numbers[1] then return false end
  end
  return #numbers >= least
end

local numbered = { "*0*", "*1*", "*2*", "*3*", "*4*", "*5*", "*6*", "*7*", "*8*", "*9*" }

return {
  id = "step-outlier",
  category = "steps",
  title = "Some steps take far longer than the others",
  since = "0.1",
  needs = { "kernels" },
  options = {
    factor = {
      default = 1.5,
      unit = "count",
      doc = "How many times the median a step has to take to be an outlier. Recorded: the longest \z
        of steady steps takes 1.0 to 1.3 times the median.",
    },
    least_steps = {
      default = 5,
      unit = "count",
      doc = "Steps on each device that a meaningful median needs.",
    },
    usual = {
      default = 0.25,
      unit = "fraction",
      doc = "If more than this share of the steps is long, long steps are part of the program: a \z
        note.",
    },
    regular = {
      default = 3,
      unit = "count",
      doc = "Long steps at one distance from which they come regularly: a loop around the steps \z
        has more to do, and they are no exception.",
    },
    cause_share = {
      default = 0.1,
      unit = "fraction",
      doc = "Share of what the long steps take longer, from which something is named. Chosen.",
    },
    range_share = {
      default = 0.25,
      unit = "fraction",
      doc = "The same of a range, which may hold several causes. Chosen.",
    },
  },
  messages = {
    main = "{count} of {steps} {units} {count:takes|take} far longer: up to {longest:ns}, \z
      {factor} times the median of {median:ns}. What sets {count:it|them} apart: {what}{range}.",
  },
  headlines = {
    main = "{count} of {steps} {units} {count:takes|take} up to {factor} times the median",
  },
  doc = {
    what = "Compares steps that take more than a multiple of the median with the others, by what \z
      the GPU did in them, why it was idle, and by ranges. Start-up steps are already left out.",
    why = "Rare pauses (a checkpoint, garbage collection, a new shape that is compiled, a slow \z
      file) hide in averages, and with many ranks each rank's pause stops all.",
    fix = "It depends on what the long steps hold: see the rule for that cause, which the finding \z
      names.",
    wrong = "Steps with more work on purpose (an optimizer step after several micro-batches, an \z
      evaluation) are long as well; their extra computation and copies are not counted as \z
      recoverable.",
  },
  advice = {
    {
      when = "saves",
      pytorch = "Take '`{briefer}`' off the launching thread{.}: save asynchronously \z
        (`torch.distributed.checkpoint.async_save`), evaluate less often or elsewhere.",
      cuda = "Take '`{briefer}`' off the launching thread{.}: save asynchronously, evaluate less \z
        often or elsewhere.",
    },
    {
      when = "collects",
      "Collect garbage at fixed steps{.}: on all ranks at once, with `gc.disable()` after \z
        warm-up, `gc.freeze()`, and `gc.collect()` every few hundred steps.",
    },
    { when = "range", "Look into '`{brief}`' in these steps." },
    {
      when = "input",
      pytorch = "Bridge slow batches{.}: raise `prefetch_factor` and `num_workers`, and set \z
        `persistent_workers=True`, so that workers do not restart. The loader is late only now \z
        and then.",
      cuda = "Bridge slow inputs{.}: prepare more of them ahead. Input is late only now and then.",
    },
    {
      when = "sync",
      training = "Keep logged values on the device{.}: something waits for the GPU in these steps \z
        only (logging, metrics, gradient norms). Read the values later.",
      cuda = "Keep results on the device{.}: something waits for the GPU in these steps only \z
        (output, checks). Read them later.",
    },
    {
      when = "launch",
      pytorch = "Keep other work off the launching core{.}: the host was slow to launch. Bind the \z
        process, use fewer loader workers than cores, or capture the loop's body in CUDA graphs.",
      cuda = "Keep other work off the launching core{.}: the host was slow to launch. Bind the \z
        process, or capture the loop's body in CUDA graphs.",
    },
    {
      when = "allocation",
      pytorch = "Avoid allocations in the loop{.}: \z
        `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, no `torch.cuda.empty_cache()`, and \z
        the longest sequence first, so that the cache reaches its final size.",
      cuda = "Avoid allocations in the loop{.}: allocate for the largest case before it, or from \z
        a pool that keeps its memory (`cudaMemPoolAttrReleaseThreshold`).",
    },
    {
      when = "loading",
      "Load code before the loop{.}: warm up each shape, or load early \z
        (`CUDA_MODULE_LOADING=EAGER`).",
    },
    {
      when = "compilation",
      pytorch = "Compile before the loop{.}: pad to a few shapes (`dynamic=True` or \z
        `mark_dynamic` with `torch.compile`), and warm up each; `TORCH_LOGS=recompiles` shows \z
        which.",
      jax = "Compile before the loop{.}: pad to a few shapes, and warm up each; \z
        `jax_log_compiles` shows which.",
      cuda = "Compile before the loop{.}: once for each shape and type that occurs.",
    },
    {
      when = "communication",
      "Compare the ranks' timelines in these steps{.}: communication took longer, and a late rank \z
        makes all others wait.",
    },
    {
      when = "copies",
      "Overlap the extra copies with kernels{.}: see what these steps copy that others do not, \z
        and copy it from or to pinned memory.",
    },
    {
      when = "compute",
      training = "Bucket sequences by length{.}: these steps have more work (a larger batch, an \z
        optimizer step after several micro-batches, an evaluation), which may be intended.",
      inference = "Bucket requests by length{.}: these steps have more work (a larger batch, \z
        longer sequences), which may be intended.",
      cuda = "Balance the work of the steps{.}: these have more, which may be intended.",
    },
    { when = "neither", "Compare these steps with their neighbors in the timeline." },
  },
  evaluate = function(trace, options)
    local steps = trace:steps()
    if steps:count() == 0 then
      return nil,
        "no steps were found, so no step can take longer than usual",
        trace:words {
          nsys = '`--trace=cuda,nvtx,osrt`, with an NVTX range around each step ("step 1", "step \z
            2", ...)',
          torch_profiler = "`torch.profiler.profile`, with `profiler.step()` after each step",
        }
    end
    if steps:count() < options.least_steps * trace:fact "device.count" then
      return nil,
        string.format(
          "too few steps were recorded on each GPU to tell what is usual: %d",
          steps:count() // trace:fact "device.count"
        ),
        trace:words {
          nsys = "`--capture-range=cudaProfilerApi --capture-range-end=stop` around ten steps or \z
            more",
          torch_profiler = "`torch.profiler.profile` with `schedule(wait=10, warmup=3, active=10, \z
            repeat=1)`",
        }
    end
    local middle = trace:fact "step.median_ns"
    local long = steps:where { min_ns = math.floor(options.factor * middle) + 1 }
    local rest = steps:minus(long)
    if long:count() == 0 or rest:count() == 0 then return {} end

    -- How much more of something there is in the long steps, all of them together.
    local times = long:count() / rest:count()
    local function more(selection)
      return selection:overlap_ns(long) - times * selection:overlap_ns(rest)
    end
    local comm = trace:ops { class = "collective" }
    local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    local copies = trace:ops { kind = "copy" }
    local extra = { compute = more(compute) }
    extra.communication = more(compute:plus(comm)) - extra.compute
    extra.copies = more(compute:plus(comm):plus(copies)) - extra.compute - extra.communication
    local kinds = { "compute", "communication", "copies" }
    for _, cause in ipairs(causes) do
      kinds[#kinds + 1], extra[cause] = cause, more(trace:idle { cause = cause })
    end

    local excess = long:sum "duration_ns" - times * rest:sum "duration_ns"
    -- Bytes that the others do not copy are more work, as more computing is, and take as long as
    -- bytes take in the others.
    local rate = copies:overlap_ns(rest) / math.max(1, bytes_in(copies, rest))
    local more_work = {
      compute = math.huge,
      copies = rate * math.max(0, bytes_in(copies, long) - times * bytes_in(copies, rest)),
    }
    local order, lost = {}, 0
    for _, what in ipairs(kinds) do
      if extra[what] >= options.cause_share * excess then order[#order + 1] = what end
      lost = lost + math.max(0, extra[what] - (more_work[what] or 0))
    end
    table.sort(
      order,
      function(a, b) return extra[a] > extra[b] or extra[a] == extra[b] and a < b end
    )
    local held = {}
    for i = 1, math.min(2, #order) do
      local longer = extra[order[i]] / long:count()
      held[i] = string.format(
        longer < constants.shown_in_ns and "%s (%.0f us more)" or "%s (%.1f ms more)",
        words[order[i]],
        longer / (longer < constants.shown_in_ns and 1e3 or 1e6)
      )
    end

    -- The range that explains it: of a phase that steps usually do not have, else the one that
    -- grew most. Names with numbers
    -- belong to steps.
    local range, root = nil, roots[order[1]]
    for _, phase in ipairs { "checkpoint", "evaluation", "garbage_collection" } do
      local ranges = trace:ranges { phase = phase }
      if not range and more(ranges) > options.range_share * excess then
        range, root =
          ranges:group("name")[1].key,
          phase == "garbage_collection" and "gc-pause" or "checkpoint-stall"
      end
    end
    if not range then
      local most = options.range_share * excess
      local candidates = trace:ranges { min_ns = options.range_share * excess / long:count() }
      for _, group in
        ipairs(candidates:minus(candidates:where { name = numbered }):group("name", 50))
      do
        local grown = more(group.rows)
        if grown > most and group.rows:overlap_ns(rest) < rest:sum "duration_ns" / 2 then
          range, most = group.key, grown
        end
      end
    end
    local phase = root == "checkpoint-stall" and "saves"
      or root == "gc-pause" and "collects"
      or nil
    local count = long:count() // 1
    return {
      {
        subject = "long steps",
        message = "main",
        data = {
          count = count,
          steps = steps:count(),
          longest = trace:fact "step.longest_ns",
          median = middle,
          factor = string.format("%.1f", trace:fact "step.longest_ns" / middle),
          what = #held > 0 and table.concat(held, ", ") or "a little of everything",
          range = range and string.format(", in range '`%s`'", range:short()) or "",
          brief = range and range:short(36),
          briefer = range and range:short(28),
        },
        about = true,
        recoverable_ns = math.min(lost, math.max(excess, 0)),
        -- Steps that only launches mark are longer by nature if a loop around them has more to do.
        at_most = (count > options.usual * steps:count() or come_regularly(
          long,
          options.regular
        ) or trace:fact "steps.told_by" == "launches") and "note" or nil,
        follows_from = root,
        metrics = {
          {
            name = "longest step, in medians",
            value = trace:fact "step.longest_ns" / middle,
            unit = "count",
            threshold = options.factor,
          },
        },
        evidence = long:evidence { most = 5 },
        seen = {
          [phase or order[1] or ""] = true,
          range = range and not phase,
          neither = not range and not phase,
        },
      },
    }
  end,
}

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
local function bytes_in(trace, copies, steps)
  return require "held_in"(trace, copies, steps):sum "bytes"
end

local numbered = { "*0*", "*1*", "*2*", "*3*", "*4*", "*5*", "*6*", "*7*", "*8*", "*9*" }

-- How `long` steps differ from the `rest`: the one or two causes that hold most of it, in words; a
-- range that explains it; how much of it could be had back; the rule that reports the cause.
local function what_sets_apart(trace, options, long, rest)
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
  local rate = copies:overlap_ns(rest) / math.max(1, bytes_in(trace, copies, rest))
  local more_work = {
    compute = math.huge,
    copies = rate
      * math.max(0, bytes_in(trace, copies, long) - times * bytes_in(trace, copies, rest)),
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

  -- The range that explains it: of a phase that steps usually do not have, else the one that grew
  -- most. Names with numbers belong to steps.
  local root = roots[order[1]]
  local of_phase, range = require "phase_apart"(trace, long, rest, options.range_share * excess)
  if of_phase then
    root = of_phase == "garbage_collection" and "gc-pause" or "checkpoint-stall"
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
  return {
    what = #held > 0 and table.concat(held, ", ") or "a little of everything",
    cause = order[1],
    lost_ns = math.min(lost, math.max(excess, 0)),
    range = range,
    within = range and string.format(", in range '`%s`'", range:short()) or "",
    root = root,
    seen = {
      [phase or order[1] or ""] = true,
      range = range and not phase,
      neither = not range and not phase,
    },
  }
end

-- What comes in every n-th step only. `pauses`: its idle time without a cause, if that is this
-- rule's; if it is not, nil where little could be had back.
local function of_event(trace, options, event, pauses, rest)
  local total, held_in = trace:total_ns(), require "held_in"
  local apart = what_sets_apart(trace, options, event.steps, rest)
  local root = apart.root
  if not pauses then
    if apart.lost_ns < options.note_share * total then return nil end
    if root == roots.input then return nil end -- says itself that it comes regularly
    if root == roots.unknown then root = "checkpoint-stall" end
  end
  -- Steps that launch more do more: a validation, an epoch's end.
  local kernels = trace:ops { kind = { "kernel", "graph" } }
  local launched = held_in(trace, kernels, event.steps):count() / event.steps:count()
  local usual = held_in(trace, kernels, rest):count() / rest:count()
  local works = launched > (1 + options.more_work) * usual
  local reads, waits = false, false
  if pauses then
    -- A wait for a result is none for a queue.
    local saved = trace:ops { direction = "d2h" }
    local around = pauses:where({ after = saved }):plus(pauses:where { before = saved })
    reads = 2 * held_in(trace, saved, rest):count() < rest:count()
      and 2 * around:union_ns() >= pauses:union_ns()
    waits = not works
      and not reads
      and event.doing ~= ""
      and 2 * pauses:union_ns() >= event.extra_ns * event.steps:count()
      and require "doing"(trace, pauses:where { stretch = "waits" }, 0) == event.doing
  end
  local doing = event.doing ~= "" and string.format("'`%s`'", event.doing:short(26))
  local what = apart.what
  if pauses and doing and apart.within == "" then
    what = string.format("%s, while the host %s in %s", what, waits and "waits" or "is", doing)
  end
  local seen = apart.seen
  if pauses then
    seen = {
      dry = waits,
      works = works,
      sync = reads and not works,
      unnamed = not waits and not works and not reads,
      range = seen.range,
    }
  end
  return {
    subject = "every n-th step, "
      .. event.label
      .. (doing and ", " .. event.doing:short(36) or ""),
    message = "regular",
    data = {
      nth = event.nth,
      every = event.every,
      count = event.steps:count(),
      extra = event.extra_ns,
      cost = event.cost_ns,
      share = event.share,
      more = works and string.format(
        " Such a step runs %.0f kernels or graphs, the others %.0f.",
        launched,
        usual
      ) or "",
      what = what,
      range = apart.within,
      brief = apart.range and apart.range:short(36),
      briefer = apart.range and apart.range:short(28),
      briefly = pauses and doing and string.format(
        ", %s %s",
        waits and "waiting in" or "in",
        doing
      ) or apart.cause and not pauses and ": " .. words[apart.cause] or "",
      waits = event.doing ~= "" and event.doing:short(36) or nil,
    },
    recoverable_ns = apart.lost_ns,
    change = pauses and { { pause = pauses } } or nil,
    about = not pauses or nil,
    at_most = not pauses and "note" or nil, -- the rule for the cause has the time
    follows_from = not pauses and not works and root or nil,
    metrics = {
      {
        name = "time that comes in every n-th step only",
        value = apart.lost_ns / total,
        unit = "fraction",
        threshold = options.note_share,
      },
    },
    evidence = event.steps:evidence { most = 5 },
    seen = seen,
  }
end

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
    note_share = {
      default = 0.02,
      unit = "fraction",
      doc = "What comes regularly is reported from this share of the steps.",
    },
    more_work = {
      default = 0.25,
      unit = "fraction",
      doc = "How many more kernels than the others steps run that do more. Chosen: a log or a \z
        norm adds one or a few.",
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
    regular = "Every {nth} {unit} takes {extra:ns} longer, {cost:ns} of the mean {unit} as \z
      recorded ({share:fraction}). What sets {count:it|them} apart: {what}{range}.{more}",
  },
  headlines = {
    regular = "Every {nth} {unit} takes {extra:ns} longer{briefly}",
    main = "{count} of {steps} {units} {count:takes|take} up to {factor} times the median",
  },
  doc = {
    what = "Compares steps that take more than a multiple of the median with the others, by what \z
      the GPU did in them, why it was idle, and by ranges; and those that come regularly, however \z
      little longer they take. Start-up steps are already left out.",
    why = "What comes with every n-th step (a queue that is empty, a log, a checkpoint) is part \z
      of the program and costs all of them. Rare pauses (a checkpoint, garbage collection, a new \z
      shape that is compiled, a slow file) hide in averages, and with many ranks each rank's \z
      pause stops all.",
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
    {
      when = "dry",
      pytorch = "Refill the queue before it is empty{.}: '`{waits}`' ends once in {every} \z
        {units}, as if that many were made ready at a time. Ask for the next while these are \z
        used: `num_workers` and `prefetch_factor` of the `DataLoader`, or a buffer of twice the \z
        size.",
      cuda = "Refill the queue before it is empty{.}: '`{waits}`' ends once in {every} {units}, \z
        as if that many were made ready at a time. Ask for the next while these are used: more \z
        workers, or a buffer of twice the size.",
    },
    {
      when = "works",
      training = "Validate less often, or apart{.}: every {nth} {unit} launches more than the \z
        others, as a validation does. Larger batches without gradients, and results that are read \z
        once at the end, make it shorter.",
      cuda = "Move what every {nth} {unit} adds, or do it less often{.}: it launches more than \z
        the others. Results that are read once at the end make it shorter.",
    },
    {
      when = "unnamed",
      "Find what the program does with every {nth} {unit}{.}: a log, a checkpoint, a validation, \z
        garbage collection. Let another thread do it, or do it less often.",
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
    {
      when = "neither",
      "Compare these steps with their neighbors in the timeline.",
    },
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
    local findings, left = {}, steps
    for _, event in ipairs(trace:periodic_events()) do
      left = left:minus(event.steps)
    end
    local regular = require "regular_pauses"(trace)
    for i, event in ipairs(trace:periodic_events()) do
      local found = of_event(trace, options, event, regular[i], left)
      if found then findings[#findings + 1] = found end
    end

    local middle = trace:fact "step.median_ns"
    local long = left:where { min_ns = math.floor(options.factor * middle) + 1 }
    local rest = left:minus(long)
    if long:count() == 0 or rest:count() == 0 then return findings end
    local apart = what_sets_apart(trace, options, long, rest)
    local count = long:count() // 1
    local longest = long:top(1, "duration_ns")[1].duration_ns
    findings[#findings + 1] = {
      subject = "long steps",
      message = "main",
      data = {
        count = count,
        steps = steps:count(),
        longest = longest,
        median = middle,
        factor = string.format("%.1f", longest / middle),
        what = apart.what,
        range = apart.within,
        brief = apart.range and apart.range:short(36),
        briefer = apart.range and apart.range:short(28),
      },
      about = true,
      recoverable_ns = apart.lost_ns,
      -- Steps that only launches mark are longer by nature if a loop around them has more to do.
      at_most = (
        count > options.usual * steps:count() or trace:fact "steps.told_by" == "launches"
      )
          and "note"
        or nil,
      follows_from = apart.root,
      metrics = {
        {
          name = "longest step, in medians",
          value = longest / middle,
          unit = "count",
          threshold = options.factor,
        },
      },
      evidence = long:evidence { most = 5 },
      seen = apart.seen,
    }
    return findings
  end,
}

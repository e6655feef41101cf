-- What start-up, other GPUs or the way to the GPU explain.
local explained = {
  allocation = true,
  compilation = true,
  loading = true,
  dependency = true,
  launch_latency = true,
}

local constants = {
  shown = 5, -- pieces of evidence, as of selections
}

-- The value of a field of pauses that takes most time, and how much.
local function most_by(pauses, field)
  local sums, most = {}, ""
  for _, pause in ipairs(pauses) do
    local value = pause[field]
    sums[value] = (sums[value] or 0) + pause.duration_ns
    if most == "" or sums[value] > sums[most] then most = value end
  end
  return most, sums[most]
end

-- What is said of pauses on one side of the steps, the longest first.
local function outside_of(trace, options, where, pauses, idle, share)
  -- GPUs of one job pause together: only pauses of the same one follow each other.
  local count, total, longest = 0, 0, pauses[1].duration_ns
  for _, pause in ipairs(pauses) do
    if pause.device == pauses[1].device then
      count, total = count + 1, total + pause.duration_ns
    end
  end
  -- As at the start and the end: what recurs takes as much again.
  local once = count == 1 or 2 * (longest - (total - longest) / (count - 1)) > total
  local cause = most_by(pauses, "cause")
  local doing, most = most_by(pauses, "doing")
  local named = doing ~= "" and most >= options.named * idle
  local within = ""
  for _, pause in ipairs(pauses) do
    if named and within == "" and pause.doing == doing then within = pause.within end
  end
  local devices, shown = trace:fact "device.count", {}
  for i = 1, math.min(constants.shown, #pauses) do
    shown[i] = pauses[i].evidence
  end
  return {
    subject = where,
    message = named and "outside_named" or "outside_unnamed",
    data = {
      where = where,
      place = where:sub(1, 1):upper() .. where:sub(2),
      idle = idle / devices,
      most = most / devices,
      share = share,
      pauses = count == 1 and "in one pause"
        or string.format("in %d pauses, each longer than %s", count, trace:fact "unit.per"),
      what = (named or cause ~= "unknown") and require "cause_words"(trace, cause)
        or "while the host does something outside of CUDA that no range names",
      doing = doing:short(),
      within = within ~= "" and string.format(" (within '`%s`')", within:short()) or "",
      once = once and " It hardly recurs, so a longer recording may show less of it." or "",
    },
    severity = once and "note" or "warning", -- whose share depends on how long was recorded
    confidence = named and "high" or "medium",
    metrics = {
      {
        name = "idle outside of the steps",
        value = share,
        unit = "fraction",
        threshold = options.share,
      },
    },
    evidence = shown,
    seen = { outside = true, os_calls = trace:available "os_calls" },
  }
end

-- One finding for each side of the steps on which the GPU is idle for a good part of the recording.
local function outside(trace, options)
  local sides, order, findings = {}, {}, {}
  for _, pause in ipairs(trace:outside_idle(options.share)) do
    if not explained[pause.cause] then
      if not sides[pause.where] then
        sides[pause.where] = { pauses = {}, idle = 0, share = 0 }
        order[#order + 1] = pause.where
      end
      local side = sides[pause.where]
      side.pauses[#side.pauses + 1] = pause
      side.idle, side.share = side.idle + pause.duration_ns, side.share + pause.fraction
    end
  end
  for _, where in ipairs(order) do
    local side = sides[where]
    if side.share >= options.share then
      table.sort(side.pauses, function(a, b) return a.duration_ns > b.duration_ns end)
      findings[#findings + 1] =
        outside_of(trace, options, where, side.pauses, side.idle, side.share)
    end
  end
  return findings
end

-- What is said of the time in which nothing is asked of the program; nil where that is little.
local function until_asked(trace, options, arrivals)
  local idle, steps = arrivals:union_ns(), trace:fact "steps.count"
  local share = idle / trace:total_ns()
  if idle == 0 or share < options.share then return nil end
  local doing = require "doing"(trace, arrivals, options.named)
  return {
    subject = "arrivals",
    message = "arrivals",
    data = { idle = idle / steps, share = share, doing = doing and doing:short() or "a call" },
    severity = "note",
    confidence = "high",
    metrics = {
      {
        name = "idle until something is asked",
        value = share,
        unit = "fraction",
        threshold = options.share,
      },
    },
    evidence = arrivals:evidence { most = constants.shown },
    seen = { arrivals = true, os_calls = true },
  }
end

return {
  id = "gpu-idle",
  category = "idle",
  title = "The GPU is idle while the host does something else",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    named = {
      default = 0.25,
      unit = "fraction",
      doc = "The share of this time that one name needs in order to be named.",
    },
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Reported from this share of the step (or of the whole recording): idle time that no \z
        other rule explains. Idle time outside of the steps: from this share of the recording.",
    },
  },
  messages = {
    waits = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the host \z
      waits for something other than the GPU, {most:ns} of it in '`{doing}`'{within}.{host}{once}",
    preempted = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the \z
      launching thread has work to do but gets no CPU.{host}{once}",
    named = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the host \z
      works outside of CUDA, {most:ns} of it in '`{doing}`'{within}.{host}{once}",
    host = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the host does \z
      something outside of CUDA that no range names.{host}{once}",
    arrivals = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) because the \z
      launching thread waits for requests or for a timer: the thread that ends its wait in \z
      '`{doing}`' was itself asleep until then. There is nothing to gain while nothing is asked.",
    outside_unnamed = "{place} the GPU is idle for {idle:ns} ({share:fraction} of the recording) \z
      {pauses}, {what}.{once}",
    outside_named = "{place} the GPU is idle for {idle:ns} ({share:fraction} of the recording) \z
      {pauses}, {what}, {most:ns} of it in '`{doing}`'{within}.{once}",
  },
  headlines = {
    waits = "The GPU is idle while the host waits in '{brief}'",
    preempted = "The GPU is idle because its launching thread gets no CPU",
    named = "The GPU is idle while the host is in '{brief}'",
    host = "The GPU is idle while the host does something unnamed",
    arrivals = "The GPU is idle until the next request comes",
    outside_unnamed = "The GPU is idle for {idle:ns} {where}",
    outside_named = "The GPU is idle for {idle:ns} {where}",
  },
  doc = {
    what = "Takes the idle time in which the host neither launches nor waits for the GPU, \z
      allocates, compiles or loads data, and names what it does by the innermost range, operator \z
      or operating-system call that takes most of it. Time that has its own rule is left out: \z
      host computation (host-bound), an optimizer on the CPU, Python's lock, compilers, the time \z
      next to copies of offloaded tensors, and ranges of a checkpoint, an evaluation or Python's \z
      garbage collection. A thread that is in no call and on no CPU, while other threads run, was \z
      preempted. Idle time that another thread ends which was itself asleep, or waited for a \z
      connection, is the time between requests, and a note. Idle time that may be the program's \z
      start or end is a note. Outside of the steps it counts where each pause is longer than a \z
      step and lies between two pieces of the GPU's work, so that it is neither start-up nor the \z
      program's exit; it is a note unless it recurs.",
    why = "Whatever the host does there, the GPU could work meanwhile. Typical finds are Python \z
      code between steps (metrics, logging, schedules, tokenizing), environments stepped on the \z
      CPU and data made there.",
    fix = "If nothing names it, put NVTX ranges around the parts of the loop, or record Python \z
      stacks (`nsys profile --python-sampling=true`, or py-spy). Then move it to another thread \z
      or process, do it less often, do it on the GPU, or make it faster.",
    wrong = "Work that the step depends on and only the host can do has to be done; the GPU can \z
      still work on something else meanwhile.",
  },
  advice = {
    {
      when = "arrivals",
      "Send more requests to see what limits it{.}: record again while requests queue. Until then \z
        only the time to an answer can become shorter.",
    },
    {
      when = "preempted",
      pytorch = "Give the process its own cores{.}: numactl, taskset, or `--cpus-per-task` of \z
        Slurm. The launching thread is not waiting, other threads keep it off its CPU; start no \z
        more threads than there are cores (`OMP_NUM_THREADS`, `torch.set_num_threads`, \z
        `num_workers` of the loader).",
      cuda = "Give the process its own cores{.}: numactl, taskset, or `--cpus-per-task` of Slurm. \z
        The launching thread is not waiting, other threads keep it off its CPU; start no more \z
        threads than there are cores (`OMP_NUM_THREADS`).",
    },
    {
      when = "waits",
      "Shorten what the host waits for, or do not wait{.}: it waits in '`{doing}`'{within} until \z
        another thread, process or device is done, or a time is over. The timeline shows what \z
        ends the wait.",
    },
    {
      when = "named",
      unless = "owner",
      "Move this work off the launching thread{.}: '`{outer}`' can go to another thread or \z
        process, run less often, or run on the GPU.",
    },
    {
      when = "host",
      torch_profiler = "Name the parts of the loop and record again{.}: \z
        `torch.profiler.record_function`, or `with_stack=True` for what Python did.",
      nsys = {
        python = "Name the parts of the loop and record again{.}: NVTX ranges, or \z
          `--python-sampling=true` for what Python did.",
        cuda = "Name the parts of the loop and record again{.}: NVTX ranges (`nvtxRangePush`, \z
          `nvtxRangePop`), or `--sample=process-tree` for the functions that ran.",
      },
    },
    {
      when = "outside",
      "Let the GPU work meanwhile, if longer runs show this too{.}: write, log and evaluate in \z
        another thread, or launch the next work first.",
    },
    {
      unless = { "preempted", "once", "outside", "arrivals" },
      vllm = "If requests are waiting{.}: `--async-scheduling` plans the next step while this one \z
        runs.",
      sglang = "If requests are waiting{.}: without `--disable-overlap-schedule` the next batch \z
        is planned while this one runs.",
      tensorrt_llm = "If requests are waiting{.}: without `disable_overlap_scheduler` the next \z
        step is planned while this one runs.",
    },
    {
      unless = "os_calls",
      nsys = "Record operating-system calls as well{.}: `--trace=cuda,nvtx,osrt` tells waiting \z
        for files and threads from computing.",
    },
  },
  evaluate = function(trace, options)
    local findings = outside(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local found = trace:fact "steps.found" == 1
    -- Host computation belongs to host-bound, unless it is too little to be reported there.
    local works = trace:idle { stretch = "works" }
    local pauses = trace:idle { stretch = { "waits", "preempted", "launching", "unnamed" } }
    if works:union_ns() < options.share * total then pauses = pauses:plus(works) end
    -- Time in which broadcast buffers are unpacked belongs to ddp-buffers.
    if found and trace:is "training" then
      local _, unpacked = require "broadcast_buffers"(trace)
      pauses = pauses:minus(pauses:where { before = unpacked })
    end
    -- What comes in every n-th step only is step-outlier's.
    local _, regular = require "regular_pauses"(trace)
    pauses = pauses:minus(regular)
    local arrivals = require "arrivals"(trace, pauses)
    findings[#findings + 1] = until_asked(trace, options, arrivals)
    pauses = pauses:minus(arrivals)
    local idle = pauses:union_ns()
    local share = idle / total
    if idle == 0 or share < options.share then return findings end

    local doing, within, most = require "doing"(trace, pauses, options.named)
    local waits = doing
      and (
        require "doing"(trace, pauses:where { stretch = "waits" }, 0) == doing
        or require "doing"(trace, pauses:where { does = { "wait", "wait_thread" } }, 0)
          == doing
      )
    local preempted = 2 * pauses:where { stretch = "preempted" }:union_ns() >= idle
    -- Threads that launch in turns, as PyTorch's autograd does, wait for each other: with fewer
    -- launches they would not.
    local launching = trace:idle { cause = { "launch", "launch_latency" } }:union_ns()
    local in_turns = waits
      and launching >= 2 * idle
      and require "doing"(trace, pauses:where { does = "wait_thread" }, 0) == doing
    -- A rank that pauses twice as long as the others comes late to collectives: rank-straggler
    -- names it.
    local others = trace:fact "device.count" - 1
    local longest = others > 0 and pauses:group("device")[1].rows:union_ns() or 0
    local one_rank = others > 0 and longest * others >= 2 * (idle - longest)
    local moves = trace:ops {
      direction = "um_*",
      cause = { "fault", "speculative", "eviction", "access_counter", "" },
    }
    local turns =
      pauses:where { after = moves }:plus(pauses:where { before = moves }):union_ns()
    local at_most, once = require "start_or_end"(trace, pauses)
    findings[#findings + 1] = {
      subject = "host",
      message = preempted and "preempted" or waits and "waits" or doing and "named" or "host",
      data = {
        host = require "host"(trace, pauses),
        idle = idle / steps,
        share = share,
        doing = doing and doing:short() or "",
        brief = doing and doing:short(36) or "",
        most = (most or 0) / steps,
        within = doing and within ~= "" and string.format(" (within '`%s`')", within:short())
          or "",
        outer = doing and (within ~= "" and within or doing):short() or "",
        once = once,
      },
      recoverable_ns = idle,
      change = doing and { { pause = pauses } } or nil, -- to record again makes nothing faster
      at_most = at_most,
      confidence = doing and "high" or "medium",
      follows_from = 2 * turns > idle and "um-migration-storm"
        or in_turns and "launch-bound"
        or one_rank and "rank-straggler"
        or nil,
      metrics = {
        {
          name = "idle while the host works",
          value = share,
          unit = "fraction",
          threshold = options.share,
        },
      },
      owner = not waits and pauses or nil,
      evidence = pauses:evidence { most = 5 },
      seen = { once = at_most, os_calls = trace:available "os_calls" },
    }
    return findings
  end,
}

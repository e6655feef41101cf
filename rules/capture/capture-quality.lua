local constants = {
  of_many = 10, -- steps, of which one that is lost changes nothing
}
-- How to record what is needed, and no more.
local how = {
  torch_profiler = "`torch.profiler.profile(activities=[ProfilerActivity.CPU, \z
    ProfilerActivity.CUDA])` with `schedule(wait=10, warmup=3, active=8, repeat=1)`",
  nsys = "`nsys profile --trace=cuda,nvtx,osrt --cuda-memory-usage=true \z
    --capture-range=cudaProfilerApi --capture-range-end=stop`",
}
-- What the profiler says where it lost events.
local losses =
  { "*ropped*", "*vents were lost*", "*ost events*", "*uffer*overflow*", "*uffers*full*" }

return {
  id = "capture-quality",
  category = "capture",
  title = "The recording leaves something out",
  since = "0.1",
  warning_at = 2, -- never by what it is worth
  needs = {},
  options = {
    overhead_share = {
      default = 0.05,
      unit = "fraction",
      doc = "Share of the steps that the profiler itself takes, from which it is mentioned.",
    },
    added_share = {
      default = 0.1,
      unit = "fraction",
      doc = "What recording adds to the step, as a share of the step measured without the \z
        profiler, from which it is mentioned.",
    },
    run_to_run = {
      default = 0.06,
      unit = "fraction",
      doc = "How much longer the measured step may be than the recorded one: steps of one program \z
        vary that much from run to run.",
    },
    start_share = {
      default = 0.5,
      unit = "fraction",
      doc = "Share of the recording before the first step, from which it is mentioned.",
    },
    least_steps = {
      default = 3,
      unit = "count",
      doc = "With fewer steps, what is usual cannot be told.",
    },
    nameless_share = {
      default = 0.1,
      unit = "fraction",
      doc = "Share of the kernels without a name, from which the report cannot be judged. Chosen: \z
        a whole report has none.",
    },
    unlaunched_share = {
      default = 0.2,
      unit = "fraction",
      doc = "Share of the GPU operations without a launch, from which it is mentioned. Chosen: at \z
        the start of a recording a few are in flight.",
    },
  },
  messages = {
    nothing = "The report holds no GPU work, so nothing about the GPU could be judged. Kernels: \z
      {reason}",
    damaged = "Some of the report could not be read: {problem}",
    nameless = "{count} of {of} kernels have no name, so no rule can tell what they are.",
    dropped = 'The profiler says that it lost events: "{text}"',
    lost = "The profiler lost work in {count} of {of} {units}, which are left out: in the whole \z
      recording, {lost}. Nothing is missing in the {units} that are judged.",
    lost_outside = "The profiler lost work: {lost}. It is too little to change the figures, or \z
      lies outside of the {units} that are judged.",
    lost_all = "The profiler lost work in what is judged: {lost}. What is missing may have run \z
      while the GPU seems idle.",
    unlaunched = "{share:fraction} of the GPU operations have no recorded CUDA call that launched \z
      them, so the causes of idle time are only partly known.",
    no_steps = "No steps were found, so the whole recording was analyzed, start-up included: \z
      shares are of {window:ns}.",
    start = "{before:ns} of the recording come before the first {unit} and are left out: \z
      start-up, such as loading code and data, compiling and trying out kernels.",
    few_steps = "Only {count} {units} were recorded: too few to tell what is usual.",
    one_step = "Only one {unit} was recorded: too few to tell what is usual.",
    shared = "{count} processes launch work on one GPU: while one keeps it waiting, another may \z
      fill it. The worth of a fix is therefore an upper limit, and a rule that found no idle time \z
      does not prove that there is none.",
    overhead = "The profiler itself takes {share:fraction} of the {units}; short calls and gaps \z
      look longer by that much.",
    added = "Recording made the {unit} {share:fraction} longer: {measured:ns} without the \z
      profiler, {recorded:ns} with it. All times and shares in the report refer to the former.",
    longer = "The measured {unit} of {measured:ns} is {share:fraction} longer than the recorded \z
      one of {recorded:ns}. A profiler only adds time, so the two did different work, and no \z
      forecast combines them.",
  },
  headlines = {
    nothing = "No GPU work was recorded",
    damaged = "Part of the report could not be read",
    nameless = "{count} of {of} kernels have no name",
    dropped = "The profiler lost events",
    lost = "{count} of {of} {units} are left out: the profiler lost their kernels",
    lost_outside = "The profiler lost kernels",
    lost_all = "The profiler lost kernels in what is judged",
    unlaunched = "{share:fraction} of the GPU work has no recorded launch",
    no_steps = "No steps were found",
    start = "{before:ns} of the recording come before the first {unit}",
    few_steps = "Only {count} {units} were recorded",
    one_step = "Only one {unit} was recorded",
    shared = "{count} processes share the GPU",
    overhead = "The profiler takes {share:fraction} of the {units}",
    added = "Recording makes the {unit} {share:fraction} longer",
    longer = "The measured {unit} is longer than the recorded one",
  },
  doc = {
    what = "Checks the recording itself: whether it has GPU work, whether events were lost, how \z
      many steps there are and what comes before them, what profiling cost, and whether a step \z
      measured without the profiler (`--measured-step`) fits.",
    why = "A recording that misses things makes a program look better, or worse, than it is. A \z
      rule that lacks what it needs says so itself; this one reports what affects all of them.",
    fix = 'Record a few steps after warm-up with `nsys profile --trace=cuda,nvtx,osrt \z
      --cuda-memory-usage=true --capture-range=cudaProfilerApi --capture-range-end=stop`, with \z
      `torch.cuda.profiler.start()` and `stop()` around them and an NVTX range around each ("step \z
      1", "step 2", ...).',
    wrong = 'A program that does everything once has no steps; ignore the note then. Many \z
      warnings of the profiler are harmless ("might have been", cuDNN symbols) and are not \z
      repeated here.',
  },
  advice = {
    {
      when = "damaged",
      torch_profiler = "Copy the trace again, or record it again.",
      nsys = "Export the report again{.}: `nsys export --type sqlite`.",
    },
    {
      when = "nameless",
      torch_profiler = "Record the trace again.",
      nsys = "Export the report again{.}: `nsys export --type sqlite`, with all tables.",
    },
    {
      when = { "nothing", "failed_calls" },
      "Fix the failing calls first{.}: see failed-calls, then record again.",
    },
    {
      when = "unused",
      "Record the process that uses the GPU{.}: start once it works on it, with {how}.",
    },
    {
      when = "undelivered",
      "Update the GPU's driver and the profiler{.}: this process did launch work, but the driver \z
        delivered none of it to the profiler. On WSL2 the driver is that of Windows; its NVIDIA \z
        Control Panel (developer settings) also has to allow all users access to the GPU's \z
        performance counters.",
      "Let the program end by itself, with one profiler only{.}: work is delivered in buffers, \z
        and the last of them as the process exits. A process that is killed, or that another \z
        profiler watches as well, may deliver none.",
    },
    { when = "dropped", "Record less{.}: only a few steps, or fewer sources at once." },
    {
      when = "lost_work",
      torch_profiler = "Record with CUDA 13.1 or later, or after a longer warm-up{.}: CUPTI from \z
        CUDA 12.6 Update 2 to 13.0 loses the first kernels of a recording. `schedule(warmup=...)` \z
        with more steps keeps the steps that count.",
      nsys = "Record less{.}: only a few steps, or fewer sources at once, so that no buffer of \z
        the profiler overflows.",
    },
    { when = "unlaunched", "Start recording before the launches{.}: {how}." },
    {
      when = "no_steps",
      torch_profiler = "Mark the steps{.}: call `profiler.step()` after each and record several. \z
        Or choose an annotation of the trace with `--range NAME`.",
      pytorch = 'Mark the steps{.}: put an NVTX range around each (`torch.cuda.nvtx.range("step \z
        1")`, ...) and record a few. Or choose a range of the report with `--range NAME`.',
      python = 'Mark the iterations{.}: put an NVTX range around each (`nvtx.annotate("step 1")`, \z
        ...) and record a few. Or choose a range of the report with `--range NAME`.',
      cuda = 'Mark the iterations{.}: put an NVTX range around each (`nvtxRangePush("step 1")` \z
        and `nvtxRangePop()`) and record a few. Or choose a range of the report with `--range \z
        NAME`.',
    },
    { when = "few_steps", "Record five to ten steps after warm-up." },
    { when = "one_step", "Record five to ten steps after warm-up." },
    {
      when = "start",
      "Record after start-up{.}: {how}. If start-up itself takes too long, record it alone.",
    },
    {
      when = "shared",
      "Record one process alone{.}: while the others rest, or on a separate GPU. Then what its \z
        fixes save is known.",
    },
    {
      when = "overhead",
      torch_profiler = "Record less at once to confirm times{.}: no `with_stack`, \z
        `profile_memory`, `record_shapes`.",
      nsys = "Trace less at once to confirm times{.}: leave out osrt, or NVTX of every operator.",
    },
    {
      when = "added",
      torch_profiler = "Record less at once{.}: no `with_stack`, `profile_memory` or \z
        `record_shapes` brings the recorded step closer to the measured one.",
      nsys = "Record less at once{.}: without osrt, stack samples and NVTX of every operator the \z
        recorded step comes closer to the measured one.",
    },
    {
      when = "longer",
      "Measure the step again{.}: the same program, data and GPU, and steps as warm as the \z
        recorded ones.",
    },
  },
  evaluate = function(trace, options)
    local findings = {}
    local function say(subject, message, data, severity, metrics)
      data.how = trace:words(how)
      findings[#findings + 1] = {
        subject = subject,
        message = message,
        data = data,
        severity = severity or "note",
        voids = severity == "error",
        metrics = metrics,
      }
      return findings[#findings]
    end
    local lost, problems = trace:fact "capture.lost_work", {}
    local lost_all = false
    for _, problem in ipairs(trace:problems()) do
      if problem == lost then
        lost_all = true
      else
        problems[#problems + 1] = problem
      end
    end
    if problems[1] then
      say("reading", "damaged", { problem = table.concat(problems, "; ") }, "warning")
    end
    local kernels = trace:ops { kind = "kernel" }
    local nameless = kernels:where { name = "" }:count()
    if nameless > options.nameless_share * kernels:count() then
      say("names", "nameless", { count = nameless, of = kernels:count() }, "error")
    end
    if trace:fact "device.count" == 0 then
      local _, reason = trace:available "kernels"
      local failed = trace:failed_calls()[1] ~= nil
      local nothing = say("GPU work", "nothing", { reason = reason }, "error")
      nothing.seen = {
        failed_calls = failed,
        undelivered = lost and not failed,
        unused = not lost and not failed,
      }
      nothing.follows_from = failed and "failed-calls" or nil
      return findings
    end
    for _, glob in ipairs(losses) do
      local texts = trace:diagnostics(glob)
      if texts[1] then
        say("lost events", "dropped", { text = texts[1] }, "warning")
        break
      end
    end
    local left_out = trace:fact "steps.lost"
    if lost then
      local of = trace:fact "steps.recorded"
      local where = lost_all and "lost_all" or left_out > 0 and "lost" or "lost_outside"
      -- Where nine in ten steps are whole, those that are not change nothing.
      local few = where == "lost" and constants.of_many * left_out < of
      local severity = where ~= "lost_outside" and not few and "warning" or nil
      local data = { count = left_out, of = of, lost = lost }
      say("lost work", where, data, severity).seen = { lost_work = true }
    end
    local launched, without =
      trace:ops { kind = { "kernel", "graph" } }:count(),
      trace:fact "capture.unlaunched_fraction"
    if launched > 0 and without and without > options.unlaunched_share then
      say("launches", "unlaunched", { share = without })
    end
    local steps = trace:fact "steps.count" / trace:fact "device.count"
    if trace:fact "steps.found" == 0 then
      say("steps", "no_steps", { window = trace:total_ns() / trace:fact "device.count" })
    elseif steps < options.least_steps then
      say(
        "steps",
        steps < 2 and "one_step" or "few_steps",
        { count = math.floor(steps) },
        nil,
        { { name = "steps", value = steps, unit = "count", threshold = options.least_steps } }
      )
    end
    local before = trace:fact "steps.before_ns"
    local start_share = before / (before + trace:total_ns() / trace:fact "device.count")
    if trace:fact "steps.found" == 1 and start_share >= options.start_share then
      say("start-up", "start", { before = before }, nil, {
        {
          name = "start-up",
          value = start_share,
          unit = "fraction",
          threshold = options.start_share,
        },
      })
    end
    local processes = trace:fact "device.processes"
    if processes > 1 then say("shared GPU", "shared", { count = processes }) end
    local overhead = trace:fact "capture.profiler_overhead_fraction"
    if overhead and overhead >= options.overhead_share then
      say("overhead", "overhead", { share = overhead }, nil, {
        {
          name = "profiler overhead",
          value = overhead,
          unit = "fraction",
          threshold = options.overhead_share,
        },
      })
    end
    local added = trace:fact "capture.overhead_fraction"
    local lengths = added
      and {
        share = math.abs(added),
        measured = trace:fact "step.measured_ns",
        recorded = trace:fact "step.mean_ns",
      }
    if added and added >= options.added_share then
      say("what recording added", "added", lengths, nil, {
        {
          name = "added by recording",
          value = added,
          unit = "fraction",
          threshold = options.added_share,
        },
      })
    elseif added and 1 / (1 + added) - 1 > options.run_to_run then
      lengths.share = 1 / (1 + added) - 1
      say("measured step", "longer", lengths, "warning", {
        {
          name = "measured longer than recorded",
          value = lengths.share,
          unit = "fraction",
          threshold = options.run_to_run,
        },
      })
    end
    return findings
  end,
}

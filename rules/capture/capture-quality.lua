return {
  id = "capture-quality",
  category = "capture",
  title = "What this recording can and cannot show",
  since = "0.1",
  warning_at = 2,  -- never by what it is worth
  needs = {},
  options = {
    overhead_share = { default = 0.05, unit = "fraction", doc = "Time that the profiler took itself, of the steps, from which it is mentioned." },
    added_share = { default = 0.1, unit = "fraction", doc = "What recording added to the step, of the step measured without the profiler, from which it is mentioned." },
    run_to_run = { default = 0.06, unit = "fraction", doc = "By how much the measured step may be longer than the recorded one: steps of one program differ by that from run to run." },
    start_share = { default = 0.5, unit = "fraction", doc = "What comes before the first step, of all that the device was recorded for, from which it is mentioned." },
    least_steps = { default = 3, unit = "count", doc = "Fewer steps say little of how steps usually go." },
  },
  messages = {
    nothing = "The report holds no GPU work, so nothing about the GPU could be judged. Of kernels: {reason}",
    damaged = "Some of the report could not be read: {problem}",
    nameless = "{count} of {of} kernels have no name, so no rule can tell what they are.",
    dropped = "The profiler says that it lost events: \"{text}\"",
    unlaunched = "{share:fraction} of the GPU operations have no CUDA call that launched them, so why the GPU was idle is only partly known.",
    no_steps = "Nothing was found that repeats, so the whole recording was taken, start-up and all: shares are of {window:ns}.",
    start = "{before:ns} of what was recorded ({share:fraction}) come before the first {unit} and are left out: start-up, such as loading code and data, compiling, and trying kernels.",
    few_steps = "Only {count} {units} were recorded: what is usual and what is not cannot be told apart.",
    shared = "{count} processes launch work on one GPU, and where one keeps it waiting another may fill it. What a fix is worth is therefore an upper limit, and a rule that found no idle time does not show that there is none.",
    overhead = "The profiler itself took {share:fraction} of the {units}; times of short calls and gaps are too long by that.",
    added = "Recording made the {unit} {share:fraction} longer: {measured:ns} without the profiler, {recorded:ns} with it. Worth and plan are of the former; the account and shares of idle time are of the latter.",
    longer = "The measured {unit} of {measured:ns} is {share:fraction} longer than the recorded one of {recorded:ns}. A profiler only adds time, so the two are not of the same work: no forecast is made from them.",
  },
  doc = {
    what = "Looks at the recording itself: whether there is GPU work, whether events were lost, how many steps there are and what comes before them, what the profiler's own work cost, and whether a step that was measured without it (--measured-step) fits.",
    why = "A recording that misses things makes a program look better, or worse, than it is. A rule that lacks what it needs says so by itself; this tells what concerns them all.",
    fix = "Record a few steps after warm-up with nsys profile --trace=cuda,nvtx,osrt --cuda-memory-usage=true --capture-range=cudaProfilerApi, with torch.cuda.profiler.start() and stop() around them and an NVTX range around each (\"step 1\", \"step 2\", ...).",
    wrong = "A program that does everything once repeats nothing; the note can be ignored then. Many of the profiler's warnings are harmless (\"might have been\", symbols of cuDNN) and are not repeated here.",
  },
  evaluate = function(trace, options)
    local findings = {}
    local how = trace:words {
      torch_profiler = "torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) with schedule(wait=10, warmup=3, active=8)",
      nsys = "nsys profile --trace=cuda,nvtx,osrt --cuda-memory-usage=true --capture-range=cudaProfilerApi",
    }
    local again = { torch_profiler = "Copy or record the trace again.", nsys = "Export the report again: nsys export --type sqlite." }
    local function say(subject, message, data, advice, severity, metrics)
      findings[#findings + 1] = { subject = subject, message = message, data = data, severity = severity or "note", voids = severity == "error", advice = { advice }, metrics = metrics }
    end
    local problems = trace:problems()
    if problems[1] then
      say("reading", "damaged", { problem = table.concat(problems, "; ") }, again, "warning")
    end
    local kernels = trace:ops { kind = "kernel" }
    local nameless = kernels:where { name = "" }:count()
    if nameless > 0.1 * kernels:count() then
      say("names", "nameless", { count = nameless, of = kernels:count() }, { torch_profiler = "Record the trace again.", nsys = "Export the report again, with all of its tables: nsys export --type sqlite." }, "error")
    end
    if trace:fact "device.count" == 0 then
      local _, reason = trace:available "kernels"
      say("GPU work", "nothing", { reason = reason }, trace:failed_calls()[1] and "Mend the calls that fail first (failed-calls), then record again." or "Record the process itself, after it has begun to use the GPU: " .. how .. ".", "error")
      return findings
    end
    for _, glob in ipairs { "*ropped*", "*vents were lost*", "*ost events*", "*uffer*overflow*", "*uffers*full*" } do
      local texts = trace:diagnostics(glob)
      if texts[1] then
        say("lost events", "dropped", { text = texts[1] }, "Record a shorter stretch (a few steps), or fewer sources at once.", "warning")
        break
      end
    end
    local launched, without = trace:ops { kind = { "kernel", "graph" } }:count(), trace:fact "capture.unlaunched_fraction"
    if launched > 0 and without and without > 0.2 then
      say("launches", "unlaunched", { share = without }, "Record from before the launches on: " .. how .. ".")
    end
    local steps = trace:fact "steps.count" / trace:fact "device.count"
    if trace:fact "steps.found" == 0 then
      say("steps", "no_steps", { window = trace:total_ns() / trace:fact "device.count" },
        {
          torch_profiler = "Call profiler.step() after each step and record several; or choose an annotation of the trace with --range NAME.",
          pytorch = "Put an NVTX range around each step (torch.cuda.nvtx.range(\"step 1\"), ...) and record a few of them; or choose a range of the report with --range NAME.",
          python = "Put an NVTX range around each iteration (nvtx.annotate(\"step 1\"), ...) and record a few of them; or choose a range of the report with --range NAME.",
          cuda = "Put an NVTX range around each iteration (nvtxRangePush(\"step 1\") and nvtxRangePop()) and record a few of them; or choose a range of the report with --range NAME.",
        })
    elseif steps < options.least_steps then
      say("steps", "few_steps", { count = math.floor(steps) }, "Record five to ten steps after warm-up.", nil, { { name = "steps", value = steps, unit = "count", threshold = options.least_steps } })
    end
    local before = trace:fact "steps.before_ns"
    local start_share = before / (before + trace:total_ns() / trace:fact "device.count")
    if trace:fact "steps.found" == 1 and start_share >= options.start_share then
      say("start-up", "start", { before = before, share = start_share }, "If that is what takes too long, record it alone and look at it there; if not, record after it: " .. how .. ".", nil,
        { { name = "start-up", value = start_share, unit = "fraction", threshold = options.start_share } })
    end
    local processes = trace:fact "device.processes"
    if processes > 1 then
      say("shared GPU", "shared", { count = processes }, "Record one of the processes while the others rest, or each on a GPU of its own, to tell what its fixes are worth.")
    end
    local overhead = trace:fact "capture.profiler_overhead_fraction"
    if overhead and overhead >= options.overhead_share then
      say("overhead", "overhead", { share = overhead }, { torch_profiler = "Record less at once (no with_stack, profile_memory, record_shapes) to confirm times.", nsys = "Trace less at once (leave out osrt or NVTX of every operator) to confirm times." }, nil,
        { { name = "profiler overhead", value = overhead, unit = "fraction", threshold = options.overhead_share } })
    end
    local added = trace:fact "capture.overhead_fraction"
    local lengths = added and { share = math.abs(added), measured = trace:fact "step.measured_ns", recorded = trace:fact "step.mean_ns" }
    if added and added >= options.added_share then
      say("what recording added", "added", lengths, { torch_profiler = "Record less at once to come nearer to the measured step: no with_stack, profile_memory, record_shapes.", nsys = "Record less at once to come nearer to the measured step: leave out osrt, stack samples and NVTX of every operator." }, nil,
        { { name = "added by recording", value = added, unit = "fraction", threshold = options.added_share } })
    elseif added and 1 / (1 + added) - 1 > options.run_to_run then
      lengths.share = 1 / (1 + added) - 1
      say("measured step", "longer", lengths, "Measure the step again, of the same program with the same data on the same GPU, over steps as warm as the recorded ones.", "warning",
        { { name = "measured longer than recorded", value = lengths.share, unit = "fraction", threshold = options.run_to_run } })
    end
    return findings
  end,
}

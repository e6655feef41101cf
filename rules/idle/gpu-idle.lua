-- A name for a message: profilers put whole call stacks into some.
local function short(name) return #name > 60 and name:sub(1, 57) .. "..." or name end

return {
  id = "gpu-idle",
  category = "idle",
  title = "The GPU is idle while the host works on something else",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    named = { default = 0.25, unit = "fraction", doc = "The share of this time that one name has to have to be told." },
    share = { default = 0.10, unit = "fraction", doc = "Idle time that no other rule explains, of the step (or of the whole recording), from which it counts." },
  },
  messages = {
    waits = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the host waits for something that is no GPU, {most:ns} of it in '{doing}'{within}.{host}{start}",
    preempted = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the launching thread has work to do and is on no CPU.{host}{start}",
    named = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the host works outside of CUDA, {most:ns} of it in '{doing}'{within}.{host}{start}",
    host = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the host does something outside of CUDA that no range names.{host}{start}",
  },
  doc = {
    what = "Takes the idle time in which the host neither launched nor waited, allocated, compiled or loaded data, and names what it did by the innermost range, operator or call of the operating system that took most of it. Left out is what has a rule of its own: work of the host's (host-bound), an optimizer on the CPU, Python's lock, compilers, the time next to copies of offloaded tensors, and in ranges of a checkpoint, an evaluation or Python's garbage collection. A thread that is in no call and on no CPU, while other threads are on that, was preempted. Where nothing repeats and it does not go on all through the recording it may be the program's start: then it is a note.",
    why = "Whatever the host does there, the GPU could have worked meanwhile. Python that runs between steps (metrics, logging, schedules, tokenizing), environments that are stepped on the CPU and data that is made there are the usual finds.",
    fix = "Where it is not named, put NVTX ranges around the parts of the loop, or record Python stacks (nsys profile --python-sampling=true, or py-spy). Then move it to another thread or process, do it less often, do it on the GPU, or make it faster.",
    wrong = "Work that the step depends on and that only the host can do has to be done; it can still be done while the GPU works on something else.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local found = trace:fact "steps.found" == 1
    -- What the host computes is host-bound's, unless that is too little to be spoken of there.
    local works = trace:idle { stretch = "works" }
    local pauses = trace:idle { stretch = { "waits", "preempted", "launching", "unnamed" } }
    if works:union_ns() < options.share * total then pauses = pauses:plus(works) end
    -- Time in which buffers are unpacked that were broadcast is ddp-buffers' to tell.
    if found and trace:is "training" then
      local _, unpacked = trace:broadcast_buffers()
      pauses = pauses:minus(pauses:where { before = unpacked })
    end
    local idle = pauses:union_ns()
    local share = idle / total
    if idle == 0 or share < options.share then return {} end

    local doing, within, most = pauses:doing(options.named)
    local waits = doing and pauses:where { stretch = "waits" }:doing(0) == doing
    local preempted = 2 * pauses:where { stretch = "preempted" }:union_ns() >= idle
    -- Threads that launch in turns, as PyTorch's autograd does, wait for each other: with fewer launches they would not.
    local launching = trace:idle { cause = { "launch", "launch_latency" } }:union_ns()
    local in_turns = waits and doing:glob "pthread_cond*" and launching >= 2 * idle
    local moves = trace:ops { direction = "um_*", cause = { "fault", "speculative", "eviction", "access_counter", "" } }
    local turns = pauses:where { after = moves }:plus(pauses:where { before = moves }):union_ns()
    -- Where nothing repeats, pauses between pieces of work that do not go on all through the recording may be its start.
    local once = not found and pauses:where { before = trace:ops { kind = { "kernel", "graph", "set", "copy" } }:minus(trace:ops { direction = "um_*" }) }:quarters() < 3
    local advice = {}
    if preempted then
      advice[1] = {
        pytorch = "The launching thread is not waiting, it is kept off its CPU: give the process cores of its own (numactl, taskset, --cpus-per-task of Slurm), and start no more threads than it has cores (OMP_NUM_THREADS, torch.set_num_threads, num_workers of the loader).",
        cuda = "The launching thread is not waiting, it is kept off its CPU: give the process cores of its own (numactl, taskset, --cpus-per-task of Slurm), and start no more threads than it has cores (OMP_NUM_THREADS).",
      }
    elseif waits then
      advice[1] = string.format("The thread stands still in '%s'%s until another thread, process or device is done, or a time is over: see in the timeline what ends it, and shorten that, or do not wait for it.", short(doing), within ~= "" and " (within '" .. short(within) .. "')" or "")
    elseif doing then
      advice[1] = string.format("See what '%s' does on the host, and do it in another thread or process, less often, or on the GPU.", short(within ~= "" and within or doing))
    else
      advice[1] = {
        torch_profiler = "Name the parts of the loop with torch.profiler.record_function and record again; with_stack=True records what Python did.",
        nsys = {
          python = "Name the parts of the loop with NVTX ranges and record again; --python-sampling=true records what Python did.",
          cuda = "Name the parts of the loop with NVTX ranges (nvtxRangePush, nvtxRangePop) and record again; --sample=process-tree records in which functions the host was.",
        },
      }
    end
    if not preempted and not once then
      advice[#advice + 1] = {
        vllm = "Where requests wait meanwhile: --async-scheduling plans the next step while this one runs.",
        sglang = "Where requests wait meanwhile: without --disable-overlap-schedule the next batch is planned while this one runs.",
        tensorrt_llm = "Where requests wait meanwhile: without disable_overlap_scheduler the next step is planned while this one runs.",
      }
    end
    if not trace:available "os_calls" then advice[#advice + 1] = { nsys = "Calls of the operating system were not recorded; --trace=cuda,nvtx,osrt tells waiting for files and threads from computing." } end
    return { {
      subject = "host",
      message = preempted and "preempted" or waits and "waits" or doing and "named" or "host",
      data = { host = pauses:host(), idle = idle / steps, share = share, doing = doing and short(doing) or "", most = (most or 0) / steps, within = doing and within ~= "" and string.format(" (within '%s')", short(within)) or "",
        start = once and " It does not go on all through the recording: it may be the program's start." or "" },
      recoverable_ns = idle,
      change = { { pause = pauses } },
      at_most = once and "note" or nil,
      confidence = doing and "high" or "medium",
      follows_from = 2 * turns > idle and "um-migration-storm" or in_turns and "launch-bound" or nil,
      metrics = { { name = "idle while the host works", value = share, unit = "fraction", threshold = options.share } },
      evidence = pauses:evidence { most = 5 },
      advice = advice,
    } }
  end,
}

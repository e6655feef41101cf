-- A name for a message: profilers put whole call stacks into some.
local function short(name) return #name > 60 and name:sub(1, 57) .. "..." or name end

-- Calls of the operating system in which a thread does nothing.
local waiting = { "poll", "ppoll", "select", "epoll_wait*", "sem_*wait", "pthread_cond_*wait", "futex*", "pthread_join", "*nanosleep", "usleep", "sleep", "recv*", "wait4", "waitpid", "Waiting for GIL" }

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
    named = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the host works outside of CUDA, {most:ns} of it in '{doing}'{within}.{host}{start}",
    host = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the host does something outside of CUDA that no range names.{host}{start}",
  },
  doc = {
    what = "Takes the idle time in which the host neither launched nor waited, allocated, compiled or loaded data, and names what it did by the innermost range, operator or call of the operating system that took most of it. Left out is what has a rule of its own: the time next to copies of offloaded tensors, and in ranges of a checkpoint, an evaluation or Python's garbage collection. Where nothing repeats and it does not go on all through the recording it may be the program's start: then it is a note.",
    why = "Whatever the host does there, the GPU could have worked meanwhile. Python that runs between steps (metrics, logging, schedules, tokenizing), environments that are stepped on the CPU and data that is made there are the usual finds.",
    fix = "Where it is not named, put NVTX ranges around the parts of the loop, or record Python stacks (nsys profile --python-sampling=true, or py-spy). Then move it to another thread or process, do it every so many steps, do it on the GPU, or make it faster.",
    wrong = "Work that the step depends on and that only the host can do has to be done; it can still be done while the GPU works on something else.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:fact "steps.total_ns", trace:fact "steps.count"
    local found = trace:fact "steps.found" == 1
    local pauses = trace:idle { cause = "unknown" }
    local offloaded, pairs_found = trace:round_trips()
    -- Without a model there is nothing to offload (offload-sync-gap says so as well).
    local model = trace:ops { class = { "gemm_*", "attention_fused" } }:count() + trace:ops { kind = "graph" }:count() > 0
    if not model or pairs_found < 2 * steps then offloaded = offloaded:minus(offloaded) end
    if found then offloaded = offloaded:plus(trace:streamed_uploads()) end
    pauses = pauses:minus(pauses:where { after = offloaded }):minus(pauses:where { before = offloaded })
    local idle = pauses:exposed_ns(trace:ranges { phase = { "checkpoint", "evaluation", "garbage_collection" } })
    local share = idle / total
    if idle == 0 or share < options.share then return {} end

    local doing, within, most = nil, nil, options.named * idle
    for _, group in ipairs(pauses:group("doing", 3)) do
      if not doing and group.key ~= "" and group.sum_ns >= most then doing, within, most = group.key, group.rows:group("within", 1)[1].key, group.sum_ns end
    end
    local waits = false
    for _, call in ipairs(waiting) do waits = waits or doing ~= nil and doing:glob(call) end
    local moves = trace:ops { direction = "um_*", cause = { "fault", "speculative", "eviction", "access_counter", "" } }
    local turns = pauses:where { after = moves }:plus(pauses:where { before = moves }):union_ns()
    -- Where nothing repeats, pauses between pieces of work that do not go on all through the recording may be its start.
    local once = not found and pauses:where { before = trace:ops { kind = { "kernel", "graph", "set", "copy" } }:minus(trace:ops { direction = "um_*" }) }:quarters() < 3
    local advice = {}
    if doing == "Waiting for GIL" then
      advice[1] = {
        pytorch = "Another thread of this Python process computes meanwhile: move what it does to a process of its own (multiprocessing, DataLoader workers), or into code that gives the lock back (NumPy, PyTorch, a C extension).",
        cuda = "Another thread of this Python process computes meanwhile: move what it does to a process of its own (multiprocessing), or into code that gives the lock back (NumPy, a C extension).",
      }
    elseif waits then
      advice[1] = string.format("The thread stands still in '%s'%s until another thread, process or device is done, or a time is over: see in the timeline what ends it, and shorten that, or do not wait for it.", short(doing), within ~= "" and " (within '" .. short(within) .. "')" or "")
    elseif doing then
      advice[1] = string.format("See what '%s' does on the host, and do it in another thread or process, every so many steps, or on the GPU.", short(within ~= "" and within or doing))
    else
      advice[1] = {
        torch_profiler = "Name the parts of the loop with torch.profiler.record_function and record again; with_stack=True records what Python did.",
        nsys = {
          python = "Name the parts of the loop with NVTX ranges and record again; --python-sampling=true records what Python did.",
          cuda = "Name the parts of the loop with NVTX ranges (nvtxRangePush, nvtxRangePop) and record again; --sample=process-tree records in which functions the host was.",
        },
      }
    end
    if not trace:available "os_calls" then advice[#advice + 1] = { nsys = "Calls of the operating system were not recorded; --trace=cuda,nvtx,osrt tells waiting for files and threads from computing." } end
    return { {
      subject = "host",
      message = waits and "waits" or doing and "named" or "host",
      data = { host = pauses:host(), idle = idle / steps, share = share, doing = doing and short(doing) or "", most = most / steps, within = doing and within ~= "" and string.format(" (within '%s')", short(within)) or "",
        start = once and " It does not go on all through the recording: it may be the program's start." or "" },
      recoverable_ns = idle,
      change = { { pause = pauses } },
      at_most = once and "note" or nil,
      confidence = doing and "high" or "medium",
      follows_from = 2 * turns > idle and "um-migration-storm" or nil,
      metrics = { { name = "idle while the host works", value = share, unit = "fraction", threshold = options.share } },
      evidence = pauses:evidence { most = 5 },
      advice = advice,
    } }
  end,
}

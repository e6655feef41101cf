-- A range's name for a message: profilers put whole call stacks into some.
local function short(name) return #name > 60 and name:sub(1, 57) .. "..." or name end

return {
  id = "gpu-idle",
  category = "idle",
  title = "The GPU is idle and no known cause explains it",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    share = { default = 0.15, unit = "fraction", doc = "Idle time that no other rule explains, of the step, from which it counts (TraceLens: 15 %)." },
  },
  messages = {
    range = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the host is in range '{range}', outside of CUDA.",
    host = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the host does something outside of CUDA that no range names.",
  },
  doc = {
    what = "Takes the idle time of which the account does not know the cause: the host neither launched nor waited, allocated, compiled or loaded data. Left out is what has a rule of its own: the time next to copies of offloaded tensors, and in ranges of a checkpoint, an evaluation or Python's garbage collection.",
    why = "Whatever the host does there, the GPU could have worked meanwhile. Python that runs between steps (metrics, logging, schedules, tokenizing) is the usual find.",
    fix = "Put NVTX ranges around the parts of the step, or record Python stacks (nsys profile --python-sampling=true, or py-spy), to see what it is. Then move it to another thread or process, do it every so many steps, do it on the GPU, or make it faster.",
    wrong = "Work that the step depends on and that only the host can do has to be done; it can still be done while the GPU works on something else.",
  },
  evaluate = function(trace, options)
    if trace:fact "steps.found" == 0 then
      return nil, "no steps were found, so a pause cannot be told from start-up and the program's own", "--trace=cuda,nvtx,osrt, with an NVTX range around each step (\"step 1\", \"step 2\", ...)"
    end
    local total, steps = trace:fact "steps.total_ns", trace:fact "steps.count"
    local pauses = trace:idle { cause = "unknown" }
    local offloaded, pairs_found = trace:round_trips()
    if pairs_found < 2 * steps then offloaded = offloaded:minus(offloaded) end
    offloaded = offloaded:plus(trace:streamed_uploads())
    pauses = pauses:minus(pauses:where { after = offloaded }):minus(pauses:where { before = offloaded })
    local idle = pauses:exposed_ns(trace:ranges { phase = { "checkpoint", "evaluation", "garbage_collection" } })
    local share = idle / total
    if idle == 0 or share < options.share then return {} end

    local range, range_ns = nil, 0.9 * total / trace:fact "device.count"  -- the narrowest in which most of it lies; one that holds the whole loop says nothing
    for _, group in ipairs(trace:ranges():group("name", 200)) do
      local ns = group.rows:union_ns()
      if ns < range_ns and 2 * pauses:overlap_ns(group.rows) > idle then range, range_ns = group.key, ns end
    end
    local moves = trace:ops { direction = "um_*", cause = { "fault", "speculative", "eviction", "access_counter", "" } }
    local turns = pauses:where { after = moves }:plus(pauses:where { before = moves }):union_ns()
    local advice = {}
    if range then
      advice[1] = string.format("See what '%s' does on the host, and do it in another thread or process, every so many steps, or on the GPU.", short(range))
    else
      advice[1] = "Name the parts of the step with NVTX ranges (torch.cuda.nvtx.range) and record again; --python-sampling=true records what Python did."
    end
    local system = trace:os_calls { thread = pauses:group("thread")[1].key }:where { inside = pauses }
    if 2 * system:overlap_ns(pauses) > idle then
      advice[#advice + 1] = string.format("Most of it passes in calls of the operating system, %s first: files, sockets or other threads are waited for.", system:group("name", 1)[1].key)
    end
    if not trace:available "os_calls" then advice[#advice + 1] = "Calls of the operating system were not recorded; --trace=cuda,nvtx,osrt tells waiting for files and threads from computing." end
    return { {
      subject = "host",
      message = range and "range" or "host",
      data = { idle = idle / steps, share = share, range = range and short(range) or "" },
      recoverable_ns = idle,
      change = { { pause = pauses } },
      confidence = range and "high" or "medium",
      follows_from = 2 * turns > idle and "um-migration-storm" or nil,
      metrics = { { name = "unexplained idle time", value = share, unit = "fraction", threshold = options.share } },
      evidence = pauses:evidence { most = 5 },
      advice = advice,
    } }
  end,
}

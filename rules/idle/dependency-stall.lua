return {
  id = "dependency-stall",
  category = "idle",
  title = "Streams take turns although they could run side by side",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Reported from this share of the step: time of kernels that could have overlapped \z
        with another stream's. As for other idle time.",
    },
    turns = {
      default = 4,
      unit = "count",
      doc = "Hand-overs a step from which streams take turns: one hand-over at the end of \z
        something is no pattern.",
    },
    often = {
      default = 0.75,
      unit = "fraction",
      doc = "Or the share of both streams' kernels that start with a hand-over: a step may be \z
        only a few kernels long.",
    },
  },
  messages = {
    legacy = "Kernels of two streams take turns {count} times {a_step}, although they would fit \z
      on the GPU together. One is the legacy default stream: CUDA makes every other stream \z
      created by `cudaStreamCreate` wait for it, and makes it wait for them. Side by side, \z
      {wait:lost} of {each_step} ({share:fraction}) would hide behind the other stream. Whether \z
      they need each other's results is unknown.",
    events = "Kernels of two streams take turns {count} times {a_step}, although they would fit \z
      on the GPU together, because each stream waits for events of the other \z
      (`cudaStreamWaitEvent`). Side by side, {wait:lost} of {each_step} ({share:fraction}) would \z
      hide behind the other stream. Whether they need each other's results is unknown.",
  },
  headlines = {
    legacy = "The default stream makes other streams wait, {count:# time|# times} {a_step}",
    events = "Two streams wait for each other's events {count:# time|# times} {a_step}",
  },
  doc = {
    what = "Looks for kernels that started right when one of another stream had finished, \z
      although both had been launched before and their threads fit on the GPU together, and finds \z
      out what ordered them: the flags of the streams, and the events that they wait for. Only \z
      what CUDA orders itself, or the program orders by events, is reported; anything else may be \z
      the GPU's own choice.",
    why = "Streams exist to run side by side. If small kernels of two of them wait for each other \z
      without need, the step takes as long as all of them together.",
    fix = "Create streams with `cudaStreamNonBlocking`, and leave the legacy default stream \z
      (compile with `--default-stream per-thread`). Record an event where a result is ready, and \z
      wait for it where it is used, not earlier.",
    wrong = "If each kernel needs what the one before it on the other stream wrote, the order is \z
      needed, and the legacy stream only provides it for free: check what they read and write. \z
      Needed and needless events look the same in a recording, so these are a note and an upper \z
      limit. Registers and shared memory may keep kernels apart whose threads would fit.",
  },
  advice = {
    {
      when = "events",
      "Drop the waits that protect no result{.}: see which of them a later read needs, and record \z
        the event right behind the kernel that writes it.",
    },
    {
      when = "legacy",
      cupy = "Move the work off the default stream{.}: onto \z
        `cupy.cuda.Stream(non_blocking=True)`, none of it on `Stream.null`, if neither needs the \z
        other's results.",
      numba = "Move the work off the default stream{.}: onto separate streams \z
        (`NUMBA_CUDA_PER_THREAD_DEFAULT_STREAM=1`), if neither needs the other's results.",
      pytorch = "Launch the extension's kernels on PyTorch's stream{.}: \z
        `at::cuda::getCurrentCUDAStream` instead of the default stream, if neither needs the \z
        other's results.",
      cuda = "Create non-blocking streams{.}: `cudaStreamCreateWithFlags(..., \z
        cudaStreamNonBlocking)`, or compile with `--default-stream per-thread`, if neither needs \z
        the other's results. If one does, order them by an event.",
    },
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    for _, pair in ipairs(trace:stream_turns()) do
      -- Both wait; the saving is at most what the stream with less work takes.
      local wait = math.min(pair.wait_ns, pair.second:union_ns())
      local share = wait / total
      local explicit = 2 * pair.events >= pair.count
      -- Frameworks record events where results are needed.
      local asked = explicit
        and not trace:is "pytorch"
        and not trace:is "jax"
        and not trace:is "tensorflow"
      -- If streams take turns all along, every kernel but the first starts with a hand-over; one
      -- each way around long work is less.
      local kernels = pair.first:count() + pair.second:count()
      local pattern = pair.count >= options.turns * steps
        or pair.count >= options.turns and pair.count >= options.often * kernels
      if share >= options.share and pattern and (asked or pair.legacy and pair.events == 0) then
        return {
          {
            subject = explicit and "events" or "legacy default stream",
            message = explicit and "events" or "legacy",
            data = {
              count = math.floor(pair.count / steps + 0.5),
              wait = wait / steps,
              share = share,
            },
            recoverable_ns = wait,
            cited_ns = wait,
            -- Events were asked for, mostly with a reason: leaving them out is an upper limit.
            change = not explicit and { { overlap = pair.second } } or nil,
            at_most = explicit and "note" or "warning",
            confidence = explicit and "low" or "medium",
            metrics = {
              {
                name = "time that could hide behind the other stream",
                value = share,
                unit = "fraction",
                threshold = options.share,
              },
            },
            evidence = pair.second:evidence {
              most = 4,
              note = "takes turns with another stream",
            },
          },
        }
      end
    end
    return {}
  end,
}

return {
  id = "dependency-stall",
  category = "idle",
  title = "Streams take turns that could run side by side",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    share = { default = 0.10, unit = "fraction", doc = "Time of kernels that could have run beside another stream's, of the step, from which it counts: as for other idle time." },
    turns = { default = 4, unit = "count", doc = "Turns a step from which streams take turns: one hand-over at the end of something is no pattern." },
    often = { default = 0.75, unit = "fraction", doc = "Or share of the kernels of both streams that begin with such a turn: where they do little else, a few kernels may be all that repeats." },
  },
  messages = {
    legacy = "Kernels of two streams take turns {count} times {a_step}, although they would fit on the GPU together: one is the legacy default stream, and CUDA lets every other stream that was made by cudaStreamCreate wait for it, and it for them. Side by side, {wait:ns} of {each_step} ({share:fraction}) would hide behind the other stream. Whether they need each other's results does not show.",
    events = "Kernels of two streams take turns {count} times {a_step}, although they would fit on the GPU together, since each stream waits for events of the other (cudaStreamWaitEvent): side by side, {wait:ns} of {each_step} ({share:fraction}) would hide behind the other stream. Whether they need each other's results does not show.",
  },
  doc = {
    what = "Looks for kernels that began right when one of another stream had ended, although both were launched before and their threads fit on the GPU together, and reads what ordered them: the flags of streams, and what streams were told to wait for. Only what CUDA orders by itself, or the program by events, is told; all else may be the GPU's own choice.",
    why = "Streams are there to run side by side. Where small kernels of two of them wait for each other without need, the step takes as long as all of them together.",
    fix = "Make streams with cudaStreamNonBlocking, and leave the legacy default stream (compile with --default-stream per-thread). Record an event where a result is ready, and wait for it where it is used, not earlier.",
    wrong = "Where each kernel needs what the one before it on the other stream wrote, the order is needed, and the legacy stream only gives it for nothing: look at what they read and write. A recording of needed events looks like one of needless ones, so these are a note and a ceiling. Registers and shared memory may keep kernels apart whose threads fit.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    for _, pair in ipairs(trace:stream_turns()) do
      -- Both wait; what is won is at most what the stream with less work takes.
      local wait = math.min(pair.wait_ns, pair.second:union_ns())
      local share = wait / total
      local explicit = 2 * pair.events >= pair.count
      -- Frameworks record events where results are needed.
      local asked = explicit and not trace:is "pytorch" and not trace:is "jax" and not trace:is "tensorflow"
      -- In turns all along, every kernel but the first begins with one; a hand-over each way around long work is less.
      local kernels = pair.first:count() + pair.second:count()
      local pattern = pair.count >= options.turns * steps or pair.count >= options.turns and pair.count >= options.often * kernels
      if share >= options.share and pattern and (asked or pair.legacy and pair.events == 0) then
        return { {
          subject = explicit and "events" or "legacy default stream",
          message = explicit and "events" or "legacy",
          data = { count = math.floor(pair.count / steps + 0.5), wait = wait / steps, share = share },
          recoverable_ns = wait,
          cited_ns = wait,
          -- Events were asked for, and mostly with a reason: what leaving them out wins is a ceiling.
          change = not explicit and { { overlap = pair.second } } or nil,
          at_most = explicit and "note" or "warning",
          confidence = explicit and "low" or "medium",
          metrics = { { name = "waiting for the other stream", value = share, unit = "fraction", threshold = options.share } },
          evidence = pair.second:evidence { most = 4, note = "takes turns with another stream" },
          advice = {
            explicit and "See which of these waits protects a result that is read: drop the others, and record the event right behind the kernel that writes it."
              or {
                cupy = "Put the work on streams made with cupy.cuda.Stream(non_blocking=True), none of it on Stream.null, if neither needs the other's results.",
                numba = "Put the work on streams of its own, none of it on the default stream (NUMBA_CUDA_PER_THREAD_DEFAULT_STREAM=1), if neither needs the other's results.",
                pytorch = "Put the extension's kernels on the current stream of PyTorch (at::cuda::getCurrentCUDAStream), none on the default stream, if neither needs the other's results.",
                cuda = "Make streams with cudaStreamCreateWithFlags(..., cudaStreamNonBlocking), or compile with --default-stream per-thread, if neither needs the other's results; where one does, an event says so.",
              },
          },
        } }
      end
    end
    return {}
  end,
}

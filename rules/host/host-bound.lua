-- A name for a message: profilers put whole call stacks into some.
local function short(name) return #name > 60 and name:sub(1, 57) .. "..." or name end

return {
  id = "host-bound",
  category = "host",
  title = "The GPU waits while the host computes",
  since = "0.3",
  needs = { "kernels", "calls" },
  options = {
    share = { default = 0.10, unit = "fraction", doc = "Idle time in which the host computes, of the step (or of the whole recording), from which it counts: as gpu-idle." },
    named = { default = 0.25, unit = "fraction", doc = "The share of this time that one name has to have to be told." },
    piece_ns = { default = 1000000, unit = "ns", doc = "What takes longer is not what stands between two pieces of a compiled model (graph-breaks): guards and the start of the next take some 0.1 to 0.4 ms." },
    read = { default = 0.5, unit = "fraction", doc = "The share of this time after results that were read back, from which these are the reason: most of it." },
  },
  messages = {
    named = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the host computes, {most:ns} of it in '{doing}'{within}.{host}{start}",
    read = "The host reads a result back {times} {a_step} and works on it before it launches again: meanwhile the GPU is idle for {idle:ns} of {each_step} ({share:fraction}){name}.{host}{start}",
    host = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the launching thread computes.{host}{start}",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the host does work of its own: no launching, no loading, no waiting, no compiling, and no operator that is slow to give the GPU its work (gpu-idle). It counts where a range, an operator or a sampled function names it, where the thread is known to be on a CPU, where the calls in which threads wait were recorded and it is in none, or where it lies between a result that the host waited for and the next work that it gave the GPU. What is not known to be work is left to gpu-idle. Where nothing repeats and it does not go on all through the recording it may be the program's start: then it is a note.",
    why = "What the host computes between a result and the next launch, the GPU waits for: environments of reinforcement learning, NumPy between two calls of a model, tokenizing, sampling, logging. A faster GPU changes nothing then, and no CUDA graph reaches across.",
    fix = "Do that work on the GPU, so that no result has to come back: vectorized environments (Isaac Lab, Brax, gymnax), torch or cupy in place of NumPy. Else let both work at once: two halves of the batch that take turns, a thread or process that prepares the next one, and what nobody waits for (logging, metrics) later and seldom.",
    wrong = "Where the host alone knows what comes next (a simulator, a customer's next request), it has to be waited for. A server that is idle for want of requests is no problem.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local pauses = trace:idle { stretch = "works" }
    local idle = pauses:union_ns()
    local share = idle / total
    if idle == 0 or share < options.share then return {} end

    local doing, within, most = pauses:doing(options.named)
    local copies = trace:read_backs()
    local after = pauses:where { after = copies }
    local read = after:union_ns() >= options.read * idle
    local once = trace:fact "steps.found" == 0 and pauses:quarters() < 3
    local times = copies:count() / steps
    local what = doing and string.format("'%s'", short(within ~= "" and within or doing))
    local advice = { not once and trace:words {
      vllm = "Plan the next step while this one runs: --async-scheduling, and no option that rules it out (--no-async-scheduling).",
      sglang = "Plan the next batch while this one runs: without --disable-overlap-schedule.",
      tensorrt_llm = "Plan the next step while this one runs: without disable_overlap_scheduler.",
    } or nil }
    if advice[1] then
      advice[2] = what and string.format("If it is on, see what %s does beside planning: that can go to another process, or be done seldom.", what) or nil
    elseif read then
      advice[1] = {
        pytorch = {
          training = "Keep what comes between on the GPU, so that nothing has to be read back: an environment, a reward or a sampler written in torch, or vectorized for the GPU.",
          cuda = "Do what comes between on the GPU (torch in place of NumPy), so that nothing has to be read back.",
        },
        jax = "Do what comes between in jax as well, under the same jit (jax.lax.scan, jax.lax.cond), so that nothing has to be read back.",
        cupy = "Do what comes between with cupy in place of NumPy, so that nothing has to be read back.",
        cuda = "Do what comes between in a kernel, so that nothing has to be read back.",
      }
      advice[2] = "Or let both work at once: split the batch in two, and let the GPU compute one half while the host works on the other."
    else
      local named = what and trace:ops { launched_in = trace:ranges { name = within ~= "" and within or doing } }:count() or 0
      advice[1] = named > 0 and string.format("See what the host does in %s beside launching: that can go to another thread or process, or be done ahead of time or seldom; the rest has to stay.", what)
        or string.format("Do %s in another thread or process, ahead of time, less often, or on the GPU.", what or "this work")
    end
    if trace:fact "steps.found" == 1 and trace:ops { kind = "kernel", in_graph = false }:count() > 0 and read then
      advice[#advice + 1] = "A CUDA graph cannot reach across: what comes after a result that was read back needs a launch of its own."
    end
    if not doing then
      advice[#advice + 1] = {
        torch_profiler = "Name the parts of the loop with torch.profiler.record_function and record again; with_stack=True records what Python did.",
        nsys = {
          python = "Name the parts of the loop with NVTX ranges and record again; --python-sampling=true records what Python did.",
          cuda = "Name the parts of the loop with NVTX ranges (nvtxRangePush, nvtxRangePop) and record again; --sample=process-tree records in which functions the host was.",
        },
      }
    end
    return { {
      subject = "host",
      message = read and "read" or doing and "named" or "host",
      data = {
        idle = idle / steps, share = share, doing = doing and short(doing) or "", most = (most or 0) / steps,
        within = doing and within ~= "" and string.format(" (within '%s')", short(within)) or "",
        name = what and ", most of it in " .. what or "",
        times = times < 1.5 and "once" or string.format("%.0f times", times),
        host = pauses:host(),
        start = once and " It does not go on all through the recording: it may be the program's start." or "",
      },
      recoverable_ns = idle,
      change = { { pause = pauses } },
      -- Guards of a compiled piece and what starts it; longer pauses are the program's own.
      follows_from = 2 * pauses:where { max_ns = options.piece_ns }:union_ns() > idle and trace:ops { name = "triton_*" }:count() > 0 and "graph-breaks" or nil,
      at_most = once and "note" or nil,
      confidence = (doing or read) and "high" or "medium",
      metrics = { { name = "idle while the host computes", value = share, unit = "fraction", threshold = options.share } },
      evidence = pauses:evidence { most = 5 },
      advice = advice,
    } }
  end,
}

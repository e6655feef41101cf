return {
  id = "host-bound",
  category = "host",
  title = "The GPU waits while the host computes",
  since = "0.3",
  needs = { "kernels", "calls" },
  options = {
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Reported from this share of the step (or of the whole recording): idle time in which \z
        the host computes. As for gpu-idle.",
    },
    named = {
      default = 0.25,
      unit = "fraction",
      doc = "The share of this time that one name needs in order to be named.",
    },
    piece_ns = {
      default = 1000000,
      unit = "ns",
      doc = "A longer pause does not lie between two pieces of a compiled model (graph-breaks): \z
        guards and the start of the next piece take about 0.1 to 0.4 ms.",
    },
    read = {
      default = 0.5,
      unit = "fraction",
      doc = "The share of this time after results that were read back, from which these are the \z
        reason.",
    },
    value_bytes = {
      default = 64,
      unit = "bytes",
      doc = "At the end of a step the host may log what it reads up to this size, a loss or a \z
        sum, and then do something else: only what is larger counts there as what it works on.",
    },
    large_bytes = {
      default = 65536,
      unit = "bytes",
      doc = "Larger results can be made smaller on the GPU; a token, a count or a list of them is \z
        what is wanted. As for data-dependent-sync.",
    },
  },
  messages = {
    named = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the host \z
      computes, {most:ns} of it in '`{doing}`'{within}.{host}{once}{asked}",
    read = "The host reads a result back {times:once|# times} {a_step} and works on it before it \z
      launches again: meanwhile the GPU is idle for {idle:lost} of {each_step} \z
      ({share:fraction}){name}.{host}{once}{asked}",
    either = "The host reads a result back {times:once|# times} {a_step} and works, on it or on \z
      the next input, before it launches again: meanwhile the GPU is idle for {idle:lost} of \z
      {each_step} ({share:fraction}){name}.{host}{once}{asked}",
    host = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the launching \z
      thread computes.{host}{once}{asked}",
  },
  headlines = {
    named = "The GPU waits while the host is in '{brief}'",
    read = "The GPU waits while the host works on its results",
    either = "The GPU waits while the host works on its results or its next input",
    host = "The GPU waits while the host computes",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the host does its own work: it does not \z
      launch, load, wait or compile, and is not in an operator that is slow to give the GPU its \z
      work (gpu-idle). The time counts if a range, an operator or a sampled function names it, if \z
      the thread is known to be on a CPU, if the calls in which threads wait were recorded and it \z
      is in none, or if it lies between a result that the host waited for and the next work that \z
      it gave the GPU. Time that is not known to be work belongs to gpu-idle. What may be the \z
      program's start or end is a note.",
    why = "The GPU waits for whatever the host computes between a result and the next launch: \z
      environments of reinforcement learning, NumPy between two calls of a model, tokenizing, \z
      sampling, logging. A faster GPU changes nothing then, and no CUDA graph reaches across.",
    fix = "Do that work on the GPU, so that no result has to come back: vectorized environments \z
      (Isaac Lab, Brax, gymnax), torch or cupy instead of NumPy. Metrics: keep counts and sums on \z
      the device (`torch.bincount`, `scatter_add_`) and read them at the end. Otherwise let both \z
      work at once: two halves of the batch that take turns, a thread or process that prepares \z
      the next one or works on the results of the last; and do what nothing waits for (logging, \z
      metrics) less often. A thread beside the GPU hides no more of its work than the rest of a \z
      step lasts.",
    wrong = "If only the host knows what comes next (a simulator, a customer's next request), the \z
      GPU has to wait. A server that is idle for lack of requests is no problem.",
  },
  advice = {
    {
      when = "planner",
      vllm = "Plan the next step while this one runs{.}: `--async-scheduling`, and no option that \z
        disables it (`--no-async-scheduling`).",
      sglang = "Plan the next batch while this one runs{.}: without `--disable-overlap-schedule`.",
      tensorrt_llm = "Plan the next step while this one runs{.}: without \z
        `disable_overlap_scheduler`.",
    },
    {
      when = { "planner", "named_work" },
      "If that is already on, see what {what} does in addition to planning{.}: that can go to \z
        another process, or run less often.",
    },
    {
      when = "on_cpu",
      unless = "planner",
      "Run `{on_cpu}` on the GPU{.}: its tensors are on the CPU. Create them on the GPU, or move \z
        them there once.",
    },
    {
      when = { "read", "state" },
      unless = { "planner", "owner" },
      pytorch = "If this is a state that is saved, write it beside the {units}{.}: \z
        `torch.distributed.checkpoint.async_save`, or copy it to pinned memory and let a thread \z
        write it; and less often.",
      cuda = "If this is a state that is saved, write it beside the {units}{.}: copy it to pinned \z
        memory, and let a thread write it; and less often.",
    },
    {
      when = { "read", "input" },
      unless = { "planner", "on_cpu", "owner" },
      pytorch = "Prepare inputs ahead{.}: a single value is read back before this work, and much \z
        more is uploaded after it, so it is most likely the next input. Let workers load it \z
        (`DataLoader`, `num_workers`), or make it on the GPU.",
      cuda = "Prepare inputs ahead{.}: a single value is read back before this work, and much \z
        more is uploaded after it, so it is most likely the next input. Let another thread or \z
        process make it while the GPU works, or make it on the GPU.",
    },
    {
      when = { "read", "kept" },
      unless = { "planner", "on_cpu", "owner", "state", "small" },
      pytorch = "Compute what is wanted of these results on the GPU{.}: nothing goes back to it \z
        from the host's work on them, so they may be metrics, sums or what is written. In torch \z
        (`torch.bincount`, `scatter_add_`, `argmax`, `topk`, masks) only a few numbers are left \z
        to read, or none until the end.",
      cupy = "Compute what is wanted of these results on the GPU{.}: nothing goes back to it from \z
        the host's work on them, so they may be metrics, sums or what is written. With cupy \z
        instead of NumPy (`cupy.bincount`, sums, masks) only a few numbers are left to read.",
      jax = "Compute what is wanted of these results on the GPU{.}: nothing goes back to it from \z
        the host's work on them, so they may be metrics, sums or what is written. With \z
        `jax.numpy` instead of NumPy only a few numbers are left to read.",
      cuda = "Compute what is wanted of these results on the GPU{.}: nothing goes back to it from \z
        the host's work on them, so they may be metrics, sums or what is written. Reduce them in \z
        a kernel (CUB, thrust), and read only that.",
    },
    {
      when = "read",
      unless = { "planner", "on_cpu", "kept", "input" },
      pytorch = {
        training = "Do the work in between on the GPU{.}: an environment, a reward, a sampler or \z
          a metric written in torch, or vectorized for the GPU. Then nothing has to be read back.",
        cuda = "Do the work in between on the GPU{.}: tensors there instead of NumPy or tensors \z
          on the CPU, and what is summed up or put together stays there. Then nothing has to be \z
          read back until the end.",
      },
      jax = "Do the work in between in jax{.}: under the same jit (`jax.lax.scan`, \z
        `jax.lax.cond`). Then nothing has to be read back.",
      cupy = "Do the work in between with cupy instead of NumPy{.}: then nothing has to be read \z
        back.",
      cuda = "Do the work in between in a kernel{.}: then nothing has to be read back.",
    },
    {
      when = { "read", "kept", "small" },
      unless = { "planner", "on_cpu", "owner", "state" },
      "Hand these results to another thread or process{.}, or take those of several {units} \z
        together: nothing goes back to the GPU from the host's work on them, so it can go on with \z
        the next {unit}{beside}.",
    },
    {
      when = { "read", "kept" },
      unless = { "planner", "small", "state" },
      "Or let another thread or process do it{.} while the GPU goes on with the next {unit}, and \z
        less often{beside}.",
    },
    {
      when = "read",
      unless = { "planner", "kept", "either", "state" },
      "Or let both work at once{.}: split the batch in two, and let the GPU compute one half \z
        while the host works on the other{beside}.",
    },
    {
      when = { "read", "either" },
      unless = { "planner", "input", "state" },
      "Or let another thread or process work on these results{.} while the GPU goes on with the \z
        next {unit}{beside}. If that needs what comes of them, split the batch in two, and let \z
        the GPU compute one half while the host works on the other.",
    },
    {
      when = { "read", "either" },
      unless = { "planner", "owner", "input" },
      pytorch = "If it is the next input that the host prepares there, let workers do that \z
        (`DataLoader`, `num_workers`).",
    },
    {
      when = "launches_too",
      unless = { "planner", "read", "owner" },
      "Move host work off the launching thread{.}: what {what} does in addition to launching can \z
        go to another thread or process, or run ahead of time or less often{beside}.",
    },
    {
      when = "longer",
      unless = { "planner", "read", "launches_too", "owner", "on_cpu" },
      "Do this work on the GPU, in several processes, or less of it{.}: {what} takes longer than \z
        the rest of {a_step}. One thread beside the GPU would save at most {hidden:ns} of \z
        {all:ns}.",
    },
    {
      unless = { "planner", "read", "launches_too", "owner", "on_cpu", "longer" },
      "Move this work off the launching thread{.}: do {what} in another thread or process, ahead \z
        of time, less often, or on the GPU.",
    },
    {
      when = { "read", "eager" },
      "A CUDA graph cannot reach across{.}: what comes after a result that was read back needs a \z
        separate launch.",
    },
    {
      unless = "doing",
      torch_profiler = "Name the parts of the loop and record again{.}: \z
        `torch.profiler.record_function`, or `with_stack=True` for what Python did.",
      nsys = {
        python = "Name the parts of the loop and record again{.}: NVTX ranges, or \z
          `--python-sampling=true` for what Python did.",
        cuda = "Name the parts of the loop and record again{.}: NVTX ranges (`nvtxRangePush`, \z
          `nvtxRangePop`), or `--sample=process-tree` for the functions that ran.",
      },
    },
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    -- What comes in every n-th step only is step-outlier's.
    local _, regular = require "regular_pauses"(trace)
    local pauses = trace:idle({ stretch = "works" }):minus(regular)
    local _, saving, saved = require "saved_state"(trace)
    if saved then pauses = pauses:minus(saving) end
    local idle = pauses:union_ns()
    local share = idle / total
    if idle == 0 or share < options.share then return {} end

    local doing, within, most = require "doing"(trace, pauses, options.named)
    -- On steps that fixes leave, a wait may look like work: gpu-idle has the waits.
    local waiting = pauses:where { does = { "wait", "sleep" } }
    if doing and require "doing"(trace, waiting, 0) == doing then return {} end
    local copies = trace:read_backs()
    local _, waited = trace:host_waits { on = { "result", "decision", "pageable" } }
    local last =
      waited:where({ direction = "d2h", min_bytes = options.value_bytes + 1 }):minus(copies)
    local after = pauses:where { after = copies:plus(last) }
    local read = after:union_ns() >= options.read * idle
    -- If nothing is sent until the next result, the host's work is no input of what the GPU does.
    local turns = copies:plus(last):gaps { "device" }
    local function before_sending(least_bytes, rows)
      local sends = turns:keep(
        { sent_ns = trace:ops { direction = "h2d", min_bytes = least_bytes } },
        function(turn) return turn.sent_ns > 0 end
      )
      return rows:where({ inside = sends }):union_ns()
    end
    local kept = 2 * before_sending(0, after) < after:union_ns()
    local large = copies:plus(last):where { min_bytes = options.large_bytes + 1 }
    local small = 2 * after:where({ after = large }):union_ns() < after:union_ns()
    local state = saved == nil and 2 * after:overlap_ns(saving) >= after:union_ns()
    -- After a single value, or at the end of a step, the host may also make the next input.
    local single = copies:where { max_bytes = options.value_bytes }
    local either = not kept
      and 2 * after:where({ after = single:plus(last) }):union_ns() > after:union_ns()
    local input = either
      and 2 * before_sending(options.large_bytes + 1, after:where { after = single })
        > after:union_ns()
    -- Of its time, a thread beside the GPU hides as much as the rest of the steps lasts.
    local hidden = math.min(idle, total - idle)
    local at_most, once = require "start_or_end"(trace, pauses)
    local asked, sentence = require "until_asked"(trace, idle)
    local times = math.min(copies:plus(last):count(), after:count()) / steps
    local what = doing and string.format("'`%s`'", (within ~= "" and within or doing):short())
    local planner = not at_most
      and (trace:is "vllm" or trace:is "sglang" or trace:is "tensorrt_llm")
    local launches_too = what
      and trace
          :ops { launched_in = trace:ranges { name = within ~= "" and within or doing } }
          :count()
        > 0
    -- An operator that computes for long and launches nothing has its tensors on the CPU.
    local owner = pauses:owners()[1]
    local on_cpu = owner
      and owner.key == "cpu_operator"
      and 2 * owner.sum_ns >= pauses:sum "duration_ns"
      and trace:ops({ launched_in = trace:ranges { name = owner.name .. "*" } }):count() == 0
      and owner.name
    local eager = trace:fact "steps.found" == 1
      and trace:ops { kind = "kernel", in_graph = false }:count() > 0
    return {
      {
        subject = "host",
        message = read and (either and "either" or "read") or doing and "named" or "host",
        data = {
          idle = idle / steps,
          share = share,
          doing = doing and doing:short() or "",
          brief = doing and doing:short(36) or "",
          most = (most or 0) / steps,
          within = doing and within ~= "" and string.format(" (within '`%s`')", within:short())
            or "",
          what = what or "it",
          all = idle / steps,
          hidden = hidden / steps,
          beside = hidden < idle and string.format(
            "; a thread beside it hides at most %.0f %% of that work",
            100 * hidden / idle
          ) or "",
          on_cpu = on_cpu,
          name = what and ", most of it in " .. what or "",
          times = math.max(1, math.floor(times + 0.5)),
          host = require "host"(trace, pauses),
          once = once,
          asked = sentence,
        },
        severity = asked and "note" or nil,
        recoverable_ns = not asked and idle or nil,
        change = not asked and { { pause = pauses } } or nil,
        -- Guards of a compiled piece and the start of the next; longer pauses are the program's
        -- own.
        follows_from = 2 * pauses:where { max_ns = options.piece_ns }:union_ns() > idle
            and trace:ops { name = "triton_*" }:count() > 0
            and "graph-breaks"
          or nil,
        at_most = at_most,
        confidence = (doing or read) and "high" or "medium",
        metrics = {
          {
            name = "idle while the host computes",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        owner = pauses,
        evidence = pauses:evidence { most = 5 },
        seen = {
          planner = planner,
          named_work = what,
          on_cpu = on_cpu,
          launches_too = launches_too,
          kept = kept,
          small = small,
          input = input,
          state = state,
          read = read,
          longer = hidden < idle,
          eager = eager,
          doing = doing,
        },
      },
    }
  end,
}

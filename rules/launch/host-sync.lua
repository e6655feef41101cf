-- Where nothing can be replayed: for how long the GPU was idle because of these waits.
local function idle_after(trace, calls)
  local names = {}
  for _, group in ipairs(calls:group "name") do
    names[#names + 1] = group.key
  end
  local after = { cause = { "launch", "launch_latency" }, drained = true, name = names }
  return trace:idle({ cause = "sync", name = names }):plus(trace:idle(after)):union_ns()
end

-- The key of the owner of at least half of their time, if it is known.
local function owner_of(calls)
  local owner = calls:owners()[1]
  return owner and 2 * owner.sum_ns >= calls:sum "duration_ns" and owner.key or nil
end

return {
  id = "host-sync",
  category = "launch",
  title = "The host waits for the GPU, which then runs out of work",
  since = "0.1",
  needs = { "kernels", "calls" },
  warning_at = 0.03,
  options = {
    share = {
      default = 0.03,
      unit = "fraction",
      doc = "Reported from this share of the step: what waiting costs. One loss.item() a step \z
        costs 0.5 to 1.5 % in healthy recordings; one for each parameter 7 %, measured.",
    },
    least = {
      default = 10,
      unit = "count",
      doc = "Without steps: fewer waits in the whole recording are set-up or results, and a note, \z
        however long they take.",
    },
    range_share = {
      default = 0.9,
      unit = "fraction",
      doc = "Share of the time from which a range that holds most of the waits is one around the \z
        whole loop, which says nothing. Chosen.",
    },
    value_bytes = {
      default = 64,
      unit = "bytes",
      doc = "Copies to the host up to this size are single values: a flag, a sum, a loss.",
    },
    several_values = {
      default = 2,
      unit = "count",
      doc = "Single values a step from which reading them together is the first advice: one is \z
        the loss.",
    },
    one_value = {
      default = 0.5,
      unit = "count",
      doc = "And from which one is read back at all. Chosen: every other step.",
    },
    small_bytes = {
      default = 65536,
      unit = "bytes",
      doc = "Uploads up to this size take as long as one byte does: the driver takes their data \z
        with the call.",
    },
    many = {
      default = 10,
      unit = "count",
      doc = "Such uploads a step from which sending them together is the first advice. Chosen: \z
        fewer are the inputs of a batch.",
    },
    seldom = {
      default = 0.66,
      unit = "count",
      doc = "Waits a step below which they come in some steps only: from two in three steps on, \z
        each is nearer than one of two.",
    },
  },
  messages = {
    seldom = "`{call}` makes the host wait for the GPU in one of {every} {units}{range}. The GPU \z
      then runs out of work until the host has launched again. Without {waits} the host could \z
      launch ahead, which saves {idle:lost} of {each_step} ({share:fraction}).",
    waits = "`{call}` makes the host wait for the GPU {times:once|# times} {a_step}{range}. Each \z
      time the GPU runs out of work until the host has launched again. Without {waits} the host \z
      could launch ahead, which saves {idle:lost} of {each_step} ({share:fraction}).",
  },
  headlines = {
    seldom = "{call} drains the GPU in one of {every} {units}",
    waits = "{call} drains the GPU {times:once|# times} {a_step}",
  },
  doc = {
    what = "Replays the steps with and without the waits of the host for the GPU \z
      (`cudaStreamSynchronize`, `cudaDeviceSynchronize`, `cudaEventSynchronize`, their driver \z
      forms, and copies through pageable memory that wait by themselves), both without what the \z
      profiler adds: a profiler makes the host late, and recorded waits short. Whatever the host \z
      does after a wait, launching or its own work, then runs beside the GPU, as far as the host \z
      can keep up. Waits for offloaded tensors, synchronous copies, large copies through pageable \z
      memory, pages of managed memory that then move to the host, memory that is given back and \z
      results that decide what is launched next belong to other rules (`trace:host_waits`).",
    why = "The GPU stays busy only while the host launches ahead of it. A wait lets the GPU catch \z
      up; whatever the host does next, launching or loading, happens with the GPU idle.",
    fix = 'Read results seldom and late: no `.item()`, `.cpu()`, `print(loss)` or if tensor: in \z
      each step, but every 50 steps; keep sums on the device and read one value. \z
      `torch.cuda.set_sync_debug_mode("warn")` names each Python line that waits (PyTorch \z
      performance tuning guide). Remove `torch.cuda.synchronize()` that was added for timing (use \z
      events).',
    wrong = "A loop that has to decide on the host based on what the GPU computed has to wait, \z
      and so has one that works on what it read: where more than single values are read, the \z
      saving is an upper limit. What the host reads from memory that kernels write in place \z
      (managed, mapped) does not show unless its pages move. `GradScaler` waits once a step; BF16 \z
      needs no `GradScaler`.",
  },
  advice = {
    {
      when = "turns",
      unless = "planner",
      jax = "Keep loops off the host{.}: XLA's loop (`lax.scan`, `fori_loop`, `while_loop`) asks \z
        the host after each turn whether to go on, and a turn here is short. Do several turns at \z
        once (`unroll=`), many loops side by side (`jax.vmap`), or run scalar loops on the CPU \z
        (`jax.default_device`).",
    },
    {
      when = "planner",
      vllm = "Plan the next step while this one runs{.}: `--async-scheduling`, and no option that \z
        disables it (`--no-async-scheduling`).",
      sglang = "Plan the next batch while this one runs{.}: without `--disable-overlap-schedule`.",
      tensorrt_llm = "Plan the next step while this one runs{.}: without \z
        `disable_overlap_scheduler`.",
    },
    {
      when = "several_values",
      unless = { "planner", "turns", "owner" },
      pytorch = {
        training = "Read scalars together every 50 steps{.}: {values} single values {a_step} are \z
          read back (`.item()`, `float(tensor)`, if tensor:). Collect them on the device until \z
          then (`torch.stack`, or `torch.nn.utils.get_total_norm` for gradient norms).",
        cuda = "Read scalars together, and less often{.}: {values} single values {a_step} are \z
          read back (`.item()`, `float(tensor)`, if tensor:). Collect them on the device until \z
          then (`torch.stack`).",
      },
      jax = "Keep decisions on the device{.}: {values} single values {a_step} are read back \z
        (`float(x)`, `np.asarray(x)`, if x:). Use `jax.lax.cond` and `jax.lax.while_loop`, and \z
        read values together, every few iterations.",
      cupy = "Keep scalars on the device{.}: {values} single values {a_step} are read back \z
        (`float(x)`, `int(x)`, if x:). Use `cupy.where`, and read them together (`x.get()`), \z
        every few iterations.",
      numba = "Keep scalars on the device{.}: {values} single values {a_step} are read back \z
        (`copy_to_host`, or a host array passed to a kernel). Read them together, every few \z
        iterations.",
      cuda = "Keep flags and sums on the device{.}: {values} single values {a_step} are read back \z
        (flags or sums). Let the device decide, or read them together, every few iterations.",
    },
    {
      when = "one_value",
      unless = { "planner", "turns", "owner" },
      pytorch = {
        training = "Read the loss every 50 steps{.}: `.item()`, `print(loss)` or an isnan check \z
          reads a single value back each time. Or read that of the previous step.",
        cuda = "Read results less often{.}: `.item()` or a check of an end reads a single value \z
          back each time. Do so every few iterations, or read that of the previous one.",
      },
      cuda = "Read results less often{.}: a single value is read back, a flag or a sum. Do so \z
        every few iterations, and compute it only then, which saves its kernels too; or read that \z
        of the previous iteration, into pinned memory.",
    },
    {
      when = "results",
      unless = "planner",
      "Launch ahead, and read results a step later{.}: {bytes:bytes} are read back each time, and \z
        nothing is launched until they are there. Copy into pinned memory, launch the next step, \z
        and wait for the copy's event only then: planning and launching overlap with the GPU.",
    },
    {
      when = "managed",
      unless = { "several_values", "one_value", "results" },
      "Read results less often, or a step later{.}: the host touches pages of managed memory \z
        after these waits, so it needs what the GPU wrote there, and has to wait for it. Let the \z
        GPU reduce it to a few numbers, and copy those into pinned memory every few {units}.",
    },
    {
      when = "together",
      unless = "planner",
      pytorch = "Send small uploads together{.}: {sent} {a_step} are waited for, as in a loop \z
        that makes a tensor for each sample. Collect them in one tensor on the host, copy it \z
        once, and use it in one call (an index, `scatter_`, a mask); or compute them on the GPU.",
      cuda = "Send small uploads together{.}: {sent} {a_step} are waited for. Collect them in one \z
        pinned buffer, copy it once, and let one kernel use it; or pass values as kernel \z
        arguments.",
    },
    {
      when = "uploads",
      unless = { "planner", "owner" },
      pytorch = "Upload without waiting{.}: `.to(device)` and `.copy_()` of pageable memory wait \z
        for all work before them. Pin the tensor (`pin_memory()`) and say `non_blocking=True`, or \z
        create it on the GPU (`device=`).",
      jax = "Upload before the loop{.}: `jax.device_put` what does not change once, and the rest \z
        a step ahead.",
      cupy = "Upload without waiting{.}: `array.set(pinned, stream=stream)` from \z
        `cupyx.empty_pinned`, or create the array on the GPU.",
      numba = "Upload without waiting{.}: `cuda.to_device(pinned, stream=stream)` from \z
        `cuda.pinned_array`, or create the array on the GPU.",
      directives = "Upload once{.}: a data region around the loop keeps what does not change on \z
        the device.",
      cuda = "Upload without waiting{.}: from pinned memory (`cudaMallocHost`) with \z
        `cudaMemcpyAsync`. Small values can go as kernel arguments.",
    },
    {
      unless = {
        "planner",
        "several_values",
        "one_value",
        "results",
        "managed",
        "uploads",
        "owner",
      },
      pytorch = "Remove `torch.cuda.synchronize()` and `stream.synchronize()`{.}: no value is \z
        read back at these waits, so they may only be there for timing. Use `torch.cuda.Event` \z
        instead.",
      jax = "Remove `block_until_ready()`{.}: no value is read back at these waits, so it may \z
        only be there for timing.",
      cupy = "Remove `synchronize()`{.}: no value is read back at these waits, so it may only be \z
        there for timing. Use `cupy.cuda.Event` instead.",
      numba = "Remove `cuda.synchronize()`{.}: no value is read back at these waits, so it may \z
        only be there for timing. Use `cuda.event` instead.",
      directives = "Queue parallel regions without waiting{.}: each waits for its kernel at its \z
        end, though no value is read back. OpenACC: async and one wait; OpenMP: nowait and \z
        taskwait.",
      julia = "Remove `CUDA.@sync` and `synchronize()`{.}: no value is read back at these waits, \z
        so they may only be there for timing.",
      cuda = "Remove `{brief}` calls that only time or check{.}: no value is copied back at these \z
        waits, so only a host that reads mapped or managed memory needs them. Events \z
        (`cudaEventRecord`) time without a wait, and kernels of one stream wait for each other \z
        anyway.",
    },
    {
      trainer = "Set `logging_nan_inf_filter=False` and a larger `logging_steps`.",
      lightning = "Set a larger `log_every_n_steps`, and use no `.item()` in `training_step`.",
      megatron = "Set a larger `--log-interval`, and no timing barriers (`--timing-log-level 0`).",
      nemo = "Set a larger `log_every_n_steps`, and no timing barriers.",
      torchrec = "For waits on the lengths of sparse features (KJTAllToAll){.}: \z
        TrainPipelineSparseDist exchanges those of the next batch while this one computes.",
      pytorch = 'To find the lines that wait{.}: `torch.cuda.set_sync_debug_mode("warn")`.',
    },
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local purposes =
      { on = { "work", "result", "managed", "upload" }, class = { "sync", "copy", "event" } }
    local calls, copies = trace:host_waits(purposes)
    -- What is measured once for each shape belongs to the start, unless a loop does it again.
    if trace:fact "steps.found" == 0 and owner_of(calls) == "autotuning" then return {} end
    if calls:count() == 0 then return {} end
    local single = copies:where { direction = "d2h", max_bytes = options.value_bytes }
    local change = { { unblock = calls } }
    local lost = trace:saves_ns(change) or idle_after(trace, calls)
    local share = lost / total
    if lost == 0 or share < options.share then return {} end
    -- Who gets ahead only waits longer for what comes at its own pace, which the replay takes for
    -- work to hide.
    local starved =
      trace:idle({ cause = "input" }):where({ does = { "wait", "sleep" } }):union_ns()
    if starved > 0 and starved >= lost - starved then return {} end

    -- What a wait for a result takes is work of the GPU for the most part: uploads are what the
    -- finding is about if most is saved without their waits alone.
    local sent, sending = trace:host_waits { on = { "upload" }, class = purposes.class }
    local many = sending:where({ max_bytes = options.small_bytes }):count()
      >= options.many * steps
    local in_turn = 2 * copies:where({ direction = "d2h" }):count() >= sending:count()
    local together = many
      and not in_turn -- where results are read in between, what is sent may depend on them
      and 2 * (trace:saves_ns { { unblock = sent } } or 0) >= lost
    if together then calls = sent end
    local call = calls:group("name")[1].key
    local of_name = calls:where { name = call }
    -- on a device that waits
    local threads = {} -- a filter takes no more than 200
    for _, thread in ipairs(calls:group("thread", 200)) do
      threads[#threads + 1] = thread.key
    end
    local devices = math.max(1, #trace:idle({ thread = threads }):group("device", 1000))
    local often = of_name:count() / (steps * devices / trace:fact "device.count")
    -- the narrowest that holds most of them; one around the whole loop says nothing
    local range, range_ns = nil, options.range_share * total / trace:fact "device.count"
    for _, group in ipairs(trace:ranges():group("name", 200)) do
      local ns = group.rows:union_ns()
      if
        ns < range_ns and 2 * of_name:where { inside = group.rows }:count() > of_name:count()
      then
        range, range_ns = group.key, ns
      end
    end
    local managed = trace:host_waits { on = { "managed" }, class = purposes.class }
    local results = copies:where { direction = "d2h" }
    local values, read = single:count() / steps, results:count() / steps
    -- Servers that generate tokens wait for the sampled one before they plan the next step; each
    -- has a switch to plan ahead.
    local planner = trace:is "vllm" or trace:is "sglang" or trace:is "tensorrt_llm"
    local uploads = together
      or values < options.one_value
        and read < options.one_value
        and 2 * copies:where({ direction = "h2d" }):count() >= calls:count()
    -- Where no one is known to own most of them, those of the values that the advice speaks of.
    local of_values = not together
        and not owner_of(calls)
        and values >= options.one_value
        and trace:host_waits {
          on = { "result" },
          class = purposes.class,
          max_bytes = options.value_bytes,
        }
      or calls
    local several = not together and values >= options.several_values
    local one = not together and not several and values >= options.one_value
    local forecast = results:count() == single:count() and managed:count() == 0
    return {
      {
        subject = call,
        message = often < options.seldom and "seldom" or "waits",
        data = {
          call = call,
          times = math.max(1, math.floor(often + 0.5)),
          every = string.format("%.0f", 1 / often),
          waits = #calls:group "name" > 1 and "its waits and those of other calls"
            or "these waits",
          range = range and string.format(", most in range '`%s`'", range:short()) or "",
          idle = lost / steps,
          share = share,
          values = string.format("%.0f", values),
          sent = string.format("%.0f", sending:count() / steps),
          bytes = results:count() > 0 and results:median "bytes" or 0,
          brief = call:short(24),
        },
        -- What is more than a flag or a sum may be what the host works on next: a limit, and no
        -- forecast.
        about = forecast,
        recoverable_ns = lost,
        change = forecast and change or nil,
        at_most = trace:fact "steps.found" == 0 and of_name:count() < options.least and "note"
          or nil,
        confidence = "high",
        metrics = {
          {
            name = "saved without the waits",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
          { name = "host blocked", value = calls:union_ns() / total, unit = "fraction" },
        },
        evidence = calls:evidence { most = 5 },
        owner = of_values,
        seen = {
          managed = 2 * managed:count() > calls:count(),
          uploads = uploads,
          planner = planner,
          turns = trace:is "jax" and one,
          several_values = several,
          one_value = one,
          together = together,
          results = not together and not several and not one and read >= options.one_value,
        },
      },
    }
  end,
}

-- A range's name for a message: profilers put whole call stacks into some.
local function short(name) return #name > 60 and name:sub(1, 57) .. "..." or name end

return {
  id = "host-sync",
  category = "launch",
  title = "The host waits for the GPU, which then runs dry",
  since = "0.1",
  needs = { "kernels", "calls" },
  warning_at = 0.03,
  options = {
    share = { default = 0.03, unit = "fraction", doc = "What waiting costs, of the step, from which it counts. One loss.item() a step costs 0.5 to 1.5 % in healthy recordings; one for each parameter 7 %, measured." },
    least = { default = 10, unit = "count", doc = "Where nothing repeats: fewer waits in the whole recording are set-up or results, whatever they take, and a note." },
    input_share = { default = 0.05, unit = "fraction", doc = "Idle time at the data loader, of the step, from which it is data-loader-starvation's and left out here." },
  },
  messages = {
    seldom = "{call} makes the host wait for the GPU in one of {every} {units}{range}; then the GPU runs out of work until the host has launched again: idle for {idle:ns} of {each_step} ({share:fraction}).",
    waits = "{call} makes the host wait for the GPU {times} {a_step}{range}; each time the GPU runs out of work until the host has launched again: idle for {idle:ns} of {each_step} ({share:fraction}).",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle because the host waited for it (cudaStreamSynchronize, cudaDeviceSynchronize, cudaEventSynchronize and their driver forms) and until the host is ahead again. Of what follows a wait it counts no more than that wait took: without it the host would be ahead by so much. What the host does afterwards beside launching is not counted. Waits for offloaded tensors, synchronous copies, allocations and pools that give memory back are left to their own rules, as are waits for results that decide what is launched next (data-dependent-sync).",
    why = "The GPU stays busy only while the host launches ahead of it. A wait lets it catch up; what the host does next, be it launching or loading, then happens with the GPU idle.",
    fix = "Read results seldom and late: not .item(), .cpu(), print(loss) or if tensor: in each step, but every 50 steps; keep sums on the device and read one value. torch.cuda.set_sync_debug_mode(\"warn\") names each line of Python that waits (PyTorch performance tuning guide). Drop torch.cuda.synchronize() that was put in for timing (use events).",
    wrong = "A loop that has to decide on the host by what the GPU computed has to wait. GradScaler waits once a step, which BF16 does without.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local waits = trace:calls { class = "sync" }
    local names = {}
    for _, group in ipairs(waits:group "name") do names[#names + 1] = group.key end
    -- Waits for tensors that go to the host and come back are the offload's.
    local offloaded, pairs_found = trace:round_trips()
    if pairs_found < 2 * steps then offloaded = offloaded:minus(offloaded) end
    offloaded = offloaded:plus(trace:streamed_uploads())
    local saving = trace:ranges { phase = "checkpoint" }  -- checkpoint-stall has them
    local reads, _, deciding = trace:read_backs()  -- data-dependent-sync has them
    if trace:fact "steps.found" == 0 or deciding:count() < 2 * steps then deciding = deciding:minus(deciding) end
    offloaded = offloaded:plus(deciding)
    local function own(idle) return idle:minus(idle:where { after = offloaded }):minus(idle:where { before = offloaded }):minus(idle:where { inside = saving }) end

    local dry = own(trace:idle { cause = "sync", name = names })
    -- What gives a pool's memory back to the system is alloc-churn's.
    if trace:calls { class = "allocation", name = "*FreeAsync*" }:count() > 0 then dry = dry:exposed(trace:os_calls { name = "ioctl" }, 0.5) end
    if dry:count() == 0 then return {} end
    -- What followed a wait, of no more than it took.
    local after = { "launch", "launch_latency" }
    if trace:idle { cause = "input" }:union_ns() < options.input_share * total then after[3] = "input" end
    local idle = own(trace:idle { cause = after, drained = true, name = names }):plus(dry):union_ns()
    -- Each device waits for the threads that launch on it.
    local blocked, devices, blocking = 0, 0, waits:minus(waits)
    for _, device in ipairs(dry:group("device", 1000)) do
      local threads = {}  -- a filter takes no more than 200
      for _, thread in ipairs(trace:idle { device = tonumber(device.key) }:group("thread", 200)) do threads[#threads + 1] = thread.key end
      local own_waits = waits:where { thread = threads }
      blocked, devices, blocking = blocked + own_waits:union_ns(), devices + 1, blocking:plus(own_waits)
    end
    local share = idle / total
    if idle == 0 or share < options.share then return {} end

    local call = dry:group("name")[1].key
    local calls = blocking:where { name = call }
    local often = calls:count() / (steps * devices / trace:fact "device.count")  -- on a device that waits
    local range, range_ns = nil, 0.9 * total / trace:fact "device.count"  -- the narrowest in which most of them are; one that holds the whole loop says nothing
    for _, group in ipairs(trace:ranges():group("name", 200)) do
      local ns = group.rows:union_ns()
      if ns < range_ns and 2 * calls:where { inside = group.rows }:count() > calls:count() then range, range_ns = group.key, ns end
    end
    local values = trace:ops { kind = "copy", direction = "d2h", max_bytes = 64 }:count() / steps
    local advice = {}
    if values >= 2 then
      local read = string.format("%.0f single values %s are read back", values, trace:fact "unit.per")
      advice[1] = {
        pytorch = {
          training = read .. " (.item(), float(tensor), if tensor:). Collect them on the device (torch.stack, or torch.nn.utils.get_total_norm for gradient norms) and read them together, every 50 steps.",
          cuda = read .. " (.item(), float(tensor), if tensor:). Collect them on the device (torch.stack) and read them together, as seldom as the program allows.",
        },
        jax = read .. " (float(x), np.asarray(x), if x:). Keep decisions on the device (jax.lax.cond, jax.lax.while_loop), and read values together, every so many iterations.",
        cupy = read .. " (float(x), int(x), if x:). Keep them on the device (cupy.where), and read them together (x.get()), every so many iterations.",
        numba = read .. " (copy_to_host, or an array of the host that is passed to a kernel). Keep them on the device, and read them together, every so many iterations.",
        cuda = read .. ", flags or sums. Keep them on the device and let it decide, or read them together, every so many iterations.",
      }
    elseif values >= 0.5 then
      advice[1] = {
        pytorch = { training = "A single value is read back (.item(), print(loss), an isnan check): read it every 50 steps, or that of the step before.", cuda = "A single value is read back (.item(), a check of an end): read it every so many iterations, or that of the one before." },
        cuda = "A single value is read back, a flag or a sum: read it every so many iterations, or that of the one before, into pinned memory.",
      }
    else
      advice[1] = {
        pytorch = "No value is read back where it waits: look for torch.cuda.synchronize() and stream.synchronize() that are there for timing only, and use torch.cuda.Event instead.",
        jax = "No value is read back where it waits: look for block_until_ready() that is there for timing only.",
        cupy = "No value is read back where it waits: look for synchronize() that is there for timing only, and use cupy.cuda.Event instead.",
        numba = "No value is read back where it waits: look for cuda.synchronize() that is there for timing only, and use cuda.event instead.",
        directives = "No value is read back where it waits: every parallel region waits for its kernel at its end. Queue them (OpenACC: async and one wait; OpenMP: nowait and taskwait).",
        julia = "No value is read back where it waits: look for CUDA.@sync and synchronize() that are there for timing only.",
        cuda = string.format("No value is read back where it waits: look for %s that is there for timing or looking for errors only. Events (cudaEventRecord) time without a wait, and kernels of one stream wait for each other by themselves.", call),
      }
    end
    -- Servers of tokens wait for what they sampled before they plan the next step; each has a switch that plans ahead.
    advice[1] = trace:words {
      vllm = "Plan the next step while this one runs: --async-scheduling, and no option that rules it out (--no-async-scheduling).",
      sglang = "Plan the next batch while this one runs: without --disable-overlap-schedule.",
      tensorrt_llm = "Plan the next step while this one runs: without disable_overlap_scheduler.",
    } or advice[1]
    advice[#advice + 1] = {
      transformers = { training = "logging_nan_inf_filter=False and a larger logging_steps." },
      lightning = "A larger log_every_n_steps, and no .item() in training_step.",
      megatron = "A larger --log-interval, no timing barriers (--timing-log-level 0).",
      nemo = "A larger log_every_n_steps, and no timing barriers.",
      torchrec = "Waits for the lengths of sparse features (KJTAllToAll): TrainPipelineSparseDist exchanges those of the next batch beside this one's compute.",
      pytorch = "torch.cuda.set_sync_debug_mode(\"warn\") names the lines that wait.",
    }
    return { {
      subject = call,
      message = often < 0.75 and "seldom" or "waits",
      data = { call = call, times = often < 1.5 and "once" or string.format("%.0f times", often), every = string.format("%.0f", 1 / often), range = range and string.format(", most in range '%s'", short(range)) or "", idle = idle / steps, share = share },
      about = true,
      recoverable_ns = idle,
      change = { { remove = trace:ops { kind = "copy", direction = "d2h", max_bytes = 64 } }, { unblock = blocking } },
      -- Waits for results that size what comes next are no others than that rule's.
      follows_from = 2 * dry:where { after = reads }:count() > dry:count() and "data-dependent-sync" or nil,
      at_most = trace:fact "steps.found" == 0 and calls:count() < options.least and "note" or nil,
      confidence = "high",
      metrics = {
        { name = "idle after waits", value = share, unit = "fraction", threshold = options.share },
        { name = "host blocked", value = blocked / total, unit = "fraction" },
      },
      evidence = dry:evidence { most = 5 },
      advice = advice,
    } }
  end,
}

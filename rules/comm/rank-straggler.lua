-- How to record all ranks in one report; "%s" is the launcher.
local record_all_ranks = {
  nsys = "--trace=cuda,nvtx,osrt around the launcher (%s), so that all ranks of the host are in one report; or give the reports of all ranks at once",
  torch_profiler = "torch.profiler.profile on every rank, and give the traces of all ranks at once",
}
local function how_to_record(trace) return string.format(trace:words(record_all_ranks), trace:words { pytorch = "torchrun", cuda = "mpirun" }) end

-- What a device spends its steps on, by what may keep it from coming in time.
local causes = { "input", "sync", "launch", "allocation", "compilation", "loading", "faults", "failed", "launch_latency", "dependency", "unknown" }
local words = { input = "waiting for its input", sync = "waiting for its own synchronization", launch = "waiting for its launches", allocation = "allocating memory", compilation = "compiling code", loading = "loading code", faults = "handling page faults of the host", failed = "in calls that failed", launch_latency = "between launches and kernels",
  dependency = "between kernels", unknown = "doing nothing that the trace explains", computing = "computing", copying = "copying" }
local roots = { input = "data-loader-starvation", sync = "host-sync", launch = "launch-bound", allocation = "alloc-churn", compilation = "jit-in-loop", loading = "first-use", faults = "um-migration-storm", failed = "failed-calls", launch_latency = "launch-bound", unknown = "gpu-idle" }

local function spent(trace, device)
  local compute = trace:ops { kind = { "kernel", "graph", "set" }, device = device }
  compute = compute:minus(compute:where { class = "collective" })
  local time = { computing = compute:union_ns(), copying = trace:ops { kind = "copy", device = device }:exposed_ns(compute) }
  for _, cause in ipairs(causes) do time[cause] = trace:idle { cause = cause, device = device }:union_ns() end
  return time, compute:where { kind = "kernel" }:count()
end

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

return {
  id = "rank-straggler",
  category = "comm",
  title = "GPUs wait in collectives for a rank that comes late",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Time in which the other ranks wait for a late one and compute nothing, of the step, from which it counts." },
    note_share = { default = 0.02, unit = "fraction", doc = "From this share on it is mentioned as a note. Recorded: two healthy DDP ranks wait 0.3 % of the step for each other." },
    persistent = { default = 2, unit = "count", doc = "How many times the next one's lateness that of the worst has to be, to call it one straggler; otherwise ranks take turns." },
  },
  messages = {
    one = "The other {others} for device {device}, which enters {count} of the collectives {a_step} last, for {wait:ns} of {each_step} ({share:fraction}).{did}",
    turns = "Ranks take turns in coming late to collectives: the others wait {wait:ns} of {each_step} ({share:fraction}), most for device {device}.{did}",
  },
  doc = {
    what = "Matches the collectives of several ranks in one report, finds who entered each last, and adds up how long the others had by then been inside and computed nothing. Then it compares what the late device spends its steps on with what the others do.",
    why = "A collective takes as long as its last rank needs to arrive: the slowest GPU sets the pace of all. On the others the wait looks like slow communication, at full utilization.",
    fix = "Give ranks the same work: sort or pack sequences so that batches have equal numbers of tokens, drop_last=True, the same number of loader workers and cores (bind processes to the GPU's NUMA node). Keep rank 0 from logging, validating and saving alone. Where the same kernels take longer, look at clocks, temperature and other processes on that GPU.",
    wrong = "Ranks that the report does not hold are not seen. Groups of ranks that communicate among themselves (tensor, pipeline parallelism) are matched by order, where their collectives overlap in time.",
  },
  evaluate = function(trace, options)
    local comm = trace:ops { class = "collective" }
    if comm:count() == 0 then return {} end
    local devices = trace:fact "device.count"
    if devices < 2 then
      return nil, "the report holds one rank only, so who comes late to a collective does not show", how_to_record(trace)
    end
    local late = trace:late_devices()
    if #late == 0 then return nil, "the ranks' collectives could not be matched with each other: they differ in number, or go from one to one other", "" end
    table.sort(late, function(a, b) return a.exposed_ns > b.exposed_ns end)
    local total, steps = trace:total_ns(), trace:fact "steps.count" / devices
    local worst = late[1]
    local all = 0
    for _, l in ipairs(late) do all = all + l.exposed_ns end
    local one = not late[2] or worst.exposed_ns >= options.persistent * late[2].exposed_ns
    -- A step lasts as long on every device: what is won on one is won on all.
    local wait = one and worst.exposed_ns or all
    local share = wait * devices / total
    if share == 0 or share < options.note_share then return {} end

    -- What the late one does more than the others usually do.
    local own, kernels = spent(trace, worst.device)
    local others, other_kernels, other_devices = {}, {}, {}
    for _, group in ipairs(comm:group("device", 1000)) do
      local device = tonumber(group.key)
      if device ~= worst.device then
        others[#others + 1], other_kernels[#other_kernels + 1] = spent(trace, device)
        other_devices[#other_devices + 1] = device
      end
    end
    local what, excess = nil, 0
    for cause, ns in pairs(own) do
      local usual = {}
      for _, o in ipairs(others) do usual[#usual + 1] = o[cause] end
      local more = #usual > 0 and ns - median(usual) or 0
      if more > excess or more == excess and what and cause < what then what, excess = cause, more end
    end
    if excess < wait / 4 then what = nil end

    -- With equal shares all compute for the mean of what they do now; at best the late one for what the others do.
    local change
    if what == "computing" then
      local mean = own.computing / devices
      for _, o in ipairs(others) do mean = mean + o.computing / devices end
      local function shared(device, now, least) return { scale = trace:ops { kind = { "kernel", "graph" }, device = device }:minus(comm), by = mean / math.max(now, 1), least = least } end
      change = { shared(worst.device, own.computing, 1 - excess / own.computing) }
      for i, o in ipairs(others) do change[#change + 1] = shared(other_devices[i], o.computing, 1) end
    elseif what and what ~= "copying" and one then
      change = { { pause = trace:idle { cause = what, device = worst.device }, by = 1 - excess / own[what], most = math.min(1, 1 - 0.7 * excess / own[what]) } }
    end

    local a_step = trace:fact "unit.per"
    local advice = {}
    if what == "computing" then
      local usual = median(other_kernels)
      if math.abs(kernels - usual) <= usual / 100 then
        advice[1] = string.format("Device %d runs as many kernels as the others, and they take longer. %s Otherwise the GPU is slower (nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE; another process on it).", worst.device,
          trace:words { pytorch = "Its batches may be larger: compare tokens by rank, and pack or sort sequences by length.", cuda = "Its part of the problem may be larger: compare sizes by rank." })
      else
        advice[1] = string.format("Device %d runs %.0f kernels %s, the others %.0f: it has other work. %s", worst.device, kernels / steps, a_step, usual / steps,
          trace:words { pytorch = "Balance layers over pipeline stages and experts over ranks, and move what only this rank does (metrics, logging) out of the loop.", cuda = "Give all ranks parts of the same size, and move what only this rank does (output, checks) out of the loop." })
      end
    elseif what == "input" then
      advice[1] = string.format("Device %d waits for its data: %s", worst.device,
        trace:words {
          pytorch = "give all ranks as many loader workers and cores (num_workers, OMP_NUM_THREADS, numactl --cpunodebind), and parts of the same size.",
          cuda = "give all ranks as many cores and threads that read (OMP_NUM_THREADS, numactl --cpunodebind), and parts of the same size.",
        })
    elseif what == "launch" then
      advice[1] = string.format("The host of device %d is slower at launching, %.1f ms %s. The profiler slows launching as well: time the step without it first. If it stays, %s", worst.device, excess / steps / 1e6, a_step,
        trace:words {
          pytorch = "give every rank as many cores (numactl, torchrun with --numa-binding), or launch less (CUDA graphs, torch.compile).",
          cuda = "give every rank as many cores (numactl), or launch less (CUDA graphs).",
        })
    elseif what then
      advice[1] = string.format("Device %d spends %.1f ms %s more than the others %s: %s", worst.device, excess / steps / 1e6, a_step, words[what],
        trace:words {
          pytorch = "keep what only this rank does (logging, validation, saving, .item()) out of the loop or do it on all in turn; bind each process to the cores next to its GPU (numactl, torchrun with --numa-binding).",
          cuda = "keep what only this rank does (output, checks, saving) out of the loop or do it on all in turn; bind each process to the cores next to its GPU (numactl).",
        })
    else
      advice[1] = "No one kind of work sets the late rank apart: compare the timelines of the ranks before the longest of these waits."
    end
    if not one then advice[#advice + 1] = { pytorch = "Ranks that take turns have unequal batches, as a rule: bucket or pack sequences by length, so that all ranks have as many tokens in each.", cuda = "Ranks that take turns have parts of unequal size, as a rule: balance them anew." } end
    return { {
      subject = one and "device " .. worst.device or "ranks in turn",
      message = one and "one" or "turns",
      data = { others = devices == 2 and "device waits" or string.format("%d devices wait", devices - 1), device = worst.device, count = math.floor(worst.count / steps + 0.5), wait = wait / steps, share = share,
        did = what and string.format(" It spends %.1f ms %s more than they do %s.", excess / steps / 1e6, a_step, words[what]) or "" },
      recoverable_ns = wait * devices,
      change = change,
      -- A host that launches later does so under the profiler, which slows launching down and not always alike.
      at_most = (share < options.share or what == "launch") and "note" or nil,
      follows_from = what and roots[what] or nil,
      metrics = { { name = "waiting for the late rank", value = share, unit = "fraction", threshold = options.share } },
      evidence = worst.waited:evidence { most = 4, note = string.format("entered before device %d", worst.device) },
      advice = advice,
    } }
  end,
}

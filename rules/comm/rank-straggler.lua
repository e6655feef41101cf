-- How to record all ranks in one report; "%s" is the launcher.
local record_all_ranks = {
  nsys = "`--trace=cuda,nvtx,osrt` around the launcher (%s), so that all ranks of the host are in \z
    one report; or give the reports of all ranks at once",
  torch_profiler = "`torch.profiler.profile` on every rank, and give the traces of all ranks at \z
    once",
}
local function how_to_record(trace)
  return string.format(
    trace:words(record_all_ranks),
    trace:words { pytorch = "`torchrun`", cuda = "mpirun" }
  )
end

-- What a device spends its steps on, by what may keep it from coming in time.
local causes = {
  "input",
  "sync",
  "launch",
  "allocation",
  "compilation",
  "loading",
  "faults",
  "failed",
  "launch_latency",
  "dependency",
  "unknown",
}
local words = {
  input = "waiting for its input",
  sync = "waiting for its own synchronization",
  launch = "waiting for its launches",
  allocation = "allocating memory",
  compilation = "compiling code",
  loading = "loading code",
  faults = "handling page faults of the host",
  failed = "in calls that failed",
  launch_latency = "between launches and kernels",
  dependency = "between kernels",
  unknown = "idle for no cause that the trace shows",
  computing = "computing",
  copying = "copying",
}
local roots = {
  input = "data-loader-starvation",
  sync = "host-sync",
  launch = "launch-bound",
  allocation = "alloc-churn",
  compilation = "jit-in-loop",
  loading = "first-use",
  faults = "um-migration-storm",
  failed = "failed-calls",
  launch_latency = "launch-bound",
}
-- The same in a few words, for the headline.
local short_words = {
  input = "waits for input",
  sync = "waits for its GPU",
  launch = "launches late",
  allocation = "allocates memory",
  compilation = "compiles code",
  loading = "loads code",
  faults = "handles page faults",
  computing = "computes longer",
  copying = "copies longer",
}

-- What has separate advice.
local own_advice = { computing = true, input = true, launch = true }

local constants = {
  letters = 40, -- of a name in the message
}

local function spent(trace, device)
  local compute = trace:ops { kind = { "kernel", "graph", "set" }, device = device }
  compute = compute:minus(compute:where { class = "collective" })
  local time = {
    computing = compute:union_ns(),
    copying = trace:ops { kind = "copy", device = device }:exposed_ns(compute),
  }
  for _, cause in ipairs(causes) do
    time[cause] = trace:idle { cause = cause, device = device }:union_ns()
  end
  return time, compute:where { kind = "kernel" }:count()
end

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

-- Where the report has one rank: its own waits, as far as the sizes of its collectives show them;
-- nil if they are few.
local function waits_for_others(trace, options, comm)
  local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
  local wait, waiting, least = require "transfers"(trace, comm, compute)
  local share = wait / trace:total_ns()
  if waiting:count() == 0 or share < options.note_share then return nil end
  local steps = trace:fact "steps.count"
  return {
    subject = "ranks outside the report",
    message = "outside",
    data = {
      wait = wait / steps,
      share = share,
      waiting = waiting:count(),
      count = comm:count(),
      usual = waiting:median "duration_ns",
      least = least,
      how = how_to_record(trace),
    },
    recoverable_ns = wait,
    confidence = "medium",
    at_most = share < options.share and "note" or "warning",
    metrics = {
      {
        name = "waiting for other ranks",
        value = share,
        unit = "fraction",
        threshold = options.share,
      },
    },
    evidence = waiting:evidence { most = 4, note = "waits for another rank" },
    seen = { outside = true },
  }
end

return {
  id = "rank-straggler",
  category = "comm",
  title = "GPUs wait in collectives for a late rank",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: time in which the other ranks wait for a late \z
        one and compute nothing.",
    },
    note_share = {
      default = 0.02,
      unit = "fraction",
      doc = "From this share of the step it is a note. Recorded: two healthy DDP ranks wait 0.3 % \z
        of the step for each other.",
    },
    persistent = {
      default = 2,
      unit = "count",
      doc = "How many times as late as the next one the worst rank has to be to count as the one \z
        straggler; otherwise ranks take turns.",
    },
    explains = {
      default = 0.25,
      unit = "fraction",
      doc = "Share of the wait that one kind of work has to take longer on the late rank than on \z
        the others to be named as the reason. Chosen.",
    },
    same_work = {
      default = 0.01,
      unit = "fraction",
      doc = "How far the late rank's kernels may differ in number from the others' to be the same \z
        work. Chosen.",
    },
  },
  factors = {
    ended = {
      by = 1,
      least = 0.7,
      most = 1,
      doc = "Share of what the late rank does longer than the others that the fix ends.",
      source = "Chosen: all of it at best.",
    },
  },
  messages = {
    one = "{others} for GPU {device}, which is the last to enter {count:# collective|# \z
      collectives} {a_step}: {wait:lost} of {each_step} ({share:fraction}).{did}",
    outside = "{waiting} of {count} collectives wait for ranks that are not in the report, and \z
      come later: {wait:lost} of {each_step} ({share:fraction}). They take {usual:ns} (median), \z
      where calls of the same operator, group and size take {least:ns}.",
    turns = "Ranks take turns in coming late to collectives: the others wait {wait:lost} of \z
      {each_step} ({share:fraction}), most of it for GPU {device}.{did}",
  },
  headlines = {
    one = "The rank on GPU {device} is {wait:ns} late each {unit}{because}",
    turns = "Ranks take turns in coming late, {wait:ns} {a_step}",
    outside = "This rank waits in collectives for others, {wait:ns} {a_step}",
  },
  doc = {
    what = "Matches the collectives of several ranks in one report, finds which rank entered each \z
      last, and adds up how long the others had been waiting by then. Then it compares what the \z
      late GPU spends its steps on with what the others do. A report of one rank shows what it \z
      waits for others, where it gives the bytes of collectives: calls of one operator, group and \z
      size take the least time where nobody is late.",
    why = "A collective takes until its last rank arrives: the slowest GPU sets the pace of all. \z
      On the others the wait looks like slow communication, at full utilization.",
    fix = "Give ranks equal work: sort or pack sequences so that batches have equal numbers of \z
      tokens, `drop_last=True`, the same number of loader workers and cores (bind processes to \z
      the GPU's NUMA node). Keep rank 0 from logging, validating and saving alone. If the same \z
      kernels take longer, check clocks, temperature and other processes on that GPU.",
    wrong = "Ranks outside the report are not seen: only message sizes show that they come late. \z
      Groups of ranks that communicate among themselves (tensor, pipeline parallelism) are \z
      matched by order, where their collectives overlap in time.",
  },
  advice = {
    {
      when = "outside",
      "Record all ranks together{.}: {how}. The rank that comes last is then named, with what it \z
        spends longer on. A faster link, or overlap, does not help against waiting.",
    },
    {
      when = { "computing", "as_many" },
      pytorch = "Give all ranks batches of equal size{.}: GPU {device} runs as many kernels as \z
        the others, but they take longer. Its batches may be larger: compare tokens by rank, and \z
        pack or sort sequences by length. Otherwise the GPU is slower (`nvidia-smi -q -d \z
        CLOCK,PERFORMANCE,TEMPERATURE`; another process on it).",
      cuda = "Give all ranks parts of equal size{.}: GPU {device} runs as many kernels as the \z
        others, but they take longer. Its part of the problem may be larger: compare sizes by \z
        rank. Otherwise the GPU is slower (`nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE`; \z
        another process on it).",
    },
    {
      when = "computing",
      unless = "as_many",
      pytorch = "Balance the ranks' work{.}: GPU {device} runs {kernels} kernels {a_step}, the \z
        others {usual_kernels}. Spread layers evenly over pipeline stages and experts over ranks, \z
        and move what only this rank does (metrics, logging) out of the loop.",
      cuda = "Balance the ranks' work{.}: GPU {device} runs {kernels} kernels {a_step}, the \z
        others {usual_kernels}. Give all ranks parts of the same size, and move what only this \z
        rank does (output, checks) out of the loop.",
    },
    {
      when = "input",
      pytorch = "Give all ranks as many loader workers and cores{.}: GPU {device} waits for its \z
        data (`num_workers`, `OMP_NUM_THREADS`, `numactl --cpunodebind`). Give them parts of \z
        equal size as well.",
      cuda = "Give all ranks as many cores and reading threads{.}: GPU {device} waits for its \z
        data (`OMP_NUM_THREADS`, `numactl --cpunodebind`). Give them parts of equal size as well.",
    },
    {
      when = "launch",
      pytorch = "Give every rank its own cores{.}: the launches of GPU {device}'s host come \z
        later, by {more} ms {a_step}. The profiler slows launching too: time the step without it \z
        first. If it stays slow, bind the cores (numactl, `torchrun` with `--numa-binding`), or \z
        launch less (CUDA graphs, `torch.compile`).",
      cuda = "Give every rank its own cores{.}: the launches of GPU {device}'s host come later, \z
        by {more} ms {a_step}. The profiler slows launching too: time the step without it first. \z
        If it stays slow, bind the cores (numactl), or launch less (CUDA graphs).",
    },
    {
      when = { "other", "sleeps" },
      pytorch = "Find out why this rank sleeps{.}: GPU {device} spends {more} ms {a_step} longer \z
        {spends} than the others. Take logging, validation, saving and `.item()` that only this \z
        rank does out of the loop, or do them on all ranks in turn; bind each process to the \z
        cores next to its GPU (numactl, `torchrun` with `--numa-binding`).",
      cuda = "Find out why this rank sleeps{.}: GPU {device} spends {more} ms {a_step} longer \z
        {spends} than the others. Take output, checks and saving that only this rank does out of \z
        the loop, or do them on all ranks in turn; bind each process to the cores next to its GPU \z
        (numactl).",
    },
    {
      when = "other",
      unless = "sleeps",
      pytorch = "Move what only this rank does out of the loop{.}: GPU {device} spends {more} ms \z
        {a_step} longer {spends} than the others. Take logging, validation, saving and `.item()` \z
        that only this rank does out of the loop, or do them on all ranks in turn; bind each \z
        process to the cores next to its GPU (numactl, `torchrun` with `--numa-binding`).",
      cuda = "Move what only this rank does out of the loop{.}: GPU {device} spends {more} ms \z
        {a_step} longer {spends} than the others. Take output, checks and saving that only this \z
        rank does out of the loop, or do them on all ranks in turn; bind each process to the \z
        cores next to its GPU (numactl).",
    },
    {
      when = "untold",
      "Compare the ranks' timelines{.}: no one kind of work sets the late rank apart. Look before \z
        the longest of these waits.",
    },
    {
      when = "turns",
      pytorch = "Ranks that take turns usually have unequal batches{.}: bucket or pack sequences \z
        by length, so that all ranks have equal numbers of tokens.",
      cuda = "Ranks that take turns usually have parts of unequal size{.}: balance them again.",
    },
  },
  evaluate = function(trace, options, factors)
    local comm = trace:ops { class = "collective" }
    if comm:count() == 0 then return {} end
    local devices = trace:fact "device.count"
    if devices < 2 then
      local found = waits_for_others(trace, options, comm)
      if found then return { found } end
      return nil,
        "the report holds only one rank, so it does not show which rank comes late to a collective",
        how_to_record(trace)
    end
    local late = trace:late_devices()
    if #late == 0 then
      return nil,
        "the ranks' collectives could not be matched: they differ in number, or are point-to-point",
        ""
    end
    table.sort(late, function(a, b) return a.exposed_ns > b.exposed_ns end)
    local total, steps = trace:total_ns(), trace:fact "steps.count" / devices
    local worst = late[1]
    local all = 0
    for _, l in ipairs(late) do
      all = all + l.exposed_ns
    end
    local one = not late[2] or worst.exposed_ns >= options.persistent * late[2].exposed_ns
    -- A step lasts as long on every device: what one saves, all save.
    local wait = one and worst.exposed_ns or all
    local share = wait * devices / total
    if share == 0 or share < options.note_share then return {} end

    -- What the late one does more of than the others usually do.
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
      for _, o in ipairs(others) do
        usual[#usual + 1] = o[cause]
      end
      local more = #usual > 0 and ns - median(usual) or 0
      if more > excess or more == excess and what and cause < what then
        what, excess = cause, more
      end
    end
    if excess < options.explains * wait then what = nil end
    -- What the host does in idle time that no cause explains.
    local doing = what == "unknown"
      and require "doing"(trace, trace:idle { cause = "unknown", device = worst.device })
    if doing and (doing == "" or #doing > constants.letters) then doing = nil end
    local sleeps = doing and (doing:glob "*sleep" or doing:glob "sleep*")
    local because = doing
        and (sleeps and "it sleeps in " .. doing or "it is in '" .. doing .. "'")
      or short_words[what]
    if because and not doing then because = "it " .. because end
    local spends = doing and string.format("in '`%s`'", doing) or words[what]

    -- With equal shares all compute for the mean of what they compute now; at best the late one
    -- computes as long as the others.
    local change
    if what == "computing" then
      local mean = own.computing / devices
      for _, o in ipairs(others) do
        mean = mean + o.computing / devices
      end
      local function shared(device, now, least)
        return {
          scale = trace:ops { kind = { "kernel", "graph" }, device = device }:minus(comm),
          by = mean / math.max(now, 1),
          least = least,
        }
      end
      change = { shared(worst.device, own.computing, 1 - excess / own.computing) }
      for i, o in ipairs(others) do
        change[#change + 1] = shared(other_devices[i], o.computing, 1)
      end
    elseif what and what ~= "copying" and one then
      change = {
        {
          pause = trace:idle { cause = what, device = worst.device },
          by = 1 - factors.ended.by * excess / own[what],
          most = math.min(1, 1 - factors.ended.least * excess / own[what]),
        },
      }
    end

    local a_step, usual_kernels = trace:fact "unit.per", median(other_kernels)
    local as_many = what == "computing"
      and math.abs(kernels - usual_kernels) <= options.same_work * usual_kernels
    return {
      {
        subject = one and "device " .. worst.device or "ranks in turn",
        message = one and "one" or "turns",
        data = {
          others = devices == 2 and "The other GPU waits"
            or string.format("The other %d GPUs wait", devices - 1),
          device = worst.device,
          because = because and " (" .. because .. ")" or "",
          count = math.floor(worst.count / steps + 0.5),
          wait = wait / steps,
          share = share,
          more = string.format("%.1f", excess / steps / 1e6),
          spends = spends,
          kernels = string.format("%.0f", kernels / steps),
          usual_kernels = string.format("%.0f", (usual_kernels or 0) / steps),
          did = what and string.format(
            " It spends %.1f ms %s longer %s than the others.",
            excess / steps / 1e6,
            a_step,
            spends
          ) or "",
        },
        recoverable_ns = wait * devices,
        change = change,
        -- A host that launches later does so under the profiler, which slows launching down, and
        -- not always equally. Where nothing sets the late rank apart, there is no fix to tell.
        at_most = (share < options.share or one and not what or what == "launch") and "note"
          or nil,
        follows_from = what and roots[what] or nil,
        metrics = {
          {
            name = "waiting for the late rank",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = worst.waited:evidence {
          most = 4,
          note = string.format("entered before GPU %d", worst.device),
        },
        seen = {
          [what and (own_advice[what] and what or "other") or "untold"] = true,
          as_many = as_many,
          sleeps = sleeps,
        },
      },
    }
  end,
}

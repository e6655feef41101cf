-- Causes of idle time in the account, and the rules that report them. What lasts less than the
-- constant `judged` has been judged by the first of these: it is explained even if that found
-- nothing to save.
local known = {
  {
    cause = "input",
    short = "while the host fetches input",
    rules = { "data-loader-starvation" },
  },
  {
    cause = "sync",
    short = "around the host's waits for it",
    rules = {
      "host-sync",
      "alloc-churn",
      "data-dependent-sync",
      "sync-memcpy",
      "pageable-memcpy",
      "offload-sync-gap",
      "cpu-optimizer",
    },
  },
  {
    cause = "launch",
    short = "while the host launches",
    judged = "launch_ns",
    rules = {
      "launch-bound",
      "data-dependent-sync",
      "graph-breaks",
      "ddp-buffers",
      "host-sync",
      "sync-memcpy",
      "pageable-memcpy",
      "alloc-churn",
    },
  },
  {
    cause = "launch_latency",
    short = "between launches and kernels",
    judged = "launch_ns",
    rules = { "launch-bound", "host-sync", "alloc-churn" },
  },
  {
    cause = "allocation",
    short = "while the host allocates memory",
    rules = { "alloc-churn" },
  },
  {
    cause = "compilation",
    short = "while the host compiles",
    rules = { "jit-in-loop" },
  },
  {
    cause = "loading",
    short = "while the host loads code",
    rules = { "first-use", "jit-in-loop" },
  },
  {
    cause = "faults",
    short = "while the host touches its pages",
    rules = { "um-migration-storm", "um-fault-stall" },
  },
  {
    cause = "failed",
    short = "in calls that fail",
    rules = { "failed-calls" },
  },
  {
    cause = "dependency",
    short = "although work was launched",
    rules = { "rank-straggler", "pipeline-bubble", "dependency-stall" },
  },
  {
    cause = "unknown",
    short = "while the host does something else",
    rules = {
      "gpu-idle",
      "host-bound",
      "cpu-optimizer",
      "gil-contention",
      "jit-in-loop",
      "ddp-buffers",
      "offload-sync-gap",
      "checkpoint-stall",
      "gc-pause",
      "data-loader-starvation",
      "um-migration-storm",
      "um-fault-stall",
    },
  },
}
-- Rules that speak of waits of the host.
local waiting = {
  ["host-sync"] = { class = { "sync", "copy", "event" } },
  ["sync-memcpy"] = { class = { "copy_sync" } },
  ["data-dependent-sync"] = { on = { "decision" } },
}

local exposed = {
  {
    fact = "account.copy_exposed_fraction",
    subject = "copies",
    what = "copies run while nothing computes",
    short = "Copies run while nothing computes",
    rules = {
      "exposed-memcpy",
      "resident-data",
      "pageable-memcpy",
      "offload-sync-gap",
      "cpu-optimizer",
      "checkpoint-stall",
      "um-migration-storm",
    },
    rows = function(trace)
      return trace:ops {
        kind = "copy",
        direction = { "h2d", "d2h", "p2p", "h2h", "other", "um_*" },
      }
    end,
    by = "direction",
  },
  {
    fact = "account.communication_exposed_fraction",
    subject = "communication",
    what = "collectives run while nothing computes",
    short = "Collectives run while nothing computes",
    rules = {
      "exposed-collective",
      "slow-collective",
      "small-collectives",
      "rank-straggler",
      "pipeline-bubble",
      "ddp-buffers",
      "data-parallel",
      "fsdp-late-gather",
      "fsdp-regather",
      "grad-sync-every-microbatch",
    },
    rows = function(trace) return trace:ops { class = "collective" } end,
    by = "name",
  },
}

local constants = {
  named = 3, -- causes in the message about several
  launch_ns = 1000000, -- as launch-bound's pause_ns
}

-- What copies most, if that is one copy in each step that has it: many may be a model that is saved
-- or loaded.
local function seen_of(copies)
  local largest = copies:group("bytes", 1)[1]
  local one = 2 * largest.sum_ns > copies:sum "duration_ns"
    and #largest.rows:group("step", 1000) == math.min(largest.count, 1000) -- no more are grouped
  local direction = one and largest.rows:top(1)[1].direction
  return { download = direction == "d2h", upload = direction == "h2d" }
end

return {
  id = "unexplained",
  category = "idle",
  title = "The GPU does not compute, for a reason that no other rule reports",
  since = "0.2",
  needs = { "kernels" },
  after_others = true,
  options = {
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Share of the step (or of the whole recording) that the account gives to one cause, \z
        from which it is reported.",
    },
    pause_ns = {
      default = 5000,
      unit = "ns",
      doc = "A shorter pause before work that had been launched is the GPU's own, between one \z
        operation and the next, and waits for nothing else.",
    },
  },
  messages = {
    idle = "The GPU is idle for {time:lost} of {each_step} ({share:fraction}) \z
      {what}{names}.{host}{once}",
    several = "The GPU is idle for {time:lost} of {each_step} ({share:fraction}) for several \z
      reasons, each below a tenth: {names}.{once}",
    exposed = "For {time:lost} of {each_step} ({share:fraction}) {what}{names}.{once}",
  },
  headlines = {
    idle = "The GPU is idle {short}",
    several = "The GPU is idle for several small reasons",
    exposed = "{short}",
  },
  doc = {
    what = "Goes through the causes of idle time and the exposed copies and collectives of the \z
      account. A cause that takes a tenth or more, and that no other rule has reported, becomes a \z
      finding that names the call, range, kernel or direction that most of it belongs to, with \z
      the worst stretches; several smaller causes together are a note. What may be the program's \z
      start or end is a note, and so is time in which work that was launched waits on a GPU that \z
      processes share: they have it in turns.",
    why = "A report that is idle for half of its time and still clean misleads. Even if no rule \z
      knows a fix, the place to look is known.",
    fix = "Look at the stretches in the timeline. If the GPU is idle although work was launched: \z
      what does the stream wait for (`cudaStreamWaitEvent`, another device, a host function, \z
      another process on the same GPU)? Let both sides work at once: split the batch, or send \z
      earlier what the other side waits for.",
    wrong = "A program that hands work from one GPU to the next makes each wait by design.",
  },
  advice = {
    {
      when = "download",
      trainer = "Reduce it on the GPU before it is copied{.}: `preprocess_logits_for_metrics` \z
        takes argmax, or what else is wanted, before outputs are collected and copied.",
      pytorch = "Reduce it on the GPU before it is copied{.}: argmax, sums, counts or the rows \z
        that are wanted instead of whole outputs, or keep it there. What has to come goes into a \z
        reused pinned buffer.",
      cuda = "Reduce it on the GPU before it is copied{.}: sums, counts, extremes or the part \z
        that is wanted, or keep it there. What has to come goes into a reused pinned buffer.",
    },
    {
      when = "upload",
      "Keep on the GPU what is sent again{.}: or make it there. Send the rest as bytes or in half \z
        precision, from pinned memory, while kernels run.",
    },
    "Look at these stretches in the timeline{.}: what ended just before the GPU went on?",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local spoken = {}
    for _, finding in ipairs(trace:found()) do
      spoken[finding.rule] = true
    end
    -- A team that leaves a rule out does not want to hear about its subject.
    local function explained(rules)
      for _, rule in ipairs(rules) do
        if spoken[rule] or not trace:asked(rule) then return true end
      end
      return false
    end
    local findings = {}
    local function add(subject, message, what, brief, names, rows, time)
      local at_most, once = require "start_or_end"(trace, rows)
      findings[#findings + 1] = {
        subject = subject,
        message = message,
        data = {
          time = time / steps,
          share = time / total,
          what = what,
          short = brief,
          names = names,
          host = message == "idle"
              and subject ~= "dependency"
              and subject ~= "launch_latency"
              and require "host"(trace, rows)
            or "", -- launched work does not wait for the host
          once = once,
        },
        recoverable_ns = time,
        at_most = at_most,
        confidence = "medium",
        metrics = {
          {
            name = subject,
            value = time / total,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = rows:evidence { most = 5 },
      }
    end
    -- What most of the time has in common.
    local function most_of(rows, field, words, time)
      for _, group in ipairs(rows:group(field, 3)) do
        if group.key ~= "" and 2 * group.sum_ns > time then
          return string.format(words, group.key:short()), group.rows
        end
      end
      return "", rows
    end

    local small, parts = {}, {}
    for _, cause in ipairs(known) do
      local what = require "cause_words"(trace, cause.cause)
      local share = trace:fact("account.idle." .. cause.cause .. "_fraction") or 0
      if share > 0 and share < options.share and not explained(cause.rules) then
        small[#small + 1] = cause.cause
        parts[#parts + 1] =
          { share = share, text = string.format("%.1f %% %s", 100 * share, what) }
      elseif share >= options.share and not explained(cause.rules) then
        local rows = trace:idle { cause = cause.cause }
        if spoken["step-outlier"] then
          local _, regular = require "regular_pauses"(trace)
          rows = rows:minus(regular)
        end
        local waits = cause.cause == "dependency"
        rows =
          rows:where { min_ns = waits and options.pause_ns or constants[cause.judged] or 0 }
        local time = rows:union_ns()
        local doing, of = most_of(
          rows,
          "doing",
          waits and "; meanwhile the host is in '`%s`'" or ", most of it in '`%s`'",
          time
        )
        local within = doing ~= "" and most_of(of, "within", " (within '`%s`')", of:union_ns())
          or ""
        local before = waits and most_of(rows, "next", ", most of it before '`%s`'", time) or ""
        if time / total >= options.share then
          add(cause.cause, "idle", what, cause.short, before .. doing .. within, rows, time)
          -- Processes that share a GPU have it in turns, which no recording shows.
          if waits and trace:fact "device.processes" > 1 then
            findings[#findings].at_most = "note"
          end
        end
      end
    end
    -- The GPU's own pauses are idle time that cannot be saved.
    local rest = trace:idle { cause = small, min_ns = options.pause_ns }
    if #small > 1 and rest:union_ns() >= options.share * total then
      table.sort(parts, function(a, b) return a.share > b.share end)
      local names = {}
      for i = 1, math.min(constants.named, #parts) do
        names[i] = parts[i].text
      end
      add("several causes", "several", "", "", table.concat(names, "; "), rest, rest:union_ns())
      findings[#findings].at_most = "note"
    end
    local kernels = trace:ops { kind = { "kernel", "graph" } }
    -- What the host reads back goes with its waits.
    local waited = trace:ops { min_ns = math.huge }
    for rule, asked in pairs(waiting) do
      local _, copies = trace:host_waits(asked)
      if spoken[rule] then waited = waited:plus(copies) end
    end
    for _, part in ipairs(exposed) do
      if (trace:fact(part.fact) or 0) >= options.share and not explained(part.rules) then
        local rows = part.rows(trace):minus(waited)
        local shown = rows:exposed(kernels:minus(rows))
        local time = rows:exposed_ns(kernels:minus(rows))
        if time >= options.share * total then
          add(
            part.subject,
            "exposed",
            part.what,
            part.short,
            (most_of(shown, part.by, ", most of them %s", shown:sum "duration_ns")),
            shown,
            time
          )
          if part.subject == "copies" then findings[#findings].seen = seen_of(shown) end
          -- Of what hides for the most part, only the ends are exposed.
          if 2 * time < rows:union_ns() then findings[#findings].at_most = "note" end
        end
      end
    end
    return findings
  end,
}

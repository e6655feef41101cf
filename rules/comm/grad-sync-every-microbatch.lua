-- A piece of advice, with what holds however gradients are reduced.
local function once(piece)
  piece.megatron =
    "Reduce once a step: leave `no_sync_func` set to the model's `no_sync` (the default with its \z
      own schedules)."
  piece.deepspeed =
    "Reduce only when accumulation ends: set `gradient_accumulation_steps` in the configuration, \z
      and ZeRO stage 0 or 1, since stage 2 has to scatter each micro-batch's gradients."
  piece.lightning =
    "Let the trainer accumulate: `Trainer(accumulate_grad_batches={phases})`; with manual \z
      optimization `fabric.no_backward_sync(model)` around all micro-batches but the last."
  piece.accelerate =
    "Let Accelerate accumulate: `accelerator.accumulate(model)` around each micro-batch, with \z
      `gradient_accumulation_steps={phases}`."
  piece.fsdp =
    "Reduce only the last micro-batch: `model.no_sync()` around forward and backward of all \z
      others (FSDP2: `model.set_requires_gradient_sync(False)`). Gradients are then held whole \z
      until the last: check that they fit."
  piece.cuda = "Reduce once, after the last micro-batch: sum gradients locally until then."
  return piece
end

-- What the host does for a reduction besides launching it: NCCL's range around that, and the events
-- that order streams before and after it, of which each pass has its part.
local function host_work(trace, early, last)
  local threads, passed = {}, 0
  for _, thread in ipairs(early:group("thread", 1000)) do
    threads[#threads + 1] = thread.key
  end
  local part = early:count() / (early:count() + last:count())
  local events = trace:calls({ class = "event", thread = threads }):keep({}, function()
    passed = passed + 1
    return math.floor(part * passed) > math.floor(part * (passed - 1))
  end)
  return trace:ranges({ name = "nccl*" }):containing(early), events
end

return {
  id = "grad-sync-every-microbatch",
  category = "comm",
  title = "Gradients are reduced after each micro-batch instead of once a step",
  since = "0.2",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.02,
      unit = "fraction",
      doc = "Share of the step that the reductions of all micro-batches but the last take, from \z
        which they are checked. Even hidden behind backward they slow its kernels down: two H200 \z
        that reduced four times a step spent 36 % of it on this, and saved 18 % by reducing once.",
    },
    most_held = {
      default = 0.5,
      unit = "fraction",
      doc = "The most SMs that reductions are taken to hold, which concurrent products get back. \z
        Chosen: NCCL takes fewer.",
    },
  },
  messages = {
    main = "Each of {phases} backward passes {a_step} reduces the same gradients{bytes}: all but \z
      the last take {early:lost} of {each_step} ({share:fraction}), {exposed:ns} of it while \z
      nothing computes.",
  },
  headlines = {
    main = "Gradients are reduced {phases} times {a_step} instead of once",
  },
  doc = {
    what = "Separates the backward passes of a step by its losses, and compares what each \z
      reduces: the same collectives of the same sizes in the same order, with no optimizer in \z
      between, and none of them in forward. Then it replays the step with only those of the last \z
      pass.",
    why = "With gradient accumulation only the sum over all micro-batches is used. Reducing each \z
      one multiplies the communication, and kernels that overlap with it run slower.",
    fix = "`DistributedDataParallel`: `model.no_sync()` around forward and backward of all \z
      micro-batches but the last. FSDP: `no_sync()`, FSDP2: `set_requires_gradient_sync(False)`, \z
      if there is memory for whole gradients. Megatron, DeepSpeed, Lightning and Accelerate have \z
      switches for it.",
    wrong = "FSDP and ZeRO-2 scatter each micro-batch's gradients to avoid holding them whole: \z
      there `no_sync` takes more memory, as many bytes as all gradients have. A program with \z
      several losses that trains one model after the other looks the same if its optimizer is not \z
      known by its kernels.",
  },
  advice = {
    once {
      when = "scattered",
      pytorch = "Reduce only the last micro-batch{.}: `model.no_sync()` around forward and \z
        backward of all others (FSDP2: `model.set_requires_gradient_sync(False)`). Gradients are \z
        then held whole until the last: check that they fit.",
    },
    once {
      unless = "scattered",
      pytorch = "Reduce only the last micro-batch{.}: `DistributedDataParallel`'s \z
        `model.no_sync()` around forward and backward of all others.",
    },
  },
  evaluate = function(trace, options)
    local comm = trace:ops { class = "collective" }
    if
      comm:where { collective = { "all-reduce", "reduce-scatter" } }:count() == 0
      or trace:is "inference"
    then
      return {}
    end
    if trace:fact "steps.found" == 0 then
      return nil,
        "no steps were found, so several reductions in one step cannot be told from several steps",
        trace:words {
          nsys = "`--trace=cuda,nvtx`, with an NVTX range around each step",
          torch_profiler = "`torch.profiler.profile` with schedule and `step()`",
        }
    end
    local found = require "reduced_gradients"(trace)
    if found.phases < 2 or found.early:count() == 0 then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local early = found.early:union_ns()
    if early < options.share * total then return {} end

    local others = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    local scattered = found.early:where { collective = "reduce-scatter" }:count() > 0
    local gone = { { remove = found.early } }
    if found.copies:count() > 0 then gone[#gone + 1] = { remove = found.copies } end
    local ranges, events = host_work(trace, found.early, found.last)
    if ranges:count() > 0 then gone[#gone + 1] = { pause = ranges } end
    if events:count() > 0 then gone[#gone + 1] = { drop = events } end
    -- The blocks of a reduction hold SMs that concurrent matrix products get back.
    local products = trace:ops { class = { "gemm_*", "attention_fused" } }
    local sms = trace:fact "device.sm_count"
    local held = sms and math.min(options.most_held, (found.early:median "blocks" or 0) / sms)
      or 0
    gone[#gone + 1] = held > 0
        and {
          scale = products:minus(products:exposed(found.early)),
          by = 1 - held,
          least = 1 - 2 * held,
          most = 1,
        }
      or nil
    return {
      {
        subject = "gradients of micro-batches",
        message = "main",
        data = {
          phases = found.phases,
          early = early / steps,
          share = early / total,
          exposed = found.early:exposed_ns(others) / steps,
          bytes = found.bytes > 0 and string.format(
            " (%.0f MiB each)",
            found.bytes / steps / (found.phases - 1) / 2 ^ 20
          ) or "",
        },
        about = true,
        recoverable_ns = found.early:exposed_ns(others),
        change = gone,
        uncertain = "how much faster kernels run without concurrent communication",
        confidence = found.bytes > 0 and "high" or "medium",
        metrics = {
          {
            name = "backward passes that reduce " .. trace:fact "unit.per",
            value = found.phases,
            unit = "count",
            threshold = 2,
          },
          {
            name = "needless reductions",
            value = early / total,
            unit = "fraction",
            threshold = options.share,
          },
        },
        seen = { scattered = scattered },
        evidence = found.early:evidence { most = 4, note = "of an earlier micro-batch" },
      },
    }
  end,
}

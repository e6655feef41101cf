return {
  id = "fsdp-regather",
  category = "comm",
  title = "Sharded weights are gathered twice in each step",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.03,
      unit = "fraction",
      doc = "Reported from this share of the step: gathers in backward while nothing computes.",
    },
    memory = {
      default = 0.9,
      unit = "fraction",
      doc = "How much of the GPU's memory may be in use with all weights kept gathered; the rest \z
        is for fragmentation and longer batches.",
    },
  },
  messages = {
    main = "{again:# gather|# gathers} {a_step} {again:fetches|fetch} weights that were gathered \z
      before and freed: {time:lost} of {each_step}, {exposed:ns} of it while nothing computes \z
      ({share:fraction}).{memory}",
  },
  headlines = {
    main = "Weights are gathered again by {again:# gather|# gathers} {a_step}",
  },
  doc = {
    what = "Pairs the all-gathers of weights in backward with earlier ones by size, or by number \z
      where the report has no sizes, and replays the step without them. If memory use was \z
      recorded, it checks whether the weights would fit.",
    why = "Gathered weights that are freed after forward have to come again: half as much \z
      communication again. ZeRO-2 and `SHARD_GRAD_OP` keep them from forward to backward.",
    fix = "FSDP: `ShardingStrategy.SHARD_GRAD_OP`; FSDP2: `reshard_after_forward=False`, or an \z
      integer to keep them within a node; DeepSpeed: stage 2, or a larger \z
      `stage3_max_live_parameters`.",
    wrong = "Kept weights take memory: the whole model in the precision of the gathers. If memory \z
      was not recorded, the saving is an upper limit and may not fit. So far this rule has only \z
      fired on recordings without memory use.",
  },
  advice = {
    {
      deepspeed = "Use ZeRO stage 2 instead of 3{.}: or a larger `stage3_max_live_parameters` and \z
        `stage3_max_reuse_distance`.",
      pytorch = {
        training = "Keep weights gathered until backward{.}: \z
          `FSDP(sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)`, FSDP2: `fully_shard(..., \z
          reshard_after_forward=False)`; within a node only: `HYBRID_SHARD`, \z
          `reshard_after_forward=8`.",
        cuda = "Keep what was gathered until its last use{.}: FSDP2: `fully_shard(..., \z
          reshard_after_forward=False)`.",
      },
      cuda = "Keep what was gathered until its last use.",
    },
    {
      unless = "fits",
      nsys = "Check the memory peak first{.}: `--cuda-memory-usage=true` records it.",
      torch_profiler = "Check the memory peak first{.}: \z
        `torch.profiler.profile(profile_memory=True)` records it.",
    },
  },
  evaluate = function(trace, options)
    local comm = trace:ops { class = "collective" }
    if comm:where { collective = "all-gather" }:count() == 0 then return {} end
    if trace:fact "steps.found" == 0 then
      return nil,
        "no steps were found, so weights cannot be told from other data",
        trace:words {
          nsys = "`--trace=cuda,nvtx`, with an NVTX range around each step",
          torch_profiler = "`torch.profiler.profile` with schedule and `step()`",
        }
    end
    local found = require "gathered_weights"(trace)
    if found.again:count() == 0 then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    local exposed = found.again:exposed_ns(compute)
    local share = exposed / total
    if exposed == 0 or share < options.share then return {} end

    local peak, size = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    local memory, known = " Whether they fit is unknown: memory was not recorded.", false
    if peak and size and found.bytes > 0 then
      if peak + found.bytes > options.memory * size then return {} end
      memory, known =
        string.format(
          " Keeping them takes %.1f GiB more; %.1f of %.0f GiB are in use.",
          found.bytes / 2 ^ 30,
          peak / 2 ^ 30,
          size / 2 ^ 30
        ),
        true
    elseif found.bytes > 0 then
      memory = string.format(
        " Keeping them takes %.1f GiB; whether that fits is unknown.",
        found.bytes / 2 ^ 30
      )
    end
    return {
      {
        subject = "second gathers of weights",
        message = "main",
        data = {
          again = math.floor(found.again:count() / steps + 0.5),
          time = found.again:union_ns() / steps,
          exposed = exposed / steps,
          share = share,
          memory = memory,
        },
        -- What they hold up starts sooner as well. Only what is known to fit is replayed, and so
        -- becomes part of a plan.
        recoverable_ns = found.again:plus(found.held_up):exposed_ns(compute),
        change = known and { { remove = found.again } } or nil,
        -- Gathers that also come too late are better moved than left out, which takes memory.
        follows_from = 2 * found.late:exposed_ns(compute) > exposed and "fsdp-late-gather"
          or nil,
        at_most = not known and "note" or nil,
        confidence = known and "high" or "medium",
        metrics = {
          {
            name = "second gathers, alone on the GPU",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        seen = { fits = known },
        evidence = found.again:evidence { most = 4, note = "already gathered in forward" },
      },
    }
  end,
}

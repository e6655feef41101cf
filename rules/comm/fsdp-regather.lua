return {
  id = "fsdp-regather",
  category = "comm",
  title = "Sharded weights are gathered twice in each step",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = { default = 0.03, unit = "fraction", doc = "Time of gathers in backward with nothing computed beside them, of the step, from which they count." },
    memory = { default = 0.9, unit = "fraction", doc = "Of the GPU's memory, what may be in use with all weights kept gathered; the rest is for fragments, and for what a longer batch needs." },
  },
  messages = {
    main = "{again} gathers {a_step} fetch weights that had been gathered before and let go: {time:ns} of {each_step}, {exposed:ns} of it with nothing computed beside them ({share:fraction}).{memory}",
  },
  doc = {
    what = "Pairs the all-gathers of weights in backward with those before it by their size, by number where the report does not tell sizes, and replays the step without them. Where memory use was recorded, it looks whether weights would fit.",
    why = "Gathered weights that are freed after forward have to come again: half as much communication again. ZeRO-2 and SHARD_GRAD_OP keep them from forward to backward.",
    fix = "FSDP: ShardingStrategy.SHARD_GRAD_OP; FSDP2: reshard_after_forward=False, or an integer to keep them within a node; DeepSpeed: stage 2, or a larger stage3_max_live_parameters.",
    wrong = "Kept weights take memory: all of the model's in the precision in which they are gathered. Where that is not recorded, this is at most what can be won, and may not fit. On recordings it has been seen only without memory use.",
  },
  evaluate = function(trace, options)
    local comm = trace:ops { class = "collective" }
    if comm:where { collective = "all-gather" }:count() == 0 then return {} end
    if trace:fact "steps.found" == 0 then
      return nil, "nothing was found that repeats, so weights cannot be told from other data", trace:words { nsys = "--trace=cuda,nvtx, with an NVTX range around each step", torch_profiler = "torch.profiler.profile with schedule and step()" }
    end
    local found = trace:gathered_weights()
    if found.again:count() == 0 then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    local exposed = found.again:exposed_ns(compute)
    local share = exposed / total
    if exposed == 0 or share < options.share then return {} end

    local peak, size = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    local memory, known = " Whether they fit does not show: memory was not recorded.", false
    if peak and size and found.bytes > 0 then
      if peak + found.bytes > options.memory * size then return {} end
      memory, known = string.format(" Kept, they take %.1f GiB more of %.0f GiB, of which %.1f GiB are in use.", found.bytes / 2 ^ 30, size / 2 ^ 30, peak / 2 ^ 30), true
    elseif found.bytes > 0 then
      memory = string.format(" Kept, they take %.1f GiB; whether that fits does not show.", found.bytes / 2 ^ 30)
    end
    return { {
      subject = "second gathers of weights",
      message = "main",
      data = { again = math.floor(found.again:count() / steps + 0.5), time = found.again:union_ns() / steps, exposed = exposed / steps, share = share, memory = memory },
      -- What they hold up goes on sooner as well. Only what is known to fit is replayed, and so part of a plan.
      recoverable_ns = found.again:plus(found.held_up):exposed_ns(compute),
      change = known and { { remove = found.again } } or nil,
      -- Gathers that come too late as well are better moved than left out, which takes memory.
      follows_from = 2 * found.late:exposed_ns(compute) > exposed and "fsdp-late-gather" or nil,
      at_most = not known and "note" or nil,
      confidence = known and "high" or "medium",
      metrics = { { name = "second gathers, alone on the GPU", value = share, unit = "fraction", threshold = options.share } },
      evidence = found.again:evidence { most = 4, note = "gathered before, in forward" },
      advice = {
        {
          deepspeed = "Stage 2 instead of 3, or a larger stage3_max_live_parameters and stage3_max_reuse_distance.",
          pytorch = "Keep weights until they are used again: FSDP(sharding_strategy=ShardingStrategy.SHARD_GRAD_OP), FSDP2: fully_shard(..., reshard_after_forward=False); within a node only: HYBRID_SHARD, reshard_after_forward=8.",
          cuda = "Keep what was gathered until it has been used for the last time.",
        },
        not known and {
          nsys = "Look at the peak of memory first: --cuda-memory-usage=true records it.",
          torch_profiler = "Look at the peak of memory first: torch.profiler.profile(profile_memory=True) records it.",
        } or nil,
      },
    } }
  end,
}

return {
  id = "fsdp-late-gather",
  category = "comm",
  title = "Sharded weights are gathered only when the block before is done",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = { default = 0.03, unit = "fraction", doc = "Time of late gathers with nothing computed beside them, of the step, from which they count. One switch cures them, so as little as of other rules of that kind." },
    won = { default = 0.4, unit = "fraction", doc = "What prefetching wins of the time in which a late gather runs alone: what it then runs beside has fewer SMs and less memory bandwidth. As exposed-collective has it; measured on two H200 with FSDP's own prefetching: 0.36 to 0.49." },
  },
  messages = {
    main = "{late} of {all} gathers of weights {a_step} begin only when the block before has been computed, although the gather before them was long done: they{held} keep the GPU from computing for {exposed:ns} of {each_step} ({share:fraction}).",
  },
  doc = {
    what = "Takes for gathers of weights the all-gathers of steps in which blocks are gathered one after the other before any gradient is scattered (FSDP, ZeRO-3). One is late where it begins after work that it could have run beside: between it and the gather before lies computation of at least half its length, and no optimizer.",
    why = "A block's weights can travel while the block before computes. Gathered when they are needed, every block waits for its weights.",
    fix = "FSDP: backward_prefetch=BackwardPrefetch.BACKWARD_PRE and forward_prefetch=True, limit_all_gathers only as far as memory asks for; FSDP2: set_modules_to_forward_prefetch and set_modules_to_backward_prefetch. DeepSpeed: stage3_prefetch_bucket_size.",
    wrong = "One block more is in memory while it waits. Where all communication takes longer than all computation, earlier gathers wait as well: then gather less (fsdp-regather) or more at once.",
  },
  evaluate = function(trace, options)
    local comm = trace:ops { class = "collective" }
    if comm:where { collective = "all-gather" }:count() == 0 then return {} end
    if trace:fact "steps.found" == 0 then
      return nil, "nothing was found that repeats, so weights cannot be told from other data", trace:words { nsys = "--trace=cuda,nvtx, with an NVTX range around each step", torch_profiler = "torch.profiler.profile with schedule and step()" }
    end
    local found = trace:gathered_weights()
    if found.late:count() == 0 then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    local late = found.late:exposed(compute, 0.5)
    local held = found.held_up:exposed(compute, 0.5)
    local exposed = late:plus(held):exposed_ns(compute)
    local share = exposed / total
    if late:count() == 0 or exposed == 0 or share < options.share then return {} end
    return { {
      subject = "gathers of weights",
      message = "main",
      data = { late = math.floor(late:count() / steps + 0.5), all = math.floor(found.all:count() / steps + 0.5), exposed = exposed / steps, share = share,
        held = held:count() > 0 and ", and the reduce-scatters that come before them," or "" },
      recoverable_ns = exposed * options.won,
      change = { { scale = late:plus(held), by = 1 - options.won, least = 1 - 1.5 * options.won, most = 1 - 0.5 * options.won } },
      uncertain = "how much slower blocks compute beside a gather",
      metrics = { { name = "late gathers, alone on the GPU", value = share, unit = "fraction", threshold = options.share } },
      evidence = late:evidence { most = 4, note = "after the block before" },
      advice = {
        {
          megatron = "--overlap-param-gather with Megatron's own FSDP or distributed optimizer.",
          deepspeed = "overlap_comm: true and a larger stage3_prefetch_bucket_size (5e8).",
          jax = "Let XLA gather ahead: XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true.",
          pytorch = {
            "Gather ahead: FSDP(backward_prefetch=BackwardPrefetch.BACKWARD_PRE, forward_prefetch=True); FSDP2: set_modules_to_forward_prefetch and set_modules_to_backward_prefetch on each block.",
            "Wrap each transformer block by itself (auto_wrap_policy): a single unit has nothing to run beside.",
          },
          cuda = "Start each block's gather on a stream of its own before the block before it is launched.",
        },
      },
    } }
  end,
}

return {
  id = "fsdp-late-gather",
  category = "comm",
  title = "Sharded weights are gathered too late to overlap",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.03,
      unit = "fraction",
      doc = "Reported from this share of the step: late gathers while nothing computes. As low as \z
        for other fixes that are one switch.",
    },
    alone = {
      default = 0.5,
      unit = "fraction",
      doc = "From this share of its time alone on the GPU a late gather counts. Chosen: less is \z
        mostly hidden.",
    },
  },
  factors = {
    won = {
      by = 0.4,
      least = 0.2,
      most = 0.6,
      doc = "What prefetching saves, as a share of the time in which a late gather runs alone: \z
        kernels that then overlap with it have fewer SMs and less memory bandwidth.",
      source = "As for exposed-collective; measured on two H200 with FSDP's own prefetching: 0.36 \z
        to 0.49. The rest of the range: chosen.",
    },
  },
  messages = {
    main = "{late} of {all} weight gathers {a_step} start only after the previous block has \z
      computed, although the gather before was long done: they{held} keep the GPU from computing \z
      for {exposed:lost} of {each_step} ({share:fraction}).",
  },
  headlines = {
    main = "{late} of {all} weight gathers {a_step} start too late to overlap",
  },
  doc = {
    what = "Looks at all-gathers of steps in which blocks are gathered one after the other before \z
      any gradient is scattered (FSDP, ZeRO-3), and takes them for gathers of weights. One is \z
      late if it starts after work that it could have overlapped with: between it and the gather \z
      before lies computation of at least half its length, and no optimizer.",
    why = "A block's weights can travel while the previous block computes. If each gather starts \z
      only when its weights are needed, every block waits for them.",
    fix = "FSDP: `backward_prefetch=BackwardPrefetch.BACKWARD_PRE` and `forward_prefetch=True`, \z
      `limit_all_gathers` only if memory requires it; FSDP2: `set_modules_to_forward_prefetch` \z
      and `set_modules_to_backward_prefetch`. DeepSpeed: `stage3_prefetch_bucket_size`.",
    wrong = "Prefetching keeps one more block in memory. If all communication takes longer than \z
      all computation, earlier gathers wait as well: then gather less (fsdp-regather) or more at \z
      once.",
  },
  advice = {
    {
      megatron = "Switch on `--overlap-param-gather`{.}: with Megatron's own FSDP or distributed \z
        optimizer.",
      deepspeed = "Prefetch more{.}: `overlap_comm: true` and a larger \z
        `stage3_prefetch_bucket_size` (5e8).",
      jax = "Let XLA gather ahead{.}: `XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true`.",
      pytorch = {
        "Prefetch the next block's weights{.}: \z
          `FSDP(backward_prefetch=BackwardPrefetch.BACKWARD_PRE, forward_prefetch=True)`; FSDP2: \z
          `set_modules_to_forward_prefetch` and `set_modules_to_backward_prefetch` on each block.",
        "Wrap each transformer block separately (`auto_wrap_policy`){.}: a single unit has \z
          nothing to overlap with.",
      },
      cuda = "Start each block's gather one block earlier{.}: on a separate stream, before the \z
        previous block is launched.",
    },
  },
  evaluate = function(trace, options, factors)
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
    if found.late:count() == 0 then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    local late = found.late:exposed(compute, options.alone)
    local held = found.held_up:exposed(compute, options.alone)
    local exposed = late:plus(held):exposed_ns(compute)
    local share = exposed / total
    if late:count() == 0 or exposed == 0 or share < options.share then return {} end
    return {
      {
        subject = "gathers of weights",
        message = "main",
        data = {
          late = math.floor(late:count() / steps + 0.5),
          all = math.floor(found.all:count() / steps + 0.5),
          exposed = exposed / steps,
          share = share,
          held = held:count() > 0 and ", and the reduce-scatters that come before them," or "",
        },
        recoverable_ns = exposed * factors.won.by,
        change = {
          {
            scale = late:plus(held),
            by = 1 - factors.won.by,
            least = 1 - factors.won.most,
            most = 1 - factors.won.least,
          },
        },
        uncertain = "how much slower blocks compute during a gather",
        metrics = {
          {
            name = "late gathers, alone on the GPU",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = late:evidence { most = 4, note = "starts after the previous block" },
      },
    }
  end,
}

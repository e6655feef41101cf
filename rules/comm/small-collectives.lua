return {
  id = "small-collectives",
  category = "comm",
  title = "Many small collectives where a few large ones would do",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    per_step = {
      default = 50,
      unit = "count",
      doc = "Small collectives a step on a GPU from which they are reported. Recorded: DDP with \z
        its default buckets sends 17 a step.",
    },
    short_ns = {
      default = 50000,
      unit = "ns",
      doc = "A collective that takes no longer is small: starting one takes 10 to 20 us.",
    },
    min_bytes = {
      default = 5242880,
      unit = "bytes",
      doc = "An all-reduce or a broadcast of fewer bytes is small as well, where ranges give its \z
        size: a fifth of the 25 MiB that DistributedDataParallel sends at once, and less than a \z
        matrix of most models. For gathers and scatters, whose ranges give one rank's part, a \z
        fifth of that: below 1 MiB latency decides, not bandwidth.",
    },
    note_share = {
      default = 0.01,
      unit = "fraction",
      doc = "Share of the step that the small ones are exposed, or that starting them keeps the \z
        host busy while the GPU waits for launches, from which they are mentioned: hidden behind \z
        compute they cost little.",
    },
    unrepeated_share = {
      default = 0.05,
      unit = "fraction",
      doc = "Without steps the program's start is in the recording, and the replay hides behind \z
        it what a step would show: from this exposed share of the recording on it is a warning, \z
        whatever the replay says. As for exposed-collective.",
    },
    gathered = {
      default = 0.2,
      unit = "fraction",
      doc = "Of min_bytes, what a gather or scatter may have at most to be small: ranges give one \z
        rank's part of those. See min_bytes.",
    },
  },
  factors = {
    merged = {
      by = 3,
      least = 1,
      most = 10,
      doc = "Time of a merged collective, relative to the longest that it replaces: it moves the \z
        bytes of all.",
      source = "Chosen: latency is most of a small one's time, 10 to 50 us, so that ten in one \z
        cost little more than one.",
    },
    starting = {
      by = 0,
      least = 0,
      most = 0.3,
      doc = "Host time to start the merged ones, relative to before: merging also launches copies.",
      source = "Chosen: a few starts instead of fifty.",
    },
  },
  messages = {
    main = "{count} small collectives {a_step} on each GPU (of {all}, median {median:ns}) run \z
      while nothing computes for {exposed:lost} of {each_step} ({share:fraction}).",
    host = "{count} small collectives {a_step} on each GPU (of {all}, median {median:ns}) take \z
      the host {host:lost} of {each_step} ({host_share:fraction}) to start while the GPU waits \z
      for launches.",
  },
  headlines = {
    main = "{count:# small collective|# small collectives} {a_step} instead of a few large ones",
    host = "{count:# small collective|# small collectives} {a_step} instead of a few large ones",
  },
  doc = {
    what = "Counts collectives that are short or have small messages, if they are many and at \z
      least half of all. It adds up the time in which they run while nothing computes, and the \z
      host time of the operators and ranges that start them while GPUs wait for launches.",
    why = "A small message takes as long as its latency, 10 to 50 us, however few bytes it has; \z
      ten in one cost little more than one. Each is also a kernel launch on the host.",
    fix = "Send tensors together: DDP buckets (`bucket_cap_mb`), \z
      `torch._utils._flatten_dense_tensors` or a coalescing manager \z
      (`torch.distributed._coalescing_manager`) in hand-written loops, `dist.all_reduce` of one \z
      stacked tensor for metrics; larger FSDP units; `reduce_bucket_size` and \z
      `allgather_bucket_size` in DeepSpeed.",
    wrong = "Tensor-parallel layers need each of theirs at once, with few bytes each in decoding: \z
      then only lower latency helps (CUDA graphs, NVLink SHARP, one-shot kernels over symmetric \z
      memory).",
  },
  advice = {
    {
      deepspeed = "Send tensors together{.}: `reduce_bucket_size` and `allgather_bucket_size` of \z
        5e8.",
      pytorch = {
        training = "Send gradients together in buckets{.}: of 25 MB or more \z
          (`DistributedDataParallel` does so by itself: `bucket_cap_mb`), a gradient that now \z
          takes {messages} messages takes a few. In a hand-written loop: one flat buffer, or \z
          `torch.distributed._coalescing_manager`.",
        cuda = "Send tensors together{.}: in one flat buffer, or with \z
          `torch.distributed._coalescing_manager`.",
      },
      cuda = "Send messages together{.}: one buffer for all, or at least one call for all \z
        (`ncclGroupStart` and `ncclGroupEnd` around them).",
    },
    {
      fsdp = "Wrap whole transformer blocks, not single layers.",
      pytorch = "Stack metrics and reduce them once, every so many steps.",
    },
    {
      pytorch = "If each is needed at once (tensor parallelism){.}: capture them in CUDA graphs, \z
        or use one-shot kernels over symmetric memory (`torch.ops.symm_mem`, the custom \z
        all-reduce of inference engines), which have less latency.",
      cuda = "If each is needed at once{.}: capture them in a CUDA graph, or use kernels over \z
        symmetric memory (NCCL's device API, NVSHMEM), which have less latency.",
    },
  },
  evaluate = function(trace, options, factors)
    local comm = trace:ops { class = "collective" }
    if comm:count() == 0 then return {} end
    local steps = trace:fact "steps.count"
    local messages = trace
      :ranges {
        name = {
          "ncclAllReduce",
          "nccl:all_reduce*",
          "nccl:allreduce*",
          "ncclBroadcast",
          "ncclBcast",
          "nccl:broadcast*",
        },
        min_bytes = 1,
        max_bytes = options.min_bytes - 1,
      }
      :plus(trace:ranges {
        name = "nccl*",
        min_bytes = 1,
        max_bytes = options.gathered * options.min_bytes - 1,
      })
    local small =
      comm:where { max_ns = options.short_ns }:plus(comm:where { launched_in = messages })
    if
      small:count() == 0
      or small:count() < options.per_step * steps
      or 2 * small:count() < comm:count()
    then
      return {}
    end
    local exposed =
      small:exposed_ns(trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm))
    local total = trace:total_ns()
    local share = exposed / total
    -- If the host launches in time, starting them costs nothing.
    local starts = trace:ranges { name = { "c10d::*", "nccl:*", "nccl*" } }
    local started = small:where { launched_in = starts }:count() / small:count()
    local host =
      math.min(starts:union_ns() * started, trace:idle { cause = "launch*" }:union_ns())
    local host_share = host / total
    if math.max(share, host_share) < options.note_share then return {} end
    -- The larger ones between them are merged with them.
    local names = {}
    for _, group in ipairs(small:group("name", 1000)) do
      names[#names + 1] = group.key
    end
    local per_step = math.floor(small:count() / steps + 0.5)
    return {
      {
        subject = "small collectives",
        message = host > exposed and "host" or "main",
        data = {
          messages = string.format("%d", per_step),
          host = host / steps,
          host_share = host_share,
          count = per_step,
          all = math.floor(comm:count() / steps + 0.5),
          median = small:median "duration_ns",
          exposed = exposed / steps,
          share = share,
        },
        about = true,
        recoverable_ns = math.max(exposed, host),
        severity = trace:fact "steps.found" == 0
            and share >= options.unrepeated_share
            and "warning"
          or nil,
        -- Starting a few costs the host next to nothing; merging them launches copies.
        change = {
          { fuse = comm:where { name = names }, factor = factors.merged },
          { pause = starts, factor = factors.starting },
        },
        metrics = {
          {
            name = "small collectives " .. trace:fact "unit.per",
            value = per_step,
            unit = "count",
            threshold = options.per_step,
          },
          {
            name = "exposed time of small collectives",
            value = share,
            unit = "fraction",
            threshold = options.note_share,
          },
          {
            name = "host time to start them",
            value = host_share,
            unit = "fraction",
            threshold = options.note_share,
          },
        },
        evidence = small:evidence { most = 4 },
      },
    }
  end,
}

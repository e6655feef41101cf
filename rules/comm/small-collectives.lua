return {
  id = "small-collectives",
  category = "comm",
  title = "Many small collectives where a few large ones would do",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    per_step = { default = 50, unit = "count", doc = "Small collectives a step on a GPU from which they count. Recorded: DDP with its default buckets sends 17 a step." },
    short_ns = { default = 50000, unit = "ns", doc = "One that takes no longer is small: starting a collective takes 10 to 20 us of it." },
    min_bytes = { default = 5242880, unit = "bytes", doc = "And so is an all-reduce or a broadcast of fewer bytes, where ranges tell: a fifth of the 25 MiB that DistributedDataParallel sends at once, and less than a matrix of most models. Of gathers and scatters, of which ranges tell one rank's part, a fifth of that: below 1 MiB latency decides, not bandwidth." },
    note_share = { default = 0.01, unit = "fraction", doc = "Time that the small ones show, or that starting them keeps the host where the GPU waits for its launches, of the step, from which it is mentioned: hidden behind compute they cost little." },
    unrepeated_share = { default = 0.05, unit = "fraction", doc = "Where nothing repeats, the program's start is in the recording, and the replay hides behind it what a step would show: from this share of the recording on that they run alone it is a warning, whatever the replay says. As exposed-collective." },
  },
  messages = {
    main = "{count} small collectives {a_step} on each GPU (of {all}, median {median:ns}) run with nothing computed beside them for {exposed:ns} of {each_step} ({share:fraction}).",
    host = "{count} small collectives {a_step} on each GPU (of {all}, median {median:ns}) take the host {host:ns} of {each_step} ({host_share:fraction}) to start, while the GPU waits for launches.",
  },
  doc = {
    what = "Counts collectives that are short, or whose message is small, where they are many and at least half of all, and adds up the time in which nothing is computed beside them, and the time of the host in the operators and ranges that start them, as far as GPUs wait for launches.",
    why = "A small message takes as long as its latency, 10 to 50 us, however few bytes it has; ten in one cost little more than one alone. Each is a kernel launch on the host as well.",
    fix = "Send tensors together: DDP buckets (bucket_cap_mb), torch._utils._flatten_dense_tensors or a coalescing manager (torch.distributed._coalescing_manager) in hand-written loops, dist.all_reduce of one stacked tensor for metrics; larger FSDP units; reduce_bucket_size and allgather_bucket_size in DeepSpeed.",
    wrong = "Tensor-parallel layers need each of theirs at once, in decoding with few bytes each: then only lower latency helps (CUDA graphs, NVLink SHARP, one-shot kernels over symmetric memory).",
  },
  evaluate = function(trace, options)
    local comm = trace:ops { class = "collective" }
    if comm:count() == 0 then return {} end
    local steps = trace:fact "steps.count"
    local messages = trace:ranges { name = { "ncclAllReduce", "nccl:all_reduce*", "nccl:allreduce*", "ncclBroadcast", "ncclBcast", "nccl:broadcast*" }, min_bytes = 1, max_bytes = options.min_bytes - 1 }
      :plus(trace:ranges { name = "nccl*", min_bytes = 1, max_bytes = options.min_bytes / 5 - 1 })
    local small = comm:where { max_ns = options.short_ns }:plus(comm:where { launched_in = messages })
    if small:count() == 0 or small:count() < options.per_step * steps or 2 * small:count() < comm:count() then return {} end
    local exposed = small:exposed_ns(trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm))
    local total = trace:total_ns()
    local share = exposed / total
    -- A host that launches in time starts them for nothing.
    local starts = trace:ranges { name = { "c10d::*", "nccl:*", "nccl*" } }
    local started = small:where { launched_in = starts }:count() / small:count()
    local host = math.min(starts:union_ns() * started, trace:idle { cause = "launch*" }:union_ns())
    local host_share = host / total
    if math.max(share, host_share) < options.note_share then return {} end
    -- The larger ones between them go with them.
    local names = {}
    for _, group in ipairs(small:group("name", 1000)) do names[#names + 1] = group.key end
    local per_step = math.floor(small:count() / steps + 0.5)
    local advice = {
      {
        deepspeed = "Send them together: reduce_bucket_size and allgather_bucket_size of 5e8.",
        pytorch = {
          training = string.format("Send them together: in buckets of 25 MB or more (DistributedDataParallel does by itself: bucket_cap_mb) a gradient that now goes in %d messages goes in a few. In a loop of your own: one flat buffer, or torch.distributed._coalescing_manager.", per_step),
          cuda = "Send them together: one flat buffer, or torch.distributed._coalescing_manager.",
        },
        cuda = "Send them together: one buffer for all, or at least one call for all (ncclGroupStart and ncclGroupEnd around them).",
      },
      { fsdp = "Wrap whole transformer blocks, not single layers.", pytorch = "Metrics: stack them and reduce once, every so many steps." },
      {
        pytorch = "Where each is needed at once (tensor parallelism): capture them in CUDA graphs, or use one-shot kernels over symmetric memory (torch.ops.symm_mem, the custom all-reduce of inference engines), which have less latency.",
        cuda = "Where each is needed at once: capture them in a CUDA graph, or use kernels over symmetric memory (NCCL's device API, NVSHMEM), which have less latency.",
      },
    }
    return { {
      subject = "small collectives",
      message = host > exposed and "host" or "main",
      data = { host = host / steps, host_share = host_share, count = per_step, all = math.floor(comm:count() / steps + 0.5), median = small:median "duration_ns", exposed = exposed / steps, share = share },
      about = true,
      recoverable_ns = math.max(exposed, host),
      severity = trace:fact "steps.found" == 0 and share >= options.unrepeated_share and "warning" or nil,
      -- To start a few costs the host next to nothing; to put them together it launches copies.
      change = { { fuse = comm:where { name = names }, by = 3, least = 1, most = 10 }, { pause = starts, by = 0, most = 0.3 } },
      metrics = {
        { name = "small collectives " .. trace:fact "unit.per", value = per_step, unit = "count", threshold = options.per_step },
        { name = "their exposed time", value = share, unit = "fraction", threshold = options.note_share },
        { name = "host time to start them", value = host_share, unit = "fraction", threshold = options.note_share },
      },
      evidence = small:evidence { most = 4 },
      advice = advice,
    } }
  end,
}

return {
  id = "ddp-buffers",
  category = "comm",
  title = "Buffers are broadcast to all ranks in every forward pass",
  since = "0.1",
  needs = { "kernels", "calls", "graph_nodes" },
  options = {
    share = { default = 0.03, unit = "fraction", doc = "Time in which the GPU does nothing but broadcast buffers and put them back, or waits for the host to do so, of the step, from which it counts: as for other remedies that are one switch." },
  },
  messages = {
    main = "{broadcasts} broadcasts {a_step} before the loss send buffers (running means of normalization, as a rule): with {copies} copies that put them back they keep the GPU from computing for {time:ns} of {each_step} ({share:fraction}), for {idle:ns} of it since it waits for the host.",
  },
  doc = {
    what = "Finds broadcasts in training steps before their loss, and the copies that follow them, and adds up their time with nothing computed beside them and the idle time before them in which the host packs and unpacks buffers.",
    why = "DistributedDataParallel sends all buffers of rank 0 to the others before each forward pass. Each is a small tensor that the host flattens, unflattens and copies by itself: with many normalization layers that takes longer than the broadcast.",
    fix = "broadcast_buffers=False where ranks may keep their own running statistics (they are used in evaluation alone; broadcast them before it), or SyncBatchNorm, whose statistics are equal anyway.",
    wrong = "Where ranks have to see equal buffers in training (codebooks, moving averages that forward uses), they have to be sent: then send one flat buffer of which they are views.",
  },
  evaluate = function(trace, options)
    local comm = trace:ops { class = "collective" }
    if comm:where { collective = "broadcast" }:count() == 0 or not trace:is "training" then return {} end
    if trace:fact "steps.found" == 0 then
      return nil, "nothing was found that repeats, so a broadcast of every step cannot be told from one at the start", trace:words { nsys = "--trace=cuda,nvtx, with an NVTX range around each step", torch_profiler = "torch.profiler.profile with schedule and step()" }
    end
    local broadcasts, copies = trace:broadcast_buffers()
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    if broadcasts:count() < steps or copies:count() < 2 * broadcasts:count() then return {} end
    local rest = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    -- Before the first broadcast the host may do other things as well: of that, what it packs.
    local idle = trace:idle { before = copies }:plus(trace:idle { before = broadcasts, after = broadcasts })
    local packing = trace:ranges { name = { "aten::flatten_dense_tensors*", "c10d::broadcast*", "nccl:broadcast*", "ncclBroadcast", "ncclBcast" } }
    local packed = trace:idle { before = broadcasts }:minus(idle):overlap_ns(packing)
    local waits = idle:union_ns() + packed
    local time = broadcasts:plus(copies):exposed_ns(rest) + waits
    local share = time / total
    if share < options.share then return {} end
    return { {
      subject = "buffers",
      message = "main",
      data = { broadcasts = math.floor(broadcasts:count() / steps + 0.5), copies = math.floor(copies:count() / steps + 0.5), time = time / steps, idle = waits / steps, share = share },
      recoverable_ns = time,
      cited_ns = time,
      change = { { remove = broadcasts }, { remove = copies }, { pause = idle }, { pause = packing } },
      metrics = { { name = "broadcasting buffers", value = share, unit = "fraction", threshold = options.share } },
      evidence = idle:evidence { most = 2, note = "buffers are unpacked" } ,
      advice = {
        {
          pytorch = "DistributedDataParallel(model, broadcast_buffers=False): each rank then keeps its own running statistics, which only evaluation uses; broadcast those of one rank before that.",
          cuda = "Send them once before they are used, not each time.",
        },
        { pytorch = "torch.nn.SyncBatchNorm.convert_sync_batchnorm(model) keeps statistics equal, at the price of a small all-reduce a layer." },
      },
    } }
  end,
}

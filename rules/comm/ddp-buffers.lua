return {
  id = "ddp-buffers",
  category = "comm",
  title = "Buffers are broadcast to all ranks in every forward pass",
  since = "0.1",
  needs = { "kernels", "calls", "graph_nodes" },
  options = {
    share = {
      default = 0.03,
      unit = "fraction",
      doc = "Reported from this share of the step: time in which the GPU only broadcasts buffers \z
        and puts them back, or waits for the host to do so. As for other fixes that are one \z
        switch.",
    },
  },
  messages = {
    main = "Before the loss, {broadcasts:# broadcast sends|# broadcasts send} buffers {a_step} \z
      (usually running statistics of normalization). With {copies:# copy that puts|# copies that \z
      put} them back, this keeps the GPU from computing for {time:lost} of {each_step} \z
      ({share:fraction}); for {idle:ns} of that it waits for the host.",
  },
  headlines = {
    main = "Buffers are broadcast each {unit} and put back by {copies:# copy|# copies}",
  },
  doc = {
    what = "Finds broadcasts before the loss of training steps and the copies that follow them, \z
      and adds up their time while nothing computes and the idle time before them in which the \z
      host packs and unpacks buffers.",
    why = "`DistributedDataParallel` sends all buffers of rank 0 to the others before each \z
      forward pass. Each is a small tensor that the host flattens, unflattens and copies \z
      separately: with many normalization layers that takes longer than the broadcast.",
    fix = "`broadcast_buffers=False` if each rank may keep its own running statistics (only \z
      evaluation uses them; broadcast them before it), or `SyncBatchNorm`, whose statistics are \z
      equal anyway.",
    wrong = "If ranks must see equal buffers in training (codebooks, moving averages that forward \z
      uses), they have to be sent: then send one flat buffer and make them views of it.",
  },
  advice = {
    {
      pytorch = "Turn off `broadcast_buffers`{.}: `DistributedDataParallel(model, \z
        broadcast_buffers=False)`. Each rank then keeps its own running statistics, which only \z
        evaluation uses; broadcast those of one rank before evaluation.",
      cuda = "Send the buffers once{.}: before they are used, not every time.",
    },
    {
      pytorch = "Or keep the statistics equal{.}: \z
        `torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)`, for the price of a small \z
        all-reduce per layer.",
    },
  },
  evaluate = function(trace, options)
    local comm = trace:ops { class = "collective" }
    if comm:where { collective = "broadcast" }:count() == 0 or not trace:is "training" then
      return {}
    end
    if trace:fact "steps.found" == 0 then
      return nil,
        "no steps were found, so a broadcast of every step cannot be told from one at the start",
        trace:words {
          nsys = "`--trace=cuda,nvtx`, with an NVTX range around each step",
          torch_profiler = "`torch.profiler.profile` with schedule and `step()`",
        }
    end
    local broadcasts, copies = require "broadcast_buffers"(trace)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    if broadcasts:count() < steps or copies:count() < 2 * broadcasts:count() then return {} end
    local rest = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    -- Before the first broadcast the host may also do other things: count only what it spends on
    -- packing.
    local idle = trace
      :idle { before = copies }
      :plus(trace:idle { before = broadcasts, after = broadcasts })
    local packing = trace:ranges {
      name = {
        "aten::flatten_dense_tensors*",
        "c10d::broadcast*",
        "nccl:broadcast*",
        "ncclBroadcast",
        "ncclBcast",
      },
    }
    local packed = trace:idle { before = broadcasts }:minus(idle):overlap_ns(packing)
    local waits = idle:union_ns() + packed
    local time = broadcasts:plus(copies):exposed_ns(rest) + waits
    local share = time / total
    if share < options.share then return {} end
    return {
      {
        subject = "buffers",
        message = "main",
        data = {
          broadcasts = math.floor(broadcasts:count() / steps + 0.5),
          copies = math.floor(copies:count() / steps + 0.5),
          time = time / steps,
          idle = waits / steps,
          share = share,
        },
        recoverable_ns = time,
        cited_ns = time,
        change = {
          { remove = broadcasts },
          { remove = copies },
          { pause = idle },
          { pause = packing },
        },
        metrics = {
          {
            name = "broadcasting buffers",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = idle:evidence { most = 2, note = "buffers are unpacked" },
      },
    }
  end,
}

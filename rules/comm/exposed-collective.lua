-- How to hide a collective that reduces or gathers, if the program has no switch for it.
local let_overlap = {
  jax = "Let XLA overlap communication: XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true.",
  cuda = "Start communication in pieces on its own stream: each piece as soon as its data is \z
    ready. Kernels that need the result wait for an event (cudaStreamWaitEvent).",
}

-- DeepEP's own calls, of programs that call them directly.
local deepep_kernels = { "*deep_ep::*", "*internode::*", "*intranode::*", "*internode_ll::*" }

local kinds = {
  { of = { "all-reduce" }, name = "all-reduce" },
  { of = { "reduce-scatter", "all-gather" }, name = "reduce-scatter and all-gather" },
  { of = { "all-to-all" }, name = "all-to-all" },
  { of = { "broadcast" }, name = "broadcast" },
  { of = { "send and receive" }, name = "send and receive" },
}

local constants = {
  letters = 40, -- of a group's name in the message
  large_bytes = 2 ^ 20, -- smaller messages are bound by latency (slow-collective)
  pcie_bytes_per_s = 55e9, -- what PCIe 5 x16 carries in practice (schemas/gpus.toml)
}

-- Whether collectives that gather and scatter carry activations (tensor and sequence parallelism):
-- DTensor's Redistribute launches them, or, where no weights are gathered, most gathers follow a
-- scatter. Sharded gradients are all scattered before anything is gathered.
local function carry_activations(trace, rows, weights)
  local redistributed = rows:where { launched_in = trace:ranges { name = "Redistribute*" } }
  if 2 * redistributed:count() > rows:count() then return true end
  if weights.all:count() > 0 then return false end
  local before, gathers, after = {}, 0, 0
  rows:keep({ "collective", "device" }, function(c)
    if c.collective == "all-gather" then
      gathers = gathers + 1
      if before[c.device] == "reduce-scatter" then after = after + 1 end
    end
    before[c.device] = c.collective
    return false
  end)
  return after > trace:fact "steps.count" and 2 * after > gathers
end

-- How fast the fastest large all-gather moved data from one rank to the next, in bytes/s: it waited
-- least. nil without sizes.
local function gather_rate(rows)
  local most
  rows
    :where({ collective = "all-gather" })
    :keep({ "message_bytes", "duration_ns", "ranks" }, function(c)
      if
        c.message_bytes >= constants.large_bytes
        and (c.ranks or 0) > 1
        and c.duration_ns > 0
      then
        local sent = c.message_bytes * (c.ranks - 1)
        most = math.max(most or 0, sent / c.duration_ns * 1e9)
      end
      return false
    end)
  return most
end

return {
  id = "exposed-collective",
  category = "comm",
  title = "Communication between GPUs is not hidden behind compute",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  warning_at = 0.04, -- share * won.by: what overlap wins of the least
  options = {
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Reported from this share of the step: collectives while nothing computes. The \z
        PyTorch profiler's advisor used 10 %. Recorded: 0.4 % with two healthy DDP ranks.",
    },
    note_share = {
      default = 0.05,
      unit = "fraction",
      doc = "From this share of the step it is a note.",
    },
    short_ns = {
      default = 50000,
      unit = "ns",
      doc = "Collectives that take no longer are small: if most of the exposed time is theirs, \z
        the finding follows from small-collectives. As there.",
    },
    waits_share = {
      default = 0.1,
      unit = "fraction",
      doc = "Share of the exposed time that is waiting for a late rank, from which the message \z
        says so. Chosen.",
    },
  },
  factors = {
    won = {
      by = 0.4,
      least = 0.2,
      most = 0.6,
      doc = "What hiding a collective saves, as a share of its exposed time: compute that \z
        overlaps with it has fewer SMs and less memory bandwidth, the collective itself takes \z
        longer, and its first and last parts stay exposed.",
      source = "Measured on two H200: 0.30 to 0.32 where halves of a layer, experts or FSDP's \z
        weights were made to overlap, 0.55 with DDP's buckets.",
    },
  },
  messages = {
    main = "Collectives keep the GPU from computing for {exposed:lost} of {each_step} \z
      ({share:fraction}): {hidden:fraction} of their {time:ns} hides behind kernels. Most of the \z
      exposed time is {kind}{among}.{waits}",
  },
  headlines = {
    main = "{share:fraction} of the {unit} is exposed {exposed_kind}",
  },
  doc = {
    what = "Adds up the time in which a GPU runs only collectives (NCCL and similar), out of the \z
      account. If a report holds several ranks, it also says how much of that is waiting for a \z
      late rank.",
    why = "Gradients of the last layers can travel while the first layers still compute, and the \z
      next layer's weights while this one runs: communication that overlaps is free. Exposed \z
      communication grows with the number of GPUs.",
    fix = "Let backward overlap: DDP buckets, FSDP prefetching, `--overlap-grad-reduce` and \z
      `--overlap-param-gather` in Megatron and NeMo, `overlap_comm` in DeepSpeed. Communicate \z
      less often (`no_sync` with gradient accumulation) and less (BF16 gradients). Also look for \z
      a late rank and for messages that are too small.",
    wrong = "A collective lasts from when its first rank enters to when the last one leaves: with \z
      one rank in the report, waiting for another cannot be told from sending. In pipeline \z
      parallelism it is the bubble. The last bucket of a backward pass never hides.",
  },
  advice = {
    -- What DeepEP's own calls offer.
    {
      when = "deepep",
      pytorch = {
        "Overlap dispatch and combine with compute{.}: DeepEP's `async_finish=True` \z
          (ElasticBuffer: `async_with_compute_stream=True`), work on other tokens meanwhile, and \z
          wait for the event only where the result is used. What still runs alone on the GPU may \z
          take more SMs (`num_sms`).",
        {
          tokens = "For decoding{.}: `low_latency_dispatch` and `low_latency_combine` with \z
            `return_recv_hook=True` transfer data without taking SMs.",
        },
      },
      cuda = "Send one half of the tokens while the other half computes{.}. Keep the exchange \z
        within NVLink.",
    },
    -- How to switch on overlap for each kind of collective.
    {
      when = "all-reduce",
      megatron = "Switch on overlap{.}: `--sequence-parallel --tp-comm-overlap` for tensor \z
        parallelism, `--overlap-grad-reduce --overlap-param-gather` for the distributed \z
        optimizer.",
      nemo = "Switch on overlap{.}: `model.ub_tp_comm_overlap=True` for tensor parallelism, \z
        `overlap_grad_reduce=True` and `overlap_param_gather=True` for the distributed optimizer.",
      vllm = "Use fewer GPUs per replica{.}: `--tensor-parallel-size` no larger than the model \z
        needs and within NVLink, and replicas on the other GPUs (`--data-parallel-size`).",
      sglang = "Fuse the all-reduce into the norm{.}: `--enable-flashinfer-allreduce-fusion`. Use \z
        no more GPUs per replica than the model needs (`--tp-size`), and replicas on the others \z
        (`--dp-size`).",
      tensorrt_llm = "Use fewer GPUs per replica{.}: `tensor_parallel_size` no larger than the \z
        model needs and within NVLink, and replicas on the other GPUs.",
      deepspeed = "Overlap the reduction with backward{.}: `overlap_comm: true` in \z
        `zero_optimization`. With gradient accumulation reduce once, at its boundary.",
      pytorch = {
        training = {
          "Overlap gradient reduction with backward{.}: `DistributedDataParallel` reduces in \z
            buckets during backward. `static_graph=True` and `find_unused_parameters=False` keep \z
            that going, `bucket_cap_mb=100` makes fewer and larger messages, \z
            `gradient_as_bucket_view=True` saves their copies. A loop of `all_reduce` calls after \z
            backward hides nothing.",
          "With gradient accumulation, reduce once{.}: wrap all micro-batches but the last in \z
            `model.no_sync()`.",
        },
        cuda = "Start each all-reduce early{.}: with `async_op=True` as soon as its input is \z
          ready, and wait for it only where the result is used. If each layer needs one (tensor \z
          parallelism), send one half of the batch while the other computes.",
      },
      jax = let_overlap.jax,
      cuda = let_overlap.cuda,
    },
    {
      when = "activations",
      megatron = "Overlap tensor parallelism's messages{.}: `--sequence-parallel \z
        --tp-comm-overlap`.",
      nemo = "Overlap tensor parallelism's messages{.}: `model.ub_tp_comm_overlap=True`.",
      pytorch = "Send one half of the batch while the other half computes{.}: what is gathered \z
        and scattered are activations (tensor and sequence parallelism), which the next product \z
        needs at once. Compiled models can also cut messages up along with their products (async \z
        tensor parallelism: `torch._inductor.config._micro_pipeline_tp`, with symmetric memory).",
      cuda = "Send one half of the batch while the other half computes{.}: what is gathered and \z
        scattered are activations (tensor and sequence parallelism), which the next product needs \z
        at once.",
    },
    {
      when = { "activations", "slow_link" },
      "Keep tensor parallelism within NVLink{.}: these messages move at {gather_rate} GB/s, no \z
        more than PCIe carries. See whether peer access is on (`nvidia-smi topo -p2p r`); fewer \z
        GPUs a replica, and more replicas or pipeline stages, send less.",
    },
    {
      when = "reduce-scatter and all-gather",
      unless = "activations",
      megatron = "Switch on overlap{.}: `--use-distributed-optimizer --overlap-grad-reduce \z
        --overlap-param-gather`; for tensor parallelism `--sequence-parallel --tp-comm-overlap`.",
      nemo = "Switch on overlap{.}: `overlap_grad_reduce=True` and `overlap_param_gather=True` of \z
        the distributed optimizer; for tensor parallelism `model.ub_tp_comm_overlap=True`.",
      deepspeed = "Overlap communication with compute{.}: `overlap_comm: true`, and stage 2 \z
        instead of 3 if memory allows.",
      pytorch = {
        training = {
          "Prefetch the next block's weights{.}: FSDP with each transformer block wrapped \z
            separately, `backward_prefetch=BackwardPrefetch.BACKWARD_PRE`, \z
            `forward_prefetch=True`; FSDP2: `set_modules_to_forward_prefetch` and \z
            `set_modules_to_backward_prefetch`. If memory allows, keep gathered weights: \z
            `ShardingStrategy.SHARD_GRAD_OP`, or `reshard_after_forward=False`.",
          "With gradient accumulation, communicate once{.}: `no_sync()` (FSDP2: \z
            `set_requires_gradient_sync(False)`) on all micro-batches but the last.",
        },
        cuda = "Gather the next layer's weights while this one computes{.}: `async_op=True`, or \z
          FSDP with `forward_prefetch=True`. If memory allows, keep them gathered.",
      },
      jax = let_overlap.jax,
      cuda = let_overlap.cuda,
    },
    {
      when = "all-to-all",
      torchrec = "Exchange the next batch's features during compute{.}: TrainPipelineSparseDist, \z
        or PrefetchTrainPipelineSparseDist if tables are cached on the GPU.",
      vllm = "Send one half of the batch while the other computes{.}: `--enable-dbo`, which needs \z
        `--data-parallel-size`, `--enable-expert-parallel` and one of DeepEP's \z
        `--all2all-backend`.",
      sglang = "Send one half of the batch while the other computes{.}: \z
        `--enable-two-batch-overlap`, with `--moe-a2a-backend deepep`.",
      megatron = "Overlap the exchange with the shared expert{.}: `--moe-shared-expert-overlap`, \z
        `--moe-token-dispatcher-type flex` with `--moe-enable-deepep`. Keep expert parallelism \z
        within NVLink.",
      pytorch = {
        "Send one half of the tokens while the other half computes{.}. Keep expert parallelism \z
          within NVLink.",
        "If embedding tables are spread over ranks{.}: look up the next batch while this one \z
          computes.",
      },
      cuda = "Send one half of the data while the other half computes{.}. Keep the exchange \z
        within NVLink.",
    },
    {
      when = "broadcast",
      pytorch = "Send what does not change only once{.}: start the rest with `async_op=True` \z
        while other work runs.",
      cuda = "Send what does not change only once{.}: send the rest on a separate stream while \z
        other work runs.",
    },
    {
      when = "send and receive",
      megatron = "Run more micro-batches a step{.}: with \z
        `--num-layers-per-virtual-pipeline-stage` and without `--no-overlap-p2p-communication`.",
      nemo = "Run more micro-batches a step{.}: with `virtual_pipeline_model_parallel_size`.",
      pytorch = {
        training = "Run more micro-batches a step{.}: with several stages on each rank in turn \z
          (`torch.distributed.pipelining`: `ScheduleInterleaved1F1B`).",
        cuda = "Cut the batch into more parts{.}: then all pipeline stages work at once.",
      },
      cuda = "Send each part as soon as it is computed{.}: on a separate stream, while the rest \z
        computes.",
    },
    {
      when = "another kind",
      "Put communication on its own stream{.}: start it as soon as its data is ready.",
    },
    {
      when = "in FP32",
      megatron = "Halve the messages, which are FP32{.}: leave out \z
        `--accumulate-allreduce-grads-in-fp32`.",
      fsdp = "Halve the messages, which are FP32{.}: \z
        `MixedPrecision(reduce_dtype=torch.bfloat16)`.",
      pytorch = {
        training = "Halve the messages, which are FP32{.}. DDP: `model.register_comm_hook(None, \z
          torch.distributed.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_hook)`; FSDP: \z
          `MixedPrecision(reduce_dtype=torch.bfloat16)`.",
      },
      cuda = "Halve the messages, which are FP32{.}: send half precision if the result tolerates \z
        it.",
    },
  },
  evaluate = function(trace, options, factors)
    local comm = trace:ops { class = "collective" }
    if comm:count() == 0 then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local exposed = trace:fact "account.communication_exposed_ns" * steps
    -- Every rank but the late one waits, and rank-straggler claims that time.
    local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    local others, waits, late = trace:fact "device.count" - 1, 0, trace:late_devices()
    for _, l in ipairs(late) do
      waits = waits + l.exposed_ns * others
    end
    waits = math.max(waits, (require "transfers"(trace, comm, compute)))
    local sending = math.max(0, exposed - waits)
    local share = sending / total
    if share == 0 or share < options.note_share then return {} end

    local kind, most, rows = nil, 0, nil
    for _, k in ipairs(kinds) do
      local of_kind = comm:where { collective = k.of }
      local shown = of_kind:exposed_ns(compute)
      if shown > most then
        kind, most, rows = k, shown, of_kind
      end
    end
    -- Which process group most of it is in, if the report says so.
    local group = rows and rows:exposed(compute):group("group", 1)[1]
    local among = ""
    if group and group.key ~= "" then
      local ranks = group.rows:median "ranks"
      among = string.format(
        " in group %s%s",
        #group.key > constants.letters and group.key:sub(1, constants.letters - #"...") .. "..."
          or group.key,
        ranks and string.format(" of %.0f ranks", ranks) or ""
      )
    end
    -- More and smaller micro-batches shorten the wait of pipeline stages for each other, but no
    -- message.
    local bubble = kind and kind.name == "send and receive"
    -- Gathers that come late and reductions that come too often have separate rules.
    local root = bubble and "pipeline-bubble" or nil
    local activations, rate = false, nil
    if kind and not root then
      local weights, gradients =
        require "gathered_weights"(trace), require "reduced_gradients"(trace)
      activations = kind.name == "reduce-scatter and all-gather"
        and carry_activations(trace, rows, weights)
      rate = activations and gather_rate(rows) or nil
      if 2 * weights.late:plus(weights.held_up):exposed_ns(compute) > exposed then
        root = "fsdp-late-gather"
      elseif 2 * gradients.early:exposed_ns(compute) > exposed then
        root = "grad-sync-every-microbatch"
      end
    end
    -- In the replay the collectives of matched ranks take as long as after the last one came.
    local won = #late > 0 and 1 or sending / exposed
    local short = comm:where { max_ns = options.short_ns }:exposed_ns(compute)

    local deepep = rows
      and 2 * rows:where { name = deepep_kernels }:exposed_ns(compute) > most
      and not (trace:is "vllm" or trace:is "sglang" or trace:is "megatron" or trace:is "nemo")
    local in_fp32 = comm:where { name = { "*_f32_*", "*_float*", "*Sum_f32*" } }:union_ns()
      > comm:union_ns() / 2
    return {
      {
        subject = "collectives",
        message = "main",
        data = {
          exposed = exposed / steps,
          share = exposed / total,
          time = comm:union_ns() / steps,
          hidden = math.max(0, 1 - exposed / comm:union_ns()),
          kind = kind and kind.name or "of another kind",
          exposed_kind = kind and kind.name or "communication",
          among = among,
          gather_rate = rate and string.format("%.0f", rate / 1e9) or "",
          waits = waits > options.waits_share * exposed
              and string.format(
                " About %.0f %% of it is waiting for a late rank, which is not counted here.",
                math.min(1, waits / exposed) * 100
              )
            or "",
        },
        recoverable_ns = bubble and factors.won.by * sending or sending,
        change = not bubble and {
          {
            scale = comm:exposed(compute),
            by = 1 - won * factors.won.by,
            least = 1 - won * factors.won.most,
            most = 1 - won * factors.won.least,
          },
        } or nil,
        at_most = share < options.share and "note" or nil,
        follows_from = root or short > exposed / 2 and "small-collectives" or nil,
        metrics = {
          {
            name = "exposed communication",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
          {
            name = "of it waiting for a late rank",
            value = math.min(1, waits / math.max(exposed, 1)),
            unit = "fraction",
          },
        },
        evidence = comm
          :exposed(compute)
          :evidence { most = 5, note = "mostly alone on its GPU" },
        seen = {
          [deepep and "deepep" or kind and kind.name or "another kind"] = true,
          ["in FP32"] = in_fp32 and not activations,
          activations = activations,
          slow_link = rate and rate < constants.pcie_bytes_per_s,
        },
      },
    }
  end,
}

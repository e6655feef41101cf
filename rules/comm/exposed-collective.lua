-- How to hide a collective that reduces or gathers, where the program has no switch for it.
local let_overlap = {
  jax = "Let XLA overlap it: XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true.",
  cuda = "Start it in pieces, each as soon as its data is there, on a stream of its own; kernels that need the result wait for an event (cudaStreamWaitEvent).",
}

-- What DeepEP's own calls have for it, where the program makes them itself.
local deepep_kernels = { "*deep_ep::*", "*internode::*", "*intranode::*", "*internode_ll::*" }
local deepep_advice = {
  {
    pytorch = {
      "DeepEP: dispatch and combine with async_finish=True (ElasticBuffer: async_with_compute_stream=True), work on other tokens meanwhile, and wait for the event only where the result is used. What stays alone on the GPU may take more SMs (num_sms).",
      { tokens = "Decoding: low_latency_dispatch and low_latency_combine with return_recv_hook=True travel without taking SMs." },
    },
    cuda = "Let one half of the tokens travel while the other half is computed, and keep what is exchanged within NVLink.",
  },
}

-- Where the overlap of each kind of collective is switched on.
local kinds = {
  { of = { "all-reduce" }, name = "all-reduce", advice = {
    {
      megatron = "Tensor parallelism: --sequence-parallel --tp-comm-overlap. Distributed optimizer: --overlap-grad-reduce --overlap-param-gather.",
      nemo = "Tensor parallelism: model.ub_tp_comm_overlap=True. Distributed optimizer: overlap_grad_reduce=True, overlap_param_gather=True.",
      vllm = "Tensor parallelism: over as few GPUs as the model needs (--tensor-parallel-size), within NVLink, and replicas on the others (--data-parallel-size).",
      sglang = "Tensor parallelism: --enable-flashinfer-allreduce-fusion takes it into the norm that follows. Over as few GPUs as the model needs (--tp-size), and replicas on the others (--dp-size).",
      tensorrt_llm = "Tensor parallelism: over as few GPUs as the model needs (tensor_parallel_size), within NVLink, and replicas on the others.",
      deepspeed = "overlap_comm: true in zero_optimization; with gradient accumulation reduce once, at its boundary.",
      pytorch = {
        training = {
          "DistributedDataParallel reduces in buckets beside backward: static_graph=True and find_unused_parameters=False keep that going, bucket_cap_mb=100 makes fewer and larger messages, gradient_as_bucket_view=True saves their copies. A loop of all_reduce calls after backward hides nothing.",
          "With gradient accumulation reduce once: with model.no_sync() around all micro-batches but the last.",
        },
        cuda = "Start each with async_op=True as soon as its input is there, and wait for it only where the result is used. Where each layer needs its own (tensor parallelism), send one half of the batch while the other computes.",
      },
      jax = let_overlap.jax,
      cuda = let_overlap.cuda,
    },
  } },
  { of = { "reduce-scatter", "all-gather" }, name = "reduce-scatter and all-gather", advice = {
    {
      megatron = "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather; tensor parallelism: --sequence-parallel --tp-comm-overlap.",
      nemo = "overlap_grad_reduce=True and overlap_param_gather=True of the distributed optimizer; tensor parallelism: model.ub_tp_comm_overlap=True.",
      deepspeed = "overlap_comm: true, and stage 2 instead of 3 where it fits.",
      pytorch = {
        training = {
          "FSDP: wrap each transformer block by itself, backward_prefetch=BackwardPrefetch.BACKWARD_PRE, forward_prefetch=True; FSDP2: set_modules_to_forward_prefetch and set_modules_to_backward_prefetch. Where memory allows, keep gathered weights: ShardingStrategy.SHARD_GRAD_OP, or reshard_after_forward=False.",
          "With gradient accumulation communicate once: no_sync() (FSDP2: set_requires_gradient_sync(False)) on all micro-batches but the last.",
        },
        cuda = "Gather the next layer's weights while this one computes (async_op=True, or FSDP with forward_prefetch=True); where memory allows, keep them gathered.",
      },
      jax = let_overlap.jax,
      cuda = let_overlap.cuda,
    },
  } },
  { of = { "all-to-all" }, name = "all-to-all", advice = {
    {
      torchrec = "Exchange the next batch's features beside this one's compute: TrainPipelineSparseDist, and PrefetchTrainPipelineSparseDist where tables are cached on the GPU.",
      vllm = "Let one half of the batch travel while the other is computed: --enable-dbo, which wants --data-parallel-size, --enable-expert-parallel and one of DeepEP's --all2all-backend.",
      sglang = "Let one half of the batch travel while the other is computed: --enable-two-batch-overlap, with --moe-a2a-backend deepep.",
      megatron = "--moe-shared-expert-overlap, --moe-token-dispatcher-type flex with --moe-enable-deepep. Keep expert parallelism within NVLink.",
      pytorch = {
        "Experts: let one half of the tokens travel while the other half computes. Keep expert parallelism within NVLink.",
        "Embedding tables that are spread over ranks: look the next batch up beside this one's compute.",
      },
      cuda = "Let one half of the data travel while the other half is computed, and keep what is exchanged within NVLink.",
    },
  } },
  { of = { "broadcast" }, name = "broadcast", advice = {
    {
      pytorch = "Send what does not change once, not in each step; what does, start with async_op=True beside work that does not need it.",
      cuda = "Send what does not change once, not in each step; what does, on a stream of its own beside work that does not need it.",
    },
  } },
  { of = { "send and receive" }, name = "send and receive", advice = {
    {
      megatron = "Pipeline parallelism: more micro-batches a step, --num-layers-per-virtual-pipeline-stage without --no-overlap-p2p-communication.",
      nemo = "Pipeline parallelism: more micro-batches a step, virtual_pipeline_model_parallel_size.",
      pytorch = { training = "Pipeline parallelism: more micro-batches a step, and several stages on each rank in turn (torch.distributed.pipelining: ScheduleInterleaved1F1B).", cuda = "Pipeline parallelism: cut the batch into more parts, so that all stages work at once." },
      cuda = "Send each part as soon as it is computed, on a stream of its own, while the rest is computed.",
    },
  } },
}

return {
  id = "exposed-collective",
  category = "comm",
  title = "Communication between GPUs is not hidden behind compute",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = { default = 0.10, unit = "fraction", doc = "Time of collectives with nothing computed beside them, of the step, from which it counts. The PyTorch profiler's advisor used 10 %. Recorded: 0.4 % with two healthy DDP ranks." },
    won = { default = 0.4, unit = "fraction", doc = "What hiding a collective wins, of the time in which nothing runs beside it: compute beside one has fewer SMs and less memory bandwidth, it takes longer itself, and its first and last part stay. Measured on two H200: 0.30 to 0.32 where halves of a layer, experts or FSDP's weights were made to overlap, 0.55 with DDP's buckets." },
    note_share = { default = 0.05, unit = "fraction", doc = "From this share on it is mentioned as a note." },
  },
  messages = {
    main = "Collectives keep the GPU from computing for {exposed:ns} of {each_step} ({share:fraction}): {hidden:fraction} of their {time:ns} hides behind kernels. Most of what shows is {kind}{among}.{waits}",
  },
  doc = {
    what = "Adds up the time in which a GPU runs collectives (NCCL and its likes) and nothing else, out of the account. Where a report holds several ranks, it tells how much of that is waiting for a rank that came later.",
    why = "Gradients of the last layers can travel while the first layers still compute, and the next layer's weights while this one runs: communication that overlaps is free. What does not overlap grows with the number of GPUs.",
    fix = "Let backward overlap: DDP buckets, FSDP prefetching, --overlap-grad-reduce and --overlap-param-gather in Megatron and NeMo, overlap_comm in DeepSpeed. Communicate less often (no_sync with gradient accumulation) and less (BF16 gradients). Look also at what is waited for: a late rank, or messages too small.",
    wrong = "A collective lasts from when its first rank enters to when the last one leaves: with one rank in the report, waiting for another cannot be told from sending. In pipeline parallelism it is the bubble. The last bucket of a backward pass never hides.",
  },
  evaluate = function(trace, options)
    local comm = trace:ops { class = "collective" }
    if comm:count() == 0 then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local exposed = trace:fact "account.communication_exposed_ns" * steps
    -- Each wait is spent by all but the one that is waited for, and is rank-straggler's to claim.
    local others, waits = trace:fact "device.count" - 1, 0
    for _, late in ipairs(trace:late_devices()) do waits = waits + late.exposed_ns * others end
    local sending = math.max(0, exposed - waits)
    local share = sending / total
    if share == 0 or share < options.note_share then return {} end

    local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    local kind, most, rows = nil, 0, nil
    for _, k in ipairs(kinds) do
      local of_kind = comm:where { collective = k.of }
      local shown = of_kind:exposed_ns(compute)
      if shown > most then kind, most, rows = k, shown, of_kind end
    end
    -- In which process group most of it is, where the report tells.
    local group = rows and rows:exposed(compute, 0.5):group("group", 1)[1]
    local among = ""
    if group and group.key ~= "" then
      local ranks = group.rows:median "ranks"
      among = string.format(" in group %s%s", #group.key > 40 and group.key:sub(1, 37) .. "..." or group.key, ranks and string.format(" of %.0f ranks", ranks) or "")
    end
    -- What stages of a pipeline wait for each other gets less with more and smaller micro-batches; no message becomes shorter by it.
    local bubble = kind and kind.name == "send and receive"
    -- What has a rule of its own: gathers that come late, and reductions that come too often.
    local root = bubble and "pipeline-bubble" or nil
    if kind and not root then
      local weights, gradients = trace:gathered_weights(), trace:reduced_gradients()
      if 2 * weights.late:plus(weights.held_up):exposed_ns(compute) > exposed then root = "fsdp-late-gather"
      elseif 2 * gradients.early:exposed_ns(compute) > exposed then root = "grad-sync-every-microbatch" end
    end
    local short = comm:where { max_ns = 50000 }:exposed_ns(compute)

    local deepep = rows and 2 * rows:where { name = deepep_kernels }:exposed_ns(compute) > most and not (trace:is "vllm" or trace:is "sglang" or trace:is "megatron" or trace:is "nemo")
    local advice = { deepep and deepep_advice or kind and kind.advice or "Put communication on a stream of its own, and start it as soon as its data is ready." }
    if comm:where { name = { "*_f32_*", "*_float*", "*Sum_f32*" } }:union_ns() > comm:union_ns() / 2 then
      advice[#advice + 1] = {
        megatron = "Messages are FP32: halve them, without --accumulate-allreduce-grads-in-fp32.",
        fsdp = "Messages are FP32: halve them, MixedPrecision(reduce_dtype=torch.bfloat16).",
        pytorch = { training = "Messages are FP32: halve them. DDP: model.register_comm_hook(None, torch.distributed.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_hook); FSDP: MixedPrecision(reduce_dtype=torch.bfloat16)." },
        cuda = "Messages are FP32: half precision halves them, where the result bears it.",
      }
    end
    return { {
      subject = "collectives",
      message = "main",
      data = { exposed = exposed / steps, share = exposed / total, time = comm:union_ns() / steps, hidden = math.max(0, 1 - exposed / comm:union_ns()), kind = kind and kind.name or "of another kind", among = among,
        waits = waits > exposed / 10 and string.format(" About %.0f %% of it is waiting for a rank that comes later and is not counted here.", math.min(1, waits / exposed) * 100) or "" },
      recoverable_ns = bubble and options.won * sending or sending,
      change = not bubble and { { scale = comm:exposed(compute, 0.5), by = 1 - options.won, least = 1 - 1.5 * options.won, most = 1 - 0.5 * options.won } } or nil,
      at_most = share < options.share and "note" or nil,
      follows_from = root or short > exposed / 2 and "small-collectives" or nil,
      metrics = {
        { name = "exposed communication", value = share, unit = "fraction", threshold = options.share },
        { name = "of it waiting for a later rank", value = math.min(1, waits / math.max(exposed, 1)), unit = "fraction" },
      },
      evidence = comm:exposed(compute, 0.5):evidence { most = 5, note = "mostly alone on its GPU" },
      advice = advice,
    } }
  end,
}

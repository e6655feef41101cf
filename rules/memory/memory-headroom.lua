return {
  id = "memory-headroom",
  category = "memory",
  title = "Device memory is nearly full, or mostly empty",
  since = "0.1",
  warning_at = 2, -- never by what it is worth
  needs = { "kernels", "memory_use" },
  options = {
    full = {
      default = 0.92,
      unit = "fraction",
      doc = "Share of the device's memory in use at the peak, from which a longer sequence may no \z
        longer fit. The CUDA context and libraries take a few percent that a report does not \z
        show.",
    },
    empty = { default = 0.5, unit = "fraction", doc = "Share below which the batch can grow." },
    idle = {
      default = 0.1,
      unit = "fraction",
      doc = "Idle time other than for input, as a share of the step, from which a larger batch \z
        helps: the host's work for a step does not grow with it.",
    },
  },
  messages = {
    full = "{peak:bytes} of {capacity:bytes} are in use at the peak ({share:fraction}): a larger \z
      problem, or fragmentation, ends in an out-of-memory error.",
    empty = "Only {peak:bytes} of {capacity:bytes} are in use at the peak ({share:fraction}) \z
      while the GPU is idle for {idle:fraction} of the time: {more} gives it more to do for each \z
      launch.",
  },
  headlines = {
    full = "Device memory is nearly full: {peak:bytes} of {capacity:bytes}",
    empty = "Only {peak:bytes} of {capacity:bytes} is used: try {larger}",
  },
  doc = {
    what = "Compares the most device memory that was in use at once with what the device has.",
    why = "Spare memory buys speed: a larger batch, no recomputation of activations, no \z
      offloading, gathered weights that stay. When memory is nearly used up, the allocator frees \z
      and retries, which synchronizes, and then fails.",
    fix = "Nearly full: recompute activations of some layers (gradient checkpointing), a smaller \z
      micro-batch with accumulation, a sharded optimizer (FSDP, ZeRO), \z
      `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`. Mostly empty: raise the batch size, and \z
      with it the learning rate; turn off gradient checkpointing and offloading.",
    wrong = "PyTorch's allocator keeps what it once had: the peak is what it reserved, not what \z
      tensors need. A batch may be as large as convergence allows. With several devices the peak \z
      is that of the fullest.",
  },
  advice = {
    {
      when = "full",
      vllm = "Lower `gpu_memory_utilization`{.}: it sets how much is reserved for the KV cache. \z
        What is reserved may not be needed.",
      sglang = "Lower `--mem-fraction-static`{.}: it sets how much is reserved for the KV cache. \z
        What is reserved may not be needed.",
      pytorch = "Limit fragmentation{.}: `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`. \z
        `torch.cuda.memory._record_memory_history()` shows what holds memory.",
      jax = "Check how much is really needed{.}: XLA reserves three quarters of the memory in \z
        advance (`XLA_PYTHON_CLIENT_MEM_FRACTION`); `jax.profiler.save_device_memory_profile` \z
        shows what is in use.",
      cupy = "Check how much is really needed{.}: CuPy's pool keeps what it once had, and \z
        `cupy.get_default_memory_pool().used_bytes()` says what is in use.",
      cuda = "Free or reuse what is no longer needed{.}: see what holds memory (`cudaMemGetInfo` \z
        before and after the large allocations).",
    },
    {
      when = "full",
      megatron = "To make room{.}: `--recompute-activations`, half the micro-batch with twice the \z
        accumulation steps, `--use-distributed-optimizer`.",
      deepspeed = "To make room{.}: activation checkpointing, half the micro-batch with twice the \z
        accumulation steps, a higher stage of ZeRO.",
      pytorch = {
        training = "To make room{.}: gradient checkpointing on some layers, half the micro-batch \z
          with twice the accumulation steps, a sharded optimizer (FSDP); for fine-tuning, \z
          adapters (LoRA), which have hardly any gradients and optimizer state.",
        cuda = "To make room{.}: a smaller batch, weights in half precision or less, a model \z
          spread over several GPUs.",
      },
      cuda = "To make room{.}: smaller types, reused buffers, or a problem that goes through the \z
        GPU in parts.",
    },
    {
      when = { "full", "coherent" },
      training = "This GPU reaches its CPU's memory over NVLink-C2C{.}: optimizer state and \z
        activations offloaded there, overlapping with the kernels, cost less than recomputing \z
        activations (steps were 6 to 13 % shorter on Grace Blackwell).",
      cuda = "This GPU reaches its CPU's memory over NVLink-C2C{.}: rarely used data can stay \z
        there.",
    },
    {
      when = "empty",
      training = "Try a batch of twice the size{.}: check the peak and the time per sample before \z
        the next doubling. Activations grow with it, weights and optimizer state do not. Adapt \z
        the learning rate; with gradient accumulation use fewer and larger micro-batches.",
      tokens = "Try twice as many requests at once{.}: check the peak and tokens per second \z
        before the next doubling. The KV cache grows with them, weights do not.",
      inference = "Try a batch of twice the size{.}: check the peak and the time per sample \z
        before the next doubling. Activations grow with it, weights do not.",
      cuda = "Try to work on twice as much at once{.}: check the peak and the time before the \z
        next doubling.",
    },
    {
      when = "empty",
      training = "If gradient checkpointing or offloading is on, turn it off first{.}: there is \z
        room for what it saves.",
      inference = "If offloading is on, turn it off first{.}: there is room for what it saves.",
    },
  },
  evaluate = function(trace, options)
    local peak, capacity = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    if not capacity then
      return nil, "the report does not say how much memory the device has", ""
    end
    if not peak or peak == 0 then
      return nil,
        "no allocation of device memory was recorded",
        trace:words {
          nsys = "`--cuda-memory-usage=true`",
          torch_profiler = "`torch.profiler.profile(profile_memory=True)`",
        }
    end
    local share = peak / capacity
    local idle = 0
    for _, cause in ipairs {
      "sync",
      "launch",
      "allocation",
      "compilation",
      "loading",
      "launch_latency",
      "dependency",
      "unknown",
    } do
      idle = idle + trace:fact("account.idle." .. cause .. "_fraction")
    end
    local finding = {
      subject = "device memory",
      data = {
        peak = peak,
        capacity = capacity,
        share = share,
        idle = idle,
        larger = trace:words {
          training = "a larger batch",
          inference = "a larger batch",
          cuda = "a larger problem",
        },
        more = trace:words {
          training = "a larger batch",
          inference = "a larger batch",
          cuda = "a larger problem, or more of them at once,",
        },
      },
      seen = { coherent = trace:fact "device.coherent" == 1 },
      recoverable_ns = 0,
      at_most = "note",
      metrics = {
        {
          name = "peak of device memory",
          value = share,
          unit = "fraction",
          threshold = options.full,
        },
      },
    }
    if share > options.full then
      finding.message = "full"
    elseif share < options.empty and idle >= options.idle then
      finding.message = "empty"
      finding.metrics[1].threshold = options.empty
      finding.metrics[2] = {
        name = "idle, other than for input",
        value = idle,
        unit = "fraction",
        threshold = options.idle,
      }
    else
      return {}
    end
    return { finding }
  end,
}

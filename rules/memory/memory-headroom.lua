return {
  id = "memory-headroom",
  category = "memory",
  title = "Device memory: nearly full, or half empty while the GPU idles",
  since = "0.1",
  warning_at = 2,  -- never by what it is worth
  needs = { "kernels", "memory_use" },
  options = {
    full = { default = 0.92, unit = "fraction", doc = "Share of the device's memory in use at the peak, from which a longer sequence may not fit any more. The CUDA context and libraries take a few percent that a report does not show." },
    empty = { default = 0.5, unit = "fraction", doc = "And below which the batch can grow." },
    idle = { default = 0.1, unit = "fraction", doc = "Idle time, of the step and other than for input, from which a larger batch helps: the host's work for a step does not grow with it." },
  },
  messages = {
    full = "{peak:bytes} of {capacity:bytes} are in use at the peak ({share:fraction}): a larger problem, or fragmentation, ends in an out-of-memory error.",
    empty = "Only {peak:bytes} of {capacity:bytes} are in use at the peak ({share:fraction}) while the GPU is idle for {idle:fraction} of the time: {more} gives it more to do for each launch.",
  },
  doc = {
    what = "Compares the most device memory that was in use at once with what the device has.",
    why = "Memory that is left over buys speed: a larger batch, no recomputation of activations, no offloading, gathered weights that stay. Memory that is nearly used up makes the allocator free and retry, which synchronizes, and then fails.",
    fix = "Nearly full: recompute activations of some layers (gradient checkpointing), a smaller micro-batch with accumulation, a sharded optimizer (FSDP, ZeRO), PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. Half empty: raise the batch size, and with it the learning rate; turn off gradient checkpointing and offloading.",
    wrong = "PyTorch's allocator keeps what it once had: the peak is what it reserved, not what tensors need. A batch may be as large as convergence allows. With several devices the peak is that of the fullest.",
  },
  evaluate = function(trace, options)
    local peak, capacity = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    if not capacity then return nil, "the report does not say how much memory the device has", "" end
    if not peak or peak == 0 then return nil, "no allocation of device memory was recorded", trace:words { nsys = "--cuda-memory-usage=true", torch_profiler = "torch.profiler.profile(profile_memory=True)" } end
    local share = peak / capacity
    local idle = 0
    for _, cause in ipairs { "sync", "launch", "allocation", "compilation", "loading", "launch_latency", "dependency", "unknown" } do idle = idle + trace:fact("account.idle." .. cause .. "_fraction") end
    local finding = {
      subject = "device memory",
      data = { peak = peak, capacity = capacity, share = share, idle = idle, more = trace:words { training = "a larger batch", inference = "a larger batch", cuda = "a larger problem, or more of them at once," } },
      recoverable_ns = 0,
      at_most = "note",
      metrics = { { name = "peak of device memory", value = share, unit = "fraction", threshold = options.full } },
    }
    if share > options.full then
      finding.message = "full"
      finding.advice = {
        {
          vllm = "gpu_memory_utilization says how much is taken for the cache of keys and values: what is reserved need not be needed.",
          sglang = "--mem-fraction-static says how much is taken for the cache of keys and values: what is reserved need not be needed.",
          pytorch = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True keeps fragmentation low; torch.cuda.memory._record_memory_history() shows what holds memory.",
          jax = "XLA takes three quarters of the memory beforehand (XLA_PYTHON_CLIENT_MEM_FRACTION): what is reserved need not be needed; jax.profiler.save_device_memory_profile shows what is.",
          cupy = "CuPy's pool keeps what it once had: cupy.get_default_memory_pool().used_bytes() tells what is needed.",
          cuda = "See what holds memory (cudaMemGetInfo before and after the large allocations), and give back, or use again, what is no longer needed.",
        },
        {
          megatron = "To make room: --recompute-activations, half the micro-batch with twice the accumulation steps, --use-distributed-optimizer.",
          deepspeed = "To make room: activation checkpointing, half the micro-batch with twice the accumulation steps, a higher stage of ZeRO.",
          pytorch = { training = "To make room: gradient checkpointing on some layers, half the micro-batch with twice the accumulation steps, a sharded optimizer (FSDP); where a model is fine-tuned, adapters (LoRA), which have hardly any gradients and optimizer state.", cuda = "To make room: a smaller batch, weights in half precision or less, a model that is spread over several GPUs." },
          cuda = "To make room: smaller types, buffers that are used again, or a problem that goes through the GPU in parts.",
        },
      }
      if trace:fact "device.coherent" == 1 then
        finding.advice[#finding.advice + 1] = { training = "This GPU reaches its CPU's memory over NVLink-C2C: optimizer state and activations that are offloaded there, beside the kernels, cost less than computing activations once more (steps were 6 to 13 % shorter so on Grace Blackwell).", cuda = "This GPU reaches its CPU's memory over NVLink-C2C: data that is seldom used can stay there." }
      end
    elseif share < options.empty and idle >= options.idle then
      finding.message = "empty"
      finding.metrics[1].threshold = options.empty
      finding.metrics[2] = { name = "idle, other than for input", value = idle, unit = "fraction", threshold = options.idle }
      finding.advice = {
        {
          training = "Try a batch of twice the size, and look at the peak and at the time of a sample before the next doubling: activations grow with it, weights and optimizer state do not. Adapt the learning rate; with gradient accumulation take fewer and larger micro-batches.",
          tokens = "Try twice as many requests at once, and look at the peak and at tokens a second before the next doubling: the cache of keys and values grows with them, weights do not.",
          inference = "Try a batch of twice the size, and look at the peak and at the time of a sample before the next doubling: activations grow with it, weights do not.",
          cuda = "Try to work on twice as much at once, and look at the peak and at the time before the next doubling.",
        },
        { training = "Where gradient checkpointing or offloading is on, turn it off first: there is room for what it saves.", inference = "Where offloading is on, turn it off first: there is room for what it saves." },
      }
    else
      return {}
    end
    return { finding }
  end,
}

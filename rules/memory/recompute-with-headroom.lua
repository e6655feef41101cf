local backward_names = { "*bwd*", "*backward*", "*Backward*", "*dgrad*", "*wgrad*" }

return {
  id = "recompute-with-headroom",
  category = "memory",
  title = "Activations are recomputed although there is memory to keep them",
  since = "0.1",
  needs = { "kernels", "calls", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: kernels that run a second time in backward. \z
        Recomputing every layer costs a third of forward and backward together.",
    },
    sequence = {
      default = 8,
      unit = "count",
      doc = "How many kernels in a row have to match those of forward by name, blocks and \z
        threads: backward has single kernels of the same kind.",
    },
    full = {
      default = 0.7,
      unit = "fraction",
      doc = "Share of the device's memory in use at the peak, from which the model only fits \z
        because of recomputing.",
    },
    plenty = {
      default = 0.25,
      unit = "fraction",
      doc = "Share below which the activations of all layers are assumed to fit: they may be \z
        three times what is in use now.",
    },
  },
  factors = {
    kept = {
      by = 0,
      least = 0,
      most = 0.5,
      doc = "Recomputed kernels that remain if there may be room for some layers only.",
      source = "Chosen: how many layers' activations fit into memory is unknown.",
    },
  },
  messages = {
    room = "{count:# kernel runs|# kernels run} a second time {a_step}, in the order of the \z
      first: {time:lost} of {each_step} ({share:fraction}) is recomputed activations, while \z
      {peak:bytes} of {capacity:bytes} are in use at the peak ({used:fraction}).",
    full = "{count:# kernel runs|# kernels run} a second time {a_step}, in the order of the \z
      first: {time:lost} of {each_step} ({share:fraction}) is recomputed activations. \z
      {peak:bytes} of {capacity:bytes} are in use at the peak, so they cannot simply be kept.",
  },
  headlines = {
    room = "Activations are recomputed, but only {used:fraction} of the memory is used",
    full = "Activations are recomputed to save device memory",
  },
  doc = {
    what = "Looks in backward, which PyTorch launches from a separate thread, for sequences of \z
      kernels that forward has as well: activation checkpointing. With the peak of device memory \z
      it says whether that is needed.",
    why = "Checkpointing trades time for memory: nearly a whole forward pass, a quarter of the \z
      step. With memory to spare, it trades time for nothing.",
    fix = "Turn it off (Transformers: `gradient_checkpointing=False`; Megatron: without \z
      `--recompute-activations` or `--recompute-granularity`; NeMo: \z
      `activations_checkpoint_granularity=null`; hand-written models: no \z
      `torch.utils.checkpoint`), or for as many layers as fit. Selective checkpointing keeps \z
      expensive results and recomputes cheap ones \z
      (`torch.utils.checkpoint.create_selective_checkpoint_contexts`).",
    wrong = "A trace does not show how much memory activations take: what is free now may not \z
      suffice for all layers. A planned longer sequence or larger batch may need the room. \z
      Compiled models recompute in fused kernels, which this rule does not find.",
  },
  advice = {
    {
      when = "full",
      "Offload activations over NVLink-C2C{.}: send them to the CPU's memory and fetch them \z
        before they are needed, overlapping with the kernels, instead of computing them a second \z
        time. On Grace Blackwell this made steps 6 to 13 % shorter.",
    },
    {
      when = "full",
      megatron = "Megatron does this with `--cpu-offloading-num-layers`.",
      pytorch = "Transformer Engine does this{.}: `get_cpu_offload_context`.",
    },
    {
      when = "room",
      trainer = "Turn off gradient checkpointing{.}: `gradient_checkpointing=False` of the \z
        `TrainingArguments` (`model.gradient_checkpointing_disable()`).",
      megatron = "Turn off recomputing{.}: leave out `--recompute-granularity` and \z
        `--recompute-activations`.",
      nemo = "Turn off recomputing{.}: `activations_checkpoint_granularity=null`.",
      deepspeed = {
        training = "Turn off activation checkpointing{.}: no `deepspeed.checkpointing`, no \z
          `activation_checkpointing` in the configuration.",
      },
      torchtitan = 'Turn off activation checkpointing{.}: `activation_checkpoint.mode = "none"`.',
      pytorch = {
        training = "Turn off activation checkpointing{.}: no `torch.utils.checkpoint` around the \z
          layers (or `checkpoint_wrapper`).",
        cuda = "Keep what the first pass computes{.}: no `torch.utils.checkpoint` around the \z
          layers.",
      },
      jax = "Turn off rematerialization{.}: no `jax.checkpoint` (`jax.remat`) around the layers.",
      cuda = "Keep what the first pass computes{.}: do not compute it a second time.",
    },
    {
      when = "room",
      pytorch = "If not all of it fits{.}: checkpoint only every second or third layer, or \z
        selectively: keep matrix products and attention, recompute elementwise results \z
        (`torch.utils.checkpoint.create_selective_checkpoint_contexts`).",
      jax = "If not all of it fits{.}: keep matrix products and attention, recompute elementwise \z
        results (`jax.checkpoint` with `policy=jax.checkpoint_policies.dots_saveable`).",
      cuda = "If not all of it fits{.}: keep what is expensive to compute, and recompute \z
        elementwise results.",
    },
  },
  evaluate = function(trace, options, factors)
    local kernels = trace:ops { kind = "kernel" }
    local threads, of_thread = {}, kernels:where { name = backward_names }:group "thread"
    for _, thread in ipairs(of_thread) do
      if thread.key ~= "" then threads[#threads + 1] = thread.key end
    end
    if #threads == 0 then return {} end
    local backward = kernels:where { thread = threads }
    local again = trace:repeated {
      within = backward,
      of = kernels:minus(backward),
      least = options.sequence,
    }
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local share = again:own_ns() / total
    if
      share < options.share
      or again:where { class = { "gemm_*", "attention_fused" } }:count() < steps
    then
      return {}
    end
    local peak, capacity = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    if not peak or peak == 0 or not capacity then
      return nil,
        string.format(
          "activations are recomputed (%.0f %% of the time), but memory use was not recorded, so \z
            whether they could be kept is unknown",
          100 * share
        ),
        trace:words {
          nsys = "`--cuda-memory-usage=true`",
          torch_profiler = "`torch.profiler.profile(profile_memory=True)`",
        }
    end
    local used, coherent = peak / capacity, trace:fact "device.coherent" == 1
    local full = used > options.full
    if full and not coherent then return {} end
    local plenty = used <= options.plenty
    return {
      {
        subject = "recomputed activations",
        message = full and "full" or "room",
        data = {
          count = math.floor(again:count() / steps + 0.5),
          time = again:own_ns() / steps,
          share = share,
          peak = peak,
          capacity = capacity,
          used = used,
        },
        recoverable_ns = full and 0 or again:own_ns(),
        change = not full
            and { plenty and { remove = again } or { scale = again, factor = factors.kept } }
          or nil,
        uncertain = not plenty and "how many layers' activations fit into memory is unknown"
          or nil,
        about = true,
        at_most = full and "note" or nil,
        metrics = {
          {
            name = "kernels that run a second time",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
          {
            name = "peak of device memory",
            value = used,
            unit = "fraction",
            threshold = options.full,
          },
        },
        evidence = again:evidence { most = 4 },
      },
    }
  end,
}

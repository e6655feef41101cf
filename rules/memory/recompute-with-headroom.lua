local backward_names = { "*bwd*", "*backward*", "*Backward*", "*dgrad*", "*wgrad*" }

return {
  id = "recompute-with-headroom",
  category = "memory",
  title = "Activations are recomputed although there is memory to keep them",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Time of kernels that run a second time in backward, of the step, from which it counts. Recomputing every layer costs a third of forward and backward together." },
    sequence = { default = 8, unit = "count", doc = "So many kernels in a row, by name, blocks and threads, have to be those of forward: backward has single kernels of the same kind." },
    full = { default = 0.7, unit = "fraction", doc = "Share of the device's memory in use at the peak, from which recomputing is what makes the model fit." },
    plenty = { default = 0.25, unit = "fraction", doc = "And below which the activations of all layers are taken to fit: they may be three times what is in use now." },
  },
  messages = {
    room = "{count} kernels {a_step} run a second time, in the order of the first: {time:ns} of {each_step} ({share:fraction}) is activations computed once more, while {peak:bytes} of {capacity:bytes} are in use at the peak ({used:fraction}).",
    full = "{count} kernels {a_step} run a second time, in the order of the first: {time:ns} of {each_step} ({share:fraction}) is activations computed once more. {peak:bytes} of {capacity:bytes} are in use at the peak, so they cannot just be kept.",
  },
  doc = {
    what = "Looks in backward, which PyTorch launches from a thread of its own, for sequences of kernels that forward has as well: activation checkpointing. With the peak of device memory it says whether that is needed.",
    why = "Checkpointing gives time for memory: nearly a whole forward pass, a quarter of the step. Where memory is left it gives time for nothing.",
    fix = "Turn it off (Transformers: gradient_checkpointing=False; Megatron: without --recompute-activations or --recompute-granularity; NeMo: activations_checkpoint_granularity=null; own models: no torch.utils.checkpoint), or for as many layers as fit. Selective checkpointing keeps the dear results and recomputes the cheap ones (torch.utils.checkpoint.create_selective_checkpoint_contexts).",
    wrong = "What activations take does not show in a trace: memory may be free now and yet not suffice for all layers. A longer sequence or a larger batch that is planned may need the room. Compiled models recompute in kernels of their own, which this does not find.",
  },
  evaluate = function(trace, options)
    local kernels = trace:ops { kind = "kernel" }
    local threads, of_thread = {}, kernels:where { name = backward_names }:group "thread"
    for _, thread in ipairs(of_thread) do
      if thread.key ~= "" then threads[#threads + 1] = thread.key end
    end
    if #threads == 0 then return {} end
    local backward = kernels:where { thread = threads }
    local again = trace:repeated { within = backward, of = kernels:minus(backward), least = options.sequence }
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local share = again:own_ns() / total
    if share < options.share or again:where { class = { "gemm_*", "attention_fused" } }:count() < steps then return {} end
    local peak, capacity = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    if not peak or peak == 0 or not capacity then
      return nil, string.format("activations are computed once more (%.0f %% of the time), and whether there is memory to keep them was not recorded", 100 * share),
        trace:words { nsys = "--cuda-memory-usage=true", torch_profiler = "torch.profiler.profile(profile_memory=True)" }
    end
    local used, coherent = peak / capacity, trace:fact "device.coherent" == 1
    local full = used > options.full
    if full and not coherent then return {} end
    local off = {
      transformers = { training = "Turn gradient checkpointing off: gradient_checkpointing=False of the TrainingArguments (model.gradient_checkpointing_disable())." },
      megatron = "Turn recomputing off: without --recompute-granularity and --recompute-activations.",
      nemo = "Turn recomputing off: activations_checkpoint_granularity=null.",
      deepspeed = { training = "Turn activation checkpointing off (no deepspeed.checkpointing, no activation_checkpointing in the configuration)." },
      torchtitan = "Turn it off: activation_checkpoint.mode = \"none\".",
      pytorch = "Turn it off: no torch.utils.checkpoint around the layers (or checkpoint_wrapper).",
      jax = "Turn it off: no jax.checkpoint (jax.remat) around the layers.",
      cuda = "Keep what the first pass computes instead of computing it a second time.",
    }
    local advice = {}
    if full then
      advice[1] = "This GPU reaches its CPU's memory over NVLink-C2C: send activations there and fetch them before they are needed, beside the kernels, instead of computing them a second time. On Grace Blackwell steps were 6 to 13 % shorter so."
      advice[2] = { megatron = "Megatron does so with --cpu-offloading-num-layers.", pytorch = "Transformer Engine does so: get_cpu_offload_context." }
    else
      advice[1] = off
      advice[2] = {
        pytorch = "If not all of it fits: checkpoint every second or third layer only, or selectively: keep products and attention, recompute what is elementwise (torch.utils.checkpoint.create_selective_checkpoint_contexts).",
        jax = "If not all of it fits: keep products and attention, recompute what is elementwise (jax.checkpoint with policy=jax.checkpoint_policies.dots_saveable).",
        cuda = "If not all of it fits: keep what is dear to compute, and compute again what is elementwise.",
      }
    end
    local plenty = used <= options.plenty
    return { {
      subject = "recomputed activations",
      message = full and "full" or "room",
      data = { count = math.floor(again:count() / steps + 0.5), time = again:own_ns() / steps, share = share, peak = peak, capacity = capacity, used = used },
      recoverable_ns = full and 0 or again:own_ns(),
      change = not full and { plenty and { remove = again } or { scale = again, by = 0, least = 0, most = 0.5 } } or nil,
      uncertain = not plenty and "for how many layers memory suffices does not show in the trace" or nil,
      about = true,
      at_most = full and "note" or nil,
      metrics = {
        { name = "kernels that run a second time", value = share, unit = "fraction", threshold = options.share },
        { name = "peak of device memory", value = used, unit = "fraction", threshold = options.full },
      },
      evidence = again:evidence { most = 4 },
      advice = advice,
    } }
  end,
}

return {
  id = "unfused-pointwise",
  category = "compute",
  title = "Elementwise kernels run one after the other instead of fused",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = { default = 0.10, unit = "fraction", doc = "Time of runs of elementwise kernels and reductions, of the step, from which they count. Compiled, the same model has 3 %." },
    note_share = { default = 0.05, unit = "fraction", doc = "From this share on they are mentioned as a note." },
    least = { default = 3, unit = "count", doc = "Kernels in an uninterrupted run on one stream, at least. Of two there is little to win." },
    loop = { default = 50, unit = "count", doc = "A run of so many is an optimizer's loop, another rule's." },
  },
  messages = {
    runs = "{runs} runs {a_step} of three and more elementwise kernels and reductions in a row ({kernels} kernels) take {time:ns} of {each_step} ({share:fraction}). Fused, a run takes about as long as its longest kernel: {longest:ns} in all.",
  },
  doc = {
    what = "Finds uninterrupted runs of elementwise kernels and reductions on a stream. Those of attention written out, of normalizations written out and of an optimizer's loop are left to their own rules; the step that is predicted is that of torch.compile, which fuses norms as well.",
    why = "Each such kernel reads its input from memory and writes its result back; fused, a whole run reads and writes once. They keep the GPU busy and compute next to nothing.",
    fix = "torch.compile(model) fuses runs on its own. By hand: Liger's kernels (SwiGLU, rotary embedding, cross-entropy), apex's and Transformer Engine's fused layers, Megatron's --bias-gelu-fusion, --bias-swiglu-fusion, --bias-dropout-fusion and its fused rotary embedding.",
    wrong = "Neighbours in a run need not work on the same data (casts of separate weights under autocast): those do not fuse, and the estimate is too high by them. torch.compile may choose other kernels for the rest as well.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:fact "steps.total_ns", trace:fact "steps.count"
    local small = trace:ops { class = { "pointwise", "reduction" } }
    local pointwise, reductions = small:where { class = "pointwise" }, small:where { class = "reduction" }
    local products = trace:ops { class = "gemm_*" }
    local through = small:plus(trace:ops { kind = { "copy", "set" }, direction = { "d2d", "" } })  -- a reduction clears its result first

    -- Attention written out: around a softmax, or an exponential and its backward, between two products.
    local softmax = trace:ops { class = "softmax" }
    local _, attention = trace:chains { centre = softmax, edge = products, through = through:plus(softmax), edges = 2 }
    local exponential = pointwise:where { name = { "*exp_kernel*", "*exp_op*", "*_exp_*" } }
    local _, by_hand = trace:chains { centre = exponential, edge = products, through = through, edges = 2, with = { reductions } }
    if by_hand:count() > 0 then
      local size = by_hand:where { name = { "*exp_kernel*", "*exp_op*", "*_exp_*" } }:median "blocks"
      local _, backward = trace:chains { centre = pointwise:where { min_blocks = size }:minus(by_hand), edge = products, through = through, most = 28, edges = 2, with = { reductions:where { name = { "*sum*", "*Sum*" } } } }
      by_hand = by_hand:plus(backward)
    end
    -- Norms written out: around a root, and around its power backward.
    local roots = pointwise:where { name = { "*rsqrt*", "*sqrt_kernel*" } }
    local edge = trace:ops {}:minus(through)
    local _, norms = trace:chains { centre = roots, edge = edge, through = through, with = { reductions:where { name = { "*MeanOps*", "*Welford*" } } } }
    if norms:count() > 0 then
      local powers = pointwise:where { name = "*pow_tensor_scalar*", max_blocks = norms:where { name = { "*rsqrt*", "*sqrt_kernel*" } }:median "blocks" }
      local _, backward = trace:chains { centre = powers:minus(norms), edge = edge, through = through, with = { reductions:where { name = { "*sum*", "*Sum*" } } } }
      norms = norms:plus(backward)
    end
    -- The optimizer's loop; a range in which the model itself runs is a closure's.
    local ranges = trace:ranges { phase = "optimizer" }
    local _, loop = trace:runs { of = pointwise, least = math.max(options.loop, 1) }
    if products:where { launched_in = ranges }:count() == 0 then loop = loop:plus(small:where { launched_in = ranges }) end

    local runs, inner, longest = trace:runs { of = small:minus(attention):minus(by_hand):minus(norms):minus(loop), least = options.least }
    local time, fused = inner:own_ns(), longest:own_ns()
    local share = time / total
    if runs:count() == 0 or share < options.note_share then return {} end
    return { {
      subject = "elementwise runs",
      message = "runs",
      data = { runs = math.floor(runs:count() / steps + 0.5), kernels = math.floor(inner:count() / steps + 0.5), time = time / steps, longest = fused / steps, step = trace:fact "step.mean_ns", share = share },
      about = true,
      recoverable_ns = time - fused,
      change = { { fuse = inner:plus(norms), by = 1, least = 0.7, most = 2 } },
      uncertain = "what a compiler fuses, and which products and attention it chooses, does not show in the trace",
      at_most = share < options.share and "note" or "warning",
      confidence = "medium",
      metrics = { { name = "runs of elementwise kernels", value = share, unit = "fraction", threshold = options.share } },
      evidence = runs:evidence { most = 5, note = "a run, from its first kernel" },
      advice = {
        {
          pytorch = "Compile the model: torch.compile(model). Fixed shapes (padding to a few lengths) keep it from compiling again.",
          jax = "Put more of the program under one jax.jit: XLA fuses what it sees together.",
          tensorflow = "tf.function(jit_compile=True): XLA fuses them.",
          cupy = "cupy.fuse on the function, or cupy.ElementwiseKernel for the whole expression.",
          numba = "Write the row as one kernel.",
          julia = "Write the row as one broadcast expression (@.), which becomes one kernel.",
          cuda = "Put the row into one kernel that reads its input once and writes its result once (a functor of thrust::transform, or a kernel of your own).",
        },
        {
          transformers = "Without compiling: Liger's fused SwiGLU, rotary embedding and cross-entropy (use_liger_kernel=True).",
          megatron = "Without compiling: --bias-gelu-fusion, --bias-swiglu-fusion, --bias-dropout-fusion, --apply-rope-fusion.",
          nemo = "Without compiling: bias_activation_fusion, bias_dropout_fusion, apply_rope_fusion.",
        },
      },
    } }
  end,
}

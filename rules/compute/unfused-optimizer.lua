return {
  id = "unfused-optimizer",
  category = "compute",
  title = "The optimizer updates one tensor at a time",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  warning_at = 0.03,
  options = {
    share = {
      default = 0.03,
      unit = "fraction",
      doc = "Reported from this share of the step: the loop's kernels and the gaps between them. \z
        The fix is a one-line switch.",
    },
    note_share = {
      default = 0.01,
      unit = "fraction",
      doc = "From this share of the step it is a note.",
    },
    kernels = {
      default = 50,
      unit = "count",
      doc = "Elementwise kernels of the optimizer in a step, or in a row if no range marks it. \z
        AdamW takes 8 to 14 for each tensor; a fused optimizer takes a few in all.",
    },
    updates = {
      default = 0.1,
      unit = "fraction",
      doc = "Without a range: share of a long run's kernels that add, divide or take roots, from \z
        which it updates parameters, and of those that only an adaptive optimizer has. Chosen: \z
        AdamW runs some for every tensor; initializing weights or zeroing gradients runs none.",
    },
  },
  factors = {
    fused_factor = {
      by = 0.37,
      least = 0.11,
      most = 0.72,
      doc = "Time of a fused update relative to the loop's kernels: about 7 passes over memory \z
        instead of 14 to 20, and few kernels instead of many that are too small to fill the GPU.",
      source = "Measured on an H100, AdamW and SGD in FP32 and BF16, on ResNet-50, ViT-B, two \z
        decoders and an MLP: 0.11 (small tensors) to 0.71 (large ones, SGD), median 0.36. An H200 \z
        with AdamW in BF16: 0.5.",
    },
  },
  messages = {
    loop = "The optimizer runs {count:# elementwise kernel|# elementwise kernels} {a_step}: with \z
      the gaps between them ({gaps:ns}) they take {both:lost} of {each_step} ({share:fraction}). \z
      A fused optimizer updates all parameters in a few kernels.",
  },
  headlines = {
    loop = "The optimizer runs {count:# small kernel|# small kernels} {a_step}",
  },
  doc = {
    what = "Counts the elementwise kernels that are launched inside ranges of the optimizer. \z
      Without such ranges, takes long uninterrupted runs of elementwise kernels that add, divide \z
      or take roots as an optimizer's update does; a run that only adds and multiplies is at most \z
      a note.",
    why = "Each kernel of the loop reads and writes a whole tensor again, and a tensor is often \z
      so small that launching takes longer than the work. A fused update reads parameter, \z
      gradient and state once and writes them once.",
    fix = '`torch.optim.AdamW(..., fused=True)`, or `foreach=True` for an optimizer without a \z
      fused form. Hugging Face Trainer: `optim="adamw_torch_fused"`. Megatron and NeMo: \z
      `FusedAdam` of apex or Transformer Engine. DeepSpeed: `FusedAdam`. A custom optimizer: \z
      `torch._foreach_*` functions, or `torch.compile` around `step()`.',
    wrong = "Without a range, a long row of elementwise updates of something else (an average of \z
      the weights, a solver) looks the same; the same fixes help there.",
  },
  advice = {
    {
      pytorch = "Use the fused optimizer{.}: construct {it} with `fused=True`, or with \z
        `foreach=True` if it has no fused form. PyTorch uses `foreach=True` on a GPU by default, \z
        so look for `foreach=False`, or for a hand-written optimizer (then `torch._foreach_*` \z
        functions, or `torch.compile` around `step()`).",
      jax = "Put the whole update under one `jax.jit`{.}: of all parameters, with donated buffers \z
        (`donate_argnums`). XLA fuses it.",
      cuda = "Update all parameters in one kernel{.}: over one flat buffer or a list of pointers, \z
        instead of one tensor after the other.",
    },
  },
  evaluate = function(trace, options, factors)
    local products = trace:ops { class = { "gemm_*", "attention_fused" } }
    if products:count() == 0 then
      return nil,
        "no matrix multiplication ran, so there is no model whose parameters are updated",
        ""
    end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local pointwise = trace:ops { class = "pointwise" }

    -- A range in which the model itself runs belongs to a closure (Lightning) and does not mark
    -- the optimizer.
    local ranges = trace:ranges { phase = "optimizer" }
    local loop = pointwise:where { launched_in = ranges }
    local marked = products:where { launched_in = ranges }:count() == 0
      and loop:count() >= math.max(1, options.kernels * steps)
    local plain = false
    if not marked then
      local _, rows = trace:runs { of = pointwise, least = options.kernels }
      loop = rows
      -- Initializing weights or zeroing gradients makes long rows too.
      local adaptive = loop:where { name = { "*addcdiv*", "*addcmul*", "*lerp*", "*sqrt*" } }
      local updates = adaptive:plus(loop:where { name = "*CUDAFunctor_add*" })
      if updates:count() < math.max(1, options.updates * loop:count()) then return {} end
      -- SGD only adds and multiplies, but so does accumulating gradients or averaging weights.
      plain = adaptive:count() < options.updates * updates:count()
    end
    local time = loop:own_ns()
    local gaps =
      trace:idle { after = loop, before = loop, cause = { "launch*", "dependency" } }:union_ns()
    local share = (time + gaps) / total
    if share < options.note_share then return {} end
    return {
      {
        subject = "optimizer",
        message = "loop",
        data = {
          count = math.floor(loop:count() / steps + 0.5),
          both = (time + gaps) / steps,
          gaps = gaps / steps,
          share = share,
          it = trace:fact "program.optimizer" or "it",
        },
        about = true,
        recoverable_ns = time * math.max(0, 1 - factors.fused_factor.by) + gaps,
        change = { { graph = loop }, { scale = loop, factor = factors.fused_factor } },
        uncertain = "how long a fused update takes depends on the optimizer and the precision of \z
          its state",
        at_most = (plain or share < options.share) and "note" or nil,
        confidence = marked and "high" or "medium",
        metrics = {
          {
            name = "optimizer's loop",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = loop:evidence { most = 5 },
      },
    }
  end,
}

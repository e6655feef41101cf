return {
  id = "loss-head",
  category = "compute",
  title = "The loss moves the logits of the whole vocabulary through memory many times",
  since = "0.2",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.08,
      unit = "fraction",
      doc = "Reported from this share of the step: the projection to the vocabulary, forward and \z
        backward, with the casts and the cross-entropy between its matrix products. A model of \z
        six layers with 32,000 words has 4 %.",
    },
    most = {
      default = 30,
      unit = "count",
      doc = "Kernels from the cross-entropy to the product on either side, at most: PyTorch's, \z
        with casts, scaling and its backward, has about 15.",
    },
  },
  factors = {
    fused_factor = {
      by = 0.33,
      least = 0.17,
      most = 0.61,
      doc = "Time of a fused linear cross-entropy relative to the kernels between the products: \z
        it reads a chunk's logits twice and writes their gradient over them, 6 bytes a logit in \z
        BF16, and reads and writes the weight gradient once for each chunk: 4 more if a chunk has \z
        as many tokens as the model is wide. Cast, log-softmax, its gradient and the cast back \z
        move 36.",
      source = "Measured on an H100 with vocabularies of 32,000, 50,304 and 128,000: in chunks \z
        with the weight gradient in FP32 0.55 to 0.6, compiled as a whole 0.17 to 0.18. An H200: \z
        0.2, and 0.41 with chunks of half as many tokens. By bytes: 0.28.",
    },
    in_chunks = {
      by = 1.02,
      least = 1,
      most = 1.12,
      doc = "Time of the matrix products in chunks, relative to before.",
      source = "Measured so: 1.02 to 1.11 in chunks, 1.01 to 1.03 as a whole.",
    },
  },
  messages = {
    head = "From the projection to the vocabulary to its gradients the loss takes {time:lost} of \z
      {each_step} ({share:fraction}). {between:ns} of that ({of_head:fraction}) is outside of \z
      matrix products: for each loss {kernels:# kernel casts|# kernels cast} the logits, \z
      {kernels:takes|take} the cross-entropy and its gradient and {kernels:casts|cast} back, each \z
      over all tokens times the whole vocabulary.",
  },
  headlines = {
    head = "The loss moves all logits through memory in {kernels:# kernel|# kernels}",
  },
  doc = {
    what = "Walks from PyTorch's log-softmax over elementwise kernels and reductions to the \z
      matrix products on both sides: the projection to the vocabulary before, its two gradients \z
      after. A loss that a compiler or a library fused is left out.",
    why = "The logits are the largest tensor of a training step: tokens times vocabulary, in \z
      BF16, in FP32 and as a gradient in both. Only a sum and an exponential are computed from \z
      them, so that time is memory traffic, and they usually set the memory peak.",
    fix = "A fused linear cross-entropy works through the tokens in chunks: product, loss and \z
      gradient of a chunk, whose logits are never written in FP32 and never kept. Liger's \z
      `LigerFusedLinearCrossEntropyLoss` (`use_liger_kernel=True` in the Hugging Face Trainer), \z
      `cut_cross_entropy`; Megatron `--cross-entropy-loss-fusion` fuses only the loss. \z
      `torch.compile` around head and loss fuses casts and loss.",
    wrong = "A program that needs the logits themselves (distillation, metrics on each step) \z
      cannot do without them. Smaller chunks make less efficient products and add to the weight \z
      gradient more often: chunks of a quarter of the model's width save hardly anything but \z
      memory. A contrastive loss between two products looks the same.",
  },
  advice = {
    {
      trainer = "Fuse projection and loss{.}: `use_liger_kernel=True` of `TrainingArguments`, or \z
        Liger's `LigerFusedLinearCrossEntropyLoss`. It never writes the logits, which saves \z
        memory as well.",
      megatron = "Fuse the cross-entropy{.}: `--cross-entropy-loss-fusion`; in newer versions \z
        `--cross-entropy-fusion-impl te`.",
      nemo = "Fuse the cross-entropy{.}: `cross_entropy_loss_fusion=True` of the model's \z
        configuration.",
      pytorch = "Fuse projection and loss, chunk by chunk{.}: Liger's \z
        `LigerFusedLinearCrossEntropyLoss`, or `cut_cross_entropy`. It never writes the logits, \z
        which saves memory as well.",
      cuda = "Process the tokens in chunks{.}: product, loss and gradient of a chunk in one pass, \z
        its logits never written in FP32.",
    },
    {
      pytorch = "Without a library{.}: `torch.compile` around the last projection and the loss \z
        fuses the casts into the loss.",
    },
  },
  evaluate = function(trace, options, factors)
    local products = trace:ops { class = "gemm_*" }
    if products:count() == 0 then return nil, "no matrix multiplication ran", "" end
    local losses = trace:ops { class = "softmax_loss" }
    -- The kernels of Triton, apex and Megatron are already fused.
    local written_out = losses:where { name = { "*LogSoftMax*", "*softmax_warp_*" } }
    local heads, between, projections = trace:chains {
      centre = written_out,
      edge = products,
      most = options.most,
      edges = 2,
      through = trace
        :ops { class = { "pointwise", "reduction", "softmax_loss" } }
        :plus(trace:ops { kind = { "copy", "set" }, direction = { "d2d", "" } }),
    }
    -- A workspace may be cleared between the two gradients' products.
    projections = projections:plus(products:minus(projections):beside(projections))
    local moved, head = between:own_ns(), between:plus(projections):own_ns()
    local share = head / trace:total_ns()
    if heads:count() == 0 or share < options.share then return {} end
    local steps = trace:fact "steps.count"
    return {
      {
        subject = "loss",
        message = "head",
        data = {
          time = head / steps,
          share = share,
          between = moved / steps,
          of_head = moved / head,
          kernels = math.floor(between:count() / heads:count() + 0.5),
        },
        about = true,
        recoverable_ns = moved * math.max(0, 1 - factors.fused_factor.by),
        change = {
          { scale = between, factor = factors.fused_factor },
          { scale = projections, factor = factors.in_chunks },
        },
        uncertain = "matrix products of chunks take up to a twentieth longer, and the smaller the \z
          chunks, the more often the weight gradient is read and written",
        confidence = "medium",
        metrics = {
          {
            name = "vocabulary projection and loss",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = heads:evidence {
          most = 3,
          note = "from the first kernel after the projection to the last before its gradients",
        },
      },
    }
  end,
}

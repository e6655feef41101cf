return {
  id = "fp8-cast-overhead",
  category = "compute",
  title = "Scaling and casting to FP8 take many kernels for each operand",
  since = "0.2",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: kernels that scale and cast operands to FP8.",
    },
    most = {
      default = 20,
      unit = "count",
      doc = "Kernels on either side of a cast, at most: an operand that PyTorch scales and casts \z
        takes about eight.",
    },
    least = {
      default = 3,
      unit = "count",
      doc = "Kernels for each cast, from which they are separate: fused, a cast is one kernel, \z
        and its maximum another.",
    },
  },
  factors = {
    fused_factor = {
      by = 0.17,
      least = 0.085,
      most = 0.34,
      doc = "Time of fused kernels relative to the separate ones.",
      source = "Bytes counted: one kernel reads the operand for its maximum, one reads and casts \z
        it, 5 bytes an element of BF16. Absolute value, maximum, cast up, product, clamp and cast \z
        move 30 or more.",
    },
  },
  messages = {
    casts = "{count:# operand is|# operands are} scaled and cast to FP8 {a_step} in {kernels:# \z
      separate kernel|# separate kernels} (absolute value, maximum, scale, clamp, cast): \z
      {time:lost} of {each_step} ({share:fraction}), compared with {products:ns} for the FP8 \z
      products themselves.",
  },
  headlines = {
    casts = "Casting to FP8 takes {kernels:# separate kernel|# separate kernels} {a_step}",
  },
  doc = {
    what = "Finds PyTorch's own casts to FP8 with a maximum before them, and the elementwise \z
      kernels that belong to both, in programs with FP8 matrix products. Casts of Transformer \z
      Engine and of compiled code are already fused and left out.",
    why = "FP8 halves what a matrix product takes and reads. Computing a scale with one \z
      elementwise kernel after the other first moves each operand through memory ten times, and \z
      takes more than FP8 saves.",
    fix = "`torchao.float8` under `torch.compile`, which fuses maximum, scale and cast; \z
      Transformer Engine, whose kernels cast and transpose in one, with delayed scaling (the \z
      scale comes from earlier steps, so no maximum has to be waited for). Weights that do not \z
      change between micro-batches need one cast a step; for inference store them in FP8.",
    wrong = "Multiplications among those kernels that belong to something else (a gate) are \z
      counted as well.",
  },
  advice = {
    {
      pytorch = {
        inference = "Fuse scaling and casting{.}: `torchao.quantization`'s `quantize_(model, \z
          Float8DynamicActivationFloat8WeightConfig())` with `torch.compile(model)`, or \z
          Transformer Engine's layers under `fp8_autocast`.",
        cuda = "Fuse scaling and casting{.}: `torchao.float8` (`convert_to_float8_training`) with \z
          `torch.compile(model)`, or Transformer Engine's layers under `fp8_autocast`.",
      },
      cuda = "Fuse scaling and casting{.}: one or two kernels that take maximum, scale and cast, \z
        and read the operand once each.",
    },
    {
      pytorch = {
        training = "Delayed scaling (Transformer Engine's `DelayedScaling` recipe) takes the \z
          scale from earlier steps{.}: no maximum before the cast.",
        cuda = "Store the weights in FP8 with their scales{.}: then only activations have to be \z
          cast.",
      },
    },
  },
  evaluate = function(trace, options, factors)
    local products = trace:ops { class = "gemm_fp8" }
    if products:count() == 0 then return nil, "no product ran in FP8", "" end
    local small = trace:ops { class = { "pointwise", "reduction" } }
    local casts = small:where {
      class = "pointwise",
      name = { "*at::native::*Float8_e*", "*at::native::*float8_copy_kernel*" },
    }
    local through = small:plus(trace:ops { kind = "set" }) -- a reduction clears its result first
    local _, inner = trace:chains {
      centre = casts,
      edge = trace:ops {}:minus(through),
      through = through,
      most = options.most,
      with = { small:where { class = "reduction", name = { "*Max*", "*max*" } } },
    }
    casts = casts:minus(casts:minus(inner))
    local own = inner:where {
      name = {
        "*abs*",
        "*Abs*",
        "*Max*",
        "*max*",
        "*clamp*",
        "*copy_kernel*",
        "*loat8*",
        "*MulFunctor*",
        "*DivFunctor*",
        "*reciprocal*",
      },
    }
    local time, steps = own:own_ns(), trace:fact "steps.count"
    local share = time / trace:total_ns()
    if
      casts:count() == 0
      or share < options.share
      or own:count() < options.least * casts:count()
    then
      return {}
    end
    return {
      {
        subject = "FP8 casts",
        message = "casts",
        data = {
          count = math.floor(casts:count() / steps + 0.5),
          kernels = math.floor(own:count() / steps + 0.5),
          time = time / steps,
          share = share,
          products = products:own_ns() / steps,
        },
        about = true,
        recoverable_ns = time * math.max(0, 1 - factors.fused_factor.by),
        -- The kernel that computes the operand may be fused with its cast as well.
        change = {
          { graph = own },
          { scale = own, factor = factors.fused_factor },
          { scale = inner:minus(own), by = 0, least = 0, most = 1 },
        },
        uncertain = "whether the maximum is taken each time (current scaling) or comes from \z
          earlier steps (delayed), whether weights are stored in FP8, and whether the kernel that \z
          computes an operand is fused with its cast",
        confidence = "medium",
        metrics = {
          {
            name = "scaling and casting to FP8",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = own:evidence { most = 4 },
      },
    }
  end,
}

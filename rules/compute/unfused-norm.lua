return {
  id = "unfused-norm",
  category = "compute",
  title = "Normalization runs as separate kernels instead of a fused one",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: kernels of normalizations, with the additions \z
        and casts around them.",
    },
    note_share = {
      default = 0.02,
      unit = "fraction",
      doc = "From this share of the step it is a note.",
    },
    least_chains = {
      default = 2,
      unit = "count",
      doc = "How often a mean followed by a plain root, of a size within a factor of two, has to \z
        occur in a step to be a norm: once a step it may be a loss. A reciprocal root may occur \z
        once.",
    },
    most = {
      default = 14,
      unit = "count",
      doc = "Kernels on either side of a norm's middle, at most: an RMSNorm has nine forward and \z
        seventeen backward, additions and casts included.",
    },
  },
  factors = {
    fused_factor = {
      by = 0.2,
      least = 0.07,
      most = 0.52,
      doc = "Time of a fused norm relative to the kernels that it replaces.",
      source = "Measured on an H100, RMSNorm and LayerNorm with a residual, 1,024 to 4,096 wide, \z
        PyTorch's fused norm and torch.compile: 0.07 to 0.21 in BF16, 0.13 to 0.52 in FP32, the \z
        lower half with backward. In passes over memory 9 of 66 for an RMSNorm in BF16.",
    },
  },
  messages = {
    chains = "{count:# normalization runs|# normalizations run} as separate kernels {a_step} \z
      (power, mean, root and products): with their additions and casts, {kernels:# kernel takes|# \z
      kernels take} {time:lost} of {each_step} ({share:fraction}).",
  },
  headlines = {
    chains = "{norm} runs as {kernels:# small kernel|# small kernels} {a_step}",
  },
  doc = {
    what = "Finds a mean (or variance) followed by a reciprocal root, or by a plain root if that \z
      repeats within a step, and takes the uninterrupted elementwise kernels and reductions \z
      around them; in backward, the power of such a root with a sum before it. A norm that is one \z
      kernel is not counted.",
    why = "As separate kernels, a norm moves each activation through memory twenty times or more, \z
      mostly in FP32; fused, it reads and writes it once.",
    fix = "`torch.nn.RMSNorm` or `torch.nn.functional.rms_norm` (PyTorch 2.4 or later), \z
      `torch.nn.LayerNorm`; Transformer Engine's RMSNorm and `LayerNormLinear`, apex's \z
      `FusedRMSNorm`, Liger's `LigerRMSNorm` (with its residual: fused add and norm). \z
      `torch.compile` fuses separate kernels.",
    wrong = "Kernels between a norm and the next matrix product (a residual, an activation) are \z
      counted with it; a fused norm alone may leave some of that.",
  },
  advice = {
    {
      pytorch = {
        "Use a fused norm{.}: `torch.nn.RMSNorm` or `torch.nn.functional.rms_norm` (or \z
          `torch.nn.LayerNorm`); Liger's `LigerRMSNorm`, apex's `FusedRMSNorm` or Transformer \z
          Engine's RMSNorm if one of those is installed.",
        "Or compile it{.}: `torch.compile(model)` fuses the norm with the addition and the casts \z
          around it.",
      },
      jax = "Put the whole norm under one `jax.jit`{.}: with the addition and the casts around \z
        it, XLA fuses it.",
      cuda = "Put the whole norm into one kernel{.}: with the addition and the casts around it, \z
        it reads each row once. cuDNN has such kernels (layernorm, rmsnorm).",
    },
  },
  evaluate = function(trace, options, factors)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local through = trace
      :ops { class = { "pointwise", "reduction" } }
      :plus(trace:ops { kind = { "copy", "set" }, direction = { "d2d", "" } })
    local edge = trace:ops {}:minus(through)
    local means = through:where { class = "reduction", name = { "*MeanOps*", "*Welford*" } }
    local roots = through:where { class = "pointwise", name = { "*rsqrt*", "*sqrt_kernel*" } }
    local reciprocal = roots:where { name = "*rsqrt*" }
    local _, plain = trace:chains {
      centre = roots:minus(reciprocal),
      edge = edge,
      through = through,
      most = options.most,
      with = { means },
    }
    plain = plain:minus(plain:minus(roots)):minus(reciprocal)
    roots = reciprocal
    for _, group in ipairs(plain:group("blocks", 1000)) do
      local blocks = tonumber(group.key)
      if
        plain:where { min_blocks = blocks // 2, max_blocks = 2 * blocks }:count()
        >= options.least_chains * steps
      then
        roots = roots:plus(group.rows)
      end
    end
    local forward, inner = trace:chains {
      centre = roots,
      edge = edge,
      through = through,
      most = options.most,
      with = { means },
    }
    local found, chains = forward:count(), forward
    if found > 0 then
      -- Backward takes the root's third power, of the same few elements, and sums over rows.
      local size = inner:where { name = { "*rsqrt*", "*sqrt_kernel*" } }:median "blocks"
      local backward, more = trace:chains {
        centre = through
          :where { class = "pointwise", name = "*pow_tensor_scalar*", max_blocks = size }
          :minus(inner),
        edge = edge,
        through = through,
        most = options.most,
        with = { through:where { class = "reduction", name = { "*sum*", "*Sum*" } } },
      }
      found, inner = found + backward:count(), inner:plus(more)
    end
    local time = inner:own_ns()
    local share = time / total
    if found == 0 or share < options.note_share then return {} end
    -- An RMSNorm takes one mean for each root; a LayerNorm takes two, or Welford's.
    local one_mean = means:minus(means:minus(inner)):count()
        <= roots:minus(roots:minus(inner)):count()
      and inner:where { name = "*Welford*" }:count() == 0
    return {
      {
        subject = "normalization",
        message = "chains",
        data = {
          norm = one_mean and "RMSNorm" or "Normalization",
          count = math.floor(found / steps + 0.5),
          kernels = math.floor(inner:count() / steps + 0.5),
          time = time / steps,
          share = share,
        },
        about = true,
        recoverable_ns = time * math.max(0, 1 - factors.fused_factor.by),
        change = { { graph = inner }, { scale = inner, factor = factors.fused_factor } },
        uncertain = "a fused norm was measured to take 0.07 (BF16) to 0.52 (FP32) of the time of \z
          its kernels",
        at_most = share < options.share and "note" or nil,
        metrics = {
          {
            name = "norms as separate kernels",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = chains:evidence {
          most = 4,
          note = "from the first elementwise kernel to the last around a root",
        },
      },
    }
  end,
}

return {
  id = "unfused-norm",
  category = "compute",
  title = "Normalization is written out",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Time of the kernels of normalizations, with the additions and casts around them, of the step, from which they count." },
    note_share = { default = 0.02, unit = "fraction", doc = "From this share on they are mentioned as a note." },
    least_chains = { default = 2, unit = "count", doc = "Norms in a step, of a size within a factor of two, from which a mean with a plain root behind it is one: once a step it may be a loss. A reciprocal root needs no company." },
    most = { default = 14, unit = "count", doc = "Kernels on either side of a norm's middle, at most: an RMSNorm has nine forward and seventeen backward, additions and casts included." },
    fused_factor = { default = 0.2, unit = "fraction", doc = "Time of a fused norm, of the kernels that it replaces. Counted in passes over memory 9 of 66 for an RMSNorm in BF16 with its residual; torch.compile measured 0.23 on an H200." },
  },
  messages = {
    chains = "{count} normalizations {a_step} are written out as power, mean, root and products: with their additions and casts they take {time:ns} of {each_step} ({share:fraction}), in {kernels} kernels.",
  },
  doc = {
    what = "Finds a mean (or variance) with a reciprocal root behind it, or a plain root where that repeats within a step, and takes the uninterrupted elementwise kernels and reductions around them; backward, the power of such a root with a sum before it. A norm that is one kernel is not counted.",
    why = "Written out, a norm moves each activation through memory twenty times or more, mostly in FP32; fused, it reads and writes it once.",
    fix = "torch.nn.RMSNorm or torch.nn.functional.rms_norm (PyTorch 2.4 or later), torch.nn.LayerNorm; Transformer Engine's RMSNorm and LayerNormLinear, apex's FusedRMSNorm, Liger's LigerRMSNorm (with its residual: fused add and norm). torch.compile fuses what is written out.",
    wrong = "What stands between a norm and the next product (a residual, an activation) is counted with it; a fused norm alone may leave some of that.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local through = trace:ops { class = { "pointwise", "reduction" } }:plus(trace:ops { kind = { "copy", "set" }, direction = { "d2d", "" } })
    local edge = trace:ops {}:minus(through)
    local means = through:where { class = "reduction", name = { "*MeanOps*", "*Welford*" } }
    local roots = through:where { class = "pointwise", name = { "*rsqrt*", "*sqrt_kernel*" } }
    local reciprocal = roots:where { name = "*rsqrt*" }
    local _, plain = trace:chains { centre = roots:minus(reciprocal), edge = edge, through = through, most = options.most, with = { means } }
    plain = plain:minus(plain:minus(roots)):minus(reciprocal)
    roots = reciprocal
    for _, group in ipairs(plain:group("blocks", 1000)) do
      local blocks = tonumber(group.key)
      if plain:where { min_blocks = blocks // 2, max_blocks = 2 * blocks }:count() >= options.least_chains * steps then roots = roots:plus(group.rows) end
    end
    local forward, inner = trace:chains { centre = roots, edge = edge, through = through, most = options.most, with = { means } }
    local found, chains = forward:count(), forward
    if found > 0 then
      -- Backward takes the root's third power, of the same few elements, and sums over rows.
      local size = inner:where { name = { "*rsqrt*", "*sqrt_kernel*" } }:median "blocks"
      local backward, more = trace:chains {
        centre = through:where { class = "pointwise", name = "*pow_tensor_scalar*", max_blocks = size }:minus(inner), edge = edge, through = through, most = options.most,
        with = { through:where { class = "reduction", name = { "*sum*", "*Sum*" } } },
      }
      found, inner = found + backward:count(), inner:plus(more)
    end
    local time = inner:own_ns()
    local share = time / total
    if found == 0 or share < options.note_share then return {} end
    return { {
      subject = "normalization",
      message = "chains",
      data = { count = math.floor(found / steps + 0.5), kernels = math.floor(inner:count() / steps + 0.5), time = time / steps, share = share },
      about = true,
      recoverable_ns = time * math.max(0, 1 - options.fused_factor),
      change = { { graph = inner }, { scale = inner, by = options.fused_factor, least = 0.14, most = 2 * options.fused_factor } },
      uncertain = "a fused norm takes 0.14 (bytes counted) to 0.4 of its kernels",
      at_most = share < options.share and "note" or nil,
      metrics = { { name = "norms written out", value = share, unit = "fraction", threshold = options.share } },
      evidence = chains:evidence { most = 4, note = "from the first elementwise kernel to the last around a root" },
      advice = {
        {
          pytorch = {
            "Use one kernel: torch.nn.RMSNorm or torch.nn.functional.rms_norm (torch.nn.LayerNorm likewise); Liger's LigerRMSNorm, apex's FusedRMSNorm or Transformer Engine's RMSNorm where those are installed.",
            "Or compile what is written out: torch.compile(model) fuses the norm with the addition and the casts around it.",
          },
          jax = "Put the whole norm, with the addition and the casts around it, under one jax.jit: XLA fuses it.",
          cuda = "Put the whole norm, with the addition and the casts around it, into one kernel that reads each row once; cuDNN has such (layernorm, rmsnorm).",
        },
      },
    } }
  end,
}

local constants = {
  ampere = 8,
  hopper = 9, -- compute capability
}
local passes = { training = ", forward and backward", cuda = ", both ways" }

return {
  id = "unfused-softmax",
  category = "compute",
  title = "Attention runs as separate kernels instead of a fused one",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: kernels between the two GEMMs of attention \z
        (scale, mask, softmax, cast, dropout).",
    },
    note_share = {
      default = 0.02,
      unit = "fraction",
      doc = "From this share of the step it is a note.",
    },
    least_chains = {
      default = 2,
      unit = "count",
      doc = "Chains in a step, of a size within a factor of two, from which they are attention. A \z
        single one may be a loss or a gate: a note.",
    },
    most = {
      default = 14,
      unit = "count",
      doc = "Kernels from the softmax to the GEMM on either side, at most: an eager PyTorch \z
        attention has five.",
    },
    odd_slowdown = {
      default = 2,
      unit = "count",
      doc = "How many times slower products of an odd length are, before Hopper: as for \z
        misaligned-gemm.",
    },
    hopper_odd_slowdown = {
      default = 5,
      unit = "count",
      doc = "The same from compute capability 9.0 on. Measured on an H100: 6.",
    },
  },
  factors = {
    fused_gemm_factor = {
      by = 0.42,
      least = 0.23,
      most = 1.35,
      doc = "Time of fused attention relative to only the GEMMs that it replaces, in half \z
        precision.",
      source = "Measured on an H100 in BF16 against products and softmax, heads of 64 and 128, \z
        256 to 4,096 tokens, causal or not. cuDNN, which PyTorch 2.11 takes there: 0.23 to 0.69 \z
        forward, 0.29 to 1.08 with backward, median of both 0.47; flash: up to 1.08 and 1.34. In \z
        programs: two GPTs on an H100 0.35, GPT-2 on an H200 0.43.",
    },
    fused_tf32_factor = {
      by = 2.6,
      least = 1.4,
      most = 5.5,
      doc = "The same of GEMMs in TF32: fused attention of FP32 data computes more precisely than \z
        TF32, and has no flash kernel.",
      source = "Measured so, the memory-efficient kernel, also with a mask as a tensor: 1.4 to \z
        4.3 forward, 1.5 to 5.5 with backward. Without causal mask all of attention took 0.7 to \z
        1.8 of its time as separate kernels.",
    },
    fused_fp32_factor = {
      by = 1.2,
      least = 0.54,
      most = 1.6,
      doc = "The same of FP32 GEMMs on CUDA cores: fused attention of FP32 data runs at 28 to 45 \z
        TFLOP/s on an H100, hardly faster than they do.",
      source = "Measured so: 0.54 to 1.44 forward (median 1.05), 0.78 to 1.6 with backward (1.35).",
    },
    fused_upcast_factor = {
      by = 0.13,
      least = 0.05,
      most = 0.27,
      doc = "The same of FP32 GEMMs in a model in half precision, which the math path of \z
        attention casts up: the fused kernel runs in half precision.",
      source = "Measured so against the math path in BF16: 0.05 to 0.19 forward, 0.07 to 0.27 \z
        with backward.",
    },
    odd_factor = {
      by = 1,
      least = 0.5,
      most = 2,
      doc = "The same of GEMMs of an odd length, relative to the above and to how much slower \z
        these are.",
      source = "Chosen: how much slower an odd length is depends on the kernel that the library \z
        falls back to.",
    },
  },
  messages = {
    chains = "Attention runs as separate kernels {count:once|# times} {a_step}{passes}: with its \z
      GEMMs it takes {all:lost} of {each_step}. Softmax, scale, mask, cast and dropout take \z
      {time:ns} of that ({share:fraction} of the {unit}), writing and reading the whole score \z
      matrix each time.",
    single = "Softmax runs as a separate kernel between two GEMMs, {count:once|# times} {a_step}: \z
      with the kernels around it, it takes {time:lost} of {each_step} ({share:fraction}). It may \z
      be unfused attention; a loss or a gate looks the same.",
  },
  headlines = {
    chains = "Attention runs as separate kernels {count:once|# times} {a_step}",
    single = "Softmax runs as a separate kernel {count:once|# times} {a_step}",
  },
  doc = {
    what = "Walks the order of kernels on each stream from every softmax to the nearest GEMM on \z
      both sides, over pointwise kernels, reductions and copies only; such a run, forward or \z
      backward, is unfused attention. Softmax made by hand (maximum, exponential, sum, division) \z
      counts too. The loss, a router and anything else between the GEMMs do not; nor does a \z
      softmax with its own backward in the same run, or one that does not repeat within a step.",
    why = "As separate kernels, attention moves the score matrix (sequence length squared, for \z
      each head) through memory five times or more; a fused kernel never writes it. Utilization \z
      stays at 100 % meanwhile.",
    fix = '`torch.nn.functional.scaled_dot_product_attention` instead of `softmax(q @ k.T) @ v`; \z
      in Transformers `attn_implementation="sdpa"` or "`flash_attention_2`"; in Megatron and NeMo \z
      Transformer Engine (`--transformer-impl transformer_engine`, `--use-flash-attn`). For a \z
      special bias or mask: `torch.nn.attention.flex_attention`. Megatron\'s fused softmax \z
      kernels are better than nothing.',
    wrong = "A fused kernel does not return attention weights (`output_attentions=True`). Very \z
      short sequences gain little. Fused attention of FP32 data takes longer than GEMMs in TF32: \z
      without a causal mask nothing may be gained until it runs in half precision.",
  },
  advice = {
    {
      transformers = 'Use fused attention{.}: `attn_implementation="sdpa"` ("`flash_attention_2`" \z
        where installed).',
      megatron = "Use fused attention{.}: `--transformer-impl transformer_engine`, \z
        `--use-flash-attn`.",
      nemo = 'Use fused attention{.}: Transformer Engine\'s \z
        (`transformer_impl="transformer_engine"`).',
      pytorch = 'Use fused attention{.}: `torch.nn.functional.scaled_dot_product_attention`, or \z
        `attn_implementation="sdpa"` if the model\'s library has such a switch. If the program \z
        already calls it, its math backend was chosen: look for `sdpa_kernel(SDPBackend.MATH)`, \z
        `enable_flash_sdp(False)` and inputs in FP32.',
      jax = 'Use fused attention{.}: `jax.nn.dot_product_attention(..., implementation="cudnn")`.',
      cuda = "Use fused attention{.}: cuDNN's (scaled dot-product attention of its graph API) or \z
        FlashAttention's kernel instead of product, softmax and product.",
    },
    { pytorch = "For a special mask or bias{.}: `torch.nn.attention.flex_attention`." },
  },
  evaluate = function(trace, options, factors)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local softmax = trace:ops { class = "softmax" }
    local gemm = trace:ops {
      class = { "gemm_cuda_core", "gemm_tf32", "gemm_half", "gemm_fp8", "gemm_unknown" },
    }
    if gemm:count() == 0 then
      return nil, "no matrix multiplication ran, so there is no attention", ""
    end
    local between = trace
      :ops { class = { "pointwise", "reduction", "softmax", "embedding" } }
      :plus(trace:ops { kind = { "copy", "set" }, direction = { "d2d", "" } })

    -- Backward has two GEMMs on either side: those of the values and the weights before, of
    -- queries and keys after.
    local function around(centre, with)
      return trace:chains {
        centre = centre,
        edge = gemm,
        through = between,
        most = options.most,
        edges = 2,
        with = with,
      }
    end
    -- Attention multiplies by the values before it turns back: forward and backward in one run are
    -- a loss.
    local back = softmax:where { name = { "*backward*", "*Backward*", "*bwd*" } }
    local _, losses = around(back, { softmax:minus(back) })
    -- It repeats, layer by layer, on matrices of similar size.
    local function repeated(centres)
      local found = centres:minus(centres)
      for _, group in ipairs(centres:group("blocks", 1000)) do
        local blocks = tonumber(group.key)
        if
          centres:where { min_blocks = blocks // 2, max_blocks = 2 * blocks }:count()
          >= options.least_chains * steps
        then
          found = found:plus(group.rows)
        end
      end
      return found
    end
    local _, met = around(softmax:minus(losses))
    met = met:where { class = "softmax" }
    -- By hand: the exponential in the middle, a maximum and a sum around it.
    local reductions = trace:ops { class = "reduction" }
    local max_and_sum = {
      reductions:where { name = { "*Max*", "*max*" } },
      reductions:where { name = { "*sum*", "*Sum*", "*add*" } },
    }
    local exponential =
      { class = "pointwise", name = { "*exp_kernel*", "*exp_op*", "*_exp_*" } }
    local _, met_by_hand = around(trace:ops(exponential), max_and_sum)
    met_by_hand = met_by_hand:where(exponential)

    local softmaxes, exponentials = repeated(met), repeated(met_by_hand)
    local single = softmaxes:count() + exponentials:count() == 0
    if single then
      softmaxes, exponentials = met, met_by_hand
    end
    local chains, inner, edges = around(softmaxes)
    local by_hand, by_hand_inner, by_hand_edges = around(exponentials, max_and_sum)
    -- One attention runs forward and backward; where only backward was recorded, that counts.
    local backwards = around(softmaxes:minus(softmaxes:minus(back))):count()
    local forwards = chains:count() - backwards + by_hand:count()
    inner, edges = inner:plus(by_hand_inner), edges:plus(by_hand_edges)
    if by_hand:count() > 0 and not single then
      -- Its backward has no exponential, but works on matrices of the same size and sums over rows.
      local backward, backward_inner, backward_edges = trace:chains {
        centre = trace
          :ops { class = "pointwise", min_blocks = exponentials:median "blocks" }
          :minus(inner)
          :minus(losses),
        edge = gemm,
        through = between,
        most = 2 * options.most,
        edges = 2,
        with = { reductions:where { name = { "*sum*", "*Sum*" } } },
      }
      backwards = backwards + backward:count()
      inner, edges = inner:plus(backward_inner), edges:plus(backward_edges)
    end
    local time = inner:own_ns()
    local share = time / total
    if time == 0 or share < options.note_share then return {} end

    -- What the fused kernel takes replaces these kernels and the GEMMs around them.
    local recoverable = single and time
      or time + edges:own_ns() * math.max(0, 1 - factors.fused_gemm_factor.by)
    -- A fused kernel takes queries, keys and values as the projections left them, and scales them
    -- itself.
    local layout = trace
      :ops { class = "pointwise", name = { "*direct_copy*", "*CatArray*", "*AUnaryFunctor*" } }
      :minus(inner)
      :beside(edges)
    local change = { { remove = single and inner or inner:plus(layout) } }
    if not single then
      local cores = edges:where { class = "gemm_cuda_core" }
      local tf32 = edges:where { class = "gemm_tf32" }
      local rest = gemm:minus(edges)
      local upcast = rest:where { class = { "gemm_half", "gemm_fp8" } }:own_ns()
        > rest:own_ns() / 2
      -- The fused kernel computes the same, but for what a mask hides.
      local function fused(of, factor, precision)
        return { scale = of, factor = factor, precision = precision, fused = true }
      end
      change[2] = fused(edges:minus(cores):minus(tf32), factors.fused_gemm_factor, "same")
      change[3] = fused(
        cores,
        upcast and factors.fused_upcast_factor or factors.fused_fp32_factor,
        upcast and "half" or "same"
      )
      change[4] = fused(
        tf32,
        upcast and factors.fused_upcast_factor or factors.fused_tf32_factor,
        upcast and "half" or "same"
      )
      -- A fused kernel does not mind an odd length, which makes separate products fall back to
      -- slow kernels.
      local unaligned = edges
        :where {
          name = {
            "*_align1",
            "*_align1>*",
            "*_align1_*",
            "*_align2",
            "*_align2>*",
            "*_align2_*",
          },
        }
        :minus(cores)
        :minus(tf32)
      local hopper = (trace:fact "device.compute_capability" or 0) >= constants.hopper
      local even = factors.fused_gemm_factor.by
        / math.max(1, hopper and options.hopper_odd_slowdown or options.odd_slowdown)
      change[5] = {
        scale = unaligned,
        factor = factors.odd_factor,
        times = even,
        precision = "same",
        fused = true,
      }
    end
    -- The math path of scaled_dot_product_attention belongs to attention-backend.
    local maths = met:where {
      launched_in = trace:ranges { name = "aten::_scaled_dot_product_attention_math*" },
    }
    local fell_back = maths:count() >= met:minus(back):count() / 2
      and maths:count() > 0
      and edges:where { class = "gemm_half" }:count() > 0
      and (trace:fact "device.compute_capability" or 0) >= constants.ampere
    return {
      {
        subject = "attention",
        message = single and "single" or "chains",
        data = {
          count = math.floor((forwards > 0 and forwards or backwards) / steps + 0.5),
          passes = forwards > 0 and backwards > 0 and trace:words(passes) or "",
          all = (time + edges:own_ns()) / steps,
          time = time / steps,
          share = share,
        },
        about = true,
        recoverable_ns = recoverable,
        change = change,
        uncertain = "how long the fused kernel takes depends on head size, mask and precision: \z
          about half of the GEMMs that it replaces in half precision, longer than they do in FP32",
        at_most = (single or share < options.share) and "note" or nil,
        confidence = single and "medium" or "high",
        follows_from = fell_back and "attention-backend" or nil,
        metrics = {
          {
            name = "kernels between the GEMMs of attention",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = (chains:count() > 0 and chains or by_hand):evidence {
          most = 4,
          note = "from the first kernel after a GEMM to the last before the next",
        },
      },
    }
  end,
}

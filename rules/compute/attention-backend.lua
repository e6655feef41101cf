local constants = {
  ampere = 8,
  hopper = 9, -- compute capability
}

return {
  id = "attention-backend",
  category = "compute",
  title = "Attention in half precision runs on a slower kernel than this GPU has",
  since = "0.2",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: attention on the memory-efficient or math \z
        kernels.",
    },
  },
  factors = {
    hopper_factor = {
      by = 0.45,
      least = 0.23,
      most = 0.87,
      doc = "Time of flash or cuDNN attention relative to the memory-efficient kernels, from \z
        compute capability 9.0 on.",
      source = "Measured on an H100 in BF16, forward and backward, heads of 64 and 128, 256 to \z
        4,096 tokens, causal or not: flash 0.39 to 0.87 (median 0.52), cuDNN 0.24 to 0.73 (0.35). \z
        Two steps on an H200: 0.38, and 0.7 with 512 tokens.",
    },
    factor = {
      by = 0.6,
      least = 0.45,
      most = 0.96,
      doc = "The same before Hopper.",
      source = "FlashAttention 2 (Dao, 2023) is 1.3 to 2.5 times as fast as the memory-efficient \z
        kernels on an A100.",
    },
    fused_gemm_factor = {
      by = 0.42,
      least = 0.23,
      most = 1.35,
      doc = "Time of fused attention relative to only the matrix products of attention that runs \z
        as separate kernels.",
      source = "As for unfused-softmax, in half precision.",
    },
  },
  messages = {
    efficient = "Attention in {precision} runs on CUTLASS's memory-efficient kernels: {count:# of \z
      them takes|# of them take} {time:lost} of {each_step} ({share:fraction}). This GPU can run \z
      {faster}, which {takes}.{mask}",
    math = "The framework's attention fell back to its math path {count:once|# times} {a_step}: \z
      separate matrix products and a softmax, which together with the kernels between them take \z
      {time:lost} of {each_step} ({share:fraction}).{mask}",
  },
  headlines = {
    efficient = "Attention runs on slower kernels than this GPU has",
    math = "Attention falls back to the math path {count:once|# times} {a_step}",
  },
  doc = {
    what = "Finds memory-efficient attention (CUTLASS's kernels in PyTorch and xFormers) over \z
      FP16 or BF16 on a GPU from Ampere on, and, if the report has PyTorch's operators, \z
      `scaled_dot_product_attention` that runs its math path in half precision.",
    why = "PyTorch chooses the kernel for each call: a mask, a head size, a switch \z
      (`enable_flash_sdp(False)`, `sdpa_kernel`) or a library's default decides, silently. On \z
      Hopper the memory-efficient kernels are those of Ampere.",
    fix = "Let flash or cuDNN attention run: no `sdpa_kernel(EFFICIENT_ATTENTION)` and no \z
      `enable_flash_sdp(False)`; `is_causal=True` instead of a causal mask as a tensor; a padding \z
      mask as variable lengths (`flash_attn_varlen_func`, nested tensors) or with \z
      `flex_attention`. To see why a backend refuses, put \z
      `torch.nn.attention.sdpa_kernel(SDPBackend.FLASH_ATTENTION)` around the call: it raises and \z
      says so.",
    wrong = "Flash attention takes no mask and no bias as a tensor, and no head above 256: if \z
      those are needed, the memory-efficient kernel may be the right one, unless cuDNN's or \z
      `flex_attention` fits. Whether a mask is passed is known only if operators' shapes were \z
      recorded.",
  },
  advice = {
    {
      vllm = "Choose the backend{.}: `--attention-backend FLASH_ATTN` or FLASHINFER \z
        (`VLLM_ATTENTION_BACKEND` in older releases).",
      sglang = "Choose the backend{.}: `--attention-backend fa3` (Hopper) or flashinfer.",
      pytorch = "Let flash or cuDNN attention run{.}: no `sdpa_kernel` or \z
        `enable_flash_sdp(False)` in the code, no mask passed as a tensor. \z
        `torch.nn.attention.sdpa_kernel(SDPBackend.FLASH_ATTENTION)` around the call raises and \z
        says what is in the way.",
      cuda = "Call FlashAttention's or cuDNN's kernel{.}: instead of the memory-efficient one.",
    },
    {
      pytorch = "For a causal mask{.}: `is_causal=True` instead of a tensor. Padding: variable \z
        lengths (nested tensors, `flash_attn_varlen_func`). Any other mask or bias: \z
        `flex_attention`, or cuDNN's kernel, which takes a bias.",
    },
  },
  evaluate = function(trace, options, factors)
    local attention = trace:ops { class = "attention_fused" }
    local steps, total = trace:fact "steps.count", trace:total_ns()
    local capability = trace:fact "device.compute_capability"
    local maths = trace:ranges { name = "aten::_scaled_dot_product_attention_math*" }
    if attention:count() + maths:count() == 0 then
      return nil, "no fused attention ran, and no attention operator was recorded", ""
    end
    if capability == nil then
      return nil,
        "the report does not say which GPU ran, so which kernels it has is unknown",
        ""
    end
    if capability < constants.ampere then return {} end

    local findings = {}
    -- Whether calls pass a mask or bias, the fourth operand; nil if no shapes were recorded.
    local function masked(name)
      local known, masks = 0, 0
      for _, call in
        ipairs(require "shapes"(trace, trace:ranges { name = name .. ", sizes = *" }))
      do
        known = known + call.count
        if call.sizes[4] and #call.sizes[4] > 0 then masks = masks + call.count end
      end
      if known == 0 then return nil end
      return masks > known / 2
    end
    local with_mask =
      " They pass a mask or bias as a tensor, which flash attention does not take."
    -- With registers (rf) they take heads up to 128; the others take heads that flash may not take.
    local efficient = attention:where {
      name = {
        "fmha_cutlass*_bf16_*_rf_*",
        "fmha_cutlass*_f16_*_rf_*",
        "fmha_cutlassB_bf16_*_k64*",
        "fmha_cutlassB_bf16_*_k32_*",
        "fmha_cutlassB_bf16_*_k128_*",
        "fmha_cutlassB_f16_*_k64*",
        "fmha_cutlassB_f16_*_k32_*",
        "fmha_cutlassB_f16_*_k128_*",
      },
    }
    efficient = efficient:minus(efficient:where { name = "*_k65536*" })
    local time = efficient:own_ns()
    if time > 0 and time / total >= options.share then
      local hopper = capability >= constants.hopper
      local factor = hopper and factors.hopper_factor or factors.factor
      local mask = masked "aten::_scaled_dot_product_efficient_attention"
      findings[1] = {
        subject = "memory-efficient attention",
        message = "efficient",
        data = {
          precision = efficient:where { name = "*_bf16_*" }:count() > 0 and "BF16" or "FP16",
          count = math.floor(efficient:count() / steps + 0.5),
          time = time / steps,
          share = time / total,
          faster = hopper and "flash and cuDNN attention" or "flash attention",
          takes = string.format(
            "%s about %.2f of that",
            hopper and "take" or "takes",
            factor.by
          ),
          mask = mask and with_mask or "",
        },
        about = true,
        recoverable_ns = time * math.max(0, 1 - factor.by),
        change = { { scale = efficient, factor = factor, precision = "half" } },
        uncertain = "how much faster attention runs depends on head size, length and mask",
        at_most = mask and "note" or nil,
        confidence = mask == false and "high" or mask and "low" or "medium",
        metrics = {
          {
            name = "memory-efficient attention",
            value = time / total,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = efficient:evidence { most = 4 },
      }
    end

    -- The math path's softmax shows which chains belong to it; its backward runs outside of it.
    local products = trace:ops { class = "gemm_half" }
    local softmax = trace:ops { class = "softmax" }
    if products:where { launched_in = maths }:count() == 0 then return findings end
    local small = trace
      :ops { class = { "pointwise", "reduction", "softmax" } }
      :plus(trace:ops { kind = { "copy", "set" }, direction = { "d2d", "" } })
    local _, inner, edges =
      trace:chains { centre = softmax, edge = products, through = small, edges = 2 }
    local own = softmax:where { launched_in = maths }
    local forward =
      softmax:minus(softmax:where { name = { "*backward*", "*Backward*", "*bwd*" } })
    time = inner:plus(edges):own_ns()
    if own:count() < forward:count() / 2 or time / total < options.share then
      return findings
    end
    local mask = masked "aten::_scaled_dot_product_attention_math"
    findings[#findings + 1] = {
      subject = "math attention",
      message = "math",
      data = {
        count = math.floor(own:count() / steps + 0.5),
        time = time / steps,
        share = time / total,
        mask = mask and with_mask or "",
      },
      about = true,
      recoverable_ns = inner:own_ns()
        + edges:own_ns() * math.max(0, 1 - factors.fused_gemm_factor.by),
      change = {
        { remove = inner },
        {
          scale = edges,
          factor = factors.fused_gemm_factor,
          precision = "same",
          fused = true,
        },
      },
      uncertain = "how long the fused kernel takes depends on head size, mask and GPU",
      confidence = mask and "medium" or "high",
      metrics = {
        {
          name = "attention on math kernels",
          value = time / total,
          unit = "fraction",
          threshold = options.share,
        },
      },
      evidence = own:evidence { most = 4 },
    }
    return findings
  end,
}

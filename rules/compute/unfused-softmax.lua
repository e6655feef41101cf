return {
  id = "unfused-softmax",
  category = "compute",
  title = "Attention is written out: softmax is a kernel of its own",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Time of the kernels between the two GEMMs of attention (scale, mask, softmax, cast, dropout), of the step, from which they count." },
    note_share = { default = 0.02, unit = "fraction", doc = "From this share on they are mentioned as a note." },
    most = { default = 14, unit = "count", doc = "Kernels from the softmax to the GEMM on either side, at most: an eager PyTorch attention has five." },
    fused_gemm_factor = { default = 0.5, unit = "fraction", doc = "What fused attention takes, of the time of the GEMMs alone that it replaces. Measured on an H200 in BF16: 0.34 forward, 0.48 backward." },
  },
  messages = {
    chains = "Attention is written out {count} times {a_step}: softmax, with scale, mask, cast and dropout, runs as kernels of its own between two GEMMs and takes {time:ns} of {each_step} ({share:fraction}), writing and reading the whole score matrix each time.",
  },
  doc = {
    what = "Walks the order of kernels on each stream from every softmax to the nearest GEMM on both sides, over pointwise kernels, reductions and copies only; such a run, forward or backward, is attention written out. Softmax made by hand (maximum, exponential, sum, division) counts too. The loss, a router and anything else between the GEMMs do not.",
    why = "Written out, attention moves the score matrix (sequence length squared, for each head) through memory five times or more, where a fused kernel never writes it. Utilization stays at 100 % meanwhile.",
    fix = "torch.nn.functional.scaled_dot_product_attention instead of softmax(q @ k.T) @ v; in Transformers attn_implementation=\"sdpa\" or \"flash_attention_2\"; in Megatron and NeMo Transformer Engine (--transformer-impl transformer_engine, --use-flash-attn). Where a bias or mask is special: torch.nn.attention.flex_attention. Megatron's fused softmax kernels are better than nothing.",
    wrong = "Attention weights that are needed (output_attentions=True) cannot be had from a fused kernel. Very short sequences gain little.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:fact "steps.total_ns", trace:fact "steps.count"
    local softmax = trace:ops { class = "softmax" }
    local gemm = trace:ops { class = { "gemm_cuda_core", "gemm_tf32", "gemm_half", "gemm_fp8", "gemm_unknown" } }
    if gemm:count() == 0 then return nil, "no matrix multiplication ran, so no attention did", "" end
    local between = trace:ops { class = { "pointwise", "reduction", "softmax", "embedding" } }:plus(trace:ops { kind = { "copy", "set" }, direction = { "d2d", "" } })

    -- Backward has two GEMMs on either side: those of the values and the weights before, of queries and keys after.
    local chains, inner, edges = trace:chains { centre = softmax, edge = gemm, through = between, most = options.most, edges = 2 }
    -- By hand: the exponential in the middle, a maximum and a sum around it.
    local reductions = trace:ops { class = "reduction" }
    local exponential = trace:ops { class = "pointwise", name = { "*exp_kernel*", "*exp_op*", "*_exp_*" } }
    local by_hand, by_hand_inner, by_hand_edges = trace:chains {
      centre = exponential, edge = gemm, through = between, most = options.most, edges = 2,
      with = { reductions:where { name = { "*Max*", "*max*" } }, reductions:where { name = { "*sum*", "*Sum*", "*add*" } } },
    }
    local count = chains:count() + by_hand:count()
    inner, edges = inner:plus(by_hand_inner), edges:plus(by_hand_edges)
    if by_hand:count() > 0 then
      -- Its backward has no exponential, but works on matrices of the same size and sums over rows.
      local size = by_hand_inner:where { name = { "*exp_kernel*", "*exp_op*", "*_exp_*" } }:median "blocks"
      local backward, backward_inner, backward_edges = trace:chains {
        centre = trace:ops { class = "pointwise", min_blocks = size }:minus(inner), edge = gemm, through = between, most = 2 * options.most, edges = 2,
        with = { reductions:where { name = { "*sum*", "*Sum*" } } },
      }
      count = count + backward:count()
      inner, edges = inner:plus(backward_inner), edges:plus(backward_edges)
    end
    local time = inner:union_ns()
    local share = time / total
    if time == 0 or share < options.note_share then return {} end

    -- What the fused kernel takes replaces these kernels and the GEMMs around them.
    local recoverable = time + edges:union_ns() * (1 - options.fused_gemm_factor)
    return { {
      subject = "attention",
      message = "chains",
      data = { count = math.floor(count / steps + 0.5), time = time / steps, step = trace:fact "step.mean_ns", share = share },
      about = true,
      recoverable_ns = recoverable,
      at_most = share < options.share and "note" or nil,
      metrics = { { name = "kernels between the GEMMs of attention", value = share, unit = "fraction", threshold = options.share } },
      evidence = (chains:count() > 0 and chains or by_hand):evidence { most = 4, note = "from the first kernel after a GEMM to the last before the next" },
      advice = {
        "Use fused attention: torch.nn.functional.scaled_dot_product_attention, or attn_implementation=\"sdpa\" (\"flash_attention_2\" where installed) in Transformers.",
        "Megatron, NeMo: Transformer Engine's attention (--transformer-impl transformer_engine, --use-flash-attn). A special mask or bias: torch.nn.attention.flex_attention.",
      },
    } }
  end,
}

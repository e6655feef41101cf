local constants = {
  hopper = 9, -- compute capability
  pad_to = 64, -- elements: whole tiles of every tensor-core kernel
}

return {
  id = "misaligned-gemm",
  category = "compute",
  title = "Tensor-core GEMMs with unaligned dimensions run on slow kernels",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: tensor-core GEMMs whose shapes are unaligned, \z
        or whose name says that they load one or two elements at a time. Aligned dimensions have \z
        none.",
    },
    note_share = {
      default = 0.02,
      unit = "fraction",
      doc = "From this share of the step it is a note.",
    },
    speedup = {
      default = 2,
      unit = "count",
      doc = "How many times as fast an aligned product is, before Hopper. Padding GPT-2's \z
        vocabulary from 50257 to 50304 is known to save a quarter of the step on an A100.",
    },
    hopper_speedup = {
      default = 5,
      unit = "count",
      doc = "The same from compute capability 9.0 on, where unaligned products fall back to \z
        Turing kernels. Measured on an H100: 6.",
    },
    most = {
      default = 30,
      unit = "count",
      doc = "Kernels from a softmax or a loss to the GEMM on either side, at most: as for \z
        loss-head.",
    },
  },
  factors = {
    aligned = {
      by = 1,
      least = 0.7,
      most = 1.6,
      doc = "Time of an aligned product, relative to what the speedup says.",
      source = "Chosen around the speedups of the options: how much faster aligned products are \z
        depends on their shape.",
    },
  },
  messages = {
    shaped = "{count:# tensor-core GEMM has|# tensor-core GEMMs have} rows that do not begin at \z
      multiples of 16 bytes {a_step}, by their shapes, the longest of them {odd} elements long \z
      ({shape}): {count:it takes|they take} {time:lost} of {each_step} ({share:fraction}), \z
      {of_gemms:fraction} of all GEMM time. Aligned, they would be about {speedup} times as fast.",
    padded = "{count:# tensor-core GEMM works|# tensor-core GEMMs work} on dimensions that are \z
      not multiples of 8 {a_step}: {count:it loads|they load} {elements} at a time and \z
      {count:takes|take} {time:lost} of {each_step} ({share:fraction}), {of_gemms:fraction} of \z
      all GEMM time. Aligned, they would be about {speedup} times as fast.",
  },
  headlines = {
    shaped = "{count:# GEMM has|# GEMMs have} an unaligned dimension {a_step}: {odd}",
    padded = "{count:# GEMM has|# GEMMs have} an unaligned dimension {a_step}",
  },
  doc = {
    what = "Adds up tensor-core GEMMs and convolutions whose name ends in align1 or align2 \z
      (CUTLASS, cuBLAS): one of their rows does not begin at a multiple of 16 bytes. If the \z
      recording has the shapes of operands (`record_shapes` of `torch.profiler` and `emit_nvtx`), \z
      those decide, whatever the name says; a kernel whose name says that it loads four or more \z
      elements at a time is never counted.",
    why = "The fast kernels load 16 bytes at a time, or whole tiles by hardware. A single odd \z
      dimension, most often the vocabulary or the number of classes, sends the largest product of \z
      the model to kernels that load element by element.",
    fix = "Pad the odd dimension to a multiple of 64 (at least of 8, of 16 for FP8): the \z
      vocabulary in the embedding (`model.resize_token_embeddings(n, pad_to_multiple_of=64)`), \z
      the number of classes, hidden and head sizes, the sequence length (`pad_to_multiple_of` in \z
      the collator). Megatron: `--make-vocab-size-divisible-by`.",
    wrong = "Padding changes the shape of saved weights. For attention that runs as separate \z
      kernels, fusing it fixes this too: the finding then stands behind unfused-softmax. \z
      CUDA-core products of unaligned FP32 data belong to another rule.",
  },
  advice = {
    {
      when = "of_attention",
      "Use fused attention, which needs no padding{.}: the odd dimension is a length of attention \z
        that runs as separate kernels, and the fused kernel replaces these products.",
    },
    {
      when = "shaped",
      unless = { "of_attention", "of_vocabulary" },
      "Pad {odd} to {padded}{.}: the next multiple of 64 (at least of 8, of 16 for FP8).",
    },
    {
      when = { "shaped", "of_vocabulary" },
      unless = "of_attention",
      "Pad {odd} (vocabulary or classes) to {padded}{.}: the next multiple of 64 (at least of 8, \z
        of 16 for FP8).",
    },
    {
      when = { "padded", "of_vocabulary" },
      unless = "of_attention",
      pytorch = "Pad the vocabulary or number of classes{.}: to a multiple of 64, at least of 8 \z
        (16 for FP8). These products are next to the loss; GPT-2's vocabulary is 50257.",
      cuda = "Pad leading dimensions to a multiple of 64 elements{.}: at least of 8 (16 for FP8), \z
        and begin matrices at multiples of 16 bytes.",
    },
    {
      when = "padded",
      unless = { "of_attention", "of_vocabulary" },
      pytorch = "Pad the odd dimension to a multiple of 64{.}: at least of 8 (16 for FP8). It may \z
        be a vocabulary (GPT-2's is 50257), a number of classes, a head or sequence length.",
      cuda = "Pad leading dimensions to a multiple of 64 elements{.}: at least of 8 (16 for FP8), \z
        and begin matrices at multiples of 16 bytes.",
    },
    {
      when = "of_vocabulary",
      transformers = "To pad the vocabulary{.}: `model.resize_token_embeddings(len(tokenizer), \z
        pad_to_multiple_of=64)`.",
      megatron = "To pad the vocabulary{.}: `--make-vocab-size-divisible-by 128`.",
      nemo = "To pad the vocabulary{.}: `make_vocab_size_divisible_by=128`.",
      pytorch = "Mask the added logits of the vocabulary where they count.",
    },
    {
      unless = { "of_vocabulary", "of_attention" },
      transformers = "For sequence lengths{.}: `pad_to_multiple_of=8` in the data collator. For \z
        vocabularies: `model.resize_token_embeddings(len(tokenizer), pad_to_multiple_of=64)`.",
      pytorch = "Mask what is added to a sequence, and a vocabulary's added logits where they \z
        count.",
    },
  },
  evaluate = function(trace, options, factors)
    local gemms = trace:ops { class = "gemm_*" }
    if gemms:count() == 0 then return nil, "no matrix multiplication or convolution ran", "" end
    local on_tensor_cores =
      gemms:where { class = { "gemm_tf32", "gemm_half", "gemm_fp8", "gemm_int8" } }
    local single = on_tensor_cores:where {
      name = { "*_align1", "*_align1>*", "*_align1_*", "*_aligna1_*", "*_alignb1_*" },
    }
    local slow = single:plus(on_tensor_cores:where {
      name = { "*_align2", "*_align2>*", "*_align2_*", "*_aligna2_*", "*_alignb2_*" },
    })
    local named = slow
    local exact, largest = on_tensor_cores:minus(on_tensor_cores), nil
    for _, product in ipairs(on_tensor_cores:products()) do
      if product.aligned == true then slow = slow:minus(product.rows) end
      if product.aligned == false then
        exact = exact:plus(product.rows)
        largest = largest or product
      end
    end
    exact = exact:minus(exact:where {
      name = {
        "*align4*",
        "*align8*",
        "*align16*",
        "*aligna4_*",
        "*aligna8_*",
        "*aligna16_*",
        "*_ldg4*",
        "*_ldg8*",
        "*nvjet*",
      },
    })
    slow = slow:plus(exact)

    -- Where they come from: attention as separate kernels, which needs no padding once it is
    -- fused, or the vocabulary.
    local small = trace
      :ops { class = { "pointwise", "reduction", "embedding", "softmax", "softmax_loss" } }
      :plus(trace:ops { kind = { "copy", "set" }, direction = { "d2d", "" } })
    local function around(centre)
      return trace:chains {
        centre = small:where { class = centre },
        edge = gemms,
        through = small,
        most = options.most,
        edges = 2,
      }
    end
    local written_out, _, attention = around "softmax"
    local _, _, head = around "softmax_loss"
    head = head:plus(on_tensor_cores:minus(head):beside(head))
    local time = slow:own_ns()
    local share = time / trace:total_ns()
    if time == 0 or share < options.note_share then return {} end

    local steps = trace:fact "steps.count"
    -- The names show Turing's kernels; how slow others are was never measured.
    local fallen_back = (trace:fact "device.compute_capability" or 0) >= constants.hopper
      and slow:minus(named):own_ns() < time / 2
    local speedup = math.max(1, fallen_back and options.hopper_speedup or options.speedup)
    local shape = largest
        and string.format("[%d, %d] x [%d, %d]", largest.m, largest.k, largest.k, largest.n)
      or ""
    local by_shape = exact:own_ns() > time / 2
    local of_attention = written_out:count() >= 2 * steps
      and slow:minus(slow:minus(attention)):own_ns() > time / 2
    local of_vocabulary = slow:minus(slow:minus(head)):own_ns() > time / 2
    return {
      {
        subject = "unaligned GEMMs",
        message = by_shape and "shaped" or "padded",
        confidence = by_shape and "high" or "medium",
        follows_from = of_attention and "unfused-softmax" or nil,
        data = {
          count = math.floor(slow:count() / steps + 0.5),
          time = time / steps,
          share = share,
          of_gemms = time / gemms:own_ns(),
          odd = largest and string.format("%d", largest.odd) or "",
          padded = largest and string.format(
            "%d",
            math.ceil(largest.odd / constants.pad_to) * constants.pad_to
          ) or "",
          shape = shape,
          elements = single:count() > 0 and "one element" or "two elements",
          speedup = string.format("%.0f", speedup),
        },
        about = true,
        recoverable_ns = time * (1 - 1 / speedup),
        change = {
          {
            scale = slow,
            factor = factors.aligned,
            times = 1 / speedup,
            precision = "same",
          },
        },
        uncertain = "how much faster aligned products are depends on their shape",
        at_most = share < options.share and "note" or nil,
        metrics = {
          {
            name = "unaligned GEMMs",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = slow:evidence { most = 5 },
        seen = { of_attention = of_attention, of_vocabulary = of_vocabulary },
      },
    }
  end,
}

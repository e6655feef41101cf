local constants = {
  extents = 4, -- of attention's operands: samples, heads, length, head size
}

return {
  id = "padding-waste",
  category = "compute",
  title = "Batches of different lengths are padded",
  since = "0.2",
  needs = { "kernels", "ranges" },
  options = {
    spread = {
      default = 1.25,
      unit = "count",
      doc = "Ratio of the longest to the shortest length that attention gets, from which batches \z
        differ more than random order explains: of many texts in random order one is nearly \z
        always among the longest. 64 texts of 12 to 512 tokens in a batch reached 445 to 512, and \z
        two thirds were padding.",
    },
    masked = {
      default = 0.5,
      unit = "fraction",
      doc = "Share of attention calls with a mask for each sample, from which batches are padded: \z
        causal attention needs none.",
    },
  },
  messages = {
    padded = "Attention gets a mask for each of {samples} samples, over lengths from {least} to \z
      {most}: nearly all batches reach the longest, as those in random order do, and everything \z
      else computes on the padding as well. How many of the tokens are padding is unknown.",
  },
  headlines = {
    padded = "Batches are padded to lengths from {least} to {most}",
  },
  doc = {
    what = "Reads the recorded shapes of `scaled_dot_product_attention`: self-attention over \z
      whole sequences with a mask that differs between the samples of a batch, whose length \z
      hardly changes from batch to batch: each has a sample that is among the longest.",
    why = "Matrix products, norms and losses work on padding as on text. With samples of random \z
      length half or more is padding, and a mask keeps flash attention away.",
    fix = "Pack samples one after another and pass attention the end of each \z
      (`flash_attn_varlen_func`, nested tensors of layout `torch.jagged`, \z
      DataCollatorWithFlattening of Transformers), or put samples of similar length into one \z
      batch (`group_by_length=True`, a bucketing sampler).",
    wrong = "A bias for each sample looks like a mask, and nearly all samples may be equally \z
      long: so it is a note without a saving, and the amount of padding has to be counted in the \z
      program. Where masked batches differ much in length (those of similar samples do), or not \z
      at all (packed, or padded to one length), and where batches without a mask differ (causal \z
      attention needs none), the rule cannot tell. No shipped recording triggers this rule; only \z
      literal traces test it.",
  },
  advice = {
    {
      trainer = "Count the padding{.}: `attention_mask.float().mean()`. If it is much, \z
        DataCollatorWithFlattening packs samples, `group_by_length=True` batches those of similar \z
        length.",
      pytorch = "Count the padding{.}: `mask.float().mean()`. If it is much, pack samples one \z
        after another (`flash_attn_varlen_func`, nested tensors of layout `torch.jagged`), or \z
        batch those of similar length.",
      cuda = "Count the padding{.}. If it is much, pack samples one after another, or batch those \z
        of similar length.",
    },
  },
  evaluate = function(trace, options)
    local operators = trace:ranges { name = "aten::_scaled_dot_product_*attention*, sizes = *" }
    operators = operators:minus(operators:where { name = "*_backward, sizes = *" })
    local calls, masked, least, most, samples = 0, 0, math.huge, 0, 0
    local shortest, longest = math.huge, 0 -- of all batches, with a mask or without
    for _, call in ipairs(require "shapes"(trace, operators)) do
      local query, key, mask = call.sizes[1] or {}, call.sizes[2], call.sizes[4] or {}
      -- A cache, or another sequence, is no batch of samples.
      if
        #query == constants.extents
        and #(key or {}) == constants.extents
        and query[3] == key[3]
        and query[3] > 0
        and query[1] > 1
      then
        calls = calls + call.count
        shortest, longest = math.min(shortest, query[3]), math.max(longest, query[3])
        if #mask == constants.extents and mask[1] == query[1] then
          masked = masked + call.count
          least, most, samples =
            math.min(least, query[3]), math.max(most, query[3]), math.max(samples, query[1])
        end
      end
    end
    -- Causal attention needs no mask: padding after the texts then shows nowhere, and a batch of
    -- equally long texts looks the same.
    if calls == 0 then
      local rows = trace:ops { class = "softmax_loss", name = "*SoftMaxForward*" }
      local fewest, all = math.huge, rows:group("blocks", 1000)
      for _, size in ipairs(all) do
        fewest = math.min(fewest, size.rows:median "blocks")
      end
      local largest = rows:top(1, "blocks")[1]
      if largest and largest.blocks >= options.spread * fewest then
        return nil,
          string.format(
            "batches differ in size (the largest loss has %.1f times as many rows as the \z
              smallest), and without shapes of attention it is unknown whether they are padded",
            largest.blocks / fewest
          ),
          trace:words {
            torch_profiler = "`torch.profiler.profile(record_shapes=True)`",
            cuda = "",
          }
      end
      return nil,
        "no shapes of self-attention over a batch were recorded",
        trace:words { torch_profiler = "`torch.profiler.profile(record_shapes=True)`", cuda = "" }
    end
    local padded = masked > 0 and masked >= options.masked * calls
    if not padded then
      least, most = shortest, longest
    end
    local varied = most >= options.spread * least
    if varied or padded and least == most then
      return nil,
        string.format(
          varied
              and "batches differ in length (from %.0f to %.0f), and how much of them is padding \z
                is unknown"
            or "all batches are %.0f long, with a mask for each sample: packed, or padded to this \z
              length",
          least,
          most
        ),
        ""
    end
    if not padded then return {} end
    return {
      {
        subject = "batches",
        message = "padded",
        data = {
          samples = string.format("%.0f", samples),
          least = string.format("%.0f", least),
          most = string.format("%.0f", most),
        },
        recoverable_ns = 0,
        at_most = "note",
        confidence = "low",
        metrics = {
          {
            name = "longest length, as a multiple of the shortest",
            value = most / least,
            unit = "count",
            threshold = options.spread,
          },
        },
        evidence = operators:evidence { most = 3 },
      },
    }
  end,
}

local function finding_of_copies(trace, options)
  local total, steps = trace:total_ns(), trace:fact "steps.count"
  local kept, rest = require "copied_for_attention"(trace)
  local time = kept:own_ns()
  local share = time / total
  if time == 0 or share < options.share then return nil end
  return {
    subject = "kept keys and values",
    message = "copied",
    data = {
      count = math.floor(kept:count() / steps + 0.5),
      rest = rest / steps,
      time = time / steps,
      share = share,
    },
    recoverable_ns = time,
    change = { { remove = kept } },
    about = true,
    metrics = {
      {
        name = "copies of kept keys and values",
        value = share,
        unit = "fraction",
        threshold = options.share,
      },
    },
    evidence = kept:evidence { most = 4 },
    seen = { copied = true },
  }
end

return {
  id = "kv-concat",
  category = "memory",
  title = "A growing cache is copied as a whole each time",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: concatenations that take longer and longer.",
    },
    rising = {
      default = 0.8,
      unit = "fraction",
      doc = "Share of the changes of their length, over up to 32 pieces of the recording, that \z
        have to rise: by chance it is a half, and a new sequence starts small again.",
    },
    in_place_ns = {
      default = 3000,
      unit = "ns",
      doc = "How long writing the new entries in place takes instead. Measured on an H200: 3 us.",
    },
  },
  factors = {
    in_place = {
      by = 1,
      least = 0.5,
      most = 2,
      doc = "Time of writing in place, relative to what in_place_ns says.",
      source = "Chosen around one measurement on an H200.",
    },
  },
  messages = {
    kept = "Concatenations right before attention, {count} {a_step}, take {time:lost} of \z
      {each_step} ({share:fraction}), and all other work except attention takes {rest:ns}: too \z
      little time to have computed what they join. It existed before, and is copied as a whole \z
      each time something is added.{where}",
    copied = "{count:# copy|# copies} {a_step} right before attention {count:takes|take} \z
      {time:lost} of {each_step} ({share:fraction}), and all other work except attention takes \z
      {rest:ns}: too little time to have computed what they copy. Keys and values existed before, \z
      and are repeated for all heads, or put into another order, each time.",
    main = "{count:# concatenation|# concatenations} {a_step} {count:takes|take} longer and \z
      longer, {first:ns} at first and {last:ns} in the end: what exists already is copied each \z
      time something is added. They take {time:lost} of {each_step} ({share:fraction}).{where}",
  },
  headlines = {
    copied = "Kept keys and values are copied {count:# time|# times} {a_step} for attention",
    kept = "The growing cache is copied {count:# time|# times} {a_step}",
    main = "The growing cache is copied {count:# time|# times} {a_step}",
  },
  doc = {
    what = "Finds concatenations (`torch.cat` and similar) that repeat all through the recording \z
      and take longer and longer; and those of keys and of values, two in a row right before \z
      fused attention, that take at least as long as all other work except attention: what they \z
      join was not computed since the previous attention, it is kept. The second kind is also \z
      found in a recording of few tokens, in which a long cache hardly grows. Copies in pairs \z
      before attention, fused or not, that take as long are of what is kept, too.",
    why = "A cache of keys and values that is kept with `torch.cat` is copied as a whole for each \z
      token: the time per token grows with the length of the sequence, and the time per sequence \z
      with its square. Meanwhile it needs twice the memory.",
    fix = 'Allocate the cache once for the longest sequence and write each token\'s keys and \z
      values in place (`index_copy_`, `cache[:, :, position]` = ...). Transformers: \z
      `cache_implementation="static"` (`StaticCache`), which CUDA graphs and `torch.compile` need \z
      as well; vLLM, SGLang and TensorRT-LLM page their caches.',
    wrong = "Sequences that are collected for another reason also grow, and each may be needed \z
      whole in between. Short caches, whose concatenations take less than the matrix products, \z
      cannot be told from other concatenations until they have grown: they belong to \z
      device-copies. What slices of a cache cost attention instead is not counted.",
  },
  advice = {
    {
      when = "copied",
      pytorch = "Let attention read the cache as it is{.}: with fewer heads for keys and values \z
        `scaled_dot_product_attention(..., enable_gqa=True)`, instead of `repeat_interleave` (or \z
        `expand` and `reshape`); and no `.contiguous()` of the cache.",
      cuda = "Let attention read the cache as it is{.}: grouped-query attention reads each head \z
        of keys and values for all of its queries' heads, without copies.",
    },
    {
      unless = "copied",
      transformers = 'Use a cache of fixed size{.}: `generate(cache_implementation="static")`, or \z
        `StaticCache(config, max_cache_len=...)` as `past_key_values`. `torch.compile` and CUDA \z
        graphs need it as well.',
      pytorch = "Allocate the cache once for the longest sequence{.}: `torch.empty(batch, heads, \z
        longest, size)`, and write each token in place (`index_copy_`, `cache[:, :, position]` = \z
        ...). Mask what is not filled yet, or read a slice of it.",
      jax = "Allocate the cache once and write in place{.}: `jax.lax.dynamic_update_slice` under \z
        `jax.jit`, with the cache donated.",
      tensorrt = "Let the engine write keys and values in place{.}: into one buffer, with the \z
        position as an input.",
      cuda = "Allocate the cache once{.}: for the longest sequence, and write new entries at its \z
        end.",
    },
  },
  evaluate = function(trace, options, factors)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local joins = trace:ops {
      kind = "kernel",
      name = { "*CatArrayBatchedCopy*", "*cat_copy*", "*concat_kernel*" },
    }
    local copied = finding_of_copies(trace, options)
    if joins:count() == 0 or not joins:throughout() then return { copied } end
    local grows = require "growth"(trace, joins, "duration_ns")
    local kept, rest = require "kept_for"(trace, joins, trace:ops { class = "attention_fused" })
    local message = "main"
    if not grows or grows.rising < options.rising or grows.last <= grows.first then
      joins, grows, message = kept, {}, "kept"
    end
    local time = joins:own_ns()
    local share = time / total
    if time == 0 or share < options.share then return { copied } end
    local left = math.min(1, options.in_place_ns / math.max(1, joins:median "duration_ns"))
    if left == 1 then return { copied } end
    local whose = joins:operators()[1]
    return {
      {
        subject = "growing cache",
        message = message,
        data = {
          count = string.format(
            joins:count() < steps and "%.1f" or "%.0f",
            joins:count() / steps
          ),
          first = grows.first,
          last = grows.last,
          rest = rest / steps,
          time = time / steps,
          share = share,
          where = whose and whose.sum_ns > joins:sum "duration_ns" / 2 and string.format(
            " Most are launched in '`%s`'.",
            whose.name
          ) or "",
        },
        recoverable_ns = time * (1 - left),
        change = { { scale = joins, factor = factors.in_place, times = left } },
        about = true,
        uncertain = "how long writing in place takes instead",
        metrics = {
          {
            name = "growing concatenations",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = joins:evidence { most = 4 },
      },
      copied,
    }
  end,
}

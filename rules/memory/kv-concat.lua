return {
  id = "kv-concat",
  category = "memory",
  title = "A cache that grows is copied as a whole each time",
  since = "0.1",
  needs = { "kernels" },
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Time in concatenations that take longer and longer, of the step, from which it counts." },
    rising = { default = 0.8, unit = "fraction", doc = "Share of the changes of their length, over up to 32 pieces of the recording, that have to rise: by chance it is a half, and a new sequence starts small again." },
    in_place_ns = { default = 3000, unit = "ns", doc = "What writing the new entries in place takes instead. Measured on an H200: 3 us." },
  },
  messages = {
    kept = "Concatenations right before attention, {count} {a_step}, take {time:ns} of {each_step} ({share:fraction}), and all other work but attention takes {rest:ns}: what they join cannot have been computed in that time. It was there already, and is copied as a whole each time something is added.{where}",
    main = "{count:# concatenation|# concatenations} {a_step} {count:takes|take} longer and longer, {first:ns} at first and {last:ns} in the end: what is there already is copied each time something is added. They take {time:ns} of {each_step} ({share:fraction}).{where}",
  },
  doc = {
    what = "Finds concatenations (torch.cat and the like) that repeat all through the recording and take longer and longer; and those of keys and of values, two in a row right before fused attention, that take as long as all other work but attention, or longer: what they join was not computed since the attention before, it is kept. The latter is found in a recording of few tokens, too, in which a long cache hardly grows.",
    why = "A cache of keys and values that is kept with torch.cat is copied as a whole for each token: the time of a token grows with the length of the sequence, and that of the sequence with its square. Twice the memory is needed meanwhile.",
    fix = "Allocate the cache once for the longest sequence and write each token's keys and values in place (index_copy_, cache[:, :, position] = ...). Transformers: cache_implementation=\"static\" (StaticCache), which CUDA graphs and torch.compile need as well; vLLM, SGLang and TensorRT-LLM page their caches.",
    wrong = "Sequences that are collected for another reason grow too, and each may be needed whole in between. Short caches, of which the concatenations take less than the products, are not told from other concatenations until they have grown: they are left to device-copies. What slices of a cache cost attention instead is not counted.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local joins = trace:ops { kind = "kernel", name = { "*CatArrayBatchedCopy*", "*cat_copy*", "*concat_kernel*" } }
    if joins:count() == 0 or joins:quarters() < 3 then return {} end
    local grows = joins:growth "duration_ns"
    local kept, rest = joins:kept_for(trace:ops { class = "attention_fused" })
    local message = "main"
    if not grows or grows.rising < options.rising or grows.last <= grows.first then
      joins, grows, message = kept, {}, "kept"
    end
    local time = joins:own_ns()
    local share = time / total
    if time == 0 or share < options.share then return {} end
    local left = math.min(1, options.in_place_ns / math.max(1, joins:median "duration_ns"))
    if left == 1 then return {} end
    local whose = joins:operators()[1]
    return { {
      subject = "growing cache",
      message = message,
      data = { count = string.format(joins:count() < steps and "%.1f" or "%.0f", joins:count() / steps), first = grows.first, last = grows.last, rest = rest / steps, time = time / steps, share = share, where = whose and whose.sum_ns > joins:sum "duration_ns" / 2 and string.format(" Most are launched in '%s'.", whose.name) or "" },
      recoverable_ns = time * (1 - left),
      change = { { scale = joins, by = left, least = left / 2, most = math.min(1, 2 * left) } },
      about = true,
      uncertain = "what writing in place takes instead",
      metrics = { { name = "growing concatenations", value = share, unit = "fraction", threshold = options.share } },
      evidence = joins:evidence { most = 4 },
      advice = {
        {
          transformers = "Use a cache of fixed size: generate(cache_implementation=\"static\"), or StaticCache(config, max_cache_len=...) as past_key_values. torch.compile and CUDA graphs need it as well.",
          pytorch = "Allocate the cache once for the longest sequence (torch.empty(batch, heads, longest, size)) and write each token in place (index_copy_, cache[:, :, position] = ...); mask what is not filled yet, or read a slice of it.",
          jax = "Allocate the cache once and write in place under jax.jit: jax.lax.dynamic_update_slice, with the cache donated.",
          tensorrt = "Let the engine write into one buffer for keys and values in place, with the position as an input.",
          cuda = "Allocate it once for the longest sequence and write what is new at its end.",
        },
      },
    } }
  end,
}

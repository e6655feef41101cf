-- Copies of keys and values as they were kept, for attention, fused or not: repeated for all heads
-- of a group, or put into another order. They come right before attention or its products, two for
-- each attention, and take at least as long as all other work, so that nothing can have computed in
-- that time what they copy.
--
-- Returns them, an empty selection if there are none, and the time of that other work.
local constants = {
  nearly_all = 0.9, -- of the attentions have two: the steps may cut one off
}

return function(trace)
  local copies = trace:ops { kind = "kernel", name = "*nocast*direct_copy_kernel*" }
  if copies:count() == 0 or not copies:throughout() then return copies:minus(copies), 0 end
  local small = trace
    :ops({ class = { "pointwise", "reduction", "softmax" } })
    :plus(trace:ops { kind = "set" })
  local _, _, products = trace:chains {
    centre = small:where { class = "softmax" },
    edge = trace:ops { class = { "gemm_*", "gemv" } },
    through = small,
  }
  local attention = trace:ops { class = "attention_fused" }
  local readers = attention:plus(products)
  local kept = trace:match({
    { of = copies, most = 2 },
    readers,
    skip = trace:ops { kind = "set" },
  })[1]
  local rest_ns = trace:ops():minus(readers):minus(kept):sum "duration_ns"
  local each = attention:plus(small:where { class = "softmax" }):count()
  local found = kept:count() >= constants.nearly_all * 2 * each
    and kept:sum "duration_ns" >= rest_ns
  return found and kept or kept:minus(kept), rest_ns
end

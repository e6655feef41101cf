-- The operations that come first in their step, up to a share of them: of what each of four
-- micro-batches does, a quarter belongs to the first.
local same_step = { step = { "device", "step" } }

return function(_, ops, share)
  local counts, passed = {}, {}
  ops:keep(same_step, function(op)
    if op.step then counts[op.step] = (counts[op.step] or 0) + 1 end
    return false
  end)
  return ops:keep(same_step, function(op)
    if not op.step then return false end
    passed[op.step] = (passed[op.step] or 0) + 1
    return passed[op.step] <= math.floor(share * counts[op.step] + 0.5)
  end)
end

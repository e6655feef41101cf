-- What the host did for most of this idle time, if that takes at least the given share of it (half
-- unless one is given); the program's own range around that, or ""; and for how long. nil if
-- nothing did.
local constants = {
  share = 0.5, -- more than everything else together
}

local function most_of(rows, field)
  for _, group in ipairs(rows:group(field, 2)) do
    if group.key ~= "" then return group end
  end
end

return function(_, idle, share)
  local most = most_of(idle, "doing")
  if not most or most.sum_ns < (share or constants.share) * idle:sum "duration_ns" then
    return nil
  end
  -- If half of the time is outside of any range, the answer is none.
  local around = most_of(most.rows, "within")
  local within = around and 2 * around.sum_ns >= most.sum_ns and around.key or ""
  return most.key, within, most.sum_ns
end

-- The concatenations (of `joins`) that append to stored keys and values: two in a row right before
-- each of the readers (fused attention), which in total take at least as long as all operations but
-- these and the readers, so that nothing can have computed in that time what they join.
--
-- Returns them, an empty selection if there are none, and the time of those other operations.
local constants = {
  nearly_all = 0.9, -- of the runs right before a reader have to be pairs: the steps may cut one off
}

return function(trace, joins, readers)
  local all = trace:ops()
  local memsets = all:where { kind = "set" }
  local pair = { of = joins, least = 2, most = 2 }
  local runs = trace:match { joins, readers, skip = memsets }
  local pairs = trace:match { pair, readers, skip = memsets }
  -- The last pair may have its reader outside of the steps, or be cut off.
  local cut = trace:match { { of = joins, most = 2 }, "end", skip = memsets }
  local kept = pairs[1]:plus(cut[1]:alike(pairs[1], { "device", "stream" }))
  local kept_ns = kept:sum "duration_ns"
  local rest_ns = all:minus(readers):sum "duration_ns" - kept_ns
  local are_pairs = pairs.count > constants.nearly_all * runs.count
  return are_pairs and kept_ns >= rest_ns and kept or kept:minus(kept), rest_ns
end

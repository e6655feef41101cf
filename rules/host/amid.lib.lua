-- The rows of a device that lie inside a loop of others: between two consecutive ones that are at
-- most
-- ten times the median distance apart.
local constants = {
  far = 10, -- median distances, beyond which a loop ends
}

return function(_, rows, others)
  local gaps = others:gaps { "device" }
  return rows:where {
    inside = gaps:where { max_ns = constants.far * (gaps:median "duration_ns" or 0) },
  }
end

-- Copies to the host whose data goes to another device of the same process next, and the copies
-- that take it there. Leaves out copies below `asked.min_bytes` (1 MiB), and sizes that a device
-- both sends and receives, since they may be its own.
local constants = {
  least_bytes = 2 ^ 20, -- what is smaller hardly matters
}
local same_size, one_device = { "process", "bytes" }, { "device" }

return function(trace, asked)
  local copies = trace:ops {
    kind = "copy",
    direction = { "d2h", "h2d" },
    min_bytes = asked and asked.min_bytes or constants.least_bytes,
  }
  local up, down = copies:where { direction = "h2d" }, copies:where { direction = "d2h" }
  copies = up:alike(down, same_size):plus(down:alike(up, same_size))

  local sizes, row = {}, 0
  copies:keep({
    "direction",
    "start_ns",
    "end_ns",
    size = same_size,
    device = one_device,
  }, function(copy)
    row = row + 1
    local s = sizes[copy.size] or { d2h = {}, h2d = {}, mixed = false, pairs = {} }
    sizes[copy.size] = s
    local is_down = copy.direction == "d2h"
    s[copy.direction][copy.device] = true
    s.mixed = s.mixed or s[is_down and "h2d" or "d2h"][copy.device]
    if is_down then
      s.down, s.ended = row, copy.end_ns
    elseif s.down and s.ended <= copy.start_ns then
      s.pairs[#s.pairs + 1] = s.down
      s.pairs[#s.pairs + 1] = row
      s.down = nil -- older ones went nowhere
    end
    return false
  end)
  local is_relayed = {}
  for _, s in pairs(sizes) do
    for _, of_pair in ipairs(s.mixed and {} or s.pairs) do
      is_relayed[of_pair] = true
    end
  end
  row = 0
  local relayed = copies:keep({}, function()
    row = row + 1
    return is_relayed[row]
  end)
  return relayed:where { direction = "d2h" }, relayed:where { direction = "h2d" }
end

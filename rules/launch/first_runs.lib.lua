-- Of this idle time, what comes before the first run of a kernel on its device: what the host loads
-- or compiles there is used for the first time, wherever in the recording that is. And how many
-- runs of kernels the rest comes before.
local function first_from(starts, at)
  local low, high = 1, #starts + 1
  while low < high do
    local middle = (low + high) // 2
    if math.abs(starts[middle]) < at then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

return function(trace, idle)
  -- By device: when its kernels begin, negative where one ran before. Numbers alone, since there
  -- are millions.
  local met, of_device = {}, {}
  trace:ops({ kind = "kernel" }):keep({ "name", "start_ns", "device" }, function(kernel)
    local starts, names = of_device[kernel.device] or {}, met[kernel.device] or {}
    of_device[kernel.device], met[kernel.device] = starts, names
    starts[#starts + 1] = names[kernel.name] and -kernel.start_ns or kernel.start_ns
    names[kernel.name] = true
    return false
  end)
  local again, others = {}, 0
  local first = idle:keep({ "end_ns", "device" }, function(piece)
    local starts = of_device[piece.device] or {}
    local at = starts[first_from(starts, piece.end_ns)]
    if at and at < 0 and not again[at] then
      again[at], others = true, others + 1
    end
    return at ~= nil and at >= 0
  end)
  return first, others
end

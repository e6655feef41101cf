-- Of this idle time, what comes before the first run of a kernel: what the host loads or compiles
-- there is used for the first time, wherever in the recording that is. And how many runs of kernels
-- the rest comes before.
local function first_from(kernels, at)
  local low, high = 1, #kernels + 1
  while low < high do
    local middle = (low + high) // 2
    if kernels[middle].start_ns < at then
      low = middle + 1
    else
      high = middle
    end
  end
  return kernels[low]
end

return function(trace, idle)
  local met, of_device = {}, {}
  trace:ops({ kind = "kernel" }):keep({ "name", "start_ns", "device" }, function(kernel)
    local kernels = of_device[kernel.device] or {}
    of_device[kernel.device] = kernels
    kernels[#kernels + 1] = { start_ns = kernel.start_ns, is_first = not met[kernel.name] }
    met[kernel.name] = true
    return false
  end)
  local again, others = {}, 0
  local first = idle:keep({ "end_ns", "device" }, function(piece)
    local kernel = first_from(of_device[piece.device] or {}, piece.end_ns)
    if kernel and not kernel.is_first and not again[kernel] then
      again[kernel], others = true, others + 1
    end
    return kernel ~= nil and kernel.is_first
  end)
  return first, others
end

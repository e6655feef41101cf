-- How long collectives keep the GPUs from computing because other ranks come later, as sizes show.
-- Of the calls of one operator in one group with as many bytes, the shortest waited for nobody, or
-- not for long. Others that take more than twice as long have waited for the rest. Chosen: up to
-- that, the transfer may have shared the link. Where the report does not give the bytes, or all
-- calls waited, waiting is not found. A group that is not recorded goes by its stream, of which
-- every communicator has its own.
--
-- Returns that time in ns, summed over devices; these calls; and the median of their shortest ones.
local columns = { "group", "stream", "collective", "message_bytes", "duration_ns" }

local function kind_of(call)
  return string.format(
    "%s %s %.0f",
    call.group or call.stream,
    call.collective,
    call.message_bytes
  )
end

return function(_, collectives, compute)
  local sized = collectives:keep(
    { "message_bytes" },
    function(c) return c.message_bytes > 0 end
  )
  local least = {}
  sized:keep(columns, function(c)
    local kind = kind_of(c)
    least[kind] = math.min(least[kind] or math.huge, c.duration_ns)
    return false
  end)
  local waits, shortest = 0, {}
  local with_compute = { computing = compute, table.unpack(columns) }
  local waiting = sized:keep(with_compute, function(c)
    local transfer = least[kind_of(c)]
    local wait = c.duration_ns - c.computing - transfer
    if wait <= transfer then return false end
    waits = waits + wait
    shortest[#shortest + 1] = transfer
    return true
  end)
  table.sort(shortest)
  return waits, waiting, shortest[(#shortest + 1) // 2]
end

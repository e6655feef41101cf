-- For messages and collectives whose members are all in the report, by device: how long those of a
-- selection waited, with no compute at the same time, until the last member arrived.
--
-- Returns a list of { device, wait_ns, together, rows }. `together`: how many devices meet each
-- other,
-- directly or through others.
local meeting = { "meeting" }

local function devices_met(from, members)
  local before
  repeat
    before = from:count()
    from = members:alike(members:alike(from, meeting), { "device" })
  until from:count() == before
  return #from:group("device", 1000)
end

return function(trace, messages)
  local comm = trace:ops { class = "collective" }
  local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
  local last = comm:last(meeting)
  local members, ahead = messages:alike(last, meeting), messages:ahead_of(last, meeting)
  local waits = {}
  for _, own in ipairs(members:group("device", 1000)) do
    local device = tonumber(own.key)
    waits[#waits + 1] = {
      device = device,
      wait_ns = ahead:where { device = device }:exposed_ns(compute),
      together = devices_met(own.rows, members),
      rows = own.rows,
    }
  end
  table.sort(waits, function(a, b) return a.device < b.device end)
  return waits
end

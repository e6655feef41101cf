-- Where no range marks checkpoints: the copies to the host in a row that do not come back, large
-- ones, the idle time beside them, and what every n-th step has in addition where it copies as
-- much;
-- and whether files are written there, so that these are most likely checkpoints: nil if it is
-- unknown. checkpoint-stall reports them, and the rules for other idle time leave them out.
local constants = { -- as the options of checkpoint-stall
  burst = 8,
  burst_bytes = 67108864,
  write_share = 0.1,
  tensor_bytes = 1048576,
}

return function(trace, options)
  options = options or constants
  local down = trace:ops { direction = "d2h" }
  local _, burst = trace:runs { of = down:minus((trace:round_trips())), least = options.burst }
  local _, _, saving = require "regular_pauses"(trace)
  local bytes = burst:where { min_bytes = options.tensor_bytes }:sum "bytes"
  local pauses = trace
    :idle { after = burst }
    :plus(trace:idle { before = burst })
    :where({ cause = { "sync", "launch*", "allocation", "dependency", "unknown" } })
    :plus(saving)
  if bytes < options.burst_bytes then return burst, pauses, false end
  if not trace:available "os_calls" then return burst, pauses, nil end
  local written = 0
  for _, group in ipairs(pauses:group("thread", 1000)) do
    written = written
      + trace
        :os_calls {
          thread = group.key,
          name = { "write*", "pwrite*", "fwrite*", "fsync*", "fdatasync*", "msync*" },
        }
        :overlap_ns(group.rows)
  end
  return burst, pauses, written > 0 and written >= options.write_share * pauses:union_ns()
end

-- Data that goes to the host and back to the same device at least five times: copies to the host,
-- together with the uploads of the same size that follow.
--
-- Returns, as selections, `untouched`, those uploaded again so soon that the host cannot have
-- changed them, and `touched`, the others; and the median time in between, without other copies,
-- for the untouched size with the longest. Leaves out copies below `asked.min_bytes` (1 MiB), sizes
-- that are copied on several streams in turn, and the first uploads and last downloads if not every
-- step has a round trip.
local constants = {
  least_bytes = 2 ^ 20, -- what is smaller hardly matters
  rounds = 5, -- fewer are set-up
  bytes_a_ns = 50, -- to change a byte, the host reads and writes it: a socket moves 100 GB/s
}
local same_size, one_stream = { "device", "bytes" }, { "stream" }

-- What the copies of one size do, in order. A round is downloads, then uploads: each takes up again
-- the latest download that had ended and was not yet. An upload that begins before has other data.
local function follow(copies, others)
  -- Before each copy that began after the one of its size had ended: the time without any.
  local idle, at = {}, 0
  copies:gaps(same_size):keep({ "duration_ns", copying = others }, function(gap)
    idle[#idle + 1] = gap.duration_ns - gap.copying
    return false
  end)
  local sizes, row = {}, 0
  copies:keep({
    "direction",
    "bytes",
    "start_ns",
    "end_ns",
    size = same_size,
    stream = one_stream,
  }, function(copy)
    row = row + 1
    local s = sizes[copy.size]
      or {
        bytes = copy.bytes,
        ended = copy.start_ns,
        streams = { d2h = {}, h2d = {} },
        pieces = false,
        first = {}, -- uploads before the first download
        down = {}, -- not uploaded again yet
        downs = 0, -- of the last round
        rows = {},
        gaps = {}, -- one a round
        going_up = false,
      }
    sizes[copy.size] = s
    local gap = 0
    if s.ended < copy.start_ns then
      at = at + 1
      gap = idle[at]
    end
    s.ended = math.max(s.ended, copy.end_ns)
    local streams = s.streams[copy.direction]
    streams[copy.stream] = true
    s.pieces = s.pieces or next(streams, next(streams)) ~= nil
    if copy.direction == "d2h" then
      if s.going_up then
        s.down, s.downs = {}, 0
      end
      s.going_up, s.downs = false, s.downs + 1
      s.down[#s.down + 1] = { row = row, end_ns = copy.end_ns }
    elseif #s.down > 0 then
      local latest = #s.down
      while latest > 0 and s.down[latest].end_ns > copy.start_ns do
        latest = latest - 1
      end
      if latest > 0 then
        if not s.going_up then s.gaps[#s.gaps + 1] = gap end
        s.rows[#s.rows + 1] = table.remove(s.down, latest).row
        s.rows[#s.rows + 1] = row
      end
      s.going_up = true
    elseif s.downs == 0 then
      s.first[#s.first + 1] = row
    end
    return false
  end)
  return sizes
end

return function(trace, asked)
  local copies = trace:ops { kind = "copy", direction = { "d2h", "h2d" } }
  local large = copies:where {
    min_bytes = asked and asked.min_bytes or constants.least_bytes,
    min_ns = 1,
  }
  local up, down = large:where { direction = "h2d" }, large:where { direction = "d2h" }
  large = up:alike(down, same_size, constants.rounds)
    :plus(down:alike(up, same_size, constants.rounds))
  if large:count() == 0 then return large, large, 0 end

  local steps = trace:fact "steps.count" / trace:fact "device.count" -- each device has its own
  local longest, is_untouched = 0, {}
  for _, s in pairs(follow(large, copies)) do
    -- Pieces of something larger than the device keeps are copied on several streams in turn.
    if #s.gaps >= constants.rounds and not s.pieces then
      -- With a round in each step, steps begin and end within a round: the download before the
      -- first step and the upload after the last are outside of the steps or not recorded.
      if #s.gaps + 1 >= steps and not s.going_up then
        for _, row in ipairs(#s.first <= s.downs and s.first or {}) do
          s.rows[#s.rows + 1] = row
        end
        for _, last in ipairs(s.down) do
          s.rows[#s.rows + 1] = last.row
        end
      end
      local gap = require "median"(s.gaps)
      local untouched = gap < s.bytes // constants.bytes_a_ns
      if untouched then longest = math.max(longest, gap) end
      for _, row in ipairs(s.rows) do
        is_untouched[row] = untouched
      end
    end
  end
  local function rows_that_are(untouched)
    local row = 0
    return large:keep({}, function()
      row = row + 1
      return is_untouched[row] == untouched
    end)
  end
  return rows_that_are(true), rows_that_are(false), longest
end

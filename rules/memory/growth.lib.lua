-- Whether a field grows from row to row: { rising, first, last }, nil with fewer than 32 rows. Cuts
-- the rows into up to 32 pieces, in order of time, and compares their medians: `rising` is the
-- share of changes that rise, `first` and `last` are medians. A half is chance; a value that resets
-- now and then still mostly rises. If fewer than half of the medians differ from the one before,
-- the share is relative to that half, so that a single change is no growth.
local constants = {
  pieces = 32, -- so many that chance alone hardly makes most of them rise
  rows = 4, -- of a piece, at least
}

return function(_, rows, field)
  local count = rows:count()
  local pieces = math.min(constants.pieces, count // constants.rows)
  if pieces * constants.rows < constants.pieces then return nil end
  local values, row = {}, 0
  for piece = 1, pieces do
    values[piece] = {}
  end
  rows:keep({ field }, function(of_row)
    local piece = values[row * pieces // count + 1]
    piece[#piece + 1] = of_row[field] or 0
    row = row + 1
    return false
  end)
  local medians, rises, changes = {}, 0, 0
  for piece = 1, pieces do
    medians[piece] = require "median"(values[piece])
    local change = piece > 1 and medians[piece] - medians[piece - 1] or 0
    if change > 0 then rises = rises + 1 end
    if change ~= 0 then changes = changes + 1 end
  end
  -- Slow growth leaves adjacent medians equal, due to the clock's resolution.
  changes = math.max(changes, pieces // 2)
  local rising = rises / changes
  return {
    rising = math.tointeger(rising) or rising,
    first = medians[1],
    last = medians[pieces],
  }
end

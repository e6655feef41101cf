-- Broadcasts in steps before the loss, and the copies on the device that follow them directly, but
-- for other collectives: buffers that were sent together are put back one by one.
return function(trace)
  local comm = trace:ops { class = "collective" }
  local broadcasts = comm:where { collective = "broadcast" }
  if broadcasts:count() == 0 then return broadcasts, broadcasts end
  local unpacked = trace:match {
    broadcasts,
    trace:ops { direction = "d2d" },
    by = "device",
    skip = comm:minus(broadcasts),
  }[2]
  local losses = trace:ops { class = "softmax_loss" }
  return broadcasts:phases(losses, 1).before, unpacked:phases(losses, 1).before
end

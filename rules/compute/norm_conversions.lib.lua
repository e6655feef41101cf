-- Of these copies to another layout, those around a group normalization: PyTorch's reads contiguous
-- tensors only, so one copy comes right before it, and after it and what is computed from it
-- another one back.
local constants = {
  computed = 4, -- kernels between the statistics and the copy back, at most: scale, activation, sum
}

return function(trace, copies)
  local moments = trace:ops { class = "norm", name = "*RowwiseMoments*" }
  local into = trace:match { copies, moments }
  if into.count == 0 then return copies:minus(copies) end
  local parameters = trace:ops { class = "norm", name = "*ComputeFusedParams*" }
  local computed = trace:ops({ class = "pointwise" }):minus(copies)
  local around = trace:match {
    copies,
    moments,
    parameters,
    { of = computed, most = constants.computed },
    copies,
  }
  return into[1]:plus(around[5])
end

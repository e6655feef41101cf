-- Runs of kernels (of `kernels`) that reach pages of unified memory which lie on the host: the
-- driver leaves a page there for a while that goes back and forth, without a fault or a migration.
-- That shows where a kernel takes many times as long in steps in which no page comes to the GPU as
-- where one does, nearly always, and both kinds of steps go on throughout.
--
-- Returns them, and a list of { name, rows, runs, slow_ns, fast_ns } by kernel and launch shape,
-- the one
-- that loses most first.
local constants = {
  varies = 3, -- times as long, as in hot-kernel
  runs = 10, -- of either kind, for a tenth to be one run or more
  shapes = 20, -- that are looked at
}

return function(trace, kernels)
  local afar, slower = kernels:minus(kernels), {}
  local arriving = trace:ops { direction = "um_h2d" }
  if arriving:count() < constants.runs then return afar, slower end
  for _, shape in ipairs(kernels:launch_shapes(constants.shapes)) do
    local near = shape.rows:alike(arriving, { "device", "step" })
    local far = shape.rows:minus(near)
    if near:count() >= constants.runs and far:count() >= constants.runs then
      local fast, slow = near:launch_shapes(1)[1], far:launch_shapes(1)[1]
      local fast_ns, slow_ns = near:median "duration_ns", far:median "duration_ns"
      if
        slow_ns >= constants.varies * fast_ns
        and slow.short_ns > fast.long_ns
        and near:throughout()
        and far:throughout()
      then
        afar = afar:plus(far)
        slower[#slower + 1] = {
          name = shape.name,
          rows = far,
          runs = shape.rows:count(),
          slow_ns = slow_ns,
          fast_ns = fast_ns,
        }
      end
    end
  end
  table.sort(
    slower,
    function(a, b)
      return a.rows:count() * (a.slow_ns - a.fast_ns) > b.rows:count() * (b.slow_ns - b.fast_ns)
    end
  )
  return afar, slower
end

-- What of these operations, or of this idle time, lies in these steps of its device.
return function(_, rows, steps)
  local held = rows:minus(rows)
  for _, of in ipairs(steps:group "device") do
    held = held:plus(rows:where { device = tonumber(of.key), inside = of.rows })
  end
  return held
end

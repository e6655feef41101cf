-- The middle one of some whole numbers, or the mean of the two in the middle, rounded down.
return function(values)
  table.sort(values)
  local middle = #values // 2
  if #values % 2 == 1 then return values[middle + 1] end
  return (values[middle] + values[middle + 1]) // 2
end

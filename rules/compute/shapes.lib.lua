-- The operators among these ranges that have recorded operand shapes (PyTorch's record_shapes), by
-- name and shapes, the longest first: a list of { name, sizes, count, sum_ns }. sizes[i] is the
-- shape of operand i, {} for one that is not a tensor.
local title = ", sizes = ["
local constants = {
  most = 1000, -- operators of different shapes
}

-- Of "8, 2], [2, 4], []], ...": { { 8, 2 }, { 2, 4 }, {} }. Only tensors count: lists of them lie
-- deeper.
local function shapes_in(text)
  local shapes, depth, number = {}, 0, ""
  for i = 1, #text do
    local letter = text:sub(i, i)
    if letter >= "0" and letter <= "9" then
      number = number .. letter
    else
      if number ~= "" and depth == 1 then table.insert(shapes[#shapes], tonumber(number)) end
      number = ""
      if letter == "[" then
        depth = depth + 1
        if depth == 1 then shapes[#shapes + 1] = {} end
      elseif letter == "]" then
        depth = depth - 1
        if depth < 0 then return shapes end
      end
    end
  end
  return shapes
end

return function(_, ranges)
  local operators = {}
  local shaped = ranges:where { name = "*" .. title .. "*" }
  for _, group in ipairs(shaped:group("name", constants.most)) do
    local parts = group.key:split(title)
    operators[#operators + 1] = {
      name = parts[1],
      sizes = shapes_in(parts[2]),
      count = group.count,
      sum_ns = group.sum_ns,
    }
  end
  return operators
end

-- The all-reduces and reduce-scatters of backward phases, in steps in which every phase reduces the
-- same gradients.
--
-- A phase begins with a loss, if something was reduced since the loss before, and lasts until the
-- next: a backward pass, and the forward pass of the next micro-batch. A reduction before the first
-- loss is no gradient, and neither is anything else of its name on its stream. An optimizer between
-- two phases separates steps of the program, not micro-batches.
--
-- Returns `phases`, the usual number in a step; as selections `early`, the reductions of all phases
-- but the last, `last`, those of the last, and `copies`, which moved the data of the early ones
-- into
-- buffers and back; and `bytes`, how much the early ones reduce (0 if the report does not say).
local step, lane = { "device", "step" }, { "device", "step", "stream", "name" }
local same = { "device", "step", "name", "message_bytes", "blocks" }

local constants = {
  least_moved = 0.8, -- copied bytes of those reduced: some gradients are their own buffers
  most_moved = 1.25, -- the same upwards: buffers are padded
}

-- Whether copies move what is reduced: at least one for each reduction and, where the report has
-- sizes, about as many bytes.
local function move(copies, reductions)
  if copies:count() < reductions:count() then return false end
  local unsized = reductions:keep(
    { "message_bytes" },
    function(r) return r.message_bytes == 0 end
  )
  local reduced, copied = reductions:sum "message_bytes", copies:sum "bytes"
  return unsized:count() > 0
    or copied > constants.least_moved * reduced and copied < constants.most_moved * reduced
end

-- Of what each micro-batch does equally often, that of the last in each step; nil if it does not.
-- In order of time on each device, since a late rank's reductions may end in the next step.
local function of_last(trace, rows, phases)
  local devices = rows:group("device", 1000)
  local steps = trace:fact "steps.count" / math.max(1, #devices)
  local last = rows:minus(rows)
  for _, device in ipairs(devices) do
    local each, passed = device.count / (steps * phases), 0
    if each < 1 or each % 1 > 0 then return nil end
    last = last:plus(device.rows:keep({ "start_ns" }, function()
      passed = passed + 1
      return (passed - 1) // each % phases == phases - 1
    end))
  end
  return last
end

-- Where no loss is known by its kernels, and micro-batches repeat in the step.
local function of_micro_batches(trace, reductions, found)
  local phases = trace:fact "unit.micro_batches" or 1
  local last = phases > 1 and of_last(trace, reductions, phases)
  if not last then return found end
  found.phases, found.last, found.early = phases, last, reductions:minus(last)
  found.bytes = found.early:sum "message_bytes"
  local copies = trace:match({ { of = trace:ops { direction = "d2d" }, least = 2 } })[1]
  local of_the_last = of_last(trace, copies, phases)
  local early = of_the_last and copies:minus(of_the_last)
  if early and move(early, found.early) then found.copies = early end
  return found
end

return function(trace)
  local losses = trace:ops { class = "softmax_loss" }
  local reductions = trace:ops { collective = { "all-reduce", "reduce-scatter" } }
  local none = reductions:minus(reductions)
  local found = { phases = 0, early = none, last = none, copies = none, bytes = 0 }
  if losses:count() == 0 then return of_micro_batches(trace, reductions, found) end
  local halves = reductions:phases(losses, 1)
  local gradients = halves[1]:minus(halves[1]:alike(halves.before, lane))
  local updates = trace:ops { class = "optimizer" }:phases(gradients, 1)[1]
  gradients = gradients:minus(gradients:alike(losses:phases(updates, 1)[1], step))

  local begins = trace:match { losses, gradients, by = "device", skip = "others" }.sequences
  local phases = gradients:phases(begins)

  -- Steps in which a phase reduces something else than the first, or less. After the last there may
  -- be more: a norm, a loss.
  local odd = none
  for i = 2, #phases do
    local like_first, of_first = phases[i]:pair(phases[1], same)
    odd = odd:plus(phases[1]:alike(phases[i], step):minus(of_first))
    if phases[i + 1] then
      odd = odd:plus(phases[i]:minus(like_first):alike(phases[i + 1], step))
    end
  end

  local copies =
    trace:match { { of = trace:ops { direction = "d2d" }, least = 2 } }[1]:phases(begins)
  local function steps_with(phase) return phase and trace:steps():containing(phase):count() or 0 end
  local most = trace:steps():count() - steps_with(phases[1])
  for i, phase in ipairs(phases) do
    local count = steps_with(phase) - steps_with(phases[i + 1])
    if count > most then
      found.phases, most = i, count
    end
    local alike = phase:minus(phase:alike(odd, step))
    local early = phases[i + 1] and alike:alike(phases[i + 1], step) or none
    found.early = found.early:plus(early)
    if i > 1 then found.last = found.last:plus(alike:minus(early)) end
    local moved = copies[i] and copies[i]:phases(early, 1)[1] or none
    if move(moved, early) then found.copies = found.copies:plus(moved) end
  end
  found.bytes = found.early:sum "message_bytes"
  return found
end

-- All-gathers of weights that are sharded over ranks (FSDP, ZeRO-3).
--
-- Weights are gathered block by block before anything is scattered, and gradients are scattered
-- only
-- in backward; activations of tensor parallelism alternate between gathering and scattering. So a
-- step's gathers are of weights if it scatters something, and two of them on one stream come before
-- the first loss or scatter.
--
-- Returns, as selections, `all` of them; `late`, those that began only after work that they could
-- have overlapped with: between one and the gather before lies computation of at least half its
-- length, and no optimizer; `held_up`, the reduce-scatters that ran meanwhile; `again`, those of
-- backward that gather what was gathered before it, by size, or by number without sizes;
-- `scattered`;
-- how many `steps` on all devices have them; and `bytes`, how much one step gathers before
-- backward,
-- over all ranks (0 if the report does not say).
local step, lane = { "device", "step" }, { "device", "step", "stream", "name" }

return function(trace)
  local comm = trace:ops { class = "collective" }
  local scatters = comm:where { collective = "reduce-scatter" }
  local halves = comm
    :where { collective = "all-gather" }
    :phases(scatters:plus(trace:ops { class = "softmax_loss" }), 1)
  local forward = halves.before:alike(scatters, step)
  forward = forward:alike(forward, lane, 2)
  local backward = halves[1]:alike(forward, lane)
  local all = forward:plus(backward)

  local gaps = all:gaps(lane):keep({
    "op_ns",
    computed = trace:ops():minus(comm),
    updated = trace:ops { class = "optimizer" },
  }, function(gap) return gap.updated == 0 and 2 * gap.computed >= gap.op_ns end)

  local scattered = scatters:alike(forward, step)
  local devices = trace:steps():group "device"
  local steps = trace:steps():containing(forward):count()
  local bytes = 0
  for _, group in ipairs(forward:group "ranks") do
    local ranks = tonumber(group.key)
    bytes = bytes + group.rows:sum "message_bytes" * (ranks > 0 and ranks or #devices)
  end
  return {
    steps = steps,
    all = all,
    late = gaps:ops(),
    held_up = scattered:keep({ late = gaps }, function(scatter) return scatter.late > 0 end),
    again = (backward:pair(forward, { "device", "step", "stream", "name", "message_bytes" })),
    scattered = scattered,
    bytes = steps > 0 and bytes / steps or 0,
  }
end

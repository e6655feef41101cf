-- Six steps of two layers. Forward is eight kernels a layer, backward six of its own; `again`:
-- with forward's once more before them.
local forward =
  { "norm", "nvjet_qkv_gemm", "rope", "cat", "flash_fwd", "nvjet_out_gemm", "add", "silu" }
local backward =
  { "flash_bwd_dot", "nvjet_dgrad_gemm", "nvjet_wgrad_gemm", "mul", "norm_backward", "add" }
local function steps(more)
  more = more or {}
  local ops, at = {}, 20
  local function run(names, thread, blocks)
    for i, name in ipairs(names) do
      ops[#ops + 1] = {
        at,
        at + 95,
        kernel = name,
        blocks = blocks + i,
        launched = { at - 8, at - 5 },
        thread = thread,
      }
      at = at + 100
    end
  end
  local own = more.one_thread and "main" or "pt_autograd_0"
  for _ = 1, 2 do
    run(forward, "main", 100)
  end
  for _ = 1, 2 do
    if more.again ~= false then run(forward, own, more.other_shapes and 300 or 100) end
    run(more.backward or backward, own, 200)
  end
  return {
    repeats = { times = 6, every = at + 80 },
    ranges = { { 0, at + 60, "step {n}" } },
    ops = ops,
    memory_use = more.memory ~= false and { { 0, bytes = (more.used or 10e9) / 6 } } or nil,
    device = more.device,
    not_collected = more.not_collected,
  }
end
local grace = { name = "NVIDIA GH200 480GB", memory_gib = 96 }

return {
  {
    name = "fires where forward runs again in backward and memory is free",
    trace = steps(),
    replay = true,
    expect = {
      {
        severity = "error",
        subject = "recomputed activations",
        message = "16 kernels run a second time a step, in the order of the first: 1.52 ms of \z
          each*while 9.3 GiB of 141 GiB are in use at the peak (6.6 %).",
        worth = { 0.3, 0.4 },
      },
    },
  },
  {
    name = "is less sure where half of the memory is used",
    trace = steps { used = 80e9 },
    expect = { { severity = "error" } },
  },
  {
    name = "advises to offload instead where memory is full and the link is NVLink-C2C",
    trace = steps { used = 90e9, device = grace },
    expect = {
      {
        severity = "note",
        message = "*so they cannot simply be kept.",
        advice = "Offload activations over NVLink-C2C*",
      },
    },
  },

  { name = "is silent where memory is full", trace = steps { used = 140e9 }, expect = "clean" },
  {
    name = "is silent where nothing is recomputed",
    trace = steps { again = false },
    expect = "clean",
  },
  {
    name = "is silent about kernels of the same names on other shapes",
    trace = steps { other_shapes = true },
    expect = "clean",
  },
  {
    name = "is silent about short sequences that backward shares with forward",
    trace = steps {
      again = false,
      backward = { "flash_bwd", "add", "silu", "nvjet_out_gemm", "add", "mul" },
    },
    expect = "clean",
  },
  {
    name = "is silent about inference",
    trace = {
      repeats = { times = 6, every = 1000 },
      ops = { { 20, 900, kernel = "nvjet_gemm" } },
      memory_use = { { 0, bytes = 1e9 } },
    },
    expect = "clean",
  },
  {
    name = "is silent where one thread launches all: layers are no recomputing",
    trace = steps { one_thread = true },
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(),
    options = { share = 0.6 },
    expect = "clean",
  },

  {
    name = "cannot tell without memory events",
    trace = steps { memory = false, not_collected = { "memory_use" } },
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = steps { not_collected = { "kernels" } },
    expect = "not checked",
  },
  {
    name = "needs calls",
    trace = steps { not_collected = { "calls" } },
    expect = "not checked",
  },

  { name = "good", fixture = "good", expect = "clean" },
  { name = "lora: adapters next to frozen weights", fixture = "lora", expect = "clean" },
  { name = "compile", fixture = "compile", expect = "clean" },
  { name = "fp32", fixture = "fp32", expect = "clean" },
}

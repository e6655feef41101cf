-- Six steps of 10 ms: `pieces` compiled regions, and after each an eager kernel that comes `late`
-- us after the region's.
local function steps(pieces, late, more)
  more = more or {}
  local trace =
    { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9950, "step {n}" } }, ops = {} }
  local ops, ranges = trace.ops, trace.ranges
  for i = 0, pieces - 1 do
    local at = 900 * i
    for k = 1, more.kernels or 0 do
      ops[#ops + 1] = {
        at + 12 * k,
        at + 12 * k + 4,
        kernel = "triton_per_fused_" .. k,
        launched = { at + 12 * k - 6, at + 12 * k - 5 },
        thread = more.thread,
      }
    end
    if not more.unmarked then
      ranges[#ranges + 1] =
        { at, at + 100, (more.name or "Torch-Compiled Region: %d/0"):format(i) }
    end
    ops[#ops + 1] = {
      at + (more.kernels and 100 or 20),
      at + 875 - late,
      kernel = "triton_poi_fused_add_" .. i,
      launched = more.kernels and { at + 91, at + 95 } or { at + 5, at + 10 },
    }
    ops[#ops + 1] = {
      at + 875,
      at + 895,
      kernel = "void at::native::vectorized_elementwise_kernel<4>",
      launched = { at + 865, at + 870 },
      thread = more.thread,
    }
  end
  ops[#ops + 1] = {
    900 * pieces + 20,
    9950,
    kernel = "triton_red_fused_sum",
    launched = { 900 * pieces + 5, 900 * pieces + 10 },
  }
  if not more.unmarked then
    ranges[#ranges + 1] = {
      900 * pieces,
      900 * pieces + 100,
      (more.name or "Torch-Compiled Region: %d/0"):format(pieces),
    }
  end
  return trace
end

return {
  {
    name = "fires on eager kernels between compiled pieces",
    trace = steps(8, 400),
    expect = {
      {
        severity = "error",
        subject = "pieces",
        confidence = "medium",
        message = "The model is compiled in 9 pieces, and 8 kernels a step run eagerly in 6 runs \z
          between them*",
      },
    },
  },
  {
    name = "is silent about one function that is compiled and called for each layer",
    trace = steps(8, 400, { name = "Torch-Compiled Region: 0/0" }),
    expect = "clean",
  },
  { name = "is silent about a model and its loss", trace = steps(2, 400), expect = "clean" },
  { name = "is silent where eager kernels cost little", trace = steps(8, 5), expect = "clean" },
  {
    name = "is silent below its share",
    trace = steps(8, 400),
    options = { share = 0.9 },
    expect = "clean",
  },
  {
    name = "cannot tell where pieces are not marked",
    trace = steps(8, 400, { unmarked = true }),
    expect = "not checked",
  },
  {
    name = "fires where PyTorch's own kernels stand between Inductor's",
    trace = steps(8, 400, { unmarked = true, kernels = 6 }),
    expect = {
      {
        severity = "error",
        subject = "pieces",
        message = "The model is compiled in about 7 pieces, and 8 kernels a step run eagerly in 6 \z
          runs between them*",
      },
    },
  },
  {
    name = "fires on layers of one code",
    trace = steps(8, 400, { name = "Torch-Compiled Region: 0/0", kernels = 6 }),
    expect = {
      {
        severity = "error",
        subject = "pieces",
        message = "The model is compiled in about 7 pieces*",
      },
    },
  },
  {
    name = "cannot tell breaks from gradients that backward sums up",
    trace = steps(8, 400, { unmarked = true, kernels = 6, thread = "pt_autograd_0" }),
    expect = "not checked",
  },
  { name = "compile: no range marks the pieces", fixture = "compile", expect = "not checked" },
  { name = "good", fixture = "good", expect = "clean" },
}

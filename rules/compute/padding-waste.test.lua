-- Eight steps of 1 ms with attention over the lengths that are given, in turn.
local kernel =
  "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloa\z
    t16_t>::Params)"
local function steps(lengths, shape, more)
  local ops, ranges = {}, {}
  for i = 1, 8 do
    local length, at = lengths[(i - 1) % #lengths + 1], (i - 1) * 1000
    ops[i] = { at + 20, at + 990, kernel = kernel, launched = { at + 5, at + 10 } }
    ranges[2 * i - 1] = { at, at + 995, "step " .. i }
    ranges[2 * i] = {
      at + 2,
      at + 15,
      "aten::_scaled_dot_product_efficient_attention, sizes = "
        .. table.concat(shape:split "S", tostring(length)),
    }
  end
  local trace = { ops = ops, ranges = ranges }
  for key, value in pairs(more or {}) do
    trace[key] = value
  end
  return trace
end
-- S stands for the length.
local padded = "[[8, 16, S, 64], [8, 16, S, 64], [8, 16, S, 64], [8, 16, S, S], [], [], []]"
local lengths = { 312, 488, 1017, 640 }
local alike = { 912, 988, 1017, 940 }

return {
  {
    name = "notes masked batches of which each reaches nearly the longest sample",
    trace = steps(alike, padded),
    expect = {
      {
        severity = "note",
        subject = "batches",
        confidence = "low",
        message = "Attention gets a mask for each of 8 samples, over lengths from 912 to 1017*is \z
          unknown.",
      },
    },
  },
  {
    name = "cannot judge lengths that vary without a mask",
    trace = steps(lengths, "[[8, 16, S, 64], [8, 16, S, 64], [8, 16, S, 64], [], [], [], []]"),
    expect = "not checked",
  },
  {
    name = "is silent about one length without a mask",
    trace = steps({ 512 }, "[[8, 16, S, 64], [8, 16, S, 64], [8, 16, S, 64], [], [], [], []]"),
    expect = "clean",
  },
  {
    name = "cannot tell where all samples share a mask",
    trace = steps(
      lengths,
      "[[8, 16, S, 64], [8, 16, S, 64], [8, 16, S, 64], [1, 1, S, S], [], [], []]"
    ),
    expect = "not checked",
  },
  {
    name = "cannot tell packed samples, whose length is one, from those padded to it",
    trace = steps({ 2048 }, padded),
    expect = "not checked",
  },
  {
    name = "cannot tell where masked batches differ as those of similar samples do",
    trace = steps(lengths, padded),
    expect = "not checked",
  },
  {
    name = "cannot tell above the team's own threshold",
    trace = steps(alike, padded),
    options = { spread = 1.1 },
    expect = "not checked",
  },
  {
    name = "cannot judge a cache that grows",
    trace = steps(
      lengths,
      "[[8, 16, 1, 64], [8, 16, S, 64], [8, 16, S, 64], [8, 16, 1, S], [], [], []]"
    ),
    expect = "not checked",
  },
  {
    name = "cannot judge one sample",
    trace = steps(
      lengths,
      "[[1, 16, S, 64], [1, 16, S, 64], [1, 16, S, 64], [1, 16, S, S], [], [], []]"
    ),
    expect = "not checked",
  },
  {
    name = "cannot tell without shapes",
    trace = steps(
      lengths,
      padded,
      { ranges = { { 0, 990, "aten::_scaled_dot_product_efficient_attention" } } }
    ),
    expect = "not checked",
  },
  { name = "good: no shapes", fixture = "good", expect = "not checked" },
  {
    name = "eager-autogradnvtx: attention as separate kernels",
    fixture = "eager-autogradnvtx",
    expect = "not checked",
  },
}

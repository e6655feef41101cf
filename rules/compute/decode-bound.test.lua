-- Eight tokens of 2 ms: a product that takes `time` us, launched in an operator that carries its
-- shapes (one row and 268 MB of weights
-- in BF16, where nothing else is said), and a norm.
local function tokens(time, more)
  more = more or {}
  local trace = {
    repeats = { times = 8, every = 2000 },
    ranges = {
      { 0, 1990, "decode token {n}" },
      { 4, 11, more.operator or "aten::mm, sizes = [[1, 4096], [4096, 32768]]" },
    },
    ops = {
      {
        20,
        20 + time,
        kernel = more.kernel or "nvjet_sm90_tst_64x8_64x16_2x4_h_bz_TNT",
        blocks = more.blocks or 128,
        launched = { 5, 10 },
      },
      {
        20 + time,
        1999,
        kernel = "void vllm::rms_norm_kernel<c10::BFloat16>(int)",
        launched = { 12, 15 },
      },
    },
  }
  for key, value in pairs(more) do
    if key == "samples" or key == "device" or key == "not_collected" then trace[key] = value end
  end
  return trace
end
local function graphs(samples)
  return {
    repeats = { times = 8, every = 2000 },
    ranges = { { 0, 1990, "decode token {n}" } },
    ops = {
      { 20, 1970, graph = true },
      { 1970, 1999, kernel = "void vllm::rms_norm_kernel<c10::BFloat16>(int)" },
    },
    samples = samples,
    not_collected = not samples and { "samples" } or nil,
  }
end
local busy = {
  { 500, "DRAM Read Bandwidth [Throughput %]", 80 },
  { 1500, "DRAM Read Bandwidth [Throughput %]", 80 },
}

return {
  -- 5 GiB in 1.6 ms are 3.36 of 4.09 TB/s.
  {
    name = "fires on a product of one row at the memory's rate",
    trace = tokens(1600, { operator = "aten::mm, sizes = [[1, 81920], [81920, 32768]]" }),
    expect = {
      {
        severity = "warning",
        subject = "weights",
        confidence = "high",
        message = "Matrix products of one row take 1.60 ms of each 2.00 ms token (80 %) and read \z
          5 GiB of weights a token*of what this GPU's memory carries*",
        advice = "Decode more requests at once: a larger --max-num-seqs*",
        worth = { 0.3, 0.34 },
      },
    },
  },
  {
    name = "goes by samples where no shapes tell",
    trace = tokens(1600, { operator = "sample", samples = busy }),
    expect = {
      {
        severity = "warning",
        confidence = "medium",
        message = "*this GPU's memory was sampled as busy 80 % of the time*",
      },
    },
  },
  {
    name = "is a note where the weights have 8 bits",
    trace = tokens(1600, {
      kernel = "nvjet_qqtst_64x8_64x16_2x4_h_bz_TNT",
      operator = "aten::_scaled_mm, sizes = [[16, 163840], [163840, 32768]]",
    }),
    expect = { { severity = "note" } },
  },

  {
    name = "only mentions whole graphs that memory binds",
    trace = graphs(busy),
    expect = {
      {
        severity = "note",
        confidence = "low",
        message = "CUDA graphs take 1.95 ms of each 2.00 ms token (98 %), and this GPU's memory \z
          was sampled as busy 80 %*",
      },
    },
  },
  {
    name = "is silent about whole graphs that memory does not bind",
    trace = graphs {
      { 500, "DRAM Read Bandwidth [Throughput %]", 20 },
      { 1500, "DRAM Read Bandwidth [Throughput %]", 20 },
    },
    expect = "clean",
  },
  {
    name = "cannot judge whole graphs without samples",
    trace = graphs(),
    expect = "not checked",
  },

  {
    name = "is silent about products that read slowly",
    trace = tokens(1600),
    expect = "clean",
  },
  {
    name = "is silent about products of many rows",
    trace = tokens(1600, { operator = "aten::mm, sizes = [[512, 81920], [81920, 32768]]" }),
    expect = "clean",
  },
  {
    name = "is silent where products are the least of it",
    trace = tokens(300, { operator = "aten::mm, sizes = [[1, 16384], [16384, 32768]]" }),
    expect = "clean",
  },
  {
    name = "is silent where sampled memory is idle",
    trace = tokens(1600, {
      operator = "sample",
      samples = {
        { 500, "DRAM Read Bandwidth [Throughput %]", 20 },
        { 1500, "DRAM Read Bandwidth [Throughput %]", 20 },
      },
    }),
    expect = "clean",
  },

  {
    name = "goes by the tiles of products where nothing else tells",
    trace = tokens(1600, { operator = "sample", not_collected = { "samples" } }),
    expect = {
      {
        severity = "warning",
        confidence = "medium",
        message = "Matrix products take 1.60 ms of each 2.00 ms token (80 %) in kernels that \z
          cover their results with one wave of tiles, a side of 8 or less*",
        advice = "Decode more requests at once: a larger --max-num-seqs*",
        worth = { 0.3, 0.34 },
      },
    },
  },
  {
    name = "cannot tell where there are more tiles than SMs, as for many rows",
    trace = tokens(1600, { operator = "sample", blocks = 896, not_collected = { "samples" } }),
    expect = "not checked",
  },
  {
    name = "cannot tell where tiles are large",
    trace = tokens(1600, {
      operator = "sample",
      kernel = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_cublas",
      not_collected = { "samples" },
    }),
    expect = "not checked",
  },
  {
    name = "cannot tell where names say nothing of tiles",
    trace = tokens(
      1600,
      { operator = "sample", kernel = "my_gemm_kernel", not_collected = { "samples" } }
    ),
    expect = "not checked",
  },
  {
    name = "cannot tell for products so short that they hardly read",
    trace = tokens(1600, { operator = "sample", not_collected = { "samples" } }),
    options = { min_ns = 2000000 },
    expect = "not checked",
  },
  {
    name = "needs tokens",
    trace = {
      repeats = { times = 8, every = 2000 },
      ranges = { { 0, 1990, "step {n}" } },
      ops = { { 20, 1900, kernel = "nvjet_sm90_tst_64x8_64x16_2x4_h_bz_TNT" } },
    },
    expect = "not checked",
  },
  {
    name = "needs kernels",
    trace = tokens(1600, { not_collected = { "kernels" } }),
    expect = "not checked",
  },

  { name = "good: it trains", fixture = "good", expect = "not checked" },
}

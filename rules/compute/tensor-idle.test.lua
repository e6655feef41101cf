-- Six steps of 10 ms with ten samples each, of which the first `idle` find the tensor cores idle.
local gemm, cores = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", "ampere_sgemm_128x64_tn"
local add =
  "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, \z
    std::array<char*, 3ul> >(int, float)"
local softmax =
  "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, \z
    false>(float*, float const*, int, int, int, bool const*, int, bool)"
local sms_active, tensor_active = "SMs Active [Throughput %]", "Tensor Active [Throughput %]"
local function steps(idle, more)
  more = more or {}
  local samples = {}
  for i = 0, 9 do
    samples[#samples + 1] = {
      i * 1000 + 500,
      more.sm_metric or sms_active,
      i < idle and (more.sms or 95) or 99,
      period = more.period,
    }
    if not more.no_tensor then
      samples[#samples + 1] = {
        i * 1000 + 500,
        more.metric or tensor_active,
        i < idle and (more.tensor or 0) or 80,
        period = more.period,
      }
    end
  end
  local at = 20 + idle * 900
  return {
    repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } },
    samples = samples,
    not_collected = more.not_collected,
    ops = more.ops or {
      { 20, at, kernel = more.instead or add, launched = { 5, 10 } },
      { at, 10000, kernel = gemm, launched = { 10, 15 } },
    },
  }
end

return {
  {
    name = "warns where half of the step goes by without them",
    trace = steps(5),
    expect = {
      {
        severity = "warning",
        subject = "tensor cores",
        confidence = "medium",
        message = "In 50 % of the samples*tensor cores are active 40 % of the time. What ran \z
          instead is mostly elementwise kernels and reductions, 45 % of the time.",
        worth = { 0.29, 0.31 },
      },
    },
  },
  {
    name = "says so of products on CUDA cores",
    trace = steps(5, { instead = cores }),
    expect = { { severity = "warning", message = "*mostly matrix products on CUDA cores*" } },
  },
  {
    name = "says so of softmax",
    trace = steps(5, { instead = softmax }),
    expect = { { severity = "warning", message = "*mostly attention's softmax*" } },
  },
  {
    name = "does not guess what ran",
    trace = steps(5, { instead = "my_stencil" }),
    expect = { { severity = "warning", message = "*of the time." } },
  },
  {
    name = "is never an error: some of it is normal",
    trace = steps(10),
    expect = { { severity = "warning", worth = { 0.79, 0.81 } } },
  },
  { name = "notes 30 %", trace = steps(3), expect = { { severity = "note" } } },
  {
    name = "warns from where the team says",
    trace = steps(3),
    options = { warning_share = 0.25 },
    expect = { { severity = "warning" } },
  },
  {
    name = "fires on graphs traced whole",
    trace = steps(5, { ops = { { 20, 10000, graph = true } } }),
    expect = { { severity = "warning" } },
  },
  {
    name = "takes 8 % for idle",
    trace = steps(5, { tensor = 8 }),
    expect = { { severity = "warning" } },
  },

  {
    name = "takes DCGM's fields, and only notes what is an average over many kernels",
    trace = steps(5, {
      sm_metric = "DCGM_FI_PROF_SM_ACTIVE",
      metric = "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
      period = 20000,
    }),
    expect = {
      { severity = "note", subject = "tensor cores", confidence = "low", worth = { 0, 0 } },
    },
  },
  {
    name = "goes by averages over less than the team's bound",
    trace = steps(5, { period = 20000 }),
    options = { most_period_ns = 30000000 },
    expect = { { severity = "warning" } },
  },
  {
    name = "does not take averages that reach out of the steps",
    trace = steps(5, { period = 200000 }),
    expect = "not checked",
  },

  { name = "is silent about a tenth", trace = steps(1), expect = "clean" },
  {
    name = "is silent where the SMs are idle too",
    trace = steps(5, { sms = 20 }),
    expect = "clean",
  },
  {
    name = "is silent where tensor cores work a little",
    trace = steps(5, { tensor = 15 }),
    expect = "clean",
  },
  {
    name = "is silent below the team's own threshold",
    trace = steps(5),
    options = { share = 0.6 },
    expect = "clean",
  },
  { name = "is silent where they are never idle", trace = steps(0), expect = "clean" },

  {
    name = "needs a model",
    trace = steps(5, { ops = { { 20, 10000, kernel = add } } }),
    expect = "not checked",
  },
  {
    name = "needs this metric",
    trace = steps(5, { no_tensor = true }),
    expect = "not checked",
  },
  {
    name = "and knows it by its name",
    trace = steps(5, { metric = "DRAM Read Bandwidth [Throughput %]" }),
    expect = "not checked",
  },
  {
    name = "needs samples",
    trace = steps(5, { not_collected = { "samples" } }),
    expect = "not checked",
  },

  {
    name = "gpumetrics",
    fixture = "gpumetrics",
    expect = {
      {
        severity = "warning",
        subject = "tensor cores",
        message = "In 48 % of the samples*mostly elementwise kernels*",
      },
    },
  },
  { name = "good: not sampled", fixture = "good", expect = "not checked" },
  { name = "eager: not sampled", fixture = "eager", expect = "not checked" },
  { name = "compile-graphs: not sampled", fixture = "compile-graphs", expect = "not checked" },
  { name = "um: not sampled", fixture = "um", expect = "not checked" },
}

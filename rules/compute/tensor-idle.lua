return {
  id = "tensor-idle",
  category = "compute",
  title = "The SMs are busy and the tensor cores are not",
  since = "0.1",
  needs = { "samples" },
  options = {
    share = { default = 0.20, unit = "fraction", doc = "Share of the samples within the steps with busy SMs and idle tensor cores, from which it is mentioned, and of which only what exceeds this is worth anything. Norms, optimizers and losses never use them, so some is normal." },
    warning_share = { default = 0.40, unit = "fraction", doc = "From this share on it is more than a note." },
    sms_active = { default = 60, unit = "count", doc = "SMs active from which they are busy, in percent." },
    most_period_ns = { default = 10000000, unit = "ns", doc = "Samples that are averages over longer than this (DCGM's are, by 100 ms at least) blur kernels together: then it is a note, and worth nothing by itself." },
    tensor_active = { default = 10, unit = "count", doc = "Tensor cores active up to which they are idle, in percent." },
  },
  messages = {
    idle = "In {share:fraction} of the samples within the {units} the SMs are busy and the tensor cores idle; over all samples tensor cores are active {mean} % of the time.{most}",
  },
  doc = {
    what = "Reads the sampled GPU metrics, or those of DCGM (--dcgm) where their times are aligned to the report: moments at which most SMs are active and the tensor cores hardly.",
    why = "Utilization counts a GPU that copies and adds as busy. Nearly all that it can compute is in its tensor cores; this says how much of the step goes by without them.",
    fix = "See which kernels run then: elementwise work that could be fused (torch.compile), attention written out, products on CUDA cores. Other findings name them where kernels were recorded.",
    wrong = "Work that is bound by memory by nature (embeddings, an optimizer, decoding token by token) has no use for tensor cores. A millisecond between samples blurs what is shorter.",
  },
  evaluate = function(trace, options)
    local share, reason, record_with = trace:sampled_fraction { { metric = "sm_active", least = options.sms_active }, { metric = "tensor_active", most = options.tensor_active } }
    if share == nil then return nil, reason, record_with end
    local total = trace:total_ns()
    local products = trace:ops { class = { "gemm_*", "attention_fused" } }
    if products:count() + trace:ops { kind = "graph" }:count() == 0 then return nil, "no matrix multiplication ran that could use tensor cores", "" end
    if share < options.share then return {} end

    -- What ran instead tells whose finding this is a sign of.
    local culprits = {
      { "products on CUDA cores", "non-tensor-core-gemm", trace:ops { class = "gemm_cuda_core" } },
      { "attention's softmax", "unfused-softmax", trace:ops { class = "softmax" } },
      { "elementwise kernels and reductions", "unfused-pointwise", trace:ops { class = { "pointwise", "reduction" } } },
    }
    local follows, most
    for _, culprit in ipairs(culprits) do
      local part = culprit[3]:union_ns() / total
      if part >= 0.05 and not follows then follows = culprit[2] end
      if part >= share / 2 then most = most or string.format(" What ran instead is mostly %s, %.0f %% of the time.", culprit[1], part * 100) end
    end
    local tensor = trace:metric "tensor_active"
    local mean = tensor.mean
    -- A monitor's average over many kernels does not tell how much of the time tensor cores were idle.
    local blurred = tensor.period_ns > options.most_period_ns
    return { {
      subject = "tensor cores",
      message = "idle",
      data = { share = share, mean = string.format("%.0f", mean), most = most or "" },
      recoverable_ns = blurred and 0 or (share - options.share) * total,
      at_most = share >= options.warning_share and not blurred and "warning" or "note",
      confidence = blurred and "low" or "medium",
      follows_from = follows,
      metrics = {
        { name = "SMs busy, tensor cores idle", value = share, unit = "fraction", threshold = options.share },
        { name = "tensor cores active", value = mean / 100, unit = "fraction" },
      },
      advice = {
        "Look at the table above for what runs besides products and fused attention, and take the findings about it first.",
        {
          pytorch = "Fuse what is elementwise (torch.compile), use fused attention, and keep products in BF16 with dimensions divisible by 8.",
          cuda = "Fuse what is elementwise, and keep products in half precision or TF32 with dimensions divisible by 8.",
        },
      },
    } }
  end,
}

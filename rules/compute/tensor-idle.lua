return {
  id = "tensor-idle",
  category = "compute",
  title = "The SMs are busy and the tensor cores are not",
  since = "0.1",
  needs = { "samples" },
  options = {
    share = {
      default = 0.20,
      unit = "fraction",
      doc = "Share of the samples within the steps with busy SMs and idle tensor cores, from \z
        which it is mentioned; only what exceeds it counts as a saving. Norms, optimizers and \z
        losses never use tensor cores, so some is normal.",
    },
    warning_share = {
      default = 0.40,
      unit = "fraction",
      doc = "From this share on it is more than a note.",
    },
    sms_active = {
      default = 60,
      unit = "count",
      doc = "Percentage of active SMs from which they are busy.",
    },
    most_period_ns = {
      default = 10000000,
      unit = "ns",
      doc = "Samples that are averages over longer than this (DCGM's are, by 100 ms at least) \z
        blur kernels together: then it is a note without a saving.",
    },
    tensor_active = {
      default = 10,
      unit = "count",
      doc = "Percentage of tensor activity up to which tensor cores are idle.",
    },
    culprit = {
      default = 0.05,
      unit = "fraction",
      doc = "Share of the step that other kernels take, from which this follows from the rule \z
        that reports them. Chosen: their rules report from there.",
    },
  },
  messages = {
    idle = "In {share:fraction} of the samples within the {units} the SMs are busy and the tensor \z
      cores idle; over all samples tensor cores are active {mean} % of the time.{most}",
  },
  headlines = {
    idle = "Tensor cores idle while SMs are busy, {share:fraction} of the time",
  },
  doc = {
    what = "Reads the sampled GPU metrics, or those of DCGM (`--dcgm`) if their times are aligned \z
      to the report: moments at which most SMs are active and the tensor cores are hardly active.",
    why = "Utilization counts a GPU that copies and adds as busy. Nearly all of its computing \z
      power is in its tensor cores; this says how much of the step passes without them.",
    fix = "See which kernels run then: elementwise work that could be fused (`torch.compile`), \z
      attention as separate kernels, matrix products on CUDA cores. Other findings name them if \z
      kernels were recorded.",
    wrong = "Work that is memory-bound by nature (embeddings, an optimizer, decoding token by \z
      token) has no use for tensor cores. A millisecond between samples blurs what is shorter.",
  },
  advice = {
    "See what runs instead of matrix products and attention{.}. The table of what runs on the GPU \z
      lists it; follow the findings about it first.",
    {
      pytorch = "Fuse elementwise kernels (`torch.compile`), use fused attention, and keep matrix \z
        products in BF16 with dimensions divisible by 8.",
      cuda = "Fuse elementwise kernels, and keep matrix products in half precision or TF32 with \z
        dimensions divisible by 8.",
    },
  },
  evaluate = function(trace, options)
    local share, reason, record_with = trace:sampled_fraction {
      { metric = "sm_active", least = options.sms_active },
      { metric = "tensor_active", most = options.tensor_active },
    }
    if share == nil then return nil, reason, record_with end
    local total = trace:total_ns()
    local products = trace:ops { class = { "gemm_*", "attention_fused" } }
    if products:count() + trace:ops { kind = "graph" }:count() == 0 then
      return nil, "no matrix multiplication ran that could use tensor cores", ""
    end
    if share < options.share then return {} end

    -- What ran instead shows which rule's finding this is a sign of.
    local culprits = {
      {
        "matrix products on CUDA cores",
        "non-tensor-core-gemm",
        trace:ops { class = "gemm_cuda_core" },
      },
      { "attention's softmax", "unfused-softmax", trace:ops { class = "softmax" } },
      {
        "elementwise kernels and reductions",
        "unfused-pointwise",
        trace:ops { class = { "pointwise", "reduction" } },
      },
    }
    local follows, most
    for _, culprit in ipairs(culprits) do
      local part = culprit[3]:union_ns() / total
      if part >= options.culprit and not follows then follows = culprit[2] end
      if part >= share / 2 then
        most = most
          or string.format(
            " What ran instead is mostly %s, %.0f %% of the time.",
            culprit[1],
            part * 100
          )
      end
    end
    local tensor = trace:metric "tensor_active"
    local mean = tensor.mean
    -- A monitor's average over many kernels does not show how much of the time tensor cores were
    -- idle.
    local blurred = tensor.period_ns > options.most_period_ns
    return {
      {
        subject = "tensor cores",
        message = "idle",
        data = { share = share, mean = string.format("%.0f", mean), most = most or "" },
        recoverable_ns = blurred and 0 or (share - options.share) * total,
        at_most = share >= options.warning_share and not blurred and "warning" or "note",
        confidence = blurred and "low" or "medium",
        follows_from = follows,
        metrics = {
          {
            name = "SMs busy, tensor cores idle",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
          { name = "tensor cores active", value = mean / 100, unit = "fraction" },
        },
      },
    }
  end,
}

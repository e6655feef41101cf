return {
  id = "repeated-casts",
  category = "compute",
  title = "The same FP32 weights are cast to half precision repeatedly",
  since = "0.2",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Share of the kernel time in repeated casts from which they are reported: time that \z
        the host and the profiler add to the step does not make them fewer, and the replay shows \z
        what remains of them.",
    },
    tiny_blocks = {
      default = 16,
      unit = "count",
      doc = "Blocks up to which a cast belongs to a bias: 16 blocks cast 16,384 elements, a \z
        weight of 128 by 128.",
    },
  },
  messages = {
    training = "Weights are cast to half precision {times} times {a_step}, once for each \z
      micro-batch, though they change only with the optimizer: {time:lost} of {each_step} \z
      ({share:fraction}) in {count:# cast|# casts}, and only one in {times} is needed.",
    inference = "Weights that never change are cast to half precision in each pass: {count:# cast \z
      takes|# casts take} {time:lost} of {each_step} ({share:fraction}).",
  },
  headlines = {
    training = "Weights are cast {times} times {a_step} instead of once",
    inference = "Constant weights are cast to half precision in each pass",
  },
  doc = {
    what = "Looks at the casts from FP32 before a matrix product. If there are two, one belongs \z
      to the activation, the other to the weight; most products share the activation's size. In \z
      training it reports weights cast once for each of several micro-batches of a step; in \z
      inference, weights cast at all.",
    why = "`torch.autocast` keeps the cast of each weight until its context ends. A context for \z
      each micro-batch, `cache_enabled=False`, `torch.clear_autocast_cache()` or \z
      `torch.no_grad()` cast all weights again: with small batches that moves more memory than \z
      the products themselves.",
    fix = "Training: one autocast context around all micro-batches of a step, or parameters in \z
      BF16 with FP32 state in the optimizer (FSDP's `MixedPrecision` casts once a step). \z
      Inference: `model.to(torch.bfloat16)`, no autocast.",
    wrong = "With activation checkpointing weights are cast a second time in backward, which a \z
      context around the step does not change. Programs without two casts in a row before a \z
      product are not judged.",
  },
  advice = {
    {
      pytorch = {
        training = "Use one `torch.autocast` context for all micro-batches{.}: around the whole \z
          step it casts each weight once. No `cache_enabled=False`, no \z
          `torch.clear_autocast_cache()` in between.",
        cuda = "Store the weights in half precision{.}: once, with `model.to(torch.bfloat16)`, \z
          without autocast.",
      },
      cuda = "Cast each weight once, after it has changed{.}: and keep the copy.",
    },
    {
      pytorch = {
        training = "Or keep parameters in BF16 and FP32 copies in the optimizer; FSDP{.}: \z
          `MixedPrecision(param_dtype=torch.bfloat16)`.",
      },
    },
  },
  evaluate = function(trace, options)
    local products = trace:ops { class = { "gemm_half", "gemv" } }
    if products:count() == 0 then return nil, "no product ran in half precision", "" end
    local steps, total = trace:fact "steps.count", trace:total_ns()
    local casts = trace
      :ops { class = "pointwise", name = { "*bfloat16_copy_kernel*", "*float16_copy_kernel*" } }
      :beside(products)
    local busy = trace:ops { kind = { "kernel", "graph" } }:own_ns()
    if casts:own_ns() / busy < options.share then return {} end
    local large = casts:where { min_blocks = options.tiny_blocks + 1 }
    local biases = casts:minus(large)

    -- Of two casts before a product one belongs to the activation, which has the most common size.
    local _, paired = trace:runs { of = large, least = 2 }
    local sizes = paired:group("blocks", 20)
    table.sort(sizes, function(a, b) return a.count > b.count end)
    if #sizes < 2 then return {} end
    local activations = sizes[1].rows
    local weights = paired:minus(paired)
    local of_weights = {}
    for _, size in ipairs(sizes) do
      if size.rows:minus(activations):beside(activations):count() > 0 then
        of_weights[size.key] = true
        weights = weights:plus(size.rows)
      end
    end
    -- A single cast belongs to a weight if it has a weight's size, or a bias next to it.
    local alone = large:minus(paired)
    local with_bias = alone:beside(biases)
    for _, size in ipairs(alone:group("blocks", 20)) do
      if of_weights[size.key] or size.rows:minus(with_bias):count() == 0 then
        weights = weights:plus(size.rows)
      end
    end
    local time = weights:own_ns()
    if time == 0 then return {} end

    local times, again
    if trace:is "training" then
      -- The number of micro-batches, from their losses or from what repeats in a step.
      local repeats = (trace:fact "unit.repeats" or ""):split " micro"
      local words = repeats[1]:split " "
      times = #repeats > 1 and tonumber(words[#words])
        or trace:ops { class = "softmax_loss", name = { "*nll_loss_forward*" } }:count()
          / steps
      if times < 2 or times ~= math.floor(times) then return {} end
      for _, size in ipairs(weights:group("blocks", 1000)) do
        if size.count % (times * steps) ~= 0 then weights = weights:minus(size.rows) end
      end
      time = weights:own_ns() * (1 - 1 / times)
      -- The first micro-batch's casts stay; so do those of the biases.
      local alike = weights:minus(weights)
      for _, size in ipairs(biases:group("blocks", 1000)) do
        if size.count % (times * steps) == 0 then alike = alike:plus(size.rows) end
      end
      again = weights:plus(alike)
      again = again:minus(require "first_of_steps"(trace, again, 1 / times))
    elseif not (trace:is "inference" or trace:is "tokens" or trace:is "diffusion") then
      return {}
    end
    local share = time / busy
    if share < options.share then return {} end
    return {
      {
        subject = "weights",
        message = times and "training" or "inference",
        data = {
          times = times and string.format("%.0f", times),
          count = math.floor(weights:count() / steps + 0.5),
          time = weights:own_ns() / steps,
          share = weights:own_ns() / total,
        },
        about = true,
        recoverable_ns = time,
        change = { { remove = again or weights } },
        uncertain = "casts whose size does not show whether they belong to a weight are left out",
        confidence = "medium",
        metrics = {
          {
            name = "repeated casts of weights",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = weights:evidence { most = 4 },
      },
    }
  end,
}

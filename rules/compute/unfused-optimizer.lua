local constants = {
  vector = 4, -- elements that a thread of PyTorch's fill writes, at least
  small_lookup = 3072, -- rows up to which an embedding's backward adds them up without sorting
  columns = 32, -- of the table that a block of that kernel adds up
}

-- The part of all elements that the optimizer updates which lies in tables with dense gradients, by
-- how long clearing these takes beside one of the optimizer's passes over memory; and the largest
-- part of these elements that a step looks up: a thread of backward writes one of them.
local function tables_of(trace, passes, moves)
  local backward = trace:ops {
    class = "embedding",
    name = { "*krn_partial*", "*compute_grad_weight*", "*embedding_backward_feature_kernel*" },
  }
  -- Sorting and counting the rows stands between.
  local cleared = trace:match({
    { of = trace:ops { class = "pointwise", name = "*FillFunctor*" }, most = 1 },
    backward,
    skip = trace:ops({ name = "*cub::*" }):plus(trace:ops { kind = "set" }),
  })[1]
  if cleared:count() == 0 or moves == 0 then return 0, 1 end
  local sorted = backward:where { name = "*compute_grad_weight*" }
  local small = backward:where { name = "*embedding_backward_feature_kernel*" }
  local elements = constants.vector * cleared:sum "blocks" * cleared:median "threads"
  local looked_up = sorted:sum "blocks" * (sorted:median "threads" or 0)
    + small:sum "blocks" * constants.columns * constants.small_lookup
  return math.min(1, cleared:own_ns() * moves / passes:own_ns()), looked_up / elements
end

-- Of a foreach update: how often the name of a kernel says that a tensor is read or written.
-- <float, (int)3, (int)2, (int)0>: three lists of tensors, two of them read, one written.
local function moved_by(name)
  local lists = {}
  for _, part in ipairs(name:split("Functor<")[2]:split ",") do
    local digits = part:split(")")
    lists[#lists + 1] = tonumber(digits[#digits]) or tonumber(part:split(">")[1])
  end
  return (lists[2] or lists[1] or 1) + 1
end

-- A foreach update: each operation goes over all tensors, in few kernels.
local function passes_of(trace, options, factors, ranges, products)
  local passes = trace:ops {
    class = "optimizer",
    name = {
      "*multi_tensor_apply*::BinaryOp*Functor<*",
      "*multi_tensor_apply*::PointwiseOp*Functor<*",
      "*multi_tensor_apply*::TernaryOp*Functor<*",
      "*multi_tensor_apply*::UnaryOpFunctor<*",
    },
  }
  -- Scaling gradients back, or down to a norm, is not the update.
  passes =
    passes:minus(passes:where { name = { "*non_finite*", "*BinaryOpScalarTensorFunctor*" } })
  local within = passes:where { launched_in = ranges }
  local marked = within:count() > 0 and products:where { launched_in = ranges }:count() == 0
  if marked then passes = within end
  local adaptive = passes:where { name = "*PointwiseOp*" }
  local groups = passes:group("name", 40)
  -- Without a range, an average of the weights only adds and multiplies, as SGD does.
  if #groups < 2 or adaptive:count() == 0 and not marked then return {} end
  local total, steps, time = trace:total_ns(), trace:fact "steps.count", passes:own_ns()
  local share = time / total
  if share < options.note_share then return {} end
  -- Every operation goes over the tensors as often as its functor occurs for the same lists.
  local least, moves, kinds = math.huge, 0, 0
  for _, group in ipairs(groups) do
    least = math.min(least, group.count)
  end
  for _, group in ipairs(groups) do
    local times = group.count // least
    kinds, moves = kinds + times, moves + times * moved_by(group.key)
  end
  local in_tables, looked_up = tables_of(trace, passes, moves)
  local tables = in_tables >= options.in_tables and looked_up <= options.looked_up
  return {
    {
      subject = "optimizer",
      message = "passes",
      data = {
        kinds = string.format("%d", kinds),
        count = math.floor(passes:count() / steps + 0.5),
        both = time / steps,
        share = share,
        it = trace:fact "program.optimizer" or "it",
        tables = tables
            and string.format(
              " %.0f %% of what it updates, or more, are embedding tables, of which a step looks \z
                up %.1f %% at most.",
              100 * in_tables,
              100 * looked_up
            )
          or "",
      },
      about = true,
      recoverable_ns = time * math.max(0, 1 - factors.one_pass.by),
      change = { { graph = passes }, { scale = passes, factor = factors.one_pass } },
      uncertain = "how long a fused update takes depends on the optimizer and the precision of \z
        its state",
      at_most = share < options.share and "note" or nil,
      confidence = "high",
      metrics = {
        {
          name = "optimizer's passes",
          value = share,
          unit = "fraction",
          threshold = options.share,
        },
      },
      seen = { passes = true, tables = tables },
      evidence = passes:evidence { most = 5 },
    },
  }
end

return {
  id = "unfused-optimizer",
  category = "compute",
  title = "The optimizer updates tensors in many kernels instead of a fused one",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  warning_at = 0.03,
  options = {
    share = {
      default = 0.03,
      unit = "fraction",
      doc = "Reported from this share of the step: the loop's kernels and the gaps between them. \z
        The fix is a one-line switch.",
    },
    note_share = {
      default = 0.01,
      unit = "fraction",
      doc = "From this share of the step it is a note.",
    },
    kernels = {
      default = 50,
      unit = "count",
      doc = "Elementwise kernels of the optimizer in a step, or in a row if no range marks it. \z
        AdamW takes 8 to 14 for each tensor; a fused optimizer takes a few in all.",
    },
    updates = {
      default = 0.1,
      unit = "fraction",
      doc = "Without a range: share of a long run's kernels that add, divide or take roots, from \z
        which it updates parameters, and of those that only an adaptive optimizer has. Chosen: \z
        AdamW runs some for every tensor; initializing weights or zeroing gradients runs none.",
    },
    in_tables = {
      default = 0.5,
      unit = "fraction",
      doc = "Share of the updated elements that lie in embedding tables with dense gradients, \z
        from which advice is about those as well. Chosen: the larger part.",
    },
    looked_up = {
      default = 0.1,
      unit = "fraction",
      doc = "Share of such tables that a step looks up, at most, for updating only that to be \z
        advised. Measured on an H200, 26 tables of 200,000 x 64, of which 2 % were looked up: the \z
        kernels of SparseAdam take 0.4 of the dense update's time, and with 15 % as long.",
    },
  },
  factors = {
    fused_factor = {
      by = 0.37,
      least = 0.11,
      most = 0.72,
      doc = "Time of a fused update relative to the loop's kernels: about 7 passes over memory \z
        instead of 14 to 20, and few kernels instead of many that are too small to fill the GPU.",
      source = "Measured on an H100, AdamW and SGD in FP32 and BF16, on ResNet-50, ViT-B, two \z
        decoders and an MLP: 0.11 (small tensors) to 0.71 (large ones, SGD), median 0.36. An H200 \z
        with AdamW in BF16: 0.5.",
    },
    one_pass = {
      by = 0.41,
      least = 0.33,
      most = 0.51,
      doc = "Time of a fused update relative to the passes of a foreach update: Adam reads and \z
        writes 7 tensors instead of 18 to 20.",
      source = "Measured on an H200 with PyTorch 2.11, in FP32 and BF16, on ResNet-50, ViT-B, two \z
        decoders, an MLP and embedding tables: 0.33 to 0.47 for Adam and AdamW, 0.40 to 0.51 for \z
        SGD with momentum. Plain SGD is one pass as it is.",
    },
  },
  messages = {
    loop = "The optimizer runs {count:# elementwise kernel|# elementwise kernels} {a_step}: with \z
      the gaps between them ({gaps:ns}) they take {both:lost} of {each_step} ({share:fraction}). \z
      A fused optimizer updates all parameters in a few kernels.",
    passes = "The optimizer updates all tensors together, but in {kinds} passes over memory \z
      ({count:# kernel|# kernels} {a_step}): they take {both:lost} of {each_step} \z
      ({share:fraction}). A fused optimizer reads and writes everything once.{tables}",
  },
  headlines = {
    passes = "The optimizer takes {kinds} passes over memory {a_step}",
    loop = "The optimizer runs {count:# small kernel|# small kernels} {a_step}",
  },
  doc = {
    what = "Counts the elementwise kernels that are launched inside ranges of the optimizer. \z
      Without such ranges, takes long uninterrupted runs of elementwise kernels that add, divide \z
      or take roots as an optimizer's update does; a run that only adds and multiplies is at most \z
      a note. If there is no such loop, it takes the passes of a foreach update, by the functors \z
      of PyTorch's multi-tensor kernels.",
    why = "Each kernel of the loop reads and writes a whole tensor again, and a tensor is often \z
      so small that launching takes longer than the work. A fused update reads parameter, \z
      gradient and state once and writes them once. PyTorch's default on a GPU (`foreach=True`) \z
      takes few kernels, but each operation of the update is still a pass over all tensors.",
    fix = '`torch.optim.AdamW(..., fused=True)`, or `foreach=True` for an optimizer without a \z
      fused form. Hugging Face Trainer: `optim="adamw_torch_fused"`. Megatron and NeMo: \z
      `FusedAdam` of apex or Transformer Engine. DeepSpeed: `FusedAdam`. A custom optimizer: \z
      `torch._foreach_*` functions, or `torch.compile` around `step()`.',
    wrong = "Without a range, a long row of elementwise updates of something else (an average of \z
      the weights, a solver) looks the same; the same fixes help there.",
  },
  advice = {
    {
      when = "passes",
      trainer = 'Use the fused optimizer{.}: `optim="adamw_torch_fused"`.',
      pytorch = "Use the fused optimizer{.}: construct {it} with `fused=True`. Where it has no \z
        fused form, `torch.compile` a function that calls `step()`.",
      cuda = "Update all parameters in one kernel{.}: it reads parameter, gradient and state once \z
        and writes them once.",
    },
    {
      when = "tables",
      pytorch = "Or update only the rows that are looked up{.}: FBGEMM's tables do so by \z
        themselves. `torch.nn.Embedding(sparse=True)` with `torch.optim.SparseAdam` launches \z
        about 40 kernels for each table, so make one table of many first.",
    },
    {
      unless = "passes",
      pytorch = "Use the fused optimizer{.}: construct {it} with `fused=True`, or with \z
        `foreach=True` if it has no fused form. PyTorch uses `foreach=True` on a GPU by default, \z
        so look for `foreach=False`, or for a hand-written optimizer (then `torch._foreach_*` \z
        functions, or `torch.compile` around `step()`).",
      jax = "Put the whole update under one `jax.jit`{.}: of all parameters, with donated buffers \z
        (`donate_argnums`). XLA fuses it.",
      cuda = "Update all parameters in one kernel{.}: over one flat buffer or a list of pointers, \z
        instead of one tensor after the other.",
    },
  },
  evaluate = function(trace, options, factors)
    local products = trace:ops { class = { "gemm_*", "attention_fused" } }
    if products:count() == 0 then
      return nil,
        "no matrix multiplication ran, so there is no model whose parameters are updated",
        ""
    end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local pointwise = trace:ops { class = "pointwise" }

    -- A range in which the model itself runs belongs to a closure (Lightning) and does not mark
    -- the optimizer.
    local ranges = trace:ranges { phase = "optimizer" }
    local loop = pointwise:where { launched_in = ranges }
    local marked = products:where { launched_in = ranges }:count() == 0
      and loop:count() >= math.max(1, options.kernels * steps)
    local plain = false
    if not marked then
      -- An optimizer that updates all tensors together updates none one by one.
      local together = trace:ops {
        class = "optimizer",
        name = { "*PointwiseOp*Functor<*", "*Fused*" },
      }
      if together:count() > 0 then
        return passes_of(trace, options, factors, ranges, products)
      end
      local _, rows = trace:runs { of = pointwise, least = options.kernels }
      loop = rows
      -- Initializing weights or zeroing gradients makes long rows too.
      local adaptive = loop:where { name = { "*addcdiv*", "*addcmul*", "*lerp*", "*sqrt*" } }
      local updates = adaptive:plus(loop:where { name = "*CUDAFunctor_add*" })
      if updates:count() < math.max(1, options.updates * loop:count()) then
        return passes_of(trace, options, factors, ranges, products)
      end
      -- SGD only adds and multiplies, but so does accumulating gradients or averaging weights.
      plain = adaptive:count() < options.updates * updates:count()
    end
    local time = loop:own_ns()
    local gaps =
      trace:idle { after = loop, before = loop, cause = { "launch*", "dependency" } }:union_ns()
    local share = (time + gaps) / total
    if share < options.note_share then
      return passes_of(trace, options, factors, ranges, products)
    end
    return {
      {
        subject = "optimizer",
        message = "loop",
        data = {
          count = math.floor(loop:count() / steps + 0.5),
          both = (time + gaps) / steps,
          gaps = gaps / steps,
          share = share,
          it = trace:fact "program.optimizer" or "it",
        },
        about = true,
        recoverable_ns = time * math.max(0, 1 - factors.fused_factor.by) + gaps,
        change = { { graph = loop }, { scale = loop, factor = factors.fused_factor } },
        uncertain = "how long a fused update takes depends on the optimizer and the precision of \z
          its state",
        at_most = (plain or share < options.share) and "note" or nil,
        confidence = marked and "high" or "medium",
        metrics = {
          {
            name = "optimizer's loop",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = loop:evidence { most = 5 },
      },
    }
  end,
}

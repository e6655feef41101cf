local constants = {
  sizes = 1000, -- grids of elementwise kernels that are looked at
  named = 2, -- operators in the advice
}

-- Gradients that are added to those that are there. The sums have the sizes of weights, in which
-- nothing else computes; activations are added in sizes in which something else computes as well.
local function accumulating(trace, small)
  local found = small:minus(small)
  if trace:fact "program.task" ~= "training" then return found end
  local sized = small:where { name = "*vectorized_elementwise_kernel<*" }
  local sums = sized:where { name = "*CUDAFunctor_add<*" }
  local others =
    sized:minus(sums):minus(sized:where { name = { "*FillFunctor*", "*copy_kernel*" } })
  local computed = {}
  for _, size in ipairs(others:group("blocks", constants.sizes)) do
    computed[size.key] = true
  end
  for _, size in ipairs(sums:group("blocks", constants.sizes)) do
    if not computed[size.key] then found = found:plus(size.rows) end
  end
  return found
end

-- What runs between the last product forward and the first backward, which the thread of autograd
-- launches: the loss and what is computed with it.
local function of_the_loss(inner, products)
  local starts, forward, firsts = {}, nil, {}
  products:where({ thread = "*autograd*" }):keep({ "start_ns" }, function(product)
    starts[product.start_ns] = true
    return false
  end)
  products:keep({ "start_ns" }, function(product)
    local backward = starts[product.start_ns] or false
    if backward and forward then firsts[product.start_ns] = true end
    forward = not backward
    return false
  end)
  return inner:where {
    inside = products
      :gaps({ "device" })
      :keep({ "end_ns" }, function(gap) return firsts[gap.end_ns] or false end),
  }
end

-- Batch normalization with the statistics of training, as in evaluation: it scales and shifts each
-- channel, and does not look at the batch.
local function with_fixed_statistics(trace)
  local found =
    trace:ops { class = "norm", name = { "*batch_norm_transform_input*", "*bn_fw_inf*" } }
  local statistics = trace:ops { class = "norm", name = "*batch_norm_*collect_statistics*" }
  local of_the_batch = trace:match {
    statistics,
    {
      of = trace:ops { class = { "pointwise", "norm" } }:minus(statistics):minus(found),
      least = 0,
    },
    found,
  }
  return found:minus(of_the_batch[3])
end

-- Copies of arrays between elementwise kernels of CuPy: shifted ones (`cupy.roll`, slices). One
-- kernel that takes indices reads the neighbors where they are.
local function shifted(trace, small)
  local copies = small:minus(small)
  if trace:is "cupy" then copies = trace:ops { kind = "copy", direction = "d2d" } end
  return copies:beside(small)
end

return {
  id = "unfused-pointwise",
  category = "compute",
  title = "Elementwise kernels run one after the other instead of fused",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Reported from this share of the step: runs of elementwise kernels and reductions. \z
        Compiled, the same model has 3 %.",
    },
    note_share = {
      default = 0.05,
      unit = "fraction",
      doc = "From this share of the step it is a note.",
    },
    least = {
      default = 3,
      unit = "count",
      doc = "Kernels in an uninterrupted run on one stream, at least. Fusing two saves little.",
    },
    least_gates = {
      default = 0.05,
      unit = "fraction",
      doc = "Share of the step that an MLP's activation and gate take if they are apart, with a \z
        matrix product between them, from which they count as well: the multiplication then \z
        computes the activation.",
    },
    loop = {
      default = 50,
      unit = "count",
      doc = "A run of this many is an optimizer's loop and belongs to another rule.",
    },
    fewer_in_mlp = {
      default = 1,
      unit = "count",
      doc = "How many fewer are enough between the matrix products of an MLP: its activation and \z
        gate are two.",
    },
    most_backward = {
      default = 28,
      unit = "count",
      doc = "Kernels on either side of the middle of attention's backward, at most: twice as many \z
        as unfused-softmax allows forward.",
    },
    named_share = {
      default = 0.1,
      unit = "fraction",
      doc = "Share of the runs' time that an MLP, or dropout and residual, take, from which the \z
        message names them. Chosen.",
    },
    mlp_share = {
      default = 1 / 3,
      unit = "fraction",
      doc = "Share of the runs' time that an MLP takes, from which the advice has something for \z
        it alone. Chosen.",
    },
  },
  factors = {
    compiled = {
      by = 1.15,
      least = 0.58,
      most = 1.55,
      doc = "Time of a fused run, relative to its longest kernel.",
      source = "Measured on an H100 with torch.compile under autocast, training and inference, on \z
        a decoder, ViT-B, ConvNeXt-T and a UNet: 0.58 to 1.52, median 1.18.",
    },
  },
  messages = {
    runs = "{runs:# run|# runs} {a_step} of elementwise kernels and reductions in a row \z
      ({kernels:# kernel|# kernels}) {runs:takes|take} {time:lost} of {each_step} \z
      ({share:fraction}). Fused, a run takes about as long as its longest kernel: {longest:ns} in \z
      all.{patterns}",
  },
  headlines = {
    runs = "{kernels:# elementwise kernel runs|# elementwise kernels run} unfused {a_step}",
  },
  doc = {
    what = "Finds uninterrupted runs of elementwise kernels and reductions on a stream; two are \z
      enough between the matrix products of an MLP (activation and gate), which may also be \z
      apart. Dropout and residual right before a norm that is one kernel are fused with it. Batch \z
      normalization with fixed statistics, as in evaluation, is elementwise too. Copies around \z
      PyTorch's group normalization, which compiled code does without, count as a whole. \z
      Attention and normalizations that run as separate kernels, and an optimizer's loop, belong \z
      to other rules; the predicted step is that of `torch.compile`, which fuses norms as well.",
    why = "Each such kernel reads its input from memory and writes its result back; fused, a \z
      whole run reads and writes once. They keep the GPU busy and compute next to nothing.",
    fix = "`torch.compile(model)` fuses runs by itself. By hand: Liger's kernels (SwiGLU, rotary \z
      embedding, cross-entropy), apex's and Transformer Engine's fused layers, Megatron's \z
      `--bias-gelu-fusion`, `--bias-swiglu-fusion`, `--bias-dropout-fusion` and its fused rotary \z
      embedding.",
    wrong = "Neighbors in a run need not work on the same data: those do not fuse, and the \z
      estimate is too high by them. Casts and clearing in a row (separate weights, gradients and \z
      shards), gradients that are added up, scans, and rolls, which read their neighbors, are \z
      left out. In CuPy shifted copies count, since one kernel can read neighbors in place: a \z
      copy that is needed is then too much. `torch.compile` may choose other kernels for the rest \z
      as well.",
  },
  advice = {
    {
      when = "compiled",
      pytorch = "Compile what still runs eagerly{.}: part of the program is compiled already, and \z
        these kernels come from outside{whose}.",
    },
    {
      when = "loss",
      pytorch = {
        training = "Compile the loss{.}: most of these kernels ({of_loss} ms {a_step}) run \z
          between the model's last product and its first backward, where the loss is computed, \z
          which `torch.compile(model)` does not reach. Compile one function that calls the model \z
          and the loss, or the loss alone, or use a fused one.",
      },
    },
    {
      when = "broken",
      unless = "compiled",
      pytorch = "Remove the read-backs, then compile the model{.}: `torch.compile` cuts the model \z
        at each of the {broken} results that the host reads back {a_step} to decide what to \z
        launch. `torch.compile(model)` then fuses what is between them.",
    },
    {
      unless = { "compiled", "broken" },
      pytorch = "Compile the model{.}: `torch.compile(model)`. Fixed shapes (padding to a few \z
        lengths) keep it from compiling again.",
      jax = "Put more of the program under one `jax.jit`{.}: XLA fuses what it sees together.",
      tensorflow = "Compile with XLA{.}: `tf.function(jit_compile=True)` fuses them.",
      cupy = "Put each expression into one kernel{.}: `cupy.ElementwiseKernel` for the whole of \z
        it, with `raw` arguments where it reads neighbors (`cupy.roll`, slices); `cupy.fuse` for \z
        a function without these.",
      numba = "Write each run as one kernel.",
      julia = "Write each run as one broadcast expression{.}: @. makes it one kernel.",
      cuda = "Put each run into one kernel{.}: it reads its input once and writes its result once \z
        (a functor of `thrust::transform`, or a hand-written kernel).",
    },
    {
      when = "fixed",
      pytorch = "Or fold batch normalization into the convolutions{.}: \z
        `torch.nn.utils.fusion.fuse_conv_bn_eval(conv, bn)` for each pair, or \z
        `torch.fx.experimental.optimization.fuse(model)` for the whole model. Activations and \z
        residuals remain; `torch.compile` fuses them too.",
    },
    {
      when = "mlp",
      pytorch = 'For the MLP alone{.}: `torch.nn.functional.gelu(x, approximate="tanh")` instead \z
        of its formula, gate and activation in one kernel (Liger\'s SwiGLU or GEGLU), or \z
        `torch.compile` of that module.',
    },
    {
      trainer = "Without compiling{.}: Liger's fused SwiGLU, rotary embedding and cross-entropy \z
        (`use_liger_kernel=True`).",
      megatron = "Without compiling{.}: `--bias-gelu-fusion`, `--bias-swiglu-fusion`, \z
        `--bias-dropout-fusion`, `--apply-rope-fusion`.",
      nemo = "Without compiling{.}: `bias_activation_fusion`, `bias_dropout_fusion`, \z
        `apply_rope_fusion`.",
    },
  },
  evaluate = function(trace, options, factors)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    -- What cuDNN converts around a convolution it converts in a compiled model as well.
    local conversions = require "layout_conversions"(trace)
    local small = trace:ops({ class = { "pointwise", "reduction" } }):minus(conversions)
    local fixed = with_fixed_statistics(trace)
    small = small:plus(fixed)
    local pointwise, reductions =
      small:where({ class = "pointwise" }):plus(fixed), small:where { class = "reduction" }
    local products = trace:ops { class = "gemm_*" }
    local through =
      -- a reduction clears its result first
      small:plus(trace:ops { kind = { "copy", "set" }, direction = { "d2d", "" } })

    -- Attention as separate kernels: around a softmax, or an exponential and its backward, between
    -- two products.
    local softmax = trace:ops { class = "softmax" }
    local _, attention = trace:chains {
      centre = softmax,
      edge = products,
      through = through:plus(softmax),
      edges = 2,
    }
    local exponential = pointwise:where { name = { "*exp_kernel*", "*exp_op*", "*_exp_*" } }
    local _, by_hand = trace:chains {
      centre = exponential,
      edge = products,
      through = through,
      edges = 2,
      with = { reductions },
    }
    if by_hand:count() > 0 then
      local size =
        by_hand:where { name = { "*exp_kernel*", "*exp_op*", "*_exp_*" } }:median "blocks"
      local _, backward = trace:chains {
        centre = pointwise:where { min_blocks = size }:minus(by_hand),
        edge = products,
        through = through,
        most = options.most_backward,
        edges = 2,
        with = { reductions:where { name = { "*sum*", "*Sum*" } } },
      }
      by_hand = by_hand:plus(backward)
    end
    -- Norms as separate kernels: around a root, and around its power backward.
    local roots = pointwise:where { name = { "*rsqrt*", "*sqrt_kernel*" } }
    local edge = trace:ops {}:minus(through)
    local _, norms = trace:chains {
      centre = roots,
      edge = edge,
      through = through,
      with = { reductions:where { name = { "*MeanOps*", "*Welford*" } } },
    }
    if norms:count() > 0 then
      local powers = pointwise:where {
        name = "*pow_tensor_scalar*",
        max_blocks = norms:where { name = { "*rsqrt*", "*sqrt_kernel*" } }:median "blocks",
      }
      local _, backward = trace:chains {
        centre = powers:minus(norms),
        edge = edge,
        through = through,
        with = { reductions:where { name = { "*sum*", "*Sum*" } } },
      }
      norms = norms:plus(backward)
    end
    -- The optimizer's loop; a range in which the model itself runs belongs to a closure.
    local ranges = trace:ranges { phase = "optimizer" }
    local _, loop = trace:runs { of = pointwise, least = math.max(options.loop, 1) }
    if trace:is "cupy" then
      -- So many hold several iterations of the program, each of which ends with an assignment.
      loop = loop:where { name = "cupy_copy__*" }
    elseif products:where { launched_in = ranges }:count() == 0 then
      loop = loop:plus(small:where { launched_in = ranges })
    end

    -- Scans do not fuse with their neighbors, nor do selections (nonzero), nor does the cast or
    -- clearing of one weight, gradient
    -- or shard with the next one's.
    local scans = small:where {
      name = {
        "*scan_innermost_dim*",
        "*scan_outer_dim*",
        "*DeviceScan*",
        "*roll_cuda_kernel*",
        "*DeviceSelect*",
        "*DeviceCompact*",
        "*DeviceUnique*",
        "*NonZeroOp*",
      },
    }
    local apart = pointwise:minus(pointwise)
    for _, names in ipairs {
      { "*bfloat16_copy_kernel*", "*float16_copy_kernel*" },
      { "*unrolled_elementwise_kernel*direct_copy_kernel*" }, -- one that converts
      { "*FillFunctor*" },
    } do
      local _, in_a_row = trace:runs { of = pointwise:where { name = names }, least = 2 }
      apart = apart:plus(in_a_row)
    end

    local left =
      small:minus(attention):minus(by_hand):minus(norms):minus(loop):minus(scans):minus(apart)
    -- Nor do keys and values that are kept, which attention could read as they are.
    left = left:minus((require "copied_for_attention"(trace)))
    left = left:plus(shifted(trace, left))
    local _, inner, longest =
      trace:runs { of = left:minus(accumulating(trace, left)), least = options.least }
    -- An MLP's activation and gate: two are worth fusing as well.
    local _, mlp = trace:chains {
      centre = left:where {
        class = "pointwise",
        name = {
          "*silu*",
          "*gelu*",
          "*Gelu*",
          "*GELU*",
          "*sigmoid_kernel*",
          "*tanh_kernel*",
          "*erf_kernel*",
        },
      },
      edge = products,
      through = left,
      edges = 2,
    }
    local _, pairs_of_mlp, longest_of_mlp =
      trace:runs { of = mlp, least = math.max(1, options.least - options.fewer_in_mlp) }
    -- If the gate's product runs before that of the other half, activation and multiplication are
    -- alone.
    local function alone(centre)
      return select(2, trace:chains { centre = centre, edge = products, through = centre })
    end
    local activation = alone(
      left:where { class = "pointwise", name = { "*silu*", "*gelu*", "*Gelu*", "*GELU*" } }
    ):minus(pairs_of_mlp)
    local multiplied =
      alone(left:where { class = "pointwise", name = "*MulFunctor*" }):minus(pairs_of_mlp)
    local gates = activation:minus(activation:where { name = "*backward*" })
    if
      multiplied:count() < gates:count()
      or activation:plus(multiplied):own_ns() < options.least_gates * total
    then
      activation, multiplied = activation:minus(activation), multiplied:minus(multiplied)
    end
    inner, longest =
      inner:plus(pairs_of_mlp):plus(activation):plus(multiplied),
      longest:plus(longest_of_mlp:minus(inner)):plus(multiplied)
    -- So are a batch normalization with fixed statistics and its activation.
    local _, folding = trace:chains { centre = fixed, edge = products, through = left }
    local _, pairs_of_fixed, longest_of_fixed =
      trace:runs { of = folding, least = math.max(1, options.least - options.fewer_in_mlp) }
    inner, longest = inner:plus(pairs_of_fixed), longest:plus(longest_of_fixed:minus(inner))
    -- A group normalization that is compiled reads any layout: its copies go, and what they stand
    -- beside is fused without them.
    local copied =
      require "norm_conversions"(trace, small:where { name = "*nocast*direct_copy_kernel*" })
    if copied:count() > 0 then
      inner = inner:minus(copied)
      longest =
        select(3, trace:runs { of = inner:minus(multiplied), least = 1 }):plus(multiplied)
    end
    local runs = trace:runs { of = inner, least = 1 }
    -- Dropout and residual before a norm that is one kernel: all three fuse.
    local norm = trace:ops({ class = "norm" }):minus(fixed)
    local residual = left
      :minus(mlp)
      :where { class = "pointwise", name = { "*dropout*", "*CUDAFunctor_add*" } }
      :beside(norm)
    norm = norm:beside(residual)
    local time, fused = inner:plus(copied):own_ns(), longest:own_ns()
    local share = time / total
    if inner:count() == 0 or share < options.note_share then return {} end

    -- What most of it is.
    local patterns, of_mlp, of_residual =
      "", pairs_of_mlp:plus(activation):plus(multiplied):own_ns(), residual:plus(norm):own_ns()
    if of_mlp >= options.named_share * time then
      patterns = string.format(
        " %.0f %% of that is the activation of an MLP, between its products.",
        100 * of_mlp / time
      )
    end
    local of_fixed, of_copied = fixed:minus(fixed:minus(inner)):own_ns(), copied:own_ns()
    if of_fixed >= options.named_share * time then
      patterns = string.format(
        "%s %.0f %% of that is batch normalization with fixed statistics, which only scales and \z
          shifts.",
        patterns,
        100 * of_fixed / time
      )
    end
    if of_copied >= options.named_share * time then
      patterns = string.format(
        "%s %.0f %% of that are copies to another layout and back around group normalization, \z
          which a compiled one does not need.",
        patterns,
        100 * of_copied / time
      )
    end
    if of_residual >= options.named_share * time then
      patterns = string.format(
        "%s Dropout, residual and normalization (%.1f ms) fuse with each other as well.",
        patterns,
        of_residual / steps / 1e6
      )
    end
    -- Advice to compile is followed where Inductor's kernels run, or a compiled region does.
    local compiled = trace:is "pytorch"
      and trace
            :ranges({ name = "Torch-Compiled Region*" })
            :plus(trace:ranges { name = "CompiledFunction*" })
            :count()
          + trace:ops({ name = { "triton_poi_fused_*", "triton_red_fused_*" } }):count()
        > 0
    local loss = trace:is "training" and trace:is "pytorch" and of_the_loss(inner, products)
    local of_loss = loss and loss:own_ns() or 0
    local _, deciding = trace:host_waits { on = { "decision" } }
    local broken = trace:is "pytorch"
      and trace:fact "steps.found" == 1
      and deciding:count() >= 2 * steps
    local names, operators = {}, compiled and inner:operators() or {}
    for i = 1, math.min(constants.named, #operators) do
      names[i] = string.format("'`%s`'", operators[i].name:short())
    end
    return {
      {
        subject = "elementwise runs",
        message = "runs",
        data = {
          whose = #names > 0 and ", most from " .. table.concat(names, ", ") or "",
          patterns = patterns,
          of_loss = string.format("%.1f", of_loss / steps / 1e6),
          broken = string.format("%.0f", deciding:count() / steps),
          runs = math.floor(runs:count() / steps + 0.5),
          kernels = math.floor(inner:count() / steps + 0.5),
          time = time / steps,
          longest = fused / steps,
          share = share,
        },
        about = true,
        recoverable_ns = time - fused,
        change = {
          {
            fuse = inner:minus(activation):plus(norms):plus(residual):plus(norm),
            factor = factors.compiled,
          },
          { remove = activation },
          { remove = copied },
        },
        uncertain = trace:words {
          cupy = "how many arrays one kernel for all of it reads and writes is unknown",
          cuda = "what a compiler fuses, and which GEMM and attention kernels it chooses, is \z
            unknown",
        },
        at_most = share < options.share and "note" or "warning",
        confidence = "medium",
        metrics = {
          {
            name = "runs of elementwise kernels",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = runs:evidence { most = 5, note = "a run, from its first kernel" },
        seen = {
          compiled = compiled,
          loss = 2 * of_loss > time,
          broken = broken and not compiled,
          mlp = of_mlp >= options.mlp_share * time,
          fixed = of_fixed >= options.mlp_share * time and not trace:is "training",
        },
      },
    }
  end,
}

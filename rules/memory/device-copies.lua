local constants = {
  named = 3, -- operators in the message
  whole = 0.95, -- copies a step from which their number is shown without digits
}

return {
  id = "device-copies",
  category = "memory",
  title = "Data is copied from one place on the device to another",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Reported from this share of the step: copies on the device. Healthy training of a \z
        language model has 6 %: rotary embeddings and transposes around attention.",
    },
    growing = {
      default = 0.8,
      unit = "fraction",
      doc = "Concatenations that take longer and longer, by this share of the changes of their \z
        length, belong to kv-concat, and so do those of a cache right before attention, and its \z
        copies there.",
    },
    kind_share = {
      default = 0.01,
      unit = "fraction",
      doc = "Share of the step that a kind of copy takes, from which the message names it.",
    },
    operator_share = {
      default = 0.2,
      unit = "fraction",
      doc = "Share of the copies' time that an operator or range launches, from which the message \z
        names it. Chosen.",
    },
  },
  messages = {
    main = "{count:# copy|# copies} on the device {a_step} {count:computes nothing and \z
      takes|compute nothing and take} {time:lost} of {each_step} ({share:fraction}): \z
      {kinds}.{where}",
  },
  headlines = {
    main = "{count:# copy|# copies} on the device {a_step} {count:moves|move} data without \z
      computing",
  },
  doc = {
    what = "Adds up what runs on the device only to move data: `cudaMemcpy` from the device to \z
      itself, concatenations (`torch.cat`, `torch.stack`), and copies that change the layout but \z
      not the type (`.contiguous()`, `.clone()`, `.copy_()`). Copies that convert, and those of \z
      collectives, are left out. The operators or ranges that launch them are named if any were \z
      recorded, and group normalization where it asks for them: PyTorch's reads contiguous \z
      tensors only, so in a channels_last network each has a copy before it and one after.",
    why = "Each such copy reads and writes all of its data and computes nothing. Many come from \z
      tensors that are joined, transposed or cloned for the next kernel, which could write them \z
      where they are needed, or read them as they are.",
    fix = "Write to the final place directly (`out=`, slices of one preallocated tensor instead \z
      of `torch.cat`), keep the layout that the kernels want, leave out `.contiguous()` before \z
      operators that take strides (matmul, `scaled_dot_product_attention`), and `.clone()` of \z
      tensors that nothing changes. `torch.compile` lets the kernels before and after read and \z
      write in place. In CUDA swap pointers instead of copying buffers.",
    wrong = "Some kernels need contiguous data, and a copy that makes ten reads faster is right. \z
      Which copies are needed is unknown: the forecast ranges from all of them to none. No \z
      shipped recording triggers this rule; only literal traces test it.",
  },
  advice = {
    {
      when = "gradients",
      pytorch = {
        training = "Compile the model{.}: `torch.compile(model)`. PyTorch makes these copies \z
          itself, in backward: it joins the gradients of what was split (q, k and v of one \z
          projection, chunks) and of views. A compiled backward writes them where they belong.",
      },
    },
    {
      when = "joins",
      unless = "gradients",
      pytorch = "Write into slices of one tensor instead of joining{.}: `out=`, `tensor[:, a:b] = \z
        ...`, or let the producer write there.",
      jax = "Write into slices of one array under `jax.jit`{.}: `x.at[a:b].set(...)`, donated, \z
        instead of `jnp.concatenate`.",
      cupy = "Write into slices of one existing array{.}: `out=` instead of `cupy.concatenate`.",
      cuda = "Let the kernels write into parts of one buffer{.}: then nothing has to be joined \z
        afterwards.",
    },
    {
      when = "norms",
      unless = { "joins", "gradients" },
      pytorch = "Use a group normalization that reads channels_last{.}: {of_norms:fraction} of \z
        this are copies that PyTorch's GroupNorm makes, since it reads contiguous tensors only, \z
        and those back. `torch.compile(model)` writes one that needs neither; \z
        `apex.contrib.group_norm.GroupNorm` is another. Or leave these modules contiguous.",
    },
    {
      unless = { "joins", "gradients", "norms" },
      pytorch = "Avoid `.contiguous()`, `.clone()` and `.copy_()`{.}: find what asks for these \z
        copies, also `.reshape()` of a transposed tensor. matmul and \z
        `scaled_dot_product_attention` take strides; `torch.compile` fuses what is left into \z
        neighboring kernels.",
      jax = "Keep one layout through the jitted function{.}: and donate buffers that are not used \z
        again (`donate_argnums`). XLA copies where it may not write in place.",
      cupy = 'Keep one layout{.}: `order="C"` throughout. Write with `out=`, and leave out \z
        `.copy()` and `cupy.ascontiguousarray` of what is only read.',
      julia = "Take views instead of slices{.}: `@view`. And swap arrays (A, B = B, A) instead of \z
        copyto!.",
      directives = "Swap pointers instead of copying arrays{.}: or use two arrays in turn, \z
        instead of copying one into the other at the end of each iteration.",
      kokkos = "Swap views instead of copying them{.}: `std::swap` instead of `Kokkos::deep_copy` \z
        on the device, and take subviews.",
      cuda = "Swap pointers instead of copying buffers{.}: or use two buffers in turn, instead of \z
        `cudaMemcpy` on the device. Read and write strided data in place.",
    },
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local kernels = trace:ops { kind = "kernel" }
    local joins =
      kernels:where { name = { "*CatArrayBatchedCopy*", "*cat_copy*", "*concat_kernel*" } }
    local grows = require "growth"(trace, joins, "duration_ns")
    if grows and grows.rising >= options.growing and grows.last > grows.first then
      joins = joins:minus(joins)
    end
    joins =
      joins:minus((require "kept_for"(trace, joins, trace:ops { class = "attention_fused" })))
    local compiled = {}
    for _, what in ipairs { "clone", "copy", "copy_", "cat", "stack" } do
      for _, number in ipairs { "?", "??", "???" } do
        compiled[#compiled + 1] = "triton_poi_fused_" .. what .. "_" .. number
      end
    end
    -- "nocast" is PyTorch's word for a copy whose two sides have the same type.
    local layouts = kernels
      :where { name = { "*nocast*direct_copy_kernel*", "wrapped_copy*" } }
      :plus(kernels:where { name = compiled })
      :minus((require "copied_for_attention"(trace)))
    local copies = trace:ops { kind = "copy", direction = "d2d" }
    local all = joins:plus(layouts):plus(copies)
    local time = all:own_ns()
    local of_norms = require "norm_conversions"(trace, layouts):own_ns()
    local share = time / total
    if time == 0 or share < options.share then return {} end
    local kinds = {}
    for _, kind in ipairs {
      { joins, "concatenations" },
      { layouts, "copies to another layout, or clones" },
      { copies, "plain copies" },
    } do
      local of_kind = kind[1]:own_ns() / total
      if of_kind >= options.kind_share then
        kinds[#kinds + 1] = string.format("%s %.0f %%", kind[2], 100 * of_kind)
      end
    end
    -- Autograd launches backward on a thread of its own.
    local gradients = kernels:where({ name = "*ackward*" }):group("thread", 1)[1]
    local others = gradients and kernels:minus(kernels:where { thread = gradients.key })
    local in_backward = trace:is "pytorch"
      and trace:is "training"
      and others
      and others:count() > 0
      and others:where({ name = "*ackward*" }):count() == 0
      and 2 * all:where({ thread = gradients.key }):own_ns() > time
    -- What asks for them: the operators around their launches.
    local names, whose = {}, all:operators()
    for i = 1, math.min(constants.named, #whose) do
      if whose[i].sum_ns >= options.operator_share * all:sum "duration_ns" then
        names[#names + 1] = string.format("'`%s`'", whose[i].name)
      end
    end
    return {
      {
        subject = "copies on the device",
        message = "main",
        data = {
          count = string.format(
            all:count() < constants.whole * steps and "%.1f" or "%.0f",
            all:count() / steps
          ),
          time = time / steps,
          share = share,
          of_norms = of_norms / time,
          kinds = table.concat(kinds, ", "),
          where = #names > 0
              and " Most are launched in " .. table.concat(names, " and ") .. "."
            or "",
        },
        recoverable_ns = time,
        change = { { scale = all, by = 0, least = 0, most = 1 } },
        about = true,
        uncertain = "which of these copies are needed is unknown",
        confidence = "medium",
        at_most = "warning",
        metrics = {
          {
            name = "copies on the device",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = all:evidence { most = 5 },
        seen = {
          gradients = in_backward,
          joins = 2 * joins:own_ns() > time,
          norms = trace:is "pytorch" and 2 * of_norms > time,
        },
      },
    }
  end,
}

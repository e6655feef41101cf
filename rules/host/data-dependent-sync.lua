return {
  id = "data-dependent-sync",
  category = "host",
  title = "The host reads results back to decide what to launch next",
  since = "0.3",
  needs = { "kernels", "copies", "calls" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: idle time between one of these results and the \z
        next in their loop.",
    },
    least = {
      default = 2,
      unit = "count",
      doc = "Fewer results a step do not make a loop: logging and a check of the loss need one.",
    },
    turn = {
      default = 30,
      unit = "count",
      doc = "Launches from one of these results to the next, up to which one result a step makes \z
        a loop too: the step is then one turn of it, as for one expert (9). A model launches \z
        hundreds, and a mask in it is no loop.",
    },
    all = {
      default = 10,
      unit = "count",
      doc = "Without steps: fewer results in the whole recording do not make a loop.",
    },
    max_bytes = {
      default = 65536,
      unit = "bytes",
      doc = "Larger copies are results to keep; a count, a flag, an index or a list of sizes is \z
        smaller.",
    },
    each = {
      default = 0.9,
      unit = "fraction",
      doc = "Share of the turns in which such a result is read back: all but those with nothing \z
        left to select.",
    },
    products = {
      default = 0.5,
      unit = "fraction",
      doc = "Share of the turns from one of these results to the next that contain a matrix \z
        product, from which it is a loop over experts or their like: more have one than not.",
    },
    compared = {
      default = 3,
      unit = "count",
      doc = "Fewer steps cannot be compared (`trace:read_backs`).",
    },
    changing = {
      default = 0.01,
      unit = "fraction",
      doc = "Share of the operations that are not the same in every step, up to which what was \z
        selected is taken to be constant. Chosen: nothing changes but by chance.",
    },
    drained = {
      default = 0.5,
      unit = "fraction",
      doc = "Share of the results after which the GPU has nothing to do, from which it counts as \z
        drained each time.",
    },
  },
  messages = {
    sizes = "The host reads {count:a result|# results} back {a_step} to learn how much was \z
      selected (nonzero, where, boolean masks) before it launches what comes next. Each time the \z
      GPU runs out of work; between one and the next it is idle for {idle:lost} of {each_step} \z
      ({share:fraction}).",
    decides = "The host reads {count:a result|# results} back {a_step}, and what it launches next \z
      depends on them. Each time the GPU runs out of work; between one and the next it is idle \z
      for {idle:lost} of {each_step} ({share:fraction}).",
  },
  headlines = {
    sizes = "The host reads {count:a size|# sizes} back {a_step} before it can go on",
    decides = "The host reads {count:a result|# results} back {a_step} to decide what to launch",
  },
  doc = {
    what = "Counts small copies to the host that it waits for and that decide what is launched \z
      next: the kernels around them select or compact (nonzero, unique), or what is launched \z
      after them changes from step to step in kernels, grids or sizes, though the step begins the \z
      same. It adds up the GPU's idle time between one and the next where they follow each other \z
      in a loop. One result a step counts only if it tells the host how much was selected and a \z
      step is no more than one turn of a loop.",
    why = "Each such result drains the GPU: the host has to wait for it before it can even size \z
      the next tensor, and then starts with an empty GPU. No CUDA graph can be captured across \z
      it, and the host cannot run ahead. Typical finds are loops over experts (`torch.where` for \z
      each), over detected boxes, or until a flag is set, and masks that pick the nodes or pixels \z
      that count.",
    fix = "Make shapes known in advance: sort tokens by expert once and multiply all experts \z
      together (`torch._grouped_mm`, megablocks, grouped GEMM of CUTLASS or Transformer Engine), \z
      pad to a capacity, turn masks that never change into index tensors once, multiply by a mask \z
      (`torch.where` with three arguments) instead of selecting, `torch.nonzero_static` with a \z
      known size. Or read all sizes together, once, and as early as possible. For a loop that \z
      ends by a flag: check it every few iterations, or on the device (conditional nodes of CUDA \z
      graphs, `jax.lax.while_loop`).",
    wrong = "If the amount of work really depends on data (detection, tree search), skipping work \z
      may be worth the wait. The time is what the GPU is idle there, so better launching saves at \z
      most that; the work that masks or padding add, or that grouped products save, does not show \z
      in a recording.",
  },
  advice = {
    {
      when = "boxes",
      pytorch = "Suppress the boxes of all classes at once{.}: non-maximum suppression follows \z
        these results, as in a loop over classes or images. `torchvision.ops.batched_nms` takes \z
        all classes of an image, and of a batch if each image and class has an index of its own: \z
        it moves them apart by offsets. Keep fewer candidates before it (`topk`, a higher \z
        threshold).",
      cuda = "Suppress the boxes of all classes at once{.}: non-maximum suppression follows these \z
        results, as in a loop over classes or images. Move the boxes of each apart by an offset, \z
        and keep fewer candidates before it.",
    },
    {
      when = "products",
      pytorch = "Multiply all at once{.}: matrix products follow each of these results, as in a \z
        loop over experts. Sort the tokens by expert once and multiply all experts in one grouped \z
        product (`torch._grouped_mm`, megablocks, Transformer Engine's `GroupedLinear`), or give \z
        each a fixed capacity.",
    },
    {
      when = "constant",
      unless = { "products", "boxes" },
      pytorch = "Turn masks that never change into index tensors once{.}: what is launched after \z
        these results is the same in every step, so the same seems to be selected each time. With \z
        `index = mask.nonzero().squeeze(1)` from before the loop, `x[index]` reads nothing back, \z
        nor does a count that is kept.",
      cupy = "Turn masks that never change into index arrays once{.}: what is launched after \z
        these results is the same in every step, so the same seems to be selected each time. With \z
        `index = cupy.flatnonzero(mask)` from before the loop, `x[index]` reads nothing back.",
    },
    {
      when = "masks",
      pytorch = "Select without asking how much{.}: `torch.where(mask, a, b)` instead of \z
        `a[mask]`, sums and losses weighted by the mask (`ignore_index` for labels), \z
        `torch.nonzero_static` if a size is known.",
    },
    {
      unless = { "products", "constant", "masks", "boxes" },
      pytorch = "Make shapes known in advance{.}: `torch.where(mask, a, b)` instead of `a[mask]`, \z
        a fixed capacity with padding, and decisions on the device (`torch.cond`).",
    },
    {
      unless = "torch",
      jax = "Keep shapes fixed{.}: `jnp.where` with three arguments, `jnp.nonzero(size=...)`, and \z
        decisions on the device (`jax.lax.cond`, `jax.lax.while_loop`).",
      cupy = "Keep shapes fixed{.}: `cupy.where` with three arguments instead of `a[mask]`, and \z
        decide on the device.",
      cuda = "Let the device decide{.}: pass counts from kernel to kernel in device memory (grids \z
        that are large enough and end early, dynamic parallelism), or conditional nodes of a CUDA \z
        graph.",
    },
    {
      unless = "constant",
      pytorch = "Or read all sizes together{.}: one `.tolist()` before the loop, instead of one \z
        read for each.",
      cuda = "Or read all results together, once, into pinned memory, before the loop; check a \z
        flag that ends the loop only every few iterations.",
    },
    "No CUDA graph can be captured across such reads{.}: remove them first, then record graphs.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local calls, copies = trace:host_waits { on = { "decision" } }
    local found = copies:where { max_bytes = options.max_bytes }
    local read, _, _, changing, sized = trace:read_backs()
    sized = found:minus(found:minus(sized))
    local repeats = trace:fact "steps.found" == 1
    local times = found:count() / steps
    -- A step may be one turn of the loop: then each has a result that says how much was selected.
    local turns = sized:count() >= options.each * steps
      and trace:calls { class = { "launch", "graph_launch" } }:count()
        <= options.turn * sized:count()
    local loop = not repeats or times >= options.least or turns
    if
      found:count() == 0
      or (not repeats and (found:count() < options.all or found:at_start_or_end()))
    then
      return {}
    end
    local pauses = require "amid"(
      trace,
      trace:idle { cause = { "launch", "launch_latency", "sync", "unknown" } },
      found
    ):where { min_ns = 1 }
    pauses = pauses:minus(
      pauses:where { stretch = { "offload", "phase", "compiler", "optimizer", "lock" } }
    )
    local after = pauses:where { after = found }
    -- A loop that drains the GPU each time loses all of its pauses; any other wait what launching
    -- ahead would save.
    local drained = loop and after:count() >= options.drained * found:count()
    local idle =
      math.max(drained and pauses:union_ns() or 0, trace:saves_ns { { unblock = calls } } or 0)
    local share = idle / total
    if idle == 0 or share < options.share then return {} end
    local sizes = 2 * sized:count() >= found:count()
    local between = found:gaps { "device" }
    local multiplied = between:keep(
      { products = trace:ops { class = "gemm_*" } },
      function(turn) return turn.products > 0 end
    )
    local products = multiplied:count() > options.products * between:count()
    local suppressing = require "suppressing"(trace)
    local boxes = suppressing:count() >= options.least * steps
      and 2 * require "amid"(trace, found, suppressing):count() >= found:count()
    local compared = repeats and steps >= options.compared and read:count() >= 2 * steps
    local constant = compared and changing:count() <= options.changing * trace:ops():count()
    return {
      {
        subject = sizes and "sizes" or "decisions",
        message = sizes and "sizes" or "decides",
        data = {
          count = math.max(1, math.floor(times + 0.5)),
          idle = idle / steps,
          share = share,
        },
        recoverable_ns = idle,
        confidence = sizes and "high" or "medium",
        metrics = {
          {
            name = "results read back",
            value = times,
            unit = "count",
            threshold = options.least,
          },
          {
            name = "idle between them",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        owner = calls,
        seen = {
          products = products and not boxes,
          boxes = boxes,
          torch = trace:is "pytorch",
          constant = sizes and constant and not boxes,
          masks = sizes and not products and not constant and not boxes,
        },
        evidence = (drained and after or calls):evidence { most = 5 },
      },
    }
  end,
}

return {
  id = "graph-breaks",
  category = "host",
  title = "The compiled model is broken into many pieces",
  since = "0.3",
  needs = { "kernels", "calls" },
  options = {
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Reported from this share of the step: idle time around kernels that run eagerly \z
        between compiled pieces. As for launch-bound, which covers launches that are slow for \z
        other reasons.",
    },
    pieces = {
      default = 3,
      unit = "count",
      doc = "Compiled pieces of different code that run in most steps, from which it is reported. \z
        One is a whole model; two are a model and its loss, or the halves of one break.",
    },
    compiled = {
      default = 0.75,
      unit = "fraction",
      doc = "If names do not tell pieces apart: the share of the elementwise kernels and \z
        reductions made by Inductor from which the whole model is meant to be compiled; below, it \z
        is a function or two.",
    },
    breaks = {
      default = 3,
      unit = "count",
      doc = "Runs of eager kernels a step, in addition to one for the loss and one for what comes \z
        before the optimizer.",
    },
  },
  messages = {
    main = "The model is compiled in {pieces} pieces, and {eager:# kernel|# kernels} {a_step} run \z
      eagerly in {breaks} runs between them. With the GPU's idle time around them they take \z
      {time:lost} of {each_step} ({share:fraction}).",
  },
  headlines = {
    main = "The compiled model is broken into {pieces} pieces",
  },
  doc = {
    what = "Counts compiled regions of different code (ranges 'Torch-Compiled Region', one for \z
      each compiled frame) and the kernels that run eagerly between them, except those of the \z
      loss and the optimizer. If names do not tell pieces apart and Inductor made most of the \z
      elementwise kernels and reductions (`triton_*`), PyTorch's own kernels between Inductor's \z
      in forward are the eager ones. It adds up these kernels and the idle time before and after \z
      them.",
    why = "`torch.compile` ends a graph where it meets something it cannot trace: a print, \z
      `.item()`, a branch on a tensor's value, a library without fake kernels. Each break ends \z
      fusion, returns to Python, checks guards and starts the next graph; CUDA graphs cannot \z
      reach across.",
    fix = "`TORCH_LOGS=graph_breaks` names the line of each break, \z
      `torch._dynamo.explain(model)(inputs)` counts them, and `fullgraph=True` makes them errors. \z
      Take prints and `.item()` out of the model (`torch._dynamo.config.capture_scalar_outputs` \z
      for the latter), write branches with `torch.where` or `torch.cond`, and wrap foreign \z
      kernels in `torch.library.custom_op`.",
    wrong = "A program that compiles several functions on purpose and leaves the rest eager looks \z
      the same; the time is still what the rest takes. Breaks with no eager kernel in between do \z
      not show without ranges.",
  },
  advice = {
    {
      pytorch = "Remove the graph breaks{.}: `TORCH_LOGS=graph_breaks` names the line of each; \z
        `torch.compile(fullgraph=True)` makes them errors. Take prints, `.item()` and branches on \z
        values out of the model (`torch.where`, `torch.cond`), and wrap foreign kernels in \z
        `torch.library.custom_op`.",
    },
    "Move a function that cannot be compiled to the model's edge{.}: before the first layer, or \z
      after the last.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    if not trace:is "pytorch" then return {} end
    local regions = trace:ranges { name = "Torch-Compiled Region*" }
    local inductor = trace:ops { kind = "kernel", name = "triton_*" }
    if regions:count() + inductor:count() == 0 then return {} end
    local function untold()
      if regions:count() > 0 then return {} end
      return nil,
        "compiled code ran, but no range tells its pieces apart",
        trace:words {
          pytorch = "`torch.autograd.profiler.emit_nvtx()` around the steps",
          cuda = "",
        }
    end
    local pieces = 0
    for _, group in ipairs(regions:group("name", 200)) do
      if 2 * group.count >= steps then pieces = pieces + 1 end
    end
    local named = pieces >= options.pieces
    local eager
    if named then
      eager = trace:ops { kind = "kernel", in_graph = false }:minus(trace:ops {
        launched_in = trace:ranges {
          name = { "Torch-Compiled Region*", "CompiledFunction*", "## Call CompiledFxGraph*" },
        },
      })
    else
      -- Layers of the same code share a name, and most recordings have no names. Inductor makes
      -- its own kernels of everything elementwise
      -- and every reduction: others are eager. Between layers backward sums gradients like this,
      -- and FSDP copies what it gathers.
      eager = trace
        :ops {
          kind = "kernel",
          in_graph = false,
          class = { "pointwise", "reduction", "norm", "softmax" },
        }
        :minus(inductor)
      if
        trace:is "fsdp"
        or inductor:count() < options.compiled * (inductor:count() + eager:count())
      then
        return untold()
      end
      eager = eager:minus(eager:where { thread = "pt_autograd*" }):beside(inductor)
    end
    eager = eager
      :minus(eager:where { class = { "optimizer", "softmax_loss", "collective" } })
      :minus(eager:where { launched_in = trace:ranges { phase = "optimizer" } })
    -- A reduction clears its counters first.
    local runs =
      trace:runs { of = eager:plus(trace:ops { kind = "set" }:beside(eager)), least = 1 }
    local breaks = runs:count() / steps - 2
    if breaks < options.breaks then return untold() end
    local idle = trace:idle { cause = { "launch", "launch_latency", "unknown" } }
    idle = idle:where { before = eager }:plus(idle:where { after = eager })
    if not named then idle = idle:minus(idle:where { thread = "pt_autograd*" }) end
    local time, share = idle:union_ns() + eager:union_ns(), idle:union_ns() / total
    if share < options.share then return untold() end
    if not named then pieces = breaks + 1 end
    return {
      {
        subject = "pieces",
        message = "main",
        data = {
          pieces = string.format(named and "%.0f" or "about %.0f", pieces),
          eager = math.floor(eager:count() / steps + 0.5),
          breaks = string.format("%.0f", breaks),
          time = time / steps,
          share = time / total,
        },
        recoverable_ns = idle:union_ns(),
        about = true,
        change = { { fuse = eager, by = 1 }, { pause = idle } },
        uncertain = "how many of the eager kernels a compiler would fuse is unknown",
        confidence = "medium",
        metrics = {
          {
            name = "idle time around eager kernels between compiled ones",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
          {
            name = "compiled pieces",
            value = pieces,
            unit = "count",
            threshold = options.pieces,
          },
        },
        evidence = idle:evidence { most = 5 },
      },
    }
  end,
}

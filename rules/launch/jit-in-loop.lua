-- How many trials cuDNN makes to choose among its algorithms for a convolution: it waits for the
-- device, runs one between two events, and waits for the second.
local function trials_of(trace)
  local timed = trace:calls({ name = "cudaEventSynchronize*" }):count()
  local cleared = trace:calls({ name = "cudaDeviceSynchronize*" }):count()
  local convolutions = trace
    :ops({
      kind = "kernel",
      name = { "*fprop*", "*dgrad*", "*wgrad*", "*cudnn*", "*onvolve*", "*winograd*" },
    })
    :count()
  return math.min(timed, cleared, convolutions)
end

local function kernel_after(trace, at)
  local first, name = math.huge, ""
  trace:ops({ kind = "kernel" }):keep({ "name", "start_ns" }, function(kernel)
    if kernel.start_ns >= at and kernel.start_ns < first then
      first, name = kernel.start_ns, kernel.name
    end
    return false
  end)
  return name
end

return {
  id = "jit-in-loop",
  category = "launch",
  title = "Code is loaded or compiled inside the loop",
  since = "0.1",
  needs = { "kernels", "calls" },
  warning_at = 0.03,
  options = {
    share = {
      default = 0.03,
      unit = "fraction",
      doc = "Reported from this share of the step: idle time while the host loads a module, \z
        compiles or instantiates a graph. After warm-up there is none.",
    },
    trials = {
      default = 8,
      unit = "count",
      doc = "Kernels of convolutions a step that the host times one by one, from which cuDNN is \z
        choosing algorithms: a program that times itself does so a few times.",
    },
  },
  messages = {
    start = "Code is compiled as the program starts (mostly `{call}`): meanwhile the GPU is idle \z
      for {idle:lost} of {each_step} ({share:fraction}).",
    later = "Code is loaded or compiled not only as the program starts (mostly `{call}`): \z
      meanwhile the GPU is idle for {idle:lost} of {each_step} ({share:fraction}).",
    anew = "Code is loaded or compiled once for a kernel that had run before (mostly `{call}`): \z
      meanwhile the GPU is idle for {idle:lost} of {each_step} ({share:fraction}).",
    again = "Code is loaded or compiled in {some} of {all} {units} (mostly `{call}`): meanwhile \z
      the GPU is idle for {idle:lost} of {each_step} ({share:fraction}).",
    once = "Code is loaded or compiled in one of {all} {units} (mostly `{call}`): the GPU is idle \z
      for {time:ns} there. It may be warm-up that was recorded.",
  },
  headlines = {
    start = "Code is compiled as the program starts",
    later = "Code is loaded or compiled not only as the program starts",
    anew = "Code is loaded or compiled once for a kernel that had run before",
    again = "Code is loaded or compiled in {some} of {all} {units}",
    once = "Code is loaded or compiled in one of {all} {units}",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the host loads a module or library, \z
      compiles (nvrtc, PTX), or instantiates a CUDA graph, within the steps. If it happens in one \z
      step only, it is a note. Host work that ends with loading a module also counts: it made \z
      that code. So does such work before a library is loaded again for a kernel that had been \z
      loaded before, if the host does not pause like that without loading; and host work in \z
      ranges of a compiler (XLA). So does host work between the first and the last of these calls \z
      in a step, in pauses of more than a millisecond that are twice as long as any in steps \z
      without such calls: warm steps show what a step needs without them. Without steps, only \z
      what comes before a kernel that had run before counts: a note if it comes once, or if it \z
      may be the program's start or end.",
    why = "Kernels are loaded on first use, and compiled when a new shape comes: each time the \z
      host stops for milliseconds to seconds, and the GPU with it. In a steady loop that ends \z
      after the first steps.",
    fix = "Keep shapes fixed: pad to a few lengths, `drop_last=True`; \z
      `torch.compile(dynamic=True)` or `torch._dynamo.mark_dynamic`, and `TORCH_LOGS=recompiles` \z
      shows what changes (PyTorch: `torch.compile` troubleshooting). Load early with \z
      `CUDA_MODULE_LOADING=EAGER`, keep caches (`CUDA_CACHE_PATH`, `TORCHINDUCTOR_CACHE_DIR`, \z
      `TRITON_CACHE_DIR`), and build PTX-only extensions for this GPU (`TORCH_CUDA_ARCH_LIST`). \z
      Instantiate graphs once, and update them with `cudaGraphExecUpdate`. Where cuDNN measures \z
      its algorithms anew for each shape: `torch.backends.cudnn.benchmark = False`.",
    wrong = "A recording that begins with the first step shows start-up: record later (10 steps \z
      or more).",
  },
  advice = {
    {
      when = "graphs",
      pytorch = 'Record each graph once and replay it{.}: `torch.compile(mode="reduce-overhead")` \z
        records again for each new shape, so keep shapes fixed, or mark them dynamic outside of \z
        graphs.',
      jax = "Keep shapes and buffers fixed{.}: XLA records a graph again when shapes or addresses \z
        change. Donate buffers (`donate_argnums`) so that they stay in place.",
      cuda = "Instantiate each graph once and launch it again{.}: update its parameters with \z
        `cudaGraphExecUpdate`.",
    },
    {
      when = "tuned",
      unless = "graphs",
      pytorch = "Keep cuDNN from measuring anew{.}: `torch.backends.cudnn.benchmark = False`. It \z
        tries its algorithms, {trials}, for each new shape of a convolution, and shapes keep \z
        changing here. Or pad to a few sizes: then each is measured once.",
      cuda = "Choose algorithms of convolutions once{.}: cuDNN measures them, {trials}, for each \z
        new shape, and shapes keep changing here. Take its heuristics' choice, or pad to a few \z
        sizes.",
    },
    {
      when = "compiled",
      unless = "graphs",
      pytorch = "Compile once for all shapes{.}: `torch.compile(dynamic=True)`, or \z
        `torch._dynamo.mark_dynamic` for the dimension that changes, since `torch.compile` \z
        compiles again for each new shape. Pad to a few lengths where that is slower. \z
        `TORCH_LOGS=recompiles` names what changes.",
    },
    {
      when = "attention",
      unless = "graphs",
      pytorch = "Keep cuDNN from building attention anew{.}: it does for each new batch and \z
        length. Pad to a few lengths (with a mask) and let warm-up see each of them, or take \z
        another backend: `torch.backends.cuda.enable_cudnn_sdp(False)`.",
      cuda = "Build each plan of attention once{.}: cuDNN builds one for each new batch and \z
        length. Pad to a few lengths, and keep the plans.",
    },
    {
      unless = { "graphs", "compiled", "attention" },
      pytorch = {
        training = "Keep the number of shapes small{.}: pad to a few lengths, `drop_last=True`, \z
          and let warm-up steps see every shape. With `torch.compile`, `TORCH_LOGS=recompiles` \z
          names what changes; `dynamic=True` compiles once for all.",
        cuda = "Keep the number of shapes small{.}: pad to a few lengths, and let warm-up see \z
          every shape. With `torch.compile`, `TORCH_LOGS=recompiles` names what changes; \z
          `dynamic=True` compiles once for all.",
      },
      jax = 'Keep shapes and static arguments fixed{.}: `jax.config.update("jax_log_compiles", \z
        True)` names what is compiled again. Pad to a few lengths, and jit once, outside of the \z
        loop.',
      cupy = "Create kernels once{.}: RawKernel, `ElementwiseKernel` and fuse, and call each with \z
        every type before the work begins.",
      numba = "Compile each kernel once{.}: call it with the types that occur before the work \z
        begins, or give it a signature; `cache=True` keeps it.",
      julia = "Compile each kernel once{.}: call it with the types that occur before the work \z
        begins (`CUDA.@device_code_warntype` shows unstable ones).",
      cuda = "Create plans, handles and modules once{.}: cuFFT, cuBLAS, cuSOLVER, nvrtc, \z
        `cuModuleLoad`. Keep them, and launch every kernel once before the work begins.",
    },
    {
      unless = "graphs",
      pytorch = "Load early and keep what was compiled{.}: `CUDA_MODULE_LOADING=EAGER`; \z
        `TORCHINDUCTOR_CACHE_DIR`, `TRITON_CACHE_DIR` and `CUDA_CACHE_PATH` on a persistent local \z
        disk; `torch.backends.cudnn.benchmark=False` if shapes vary.",
      jax = 'Keep what was compiled{.}: `jax.config.update("jax_compilation_cache_dir", ...)` on \z
        a persistent local disk.',
      cuda = "Load early and compile ahead{.}: `CUDA_MODULE_LOADING=EAGER`, code for this GPU \z
        (`nvcc -gencode arch=compute_XY,code=sm_XY`), `CUDA_CACHE_PATH` on a persistent local \z
        disk.",
    },
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local waits = trace:idle { cause = { "compilation", "loading" } }
    waits =
      -- a kernel's first launch loads it once
      waits:minus(waits:where { cause = "loading", name = { "cudaLaunch*", "cuLaunch*" } })
    local calls = waits
    -- What the host does among such calls, and in no step without them, is compilation.
    waits = waits:plus(trace:idle { stretch = "compiler" })
    local idle = waits:union_ns()
    local share = idle / total
    if idle == 0 or share < options.share then return {} end

    local devices, some, most = waits:group("device", 1000), 0, 0
    local found = trace:fact "steps.found" == 1
    if found then
      local all = trace:steps()
      -- Steps of the rank that has most of it, not of all ranks together.
      for _, device in ipairs(devices) do
        local here = all:where { device = tonumber(device.key) }
        local count = here:count() - here:exposed(waits, 1):count()
        if count > some then
          some, most = count, here:count()
        end
      end
      -- reported by first-use
      if some <= 1 and waits:where { cause = "compilation" }:count() == 0 then return {} end
    end
    -- Without steps, only what had run before and is made again recurs; first-use has the rest.
    if not found then
      local first
      first, some = require "first_runs"(trace, waits)
      waits = waits:minus(first)
      calls = calls:minus(calls:minus(waits))
      idle = waits:union_ns()
      share = idle / total
      if calls:count() == 0 or share < options.share then return {} end
    end
    local start = not found and waits:at_start_or_end()
    -- reported by first-use
    if start and waits:where { cause = "compilation" }:count() == 0 then return {} end
    local call = calls:group("name")[1].key
    -- in no call, but in a range of a compiler
    if call == "" then call = calls:group("doing")[1].key end
    local trials = trials_of(trace)
    local tuned = found and some > 1 and trials >= options.trials * steps
    -- With the trials go their waits, and what they allocate to work in.
    local made = tuned and { "compilation", "loading", "sync", "allocation" }
      or { "compilation", "loading" }
    local attention = kernel_after(trace, waits:top(1)[1].end_ns):glob "cudnn*sdpa*"
    local compiled = not attention
      and trace:is "pytorch"
      and trace:ops { kind = "kernel", name = "triton_*" }:count() > 0
    return {
      {
        subject = "code",
        message = start and "start"
          or not found and (some > 1 and "later" or "anew")
          or some > 1 and "again"
          or "once",
        data = {
          call = call,
          some = some,
          all = most,
          idle = idle / steps,
          time = idle / #devices,
          share = share,
          trials = string.format("%.0f trials %s", trials / steps, trace:fact "unit.per"),
        },
        recoverable_ns = idle,
        -- If every step makes code, no step shows how fast the code is launched once it is there.
        change = {
          { drop = trace:calls { class = made } },
          { pause = waits },
          {
            pause = trace:idle { cause = { "launch", "unknown" } }:minus(waits),
            by = 1,
            least = found and some == most and 0 or 1,
          },
        },
        uncertain = waits:count() > calls:count()
            and "host work among such calls is taken for compilation, and how long launching the \z
              finished code takes is unknown"
          or nil,
        about = true,
        at_most = (start or some <= 1) and "note" or nil,
        metrics = {
          {
            name = "idle while compiling",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = waits:evidence { most = 5 },
        seen = {
          graphs = call:glob "*Graph*",
          compiled = compiled,
          attention = attention,
          tuned = tuned,
        },
      },
    }
  end,
}

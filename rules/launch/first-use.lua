return {
  id = "first-use",
  category = "launch",
  title = "Code is loaded when it is first used",
  since = "0.2",
  needs = { "kernels", "calls" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step (or of the whole recording): idle time while \z
        the host loads code.",
    },
  },
  messages = {
    loading = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the host \z
      loads code: {what}, the longest {longest:ns} in `{call}`.",
    compiling = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the host \z
      compiles and loads code: {what}, the longest {longest:ns} at `{call}`.",
  },
  headlines = {
    loading = "The GPU waits while code is loaded for its first use",
    compiling = "The GPU waits while code is compiled for its first use",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the host loads code: in the first \z
      launch of a kernel, if that takes ten times as long as launches usually do, and in calls \z
      that load a module or library. Without steps, compiling for a kernel's first run counts as \z
      well. What recurs belongs to jit-in-loop.",
    why = "CUDA loads a kernel's code when it is first launched, and libraries choose and load \z
      theirs in their first calls: each takes from about 100 us to seconds, in which nothing is \z
      launched. A timing that includes this looks far too slow.",
    fix = "Warm up first: run every kernel and every shape once, then time, record or serve. \z
      `CUDA_MODULE_LOADING=EAGER` loads all code when the program starts; `cuModuleGetFunction`, \z
      or `cudaFuncGetAttributes`, loads one kernel early. Record after the warm-up \z
      (`--capture-range=cudaProfilerApi`).",
    wrong = "A program that runs once has to load its code once. Loading in the first recorded \z
      step is what warm-up is for.",
  },
  advice = {
    {
      training = "Warm up with every shape before timing{.}: run a few steps first, and record \z
        after them.",
      inference = "Warm up with every shape before serving{.}: run a few requests before what is \z
        timed or served, and record after them.",
      cuda = "Warm up before timing{.}: launch every kernel once before what is timed or served, \z
        and record after that.",
    },
    { unless = "compiling", "Or load all code at the start{.}: `CUDA_MODULE_LOADING=EAGER`." },
    {
      when = "compiling",
      pytorch = "Or keep what was compiled{.}: `TORCHINDUCTOR_CACHE_DIR`, `TRITON_CACHE_DIR` and \z
        `CUDA_CACHE_PATH` on a persistent local disk.",
      cupy = "Or keep what was compiled{.}: `CUPY_CACHE_DIR` on a persistent local disk, and one \z
        module for several kernels.",
      numba = "Or keep what was compiled{.}: `@cuda.jit(cache=True)`.",
      jax = 'Or keep what was compiled{.}: `jax.config.update("jax_compilation_cache_dir", ...)` \z
        on a persistent local disk.',
      cuda = "Or compile ahead{.}: code for this GPU (`nvcc -gencode \z
        arch=compute_XY,code=sm_XY`), and `CUDA_CACHE_PATH` on a persistent local disk.",
    },
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local waits = trace:idle { cause = "loading" }
    local compiling = trace:idle { cause = "compilation" }
    if trace:fact "steps.found" == 1 or compiling:count() == 0 then
      compiling = compiling:minus(compiling)
    else
      compiling = require "first_runs"(trace, compiling)
      waits = waits:plus(compiling)
    end
    local launches = waits:minus(compiling):where { name = { "cudaLaunch*", "cuLaunch*" } }
    local modules, all = waits:minus(launches):minus(compiling), trace:steps()
    if all:count() - all:exposed(modules, 1):count() > 1 then
      waits, modules = launches, modules:minus(modules)
    end -- reported by jit-in-loop
    local idle = waits:union_ns()
    local share = idle / total
    if idle == 0 or share < options.share then return {} end
    local longest, parts = waits:top(1)[1], {}
    local function counted(rows, one, many)
      if rows:count() > 0 then
        parts[#parts + 1] =
          string.format("%d %s", rows:count(), rows:count() == 1 and one or many)
      end
    end
    counted(compiling, "time that code is compiled", "times that code is compiled")
    counted(launches, "first launch of a kernel", "first launches of a kernel")
    counted(modules, "call that loads a module", "calls that load a module")
    return {
      {
        subject = "loading",
        message = compiling:count() > 0 and "compiling" or "loading",
        data = {
          idle = idle / steps,
          share = share,
          what = table.concat(parts, ", "),
          longest = longest.duration_ns,
          call = longest.name or longest.doing or "a compiler",
        },
        recoverable_ns = idle,
        change = { { pause = waits } },
        at_most = "warning", -- code is loaded once, whatever the share of a short recording
        metrics = {
          {
            name = "idle while loading code",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = waits:evidence { most = 5 },
      },
    }
  end,
}

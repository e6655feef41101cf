-- What each variable does where it is set so, and whether the report bears that out: evaluate() returns the share of the time that it
-- concerns and the rows that show it, or nothing. `only`: the kind of program that reads the variable; any, where it is not there.
local variables = {
  {
    name = "CUDA_LAUNCH_BLOCKING", set = function(value) return value ~= "0" end,
    advice = "Unset CUDA_LAUNCH_BLOCKING: it is for finding the launch that fails.",
    evaluate = function(trace, options)
      local kernels = trace:ops { kind = "kernel", in_graph = false }
      local launches = kernels:calls()
      local busy = kernels:union_ns()
      if kernels:count() < options.least or busy == 0 then return end
      -- A launch that does not wait returns before its kernel begins.
      local within = kernels:overlap_ns(launches) / busy
      if within < options.within then return end
      local idle = trace:idle { cause = { "launch", "launch_latency", "unknown", "sync" } }
      return {
        message = "blocking", data = { within = within, launches = launches:count() }, rows = launches,
        -- What launches wait for their kernels, at most what the GPU is idle.
        worth_ns = math.min(idle:union_ns(), math.max(0, launches:union_ns() - options.launch_ns * launches:count())),
        change = { { unblock = launches } },
        metric = { name = "kernels that run while their launch waits", value = within, unit = "fraction", threshold = options.within },
      }
    end,
  },
  {
    name = "PYTORCH_NO_CUDA_MEMORY_CACHING", only = "pytorch", set = function() return true end,
    advice = { pytorch = "Unset PYTORCH_NO_CUDA_MEMORY_CACHING: it is for finding errors with compute-sanitizer." },
    evaluate = function(trace, options)
      local calls = trace:calls { class = "allocation" }
      local count = calls:count() / trace:fact "steps.count"
      local idle = trace:idle { cause = "allocation" }
      if calls:count() < options.least or calls:quarters() < 3 then return end
      return {
        message = "caching", data = { count = string.format("%.0f", count), time = calls:union_ns() / trace:fact "steps.count" }, rows = calls,
        worth_ns = idle:union_ns(),
        change = { { drop = calls } },
        metric = { name = "allocations and frees", value = calls:count(), unit = "count", threshold = options.least },
      }
    end,
  },
  {
    name = "NVIDIA_TF32_OVERRIDE", set = function(value) return value == "0" end,
    advice = "Unset NVIDIA_TF32_OVERRIDE, unless the program needs all the digits of FP32 in its products: it overrides what the program asks for.",
    evaluate = function(trace, options)
      local products = trace:ops { class = "gemm_cuda_core" }
      local speedup = trace:fact "device.tf32_speedup" or 1
      local time = products:own_ns()
      local share = time / trace:total_ns()
      if share < options.share or speedup < 1.5 then return end
      return {
        message = "tf32", data = { share = share }, rows = products, worth_ns = time * (1 - 1 / speedup),
        change = { { scale = products, by = 1 / speedup, least = 0.85 / speedup, most = math.min(1, 1.8 / speedup) } },
        metric = { name = "products on CUDA cores", value = share, unit = "fraction", threshold = options.share },
      }
    end,
  },
}

-- Of several GPUs that talk to each other: how much of that nothing hides.
local function exposed(message)
  return function(trace, options)
    local collectives = trace:ops { class = "collective" }
    local time = collectives:exposed_ns(trace:ops { kind = "kernel" }:minus(collectives))
    local share = time / trace:total_ns()
    if share < options.share then return end
    return {
      message = message, data = { share = share }, rows = collectives,
      metric = { name = "communication that nothing hides", value = share, unit = "fraction", threshold = options.share },
    }
  end
end
for _, v in ipairs {
  { name = "NCCL_P2P_DISABLE", set = "1", message = "p2p", advice = "Unset NCCL_P2P_DISABLE, and see with NCCL_DEBUG=INFO which way NCCL then takes; where the machine hangs with it, mend that (IOMMU, ACS)." },
  { name = "NCCL_IB_DISABLE", set = "1", message = "ib", advice = "Unset NCCL_IB_DISABLE where the machines have InfiniBand or RoCE; NCCL_DEBUG=INFO tells which network NCCL takes." },
  { name = "TORCH_DISTRIBUTED_DEBUG", only = "pytorch", set = "DETAIL", message = "debug", advice = "Unset TORCH_DISTRIBUTED_DEBUG, or set it to INFO: DETAIL is for finding ranks that disagree." },
} do
  variables[#variables + 1] = { name = v.name, only = v.only, set = function(value) return value == v.set end, severity = "warning", advice = v.advice, evaluate = exposed(v.message) }
end
variables[#variables + 1] = {
  name = "OMP_NUM_THREADS", set = function(value) return value == "1" end, severity = "note",
  advice = "Set OMP_NUM_THREADS to the cores that each process may use.",
  evaluate = function(trace, options)
    local idle = trace:idle { cause = { "unknown", "input" } }
    local share = idle:union_ns() / trace:total_ns()
    if share < options.host_share or idle:quarters() < 3 then return end
    return {
      message = "threads", data = { share = share }, rows = idle,
      metric = { name = "idle while the host computes", value = share, unit = "fraction", threshold = options.host_share },
    }
  end,
}

return {
  id = "harmful-environment",
  category = "capture",
  title = "A variable of the environment slows the program down",
  since = "0.3",
  needs = { "kernels" },
  options = {
    least = { default = 30, unit = "count", doc = "Fewer launches, or allocations and frees, in the recording are no loop." },
    within = { default = 0.9, unit = "fraction", doc = "Kernel time that lies within launches, from which launches wait for their kernels. Measured: 1.0 with CUDA_LAUNCH_BLOCKING=1, 0.01 without." },
    launch_ns = { default = 8000, unit = "ns", doc = "What a recorded launch takes that does not wait. Measured on an H200: 7.6 to 8.8 us." },
    share = { default = 0.05, unit = "fraction", doc = "What a variable concerns (products on CUDA cores, communication that nothing hides), of the step, from which it counts." },
    host_share = { default = 0.10, unit = "fraction", doc = "Idle time in which the host does something of its own, of the step, from which OMP_NUM_THREADS=1 is worth a word." },
  },
  messages = {
    blocking = "{variable} is set: each of {launches} launches waits until its kernel has ended ({within:fraction} of the kernels' time lies within launches), so the host never gets ahead of the GPU.",
    caching = "{variable} is set: every tensor is allocated by the driver, {count} allocations and frees {a_step}, which take {time:ns}.",
    tf32 = "{variable} is set: products run on CUDA cores for {share:fraction} of the time, though the GPU has tensor cores for TF32.",
    p2p = "{variable} is set: GPUs of one machine exchange data through host memory, and the GPU waits {share:fraction} of the time for communication that nothing hides.",
    ib = "{variable} is set: machines exchange data over sockets, and the GPU waits {share:fraction} of the time for communication that nothing hides.",
    debug = "{variable} is set: each collective is checked before it runs, and the GPU waits {share:fraction} of the time for communication that nothing hides.",
    threads = "{variable} is set, and the GPU is idle for {share:fraction} of the time while the host does work of its own: where that is array code (NumPy, data transforms), it has one core.",
  },
  doc = {
    what = "Looks for variables of the program's environment that make CUDA, PyTorch or NCCL slow (schemas/environment.toml; nothing else of the environment is read), and speaks of one only where the report shows what it does: launches that wait for their kernels, allocations all through the recording, products on CUDA cores, communication that nothing hides, a host that the GPU waits for.",
    why = "Such variables are set to find an error, or by a launcher, and stay.",
    fix = "Unset them in the job's script, the container and the shell's profile.",
    wrong = "NCCL_P2P_DISABLE and NCCL_IB_DISABLE may be needed on machines where these ways do not work.",
  },
  evaluate = function(trace, options)
    local findings = {}
    for _, variable in ipairs(variables) do
      local value = trace:environment(variable.name)
      local applies = value and variable.set(value) and (not variable.only or trace:is(variable.only))
      local shown = applies and variable.evaluate(trace, options)
      if shown then
        shown.data.variable = value == "set" and variable.name or variable.name .. "=" .. value
        findings[#findings + 1] = {
          subject = variable.name,
          message = shown.message,
          data = shown.data,
          recoverable_ns = shown.worth_ns,
          change = shown.change,
          severity = variable.severity,
          confidence = "high",
          metrics = { shown.metric },
          evidence = shown.rows:evidence { most = 3 },
          advice = { variable.advice },
        }
      end
    end
    return findings
  end,
}

-- What each variable does when it is set, and whether the report shows it: evaluate() returns the
-- share of time that it affects and the
-- rows that prove it, or nothing. `only`: the kind of program that reads the variable; any kind
-- without it.
local variables = {
  {
    name = "CUDA_LAUNCH_BLOCKING",
    set = function(value) return value ~= "0" end,
    evaluate = function(trace, options)
      local kernels = trace:ops { kind = "kernel", in_graph = false }
      local launches = kernels:calls()
      local busy = kernels:union_ns()
      if kernels:count() < options.least or busy == 0 then return end
      -- A launch that does not wait returns before its kernel starts.
      local within = kernels:overlap_ns(launches) / busy
      if within < options.within then return end
      local idle = trace:idle { cause = { "launch", "launch_latency", "unknown", "sync" } }
      return {
        message = "blocking",
        data = { within = within, launches = launches:count() },
        rows = launches,
        -- The time that launches wait for their kernels, at most the time that the GPU is idle.
        worth_ns = math.min(
          idle:union_ns(),
          math.max(0, launches:union_ns() - options.launch_ns * launches:count())
        ),
        change = { { unblock = launches } },
        metric = {
          name = "kernels that run while their launch waits",
          value = within,
          unit = "fraction",
          threshold = options.within,
        },
      }
    end,
  },
  {
    name = "PYTORCH_NO_CUDA_MEMORY_CACHING",
    only = "pytorch",
    set = function() return true end,
    evaluate = function(trace, options)
      local calls = trace:calls { class = "allocation" }
      local count = calls:count() / trace:fact "steps.count"
      local idle = trace:idle { cause = "allocation" }
      if calls:count() < options.least or calls:at_start_or_end() then return end
      return {
        message = "caching",
        data = {
          count = string.format("%.0f", count),
          time = calls:union_ns() / trace:fact "steps.count",
        },
        rows = calls,
        worth_ns = idle:union_ns(),
        change = { { drop = calls } },
        metric = {
          name = "allocations and frees",
          value = calls:count(),
          unit = "count",
          threshold = options.least,
        },
      }
    end,
  },
  {
    name = "NVIDIA_TF32_OVERRIDE",
    set = function(value) return value == "0" end,
    evaluate = function(trace, options, factors)
      local products = trace:ops { class = "gemm_cuda_core" }
      local speedup = trace:fact "device.tf32_speedup" or 1
      local time = products:own_ns()
      local share = time / trace:total_ns()
      if share < options.share or speedup < options.tf32_speedup then return end
      return {
        message = "tf32",
        data = { share = share },
        rows = products,
        worth_ns = time * (1 - 1 / speedup),
        change = {
          {
            scale = products,
            factor = factors.in_tf32,
            times = 1 / speedup,
            precision = "tf32",
          },
        },
        metric = {
          name = "products on CUDA cores",
          value = share,
          unit = "fraction",
          threshold = options.share,
        },
      }
    end,
  },
}

-- Communication between GPUs: how much of it is exposed.
local function exposed(message)
  return function(trace, options)
    local collectives = trace:ops { class = "collective" }
    local time = collectives:exposed_ns(trace:ops { kind = "kernel" }:minus(collectives))
    local share = time / trace:total_ns()
    if share < options.share then return end
    return {
      message = message,
      data = { share = share },
      rows = collectives,
      metric = {
        name = "exposed communication",
        value = share,
        unit = "fraction",
        threshold = options.share,
      },
    }
  end
end
for _, v in ipairs {
  { name = "NCCL_P2P_DISABLE", set = "1", message = "p2p" },
  { name = "NCCL_IB_DISABLE", set = "1", message = "ib" },
  { name = "TORCH_DISTRIBUTED_DEBUG", only = "pytorch", set = "DETAIL", message = "debug" },
} do
  variables[#variables + 1] = {
    name = v.name,
    only = v.only,
    set = function(value) return value == v.set end,
    severity = "warning",
    evaluate = exposed(v.message),
  }
end
variables[#variables + 1] = {
  name = "OMP_NUM_THREADS",
  set = function(value) return value == "1" end,
  severity = "note",
  evaluate = function(trace, options)
    local idle = trace:idle { cause = { "unknown", "input" } }
    local share = idle:union_ns() / trace:total_ns()
    if share < options.host_share or idle:at_start_or_end() then return end
    return {
      message = "threads",
      data = { share = share },
      rows = idle,
      metric = {
        name = "idle while the host computes",
        value = share,
        unit = "fraction",
        threshold = options.host_share,
      },
    }
  end,
}

return {
  id = "harmful-environment",
  category = "capture",
  title = "An environment variable slows the program down",
  since = "0.3",
  needs = { "kernels" },
  options = {
    least = {
      default = 30,
      unit = "count",
      doc = "Fewer launches, or allocations and frees, in the recording do not make a loop.",
    },
    within = {
      default = 0.9,
      unit = "fraction",
      doc = "Share of kernel time within launches, from which launches wait for their kernels. \z
        Measured: 1.0 with CUDA_LAUNCH_BLOCKING=1, 0.01 without.",
    },
    launch_ns = {
      default = 8000,
      unit = "ns",
      doc = "How long a recorded launch takes that does not wait. Measured on an H200: 7.6 to 8.8 \z
        us.",
    },
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: what the variable affects (matrix products on \z
        CUDA cores, exposed communication).",
    },
    host_share = {
      default = 0.10,
      unit = "fraction",
      doc = "Idle time while the host does other work, as a share of the step, from which \z
        OMP_NUM_THREADS=1 is mentioned.",
    },
    tf32_speedup = {
      default = 1.5,
      unit = "count",
      doc = "How many times as fast TF32 has to be on this GPU for NVIDIA_TF32_OVERRIDE=0 to \z
        matter. On GeForce it is hardly faster than FP32; on an H200 it is six times as fast \z
        (schemas/gpus.toml).",
    },
  },
  factors = {
    in_tf32 = {
      by = 1,
      least = 0.8,
      most = 2.9,
      doc = "Time of a matrix product in TF32, relative to what the ratio of the GPU's attained \z
        rates predicts.",
      source = "As for non-tensor-core-gemm, where it was measured: long products 0.8 to 1.7, \z
        convolutions up to 1.5, short products up to 2.9.",
    },
  },
  messages = {
    blocking = "`{variable}` is set: each of {launches} launches waits until its kernel has \z
      finished ({within:fraction} of the kernel time lies within launches), so the host never \z
      gets ahead of the GPU.",
    caching = "`{variable}` is set: the driver allocates every tensor, {count:# allocation or \z
      free|# allocations and frees} {a_step} that take {time:ns}.",
    tf32 = "`{variable}` is set: matrix products run on CUDA cores for {share:fraction} of the \z
      time, though the GPU has tensor cores for TF32.",
    p2p = "`{variable}` is set: GPUs of one machine exchange data through host memory, and the \z
      GPU waits {share:fraction} of the time for exposed communication.",
    ib = "`{variable}` is set: machines exchange data over sockets, and the GPU waits \z
      {share:fraction} of the time for exposed communication.",
    debug = "`{variable}` is set: each collective is checked before it runs, and the GPU waits \z
      {share:fraction} of the time for exposed communication.",
    threads = "`{variable}` is set, and the GPU is idle for {share:fraction} of the time while \z
      the host does other work. If that is array code (NumPy, data transforms), it has only one \z
      core.",
  },
  headlines = {
    blocking = "{variable} makes every launch wait for its kernel",
    caching = "{variable} bypasses the caching allocator",
    tf32 = "{variable} keeps matrix products off the tensor cores",
    p2p = "{variable} sends data between GPUs through host memory",
    ib = "{variable} sends data between machines over sockets",
    debug = "{variable} checks each collective before it runs",
    threads = "{variable} leaves array code on the host one core",
  },
  doc = {
    what = "Looks for environment variables that make CUDA, PyTorch or NCCL slow \z
      (schemas/environment.toml; nothing else of the environment is read), and reports one only \z
      where the recording shows its effect: launches that wait for their kernels, allocations all \z
      through the recording, matrix products on CUDA cores, exposed communication, a host that \z
      the GPU waits for.",
    why = "Such variables are set to find an error, or by a launcher, and then forgotten.",
    fix = "Unset them in the job script, the container and the shell profile.",
    wrong = "Some machines need `NCCL_P2P_DISABLE` or `NCCL_IB_DISABLE` because peer access or \z
      InfiniBand does not work there.",
  },
  advice = {
    {
      when = "blocking",
      "Unset `CUDA_LAUNCH_BLOCKING`{.}: it is meant for finding the launch that fails.",
    },
    {
      when = "caching",
      pytorch = "Unset `PYTORCH_NO_CUDA_MEMORY_CACHING`{.}: it is meant for finding errors with \z
        compute-sanitizer.",
    },
    {
      when = "tf32",
      "Unset `NVIDIA_TF32_OVERRIDE`{.}: it overrides what the program asks for. Keep it only \z
        where matrix products need all the digits of FP32.",
    },
    {
      when = "p2p",
      "Unset `NCCL_P2P_DISABLE`{.}: `NCCL_DEBUG=INFO` then shows which transport NCCL takes. If \z
        the machine hangs without it, fix that (IOMMU, ACS).",
    },
    {
      when = "ib",
      "Unset `NCCL_IB_DISABLE`{.}: machines with InfiniBand or RoCE then use it. \z
        `NCCL_DEBUG=INFO` shows which network NCCL takes.",
    },
    {
      when = "debug",
      "Unset `TORCH_DISTRIBUTED_DEBUG`, or set it to INFO{.}: DETAIL is meant for finding ranks \z
        that disagree.",
    },
    { when = "threads", "Set `OMP_NUM_THREADS` to the cores that each process may use." },
  },
  evaluate = function(trace, options, factors)
    local findings = {}
    for _, variable in ipairs(variables) do
      local value = trace:environment(variable.name)
      local applies = value
        and variable.set(value)
        and (not variable.only or trace:is(variable.only))
      local shown = applies and variable.evaluate(trace, options, factors)
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
        }
      end
    end
    return findings
  end,
}

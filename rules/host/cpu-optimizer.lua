return {
  id = "cpu-optimizer",
  category = "host",
  title = "The optimizer runs on the CPU while the GPU waits",
  since = "0.3",
  needs = { "kernels", "copies", "calls" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: idle time between gradients that come down and \z
        parameters that go up, and copies of both while nothing computes. As for \z
        offload-sync-gap, which covers all other tensors that travel.",
    },
    small_bytes = {
      default = 256,
      unit = "bytes",
      doc = "Returning copies of at least this size are parameters as well (those of norms), \z
        which stay on the GPU once the optimizer runs there.",
    },
    passes = {
      default = 20,
      unit = "count",
      doc = "How much a fused AdamW reads and writes on the GPU at most, as a multiple of the \z
        size of the parameters, at half the speed of copies: parameters in BF16 with gradients, \z
        two moments and parameters in FP32, and the casts between. Measured on an H200: two \z
        thirds of that speed.",
    },
    state = {
      default = 6,
      unit = "count",
      doc = "How much memory an optimizer may need in addition to the parameters, as a multiple \z
        of their size: two moments and a copy of the parameters in FP32 for parameters in BF16, \z
        12 bytes for each 2.",
    },
    fits = {
      default = 0.9,
      unit = "fraction",
      doc = "Share of the device's memory up to which the optimizer's state fits, with the peak \z
        of everything else. Chosen: fragmentation takes the rest.",
    },
    speed = {
      default = 0.5,
      unit = "fraction",
      doc = "Share of the memory's bandwidth at which a fused optimizer reads and writes at \z
        least. Measured on an H200: two thirds.",
    },
  },
  messages = {
    main = "{bytes:bytes} of gradients come down {a_step}, the host works for {work:ns} (the \z
      longest stretch takes {longest:ns}), and the parameters go up again. Meanwhile the GPU is \z
      idle, or copies while nothing computes, for {time:lost} of {each_step} ({share:fraction}).",
  },
  headlines = {
    main = "The optimizer runs on the CPU for {work:ns} {a_step}",
  },
  doc = {
    what = "Finds training steps in which tensors go to the host, the host then works while the \z
      GPU is idle, and tensors of the same sizes come back, with no optimizer among the GPU's \z
      kernels. It adds up that idle time and the copies during which nothing computes.",
    why = "An optimizer reads and writes every parameter and its moments: a GPU does so at some \z
      TB/s, a CPU at a twentieth of that, and the tensors cross the link twice. Nothing runs on \z
      the GPU meanwhile.",
    fix = "Run the optimizer on the GPU if its state fits (`AdamW` of BF16 parameters needs up to \z
      six times their size); if not, in 8 bits (bitsandbytes) or sharded over several GPUs (ZeRO, \z
      FSDP). If it has to stay on the CPU: `DeepSpeedCPUAdam` or `torch.optim.AdamW(fused=True)`, \z
      which use vector instructions and all cores; one process bound to each socket's cores \z
      (numactl); only part of the parameters; and updates while backward still runs \z
      (ZeRO-Offload's `overlap_comm`, `delayed_param_update`).",
    wrong = "The forecast counts the optimizer as free on the GPU. A fused `AdamW` takes about as \z
      long as reading and writing its state; the end of the forecast's range includes that.",
  },
  advice = {
    {
      when = "fits",
      pytorch = "Run the optimizer on the GPU{.}: its state fits, up to {state} GiB for \z
        {parameters} GiB of parameters, in addition to the peak of {peak} of {memory} GiB. Leave \z
        the parameters there, and use `fused=True` in `torch.optim`.",
      cuda = "Run the optimizer on the GPU{.}: its state fits, up to {state} GiB for {parameters} \z
        GiB of parameters, in addition to the peak of {peak} of {memory} GiB.",
    },
    {
      unless = "fits",
      deepspeed = "Run the optimizer on the GPU if its state fits{.}: up to {state} GiB, without \z
        `offload_optimizer`, sharded by ZeRO stage 1 or 2. Or keep only part of it on the CPU \z
        (`offload_optimizer.ratio`).",
      pytorch = "Run the optimizer on the GPU if its state fits{.}: up to {state} GiB, a quarter \z
        of that in 8 bits (`bitsandbytes.optim.AdamW8bit`). Or shard it (FSDP, \z
        `ZeroRedundancyOptimizer`).",
      cuda = "Run the optimizer on the GPU if its state fits{.}: up to {state} GiB. If it does \z
        not fit, use smaller types.",
    },
    {
      deepspeed = "If it stays on the CPU{.}: `DeepSpeedCPUAdam` (not `torch.optim`), pinned \z
        buffers (`pin_memory`), `overlap_comm=True`, and each process bound to the cores of its \z
        GPU's socket (`deepspeed --bind_cores_to_rank`).",
      pytorch = "If it stays on the CPU{.}: `fused=True` in `torch.optim` instead of a loop over \z
        tensors, and `OMP_NUM_THREADS` set to the cores of the process, bound to the GPU's socket \z
        (`numactl --cpunodebind`).",
      cuda = "If it stays on the CPU{.}: one pass over each tensor with vector instructions on \z
        all cores of the GPU's socket.",
    },
    "Let both work at once{.}: update what has come down while backward still computes the rest, \z
      and send each tensor up as soon as it is ready.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local work = trace:idle { stretch = "optimizer" }
    if work:count() == 0 then return {} end
    local compute = trace:ops { kind = { "kernel", "graph" } }
    local trips = trace:round_trips { min_bytes = options.small_bytes }
    local gaps = trace
      :idle { after = trips }
      :plus(trace:idle { before = trips })
      :where { cause = { "sync", "dependency", "launch*", "unknown" } }
      :plus(work)
    local time = trips:exposed_ns(compute) + gaps:union_ns()
    local share = time / total
    if share < options.share then return {} end

    local down, up = trips:where { direction = "d2h" }, trips:where { direction = "h2d" }
    local parameters = up:sum "bytes" / steps
    local peak, memory = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    local fits = peak and memory and peak + options.state * parameters < options.fits * memory
    local function gib(bytes) return string.format("%.1f", (bytes or 0) / 2 ^ 30) end
    local moved =
      trips:plus(trace:ops { class = "pointwise", name = "*direct_copy*" }:beside(trips))
    -- On the GPU the optimizer takes the place of the largest uploads. How long it takes depends
    -- on types and fusion: the range covers it.
    local bandwidth = trace:fact "device.memory_bytes_per_s"
    local most_ns = bandwidth
      and options.passes * parameters / (options.speed * bandwidth) * 1e9
    local largest = up:where { min_bytes = (up:top(1, "bytes")[1] or { bytes = 0 }).bytes }
    local there = most_ns
        and largest:count() > 0
        and {
          scale = largest,
          by = 0,
          least = 0,
          most = most_ns * steps / largest:sum "duration_ns",
        }
      or { remove = largest }
    return {
      {
        subject = "optimizer",
        message = "main",
        data = {
          bytes = down:sum "bytes" / steps,
          work = work:union_ns() / steps,
          longest = work:top(1)[1].duration_ns,
          time = time / steps,
          share = share,
          state = gib(options.state * parameters),
          parameters = gib(parameters),
          peak = gib(peak),
          memory = string.format("%.0f", (memory or 0) / 2 ^ 30),
        },
        recoverable_ns = time,
        about = true,
        change = {
          { unblock = trips:calls():plus(trace:calls { class = "sync" }) },
          { remove = moved:minus(largest) },
          there,
          { pause = gaps:where { cause = "unknown" } },
        },
        uncertain = most_ns and "the optimizer also takes time on the GPU"
          or "the optimizer's time on the GPU is not included",
        metrics = {
          {
            name = "idle, or copying while nothing computes",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
          {
            name = "idle while the host works",
            value = work:union_ns() / total,
            unit = "fraction",
          },
        },
        evidence = work:evidence { most = 4 },
        seen = { fits = fits },
      },
    }
  end,
}

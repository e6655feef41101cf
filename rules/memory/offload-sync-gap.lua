-- How to record the peak of device memory.
local how = { nsys = "`--cuda-memory-usage=true`", torch_profiler = "`profile_memory=True`" }

return {
  id = "offload-sync-gap",
  category = "memory",
  title = "Offloading to host memory keeps the GPU waiting for copies",
  since = "0.1",
  needs = { "kernels", "copies" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: offload copies while nothing computes, and \z
        idle time around them. Recorded: 86 % when every activation is offloaded, none in a \z
        healthy run.",
    },
    min_bytes = {
      default = 1048576,
      unit = "bytes",
      doc = "Smaller copies are inputs and metrics, not offloaded tensors.",
    },
    link_bound = {
      default = 0.5,
      unit = "fraction",
      doc = "From this share of the step on, copies that no kernel can hide are still a warning: \z
        the link is the bottleneck.",
    },
    small_bytes = {
      default = 256,
      unit = "bytes",
      doc = "If tensors are offloaded, returning copies of at least this size count as offloaded \z
        as well when the step without them is replayed.",
    },
    pairs_per_step = {
      default = 2,
      unit = "count",
      doc = "A single tensor that goes to the host and comes back in a step is a result, not an \z
        offload.",
    },
    fits = {
      default = 0.9,
      unit = "fraction",
      doc = "Share of the device's memory up to which the offloaded tensors fit, with the peak of \z
        everything else. Chosen: fragmentation takes the rest.",
    },
    feeding_ns = {
      default = 50000,
      unit = "ns",
      doc = "Pauses of the host from this length on may be its work on pageable buffers \z
        (allocating, faulting, freeing), which a forecast then may save.",
    },
  },
  messages = {
    trips = "{bytes:bytes} {a_step} go to host memory and come back ({pairs:# round trip|# round \z
      trips} at {rate:bytes/s}); {exposed:lost} of {each_step} ({share:fraction}) is copying \z
      while nothing computes, or waiting for such copies.",
    stream = "Weights are fetched from host memory piece by piece ({bytes:bytes} {a_step} in \z
      {copies:# copy|# copies} at {rate:bytes/s}); {exposed:lost} of {each_step} \z
      ({share:fraction}) is copying while nothing computes, or waiting for such copies.",
  },
  headlines = {
    trips = "Offloading {bytes:bytes} {a_step} keeps the GPU waiting",
    stream = "Fetching weights from host memory keeps the GPU waiting",
  },
  doc = {
    what = "Finds tensors that leave the device and come back (copies to the host after which as \z
      many bytes return), and weights that are fetched layer by layer. It measures the time in \z
      which these copies run while nothing computes, plus the idle time right before and after \z
      them.",
    why = "A link to the host carries a fiftieth of what device memory does: offloading pays only \z
      while copies hide behind kernels. Once the GPU waits for them, the link sets the length of \z
      the step.",
    fix = "Do not offload what fits: compare the peak of device memory plus the offloaded bytes \z
      with the device's memory. Otherwise recompute instead (activation checkpointing), offload \z
      less, use pinned buffers, and put copies on their own stream with a prefetch of one or two \z
      layers: `torch.autograd.graph.save_on_cpu` copies on the compute stream and waits; FSDP's \z
      CPUOffload, DeepSpeed's `offload_optimizer` with `pin_memory` and `overlap_comm`, \z
      Megatron's `--cpu-offloading-num-layers` and Transformer Engine's `get_cpu_offload_context` \z
      overlap copies with kernels.",
    wrong = "Programs that send data through the GPU and fetch equally large results look the \z
      same; a device that runs no matrix multiplications is therefore left out. On Grace Hopper \z
      the link (NVLink-C2C) is seven times as fast as PCIe 5, and offloading may be right even if \z
      some of it is exposed.",
  },
  advice = {
    {
      when = "host_works",
      deepspeed = {
        training = "Offload only part of the optimizer{.}: `offload_optimizer.ratio`. Most of \z
          this is not copying; the host works on what came down before it goes up again, as an \z
          optimizer on the CPU does. Or use a fast one (`DeepSpeedCPUAdam` on all cores of the \z
          socket).",
      },
      training = "Keep the optimizer on the GPU if its state fits{.}: most of this is not \z
        copying; the host works on what came down before it goes up again, as an optimizer on the \z
        CPU does. Or offload only part of it, or use one that works on all cores of the socket.",
      cuda = "Do the host's part on the GPU{.}: most of this is not copying; the host works on \z
        what came down before it goes up again. Or use all cores of the socket.",
    },
    {
      when = "stop",
      "Stop offloading, it fits{.}: the peak of {peak} GiB plus the {offloaded} GiB offloaded \z
        {a_step} stay below the {memory} GiB of the device.",
    },
    {
      when = { "less", "coherent" },
      "Offload less{.}: {peak} of {memory} GiB of device memory are used at the peak.",
    },
    {
      when = "less",
      unless = "coherent",
      training = "Offload less{.}: {peak} of {memory} GiB of device memory are used at the peak. \z
        Or recompute activations instead (gradient checkpointing).",
      cuda = "Offload less{.}: {peak} of {memory} GiB of device memory are used at the peak.",
    },
    {
      when = { "untold", "coherent" },
      training = "Check whether it fits without offloading{.}: record the peak of device memory \z
        with {how}; otherwise offload less.",
      cuda = "Check whether it fits without offloading{.}: record the peak of device memory with \z
        {how}; otherwise use smaller types for what is offloaded.",
    },
    {
      when = "untold",
      unless = "coherent",
      training = "Check whether it fits without offloading{.}: record the peak of device memory \z
        with {how}; otherwise recompute activations instead (gradient checkpointing).",
      cuda = "Check whether it fits without offloading{.}: record the peak of device memory with \z
        {how}; otherwise use smaller types for what is offloaded.",
    },
    {
      when = "pageable",
      deepspeed = "Pin the host buffers, which are pageable{.}: {reached} GB/s{pinned}. Pin them \z
        (`offload_optimizer.pin_memory`, `offload_param.pin_memory`).",
      pytorch = {
        training = "Pin the host buffers, which are pageable{.}: {reached} GB/s{pinned}. Pin them \z
          (`save_on_cpu(pin_memory=True)`, or `tensor.pin_memory()` once).",
        cuda = "Pin the host buffers, which are pageable{.}: {reached} GB/s{pinned}. Pin them \z
          (`tensor.pin_memory()`, once).",
      },
      cuda = "Pin the host buffers, which are pageable{.}: {reached} GB/s{pinned}. Pin them \z
        (`cudaHostAlloc` or `cudaHostRegister`, once).",
    },
    {
      megatron = "Fetch one or two layers ahead, with copies on a separate stream{.}: \z
        `--cpu-offloading-num-layers`.",
      fsdp = "Fetch one or two layers ahead{.}: CPUOffload with `forward_prefetch=True` and \z
        `BackwardPrefetch.BACKWARD_PRE`.",
      pytorch = {
        training = "Fetch one or two layers ahead, with copies on a separate stream (Transformer \z
          Engine `get_cpu_offload_context`, FSDP CPUOffload with prefetch); `save_on_cpu` copies \z
          on the compute stream.",
        cuda = "Fetch one or two layers ahead, with copies on a separate stream \z
          (`non_blocking=True` from pinned memory under `torch.cuda.stream(side)`).",
      },
      cuda = "Fetch one or two pieces ahead, with copies on a separate stream (`cudaMemcpyAsync` \z
        from pinned memory, `cudaStreamWaitEvent` where they are used).",
    },
    {
      when = "link",
      "Even fully hidden, these bytes take at least {link_ms} ms {a_step} on the link ({gib} GiB \z
        at {link} GB/s{overlap}).",
    },
    {
      when = "coherent",
      training = "This GPU shares memory with its CPU over NVLink-C2C{.}: copies that overlap \z
        with kernels were faster than recomputing activations (steps 6 to 13 % shorter on Grace \z
        Blackwell), so hide them instead of checkpointing.",
    },
    {
      when = "coherent",
      "Over NVLink-C2C kernels can also read host memory in place{.}: offload what is read once \z
        and leave it there instead of copying it back.",
    },
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local compute = trace:ops { kind = { "kernel", "graph" } }
    if
      trace:ops { class = { "gemm_*", "attention_fused" } }:count()
        + trace:ops { kind = "graph" }:count()
      == 0
    then
      return nil,
        "no matrix multiplication ran, so there is no model whose tensors could be offloaded",
        ""
    end

    local trips, pairs_found = trace:round_trips { min_bytes = options.min_bytes }
    local streamed = trace:streamed_uploads { min_bytes = options.min_bytes }:minus(trips)
    -- Gradients and parameters of an optimizer on the CPU belong to cpu-optimizer.
    if
      pairs_found < options.pairs_per_step * steps
      or trace:idle { stretch = "optimizer" }:count() > 0
    then
      trips, pairs_found = trips:minus(trips), 0
    end
    local copies = trips:plus(streamed)
    if copies:union_ns() == 0 then return {} end

    -- Idle time next to such a copy: waiting until it is done, or until the next may start.
    local gaps = trace
      :idle { after = copies }
      :plus(trace:idle { before = copies })
      :where { cause = { "sync", "dependency", "launch*", "unknown" } }
    local exposed_copies, shown = copies:exposed_ns(compute), copies:exposed(compute)
    -- A pipeline has to be filled before the first kernel and emptied after the last: without
    -- steps, only what is exposed all through
    -- the recording keeps the GPU waiting.
    if trace:fact "steps.found" == 0 and not shown:throughout() then return {} end
    local exposed = exposed_copies + gaps:union_ns()
    local share = exposed / total
    if share < options.share then return {} end

    local bytes = copies:sum "bytes"
    local rate = bytes / (copies:sum "duration_ns" / 1e9)
    local link = trace:fact "device.link_bytes_per_s"
    local round = trips:count() > 0
    local offloaded = round and trips:where { direction = "d2h" }:sum "bytes" / steps or 0
    local peak, memory = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    local coherent = trace:fact "device.coherent" == 1
    local pageable = copies:where { memory = "pageable" }
    local known = peak and memory
    local stop = round and known and peak + offloaded < options.fits * memory
    local function number(format, value) return value and string.format(format, value) or "" end
    -- Without offloading the small ones do not travel either, and the host does not work on them.
    local moved = copies
    -- what was packed for the copies
    local packed = trace:ops { class = "pointwise", name = "*direct_copy*" }:beside(moved)
    if round then
      moved = moved:plus((trace:round_trips { min_bytes = options.small_bytes }))
    end
    local uncertain = pageable:count() > 0
        and "the host's time for pageable buffers (allocating, faulting, freeing) is only partly \z
          known"
      or nil
    -- Weights that stream in because they do not fit can only hide, and only behind what there is
    -- to compute.
    local fits = round or (peak and memory and peak + bytes / steps < options.fits * memory)
    local hides = math.min(exposed, compute:exposed_ns(copies))
    return {
      {
        subject = round and "offloaded tensors" or "streamed weights",
        message = round and "trips" or "stream",
        data = {
          bytes = bytes / steps,
          pairs = math.floor(pairs_found / steps + 0.5),
          copies = math.floor(copies:count() / steps + 0.5),
          rate = rate,
          exposed = exposed / steps,
          share = share,
          peak = number("%.1f", peak and peak / 2 ^ 30),
          memory = number("%.0f", memory and memory / 2 ^ 30),
          offloaded = string.format("%.1f", offloaded / 2 ^ 30),
          how = trace:words(how),
          reached = string.format("%.1f", rate / 1e9),
          pinned = number(
            ", where pinned ones reach about %.0f GB/s on this GPU",
            link and link / 1e9
          ),
          link_ms = number("%.0f", link and bytes / steps / link * 1e3),
          gib = string.format("%.1f", bytes / steps / 2 ^ 30),
          link = number("%.0f", link and link / 1e9),
          overlap = round and "; the two directions can overlap" or "",
        },
        recoverable_ns = fits and exposed or hides,
        -- Copies that cannot hide are no smaller a problem: less has to be sent.
        severity = not fits
            and hides < exposed / 2
            and share >= options.link_bound
            and "warning"
          or nil,
        uncertain = uncertain,
        change = not fits and { { overlap = copies } }
          or {
            { unblock = moved:calls():plus(trace:calls { class = "sync" }) },
            { remove = moved:plus(packed) },
            {
              pause = trace
                :idle { after = moved }
                :plus(trace:idle { before = moved })
                :where { cause = "unknown" },
            },
            { pause = trace:idle { after = pageable }:plus(trace:idle { before = pageable }) },
            {
              pause = trace:idle {
                cause = { "unknown", "launch*" },
                min_ns = pageable:count() > 0 and options.feeding_ns or math.huge,
              },
              by = 0,
              most = 1,
            },
          },
        metrics = {
          {
            name = "exposed copies and waits",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
          {
            name = "copies hidden by kernels",
            value = 1 - exposed_copies / copies:union_ns(),
            unit = "fraction",
          },
          { name = "bandwidth", value = rate, unit = "bytes/s", threshold = link },
        },
        evidence = shown:evidence { most = 4 },
        seen = {
          host_works = 2 * gaps:where { cause = "unknown" }:union_ns() > exposed,
          stop = stop,
          less = known and not stop,
          untold = not known,
          pageable = 2 * pageable:count() > copies:count(),
          link = link,
          coherent = coherent,
        },
      },
    }
  end,
}

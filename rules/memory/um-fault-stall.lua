local constants = {
  said_ns = 50000, -- less rounds to 0.0 ms
}

return {
  id = "um-fault-stall",
  category = "memory",
  title = "Kernels stop for page faults on unified memory",
  since = "0.1",
  needs = { "kernels", "gpu_faults" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: time in which page faults of the GPU are \z
        handled. Plain device memory has none; recorded with managed memory for each tensor: 62 \z
        to 79 %.",
    },
    fits = {
      default = 0.9,
      unit = "fraction",
      doc = "Share of the device's memory in use at the peak, up to which the advice says that \z
        plain memory fits. Chosen: fragmentation takes the rest.",
    },
  },
  factors = {
    driver = {
      by = 1,
      least = 0.7,
      most = 1,
      doc = "Host time in which launches are slow or nothing explains the GPU's idle time, \z
        without the driver's work on faults.",
      source = "Chosen: how much that work slows the host's other calls is unknown.",
    },
  },
  messages = {
    fresh = "Page faults of the GPU take {stall:lost} of {each_step} ({share:fraction}), {count} \z
      {a_step}: kernels stop until each page of unified memory that they touch first is mapped.",
    more = "Unified memory costs {lost:lost} of {each_step} ({lost_share:fraction}): {count:# \z
      page fault|# page faults} of the GPU {a_step} {count:takes|take} {stall:ns} (kernels stop \z
      until each page that they touch first is mapped){rest}.",
    pages = "Page faults of the GPU take {stall:lost} of {each_step} ({share:fraction}), {count} \z
      {a_step}, most of them on pages that move between host and device.",
  },
  headlines = {
    fresh = "Kernels stop for {count:# page fault|# page faults} {a_step}",
    more = "Kernels stop for {count:# page fault|# page faults} {a_step}",
    pages = "Kernels stop for {count:# page fault|# page faults} {a_step}",
  },
  doc = {
    what = "Takes the time in which at least one page fault of the GPU is being handled. Pages \z
      need not move for that: memory from `cudaMallocManaged` has no page on the device until a \z
      kernel touches it. Migration belongs to um-migration-storm.",
    why = "A kernel that touches an unmapped page waits tens of microseconds for the driver, and \z
      a tensor has many pages. Memory that is freed and allocated again faults again, in every \z
      step. The kernels just look slow.",
    fix = "Use plain device memory for what fits: PyTorch's caching allocator instead of a \z
      managed one (`torch.cuda.memory.CUDAPluggableAllocator`, RMM's managed resource). If \z
      unified memory is needed, keep what was allocated (a pool) and call `cudaMemPrefetchAsync` \z
      to the device before the first kernel (CUDA programming guide, unified memory).",
    wrong = "The first touch of memory that is then used for long is a start-up cost: without \z
      steps, the finding is about the whole window. On Grace Hopper system-allocated memory \z
      faults through the CPU's page tables, which may leave no rows here.",
  },
  advice = {
    {
      pytorch = "Use plain device memory from a caching allocator{.}: PyTorch's own instead of \z
        one over `cudaMallocManaged` (`torch.cuda.memory.CUDAPluggableAllocator`).{fits}",
      cupy = "Use plain device memory{.}: CuPy's own pool instead of one over \z
        `malloc_managed`.{fits}",
      julia = "Use plain device memory{.}: `CuArray` of `CUDA.DeviceMemory` instead of \z
        UnifiedMemory.{fits}",
      directives = "Use separate memory and data regions{.}: not managed memory (nvc and \z
        nvfortran: without `-gpu=managed`, now `-gpu=mem:separate`; OpenACC: data copy; OpenMP: \z
        target data map).{fits}",
      cuda = "Use plain device memory for what fits{.}: `cudaMalloc`, or `cudaMallocAsync` with \z
        its pool, and copy once.{fits}",
    },
    {
      when = "churn",
      "If memory has to be managed, keep it in a pool{.}: {managed} managed allocations {a_step} \z
        fault again each time, a pool (RMM `pool_memory_resource` with `managed_memory_resource`) \z
        faults once.",
    },
    "If unified memory has to stay{.}: `cudaMemPrefetchAsync` to the device before the first \z
      kernel that uses a buffer, and `cudaMemAdvise` with the device as preferred location.",
    {
      when = "coherent",
      "On Grace Hopper kernels read memory from malloc in place over NVLink-C2C; touch it first \z
        on the side that uses it most, in large pages (64 KiB kernel pages, transparent huge \z
        pages).",
    },
  },
  evaluate = function(trace, options, factors)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local faults = trace:gpu_faults()
    if faults:count() == 0 and trace:fact "device.coherent" == 1 then
      return nil,
        "on this GPU memory from malloc faults through the CPU's page tables, which a report does \z
          not record: that there are none proves nothing",
        ""
    end
    local stall = faults:union_ns()
    local share = stall / total
    if stall == 0 or share < options.share then return {} end
    local fresh = faults:where { migrating = false }:union_ns()
    local storm = fresh < options.share * total -- little remains without the pages that migrate

    -- Plain, cached memory ends the faults, the migrations with the host's work between them, and
    -- the allocations themselves.
    local moves = trace:ops { direction = "um_*" }
    local allocations = trace:calls {
      class = "allocation",
      name = { "cudaMalloc*", "cuMemAlloc*", "cuMemCreate*" },
    }
    local managed = allocations:where { name = "*Managed*" }:count()
    local churn = trace:idle { cause = "allocation" }
    churn = 2 * managed > allocations:count() and churn:union_ns() or 0
    local turns = trace
      :idle { after = moves }
      :plus(trace:idle { before = moves })
      :where { cause = { "unknown", "faults" } }
    local recoverable = stall
    if not storm then
      recoverable = stall + moves:exposed_ns(faults) + turns:union_ns() + churn
    end

    local kernels = trace:ops { kind = { "kernel", "set" } }
    local change = { { shorten = kernels, stalls = faults } }
    if not storm then
      change = {
        { shorten = kernels, stalls = { faults, moves } },
        { pause = turns },
        { pause = trace:idle { cause = { "launch*", "unknown" } }, factor = factors.driver },
      }
      if churn > 0 then change[4] = { drop = trace:calls { class = "allocation" } } end
    end

    local peak, memory = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    local fits = peak and memory and peak < options.fits * memory
    -- What the same fix also saves.
    local rest = ""
    local moved = recoverable - stall - (storm and 0 or churn)
    if moved / steps >= constants.said_ns then
      rest = string.format(
        "%s; migrations, and the host's turns between them, take %.1f ms more",
        rest,
        moved / steps / 1e6
      )
    end
    if churn > 0 then
      rest = string.format(
        "%s; allocating and freeing managed memory takes %.1f ms more",
        rest,
        churn / steps / 1e6
      )
    end
    return {
      {
        subject = "page faults",
        message = storm and "pages" or recoverable > stall and "more" or "fresh",
        data = {
          stall = stall / steps,
          share = share,
          count = string.format("%.0f", faults:sum "count" / steps),
          lost = recoverable / steps,
          lost_share = recoverable / total,
          rest = rest,
          managed = string.format("%.0f", managed / steps),
          fits = fits and string.format(
            " It fits: %.1f of %.0f GiB are in use.",
            peak / 2 ^ 30,
            memory / 2 ^ 30
          ) or "",
        },
        recoverable_ns = recoverable,
        change = change,
        uncertain = "how much the driver's work on faults slows the host's other calls is unknown",
        about = true,
        follows_from = storm and "um-migration-storm" or nil,
        metrics = {
          { name = "page faults", value = share, unit = "fraction", threshold = options.share },
          {
            name = "page faults on pages that do not migrate",
            value = fresh / total,
            unit = "fraction",
          },
        },
        evidence = faults:evidence { most = 5 },
        seen = { churn = churn > 0, coherent = trace:fact "device.coherent" == 1 },
      },
    }
  end,
}

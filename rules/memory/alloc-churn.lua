local constants = {
  one_digit_below = 9.5, -- of a count that is no whole number
}

return {
  id = "alloc-churn",
  category = "memory",
  title = "Memory is allocated and freed inside the loop",
  since = "0.1",
  needs = { "kernels", "calls" },
  warning_at = 0.03,
  options = {
    share = {
      default = 0.03,
      unit = "fraction",
      doc = "Reported from this share of the step: idle time while the host is in an allocation \z
        or a free. A caching allocator has none after the first steps.",
    },
    set_up = {
      default = 10,
      unit = "count",
      doc = "Without steps: an allocation that takes this many times as long as those that take \z
        most of the time sets something up, and is left out.",
    },
    fault_share = {
      default = 0.05,
      unit = "fraction",
      doc = "Page-fault time, as a share of the step, from which allocations of unified memory \z
        follow from um-fault-stall.",
    },
    nearly_full = {
      default = 0.85,
      unit = "fraction",
      doc = "Share of the device's memory in use at the peak, from which PyTorch's allocator may \z
        release cached blocks to find larger ones. Chosen.",
    },
  },
  messages = {
    churn = "{allocations} and {frees} {a_step}{where}, most of the time in `{call}`, leave the \z
      GPU idle for {idle:lost} of {each_step} ({share:fraction}).",
    trims = "{allocations} and {frees} {a_step}{where}: `{call}` takes memory from the system, \z
      and each synchronization returns the pool's free memory to it, {trimming:ns} after the GPU \z
      has finished. Meanwhile the GPU is idle for {idle:lost} of {each_step} ({share:fraction}).",
  },
  headlines = {
    churn = "{whose} makes {allocations} and {frees} {a_step}",
    trims = "The memory pool gives its memory back at each synchronization",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the host is inside `cudaMalloc`, \z
      `cudaFree`, `cudaMallocManaged`, `cudaHostAlloc`, a stream-ordered form (`cudaMallocAsync`) \z
      or a driver form of them, within the steps. If memory is freed in stream order, it adds the \z
      rest of a synchronization after the GPU has finished, if the host is in the driver (ioctl) \z
      for most of it: that is how long returning the pool's memory to the system takes. Without \z
      steps it leaves out what may be the program's start or end, and single long calls that set \z
      something up.",
    why = "Each such call takes 10 us to milliseconds and maps memory, and `cudaFree` waits for \z
      the device: the GPU runs out of work each time. A caching allocator asks the driver for \z
      nothing once training is under way.",
    fix = "In PyTorch leave the caching allocator on (no `PYTORCH_NO_CUDA_MEMORY_CACHING`), take \z
      `torch.cuda.empty_cache()` out of the loop, and near the memory limit set \z
      `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` or `garbage_collection_threshold` \z
      (PyTorch notes, CUDA semantics). In CUDA use `cudaMallocAsync` with a release threshold, \z
      RMM's pool, or allocate once. Pin host buffers once and keep them.",
    wrong = "The first steps allocate what later ones reuse; a batch of a new largest size does \z
      so later. What happens in fewer than half of the steps, and not all through the recording, \z
      is therefore a note.",
  },
  advice = {
    {
      when = "pool",
      "Let the memory pool keep its memory{.}: `cudaDeviceGetDefaultMemPool(&pool, device); \z
        uint64_t keep = UINT64_MAX; cudaMemPoolSetAttribute(pool, \z
        cudaMemPoolAttrReleaseThreshold, &keep)`. By default it returns unused memory to the \z
        system at each synchronization, and maps it again afterwards.",
    },
    {
      when = "managed",
      pytorch = "Use PyTorch's caching allocator{.}: not one that calls `cudaMallocManaged` for \z
        each tensor (`torch.cuda.memory.CUDAPluggableAllocator`).",
      cupy = "Take managed memory from a pool{.}: \z
        `cupy.cuda.set_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc)`.",
      cuda = "Allocate managed memory once and keep it{.}: or take it from a pool (RMM \z
        `pool_memory_resource` over `managed_memory_resource`).",
    },
    {
      when = "pinned",
      pytorch = "Pin host buffers once, outside the loop{.}: `tensor.pin_memory()` in the loop \z
        calls `cudaHostAlloc` each time; `DataLoader(pin_memory=True)` keeps a cache.",
      cuda = "Pin host buffers once and keep them{.}: then reuse them.",
    },
    {
      when = "grows",
      directives = "Put a data region around the loop{.}: memory is now allocated for each \z
        parallel region, and kept. OpenACC: acc data copyin, create; OpenMP: target data map.",
      pytorch = "Let warm-up see the largest batch{.}: memory grows and little is freed, so the \z
        allocator is still collecting what it needs. Or set \z
        `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.",
      cuda = "Allocate what the loop needs once, before it{.}: memory grows and little is freed.",
    },
    {
      when = "retries",
      pytorch = {
        training = "Use less memory{.}: {failed:an allocation fails|# allocations fail}, and the \z
          allocator then gives all its cached blocks back and asks again. \z
          `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` wastes less; else a smaller \z
          micro-batch, activation checkpointing, or sharded state.",
        cuda = "Use less memory{.}: {failed:an allocation fails|# allocations fail}, and the \z
          allocator then gives all its cached blocks back and asks again. \z
          `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` wastes less; else a smaller batch.",
      },
      cuda = "Use less memory{.}: {failed:an allocation fails|# allocations fail}, and what is \z
        freed then is allocated again. A smaller batch or problem, or buffers that are shared.",
    },
    {
      when = "freed",
      pytorch = "Take `torch.cuda.empty_cache()` out of the loop{.}: and `gc.collect()` with it. \z
        Unset `PYTORCH_NO_CUDA_MEMORY_CACHING`.",
      jax = "Let the allocator keep its memory{.}: no `XLA_PYTHON_CLIENT_ALLOCATOR=platform`. \z
        Donate buffers (`donate_argnums`) that are not used again.",
      cupy = "Keep CuPy's memory pool{.}: no `set_allocator(None)` and no `free_all_blocks()` in \z
        the loop. Write into existing arrays (`out=`).",
      numba = "Allocate arrays once and keep them{.}: `cuda.device_array`, and pass those to the \z
        kernels. A host array that is passed is allocated and copied at each call.",
      rapids = "Take memory from a pool{.}: `rmm.reinitialize(pool_allocator=True)`.",
      julia = "Allocate arrays once and keep them{.}: and write into them (A .= ...). \z
        `CUDA.unsafe_free!` frees early.",
      directives = "Keep data on the device{.}: in a data region around the loop (OpenACC: data \z
        create; OpenMP: target data `map(alloc:)`), instead of one for each kernel.",
      cuda = "Allocate once and keep the memory{.}: or use `cudaMallocAsync` and `cudaFreeAsync` \z
        with `cudaMemPoolAttrReleaseThreshold`. Keep libraries' handles, plans and workspaces as \z
        well.",
    },
    {
      when = "nearly_full",
      pytorch = {
        training = "Memory is nearly full ({peak} of {memory} GiB), so the allocator releases \z
          cached blocks to find larger ones{.}: \z
          `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, a smaller micro-batch or activation \z
          checkpointing end that.",
        cuda = "Memory is nearly full ({peak} of {memory} GiB), so the allocator releases cached \z
          blocks to find larger ones{.}: `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` or a \z
          smaller batch ends that.",
      },
    },
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local found = trace:fact "steps.found" == 1
    local waits = trace:idle { cause = "allocation" }
    -- Without steps, allocations at the start are not those of a loop, and setting up a pool or a
    -- context takes far longer than what recurs.
    if not found then
      if waits:at_start_or_end() then return {} end
      local half, usual = waits:sum "duration_ns" / 2, 0
      for _, row in ipairs(waits:top(1000)) do
        if half > 0 then
          half, usual = half - row.duration_ns, row.duration_ns
        end
      end
      waits = waits:where { max_ns = options.set_up * usual }
    end
    -- Without operating-system calls, a synchronization that returns memory looks like any other.
    local trims = trace:idle { cause = "sync" }
    local driver = trace:os_calls { name = "ioctl" }
    trims = trace:calls { class = "allocation", name = "*FreeAsync*" }:count() > 0
        and trims:minus(trims:exposed(driver))
      or trims:minus(trims)
    local trimming = trims:union_ns()
    local idle = waits:plus(trims):union_ns()
    local share = idle / total
    if waits:count() == 0 or share < options.share then return {} end

    -- Calls of the threads that launch where the GPU idles, counted for each rank that makes them.
    local devices, threads = waits:group("device", 1000), {}
    for _, device in ipairs(devices) do
      for _, thread in
        ipairs(trace:idle { device = tonumber(device.key) }:group("thread", 1000))
      do
        threads[#threads + 1] = thread.key
      end
    end
    local own_steps = steps * #devices / trace:fact "device.count"
    local calls = trace:calls { class = "allocation", thread = threads }
    local frees = calls:where { name = { "*Free*", "*Release*", "*Unmap*", "*Unregister*" } }
    local allocations = calls:minus(frees)
    local managed = 2 * allocations:where { name = "*Managed*" }:count() > allocations:count()
    local faults = trace:available "gpu_faults" and trace:gpu_faults():union_ns() / total or 0
    local all_steps = trace:steps()
    local all, without = 0, 0
    for _, device in ipairs(devices) do
      local here = all_steps:where { device = tonumber(device.key) }
      all, without = all + here:count(), without + here:exposed(waits, 1):count()
    end
    local function often(selection, what)
      local count = selection:count() / own_steps
      return string.format(
        count > 0 and count < constants.one_digit_below and count % 1 ~= 0 and "%.1f %s%s"
          or "%.0f %s%s",
        count,
        what,
        count == 1 and "" or "s"
      )
    end
    local call = waits:group("name")[1].key
    -- An allocator that finds no memory frees what it has kept, and asks again.
    local failed = 0
    for _, failure in ipairs(trace:failed_calls()) do
      if failure.class == "allocation" then
        failed = failed + calls:minus(calls:minus(failure.rows)):count()
      end
    end
    local change = { { drop = calls } }
    if trimming > 0 then
      change[2] = { pause = trims, by = trims:exposed_ns(driver) / trimming }
    end
    -- What most allocations are for.
    local kind = "freed"
    if call:glob "*Async" then
      kind = "pool"
    elseif managed then
      kind = "managed"
    elseif 2 * allocations:where { name = { "*Host*" } }:count() > allocations:count() then
      kind = "pinned"
    elseif failed > 0 then
      kind = "retries"
    elseif 2 * frees:count() < allocations:count() then
      kind = "grows"
    end
    local peak, memory = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    return {
      {
        subject = managed and "managed allocations" or "allocations",
        message = trimming > 0 and "trims" or "churn",
        data = {
          whose = trace:fact "steps.found" == 1 and "The loop" or "The program",
          allocations = often(allocations, "allocation"),
          frees = often(frees, "free"),
          where = #devices < trace:fact "device.count"
              and string.format(" on %d of %d GPUs", #devices, trace:fact "device.count")
            or "",
          call = call,
          failed = failed,
          trimming = trimming / steps,
          idle = idle / steps,
          share = share,
          peak = peak and string.format("%.1f", peak / 2 ^ 30),
          memory = memory and string.format("%.0f", memory / 2 ^ 30),
        },
        recoverable_ns = idle,
        change = change,
        at_most = found and 2 * without > all and not waits:throughout() and "note" or nil,
        -- PyTorch was told not to keep memory: that is why.
        follows_from = trace:is "pytorch"
            and trace:environment "PYTORCH_NO_CUDA_MEMORY_CACHING"
            and "harmful-environment"
          or managed and faults >= options.fault_share and "um-fault-stall"
          or nil,
        metrics = {
          {
            name = "idle in allocations",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = waits:evidence { most = 5 },
        seen = {
          [kind] = true,
          nearly_full = kind == "freed"
            and peak
            and memory
            and peak > options.nearly_full * memory,
        },
      },
    }
  end,
}

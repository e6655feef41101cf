local constants = {
  whole = 0.95, -- copies a step from which their number is shown without digits
}

return {
  id = "sync-memcpy",
  category = "memory",
  title = "Synchronous copies stop the host and leave the GPU idle",
  since = "0.1",
  needs = { "kernels", "copies", "calls" },
  warning_at = 0.03,
  options = {
    share = {
      default = 0.03,
      unit = "fraction",
      doc = "Reported from this share of the step: time in which the GPU is idle while the host \z
        is in a synchronous copy or memset.",
    },
    least = {
      default = 10,
      unit = "count",
      doc = "Fewer such calls in the whole recording are set-up or results, however long they \z
        take.",
    },
    min_bytes = {
      default = 65537,
      unit = "bytes",
      doc = "Copies from this size on through pageable memory belong to pageable-memcpy; as there.",
    },
    value_bytes = {
      default = 64,
      unit = "bytes",
      doc = "Copies to the host up to this size are single values: a flag or a sum.",
    },
    one_value = {
      default = 0.9,
      unit = "count",
      doc = "Single values a step from which they are read in each step: all but the first or the \z
        last.",
    },
    several_values = {
      default = 2,
      unit = "count",
      doc = "And from which the advice is to read them together, even if most copies are larger.",
    },
  },
  messages = {
    copies = "{count:# synchronous copy or memset|# synchronous copies or memsets} {a_step} \z
      (mostly `{call}`) {count:blocks the host until it is|block the host until they are} done. \z
      Meanwhile, and until the host goes on, the GPU is idle for {idle:lost} of {each_step} \z
      ({share:fraction}).",
  },
  headlines = {
    copies = "{count:# synchronous copy or memset blocks|# synchronous copies or memsets block} \z
      the host {a_step}",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the host is inside `cudaMemcpy`, \z
      `cudaMemset` or another copy that returns only when it is done. The copy itself is not \z
      counted: it is the GPU's work. Copies of offloaded tensors belong to offload-sync-gap, \z
      those of more than 64 KiB through pageable memory to pageable-memcpy, those of data that \z
      could stay on the device to resident-data.",
    why = "A synchronous copy waits for all work before it and lets none be queued behind it: the \z
      GPU idles before and after it, however small the copy is.",
    fix = "`cudaMemcpyAsync` and `cudaMemsetAsync` on the stream of the kernels, from pinned \z
      memory (`cudaMallocHost`); `cudaMemcpyFromSymbolAsync` for symbols. In PyTorch \z
      `tensor.to(device, non_blocking=True)` from pinned memory (CUDA best practices guide: \z
      asynchronous transfers). Keep flags on the device, or check them every few iterations.",
    wrong = "The result of a computation has to be awaited somewhere. A copy from the device to \z
      itself with `cudaMemcpy` does not stop the host.",
  },
  advice = {
    {
      when = "mostly_values",
      "Let the device decide, or look every few iterations{.}: {values:one copy|# copies} to the \z
        host {a_step} {values:is|are} of 64 bytes or less, {values:a flag or a sum|flags or \z
        sums}.",
    },
    {
      pytorch = "Copy asynchronously{.}: `pin_memory=True` and `.to(device, non_blocking=True)`, \z
        with one wait where the result is needed.",
      cupy = "Copy asynchronously{.}: from and to pinned memory (`cupyx.empty_pinned`), \z
        `array.set(x, stream=s)` and `array.get(stream=s, out=pinned)`, with one wait where the \z
        result is needed.",
      numba = "Copy asynchronously{.}: `cuda.to_device(x, stream=s)` and `copy_to_host(pinned, \z
        stream=s)` with `cuda.pinned_array`, and one wait where the result is needed.",
      openacc = "Copy asynchronously{.}: update ... `async(queue)`, with one wait where the \z
        result is needed, and a data region so that little is copied at all.",
      openmp = "Copy asynchronously{.}: target update ... nowait, with one taskwait where the \z
        result is needed, and a data region so that little is copied at all.",
      cuda = "Copy asynchronously{.}: `{async}` on the stream of the kernels, from and to pinned \z
        memory (`cudaMallocHost`), with one wait where the result is needed.",
    },
    {
      when = "some_values",
      "Let the device decide, or look every few iterations{.}: {values:one copy|# copies} to the \z
        host {a_step} {values:is|are} of 64 bytes or less, {values:a flag or a sum|flags or \z
        sums}.",
    },
  },
  evaluate = function(trace, options)
    local copies = trace:calls { class = "copy_sync" }
    if copies:count() == 0 or copies:count() < options.least then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local names = {}
    for _, group in ipairs(copies:group "name") do
      names[#names + 1] = group.key
    end
    local waits = trace:idle { cause = "sync", name = names }
    local offloaded, pairs_found = trace:round_trips()
    if pairs_found >= 2 * steps then
      waits =
        waits:minus(waits:where { after = offloaded }):minus(waits:where { before = offloaded })
    end
    -- Copies of tensors in pageable memory belong to pageable-memcpy, those of data that could
    -- stay on the device to resident-data.
    local large = trace
      :ops { kind = "copy", memory = "pageable", min_bytes = options.min_bytes }
      :plus((require "residency"(trace)))
    waits = waits:minus(waits:where { after = large }):minus(waits:where { before = large })
    local idle = waits:union_ns()
    local share = idle / total
    if idle == 0 or share < options.share then return {} end

    local call = waits:group("name")[1].key
    -- Flags and sums: asynchronous copies do not help, since the host waits for them; most need
    -- not be copied at all.
    local values =
      trace:ops { kind = "copy", direction = "d2h", max_bytes = options.value_bytes }
    local small, nothing = values:count() / steps, values:minus(values)
    local mostly = 2 * values:count() > copies:count()
    return {
      {
        subject = call,
        message = "copies",
        data = {
          count = string.format(
            copies:count() < constants.whole * steps and "%.1f" or "%.0f",
            copies:count() / steps
          ),
          call = call,
          idle = idle / steps,
          share = share,
          values = string.format("%.0f", small),
          async = call:starts_with "cuda" and call .. "Async" or "cudaMemcpyAsync",
        },
        recoverable_ns = idle,
        -- Without steps they are results.
        change = {
          { remove = trace:fact "steps.found" == 1 and values or nothing },
          { unblock = copies },
        },
        about = true,
        metrics = {
          {
            name = "idle in synchronous copies",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = waits:evidence { most = 5 },
        seen = {
          mostly_values = small >= options.one_value and mostly,
          some_values = not mostly and small >= options.several_values,
        },
      },
    }
  end,
}

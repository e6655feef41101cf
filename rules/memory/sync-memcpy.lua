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
      doc = "Reported from this share of the step: what waiting in a synchronous copy or memset \z
        costs.",
    },
    least = {
      default = 10,
      unit = "count",
      doc = "Fewer such calls in the whole recording are set-up or results, however long they \z
        take.",
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
      If the host did not wait it could launch ahead, which saves {idle:lost} of {each_step} \z
      ({share:fraction}).",
  },
  headlines = {
    copies = "{count:# synchronous copy or memset blocks|# synchronous copies or memsets block} \z
      the host {a_step}",
  },
  doc = {
    what = "Replays the steps with and without the host's waits in `cudaMemcpy`, `cudaMemset` or \z
      another copy that returns only when it is done. The copy itself is not counted: it is the \z
      GPU's work. Copies of offloaded tensors belong to offload-sync-gap, those of more than 64 \z
      KiB through pageable memory to pageable-memcpy, those of data that could stay on the device \z
      to resident-data.",
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
    local copies, waited =
      trace:host_waits { on = { "work", "result", "upload" }, class = { "copy_sync" } }
    if copies:count() == 0 or copies:count() < options.least then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    -- Flags and sums: asynchronous copies do not help, since the host waits for them.
    local results = waited:where { direction = "d2h" }
    local values = results:where { max_bytes = options.value_bytes }
    local small = values:count() / steps
    local change = { { unblock = copies } }
    local call = copies:group("name")[1].key
    local lost = trace:saves_ns(change)
      or trace:idle({ cause = "sync", name = call }):union_ns()
    local share = lost / total
    if lost == 0 or share < options.share then return {} end

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
          idle = lost / steps,
          share = share,
          values = string.format("%.0f", small),
          async = call:starts_with "cuda" and call .. "Async" or "cudaMemcpyAsync",
        },
        recoverable_ns = lost,
        -- Without steps they are results.
        change = results:count() == values:count() and change or nil,
        -- Data that could stay on the device is not copied at all.
        follows_from = 2 * waited:minus(waited:minus((require "residency"(trace)))):count()
              > waited:count()
            and "resident-data"
          or nil,
        -- What is more than a flag or a sum may be what the host works on next: a limit, and no
        -- forecast.
        about = results:count() == values:count(),
        metrics = {
          {
            name = "saved without the waits",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = copies:evidence { most = 5 },
        seen = {
          mostly_values = small >= options.one_value and mostly,
          some_values = not mostly and small >= options.several_values,
        },
      },
    }
  end,
}

return {
  id = "sync-memcpy",
  category = "memory",
  title = "Synchronous copies stop the host and leave the GPU idle",
  since = "0.1",
  needs = { "kernels", "copies", "calls" },
  warning_at = 0.03,
  options = {
    share = { default = 0.03, unit = "fraction", doc = "Reported from this share of the step: time in which the GPU is idle while the host is in a synchronous copy or memset." },
    least = { default = 10, unit = "count", doc = "Fewer such calls in the whole recording are set-up or results, however long they take." },
  },
  messages = {
    copies = "{count:# synchronous copy or memset|# synchronous copies or memsets} {a_step} (mostly {call}) {count:blocks the host until it is|block the host until they are} done. Meanwhile, and until the host goes on, the GPU is idle for {idle:lost} of {each_step} ({share:fraction}).",
  },
  headlines = {
    copies = "{count:# synchronous copy or memset blocks|# synchronous copies or memsets block} the host {a_step}",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the host is inside cudaMemcpy, cudaMemset or another copy that returns only when it is done. The copy itself is not counted: it is the GPU's work. Copies of offloaded tensors belong to offload-sync-gap, those of more than 64 KiB through pageable memory to pageable-memcpy, those of data that could stay on the device to resident-data.",
    why = "A synchronous copy waits for all work before it and lets none be queued behind it: the GPU idles before and after it, however small the copy is.",
    fix = "cudaMemcpyAsync and cudaMemsetAsync on the stream of the kernels, from pinned memory (cudaMallocHost); cudaMemcpyFromSymbolAsync for symbols. In PyTorch tensor.to(device, non_blocking=True) from pinned memory (CUDA best practices guide: asynchronous transfers). Keep flags on the device, or check them every few iterations.",
    wrong = "The result of a computation has to be awaited somewhere. A copy from the device to itself with cudaMemcpy does not stop the host.",
  },
  evaluate = function(trace, options)
    local copies = trace:calls { class = "copy_sync" }
    if copies:count() == 0 or copies:count() < options.least then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local names = {}
    for _, group in ipairs(copies:group "name") do names[#names + 1] = group.key end
    local waits = trace:idle { cause = "sync", name = names }
    local offloaded, pairs_found = trace:round_trips()
    if pairs_found >= 2 * steps then waits = waits:minus(waits:where { after = offloaded }):minus(waits:where { before = offloaded }) end
    -- Copies of tensors in pageable memory belong to pageable-memcpy, those of data that could stay on the device to resident-data.
    local large = trace:ops { kind = "copy", memory = "pageable", min_bytes = 65537 }:plus((trace:residency()))
    waits = waits:minus(waits:where { after = large }):minus(waits:where { before = large })
    local idle = waits:union_ns()
    local share = idle / total
    if idle == 0 or share < options.share then return {} end

    local call = waits:group("name")[1].key
    local advice = { {
      pytorch = "Copy asynchronously: pin_memory=True and .to(device, non_blocking=True), with one wait where the result is needed.",
      cupy = "Copy asynchronously: from and to pinned memory (cupyx.empty_pinned), array.set(x, stream=s) and array.get(stream=s, out=pinned), with one wait where the result is needed.",
      numba = "Copy asynchronously: cuda.to_device(x, stream=s) and copy_to_host(pinned, stream=s) with cuda.pinned_array, and one wait where the result is needed.",
      openacc = "Copy asynchronously: update ... async(queue), with one wait where the result is needed, and a data region so that little is copied at all.",
      openmp = "Copy asynchronously: target update ... nowait, with one taskwait where the result is needed, and a data region so that little is copied at all.",
      cuda = string.format("Copy asynchronously: %s on the stream of the kernels, from and to pinned memory (cudaMallocHost), with one wait where the result is needed.", call:starts_with "cuda" and call .. "Async" or "cudaMemcpyAsync"),
    } }
    -- Flags and sums: asynchronous copies do not help, since the host waits for them; most need not be copied at all.
    local values = trace:ops { kind = "copy", direction = "d2h", max_bytes = 64 }
    local small, nothing = values:count() / steps, values:minus(values)
    if small >= 0.9 then
      local look = string.format("Let the device decide, or look every few iterations: %s to the host %s %s of 64 bytes or less, %s.", small < 1.5 and "one copy" or string.format("%.0f copies", small), trace:fact "unit.per", small < 1.5 and "is" or "are", small < 1.5 and "a flag or a sum" or "flags or sums")
      if small >= 2 or 2 * values:count() > copies:count() then table.insert(advice, 2 * values:count() > copies:count() and 1 or 2, look) end
    end
    return { {
      subject = call,
      message = "copies",
      data = { count = string.format(copies:count() < 0.95 * steps and "%.1f" or "%.0f", copies:count() / steps), call = call, idle = idle / steps, share = share },
      recoverable_ns = idle,
      -- Without steps they are results.
      change = { { remove = trace:fact "steps.found" == 1 and values or nothing }, { unblock = copies } },
      about = true,
      metrics = { { name = "idle in synchronous copies", value = share, unit = "fraction", threshold = options.share } },
      evidence = waits:evidence { most = 5 },
      advice = advice,
    } }
  end,
}

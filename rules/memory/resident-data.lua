local function has_directives(trace)
  return trace:is "directives" or trace:is "openacc" or trace:is "openmp"
end

-- Arrays that a directive compiler uploads again in every iteration, since no data region keeps
-- them: with an allocation for each, or
-- into memory that its runtime keeps.
local function regions(trace, options)
  if not has_directives(trace) or trace:fact "steps.found" == 0 then return nil end
  local total, steps = trace:total_ns(), trace:fact "steps.count"
  local often = options.often * steps
  local frees = { "*Free*", "*Release*", "*Unmap*", "*Unregister*" }
  local allocations = trace:calls { class = "allocation" }
  allocations = allocations:minus(allocations:where { name = frees })
  local made = allocations:count() >= often
  local uploads = trace:ops { kind = "copy", direction = "h2d" }
  uploads = uploads:minus((require "residency"(trace)))
  local again = uploads:minus(uploads)
  for _, size in ipairs(uploads:group("bytes", 1000)) do
    if size.count >= often then again = again:plus(size.rows) end
  end
  if again:count() == 0 then return nil end
  local names = {}
  for _, call in ipairs(again:calls():group "name") do
    names[#names + 1] = call.key
  end
  local idle = trace:idle { name = names }
  if made then idle = idle:plus(trace:idle { cause = "allocation" }) end
  local cost = again:exposed_ns(trace:ops { kind = "kernel" }) + idle:union_ns()
  local share = cost / total
  if share < options.share then return nil end
  local function often_said(count, what)
    return string.format("%.3g %s%s", count, what, count == 1 and "" or "s")
  end
  local change = { { scale = again, by = 0, least = 0, most = 1 } }
  if made then
    change = { { remove = again }, { drop = trace:calls { class = "allocation" } } }
  end
  return {
    subject = "arrays of parallel regions",
    message = made and "regions" or "uploads",
    data = {
      allocations = often_said(allocations:count() / steps, "allocation"),
      uploads = often_said(again:count() / steps, "upload"),
      bytes = again:sum "bytes" / steps,
      cost = cost / steps,
      share = share,
    },
    recoverable_ns = cost,
    change = change,
    about = true,
    uncertain = not made
        and "what the host changes in between has to be uploaded again; the report does not say \z
          which bytes are the same"
      or nil,
    confidence = not made and "medium" or nil,
    at_most = not made and "note" or nil,
    metrics = {
      {
        name = "allocating and uploading",
        value = share,
        unit = "fraction",
        threshold = options.share,
      },
    },
    evidence = made and idle:evidence { most = 3 } or again:evidence { most = 3 },
  }
end

return {
  id = "resident-data",
  category = "memory",
  title = "Data that could stay on the device crosses the link each step",
  since = "0.1",
  needs = { "kernels", "copies", "calls" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: such copies while nothing computes.",
    },
    often = {
      default = 0.9,
      unit = "count",
      doc = "In directive-based programs: uploads of one size, and allocations, a step, from \z
        which they belong to each step.",
    },
  },
  messages = {
    copies = "{bytes:bytes} {a_step} come back to the host and go up again within {gap:ns}, too \z
      soon for the host to have changed them: {exposed:lost} of {each_step} ({share:fraction}) is \z
      this copying while nothing computes. If it is the same data, it could stay on the device.",
    regions = "Each parallel region allocates and uploads its arrays again: {allocations} and \z
      {uploads} ({bytes:bytes}) {a_step} keep the GPU waiting for {cost:lost} of {each_step} \z
      ({share:fraction}).",
    uploads = "The same arrays, by their sizes, are uploaded in each {unit}: {uploads} \z
      ({bytes:bytes}) {a_step}, while nothing computes for {cost:lost} of {each_step} \z
      ({share:fraction}). What the host does not change in between could stay there.",
  },
  headlines = {
    copies = "{bytes:bytes} {a_step} go to the host and straight back",
    regions = "Each parallel region allocates and uploads its arrays again",
    uploads = "The same arrays are uploaded in each {unit}",
  },
  doc = {
    what = "Finds copies to the host after which as many bytes go up to the same device again, in \z
      the same stream, at least five times, and so soon that the host cannot have changed them in \z
      between (each byte read and written at 100 GB/s, what all cores of a socket do). In OpenACC \z
      and OpenMP programs also uploads of the same sizes in every iteration of the loop, however \z
      small, with an allocation for each; without the allocations it is a note, since the host \z
      may change the data.",
    why = "A link carries a fiftieth of what device memory does. Data that goes to the host and \z
      back between two kernels, and that nothing there looks at, travels for nothing.",
    fix = "Copy it to the device once before the loop and back once after it; fetch only what the \z
      host really reads in between. OpenACC: acc data around the loop; OpenMP: target data; \z
      numba: `cuda.to_device` once and pass the device array; CuPy: `cupy.asarray` once, `.get()` \z
      once.",
    wrong = "A report does not say whose bytes were copied. A program that sends one new piece \z
      after another through the device looks the same on one stream: its copies can at best hide \z
      behind kernels and each other. So the forecast ranges from nothing to all, and it is at \z
      most a warning except for programs whose compiler or library copies by itself. Programs \z
      with matrix multiplications belong to offload-sync-gap.",
  },
  advice = {
    {
      when = "copies",
      openacc = "Keep the data on the device{.}: a data region around the loop (acc data copy), \z
        and update only what the host really reads in between (acc update self).",
      openmp = "Keep the data on the device{.}: target data around the loop, and fetch only what \z
        the host really reads in between (target update from).",
      directives = "Keep the data on the device{.}: a data region around the loop (OpenACC: acc \z
        data; OpenMP: target data), and fetch only what the host really reads in between.",
      numba = "Keep the data on the device{.}: a host array passed to a kernel goes there and \z
        back at each call. Use `cuda.to_device` once before the loop, `copy_to_host` once after \z
        it.",
      cupy = "Keep the data on the device{.}: `cupy.asarray` once before the loop, `.get()` once \z
        after it.",
      jax = "Keep the data on the device{.}: `jax.device_put` once before the loop; `np.asarray` \z
        fetches, so only what the host really reads.",
      julia = "Keep the data on the device{.}: `CuArray(x)` once before the loop, `Array(y)` once \z
        after it.",
      pytorch = "Keep the tensors on the device{.}: `.to(device)` once before the loop, `.cpu()` \z
        once after it.",
      kokkos = "Keep the data on the device{.}: `Kokkos::deep_copy` once before the loop and once \z
        after it, not in between.",
      cuda = "Keep the data on the device{.}: copy it there once before the loop and back once \z
        after it, and fetch only what the host really reads in between.",
    },
    {
      when = "copies",
      "If each iteration really has new data{.}: pinned memory, and two streams in turn, so that \z
        uploads, kernels and downloads overlap.",
    },
    {
      unless = "copies",
      openacc = "Keep the arrays on the device{.}: a data region around the loop (acc data \z
        copyin, create), or enter data once before it, and present on the parallel regions \z
        inside; acc update device only for what the host has changed.",
      openmp = "Keep the arrays on the device{.}: target data `map(to:, alloc:)` around the loop, \z
        or target enter data once before it; target update to only for what the host has changed.",
      directives = "Keep the arrays on the device{.}: a data region around the loop (OpenACC: acc \z
        data; OpenMP: target data), or enter data once before it; update only what the host has \z
        changed.",
    },
  },
  evaluate = function(trace, options)
    local found = { regions(trace, options) }
    if
      trace:ops { class = { "gemm_*", "attention_fused" } }:count()
        + trace:ops { kind = "graph" }:count()
      > 0
    then
      return found
    end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local kernels = trace:ops { kind = "kernel" }
    local copies, _, gap = require "residency"(trace)
    if copies:count() == 0 or copies:at_start_or_end() then return found end
    local exposed = copies:exposed_ns(kernels)
    local share = exposed / total
    if share < options.share then return found end
    local by_itself = has_directives(trace) or trace:is "numba"
    found[#found + 1] = {
      subject = "data that comes and goes",
      message = "copies",
      data = {
        bytes = copies:where { direction = "d2h" }:sum "bytes" / steps,
        gap = gap,
        exposed = exposed / steps,
        share = share,
      },
      recoverable_ns = exposed,
      change = { { scale = copies, by = 0, least = 0, most = 1 }, { unblock = copies:calls() } },
      about = true,
      uncertain = "data that is new each time cannot stay; the report does not say which bytes \z
        are the same",
      confidence = "medium",
      at_most = not by_itself and "warning" or nil,
      metrics = {
        {
          name = "exposed copies of data that could stay",
          value = share,
          unit = "fraction",
          threshold = options.share,
        },
      },
      evidence = copies:evidence { most = 5 },
    }
    return found
  end,
}

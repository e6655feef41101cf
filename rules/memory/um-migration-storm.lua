-- Kernels that wait for pages which stay on the host, and what that costs.
local function afar_of(trace)
  local _, slower = require "pages_afar"(trace, trace:ops { kind = "kernel" })
  local lost, changes = 0, {}
  for _, kernel in ipairs(slower) do
    lost = lost + math.max(0, kernel.rows:own_ns() - kernel.rows:count() * kernel.fast_ns)
    changes[#changes + 1] = { scale = kernel.rows, by = kernel.fast_ns / kernel.slow_ns }
  end
  return slower[1], lost, changes
end

local keep_host_off =
  "Keep the host off these pages{.}: {down:bytes} {a_step} go back to it. Do on the GPU what the \z
    host does with them, or copy what it needs once."

return {
  id = "um-migration-storm",
  category = "memory",
  title = "Unified memory moves pages back and forth",
  since = "0.1",
  needs = { "kernels", "unified_copies" },
  options = {
    memory_share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the time of all GPU memory operations: migrations. \z
        NVIDIA's Grace Hopper talk: 1.1 % with LoRA was harmless, 9.8 % with full fine-tuning was \z
        not.",
    },
    step_share = {
      default = 0.01,
      unit = "fraction",
      doc = "And from this share of the step: with few memory operations at all, a large share of \z
        them is little.",
    },
    thrash_share = {
      default = 0.25,
      unit = "fraction",
      doc = "Share of migrated bytes in blocks that moved at least three times and both ways, \z
        from which the message says thrashing.",
    },
    fits = {
      default = 0.9,
      unit = "fraction",
      doc = "Share of the device's memory in use at the peak, up to which plain memory fits. \z
        Chosen: fragmentation takes the rest.",
    },
    filled = {
      default = 0.25,
      unit = "fraction",
      doc = "Without recorded faults: share of a kernel's time that migrations fill, from which \z
        it also waits for faults between them. Chosen.",
    },
    host_share = {
      default = 0.1,
      unit = "fraction",
      doc = "Share of this time in which the host touches pages, from which the message says so. \z
        Chosen.",
    },
  },
  factors = {
    driver = {
      by = 1,
      least = 0.7,
      most = 1,
      doc = "Host time next to migrations that nothing explains, without them.",
      source = "Chosen: how much recording page faults and the driver's work on them slow the \z
        host is unknown.",
    },
  },
  messages = {
    afar = "'`{slowest}`' takes {far:ns} in {far_runs} of its {runs} runs, where no page of \z
      unified memory comes to the GPU in the {unit}, and {near:ns} where one does: pages that go \z
      back and forth are most likely left on the host for a while, and kernels then reach them \z
      over the link. That takes {time:lost} of {each_step} ({share:fraction}), with the \z
      migrations and their page faults.",
    host = "{count:# migration moves|# migrations move} {bytes:bytes} {a_step}; they, and the \z
      page faults that cause them, take {time:lost} of {each_step} ({share:fraction}), \z
      {host_ns:ns} of it while the GPU idles and the host touches one page after the \z
      other{doing}.{thrash}",
    storm = "{count:# migration moves|# migrations move} {bytes:bytes} {a_step}; they, and the \z
      page faults that cause them, take {time:lost} of {each_step} ({share:fraction}).{thrash}",
  },
  headlines = {
    afar = "Kernels reach pages of unified memory on the host",
    host = "Unified memory migrates {bytes:bytes} {a_step}",
    storm = "Unified memory migrates {bytes:bytes} {a_step}",
  },
  doc = {
    what = "Measures the migrations of unified memory (by page fault, speculative prefetch, \z
      eviction or access counter; not those that the program asked for with a prefetch), together \z
      with the GPU page faults on the pages that move. If faults were not recorded, a kernel \z
      waits for its first page from its start: faults filled 98 % of that time where they were. \z
      Kernels that take three times as long or more in steps in which no page comes to the GPU \z
      wait for pages that were left on the host.",
    why = "A kernel that touches a page on the wrong side stops until the page has been moved, a \z
      few dozen kilobytes at a time. If host and device take turns, the same pages travel in \z
      every step.",
    fix = "Keep the host off the pages that the GPU works on (log norms on the device, update \z
      parameters there), or give each side its own copy. If taking turns is intended, move in \z
      bulk: `cudaMemPrefetchAsync` before the kernel and before the host's turn, and \z
      `cudaMemAdvise` with a preferred location and accessed-by. Put what fits into plain device \z
      memory: drop the managed allocator.",
    wrong = "A first pass over data that is then used for long is a start-up cost: without steps, \z
      the finding is about the whole window. On Grace Hopper system-allocated memory migrates \z
      without any rows in the report: finding nothing then proves nothing.",
  },
  advice = {
    {
      when = "afar",
      "Take what host and kernels both write out of managed memory{.}: pass parameters as kernel \z
        arguments, add results up in device memory (`cudaMalloc`), and copy them to pinned memory \z
        behind the kernels, to be read later. '`{slowest}`' then always takes about {near:ns}.",
    },
    { when = "mostly_down", unless = "afar", keep_host_off },
    "Move pages in bulk before they are needed{.}: `cudaMemPrefetchAsync` to the device before \z
      the kernels and to the host before its turn; `cudaMemAdvise` (preferred location, \z
      accessed-by) for pages that both only read.",
    { when = "down", unless = { "mostly_down", "afar" }, keep_host_off },
    {
      when = "fits",
      pytorch = "Use plain device memory, it fits ({peak} of {capacity} GiB are in use){.}: \z
        PyTorch's own caching allocator instead of a managed one. It never migrates.",
      cupy = "Use plain device memory, it fits ({peak} of {capacity} GiB are in use){.}: CuPy's \z
        own pool instead of one over `malloc_managed`. It never migrates.",
      directives = "Use plain device memory, it fits ({peak} of {capacity} GiB are in use){.}: \z
        separate memory and data regions: `-gpu=mem:separate`. It never migrates.",
      cuda = "Use plain device memory, it fits ({peak} of {capacity} GiB are in use){.}: \z
        `cudaMalloc`, or `cudaMallocAsync` with its pool. It never migrates.",
    },
    {
      unless = "fits",
      pytorch = "Use plain device memory if it fits{.}: PyTorch's own caching allocator instead \z
        of a managed one. It never migrates.",
      cupy = "Use plain device memory if it fits{.}: CuPy's own pool instead of one over \z
        `malloc_managed`. It never migrates.",
      directives = "Use plain device memory if it fits{.}: separate memory and data regions: \z
        `-gpu=mem:separate`. It never migrates.",
      cuda = "Use plain device memory if it fits{.}: `cudaMalloc`, or `cudaMallocAsync` with its \z
        pool. It never migrates.",
    },
    {
      when = "coherent",
      "On Grace Hopper memory from malloc can be read by the GPU in place over NVLink-C2C; such \z
        pages migrate by access counters without rows in a report.",
    },
    -- Adapters leave the weights where they are, and hardly any gradients and optimizer state
    -- travel.
    {
      training = "For fine-tuning, train adapters (LoRA) instead of all weights{.}: migrations \z
        then took 1.1 % of the time of memory operations, and 9.8 % with all weights (NVIDIA's \z
        talk on fine-tuning on Grace Hopper).",
    },
    {
      unless = "faults",
      nsys = "Record the faults as well{.}: `--cuda-um-gpu-page-faults=true \z
        --cuda-um-cpu-page-faults=true`. Without them this is only the time of the copies, and of \z
        each kernel before its first page comes.",
    },
  },
  evaluate = function(trace, options, factors)
    local all = trace:ops { direction = "um_*" }
    local moves =
      all:where { cause = { "fault", "speculative", "eviction", "access_counter", "" } }
    if moves:count() == 0 then
      if trace:fact "device.coherent" == 1 then
        return nil,
          "on this GPU memory from malloc migrates by access counters, which a report does not \z
            record: that there are none proves nothing",
          ""
      end
      return {}
    end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local memory = trace:ops { kind = { "copy", "set" } }:sum "duration_ns"
    local memory_share = moves:sum "duration_ns" / memory
    local move_ns = moves:union_ns()
    local slowest, afar_ns, nearer = afar_of(trace)
    local afar = slowest and afar_ns / total >= options.step_share
    local many = memory_share >= options.memory_share and move_ns / total >= options.step_share
    if not many and not afar then return {} end

    local faults_known = trace:available "gpu_faults"
    local faults = trace:gpu_faults { migrating = true }
    local time, stalls = move_ns + faults:exposed_ns(moves), { moves, faults }
    -- The GPU waits for the host, which touches one page after the other.
    local touched = trace:idle { cause = "faults" }
    local touched_ns = touched:union_ns()
    time = time + touched_ns
    if afar then time = time + afar_ns end
    local share = time / total
    local doing = touched:group("doing", 1)[1]
    doing = doing
        and 2 * doing.sum_ns > touched_ns
        and doing.key ~= ""
        and string.format(", in '`%s`'", doing.key:short())
      or ""
    local thrashed = trace:fact "um.thrashed_fraction"
    local thrash = thrashed and thrashed >= options.thrash_share
    local downward = moves:where { direction = "um_d2h" }
    local down = downward:sum "bytes"
    local peak, capacity = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    local fits = peak and capacity and peak < options.fits * capacity
    -- If no faults were recorded: a kernel that migrations fill for so much of its time also waits
    -- for faults between them,
    -- at most for all of its time.
    local kernels = trace:ops { kind = { "kernel", "set" } }
    local stalled = faults_known and kernels:minus(kernels)
      or kernels:minus(kernels:exposed(moves, 1 - options.filled))
    local changes = {
      { shorten = kernels, stalls = stalls },
      { scale = stalled, by = 1, least = 0 },
      { pause = moves },
      { pause = touched },
      {
        pause = trace
          :idle { after = moves }
          :plus(trace:idle { before = moves })
          :where { cause = "unknown" },
        factor = factors.driver,
      },
    }
    for _, change in ipairs(afar and nearer or {}) do
      changes[#changes + 1] = change
    end
    local causes = {}
    for _, group in ipairs(moves:group "cause") do
      causes[#causes + 1] =
        string.format("%s %d", group.key == "" and "unknown cause" or group.key, group.count)
    end
    return {
      {
        subject = "unified memory",
        message = afar and "afar"
          or touched_ns > options.host_share * time and "host"
          or "storm",
        data = {
          count = math.floor(moves:count() / steps + 0.5),
          bytes = moves:sum "bytes" / steps,
          time = time / steps,
          share = share,
          host_ns = touched_ns / steps,
          doing = doing,
          down = down / steps,
          slowest = afar and slowest.name:short(),
          far = afar and slowest.slow_ns,
          near = afar and slowest.fast_ns,
          far_runs = afar and string.format("%d", slowest.rows:count()),
          runs = afar and string.format("%d", slowest.runs),
          peak = peak and string.format("%.1f", peak / 2 ^ 30),
          capacity = capacity and string.format("%.0f", capacity / 2 ^ 30),
          thrash = thrash
              and string.format(
                " %.0f %% of the bytes thrash: the same blocks move three times or more, both \z
                  ways.",
                thrashed * 100
              )
            or "",
        },
        about = true,
        confidence = afar and "medium" or nil,
        recoverable_ns = time,
        change = changes,
        uncertain = stalled:count() > 0
            and "how long kernels waited for faults between the migrations was not recorded"
          or "how much recording page faults slows the host is unknown",
        metrics = {
          {
            name = "share of GPU memory operations",
            value = memory_share,
            unit = "fraction",
            threshold = options.memory_share,
          },
          {
            name = "migrations and their faults",
            value = share,
            unit = "fraction",
            threshold = options.step_share,
          },
        },
        evidence = moves:evidence {
          most = 5,
          note = "migrations by cause: " .. table.concat(causes, ", "),
        },
        seen = {
          afar = afar,
          down = down > 0,
          mostly_down = 2 * (downward:union_ns() + touched_ns) > time,
          fits = fits,
          coherent = trace:fact "device.coherent" == 1,
          faults = faults_known,
        },
      },
    }
  end,
}

local ways = {
  h2d = "to the device",
  d2h = "to the host",
  p2p = "between devices",
  um_h2d = "to the device",
  um_d2h = "to the host",
  um_d2d = "between devices",
}
local kinds = { h2d = "uploads", d2h = "downloads", p2p = "peers" } -- the others migrate

-- The finding on copies that kernels hide too little of; nil if that is little of the step.
-- `touched`: copies that the host works on in between; what depends on that cannot hide.
local function finding(trace, options, factors, copies, prefetched, touched)
  local total, steps = trace:total_ns(), trace:fact "steps.count"
  local kernels = trace:ops { kind = { "kernel", "graph" } }
  copies = copies:exposed(kernels, 1 - options.hidden_share)
  local exposed = copies:exposed_ns(kernels)
  local share = exposed / total
  if exposed == 0 or share < options.share then return nil end
  local rate = copies:sum "bytes" / (copies:sum "duration_ns" / 1e9)
  -- Copies can hide behind kernels for as long as these run alone. Where that is little, only less
  -- data saves more.
  local room =
    kernels:exposed_ns(trace:ops { kind = "copy", direction = { "h2d", "d2h", "p2p" } })
  local little_room = 2 * room < exposed
  local less = little_room and not prefetched
  local in_turn = copies:minus(touched):count() < copies:count()
  local groups = copies:group "direction"
  local direction = groups[1].key
  local both_ways = groups[1].sum_ns < options.one_way * copies:sum "duration_ns"
  local up, down = copies:where { direction = "h2d" }, copies:where { direction = "d2h" }
  local in_series = math.min(up:exposed_ns(down), down:exposed_ns(up)) >= options.share * total
  local engines = trace:fact "device.copy_engines"
  local link = not prefetched and direction ~= "p2p" and trace:fact "device.link_bytes_per_s"
    or nil
  local change
  if less then
    change = { { scale = copies, factor = factors.less } }
  elseif not prefetched and not in_turn and room >= exposed then
    change = { { overlap = copies } }
  end
  return {
    subject = (prefetched and "prefetches " or "copies ") .. ways[direction],
    message = prefetched and "prefetched" or less and "bound" or "alone",
    data = {
      bytes = copies:sum "bytes" / steps,
      direction = both_ways and "in both directions" or ways[direction],
      exposed = exposed / steps,
      share = share,
      rate = rate,
      link = link and string.format(" over a link of about %.0f GB/s", link / 1e9) or "",
      room = room / steps,
      engine = both_ways
          and engines == 1
          and " This GPU has one copy engine: its uploads and downloads take turns."
        or "",
    },
    recoverable_ns = less and (1 - factors.less.by) * exposed or math.min(exposed, room),
    change = change,
    about = less or nil,
    uncertain = less and "how much of this data has to be sent is unknown" or nil,
    at_most = less and "warning" or nil,
    -- What is missing there is a data region.
    follows_from = not prefetched
        and in_turn
        and (trace:is "directives" or trace:is "openacc" or trace:is "openmp")
        and "resident-data"
      or nil,
    metrics = {
      {
        name = prefetched and "exposed prefetches" or "exposed copies",
        value = share,
        unit = "fraction",
        threshold = options.share,
      },
      { name = "bandwidth", value = rate, unit = "bytes/s", threshold = link },
    },
    evidence = copies:evidence { most = 5 },
    seen = {
      little_room = less,
      in_series = less and in_series and engines ~= 1,
      coherent = trace:fact "device.coherent" == 1,
      [kinds[direction] or "migrates"] = true,
    },
  }
end

return {
  id = "exposed-memcpy",
  category = "memory",
  title = "Copies run while nothing computes",
  since = "0.1",
  needs = { "kernels", "copies" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: such copies while nothing computes.",
    },
    min_ns = {
      default = 100000,
      unit = "ns",
      doc = "Shorter copies, and shorter rows of them on a stream, are not worth a separate \z
        stream (RATELProf: 100 us).",
    },
    hidden_share = {
      default = 0.5,
      unit = "fraction",
      doc = "A copy that kernels hide more of than this is fine (RATELProf).",
    },
    one_way = {
      default = 0.75,
      unit = "fraction",
      doc = "Share of the copies' time in one direction, below which the message says both. \z
        Chosen.",
    },
  },
  factors = {
    less = {
      by = 0.5,
      least = 0,
      most = 1,
      doc = "Time of copies that no kernel can hide, once less is sent.",
      source = "Chosen: half precision instead of single halves it; what stays on the device is \z
        not sent at all, and what is new each time and already small stays.",
    },
  },
  messages = {
    prefetched = "{bytes:bytes} {a_step} of unified memory are prefetched {direction} while \z
      nothing computes: {exposed:lost} of {each_step} ({share:fraction}), at {rate:bytes/s}.",
    alone = "{bytes:bytes} {a_step} are copied {direction} while nothing computes: {exposed:lost} \z
      of {each_step} ({share:fraction}), at {rate:bytes/s}{link}.",
    bound = "{bytes:bytes} {a_step} are copied {direction} while nothing computes: {exposed:lost} \z
      of {each_step} ({share:fraction}), at {rate:bytes/s}{link}. The kernels that could still \z
      hide some of it take {room:ns}.{engine}",
  },
  headlines = {
    prefetched = "{bytes:bytes} {a_step} are prefetched {direction} while nothing computes",
    alone = "{bytes:bytes} {a_step} are copied {direction} while nothing computes",
    bound = "{bytes:bytes} {a_step} cross the link while nothing computes",
  },
  doc = {
    what = "Finds copies over a link (host to device, device to host, device to another GPU) that \z
      kernels hide less than half of and that take 100 us or more, alone or with their neighbors \z
      on the stream; and migrations of unified memory that the program asked for with a prefetch. \z
      Copies can hide only as long as kernels run alone, and nothing is forecast for data that \z
      the host works on in between. Data that could stay on the device (resident-data), copies of \z
      offloaded tensors, through pageable memory, of a checkpoint, and other migrations belong to \z
      other rules. If the kernels are shorter than half of the copies, these cannot hide, and the \z
      forecast is of sending less.",
    why = "Copy engines work in parallel with the SMs: a copy costs time only if nothing runs \z
      meanwhile, as when it is queued on the stream of the kernels.",
    fix = "Issue it early, on a separate stream, from pinned memory: the next batch's \z
      `.to(device, non_blocking=True)` under `torch.cuda.stream(side)` before this step's \z
      forward, with `wait_stream` and `record_stream` where it is used (the prefetcher of \z
      NVIDIA's PyTorch examples). CUDA best practices guide: asynchronous transfers and \z
      overlapping them with computation. The same goes for a prefetch of unified memory: \z
      `cudaMemPrefetchAsync` on another stream, a layer or a batch ahead. Or send less: integers \z
      and half precision instead of floats, augmentation on the GPU.",
    wrong = "A copy that everything after it depends on, and that cannot be known earlier, cannot \z
      be hidden. Uploads before the first step are start-up: without steps the finding is about \z
      the whole window.",
  },
  advice = {
    {
      when = "in_series",
      "Let uploads and downloads overlap{.}: the link carries both directions at once. Where \z
        parts are independent, two streams in turn do, with pinned memory.",
    },
    {
      when = "little_room",
      pytorch = "Send less, or keep on the device what is sent repeatedly{.}: `.to(device)` once \z
        before the loop; bytes, token ids or half precision instead of floats, converted on the \z
        GPU; what is only summed or logged reduced there before it comes back.",
      openacc = "Send less, or keep on the device what is sent repeatedly{.}: a data region \z
        around the loop (acc data), and update only what the host or the device has changed.",
      openmp = "Send less, or keep on the device what is sent repeatedly{.}: target data around \z
        the loop, and update only what the host or the device has changed.",
      directives = "Send less, or keep on the device what is sent repeatedly{.}: a data region \z
        around the loop (OpenACC: acc data; OpenMP: target data), and update only what the host \z
        or the device has changed.",
      cuda = "Send less, or keep on the device what is sent repeatedly{.}: copy what does not \z
        change once before the loop; half precision or integers instead of floats, or compressed \z
        data (nvCOMP), expanded on the GPU; results reduced there before they come back.",
    },
    {
      when = "migrates",
      unless = "little_room",
      "Prefetch earlier and on another stream{.}: `cudaMemPrefetchAsync` of the next part on a \z
        side stream while this one computes, with `cudaStreamWaitEvent` before the first kernel \z
        that uses it.",
    },
    {
      when = "migrates",
      unless = "little_room",
      "Prefetch less{.}: keep what fits on the device (`cudaMemAdvise` with it as preferred \z
        location, or plain device memory), and let the host read in place (accessed-by) or from a \z
        copy.",
    },
    {
      when = "uploads",
      unless = "little_room",
      pytorch = "Upload the next batch while this one computes{.}: `.to(device, \z
        non_blocking=True)` from pinned memory on a side stream (`torch.cuda.Stream`), with \z
        `wait_stream` and `record_stream` where it is used.",
      jax = "Upload the next batch while this one computes{.}: `jax.device_put` returns at once, \z
        so call it for the next one before this one's results are read.",
      cupy = "Upload the next input while this one computes{.}: `cupy.asarray` under a separate \z
        stream, from pinned memory (`cupyx.empty_pinned`), with an event where it is used.",
      numba = "Upload the next input while this one computes{.}: `cuda.to_device(pinned, \z
        stream=side)`, from `cuda.pinned_array`, with an event where it is used.",
      tensorrt = "Upload the next input while this one computes{.}: `cudaMemcpyAsync` from pinned \z
        memory on a separate stream, and two execution contexts in turn.",
      openacc = "Upload the next part while this one computes{.}: update `device(...)` \z
        `async(queue)`, with two queues in turn.",
      openmp = "Upload the next part while this one computes{.}: target update `to(...)` nowait, \z
        with dependences.",
      cuda = "Upload the next part while this one computes{.}: `cudaMemcpyAsync` from pinned \z
        memory (`cudaHostAlloc`) on a separate stream, and `cudaStreamWaitEvent` before the \z
        kernel that uses it.",
    },
    {
      when = "uploads",
      unless = "little_room",
      pytorch = "Upload less{.}: uint8 images or token ids instead of floats, cast and prepared \z
        on the GPU. Keep what does not change on the device.",
      cuda = "Upload less{.}: integers or half precision instead of floats, converted on the GPU. \z
        Keep what does not change on the device.",
    },
    {
      when = "downloads",
      unless = "little_room",
      "Download on a side stream into a reused pinned buffer{.}: the host reads it a step later. \z
        Reduce on the device what is only summed or logged.",
    },
    {
      when = "peers",
      unless = "little_room",
      megatron = "Overlap sends between GPUs with kernels{.}: as Megatron does by default, \z
        without `--no-overlap-p2p-communication`.",
      cuda = "Overlap sends between GPUs with kernels{.}: on a separate stream, with NCCL over \z
        NVLink instead of copies through the host.",
    },
    {
      when = "coherent",
      "On Grace Hopper kernels can read and write host memory in place over NVLink-C2C{.}: data \z
        that is touched once need not be copied.",
    },
  },
  evaluate = function(trace, options, factors)
    local copies = trace:ops { kind = "copy", direction = { "h2d", "d2h", "p2p" } }
    local kernels = trace:ops { kind = { "kernel", "graph" } }
    local trips, pairs_found = trace:round_trips()
    local model = trace:ops { class = { "gemm_*", "attention_fused" } }:count()
        + trace:ops { kind = "graph" }:count()
      > 0
    local stays, touched = require "residency"(trace)
    if model then
      if pairs_found < 2 * trace:fact "steps.count" then trips = trips:minus(trips) end
    elseif trips:exposed_ns(kernels) > (1 - options.hidden_share) * trips:union_ns() then
      trips = stays -- reported by resident-data; others are pieces, of which only the ends show
    end
    local others = (model and trips:plus(trace:streamed_uploads()) or trips)
      :plus(copies:where { memory = "pageable" })
      :plus(copies:where { launched_in = trace:ranges { phase = "checkpoint" } })
    copies = copies:minus(others)
    -- Short ones in a row while nothing computes are like a long one.
    local rows, inner = trace:runs { of = copies, least = 2 }
    local in_row = inner:where {
      inside = rows
        :where { min_ns = options.min_ns }
        :exposed(kernels, 1 - options.hidden_share),
    }
    local found = {}
    found[1] = finding(
      trace,
      options,
      factors,
      copies:where { min_ns = options.min_ns }:plus(in_row),
      false,
      touched
    )
    -- The driver splits a prefetch into pieces of 2 MiB and less.
    found[#found + 1] = finding(
      trace,
      options,
      factors,
      trace:ops { direction = "um_*", cause = "prefetch" },
      true,
      touched
    )
    return found
  end,
}

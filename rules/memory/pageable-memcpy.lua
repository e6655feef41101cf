local constants = { burst = 8 } -- as of saved_state

return {
  id = "pageable-memcpy",
  category = "memory",
  title = "Copies go through pageable host memory",
  since = "0.1",
  needs = { "kernels", "copies" },
  warning_at = 0.03,
  options = {
    share = {
      default = 0.03,
      unit = "fraction",
      doc = "Reported from this share of the step: copies from or to pageable memory while \z
        nothing computes.",
    },
    least = {
      default = 5,
      unit = "count",
      doc = "Fewer copies in the whole recording are set-up or results, however long they take; \z
        with steps, so are fewer than one a step.",
    },
    min_bytes = {
      default = 65537,
      unit = "bytes",
      doc = "Smaller copies cost the same either way: up to 64 KiB the driver takes a copy's data \z
        with the call.",
    },
    feeding_ns = {
      default = 50000,
      unit = "ns",
      doc = "Pauses of the host from this length on may be its work on pageable buffers, which a \z
        forecast for offloaded tensors then may save: as for offload-sync-gap.",
    },
    fits = {
      default = 0.9,
      unit = "fraction",
      doc = "Share of the device's memory up to which offloaded tensors fit: as for \z
        offload-sync-gap.",
    },
    way = {
      default = 0.1,
      unit = "fraction",
      doc = "Share of the copies' time in one direction, from which the advice has what to do \z
        about it. Chosen.",
    },
    gap_ns = {
      default = 1000000,
      unit = "ns",
      doc = "Without steps: longer idle time next to a copy is not the host feeding it.",
    },
  },
  factors = {
    pinned = {
      by = 1,
      least = 0.8,
      most = 1.3,
      doc = "Time of a pinned copy, relative to its bytes over what the link carries.",
      source = "Chosen: the link's rate is one attained in practice (schemas/gpus.toml), and \z
        small copies do not reach it.",
    },
  },
  messages = {
    link = "{bytes:bytes} {a_step} go through pageable host memory, at {rate:bytes/s}{ways} where \z
      pinned memory reaches about {link:bytes/s}: {exposed:lost} of {each_step} \z
      ({share:fraction}) is such copying while nothing computes, or waiting for it.{once}",
    plain = "{bytes:bytes} {a_step} go through pageable host memory, at {rate:bytes/s}{ways}: \z
      {exposed:lost} of {each_step} ({share:fraction}) is such copying while nothing computes, or \z
      waiting for it.{once}",
  },
  headlines = {
    link = "{bytes:bytes} {a_step} go through pageable host memory",
    plain = "{bytes:bytes} {a_step} go through pageable host memory",
  },
  doc = {
    what = "Measures the copies of more than 64 KiB between the device and pageable host memory \z
      that run while nothing computes, and the idle time next to them. What pinning saves follows \z
      from their bandwidth and the link's. Copies that save a checkpoint belong to \z
      checkpoint-stall. If the GPU waits longer for the host to make the data than for the \z
      copies, it is a note that follows from gpu-idle: data made on the GPU would not be copied.",
    why = "The driver moves pageable memory through a small pinned buffer of its own, piece by \z
      piece: at two to fifteen GB/s on a link that carries 25 to 55. Meanwhile the host is busy \z
      with it, and `cudaMemcpyAsync` is not asynchronous.",
    fix = "`DataLoader(pin_memory=True)` with `.to(device, non_blocking=True)`; \z
      `tensor.pin_memory()` for reused buffers; \z
      `torch.autograd.graph.save_on_cpu(pin_memory=True)`; DeepSpeed \z
      `offload_optimizer.pin_memory`. In CUDA `cudaMallocHost` or `cudaHostRegister` instead of \z
      malloc. PyTorch tutorial: a guide on good usage of `non_blocking` and `pin_memory`.",
    wrong = "Pinning a buffer that is used once costs more than the copy. Pinned memory is not \z
      swapped: leave the host enough. Copies that may be the program's start or end are a note. \z
      On Grace Hopper the GPU reads pageable memory in place over NVLink-C2C, and the rule \z
      assumes that pinned memory gets no more than half of the link.",
  },
  advice = {
    {
      when = "fits", -- what stays on the device needs no pinned buffer
      "Stop offloading, it fits{.}: then nothing of this is left to pin. What has to be offloaded \z
        goes through pinned buffers.",
    },
    {
      when = "offloaded",
      deepspeed = "Offload through pinned buffers{.}: `pin_memory` of `offload_optimizer` and \z
        `offload_param`.",
      pytorch = {
        training = "Offload through pinned buffers{.}: \z
          `torch.autograd.graph.save_on_cpu(pin_memory=True)`.",
        cuda = "Offload through pinned buffers{.}: `tensor.pin_memory()` once, then reuse them.",
      },
      cuda = "Offload through pinned buffers{.}: `cudaHostAlloc`, or `cudaHostRegister` of \z
        existing memory, made once and reused.",
    },
    {
      when = { "uploads", "unloaded" },
      pytorch = 'Make it on the GPU, or upload from a pinned buffer{.}: masks, targets and random \z
        numbers can be computed with `device="cuda"`, rows gathered from a table that lies there. \z
        For the rest fill one pinned tensor (`torch.empty(..., pin_memory=True)`) again each \z
        time, and copy with `non_blocking=True`; a `DataLoader` has `pin_memory=True`.',
    },
    {
      when = "uploads",
      unless = "unloaded",
      trainer = "Pin the batches{.}: `dataloader_pin_memory=True`. For other buffers: \z
        `tensor.pin_memory()` once, then reuse them.",
      lightning = "Pin the batches{.}: `pin_memory=True` of the DataModule's loaders. For other \z
        buffers: `tensor.pin_memory()` once, then reuse them.",
      pytorch = "Pin the batches{.}: `DataLoader(pin_memory=True)`, then `batch.to(device, \z
        non_blocking=True)`. For other buffers: `tensor.pin_memory()` once, then reuse them.",
      jax = "Upload less often, in few large pieces{.}: JAX copies NumPy arrays through its own \z
        pinned buffers. Keep what does not change on the device (`jax.device_put` once).",
      cupy = "Pin what is uploaded{.}: `cupyx.empty_pinned` (or `cupyx.zeros_pinned`) once, \z
        filled again each time; `array.set(pinned, stream=stream)`.",
      numba = "Pin what is uploaded{.}: `cuda.pinned_array` once, or with `cuda.pinned(array)`: \z
        around the copies; `cuda.to_device(pinned, stream=stream)`.",
      julia = "Pin what is uploaded{.}: `CUDA.pin(array)` once, then copyto!.",
      directives = "Pin what is uploaded{.}: nvc and nvfortran `-gpu=pinned` (now \z
        `-gpu=mem:separate:pinnedalloc`), or `cudaHostRegister` of the arrays.",
      cuda = "Pin what is uploaded{.}: `cudaHostAlloc` instead of malloc, or `cudaHostRegister` \z
        of existing memory, once; then `cudaMemcpyAsync`.",
    },
    {
      when = { "downloads", "worked" },
      trainer = "Do on the GPU what the host does with it next{.}: \z
        `preprocess_logits_for_metrics` takes argmax, or what else is wanted, before outputs are \z
        collected and copied.",
      pytorch = "Do on the GPU what the host does with it next{.}: argmax, sums, counts or the \z
        rows that are wanted, so that only these are copied, or keep it there.",
      cuda = "Do on the GPU what the host does with it next{.}: sums, counts, extremes or the \z
        part that is wanted, so that only these are copied, or keep it there.",
    },
    {
      when = "downloads",
      pytorch = "Copy back to a reused pinned buffer{.}: `torch.empty(..., pin_memory=True)` and \z
        `.copy_(tensor, non_blocking=True)`, with an event before the host reads it.",
      cupy = "Copy back to a reused pinned buffer{.}: `array.get(out=cupyx.empty_pinned(...), \z
        stream=stream)`, with an event before the host reads it.",
      numba = "Copy back to a reused pinned buffer{.}: \z
        `array.copy_to_host(cuda.pinned_array(...), stream=stream)`, with an event before the \z
        host reads it.",
      julia = "Copy back to a reused pinned buffer{.}: `copyto!(CUDA.pin(buffer), array)`, with \z
        an event before the host reads it.",
      directives = "Copy back to pinned memory{.}: nvc and nvfortran `-gpu=pinned` (now \z
        `-gpu=mem:separate:pinnedalloc`), or `cudaHostRegister` of the arrays.",
      cuda = "Copy back to a reused pinned buffer{.}: `cudaHostAlloc` once, `cudaMemcpyAsync`, \z
        and an event before the host reads it.",
    },
    {
      when = "link",
      "Pinned, these bytes take about {pinned_ms} ms instead of {ms} ms {a_step} ({link_gb} \z
        GB/s); on a separate stream they also hide behind kernels.",
    },
    {
      when = "coherent",
      "On Grace Hopper copies and kernels read pageable memory in place over NVLink-C2C{.}: what \z
        is read once need not be copied at all, so measure what pinning saves.",
    },
  },
  evaluate = function(trace, options, factors)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local copies = trace:ops {
      kind = "copy",
      direction = { "h2d", "d2h" },
      memory = "pageable",
      min_bytes = options.min_bytes,
    }
    copies = copies:minus(copies:where { launched_in = trace:ranges { phase = "checkpoint" } })
    local found = trace:fact "steps.found" == 1
    if copies:count() < (found and math.min(options.least, steps) or options.least) then
      return {}
    end
    local alone = copies:exposed_ns(trace:ops { kind = { "kernel", "graph" } })
    if alone == 0 then return {} end
    -- The host feeds such a copy by hand: idle time next to it while the host is in the call is
    -- part of its cost. What the host does
    -- before it copies is not.
    local gaps = trace
      :idle { after = copies }
      :plus(trace:idle { before = copies })
      :where { cause = { "sync", "launch*" } }
    if not found then gaps = gaps:where { max_ns = options.gap_ns } end
    local exposed = alone + gaps:union_ns()
    local share = exposed / total
    if alone / total < options.share then return {} end

    local bytes = copies:sum "bytes"
    local rate = bytes / (copies:sum "duration_ns" / 1e9)
    local coherent = trace:fact "device.coherent" == 1
    local link = trace:fact "device.link_bytes_per_s"
    -- copies from pinned memory do not reach what the link carries
    if link and coherent then link = link / 2 end
    local left = link and math.min(1, rate / link) or 0 -- of the time of a copy, once pinned
    if left == 1 then return {} end
    local trips, pairs_found = trace:round_trips()
    if pairs_found < 2 * steps then trips = trips:minus(trips) end
    if found then trips = trips:plus(trace:streamed_uploads()) end
    -- Without a model there is nothing to offload (offload-sync-gap requires one too).
    local model = trace:ops { class = { "gemm_*", "attention_fused" } }:count()
        + trace:ops { kind = "graph" }:count()
      > 0
    local follows = model and 2 * copies:minus(copies:minus(trips)):sum "bytes" > bytes
    local peak, memory = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
    local offloaded = trips:where({ direction = "d2h" }):sum "bytes" / steps
    local fits = offloaded > 0 and peak and memory and peak + offloaded < options.fits * memory
    -- Data kept on the device does not travel at all.
    local stays = not model
      and 2 * copies:minus(copies:minus((require "residency"(trace)))):sum "bytes" > bytes
    local uploads, downloads =
      copies:where { direction = "h2d" }, copies:where { direction = "d2h" }
    -- The GPU waits longer for the host to make the data than for its copy: made on the GPU, it is
    -- not copied at all. What the host does with results that came down makes none.
    local made = trace
      :idle({ before = uploads, cause = "unknown" })
      :minus(trace:idle { after = downloads })
      :union_ns() > alone
    -- Nor is the work before the next upload known to be on what came down, and many copies in a
    -- row are a state that is saved.
    local _, saved =
      trace:runs { of = trace:ops { direction = "d2h" }, least = constants.burst }
    local worked = trace
      :idle({ after = downloads:minus(saved), cause = "unknown" })
      :minus(trace:idle { before = uploads })
      :union_ns() >= options.way * downloads:sum "duration_ns"
    local cause = stays and "resident-data" or made and "gpu-idle" or nil
    if follows then
      cause = trace:idle { stretch = "optimizer" }:count() > 0 and "cpu-optimizer"
        or "offload-sync-gap"
    end
    local up, time = uploads:sum "duration_ns", copies:sum "duration_ns"
    local most_up = 2 * up > time
    -- Where a framework has the loader, its option is what pins.
    local plain = trace:is "pytorch" and not trace:is "trainer" and not trace:is "lightning"
    local at_most, once = require "start_or_end"(trace, copies)
    return {
      {
        subject = follows and "offloaded tensors" or most_up and "uploads" or "downloads",
        message = link and "link" or "plain",
        data = {
          bytes = bytes / steps,
          rate = rate,
          ways = math.min(up, time - up) >= options.way * time and string.format(
            " (to the device %.1f GB/s, to the host %.1f GB/s)",
            uploads:sum "bytes" / up,
            downloads:sum "bytes" / (time - up)
          ) or "",
          link = link or 0,
          exposed = exposed / steps,
          share = share,
          once = once,
          pinned_ms = link and string.format("%.1f", bytes / link / steps * 1e3),
          ms = string.format("%.1f", time / steps / 1e6),
          link_gb = link and string.format("%.0f", link / 1e9),
        },
        recoverable_ns = exposed - alone * left,
        change = link and {
          { scale = copies, factor = factors.pinned, times = left },
          { unblock = copies:calls() },
          { pause = gaps },
          {
            pause = trace:idle {
              cause = { "unknown", "launch*" },
              min_ns = follows and options.feeding_ns or math.huge,
            },
            by = 0,
            most = 1,
          },
        } or nil,
        about = true,
        uncertain = "the host's work to feed the copies is saved too, as far as it is known",
        at_most = made and "note" or at_most,
        confidence = link and not coherent and "high" or "medium",
        follows_from = cause,
        metrics = {
          {
            name = "pageable copies alone and waits for them",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
          { name = "bandwidth", value = rate, unit = "bytes/s", threshold = link },
        },
        evidence = copies:evidence { most = 5 },
        seen = {
          offloaded = follows,
          fits = follows and fits,
          -- What takes longer comes first.
          unloaded = plain and not require "loader_seen"(trace),
          uploads = not follows and up >= options.way * time and up,
          downloads = not follows and time - up >= options.way * time and time - up,
          worked = worked,
          coherent = coherent,
        },
      },
    }
  end,
}

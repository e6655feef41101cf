return {
  id = "exposed-memcpy",
  category = "memory",
  title = "Copies run with no kernel beside them",
  since = "0.1",
  needs = { "kernels", "copies" },
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Time in which such copies run with no kernel beside them, of the step, from which it counts." },
    min_ns = { default = 100000, unit = "ns", doc = "Shorter copies are not worth a stream of their own (RATELProf: 100 us)." },
    hidden_share = { default = 0.5, unit = "fraction", doc = "A copy of which kernels hide more than this is as it should be (RATELProf)." },
  },
  messages = {
    alone = "{bytes:bytes} {a_step} are copied {direction} with no kernel beside them: {exposed:ns} of {each_step} ({share:fraction}), at {rate:bytes/s}.",
  },
  doc = {
    what = "Finds copies over a link (host to device, device to host, device to device of another GPU) of 100 us or more of which kernels hide less than half. Left to rules of their own are copies of offloaded tensors, through pageable memory, of a checkpoint, and migrations of unified memory.",
    why = "Copy engines work beside the SMs: a copy costs time only if nothing runs meanwhile, which is so when it is queued on the stream of the kernels.",
    fix = "Issue it early, on a stream of its own, from pinned memory: the next batch's .to(device, non_blocking=True) under torch.cuda.stream(side) before this step's forward, with wait_stream and record_stream where it is used (the prefetcher of NVIDIA's PyTorch examples). CUDA best practices guide: asynchronous transfers and overlapping them with computation. Or send less: integers and half precision instead of floats, augmentation on the GPU.",
    wrong = "A copy that everything after it depends on, and that cannot be known earlier, cannot be hidden. Uploads before the first step are start-up: where no steps were found the finding is about the whole window.",
  },
  evaluate = function(trace, options)
    local total, steps = trace:fact "steps.total_ns", trace:fact "steps.count"
    local copies = trace:ops { kind = "copy", direction = { "h2d", "d2h", "p2p" }, min_ns = options.min_ns }
    local trips, pairs_found = trace:round_trips()
    if pairs_found >= 2 * steps then copies = copies:minus(trips) end
    copies = copies:minus(trace:streamed_uploads()):minus(copies:where { memory = "pageable" }):minus(copies:where { launched_in = trace:ranges { phase = "checkpoint" } })
    local kernels = trace:ops { kind = { "kernel", "graph" } }
    copies = copies:exposed(kernels, 1 - options.hidden_share)
    local exposed = copies:exposed_ns(kernels)
    local share = exposed / total
    if exposed == 0 or share < options.share then return {} end

    local bytes = copies:sum "bytes"
    local rate = bytes / (copies:sum "duration_ns" / 1e9)
    local direction = copies:group("direction")[1].key
    local ways = { h2d = "to the device", d2h = "to the host", p2p = "between devices" }
    local advice = {}
    if direction == "h2d" then
      advice[1] = "Upload the next batch while this one is computed: .to(device, non_blocking=True) from pinned memory on a side stream (torch.cuda.Stream), wait_stream and record_stream where it is used."
      advice[2] = "Upload less: uint8 images or token ids instead of floats, cast and augment on the GPU. What does not change from step to step belongs on the device."
    elseif direction == "d2h" then
      advice[1] = "Download on a side stream into a pinned buffer that is kept, and let the host read it a step later; reduce on the device what is only summed or logged."
    else
      advice[1] = "Send between GPUs on a stream of its own beside the kernels (Megatron overlaps by default: leave out --no-overlap-p2p-communication); NCCL over NVLink instead of copies through the host."
    end
    if trace:fact "device.coherent" == 1 then
      advice[#advice + 1] = "On Grace Hopper kernels can read and write host memory in place over NVLink-C2C: what is touched once need not be copied."
    end
    return { {
      subject = "copies " .. ways[direction],
      message = "alone",
      data = { bytes = bytes / steps, direction = ways[direction], exposed = exposed / steps, share = share, rate = rate },
      recoverable_ns = exposed,
      metrics = {
        { name = "exposed copies", value = share, unit = "fraction", threshold = options.share },
        { name = "bandwidth", value = rate, unit = "bytes/s", threshold = direction ~= "p2p" and trace:fact "device.link_bytes_per_s" or nil },
      },
      evidence = copies:evidence { most = 5 },
      advice = advice,
    } }
  end,
}

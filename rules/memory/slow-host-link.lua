return {
  id = "slow-host-link",
  category = "memory",
  title = "The link to the host carries less than it should",
  since = "0.1",
  needs = { "kernels", "copies" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: large copies from or to pinned memory while \z
        nothing computes.",
    },
    min_bytes = {
      default = 8388608,
      unit = "bytes",
      doc = "Smaller copies are too short to reach the link's bandwidth: 8 MiB take 150 us on \z
        PCIe 5.",
    },
    slow = {
      default = 0.6,
      unit = "fraction",
      doc = "Share of what the link carries in practice (schemas/gpus.toml) below which the rate \z
        is slow. A link of half the width, or of the previous generation, gives half.",
    },
    least = {
      default = 5,
      unit = "count",
      doc = "Fewer such copies in the whole recording prove nothing.",
    },
    alone = {
      default = 0.9,
      unit = "fraction",
      doc = "Share of a copy's time in which none goes the other way, for its rate to count \z
        alone: both directions at once share the host's memory.",
    },
    better = {
      default = 1.3,
      unit = "count",
      doc = "How many times as fast another GPU's copies have to be to be named. Chosen: more \z
        than two links of one kind differ.",
    },
  },
  messages = {
    main = "Copies of {size:bytes} or more between pinned memory and GPU {device} run at \z
      {rate:bytes/s}{together}, while this link carries about {link:bytes/s} in practice{beside}: \z
      {exposed:lost} of {each_step} ({share:fraction}) is such copying while nothing computes.",
  },
  headlines = {
    main = "GPU {device} copies at {rate:bytes/s} over a link of {link:bytes/s}",
  },
  doc = {
    what = "Takes the rate of large copies between pinned memory and each device while none goes \z
      the other way (that of both directions together, if they always run at once), compares it \z
      with what the GPU's link carries in practice, and compares devices.",
    why = "A GPU whose slot has half the lanes, whose link trained at a lower generation, or \z
      whose host memory is behind the other socket, copies at half the rate or less, whatever the \z
      program does.",
    fix = "`nvidia-smi -q -d PCIE` shows generation and width, current and maximum; `nvidia-smi \z
      topo -m` shows which cores and memory are near which GPU: bind the process to them \z
      (`numactl --cpunodebind --membind`, or `srun --cpu-bind` and `--mem-bind`) before it pins \z
      memory. On Grace allocate on the node of the GPU's own CPU.",
    wrong = "The link's bandwidth comes from the GPU's name: a board may have fewer lanes by \z
      design (notebooks, x8 slots), and virtual machines may share it. Copies of non-contiguous \z
      rows (`cudaMemcpy2D`) are slower as well.",
  },
  advice = {
    {
      when = "coherent",
      "Allocate host memory near the GPU's own Grace CPU{.}: `numactl --membind`, or first touch \z
        by a thread that is bound there. Memory of another socket is reached over a slower link.",
    },
    {
      unless = "coherent",
      "Check the PCIe link{.}: `nvidia-smi -q -d PCIE` shows generation and width, current \z
        against maximum, under load. Another slot, a BIOS setting or a riser may halve it.",
    },
    "Pin memory near the GPU{.}: `nvidia-smi topo -m` names its cores and its memory; bind the \z
      process to them before it allocates (`numactl --cpunodebind=N --membind=N`).",
  },
  evaluate = function(trace, options)
    local link = trace:fact "device.link_bytes_per_s"
    if not link then
      return nil, "schemas/gpus.toml does not say what this GPU's link to the host carries", ""
    end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local kernels = trace:ops { kind = { "kernel", "graph" } }
    local crossing =
      trace:ops { kind = "copy", direction = { "h2d", "d2h" }, min_bytes = options.min_bytes }
    local coherent = trace:fact "device.coherent" == 1
    -- copies from pinned memory do not reach the link's bandwidth
    if coherent then link = link / 2 end
    local all, found = {}, {}
    for _, device in
      ipairs(
        crossing
          :where { memory = "pinned" }
          :minus(crossing:where { memory = { "pageable", "managed" } })
          :group("device", 100)
      )
    do
      -- Copies in both directions at once may share the bandwidth: where none run alone, both
      -- together carry at least what one direction could.
      local up, down =
        device.rows:where { direction = "h2d" }, device.rows:where { direction = "d2h" }
      local alone = up:exposed(down, options.alone):plus(down:exposed(up, options.alone))
      local copies = alone:count() >= options.least and alone or device.rows
      if copies:count() >= options.least then
        all[#all + 1] = {
          device = device.key,
          copies = copies,
          rate = copies:sum "bytes" / (copies:union_ns() / 1e9),
          together = copies ~= alone,
        }
      end
    end
    for _, one in ipairs(all) do
      local exposed = one.copies:exposed_ns(kernels)
      local share = exposed / total
      if one.rate < options.slow * link and share >= options.share then
        local best
        for _, other in ipairs(all) do
          if
            other.device ~= one.device
            and other.rate > options.better * one.rate
            and (not best or other.rate > best.rate)
          then
            best = other
          end
        end
        local left = one.rate / link
        found[#found + 1] = {
          subject = "device " .. one.device,
          message = "main",
          data = {
            size = options.min_bytes,
            device = one.device,
            rate = one.rate,
            link = link,
            exposed = exposed / steps,
            share = share,
            together = one.together and ", both directions together" or "",
            beside = best
                and string.format(", and GPU %s gets %.0f GB/s", best.device, best.rate / 1e9)
              or "",
          },
          recoverable_ns = exposed * (1 - left),
          change = { { scale = one.copies, by = left, least = left, most = 1 } },
          about = true,
          uncertain = "whether the slot and the machine let the link carry more is unknown",
          confidence = best and "high" or "medium",
          at_most = not best and "warning" or nil,
          metrics = {
            {
              name = "bandwidth",
              value = one.rate,
              unit = "bytes/s",
              threshold = options.slow * link,
            },
          },
          evidence = one.copies:evidence { most = 4 },
          seen = { coherent = coherent },
        }
      end
    end
    return found
  end,
}

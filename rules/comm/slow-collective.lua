-- How to record all ranks in one report; "%s" is the launcher.
local record_all_ranks = {
  nsys = "`--trace=cuda,nvtx,osrt` around the launcher (%s), so that all ranks of the host are in \z
    one report; or give the reports of all ranks at once",
  torch_profiler = "`torch.profiler.profile` on every rank, and give the traces of all ranks at \z
    once",
}
local function how_to_record(trace)
  return string.format(
    trace:words(record_all_ranks),
    trace:words { pytorch = "`torchrun`", cuda = "mpirun" }
  )
end

-- Bytes that cross the busiest link, for n ranks and a message as NCCL counts it: what one rank
-- passes in; for all-gather and
-- reduce-scatter that is a part of the whole.
local kinds = {
  { match = "*AllReduce*", bus = function(n) return 2 * (n - 1) / n end },
  { match = { "*AllGather*", "*ReduceScatter*" }, bus = function(n) return n - 1 end },
}

local constants = {
  pcie4_bytes_per_s = 25e9, -- what PCIe 4 x16 carries in practice (schemas/gpus.toml)
}

return {
  id = "slow-collective",
  category = "comm",
  title = "Collectives are slower than the link between GPUs allows",
  since = "0.1",
  needs = { "kernels", "graph_nodes", "ranges" },
  options = {
    link_bytes_per_s = {
      default = constants.pcie4_bytes_per_s,
      unit = "bytes/s",
      doc = "What the slowest link between the GPUs carries in one direction; the report does not \z
        say. The default is PCIe 4 x16, the least that GPUs of a server have. NVLink: 300e9 \z
        (A100), 450e9 (H100, H200), 900e9 (B200); a network of 400 Gbit/s for each GPU: 50e9.",
    },
    share_of_link = {
      default = 0.5,
      unit = "fraction",
      doc = "Share of the link's bandwidth below which a collective is slow. NCCL's own benchmark \z
        reaches 75 to 90 % with large messages.",
    },
    min_bytes = {
      default = 1048576,
      unit = "bytes",
      doc = "Smaller messages are bound by latency.",
    },
    ranks = {
      default = 0,
      unit = "count",
      doc = "How many ranks communicate; 0 means as many as the report has GPUs.",
    },
    unsure_bytes_per_s = {
      default = 100e9,
      unit = "bytes/s",
      doc = "Below this rate large messages may be slow although they are fast for the default \z
        link: NVLink carries 300e9 and more. Chosen: a third of that.",
    },
    large_bytes = {
      default = 16777216,
      unit = "bytes",
      doc = "How large the median message has to be for that: smaller ones do not reach NVLink's \z
        rate. Chosen.",
    },
  },
  messages = {
    main = "Collectives of {bytes:bytes} (median) reach {rate:bytes/s} of bus bandwidth, \z
      {of_link:fraction} of a link of {link:bytes/s}; {exposed:lost} of {each_step} is such \z
      communication while nothing computes.",
  },
  headlines = {
    main = "Collectives reach only {of_link:fraction} of the link's bandwidth",
  },
  doc = {
    what = "Takes the size of each all-reduce, all-gather and reduce-scatter from NCCL's ranges \z
      and its time from the rank that entered it last, which waited for nobody, and compares the \z
      bus bandwidth (for n ranks 2 (n - 1) / n, or n - 1, times the message) with the link.",
    why = "NCCL falls back silently: to network sockets instead of InfiniBand, to host memory \z
      where peer access is off. Communication then takes ten times as long.",
    fix = "Run once with `NCCL_DEBUG=INFO` and read which transport it chose (NVLS, P2P, SHM, \z
      NET/IB, NET/Socket). Check `nvidia-smi topo -m`, the ACS setting of PCIe bridges, \z
      `NCCL_P2P_DISABLE`, `NCCL_IB_DISABLE` and `NCCL_SOCKET_IFNAME`, and that a container has \z
      `--ipc=host` and the InfiniBand devices. `all_reduce_perf` of nccl-tests shows what the \z
      machine can do.",
    wrong = "The link is an assumption until the option `link_bytes_per_s` states it. Collectives \z
      that overlap with kernels share memory bandwidth and SMs with them, which makes them \z
      slower.",
  },
  advice = {
    "Check which transport NCCL uses{.}: run with `NCCL_DEBUG=INFO`. NET/Socket where there is \z
      InfiniBand, or SHM where there is NVLink, is the cause. Leave `NCCL_P2P_DISABLE` and \z
      `NCCL_IB_DISABLE` unset; `NCCL_SOCKET_IFNAME` and `NCCL_IB_HCA` name the fast network.",
    "Containers need `--ipc=host` (or `--shm-size`), `--ulimit memlock=-1` and the InfiniBand \z
      devices; virtual machines and PCIe bridges with ACS lose peer access (`nvidia-smi topo -p2p \z
      r`).",
    "Measure the machine with `all_reduce_perf -b 1M -e 1G -g {ranks}` of nccl-tests, and set \z
      `rule.slow-collective.link_bytes_per_s` to the result.",
  },
  evaluate = function(trace, options)
    local comm = trace:ops { class = "collective" }
    if comm:count() == 0 then return {} end
    if trace:fact "device.count" < 2 then
      return nil,
        "the report holds only one rank, so how long its collectives waited for others is unknown",
        how_to_record(trace)
    end
    local messages = trace:ranges { name = "nccl*", min_bytes = 1 }
    if messages:count() == 0 then
      return nil,
        "the report does not say how many bytes the collectives moved",
        trace:words {
          nsys = "`--trace=cuda,nvtx`, with a version of Nsight Systems whose export has the \z
            sizes that NCCL gives with its ranges",
          torch_profiler = "`torch.profiler.profile(record_shapes=True)`",
        }
    end
    local ready
    for _, late in ipairs(trace:late_devices()) do
      ready = ready and ready:plus(late.own) or late.own
    end
    if not ready then
      return nil,
        "the ranks' collectives could not be matched, so how long each waited is unknown",
        ""
    end

    local n = options.ranks > 0 and options.ranks or trace:fact "device.count"
    local sized = messages:where { min_bytes = options.min_bytes }
    if sized:count() == 0 then return {} end
    local slow, moved, time = ready:minus(ready), 0, 0
    for _, size in ipairs(sized:group("bytes", 1000)) do
      local launched = ready:where { launched_in = size.rows }
      for _, kind in ipairs(kinds) do
        local of_kind = launched:where { name = kind.match }
        moved = moved + of_kind:count() * kind.bus(n) * tonumber(size.key)
        time = time + of_kind:sum "duration_ns"
        slow = slow:plus(of_kind)
      end
    end
    if time == 0 then
      return nil,
        "no all-reduce, all-gather or reduce-scatter was launched within the range that gives its \z
          size: several were launched as a group",
        ""
    end
    local rate = moved / (time / 1e9)
    if rate >= options.share_of_link * options.link_bytes_per_s then
      -- NVLink carries far more than the default, so such a rate may still be slow there.
      if
        options.link_bytes_per_s == constants.pcie4_bytes_per_s
        and rate < options.unsure_bytes_per_s
        and sized:median "bytes" >= options.large_bytes
      then
        return nil,
          string.format(
            "large messages reach %.0f GB/s of bus bandwidth; whether that is slow depends on the \z
              link, which the report does not name: set link_bytes_per_s",
            rate / 1e9
          ),
          ""
      end
      return {}
    end

    local steps = trace:fact "steps.count"
    -- All ranks' collectives of these names, not only those of the last rank.
    local exposed = comm
      :where { launched_in = sized }
      :exposed_ns(trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm))
    return {
      {
        subject = "bandwidth of collectives",
        message = "main",
        data = {
          bytes = sized:median "bytes",
          rate = rate,
          of_link = rate / options.link_bytes_per_s,
          link = options.link_bytes_per_s,
          exposed = exposed / steps,
          ranks = string.format("%d", n),
        },
        about = true,
        recoverable_ns = exposed * (1 - rate / options.link_bytes_per_s),
        confidence = "medium",
        metrics = {
          {
            name = "bus bandwidth",
            value = rate,
            unit = "bytes/s",
            threshold = options.share_of_link * options.link_bytes_per_s,
          },
        },
        evidence = slow:evidence { most = 4, note = "of the last rank" },
      },
    }
  end,
}

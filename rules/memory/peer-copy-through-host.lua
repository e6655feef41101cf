return {
  id = "peer-copy-through-host",
  category = "memory",
  title = "Data goes from one GPU to another through the host",
  since = "0.1",
  needs = { "kernels", "copies", "calls" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: such copies while nothing computes on their \z
        device.",
    },
    least = {
      default = 5,
      unit = "count",
      doc = "Fewer such pairs in the whole recording are set-up.",
    },
  },
  factors = {
    direct = {
      by = 1,
      least = 0.1,
      most = 1,
      doc = "Time of the one copy that remains, over a link that is no slower than the host's.",
      source = "Chosen: NVLink carries up to ten times what PCIe does (schemas/gpus.toml).",
    },
  },
  messages = {
    main = "{pairs:# copy comes|# copies come} down from one GPU and {pairs:goes|go} up to \z
      another {a_step} ({bytes:bytes}). {exposed:lost} of {each_step} ({share:fraction}), on \z
      average over the GPUs, is such copying while nothing computes.",
  },
  headlines = {
    main = "{bytes:bytes} {a_step} go between GPUs through the host",
  },
  doc = {
    what = "Pairs copies to the host with the next copies of as many bytes from the same process \z
      to another device.",
    why = "Through the host the data crosses two links and the host's memory, and the host waits \z
      in between. Directly from device to device it crosses one link, NVLink where there is one.",
    fix = '`tensor.to("cuda:1")` directly from the other device, without `.cpu()` in between; \z
      `torch.distributed` send and recv with NCCL instead of Gloo; a CUDA-aware MPI, given device \z
      pointers; `cudaMemcpyPeerAsync` after `cudaDeviceEnablePeerAccess`.',
    wrong = "A report does not say whose bytes were copied: equal sizes may be chance. Sizes that \z
      a device both sends and receives are therefore left out. No shipped recording triggers this \z
      rule; only literal traces test it.",
  },
  advice = {
    {
      pytorch = 'Copy directly between GPUs{.}: `tensor.to("cuda:1", non_blocking=True)` without \z
        `.cpu()` in between; between processes `torch.distributed` with the nccl backend instead \z
        of gloo.',
      jax = "Copy directly between GPUs{.}: `jax.device_put(x, other_device)`, or let a sharding \z
        (`jax.sharding.NamedSharding`) place it, without `np.asarray` in between.",
      cupy = "Copy directly between GPUs{.}: with `cupy.cuda.Device(1)`: `cupy.copyto` or \z
        `cupy.asarray` of the other device's array, without `.get()` in between.",
      julia = "Copy directly between GPUs{.}: copyto! between CuArrays of two devices, without \z
        `Array(x)` in between.",
      cuda = "Copy directly between GPUs{.}: `cudaMemcpyPeerAsync`, with \z
        `cudaDeviceEnablePeerAccess` on both; give a CUDA-aware MPI or NCCL the device pointers.",
    },
    "To see how the GPUs are joined{.}: `nvidia-smi topo -m`. Between different sockets without \z
      NVLink, NCCL still overlaps the two halves of the way.",
  },
  evaluate = function(trace, options, factors)
    if trace:fact "device.count" < 2 then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local down, up = require "relayed"(trace)
    if up:count() < options.least or up:at_start_or_end() then return {} end
    local both = down:plus(up)
    local exposed = both:exposed_ns(trace:ops { kind = { "kernel", "graph" } })
    local share = exposed / total
    if share < options.share then return {} end
    local rounds = steps / trace:fact "device.count" -- each device has its own steps
    return {
      {
        subject = "copies through the host",
        message = "main",
        data = {
          pairs = string.format("%.3g", up:count() / rounds),
          bytes = up:sum "bytes" / rounds,
          exposed = exposed / steps,
          share = share,
        },
        recoverable_ns = up:exposed_ns(trace:ops { kind = { "kernel", "graph" } }),
        change = {
          { remove = up },
          { unblock = down:calls() },
          { scale = down, factor = factors.direct },
        },
        about = true,
        uncertain = "whether NVLink or PCIe joins the devices is unknown",
        confidence = "medium",
        metrics = {
          {
            name = "exposed copies through the host",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = both:evidence { most = 4 },
      },
    }
  end,
}

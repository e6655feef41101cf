return {
  id = "peer-copy-through-host",
  category = "memory",
  title = "Data goes from one device to another through the host",
  since = "0.1",
  needs = { "kernels", "copies", "calls" },
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Time in which such copies run with no kernel beside them on their device, of the step, from which it counts." },
    least = { default = 5, unit = "count", doc = "Fewer such pairs in the whole recording are set-up." },
  },
  messages = {
    main = "Copies that come down from one device and go up to another: {pairs} {a_step} ({bytes:bytes}). {exposed:ns} of {each_step} ({share:fraction}), on average over the devices, is such copying with no kernel beside it.",
  },
  doc = {
    what = "Pairs copies to the host with the next copies of as many bytes from the same process to another device.",
    why = "Through the host the data crosses two links and the host's memory, and the host waits in between. Straight from device to device it crosses one, NVLink where there is one.",
    fix = "tensor.to(\"cuda:1\") straight from the other device instead of .cpu() in between; torch.distributed send and recv with NCCL instead of Gloo; MPI that is built with CUDA support, given device pointers; cudaMemcpyPeerAsync after cudaDeviceEnablePeerAccess.",
    wrong = "A report does not say whose bytes were copied: equal sizes may be chance. Sizes that a device both sends and gets are therefore left out. Nobody has seen it fire on a recording of those that come with the program: its proof are literal traces.",
  },
  evaluate = function(trace, options)
    if trace:fact "device.count" < 2 then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local down, up = trace:relayed()
    if up:count() < options.least or trace:fact "steps.found" == 0 and up:quarters() < 3 then return {} end
    local both = down:plus(up)
    local exposed = both:exposed_ns(trace:ops { kind = { "kernel", "graph" } })
    local share = exposed / total
    if share < options.share then return {} end
    local rounds = steps / trace:fact "device.count"  -- each device has steps of its own
    return { {
      subject = "copies through the host",
      message = "main",
      data = { pairs = string.format("%.3g", up:count() / rounds), bytes = up:sum "bytes" / rounds, exposed = exposed / steps, share = share },
      recoverable_ns = up:exposed_ns(trace:ops { kind = { "kernel", "graph" } }),
      -- One copy is left, over a link that is no slower than the host's.
      change = { { remove = up }, { unblock = down:calls() }, { scale = down, by = 1, least = 0.1 } },
      about = true,
      uncertain = "whether NVLink or PCIe joins the devices does not show",
      confidence = "medium",
      metrics = { { name = "exposed copies through the host", value = share, unit = "fraction", threshold = options.share } },
      evidence = both:evidence { most = 4 },
      advice = {
        {
          pytorch = "Copy straight: tensor.to(\"cuda:1\", non_blocking=True) without .cpu() in between; between processes torch.distributed with the nccl backend instead of gloo.",
          jax = "Copy straight: jax.device_put(x, other_device), or let a sharding (jax.sharding.NamedSharding) place it, instead of np.asarray in between.",
          cupy = "Copy straight: with cupy.cuda.Device(1): cupy.copyto or cupy.asarray of the other device's array, instead of .get() in between.",
          julia = "Copy straight: copyto! between CuArrays of two devices, instead of Array(x) in between.",
          cuda = "Copy straight: cudaMemcpyPeerAsync, with cudaDeviceEnablePeerAccess on both; give a CUDA-aware MPI or NCCL the device pointers.",
        },
        "nvidia-smi topo -m tells how the devices are joined; where they are behind different sockets without NVLink, NCCL still overlaps the two halves of the way.",
      },
    } }
  end,
}

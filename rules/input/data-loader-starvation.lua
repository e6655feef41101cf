-- OS calls in which a thread waits for another thread or process.
local waiting = { "poll", "ppoll", "select", "epoll_wait*", "sem_wait", "sem_timedwait", "sem_clockwait", "pthread_cond_wait", "pthread_cond_timedwait",
  "pthread_cond_clockwait", "futex*", "recv*", "pthread_join" }
-- In which it reads files.
local reading = { "read*", "pread*", "open*", "fread*", "*file access*" }
-- From here on a pause in which the thread is silent may be a garbage collection as well (gc-pause).
local collection_ns = 200000000

return {
  id = "data-loader-starvation",
  category = "input",
  title = "The GPU waits for the data loader",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    share = { default = 0.05, unit = "fraction", doc = "Idle time in which the loader kept the GPU waiting, of the step, from which it counts. The PyTorch profiler's advisor used 5 %, XProf warns at 5 % and 20 %." },
    note_share = { default = 0.02, unit = "fraction", doc = "From this share on it is mentioned as a note; below it is noise." },
  },
  messages = {
    main = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) because the launching thread itself loads the next batch.{host}",
    workers = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) because the launching thread waits for its loader workers.{host}",
    fetch = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}) while the launching thread fetches its next batch.{host}",
    pause = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}): before it uploads data the launching thread does something other than CUDA, most likely loading the next batch.{host}",
    unsure = "The GPU is idle for {idle:ns} of {each_step} ({share:fraction}): before it uploads data the launching thread does something other than CUDA. It may load the next batch, or collect garbage; no range tells.{host}",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the thread that launches its work is inside a range of the data loader, or, where no range names the loader, pauses between the last launch of a step and the first of the next and then uploads data, reads files or waits for workers.",
    why = "The GPU can only compute on a batch that is there. Time lost here is lost whatever the kernels do, and is usually won back by a setting. Loading that happens while the GPU is busy costs nothing and is not counted.",
    fix = "In PyTorch give the DataLoader enough workers: num_workers at least the time that one batch takes to load divided by the step without the wait, with persistent_workers=True, prefetch_factor=4 and pin_memory=True. Tokenize or decode ahead of training if that is still not enough. In NeMo set model.data.num_workers, in Megatron --num-workers, in Lightning num_workers of the DataModule's loaders, in the Hugging Face Trainer dataloader_num_workers.",
    wrong = "Without ranges the pause between two steps may be something else that the launching thread does there (logging, evaluation on the host): the finding then says 'most likely' and has medium confidence. A pause of 200 ms and more in which the thread neither reads nor waits, in a report without any range, may be a garbage collection as well: a warning at most, with low confidence. Record with NVTX ranges (torch.autograd.profiler.emit_nvtx, or a range named 'dataloader') to be sure.",
  },
  evaluate = function(trace, options)
    if trace:fact "steps.found" == 0 and not trace:fact "loader.range_ns_per_step" then
      return nil, "nothing was found that repeats and no range names the data loader, so a pause cannot be told from the program's own",
        trace:words {
          nsys = "--trace=cuda,nvtx,osrt, with an NVTX range around each step (\"step 1\", \"step 2\", ...) or around the loader (\"dataloader\")",
          torch_profiler = "torch.profiler.profile, with profiler.step() after each step, or record_function(\"dataloader\") around the loader",
        }
    end
    local waits = trace:idle { cause = "input" }
    waits = waits:minus(waits:where { stretch = "lock" })  -- gil-contention has them
    local idle = waits:union_ns()
    local share = idle / trace:total_ns()
    if idle == 0 or share < options.note_share then
      -- Pauses that nothing explains may be the loader's: without ranges and OS calls nobody can tell.
      if not trace:available "os_calls" and not trace:fact "loader.range_ns_per_step" and trace:idle { cause = "unknown" }:union_ns() >= options.share * trace:total_ns() then
        return nil, "the GPU idles for a good part of the step, and nothing recorded tells what the host did then",
          trace:words { nsys = "--trace=cuda,nvtx,osrt, with an NVTX range around the loader (\"dataloader\")", torch_profiler = "torch.profiler.profile(with_stack=True), or with record_function(\"dataloader\") around the loader" }
      end
      return {}
    end

    local step = trace:total_ns() / trace:fact "steps.count"
    local idle_a_step = idle / trace:fact "steps.count"
    local threads = waits:group("thread")
    local waited = trace:os_calls { thread = threads[1].key, name = waiting }:overlap_ns(waits)
    local workers = waited > idle / 2 or trace:threads "pt_data_*" > 0 or trace:ranges { name = "*_MultiProcessingDataLoaderIter*" }:count() > 0
    -- Its range says that a loader has no workers, whatever it waits for (a dataset over the network) and whatever other loaders have.
    if trace:ranges { name = "*_SingleProcessDataLoaderIter*" }:count() > 0 then workers = false end
    if trace:ops { class = { "gemm_*", "attention_fused" } }:count() + trace:ops { kind = "graph" }:count() == 0 then
      return nil, "no matrix multiplication ran, so there is no model that input could be loaded for", ""
    end
    local guessed = waits:where { inferred = true }
    local inferred = guessed:union_ns() > idle / 2
    -- Without ranges, and where the thread neither reads nor waits, only the upload after the pause speaks for a batch.
    local unsure = inferred and trace:ranges():count() == 0 and 2 * guessed:where { min_ns = collection_ns }:union_ns() > idle
      and waited <= idle / 2 and trace:os_calls { thread = threads[1].key, name = reading }:overlap_ns(waits) == 0

    local advice = {}
    if share < options.share then
      advice[1] = {
        pytorch = { training = "Little to gain: prefetching to the device (a side stream, or the next batch's .to(device, non_blocking=True) before this step's backward) would hide it.", cuda = "Little to gain: prefetching to the device (the next batch's .to(device, non_blocking=True) on a side stream) would hide it." },
        cuda = "Little to gain: uploading the next input on a stream of its own while this one is computed would hide it.",
      }
    elseif workers then
      local factor = step / math.max(step - idle_a_step, 1)
      local much = factor > 8 and " Workers alone will not do that: make a batch cheaper first." or ""
      advice[1] = {
        megatron = string.format("Feed it faster: the loader has to deliver %.1f times as fast. Raise --num-workers by about that factor (up to the cores that the process may use).%s", factor, much),
        nemo = string.format("Feed it faster: the loader has to deliver %.1f times as fast. Raise model.data.num_workers by about that factor (up to the cores that the process may use).%s", factor, much),
        transformers = { training = string.format("Feed it faster: the loader has to deliver %.1f times as fast. Raise dataloader_num_workers by about that factor (up to the cores that the process may use) and set dataloader_prefetch_factor=4.%s", factor, much) },
        pytorch = string.format("Feed it faster: the loader has to deliver %.1f times as fast. Raise num_workers by about that factor (up to the cores that the process may use) and set prefetch_factor=4, persistent_workers=True.%s", factor, much),
        cuda = string.format("Feed it faster: input has to come %.1f times as fast. Prepare it in more threads or processes, several inputs ahead.%s", factor, much),
      }
      advice[2] = { training = "Where more workers do not help, make a batch cheaper: tokenize or decode before training, store the result in larger files, move augmentation to the GPU.", cuda = "Where more of them do not help, make an input cheaper: decode ahead, store the result in larger files, move preparation to the GPU." }
    else
      local load = trace:fact "loader.range_ns_per_step" or idle_a_step
      local count = math.ceil(math.max(load, idle_a_step) / math.max(step - idle_a_step, 1))
      local covers = count <= 16 and string.format("covers the %.0f ms that a batch takes here", math.max(load, idle_a_step) / 1e6)
        or string.format("is a start, though %d would be needed for the %.0f ms that a batch takes here: make a batch cheaper as well", count, math.max(load, idle_a_step) / 1e6)
      local workers_needed = math.min(16, math.max(2, count))
      local pinning = trace:fact "device.coherent" == 1 and " (on Grace Hopper, where the GPU reads host memory in place over NVLink-C2C, pinning matters less)" or ""
      advice[1] = {
        nemo = string.format("Load in worker processes: model.data.num_workers=%d %s.", workers_needed, covers),
        megatron = string.format("Load in worker processes: --num-workers %d %s.", workers_needed, covers),
        transformers = { training = string.format("Load in worker processes: dataloader_num_workers=%d %s; add dataloader_persistent_workers=True and dataloader_prefetch_factor=4.", workers_needed, covers) },
        pytorch = string.format("Load in worker processes: DataLoader(num_workers=%d) %s; add persistent_workers=True, prefetch_factor=4 and pin_memory=True with .to(device, non_blocking=True)%s.", workers_needed, covers, pinning),
        cuda = string.format("Prepare the next inputs in threads of their own while the GPU works on this one: %d of them %s; two pinned buffers in turn, and the upload on a stream of its own%s.", workers_needed, covers, pinning),
      }
      advice[2] = { training = "Tokenize or decode before training, so that a batch is only read.", cuda = "Decode ahead, so that an input is only read." }
    end
    if unsure then table.insert(advice, 1, "Make sure first: garbage collection looks the same. Put a range around the loader (\"dataloader\") and one around collections (gc.callbacks), or sample the process with py-spy.") end
    return { {
      subject = "data loader",
      message = unsure and "unsure" or inferred and "pause" or share < options.share and "fetch" or workers and "workers" or "main",
      data = { idle = idle_a_step, step = step, share = share, host = waits:host() },
      recoverable_ns = idle,
      change = { { pause = waits }, { pause = trace:ranges { phase = "loader" } } },
      at_most = share < options.share and "note" or unsure and "warning" or nil,
      confidence = unsure and "low" or inferred and "medium" or "high",
      metrics = { { name = "idle while loading", value = share, unit = "fraction", threshold = options.share } },
      evidence = waits:evidence { most = 5 },
      advice = advice,
    } }
  end,
}

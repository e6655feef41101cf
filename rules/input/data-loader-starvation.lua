return {
  id = "data-loader-starvation",
  category = "input",
  title = "The GPU waits for the data loader",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: idle time in which the loader keeps the GPU \z
        waiting. The PyTorch profiler's advisor used 5 %, XProf warns at 5 % and 20 %.",
    },
    note_share = {
      default = 0.02,
      unit = "fraction",
      doc = "From this share of the step it is a note; below it is noise.",
    },
    collection_ns = {
      default = 200000000,
      unit = "ns",
      doc = "A silent pause of this length may also be a garbage collection: as for gc-pause.",
    },
    much = {
      default = 8,
      unit = "count",
      doc = "How many times as fast the loader may have to become by more workers alone. Chosen: \z
        processes rarely have more cores to spare.",
    },
    most_workers = {
      default = 16,
      unit = "count",
      doc = "Workers that the advice asks for at most. Chosen: beyond, a batch has to become \z
        cheaper.",
    },
  },
  messages = {
    main = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) because the \z
      launching thread itself loads the next batch.{host}",
    workers = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) because the \z
      launching thread waits for its loader workers.{host}",
    fetch = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}) while the \z
      launching thread fetches its next batch.{host}",
    pause = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}): before it uploads \z
      data, the launching thread does something other than CUDA, most likely loading the next \z
      batch.{host}",
    made = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}): before it uploads \z
      data, the launching thread does something other than CUDA, most likely loading or computing \z
      the next batch.{host}",
    unsure = "The GPU is idle for {idle:lost} of {each_step} ({share:fraction}): before it \z
      uploads data, the launching thread does something other than CUDA. It may load the next \z
      batch or collect garbage; no range says which.{host}",
  },
  headlines = {
    main = "The GPU waits for the data loader",
    workers = "The GPU waits for the data loader's workers",
    fetch = "The GPU waits briefly for the next batch",
    pause = "The GPU waits, most likely for the data loader",
    made = "The GPU waits while the host prepares what it uploads",
    unsure = "The GPU waits for the data loader or for garbage collection",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the thread that launches its work is \z
      inside a range of the data loader. If no range names the loader: while the thread pauses \z
      between the last launch of a step and the first of the next and then uploads data, reads \z
      files or waits for workers.",
    why = "The GPU can only compute on a batch that is there. Time lost here is lost however fast \z
      the kernels are, and a setting usually wins it back. Loading that happens while the GPU is \z
      busy costs nothing and is not counted.",
    fix = "In PyTorch give the `DataLoader` enough workers: `num_workers` at least the time that \z
      one batch takes to load divided by the step without the wait, with \z
      `persistent_workers=True`, `prefetch_factor=4` and `pin_memory=True`. If that is still not \z
      enough, tokenize or decode before training. In NeMo set `model.data.num_workers`, in \z
      Megatron `--num-workers`, in Lightning `num_workers` of the DataModule's loaders, in the \z
      Hugging Face Trainer `dataloader_num_workers`.",
    wrong = "Without ranges the pause between two steps may be something else that the launching \z
      thread does there (logging, evaluation on the host): the finding then says 'most likely' \z
      and has medium confidence. A pause of 200 ms or more in which the thread neither reads nor \z
      waits, in a report without any range, may also be a garbage collection: at most a warning, \z
      with low confidence. Record with NVTX ranges (`torch.autograd.profiler.emit_nvtx`, or a \z
      range named 'dataloader') to be sure.",
  },
  advice = {
    {
      when = "little",
      pytorch = {
        training = "Prefetch batches to the GPU{.}: on a side stream, or with the next batch's \z
          `.to(device, non_blocking=True)` before this step's backward. There is little to gain.",
        cuda = "Prefetch batches to the GPU{.}: the next batch's `.to(device, non_blocking=True)` \z
          on a side stream. There is little to gain.",
      },
      cuda = "Upload the next input early{.}: on a separate stream while this one computes. There \z
        is little to gain.",
    },
    {
      when = "has_workers",
      megatron = "Add loader workers{.}: the loader has to deliver {times} times as fast. Raise \z
        `--num-workers` by about that factor, up to the cores of the process.{much}",
      nemo = "Add loader workers{.}: the loader has to deliver {times} times as fast. Raise \z
        `model.data.num_workers` by about that factor, up to the cores of the process.{much}",
      trainer = "Add loader workers{.}: the loader has to deliver {times} times as fast. Raise \z
        `dataloader_num_workers` by about that factor, up to the cores of the process, and set \z
        `dataloader_prefetch_factor=4`.{much}",
      pytorch = "Add loader workers{.}: the loader has to deliver {times} times as fast. Raise \z
        `num_workers` by about that factor, up to the cores of the process, and set \z
        `prefetch_factor=4`, `persistent_workers=True`.{much}",
      cuda = "Prepare input in more threads or processes{.}: it has to come {times} times as \z
        fast. Prepare several inputs ahead.{much}",
    },
    {
      when = { "no_workers", "made" },
      pytorch = 'Prepare batches ahead, or on the GPU{.}: `DataLoader(num_workers={workers}, \z
        pin_memory=True)` {covers} if it is read or decoded; what is computed (masks, one-hot \z
        targets, random numbers) is made with `device="cuda"`, once if it does not change.',
      cuda = "Prepare inputs ahead, or on the GPU{.}: separate threads for what is read or \z
        decoded, with two pinned buffers in turn; kernels for what is computed (masks, tables, \z
        random numbers).",
    },
    {
      when = "no_workers",
      unless = "made",
      nemo = "Load batches in worker processes{.}: `model.data.num_workers={workers}` {covers}.",
      megatron = "Load batches in worker processes{.}: `--num-workers` {workers} {covers}.",
      trainer = "Load batches in worker processes{.}: `dataloader_num_workers={workers}` \z
        {covers}. Add `dataloader_persistent_workers=True` and `dataloader_prefetch_factor=4`.",
      pytorch = "Load batches in worker processes{.}: `DataLoader(num_workers={workers})` \z
        {covers}. Add `persistent_workers=True`, `prefetch_factor=4` and `pin_memory=True` with \z
        `.to(device, non_blocking=True)`{pinning}.",
      cuda = "Prepare the next inputs in separate threads{.}: while the GPU works on this one, \z
        {workers} of them {covers}. Use two pinned buffers in turn, and upload on a separate \z
        stream{pinning}.",
    },
    {
      when = "unsure",
      'Make sure first{.}: garbage collection looks the same. Put a range around the loader \z
        ("dataloader") and one around collections (`gc.callbacks`), or sample the process with \z
        py-spy.',
    },
    {
      when = "has_workers",
      training = "If more workers do not help, make a batch cheaper{.}: tokenize or decode before \z
        training, store the result in larger files, move augmentation to the GPU.",
      cuda = "If more of them do not help, make an input cheaper{.}: decode in advance, store the \z
        result in larger files, move preparation to the GPU.",
    },
    {
      when = "no_workers",
      unless = "made",
      training = "Tokenize or decode before training, so that a batch only has to be read.",
      cuda = "Decode in advance, so that an input only has to be read.",
    },
  },
  evaluate = function(trace, options)
    if trace:fact "steps.found" == 0 and not trace:fact "loader.range_ns_per_step" then
      return nil,
        "no steps were found and no range names the data loader, so its pauses cannot be told \z
          from others",
        trace:words {
          nsys = '`--trace=cuda,nvtx,osrt`, with an NVTX range around each step ("step 1", "step \z
            2", ...) or around the loader ("dataloader")',
          torch_profiler = '`torch.profiler.profile`, with `profiler.step()` after each step, or \z
            `record_function("dataloader")` around the loader',
        }
    end
    local waits = trace:idle { cause = "input" }
    waits = waits:minus(waits:where { stretch = "lock" }) -- reported by gil-contention
    local idle = waits:union_ns()
    local share = idle / trace:total_ns()
    if idle == 0 or share < options.note_share then
      -- Unexplained pauses may be the loader's: without ranges and operating-system calls this is
      -- unknown.
      if
        not trace:available "os_calls"
        and not trace:fact "loader.range_ns_per_step"
        and trace:idle { cause = "unknown" }:union_ns() >= options.share * trace:total_ns()
      then
        return nil,
          "the GPU idles for a good part of the step, and nothing recorded shows what the host \z
            did then",
          trace:words {
            nsys = '`--trace=cuda,nvtx,osrt`, with an NVTX range around the loader ("dataloader")',
            torch_profiler = '`torch.profiler.profile(with_stack=True)`, or with \z
              `record_function("dataloader")` around the loader',
          }
      end
      return {}
    end

    local step = trace:total_ns() / trace:fact "steps.count"
    local idle_a_step = idle / trace:fact "steps.count"
    local threads = waits:group("thread")
    local waited = trace:os_calls { thread = threads[1].key, does = "wait" }:overlap_ns(waits)
    local workers = waited > idle / 2
      or trace:threads { phase = "loader" } > 0
      or trace:ranges { name = "*_MultiProcessingDataLoaderIter*" }:count() > 0
    -- The loader's range says that it has no workers, whatever it waits for (a dataset over the
    -- network) and whatever other loaders have.
    if trace:ranges { name = "*_SingleProcessDataLoaderIter*" }:count() > 0 then
      workers = false
    end
    if
      trace:ops { class = { "gemm_*", "attention_fused" } }:count()
        + trace:ops { kind = "graph" }:count()
      == 0
    then
      return nil, "no matrix multiplication ran, so there is no model to load input for", ""
    end
    local guessed = waits:where { inferred = true }
    local inferred = guessed:union_ns() > idle / 2
    -- Without ranges, and if the thread neither reads nor waits, only the upload after the pause
    -- suggests a batch.
    local reads = trace:os_calls { thread = threads[1].key, does = "read" }:overlap_ns(waits)
    local unsure = inferred
      and trace:ranges():count() == 0
      and 2 * guessed:where { min_ns = options.collection_ns }:union_ns() > idle
      and waited <= idle / 2
      and reads == 0
    -- Nothing shows a loader: it may be the program that computes what it uploads.
    local made = inferred
      and not unsure
      and not workers
      and reads == 0
      and not require "loader_seen"(trace)

    -- How much faster the workers have to be; or how many it takes if there are none.
    local little = share < options.share
    local factor = step / math.max(step - idle_a_step, 1)
    local load = math.max(trace:fact "loader.range_ns_per_step" or idle_a_step, idle_a_step)
    local count = math.ceil(load / math.max(step - idle_a_step, 1))
    local covers = count <= options.most_workers
        and string.format("covers the %.0f ms that a batch takes", load / 1e6)
      or string.format(
        "is a start; %d would be needed for the %.0f ms that a batch takes, so make a batch \z
          cheaper as well",
        count,
        load / 1e6
      )
    return {
      {
        subject = "data loader",
        message = unsure and "unsure"
          or made and "made"
          or inferred and "pause"
          or little and "fetch"
          or workers and "workers"
          or "main",
        data = {
          idle = idle_a_step,
          step = step,
          share = share,
          host = require "host"(trace, waits) .. require "in_every"(trace, waits),
          times = string.format("%.1f", factor),
          much = factor > options.much
              and " Workers alone will not achieve that: make a batch cheaper first."
            or "",
          workers = string.format("%d", math.min(options.most_workers, math.max(2, count))),
          covers = covers,
          pinning = trace:fact "device.coherent" == 1
              and " (on Grace Hopper, where the GPU reads host memory in place over NVLink-C2C, \z
                pinning matters less)"
            or "",
        },
        recoverable_ns = idle,
        change = { { pause = waits }, { pause = trace:ranges { phase = "loader" } } },
        at_most = little and "note" or unsure and "warning" or nil,
        confidence = unsure and "low" or inferred and "medium" or "high",
        metrics = {
          {
            name = "idle while loading",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = waits:evidence { most = 5 },
        seen = {
          little = little,
          made = made,
          has_workers = not little and workers,
          no_workers = not little and not workers,
        },
      },
    }
  end,
}

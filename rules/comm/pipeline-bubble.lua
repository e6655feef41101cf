return {
  id = "pipeline-bubble",
  category = "comm",
  title = "Pipeline stages wait for each other",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Reported from this share of the step: time in which GPUs wait for another stage. A \z
        bubble of (stages - 1) / (micro-batches + stages - 1) cannot be avoided: below 10 % there \z
        are at least nine micro-batches per stage.",
    },
    each = {
      default = 0.02,
      unit = "fraction",
      doc = "How much of its steps each GPU waits at least: a GPU that waits for nobody is slower \z
        than the others, and that is no bubble.",
    },
    unequal = {
      default = 1.15,
      unit = "count",
      doc = "How many times as long as the average the longest stage has to compute for stages to \z
        be unequal. Chosen.",
    },
    fits = {
      default = 0.8,
      unit = "fraction",
      doc = "Share of one GPU's memory that the whole model may need to fit there. Chosen: the \z
        peak of all GPUs together leaves out what grows with the batch.",
    },
  },
  messages = {
    messages = "{devices} GPUs wait in {messages} messages {a_step} for each other's results and \z
      compute nothing meanwhile, for {wait:lost} of {each_step} \z
      ({share:fraction}).{ideal}{balance}",
    layers = "One process has spread its work over {devices} GPUs, and two of them hardly ever \z
      work at once ({together:fraction} of their time): each idles for {wait:lost} of {each_step} \z
      ({share:fraction}) while another computes what it needs.",
  },
  headlines = {
    messages = "Pipeline stages wait for each other {share:fraction} of the {unit}",
    layers = "{devices} GPUs take turns instead of working at once",
  },
  doc = {
    what = "Adds up how long GPUs wait in point-to-point messages (NCCL's send and receive) for a \z
      sender that still computes, where all of them do. And for one process that drives several \z
      GPUs, how long one idles with its work launched while another works and copies between them \z
      carry the results.",
    why = "A stage cannot start before the previous one has something for it, nor go backward \z
      before the next one is done. With one batch at a time, one GPU works and the others wait.",
    fix = "More and smaller micro-batches: each doubling halves the bubble. Schedules that \z
      interleave several stages on each GPU (1F1B, interleaved, zero bubble). If the model fits \z
      on one GPU, a copy on each with its own part of the batch needs no pipeline.",
    wrong = "Smaller micro-batches compute less efficiently, which the trace does not show: the \z
      saving is an upper limit (two H200, from 2 to 8 micro-batches: a fifth of the wait was \z
      saved). Stages of unequal length also wait, and more micro-batches do not help those.",
  },
  advice = {
    {
      when = "messages",
      megatron = "Run more micro-batches a step{.}: a larger `--global-batch-size / \z
        --micro-batch-size`, and `--num-layers-per-virtual-pipeline-stage` without \z
        `--no-overlap-p2p-communication`.",
      nemo = "Run more micro-batches a step{.}: a larger `global_batch_size` over \z
        `micro_batch_size`, and `virtual_pipeline_model_parallel_size`.",
      deepspeed = "Run more micro-batches a step{.}: a larger `gradient_accumulation_steps` with \z
        a smaller `train_micro_batch_size_per_gpu`.",
      pytorch = {
        training = "Run more and smaller micro-batches a step{.}: with a schedule that puts \z
          several stages on each GPU (`torch.distributed.pipelining`, `ScheduleInterleaved1F1B` \z
          or `ScheduleZBVZeroBubble`).",
        cuda = "Cut the batch into more parts{.}: then all stages work at once.",
      },
      cuda = "Cut the work into more parts{.}: send each as soon as it is computed, so that all \z
        stages work at once.",
    },
    {
      when = { "messages", "unequal" },
      "Give the stages equal work{.}: the longest one sets the pace (embedding and loss count as \z
        layers).",
    },
    {
      when = "layers",
      pytorch = {
        training = {
          'Put the whole model on each GPU{.}: {whole}Run one process per GPU \z
            (`DistributedDataParallel`) instead of `device_map="auto"` or layers moved by hand.',
          "Otherwise shard every layer (FSDP, tensor parallelism), or run a pipeline with \z
            micro-batches (`torch.distributed.pipelining`).",
        },
        cuda = {
          'Put the whole model on each GPU{.}: {whole}Run one process per GPU, each with its own \z
            part of the batch, instead of `device_map="auto"` or layers moved by hand.',
          "Otherwise split every layer over the GPUs (tensor parallelism) instead of giving each \z
            GPU some of the layers, or let several batches follow each other through them \z
            (`torch.distributed.pipelining`).",
        },
      },
      cuda = "Split the data, not the steps of the work{.}: then all GPUs work at once. Or cut \z
        the work into parts that follow each other through the GPUs.",
    },
  },
  evaluate = function(trace, options)
    local comm = trace:ops { class = "collective" }
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    local messages = comm:where { collective = "send and receive" }
    if messages:count() > 0 then
      local waits, wait, least = require "waits"(trace, messages), 0, math.huge
      for _, w in ipairs(waits) do
        wait = wait + w.wait_ns
        least = math.min(least, w.wait_ns)
      end
      local devices = #messages:group("device", 1000)
      if #waits < 2 and messages:exposed_ns(compute) >= options.share * total then
        return nil,
          "the report holds only one end of its messages, so waiting for another stage cannot be \z
            told from sending",
          trace:words {
            nsys = "`--trace=cuda,nvtx` around the launcher, or the reports of all ranks at once",
            torch_profiler = "`torch.profiler.profile` on every rank, and the traces of all ranks \z
              at once",
          }
      end
      local share = wait / total
      if
        #waits >= 2
        and share >= options.share
        and least >= options.each * total / trace:fact "device.count"
      then
        local usual, most = 0, 0
        for _, group in ipairs(compute:group("device", 1000)) do
          local time = group.rows:union_ns()
          usual, most = usual + time / devices, math.max(most, time)
        end
        local unequal = most > options.unequal * usual
        local parts, stages, ideal = trace:fact "unit.micro_batches", waits[1].together, ""
        if parts and parts >= 2 then
          ideal = string.format(
            " With one stage per GPU, %d stages and %.0f %s leave at least %.0f %%.",
            stages,
            parts,
            trace:words { training = "micro-batches", cuda = "parts" },
            100 * (stages - 1) / (parts + stages - 1)
          )
        end
        local rows
        for _, w in ipairs(waits) do
          rows = rows and rows:plus(w.rows) or w.rows
        end
        return {
          {
            subject = "stages",
            message = "messages",
            data = {
              devices = devices,
              messages = math.floor(messages:count() / steps + 0.5),
              wait = wait / steps,
              share = share,
              ideal = ideal,
              balance = unequal
                  and string.format(
                    " The longest stage computes %.0f %% longer than the average.",
                    100 * (most / usual - 1)
                  )
                or "",
            },
            -- Twice as many micro-batches leave half of it at best.
            recoverable_ns = wait / 2,
            metrics = {
              {
                name = "waiting for another stage",
                value = share,
                unit = "fraction",
                threshold = options.share,
              },
            },
            evidence = rows:evidence { most = 4, note = "waits for the other end" },
            seen = { unequal = unequal },
          },
        }
      end
    end

    for _, process in ipairs(trace:devices_in_turn()) do
      local idle = process.idle:where { cause = { "dependency", "launch_latency" } }
      local share = idle:union_ns() / total
      local together = 2 * process.together_ns / process.busy_ns
      if process.copies:count() > 0 and together < options.share and share >= options.share then
        local peak, size = trace:fact "memory.peak_bytes", trace:fact "device.memory_bytes"
        local fits = peak and size and peak * process.devices < options.fits * size
        local whole = fits
            and string.format("it fits, with %.1f GiB in use at the peak. ", peak / 2 ^ 30)
          or "if it fits. "
        return {
          {
            subject = "one process",
            message = "layers",
            data = {
              devices = process.devices,
              together = together,
              wait = idle:union_ns() / steps,
              share = share,
              whole = whole,
            },
            recoverable_ns = idle:union_ns(),
            metrics = {
              {
                name = "waiting for another GPU",
                value = share,
                unit = "fraction",
                threshold = options.share,
              },
            },
            evidence = idle:evidence { most = 4, note = "another GPU of the process works" },
          },
        }
      end
    end
    return {}
  end,
}

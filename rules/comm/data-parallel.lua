return {
  id = "data-parallel",
  category = "comm",
  title = "One process copies the model to several GPUs each step",
  since = "0.1",
  needs = { "kernels", "copies", "calls" },
  options = {
    share = {
      default = 0.03,
      unit = "fraction",
      doc = "Reported from this share of the step: broadcasts and copies between the GPUs while \z
        nothing computes.",
    },
    tensors = {
      default = 8,
      unit = "count",
      doc = "Broadcasts and copies to each other GPU a step from which they are the tensors of a \z
        model; input and output are only a few.",
    },
    alike = {
      default = 0.7,
      unit = "fraction",
      doc = "Kernels that every one of the GPUs runs at least, as a share of those that the one \z
        with the most runs, for them to do the same. Chosen: replicas run equally many, and the \z
        first one also the loss.",
    },
    together = {
      default = 0.25,
      unit = "fraction",
      doc = "Time in which two or more of the GPUs work at once, as a share of the time that each \z
        works on average, for them not to be stages that take turns. Chosen.",
    },
    turn_share = {
      default = 0.1,
      unit = "fraction",
      doc = "Share of the step in which one GPU waits while another works, from which the message \z
        says so. Chosen.",
    },
  },
  messages = {
    main = "One process drives {devices} GPUs and sends {sent:# tensor|# tensors} {a_step} from \z
      one to the others, and makes replicas of them: {time:lost} of {each_step} \z
      ({share:fraction}) while nothing computes.{turn}",
  },
  headlines = {
    main = "One process copies the model to {devices} GPUs {a_step}",
  },
  doc = {
    what = "Looks for processes that drive several GPUs which all do the same, and for broadcasts \z
      and copies between those GPUs in each step. Then it replays the step without them and \z
      without the pauses after them, in which the host makes replicas and starts threads.",
    why = "`torch.nn.DataParallel` replicates the model before each forward pass, gathers outputs \z
      on one GPU and sums gradients there. One process also launches for all GPUs, with threads \z
      that take turns at Python's lock. One process per GPU needs none of this.",
    fix = "`DistributedDataParallel` with one process per GPU (`torchrun`): replicas stay in \z
      place, and gradients are reduced in buckets during backward.",
    wrong = "A program that drives several GPUs and exchanges halos or parts of a field looks the \z
      same if it sends many messages a step: those have to be sent.",
  },
  advice = {
    {
      pytorch = {
        training = {
          "Run one process per GPU{.}: `torchrun --nproc-per-node {devices}` with \z
            `DistributedDataParallel` instead of `torch.nn.DataParallel`. Replicas then stay in \z
            place, and gradients travel during backward.",
          "Until then keep outputs small{.}: compute the loss inside the module, so that losses \z
            and not logits are gathered on one GPU.",
        },
        cuda = {
          "Run one process per GPU{.}: `torchrun --nproc-per-node {devices}` instead of \z
            `torch.nn.DataParallel`, each process with a replica that stays in place and its own \z
            part of the batch.",
          "Until then keep outputs small{.}: gather the choice (argmax, top-k) on one GPU instead \z
            of all logits.",
        },
      },
      cuda = "Keep shared data on every GPU{.}: send only what changed.",
    },
  },
  evaluate = function(trace, options)
    local processes = trace:devices_in_turn()
    if #processes == 0 then return {} end
    local known = trace:is "data_parallel"
    if not known and not trace:is "pytorch" then return {} end
    if trace:fact "steps.found" == 0 then
      return nil,
        "no steps were found, so what is sent each step cannot be told from what is sent at the \z
          start",
        trace:words {
          nsys = "`--trace=cuda,nvtx`, with an NVTX range around each step",
          torch_profiler = "`torch.profiler.profile` with schedule and `step()`",
        }
    end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local comm = trace:ops { class = "collective" }
    local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    for _, process in ipairs(processes) do
      -- A broadcast has rows on all of the GPUs, a copy on one.
      local sent = comm:where { collective = "broadcast" }:plus(process.copies)
      local of_steps = steps / process.devices
      -- Replicas do the same: as many kernels each.
      local least, most = math.huge, 0
      for _, group in ipairs(compute:group("device", 1000)) do
        least, most = math.min(least, group.count), math.max(most, group.count)
      end
      local alike = least >= options.alike * most
        and process.together_ns >= options.together * process.busy_ns / process.devices
      -- The host then makes replicas of the modules, and a thread for each.
      local making = trace:idle { after = sent, cause = { "unknown", "launch*" } }
      local time = sent:exposed_ns(compute) + making:union_ns()
      if
        alike
        and sent:count() >= options.tensors * of_steps * (process.devices - 1)
        and time >= options.share * total
      then
        return {
          {
            subject = "replicas",
            message = "main",
            data = {
              devices = process.devices,
              sent = math.floor(sent:count() / of_steps + 0.5),
              time = time / steps,
              share = time / total,
              turn = process.idle:union_ns() > options.turn_share * total
                  and string.format(
                    " For another %.0f %% of the time one GPU waits while another works.",
                    100 * process.idle:union_ns() / total
                  )
                or "",
            },
            about = true,
            recoverable_ns = time,
            change = { { remove = sent }, { pause = making } },
            confidence = known and "high" or "medium",
            metrics = {
              {
                name = "sending the model and making replicas",
                value = time / total,
                unit = "fraction",
                threshold = options.share,
              },
            },
            evidence = sent:evidence { most = 4, note = "part of the model, sent again" },
          },
        }
      end
    end
    return {}
  end,
}

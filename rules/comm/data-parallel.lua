return {
  id = "data-parallel",
  category = "comm",
  title = "One process copies the model to several GPUs in each step",
  since = "0.1",
  needs = { "kernels", "copies", "calls" },
  options = {
    share = { default = 0.03, unit = "fraction", doc = "Time of broadcasts and copies between the GPUs with nothing computed beside them, of the step, from which it counts." },
    tensors = { default = 8, unit = "count", doc = "Broadcasts and copies to each other GPU a step from which they are a model's tensors rather than its input and output, which are a few." },
  },
  messages = {
    main = "One process drives {devices} GPUs and sends {sent} tensors {a_step} from one to the others: {time:ns} of {each_step} ({share:fraction}) with nothing computed beside it.{turn}",
  },
  doc = {
    what = "Looks for processes that drive several GPUs which do alike, and for broadcasts and copies between those GPUs in each step, and replays the step without them.",
    why = "torch.nn.DataParallel replicates the model anew before each forward pass, gathers outputs on one GPU and adds gradients up there; and one process launches for all GPUs, its threads taking turns at Python's lock. One process a GPU needs none of this.",
    fix = "DistributedDataParallel with one process a GPU (torchrun): replicas stay, and gradients are reduced in buckets beside backward.",
    wrong = "A program that drives several GPUs and exchanges halos or parts of a field looks alike where it sends many messages a step: there the messages have to be sent. Nobody has seen this rule fire on a recording yet.",
  },
  evaluate = function(trace, options)
    local processes = trace:devices_in_turn()
    if #processes == 0 then return {} end
    local known = trace:is "data_parallel"
    if not known and not trace:is "pytorch" then return {} end
    if trace:fact "steps.found" == 0 then
      return nil, "nothing was found that repeats, so what is sent each step cannot be told from the start", trace:words { nsys = "--trace=cuda,nvtx, with an NVTX range around each step", torch_profiler = "torch.profiler.profile with schedule and step()" }
    end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local comm = trace:ops { class = "collective" }
    local compute = trace:ops { kind = { "kernel", "graph", "set" } }:minus(comm)
    for _, process in ipairs(processes) do
      -- Broadcasts run on all of the GPUs; a copy belongs to one.
      local sent = comm:where { collective = "broadcast" }:plus(process.copies)
      local of_steps = steps / process.devices
      -- Replicas do the same: as many kernels each.
      local least, most = math.huge, 0
      for _, group in ipairs(compute:group("device", 1000)) do least, most = math.min(least, group.count), math.max(most, group.count) end
      local alike = least >= 0.7 * most and 4 * process.together_ns >= process.busy_ns / process.devices
      local time = sent:exposed_ns(compute)
      if alike and sent:count() >= options.tensors * of_steps * (process.devices - 1) and time >= options.share * total then
        return { {
          subject = "replicas",
          message = "main",
          data = { devices = process.devices, sent = math.floor(sent:count() / of_steps + 0.5), time = time / steps, share = time / total,
            turn = process.idle:union_ns() > 0.1 * total and string.format(" For another %.0f %% of it one GPU waits while another works.", 100 * process.idle:union_ns() / total) or "" },
          about = true,
          recoverable_ns = time,
          change = { { remove = sent } },
          confidence = known and "high" or "medium",
          metrics = { { name = "sending the model", value = time / total, unit = "fraction", threshold = options.share } },
          evidence = sent:evidence { most = 4, note = "of the model, sent again" },
          advice = {
            {
              pytorch = {
                training = {
                  "One process a GPU: torchrun --nproc-per-node " .. process.devices .. " and DistributedDataParallel instead of torch.nn.DataParallel. Replicas then stay, and gradients travel beside backward.",
                  "Until then keep outputs small: compute the loss inside the module, so that losses and not logits are gathered on one GPU.",
                },
                cuda = {
                  "One process a GPU: torchrun --nproc-per-node " .. process.devices .. ", each with a replica that stays and its own part of the batch, instead of torch.nn.DataParallel.",
                  "Until then keep outputs small: what is gathered on one GPU may be the choice (argmax, top-k) instead of all logits.",
                },
              },
              cuda = "Keep what all GPUs need on each of them, and send only what changed.",
            },
          },
        } }
      end
    end
    return {}
  end,
}

-- How long the GPU is idle because the launching thread is inside these ranges.
local function idle_in(trace, ranges)
  local pieces, ns =
    trace:idle {
      cause = {
        "sync",
        "launch",
        "allocation",
        "compilation",
        "loading",
        "launch_latency",
        "dependency",
        "unknown",
      },
    }, 0
  for _, group in ipairs(ranges:group("thread", 1000)) do
    ns = ns + pieces:where { thread = group.key }:overlap_ns(group.rows)
  end
  return ns
end

return {
  id = "checkpoint-stall",
  category = "steps",
  title = "The GPU stops for a checkpoint or an evaluation",
  since = "0.1",
  needs = { "kernels", "calls" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of all steps: time in which checkpoints or evaluation stop \z
        the GPU.",
    },
    note_share = {
      default = 0.02,
      unit = "fraction",
      doc = "From this share of the steps it is a note.",
    },
    burst = {
      default = 8,
      unit = "count",
      doc = "Without ranges: copies to the host in a row from which they may be a checkpoint.",
    },
    burst_bytes = {
      default = 67108864,
      unit = "bytes",
      doc = "And how large they have to be together: fewer bytes are metrics.",
    },
    write_share = {
      default = 0.1,
      unit = "fraction",
      doc = "And the share of the pauses after them that the thread spends in write calls. \z
        Recorded: 25 % under torch.save, the rest is pickling.",
    },
    worth = {
      default = 0.01,
      unit = "fraction",
      doc = "What saving may cost of all steps: the advice says how seldom that is.",
    },
    copy_bytes = {
      default = 67108864,
      unit = "bytes",
      doc = "Bytes that checkpoints copy to the host, from which the advice says how long the \z
        copy takes. Chosen.",
    },
    tensor_bytes = {
      default = 1048576,
      unit = "bytes",
      doc = "Without ranges: smaller copies are metrics, not tensors of a checkpoint.",
    },
  },
  messages = {
    checkpoint = "The GPU is stopped for {stall:lost} of {each_step} ({share:fraction}) while the \z
      launching thread saves a checkpoint, {each:ns} each time (range '`{name}`').",
    evaluation = "The GPU is stopped for {stall:lost} of {each_step} ({share:fraction}) while the \z
      launching thread evaluates the model, {each:ns} each time (range '`{name}`').",
    inferred = "The GPU is stopped for {stall:lost} of {each_step} ({share:fraction}) while \z
      {bytes:bytes} in all are copied from it and files are written: most likely checkpoints.",
  },
  headlines = {
    checkpoint = "Saving a checkpoint stops the GPU for {each:ns}",
    evaluation = "An evaluation stops the GPU for {each:ns}",
    inferred = "Checkpoints most likely stop the GPU",
  },
  doc = {
    what = "Adds up the time in which a GPU is idle while the thread that launches its work is \z
      inside a range of a checkpoint or an evaluation, and the copies to the host that it waits \z
      for there. Without such ranges it looks for many large copies to the host in a row, \z
      followed by pauses in which the thread writes files.",
    why = "`torch.save` copies, pickles and writes in the training thread; the GPU could train \z
      meanwhile. Only the copy has to be waited for, and that takes a fraction of a second for \z
      each ten gigabytes.",
    fix = "Save asynchronously: `torch.distributed.checkpoint.async_save` with pinned staging; \z
      Lightning `AsyncCheckpointIO`; NeMo and Megatron `--async-save` with `--ckpt-format \z
      torch_dist`; or copy to pinned buffers and write in a separate thread. Save less often. \z
      Evaluate in larger batches without gradients, with separate loader workers, and keep \z
      metrics on the device.",
    wrong = "The share refers to the recording: one that holds a checkpoint every few steps \z
      overstates what a run of thousands of steps loses. GPU work during an evaluation is not \z
      counted, and an evaluation that no range marks is not seen.",
  },
  advice = {
    {
      unless = "evaluation",
      lightning = "Save in the background{.}: `AsyncCheckpointIO`.",
      megatron = "Save in the background{.}: `--async-save` with `--ckpt-format torch_dist`.",
      nemo = "Save in the background{.}: `ckpt_async_save=True` of the strategy.",
      pytorch = "Save in the background{.}: `torch.distributed.checkpoint.async_save(state_dict, \z
        checkpoint_id=..., process_group=...)` returns after the copy to host memory.",
      jax = "Save in the background{.}: `orbax.checkpoint.AsyncCheckpointer`.",
      cuda = "Save in the background{.}: copy to host memory, then write in a thread while the \z
        GPU goes on.",
    },
    {
      unless = "evaluation",
      pytorch = "By hand{.}: `copy_(..., non_blocking=True)` into pinned buffers that are reused \z
        from save to save, on a side stream, then `torch.save` in a thread.",
      cuda = "Copy into pinned buffers that are reused from save to save (`cudaMemcpyAsync` on a \z
        separate stream), with an event before the thread writes.",
    },
    {
      when = "checkpoint",
      "Save less often{.}: every {every} steps or more, and it costs below 1 %.",
    },
    {
      when = { "checkpoint", "copied" },
      unless = "coherent",
      "At least {copy_ms} ms have to stay, for the copy ({gib} GiB each time, at {link} GB/s from \z
        pinned memory).",
    },
    {
      when = { "checkpoint", "copied", "coherent" },
      "At least {copy_ms} ms have to stay, for the copy ({gib} GiB each time, at {link} GB/s over \z
        NVLink-C2C).",
    },
    {
      when = "evaluation",
      pytorch = "Speed the evaluation up{.}: `torch.inference_mode()`, larger batches, a separate \z
        `DataLoader` with workers (`persistent_workers=True`), and results collected on the \z
        device with one `.item()` at the end.",
      cuda = "Speed the evaluation up{.}: larger batches, input that is prepared while the GPU \z
        works, and results collected on the device with one copy at the end.",
    },
    {
      when = "evaluation",
      lightning = "Evaluate less often or on fewer batches (`val_check_interval`, \z
        `limit_val_batches`), or in a separate job.",
      nemo = "Evaluate less often or on fewer batches (`val_check_interval`, \z
        `limit_val_batches`), or in a separate job.",
      megatron = "Evaluate less often or on fewer batches (`--eval-interval`, `--eval-iters`), or \z
        in a separate job.",
      trainer = "Evaluate less often (`eval_steps`) or on fewer samples, or in a separate job.",
      cuda = "Evaluate less often or on less data, or in a separate job.",
    },
  },
  evaluate = function(trace, options)
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local link = trace:fact "device.link_bytes_per_s"
    local compute = trace:ops { kind = { "kernel", "graph", "set" } }
    local down = trace:ops { direction = "d2h" }
    local findings = {}

    for _, phase in ipairs { "checkpoint", "evaluation" } do
      local ranges = trace:ranges { phase = phase }
      if ranges:count() > 0 then
        local stall = idle_in(trace, ranges)
        -- Copies that a checkpoint waits for stop the GPU as well; a program that saves in the
        -- background overlaps them with kernels.
        if phase == "checkpoint" then
          stall = stall + compute:plus(down):overlap_ns(ranges) - compute:overlap_ns(ranges)
        end
        local share = stall / total
        if share > 0 and share >= options.note_share then
          local names = ranges:group "name"
          -- Ranges may reach beyond the steps, and ranks save together.
          local longest, threads = names[1], #ranges:group("thread", 1000)
          local times = math.max(longest.rows:union_ns() / (longest.sum_ns / longest.count), 1)
            * threads
          -- How seldom saving has to happen to cost little.
          local step = (total - stall) / steps
          local every =
            math.max(1, math.ceil(stall / times / (options.worth * math.max(step, 1))))
          local bytes = down:where { inside = ranges }:sum "bytes"
          local rate = link or math.huge
          findings[#findings + 1] = {
            subject = phase,
            message = phase,
            data = {
              stall = stall / steps,
              share = share,
              each = stall / times,
              name = longest.key,
              every = string.format("%.0f", every),
              copy_ms = string.format("%.1f", bytes / times / rate * 1e3),
              gib = string.format("%.2f", bytes / times / 2 ^ 30),
              link = string.format("%.0f", rate / 1e9),
            },
            about = true,
            recoverable_ns = stall,
            change = {
              { pause = ranges },
              {
                unblock = trace
                  :calls { class = { "sync", "copy", "copy_sync" } }
                  :where { inside = ranges },
              },
              { remove = down:where { launched_in = ranges } },
            },
            at_most = share < options.share and "note" or nil,
            metrics = {
              {
                name = "GPU stopped for the " .. phase,
                value = share,
                unit = "fraction",
                threshold = options.share,
              },
            },
            evidence = ranges:evidence { most = 4 },
            seen = {
              copied = link and bytes > options.copy_bytes,
              coherent = trace:fact "device.coherent" == 1,
            },
          }
        end
      end
    end
    if #findings > 0 or trace:ranges { phase = "checkpoint" }:count() > 0 then
      return findings
    end

    -- Without ranges: tensors that leave in a row and do not come back, and files that are written
    -- right after.
    local still = trace
      :idle {
        cause = {
          "sync",
          "launch",
          "allocation",
          "compilation",
          "loading",
          "launch_latency",
          "dependency",
          "unknown",
        },
      }
      :union_ns() + down:exposed_ns(compute)
    if still / total < options.note_share then return {} end
    local marked, why, record_ranges = trace:available "ranges"
    -- Checkpoints may be found without ranges, but if none is found and none was recorded, that
    -- proves nothing.
    local function none()
      if marked then return {} end
      return nil,
        "the GPU is stopped at times, and no range shows whether for a checkpoint or an \z
          evaluation: "
          .. why,
        record_ranges
    end
    if not trace:available "copies" then
      return nil,
        "no range marks a checkpoint or an evaluation, and copies were not recorded",
        (select(3, trace:available "copies"))
    end
    local burst, pauses, written = require "saved_state"(trace, options)
    local bytes = burst:where { min_bytes = options.tensor_bytes }:sum "bytes"
    if bytes < options.burst_bytes then return none() end
    local stall = pauses:union_ns() + burst:exposed_ns(compute)
    local share = stall / total
    if share == 0 or share < options.note_share then return none() end
    if written == nil then
      local _, reason, record_with = trace:available "os_calls"
      return nil,
        "many large copies go to the host and no range says why; whether files are written then \z
          is unknown: "
          .. reason,
        record_with
    end
    if not written then return none() end
    return {
      {
        subject = "checkpoint",
        message = "inferred",
        data = { stall = stall / steps, share = share, bytes = bytes },
        about = true,
        recoverable_ns = stall,
        change = { { unblock = burst:calls() }, { remove = burst }, { pause = pauses } },
        at_most = share < options.share and "note" or nil,
        confidence = "medium",
        metrics = {
          {
            name = "GPU stopped for copies and writing",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = pauses:evidence { most = 4 },
      },
    }
  end,
}

local constants = { sizes = 100 } -- grids that are looked at

return {
  id = "slice-gradients",
  category = "compute",
  title = "Backward clears and adds a whole tensor for each slice of it",
  since = "0.2",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: clearing and adding whole tensors for slices. \z
        Chosen.",
    },
    note_share = {
      default = 0.02,
      unit = "fraction",
      doc = "From this share of the step it is a note.",
    },
    slices = {
      default = 8,
      unit = "count",
      doc = "Slices of one tensor in a step, at least, each of at most as small a part of it. \z
        Rotary embeddings take two halves, and projections of queries, keys and values three \z
        parts.",
    },
  },
  messages = {
    main = "Backward clears a tensor {count:# time|# times} {a_step}, copies a slice's gradient \z
      into it, and adds the whole to the gradients of the other slices: {time:lost} of \z
      {each_step} ({share:fraction}) for clearing and adding, mostly of zeros.",
  },
  headlines = {
    main = "Backward clears and adds a whole tensor for each of {count:# slice|# slices} {a_step}",
  },
  doc = {
    what = "Finds kernels that clear a tensor, each followed by a copy into a small part of it \z
      and by the addition of a tensor of the same size: what autograd does for each `x[:, t]` or \z
      `x.select(...)` of a loop.",
    why = "The gradient of a slice is a tensor of the whole one's size, zero but for the slice. A \z
      loop over T slices writes and adds T whole tensors: its time grows with the square of T.",
    fix = "Take the tensor apart once: `x.unbind(1)`, `x.split(...)` or `x.chunk(...)` before the \z
      loop. Their backward joins the gradients once. A recurrent loop over all of a sequence: \z
      `torch.nn.LSTM`, `torch.nn.GRU` or a scan.",
    wrong = "Slices that overlap cannot be taken apart. No shipped recording triggers this rule; \z
      only literal traces test it.",
  },
  advice = {
    {
      pytorch = {
        training = "Take the tensor apart once, before the loop{.}: `for x_t in x.unbind(1)` \z
          instead of `x[:, t]` (or `split`, `chunk`). Backward then joins the gradients of all \z
          slices once.",
      },
    },
    {
      when = "cells",
      pytorch = "Or give the whole sequence to one call{.}: `torch.nn.LSTM` or `torch.nn.GRU` \z
        (cuDNN) instead of a loop over cells, where the next input does not depend on the output.",
    },
  },
  evaluate = function(trace, options)
    if not trace:is "pytorch" or not trace:is "training" then return {} end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local small = trace:ops { class = "pointwise" }
    local fills = small:where { name = "*FillFunctor*" }
    local sums = small:where { name = "*CUDAFunctor_add<*" }
    local copies = small:where { name = "*copy_kernel*" }
    local found, copied, count = fills:minus(fills), fills:minus(fills), 0
    for _, size in ipairs(fills:group("blocks", constants.sizes)) do
      local blocks = tonumber(size.key)
      local each = trace:match {
        size.rows,
        { of = copies:where { max_blocks = blocks // options.slices }, most = 1 },
        { of = sums:where { min_blocks = blocks, max_blocks = blocks }, most = 1 },
      }
      if each.count >= math.max(1, options.slices * steps) then
        found, copied = found:plus(each[1]):plus(each[3]), copied:plus(each[2])
        count = count + each.count
      end
    end
    local time = found:own_ns()
    local share = time / total
    if count == 0 or share < options.note_share then return {} end
    return {
      {
        subject = "gradients of slices",
        message = "main",
        data = { count = math.floor(count / steps + 0.5), time = time / steps, share = share },
        about = true,
        recoverable_ns = time,
        -- One kernel joins what the copies of all slices write.
        change = { { remove = found:plus(copied) } },
        at_most = share < options.share and "note" or nil,
        metrics = {
          {
            name = "clearing and adding for slices",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = found:evidence { most = 4 },
        seen = {
          cells = trace:ops({ name = { "*lstm_cell*", "*gru_cell*" } }):count() > 0,
        },
      },
    }
  end,
}

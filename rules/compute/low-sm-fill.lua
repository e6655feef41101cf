return {
  id = "low-sm-fill",
  category = "compute",
  title = "Kernels are too small to fill the GPU",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = { default = 0.10, unit = "fraction", doc = "Time in which kernels run that are too small for the GPU, each moment times the share of the SMs that all kernels running then leave empty, of the time in which kernels run, from which it counts." },
    min_ns = { default = 3000, unit = "ns", doc = "Shorter kernels take that long on any number of SMs: starting and ending is most of it." },
  },
  messages = {
    empty = "{count:# kernel|# kernels} {a_step} {count:is|are} too small to fill this GPU ({sms} SMs): {count:it takes|they take} {time:ns} of {each_step}, and {empty:fraction} of the SMs are empty meanwhile, whatever runs beside them counted. That is {share:fraction} of the time in which kernels run.{sampled}",
  },
  doc = {
    what = "Adds up the time of kernels with fewer blocks than the GPU has SMs, or with blocks of fewer threads than an SM's four schedulers need, each moment weighted by the SMs that all kernels running at it leave empty, and at most what sampled SM activity (GPU metrics, or DCGM aligned to the report) leaves. Collectives, fused attention (one token decodes with few blocks) and persistent kernels, which start as many blocks as they need, are left out.",
    why = "A kernel on 1 of 132 SMs counts as a busy GPU and uses less than one percent of it.",
    fix = "Give each kernel more work: a larger batch or micro-batch, longer sequences, grouped or batched products instead of many small ones; split-K for a product whose result is small. Independent small kernels can share the GPU on several streams. A single block that sums everything up belongs into a two-stage reduction.",
    wrong = "Fewer blocks can be right where each is bound by memory and many SMs would only share the same bandwidth. What is won is at most what is said: twice the work in the same time. Where small kernels run side by side already and fill more than half of the GPU together, it is a note.",
  },
  evaluate = function(trace, options)
    local sms = trace:fact "device.sm_count"
    if not sms then return nil, "the report does not tell how many SMs the GPU has", "" end
    local kernels = trace:ops { kind = "kernel" }
    if kernels:count() == 0 then return nil, "no kernel ran within the steps", "" end
    local busy = kernels:own_ns()
    -- These start as many blocks as they need, and whoever tuned them knows of the SMs that stay empty.
    local tuned = kernels:where { class = "attention_fused" }:plus(kernels:where {
      name = { "*nvjet*", "*stream_k*", "*streamk*", "*StreamK*", "*stream-k*", "*ersistent*", "*sm90*", "*Sm90*", "*sm100*", "*Sm100*", "*sm120*" } })
    local others = kernels:where { min_ns = options.min_ns }:minus(tuned)
    others = others:minus(others:where { class = "collective" })
    local small = others:where { max_blocks = sms - 1 }
    -- An SM has four schedulers, each of which wants a warp: as many small blocks leave it as empty as few large ones.
    for _, shape in ipairs(others:where { min_blocks = sms, max_blocks = 128 * sms }:launch_shapes(1000)) do
      if shape.blocks * math.min(shape.threads, 128) < 128 * sms then small = small:plus(shape.rows) end
    end
    local time = small:own_ns()
    if time == 0 then return {} end
    local lost = small:empty_sm_ns(tuned)
    -- Where the SMs were sampled, no more of them can have been empty than that leaves.
    local sampled = trace:metric "sm_active"
    local active = sampled and trace:fact "samples.sm_active_fraction"
    if active then lost = math.min(lost, math.max(0, kernels:union_ns() - active * trace:total_ns())) end
    local share = lost / busy
    if share < options.share then return {} end

    local steps = trace:fact "steps.count"
    local advice = {}
    local names, sum = small:group("name", 1), small:sum "duration_ns"
    local lonely = names[1].sum_ns > 0.5 * sum and names[1].rows:top(1)[1]
    -- Whoever uses a library's or a framework's kernels does not write them.
    local own_kernels = names[1].rows:where { own = true }:count() > 0
    for _, framework in ipairs { "pytorch", "jax", "tensorflow", "tensorrt", "onnxruntime", "ggml" } do own_kernels = own_kernels and not trace:is(framework) end
    if own_kernels and lonely and lonely.blocks >= sms then
      advice[1] = string.format("'%s' runs %d blocks of %d threads: blocks of 128 threads or more keep all four schedulers of an SM busy.", #lonely.name > 60 and lonely.name:sub(1, 57) .. "..." or lonely.name, lonely.blocks, lonely.threads)
    elseif own_kernels and lonely and (lonely.threads or 0) > 0 and lonely.blocks * lonely.threads < 32 * sms then
      advice[1] = string.format(trace:words {
        directives = "'%s' runs %d blocks of %d threads: spread the loop over the whole GPU (OpenACC: gang and vector, collapse; OpenMP: teams distribute parallel for) instead of looping in a few.",
        cuda = "'%s' runs %d blocks of %d threads: give each element a thread of its own (a loop over the grid, as many blocks as there is work) instead of looping in a few.",
      }, #lonely.name > 60 and lonely.name:sub(1, 57) .. "..." or lonely.name, lonely.blocks, lonely.threads)
    elseif (trace:fact "gpu.busy_fraction" or 1) < 0.5 then
      advice[1] = "The GPU is idle most of the time as well: more work in each launch cures both."
    end
    advice[#advice + 1] = string.format("%s gives every kernel more blocks. Half of this GPU's SMs are filled by %d blocks, all of them by %d.",
      trace:words {
        vllm = "A larger batch (--max-num-seqs, where requests wait)", sglang = "A larger batch (--max-running-requests, where requests wait)", tensorrt_llm = "A larger batch (max_batch_size, where requests wait)",
        training = "A larger batch or micro-batch", inference = "A larger batch", cuda = "More work in each launch (several problems, rows or images at once)" }, math.ceil(sms / 2), sms)
    -- What another finding does away with, or lets run side by side, is not lost twice.
    local converting = small:where { name = { "*nchwToNhwc*", "*nhwcToNchw*" } }
    local streams = small:group("stream", 2)
    local several = streams[2] and 4 * streams[2].sum_ns > sum
    local follows = 2 * converting:sum "duration_ns" > sum and "layout-conversion" or several and "dependency-stall" or nil
    if names[1].sum_ns > 0.5 * sum then
      advice[#advice + 1] = "More than half of this is one kernel, the first below: look whether its work can be split (split-K, a two-stage reduction)"
        .. (several and " or batched with its neighbours." or ", batched with its neighbours, or put on a stream of its own.")
    else
      advice[#advice + 1] = {
        pytorch = "Where the batch is given: batch small products (torch.bmm, grouped GEMM), and let independent branches run on streams of their own.",
        jax = "Where sizes are given: batch small products (jax.vmap, lax.ragged_dot), so that they become one.",
        cuda = "Where sizes are given: batch small products (cublasGemmBatchedEx, CUTLASS's grouped GEMM), and let independent kernels run on streams of their own.",
      }
    end
    return { {
      subject = "small grids",
      message = "empty",
      data = { count = math.floor(small:count() / steps + 0.5), sms = sms, time = time / steps, empty = lost / time, share = share,
        sampled = active and string.format(" Sampled, SMs are active %.0f %% of the time.", 100 * active) or "" },
      recoverable_ns = lost,
      -- Where they run side by side and fill most of the GPU, what is advised is done; whether there is more work does not show.
      at_most = sum >= 2 * time and 2 * lost < time and "note" or nil,
      follows_from = follows,
      confidence = "medium",
      metrics = { { name = "SMs left empty by small grids", value = share, unit = "fraction", threshold = options.share } },
      evidence = names[1].rows:evidence { most = 2 },
      advice = advice,
    } }
  end,
}

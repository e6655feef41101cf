local constants = {
  warp_threads = 32,
  threads_of_sm = 128, -- that its four schedulers need, a warp each
  -- some 100,000 instructions: a thread that runs so long does one thing after another
  loops_ns = 100000,
}

-- What decides how many blocks a kernel gets, where more data alone does not: the first that fits.
local kinds = {
  { key = "strided", name = { "*SpatialSoftMax*" } },
  {
    key = "rows",
    name = {
      "*SoftMaxForward*",
      "*SoftMaxBackward*",
      "*softmax_warp_*",
      "*SegmentedRadixSort*",
      "*radixSortKVInPlace*",
      "*bitonicSort*",
      "*gatherTopK*",
      "*scan_innermost_dim*",
      "*scan_outer_dim*",
    },
  },
  { key = "boxes", name = { "*gather_keep_from_mask*", "*nms_kernel*" } },
  { key = "groups", class = "norm" },
}

local frameworks = { "pytorch", "jax", "tensorflow", "tensorrt", "onnxruntime", "ggml" }

-- A kernel's name from where it tells kernels apart.
local function without_namespaces(name)
  for _, prefix in ipairs { "void ", "at::native::", "<unnamed>::", "(anonymous namespace)::" } do
    if name:starts_with(prefix) then name = name:sub(#prefix + 1) end
  end
  return name
end

return {
  id = "low-sm-fill",
  category = "compute",
  title = "Kernels are too small to fill the GPU",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Reported from this share of the kernel time: time of kernels that are too small for \z
        the GPU, each moment weighted by the share of the SMs that all kernels running then leave \z
        empty.",
    },
    min_ns = {
      default = 3000,
      unit = "ns",
      doc = "Shorter kernels take that long on any number of SMs: most of it is starting and \z
        ending.",
    },
    several = {
      default = 0.25,
      unit = "fraction",
      doc = "Share of the small kernels' time on a second stream, from which they run on several. \z
        Chosen.",
    },
  },
  messages = {
    empty = "{count:# kernel|# kernels} {a_step} {count:is|are} too small to fill this GPU ({sms} \z
      SMs): {count:it takes|they take} {time:lost} of {each_step}, and meanwhile {empty:fraction} \z
      of the SMs are empty, even counting what runs at the same time. That is {share:fraction} of \z
      the kernel time.{sampled}",
    one = "{count:# kernel|# kernels} {a_step} {count:is|are} too small to fill this GPU ({sms} \z
      SMs): {count:it takes|they take} {time:lost} of {each_step}, and meanwhile {empty:fraction} \z
      of the SMs are empty, even counting what runs at the same time. That is {share:fraction} of \z
      the kernel time, {part:fraction} of it in '`{lonely}`'{runs}.{sampled}",
  },
  headlines = {
    empty = "{count:# kernel|# kernels} {a_step} {count:is|are} too small to fill the GPU",
    one = "'`{brief}`' is too small to fill the GPU",
  },
  doc = {
    what = "Adds up the time of kernels with fewer blocks than the GPU has SMs, or with blocks of \z
      fewer threads than an SM's four schedulers need, each moment weighted by the SMs that all \z
      kernels running then leave empty, and at most what sampled SM activity (GPU metrics, or \z
      DCGM aligned to the report) leaves. Collectives, fused attention (one token decodes with \z
      few blocks) and persistent kernels, which start as many blocks as they need, are left out.",
    why = "A kernel on 1 of 132 SMs makes the GPU look busy and uses less than one percent of it.",
    fix = "Give each kernel more work: a larger batch or micro-batch, longer sequences, grouped \z
      or batched products instead of many small ones; split-K for a product whose result is \z
      small. Independent small kernels can share the GPU on several streams. Replace a single \z
      block that sums everything up by a two-stage reduction. What gives a softmax, a sort or a \z
      normalization more blocks is its layout: the reduced dimension last, more rows.",
    wrong = "Fewer blocks can be right if each is memory-bound and many SMs would only share the \z
      same bandwidth. The saving is an upper limit: twice the work in the same time. If small \z
      kernels already run side by side and together fill more than half of the GPU, it is a note.",
  },
  advice = {
    {
      when = "small_blocks",
      "Use blocks of 128 threads or more{.}: they keep all four schedulers of an SM busy, and \z
        '`{lonely}`' runs with {shape} threads (blocks x threads a block).",
    },
    {
      when = "few_threads",
      directives = "Spread the loop over the whole GPU{.}: '`{lonely}`' runs with {shape} threads \z
        (blocks x threads a block). Use OpenACC's gang and vector with collapse, or OpenMP's \z
        teams distribute parallel for, so that many threads share the iterations.",
      cuda = "Give each element its own thread{.}: '`{lonely}`' runs with {shape} threads (blocks \z
        x threads a block). If elements outnumber threads, let each thread stride over the grid.",
    },
    {
      when = "one_block",
      "Launch more blocks{.}: '`{lonely}`' runs with {shape} threads (blocks x threads a block), \z
        on one SM of {all}. Share its work among many, and combine what they find in a second \z
        kernel or by atomics.",
    },
    {
      when = "few_blocks",
      "Launch more blocks{.}: '`{lonely}`' runs with {shape} threads (blocks x threads a block), \z
        fewer blocks than this GPU has SMs ({all}), and so long that each thread does one thing \z
        after another. Let more threads share that; several blocks for each SM even out what they \z
        take.",
    },
    {
      when = "strided",
      pytorch = "Let softmax reduce the last dimension{.}: '`{lonely}`' is PyTorch's kernel for \z
        another one, and starts few blocks where positions are few beside it. Make rows first: \z
        logits as `[batch * positions, classes]` (`cross_entropy(logits.flatten(0, 1), \z
        targets.flatten())` instead of `logits.transpose(1, 2)`). Each row then has its own \z
        block.",
    },
    {
      when = "rows",
      pytorch = "Give rows to more blocks{.}: '`{lonely}`' takes one block or few for each row, \z
        however long that is. Join the rows of several calls, or cut a long row into parts and \z
        combine their results (the best of the parts' best, a sum that goes on where the part \z
        before ended).",
    },
    {
      when = "boxes",
      "Keep fewer boxes before non-maximum suppression{.}: '`{lonely}`' decides on one box after \z
        another, in one block or few, and more boxes in a launch only make it longer. Take the \z
        best (`topk`) or raise the threshold of the scores first; suppressions of several images \z
        run side by side on streams of their own.",
    },
    {
      when = "groups",
      pytorch = "Normalize in a kernel that shares a group among blocks{.}: '`{lonely}`' takes \z
        one block for each group, channel or row. `torch.compile(model)` splits them; so does \z
        cuDNN's batch normalization in channels_last.",
    },
    {
      when = "mostly_idle",
      unless = "kind",
      "Put more work in each launch{.}: the GPU is also idle most of the time, and this helps \z
        both.",
    },
    {
      unless = "boxes",
      vllm = "Use a larger batch{.}: `--max-num-seqs`, if requests are waiting. Then every kernel \z
        has more blocks: {half} fill half of this GPU's SMs, {all} all of them.",
      sglang = "Use a larger batch{.}: `--max-running-requests`, if requests are waiting. Then \z
        every kernel has more blocks: {half} fill half of this GPU's SMs, {all} all of them.",
      tensorrt_llm = "Use a larger batch{.}: `max_batch_size`, if requests are waiting. Then \z
        every kernel has more blocks: {half} fill half of this GPU's SMs, {all} all of them.",
      training = "Use a larger batch or micro-batch{.}. Then every kernel has more blocks: {half} \z
        fill half of this GPU's SMs, {all} all of them.",
      inference = "Use a larger batch{.}. Then every kernel has more blocks: {half} fill half of \z
        this GPU's SMs, {all} all of them.",
      cuda = "Put more work in each launch{.}: several problems, rows or images at once. Then \z
        every kernel has more blocks: {half} fill half of this GPU's SMs, {all} all of them.",
    },
    {
      when = { "one_kernel", "several" },
      unless = "kind",
      "Split the kernel that takes more than half of this, the first in the evidence (split-K, a \z
        two-stage reduction), or batch it with its neighbors.",
    },
    {
      when = "one_kernel",
      unless = { "several", "kind" },
      "Split the kernel that takes more than half of this, the first in the evidence (split-K, a \z
        two-stage reduction), batch it with its neighbors, or put it on a separate stream.",
    },
    {
      unless = "one_kernel",
      pytorch = "If the batch is fixed{.}: batch small products (`torch.bmm`, grouped GEMM), and \z
        let independent branches run on separate streams.",
      jax = "If sizes are fixed{.}: batch small products (`jax.vmap`, `lax.ragged_dot`), so that \z
        they become one.",
      cuda = "If sizes are fixed{.}: batch small products (`cublasGemmBatchedEx`, CUTLASS's \z
        grouped GEMM), and let independent kernels run on separate streams.",
    },
  },
  evaluate = function(trace, options)
    local sms = trace:fact "device.sm_count"
    if not sms then return nil, "the report does not say how many SMs the GPU has", "" end
    local kernels = trace:ops { kind = "kernel" }
    if kernels:count() == 0 then return nil, "no kernel ran within the steps", "" end
    local busy = trace:ops { kind = { "kernel", "graph" } }:own_ns()
    -- These start as many blocks as they need: whoever tuned them knows about the SMs that stay
    -- empty.
    local tuned = kernels:where { class = "attention_fused" }:plus(kernels:where {
      name = {
        "*nvjet*",
        "*stream_k*",
        "*streamk*",
        "*StreamK*",
        "*stream-k*",
        "*ersistent*",
        "*sm90*",
        "*Sm90*",
        "*sm100*",
        "*Sm100*",
        "*sm120*",
      },
    })
    local others = kernels:where({ min_ns = options.min_ns }):minus(tuned):usual()
    others = others:minus(others:where { class = "collective" })
    -- Pages that lie on the host are not the grid's fault.
    others = others:minus((require "pages_afar"(trace, others)))
    local small = others:where { max_blocks = sms - 1 }
    -- An SM has four schedulers that each need a warp: many small blocks leave it as empty as few
    -- large ones.
    for _, shape in
      ipairs(
        others
          :where { min_blocks = sms, max_blocks = constants.threads_of_sm * sms }
          :launch_shapes(1000)
      )
    do
      if
        shape.blocks * math.min(shape.threads, constants.threads_of_sm)
        < constants.threads_of_sm * sms
      then
        small = small:plus(shape.rows)
      end
    end
    local time = small:own_ns()
    if time == 0 then return {} end
    -- What was as short as that on any number of SMs remains.
    local lost = math.min(
      small:empty_sm_ns(tuned),
      small:sum "duration_ns" - options.min_ns * small:count()
    )
    -- If the SMs were sampled, no more of them can have been empty than that leaves.
    local sampled = trace:metric "sm_active"
    local active = sampled and trace:fact "samples.sm_active_fraction"
    if active then
      lost = math.min(lost, math.max(0, kernels:union_ns() - active * trace:total_ns()))
    end
    local share = lost / busy
    if share < options.share then return {} end

    local steps = trace:fact "steps.count"
    local names, sum = small:group("name", 1), small:sum "duration_ns"
    local one_kernel = 2 * names[1].sum_ns > sum
    local lonely = one_kernel and names[1].rows:top(1)[1]
    -- Users of a library's or a framework's kernels do not write them.
    local own_kernels = names[1].rows:where { own = true }:count() > 0
    for _, framework in ipairs(frameworks) do
      own_kernels = own_kernels and not trace:is(framework)
    end
    local first
    if own_kernels and lonely and lonely.blocks >= sms then
      first = "small_blocks"
    elseif
      own_kernels
      and lonely
      and lonely.blocks == 1
      and (lonely.threads or 0) >= constants.threads_of_sm
    then
      first = "one_block"
    elseif
      own_kernels
      and lonely
      and (lonely.threads or 0) > 0
      and lonely.blocks * lonely.threads < constants.warp_threads * sms
    then
      first = "few_threads"
    elseif own_kernels and lonely and lonely.rows:own_ns() >= constants.loops_ns then
      first = "few_blocks"
    elseif 2 * (trace:fact "gpu.busy_fraction" or 1) < 1 then
      first = "mostly_idle"
    end
    local kind
    for _, candidate in ipairs(lonely and kinds or {}) do
      local fits = lonely.rows:where { name = candidate.name, class = candidate.class }
      if fits:count() > 0 then
        kind = candidate.key
        break
      end
    end
    -- What the fix of another finding removes, or lets run side by side, is not lost twice.
    local converting = small:minus(small:minus(require "layout_conversions"(trace)))
    local streams = small:group("stream", 2)
    local several = streams[2] and streams[2].sum_ns > options.several * sum
    local follows = 2 * converting:sum "duration_ns" > sum and "layout-conversion"
      or several and "dependency-stall"
      or nil
    local shape = lonely
        and lonely.threads
        and string.format("%d x %d", lonely.blocks, lonely.threads)
      or ""
    return {
      {
        subject = "small grids",
        message = lonely and "one" or "empty",
        data = {
          count = math.floor(small:count() / steps + 0.5),
          sms = sms,
          time = time / steps,
          empty = lost / time,
          share = share,
          part = names[1].sum_ns / sum,
          lonely = without_namespaces(lonely and lonely.name or ""):short(),
          brief = without_namespaces(lonely and lonely.name or ""):short(40),
          shape = shape,
          half = string.format("%d", math.ceil(sms / 2)),
          all = string.format("%d", sms),
          runs = shape ~= "" and ", which runs with " .. shape .. " (blocks x threads a block)"
            or "",
          sampled = active and string.format(
            " SMs were sampled as active %.0f %% of the time.",
            100 * active
          ) or "",
        },
        recoverable_ns = lost,
        -- If they run side by side and fill most of the GPU, the advice is already followed;
        -- whether there is more work is unknown.
        at_most = sum >= 2 * time and 2 * lost < time and "note" or nil,
        follows_from = follows,
        confidence = "medium",
        metrics = {
          {
            name = "SMs left empty by small grids",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = names[1].rows:evidence { most = 2 },
        seen = {
          [first or ""] = true,
          [kind or ""] = true,
          kind = kind ~= nil,
          one_kernel = one_kernel,
          several = several,
        },
      },
    }
  end,
}

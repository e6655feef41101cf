local constants = {
  warp_threads = 32,
  threads_of_sm = 128, -- that its four schedulers need, a warp each
  name_letters = 500,
  subject_letters = 60,
  kernels = 20, -- that are looked at
  first_launches = 20, -- of which Nsight Compute skips some, see the advice
}

-- "Fan2" of "void solver::Fan2<float>(float *, int)": what Nsight Compute calls the function.
local function function_of(name)
  local depth, last = 0, ""
  for i = 1, math.min(#name, constants.name_letters) do
    local char = name:sub(i, i)
    if char == "<" then
      depth = depth + 1
    elseif char == ">" then
      depth = math.max(0, depth - 1)
    elseif depth == 0 then
      if char == "(" then break end
      last = (char == " " or char == ":" or char == "&" or char == "*") and "" or last .. char
    end
  end
  return last
end

-- How much lengths change from one launch to the next, relative to how much they vary at all.
local function drift_of(rows)
  local count, sum, squares, changes, before = 0, 0, 0, 0, nil
  rows:keep({ "duration_ns" }, function(row)
    local us = row.duration_ns / 1000
    count, sum, squares = count + 1, sum + us, squares + us * us
    changes = changes + (before and (us - before) ^ 2 or 0)
    before = us
    return false
  end)
  return changes / (squares - sum * sum / count)
end

return {
  id = "hot-kernel",
  category = "compute",
  title = "One kernel of the program takes most of the GPU's time",
  since = "0.2",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.5,
      unit = "fraction",
      doc = "Share of the kernel time that the kernel takes, from which it is the one to look at: \z
        more than all others together.",
    },
    step_share = {
      default = 0.2,
      unit = "fraction",
      doc = "Share of the step that it takes at least: below that, no change to it is worth an \z
        error.",
    },
    empty_lanes = {
      default = 0.1,
      unit = "fraction",
      doc = "Share of the lanes of its warps without a thread, from which the block size counts \z
        as poorly chosen. A block of any multiple of 32 threads has none.",
    },
    occupancy = {
      default = 0.5,
      unit = "fraction",
      doc = "Occupancy of an SM below which small blocks count as the reason for exposed latency. \z
        The CUDA C++ Best Practices Guide: above some point more occupancy changes nothing, below \z
        it always helps; for most kernels half is above that point.",
    },
    tail = {
      default = 0.2,
      unit = "fraction",
      doc = "SM time that the last, partly filled wave of blocks leaves empty, from which it is \z
        reported. With five full waves or more it is never that much.",
    },
    varies = {
      default = 3,
      unit = "count",
      doc = "How many times as long the longest tenth of its launches has to take as the \z
        shortest, with the same grid, for the work to change while the grid does not.",
    },
    waves = {
      default = 8,
      unit = "count",
      doc = "Waves of blocks from which a grid has a block for each part of the work. Fewer may \z
        be all that run at once, each looping over the work: such a grid costs nothing.",
    },
    memory_busy = {
      default = 0.7,
      unit = "fraction",
      doc = "Sampled memory activity from which the kernel is memory-bound however it is \z
        launched. Copies within the device reach 0.85 (schemas/gpus.toml).",
    },
    alone = {
      default = 0.8,
      unit = "fraction",
      doc = "Share of its time in which no other kernel runs, for the lengths of its launches to \z
        tell of its work. Chosen.",
    },
    launches = {
      default = 20,
      unit = "count",
      doc = "Launches with the same grid, from which their lengths are compared. Chosen: a tenth \z
        of fewer is a single one.",
    },
    tiled = {
      default = 0.28,
      unit = "fraction",
      doc = "Time of a matrix product by tiles in shared memory, relative to one without any. \z
        Measured on an H100 with 1,024 rows in FP32: 64 x 64 tiles, 4 x 4 elements a thread, take \z
        0.28 of the time (cuBLAS takes less); where neighboring threads loaded neighboring rows \z
        as well, 0.05.",
    },
    binned = {
      default = 0.17,
      unit = "fraction",
      doc = "Time of a histogram that each block counts in shared memory first, relative to one \z
        that counts in global memory. Measured on an H100 with 12.6 million bytes, of five \z
        distributions, in 16 to 256 bins: 0.004 to 0.17 with the same grid, 0.01 and less with \z
        fewer blocks that loop.",
    },
    drift = {
      default = 1,
      unit = "count",
      doc = "Mean square of the change from one launch to the next, relative to the variance of \z
        their lengths (von Neumann's ratio), up to which the work changes step by step. Lengths \z
        in no order give 2, and of 20 such lengths one series in a hundred gives 1.",
    },
  },
  messages = {
    cut = "'`{name}`' takes {time:lost} of {each_step} ({share:fraction}), {of_kernels:fraction} \z
      of the kernel time. It runs {blocks:# block|# blocks} of {threads:# thread|# \z
      threads}{held}: {faults}.{sampled}",
    plain = "'`{name}`' takes {time:lost} of {each_step} ({share:fraction}), \z
      {of_kernels:fraction} of the kernel time. It runs {blocks:# block|# blocks} of {threads:# \z
      thread|# threads}{held}, which suits the device: how close it comes to the device's limits \z
      is unknown from a recording of this kind.{sampled}",
  },
  headlines = {
    cut = "'{brief}' takes {of_kernels:fraction} of kernel time, {how}",
    plain = "'{brief}' takes {of_kernels:fraction} of kernel time",
  },
  doc = {
    what = "Looks for a kernel that belongs to no library or framework and takes more than all \z
      others together (but for those that low-sm-fill reports), whether it multiplies matrices or \z
      counts into bins without shared memory, and at how it is launched: threads that fill their \z
      warps, blocks that fill an SM's warps (by threads, blocks, registers and shared memory), \z
      waves of blocks that fill the GPU, a grid that shrinks with the work. If one of these is \z
      wrong, it says what that can cost at most; if none is, it is a note with the command for \z
      Nsight Compute.",
    why = "If one kernel takes most of the time, look at nothing else first. A warp always takes \z
      the time of 32 threads, and an SM holds a limited number of blocks, however small they are.",
    fix = "Use blocks of 128 to 256 threads in whole warps, and as many as the work has. Then ask \z
      Nsight Compute whether the kernel is memory-, compute- or latency-bound: neighboring \z
      threads should touch neighboring addresses, and data used twice belongs in shared memory or \z
      registers.",
    wrong = "Low occupancy alone is no fault: kernels that keep much in registers run well with \z
      few warps. Operations and bytes of a program's own kernel are unknown, and so is what a \z
      better one would take. A grid that is too small for the GPU belongs to low-sm-fill.",
  },
  advice = {
    {
      when = "product",
      pytorch = "Multiply with `torch.matmul`{.}: it calls cuBLAS. Or tile the product in shared \z
        memory, each thread with several elements in registers (CUTLASS, Triton's `tl.dot`).",
      cupy = "Multiply with `cupy.matmul`{.}: it calls cuBLAS.",
      numba = "Tile the product in shared memory{.}: `cuda.shared.array`, each thread with \z
        several elements in registers; or call a library's product.",
      julia = "Multiply with `*` or `mul!`{.}: for `CuArray` they call cuBLAS.",
      cuda = "Multiply with cuBLAS or CUTLASS{.}: or tile the product in shared memory, each \z
        thread with several elements in registers.",
    },
    {
      when = "unbinned",
      numba = "Count in shared memory first{.}: bins of each block in `cuda.shared.array`, added \z
        to the global ones once, at the block's end.",
      cuda = "Count in shared memory first{.}: bins of each block (`__shared__`, `atomicAdd` to \z
        those), added to the global ones once, at its end, in a few blocks per SM that loop. \z
        CUB's `DeviceHistogram` does so. Bins that do not fit gain nothing.",
    },
    {
      when = "larger_blocks",
      directives = "Choose larger blocks in the directive{.}: OpenACC `vector_length(128)`, \z
        OpenMP `thread_limit(128)`. And let gangs or teams cover all of the work (collapse).",
      julia = "Launch blocks of 128 or 256 threads{.}: `CUDA.launch_configuration` proposes one \z
        for the kernel.",
      numba = "Launch blocks of 128 or 256 threads, in whole warps{.}: `kernel[blocks, 256]`.",
      cupy = "Launch blocks of 128 or 256 threads, in whole warps.",
      cuda = "Launch blocks of 128 or 256 threads, in whole warps{.}: in two dimensions 32 x 8, \z
        with the 32 along memory. `cudaOccupancyMaxPotentialBlockSize` proposes a size.",
    },
    {
      when = "multiple",
      "Cut the work into a multiple of {at_once} blocks{.}: or into many more and smaller ones. \z
        Or launch exactly that many and let each loop over the grid.",
    },
    {
      when = "grid",
      "Launch only as many blocks as there is work{.}: a grid for what is left of the matrix, the \z
        front or the list. A block that finds nothing to do still has to be scheduled; the grid \z
        costs at most {short} us of each launch.",
    },
    {
      python = "Ask Nsight Compute what bounds it{.}: `ncu --kernel-name {called}{skip} \z
        --launch-count 1 --section SpeedOfLight --section MemoryWorkloadAnalysis --section \z
        Occupancy --section WarpStateStats --section SourceCounters python PROGRAM`",
      cuda = "Ask Nsight Compute what bounds it{.}: `ncu --kernel-name {called}{skip} \z
        --launch-count 1 --section SpeedOfLight --section MemoryWorkloadAnalysis --section \z
        Occupancy --section WarpStateStats --section SourceCounters ./PROGRAM`",
    },
    {
      when = "by_memory",
      "Memory limits it{.}: move fewer bytes (smaller types, fusion with what runs before or \z
        after, blocks that reuse what they load).",
    },
    {
      unless = "by_memory",
      "Memory-bound{.}: neighboring threads should load neighboring addresses, and reused data \z
        should stay in shared memory. Latency-bound: more warps, or more independent loads in \z
        each. Compute-bound: smaller types, fast intrinsics, or a library's routine for the same.",
    },
  },
  evaluate = function(trace, options)
    local kernels = trace:ops { kind = "kernel" }
    if kernels:count() == 0 then return nil, "no kernel ran within the steps", "" end
    -- The users of these do not write their kernels.
    for _, kind in ipairs {
      "jax",
      "tensorflow",
      "tensorrt",
      "onnxruntime",
      "ggml",
      "vllm",
      "sglang",
      "tensorrt_llm",
      "rapids",
    } do
      if trace:is(kind) then return {} end
    end
    local own = kernels:where { own = true }
    own = own:minus(own:where { class = "collective" })
    -- Waiting for pages of unified memory is not the kernel's fault, nor is their place.
    own = own:minus((require "pages_afar"(trace, own)))
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local all = trace:ops({ kind = { "kernel", "graph" } }):own_ns()
    local busy = all
    local sms = trace:fact "device.sm_count"
    -- Grids that are too small for the GPU are reported by low-sm-fill: of the rest, which takes
    -- most?
    local group, shape, time
    for _, largest in ipairs(own:group("name", constants.kernels)) do
      group, time = largest, largest.rows:own_ns()
      shape = group.rows:launch_shapes(1)[1]
      local fills = not sms
        or shape.blocks * math.min(shape.threads, constants.threads_of_sm)
          >= sms * constants.threads_of_sm
      if fills then break end
      group, busy = nil, busy - time
    end
    if not group or time < options.share * busy or time < options.step_share * total then
      return {}
    end
    local waves, called = shape.waves, function_of(group.key)
    -- What the launch shape leaves of what the same instructions could do; only the shape that
    -- takes most counts.
    local part = shape.sum_ns / group.sum_ns
    local faults, left = {}, 1
    local lanes = shape.threads
      / (constants.warp_threads * math.ceil(shape.threads / constants.warp_threads))
    if 1 - lanes >= options.empty_lanes then
      faults[#faults + 1] =
        string.format("a warp has 32 lanes, of which %.0f %% have no thread", 100 * (1 - lanes))
      left = left * lanes
    end
    -- Registers are recorded together with shared memory.
    local product = group.rows:where({ class = { "gemm_unknown", "gemm_cuda_core" } }):count()
      > 0
    local untiled = product and (shape.registers or 0) > 0 and shape.shared_bytes == 0
    if shape.occupancy and shape.limit == "blocks" and shape.occupancy < options.occupancy then
      faults[#faults + 1] = string.format(
        "an SM holds at most %d blocks, and such small ones fill %.0f %% of its warps",
        shape.blocks_a_sm,
        100 * shape.occupancy
      )
      left = left * shape.occupancy
    end
    local tail = waves and waves > 1 and 1 - waves / math.ceil(waves) or 0
    if tail >= options.tail then
      faults[#faults + 1] = string.format(
        "the GPU holds %d of them at once, so the last wave leaves %.0f %% of it empty",
        shape.blocks_a_sm * sms,
        100 * (math.ceil(waves) - waves)
      )
      left = left * (1 - tail)
    end
    -- Launches with the same grid that take longer and longer, or less and less, have work that
    -- changes. The time of the short ones is
    -- the most that blocks without work can cost.
    local grid_ns = 0
    local alone = group.rows:exposed_ns(kernels:minus(group.rows)) >= options.alone * time
    if
      alone
      and waves
      and waves >= options.waves
      and shape.count >= options.launches
      and shape.long_ns >= options.varies * shape.short_ns
      and drift_of(shape.rows) <= options.drift
    then
      faults[#faults + 1] = string.format(
        "with the same grid, a tenth of its launches takes %.1f us or less and a tenth %.1f us or \z
          more, so the work changes and the number of blocks does not",
        shape.short_ns / 1000,
        shape.long_ns / 1000
      )
      grid_ns = math.min(time, shape.short_ns * shape.count)
    end
    local wrong_blocks = #faults > (grid_ns > 0 and 1 or 0)
    local larger_blocks = wrong_blocks and (left < 1 - tail or tail == 0 or #faults > 1)
    if untiled then
      faults[#faults + 1] =
        "it multiplies matrices, by its name, without shared memory, so each thread loads all \z
          that it multiplies from global memory"
      left = left * options.tiled
    end
    local named = called:lower()
    local counts = named:glob "*hist*" and not named:glob "*histor*"
    local unbinned = counts and (shape.registers or 0) > 0 and shape.shared_bytes == 0
    if unbinned then
      faults[#faults + 1] =
        "it counts into bins, by its name, without shared memory, so threads that add to the same \z
          bin of global memory wait for each other"
      left = left * options.binned
    end
    local cut = #faults - (grid_ns > 0 and 1 or 0)
    local memory = trace:available "samples" and trace:fact "samples.dram_active_fraction"
    local by_memory = memory
      and memory >= options.memory_busy * (trace:fact "gpu.busy_fraction" or 1)
    if by_memory or 2 * shape.sum_ns < group.sum_ns then
      faults, wrong_blocks, larger_blocks = {}, false, false
    end

    local held = shape.occupancy
        and string.format(
          " (%d registers a thread, %s bytes of shared memory a block: %.0f %% of an SM's warps, \z
            by its %s)",
          shape.registers,
          string.format("%d", shape.shared_bytes),
          100 * shape.occupancy,
          shape.limit
        )
      or ""
    return {
      {
        subject = called ~= "" and called
          or #group.key > constants.subject_letters and group.key:sub(
            1,
            constants.subject_letters - #"..."
          ) .. "..."
          or group.key,
        message = #faults > 0 and "cut" or "plain",
        data = {
          name = group.key:short(),
          brief = (called ~= "" and called or group.key):short(28),
          time = time / steps,
          share = time / total,
          of_kernels = time / all,
          blocks = shape.blocks,
          threads = shape.threads,
          held = held,
          faults = table.concat(faults, "; "),
          how = (wrong_blocks or grid_ns > 0) and "with a poor launch shape"
            or product and "a product without shared memory"
            or "counting without shared memory",
          called = called ~= "" and called or "NAME",
          skip = group.count > constants.first_launches and " --launch-skip 10" or "",
          short = string.format("%.1f", shape.short_ns / 1000),
          at_once = sms and shape.blocks_a_sm and string.format("%d", shape.blocks_a_sm * sms)
            or "",
          sampled = memory and string.format(
            " Memory was sampled as busy %.0f %% of the time.",
            100 * memory
          ) or "",
        },
        recoverable_ns = #faults > 0 and math.max(time * part * (1 - left), grid_ns) or 0,
        -- Where other work hides the kernel today, it matters after that. A poor kernel may have
        -- reasons that do not show: least is nothing.
        change = #faults > 0
            and { { scale = shape.rows, by = math.min(left, 1 - grid_ns / time), most = 1 } }
          or nil,
        -- The short launches may do some real work, and so many bins that few threads meet cost
        -- little.
        at_most = #faults == 0 and "note" or (cut == 0 or unbinned) and "warning" or nil,
        confidence = "medium",
        metrics = {
          {
            name = "the kernel's share of kernel time",
            value = time / busy,
            unit = "fraction",
            threshold = options.share,
          },
          { name = "occupancy", value = shape.occupancy or 0, unit = "fraction" },
        },
        evidence = group.rows:evidence { most = 3 },
        seen = {
          grid = grid_ns > 0 and #faults > 0,
          larger_blocks = larger_blocks,
          multiple = wrong_blocks and not larger_blocks,
          by_memory = by_memory,
          product = product,
          unbinned = unbinned and #faults > 0,
        },
      },
    }
  end,
}

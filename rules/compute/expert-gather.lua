local constants = {
  gather_threads = 256,
  thread_bytes = 16, -- of PyTorch's vectorized gather
}

-- Gathers of whole matrices together with the matrix products that read the copies once, the size
-- of a matrix and what all gathers write.
-- The vectorized gather has a column of blocks for each index; each thread copies 16 bytes, and
-- for a matrix all blocks are full.
local function matrices_read_once(trace, options, gathers, products)
  local found, matrix, bytes = gathers:minus(gathers), 0, 0
  local memory = trace:fact "device.memory_bytes_per_s"
  if not memory then return found, matrix, bytes end
  -- The vector is copied into place between the two.
  local vectors = trace:ops { class = "pointwise", name = "*copy_kernel*" }
  for _, of_index in
    ipairs(gathers:where { name = "*vectorized_gather_kernel*" }:group("blocks_x", 20))
  do
    for _, grid in ipairs(of_index.rows:group("blocks", 20)) do
      local written = grid.rows:median "blocks"
        * constants.gather_threads
        * constants.thread_bytes
      local fetched = grid.rows:median "blocks_x"
      if
        fetched > 0
        and written / fetched >= options.matrix_bytes
        and grid.rows:median "threads" == constants.gather_threads
      then
        local reading_ns = written / memory * 1e9
        -- Copies that stay in caches are read faster than memory carries them.
        local readers = products:where {
          min_ns = options.cached * reading_ns,
          max_ns = reading_ns / options.read_once,
        }
        local between = vectors:where { max_ns = options.vector * reading_ns }
        local rows = grid.rows:plus(between):beside(readers):minus(between)
        readers = readers:beside(rows:plus(between))
        if 2 * rows:count() >= grid.count and readers:count() >= rows:count() then
          found, matrix, bytes =
            found:plus(rows):plus(readers),
            math.max(matrix, written / fetched),
            bytes + written * rows:count()
        end
      end
    end
  end
  return found, matrix, bytes
end

return {
  id = "expert-gather",
  category = "compute",
  title = "Expert weights are copied for each token before they are multiplied",
  since = "0.2",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.08,
      unit = "fraction",
      doc = "Reported from this share of the step: gathers next to matrix products of one row. \z
        Grouped products need none.",
    },
    matrix_bytes = {
      default = 131072,
      unit = "bytes",
      doc = "How much a gather copies for each index, at least, to copy matrices and not rows: a \z
        row of 65,536 numbers of 16 bits. The widest models end at 20,480.",
    },
    read_once = {
      default = 0.5,
      unit = "fraction",
      doc = "Rate at which the product would read the bytes that a gather of matrices wrote, as a \z
        share of memory bandwidth, from which it does little but read them once.",
    },
    shared = {
      default = 0.1,
      unit = "fraction",
      doc = "What grouped products take of the time, at least. With as many tokens as fit a \z
        gather of whole matrices, tens share an expert.",
    },
    least_a_step = {
      default = 2,
      unit = "count",
      doc = "Gathers in a step, at least, if their grid does not show that they copy matrices: an \z
        embedding is looked up once.",
    },
    cached = {
      default = 0.7,
      unit = "fraction",
      doc = "How long the product takes at least, relative to reading the copies at the memory's \z
        bandwidth: what stays in caches is read faster. Chosen.",
    },
    vector = {
      default = 0.1,
      unit = "fraction",
      doc = "How long a copy of a vector between gather and product may take, relative to the \z
        same. Chosen: a vector is far smaller than its matrix.",
    },
  },
  messages = {
    matrices = "{count:# gather copies|# gathers copy} matrices {a_step} ({bytes:bytes}), one of \z
      {matrix:bytes} for each index, and the next product then reads each copy once: {time:lost} \z
      of {each_step} ({share:fraction}), and the products {products:ns}. Expert weights are \z
      copied for each token.",
    gathers = "{count:# gather copies|# gathers copy} matrices {a_step} that products of a single \z
      row then read once: {time:lost} of {each_step} ({share:fraction}), and the products \z
      {products:ns}. Expert weights are copied for each token.",
  },
  headlines = {
    matrices = "{count:# gather copies|# gathers copy} expert weights {a_step} for single tokens",
    gathers = "{count:# gather copies|# gathers copy} expert weights {a_step} for single tokens",
  },
  doc = {
    what = "Finds gathers (index, `index_select`) directly before matrix products of a single row \z
      (matrix-vector kernels, or batched products whose recorded shapes have one row) that take \z
      at least as long as those. PyTorch's gather shows in its grid what it copies for each \z
      index: if that is a matrix, and the next product takes no longer than reading the copies, \z
      no shapes are needed. Products around a softmax belong to attention, which gathers its \z
      cache: they are left out.",
    why = "`weights[expert_of_token]` copies a whole matrix for each token: read, written, and \z
      read again by a product that does two operations with each number. With tokens sorted by \z
      expert, each matrix is read once for all of its tokens.",
    fix = "Sort the tokens by expert and use grouped products: `torch._grouped_mm`, MegaBlocks, \z
      ScatterMoE, vLLM's or SGLang's `fused_moe`; Transformers' \z
      `experts_implementation=\"grouped_mm\"`. For few tokens, use a kernel that takes the index \z
      and reads the expert's matrix in place (`fused_moe` does).",
    wrong = "How much the products themselves gain depends on how many tokens share an expert, \z
      which is unknown.",
  },
  advice = {
    {
      pytorch = "Sort the tokens by expert and multiply in groups{.}: `torch._grouped_mm`, or a \z
        library's fused kernel (MegaBlocks, ScatterMoE), instead of `weights[expert_of_token]` \z
        and bmm.",
      jax = "Sort the tokens by expert and multiply in groups{.}: `jax.lax.ragged_dot`.",
      cuda = "Sort the rows by matrix and use grouped products{.}: cuBLAS's or CUTLASS's grouped \z
        GEMM. Or let the kernel take the index and read the matrix in place.",
    },
  },
  evaluate = function(trace, options)
    local gathers = trace:ops {
      class = { "embedding", "pointwise" },
      name = {
        "*vectorized_gather_kernel*",
        "*index_elementwise_kernel*",
        "*indexSelectLargeIndex*",
        "*indexSelectSmallIndex*",
      },
    }
    gathers =
      gathers:minus(gathers:where { name = { "*index_put*", "*index_fill*", "*index_copy*" } })
    local products = trace:ops { class = { "gemm_*", "gemv" } }
    if products:count() == 0 then return nil, "no matrix multiplication ran", "" end
    local steps, total = trace:fact "steps.count", trace:total_ns()
    if gathers:own_ns() / total < options.share then return {} end

    -- Attention's products, which gather its cache, do not count.
    local small = trace:ops { class = { "pointwise", "reduction", "softmax" } }:plus(gathers)
    local _, _, attention = trace:chains {
      centre = small:where { class = "softmax" },
      edge = products,
      through = small,
      edges = 2,
    }
    gathers = gathers:minus(gathers:beside(attention))

    local of_one_row = products:where { class = "gemv" }
    for _, product in ipairs(products:products()) do
      if product.m == 1 or product.n == 1 then of_one_row = of_one_row:plus(product.rows) end
    end
    of_one_row = of_one_row:minus(attention)
    local of_matrices, matrix, bytes =
      matrices_read_once(trace, options, gathers, products:minus(attention))
    local message = of_matrices:count() > 0 and "matrices" or "gathers"
    if message == "gathers" then
      gathers = gathers:beside(of_one_row)
      of_one_row = of_one_row:beside(gathers)
    else
      of_one_row = of_matrices:where { class = { "gemm_*", "gemv" } }
      gathers = of_matrices:minus(of_one_row)
    end
    local time, multiplied = gathers:own_ns(), of_one_row:own_ns()
    local share = time / total
    if
      share < options.share
      or message == "gathers" and gathers:count() < options.least_a_step * steps
      or time < multiplied
    then
      return {}
    end
    return {
      {
        subject = "expert weights",
        message = message,
        data = {
          matrix = matrix,
          bytes = bytes / steps,
          count = math.floor(gathers:count() / steps + 0.5),
          time = time / steps,
          share = share,
          products = multiplied / steps,
        },
        about = true,
        recoverable_ns = time,
        change = {
          { remove = gathers },
          {
            scale = of_one_row,
            by = math.sqrt(options.shared),
            least = options.shared,
            most = 1,
          },
        },
        -- A factor that is only known by its bounds is taken in the middle of its orders of
        -- magnitude.
        uncertain = "how many tokens share an expert, whose weights are then read once for all of \z
          them",
        confidence = "medium",
        metrics = {
          {
            name = "gathers next to products of one row",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = gathers:evidence { most = 4 },
      },
    }
  end,
}

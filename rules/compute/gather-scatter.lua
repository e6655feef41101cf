return {
  id = "gather-scatter",
  category = "compute",
  title = "Messages are copied for each edge before they are added up",
  since = "0.2",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: gathers of rows, and the kernels that add \z
        these up by index. Chosen.",
    },
    gathered = {
      default = 0.1,
      unit = "fraction",
      doc = "Share of the pairs' time that the gathers take at least, to write what the others \z
        add up. On an H100 it is 0.22 to 0.65; the gathers of mere weights or of experts' outputs \z
        take less.",
    },
  },
  factors = {
    sparse = {
      by = 0.15,
      least = 0.04,
      most = 0.36,
      doc = "Time of a product with a sparse matrix, relative to gather and scatter.",
      source = "Measured on an H100 with PyTorch 2.11, CSR times dense, against `scatter_add` and \z
        `index_add`: 10,000 to 1,000,000 nodes, 0.6 to 5 million edges, 32 to 256 columns, FP32 \z
        and BF16: 0.04 to 0.36. Less where many edges end at one node in BF16, in which \z
        `scatter_add` takes ten times as long and more.",
    },
  },
  messages = {
    main = "{count:# gather writes|# gathers write} a row for each edge {a_step}, and the next \z
      kernel adds these rows up by index: {time:lost} of {each_step} ({share:fraction}). A \z
      product with a sparse matrix does both without storing the rows.",
  },
  headlines = {
    main = "{count:# gather writes|# gathers write} messages {a_step} that are then added up",
  },
  doc = {
    what = "Finds gathers of rows (`index_select`, `x[index]`) that a kernel that adds by index \z
      follows (`scatter_add`, `index_add`, or backward of another gather), with no more in \z
      between than a factor for each row: the sum over neighbors of a graph.",
    why = "The rows of all edges are written to memory and read again, and added with atomics, \z
      one element at a time. Graphs have far more edges than nodes: with 20 for each, a sparse \z
      product reads each node's row 20 times, mostly from cache, and writes it once.",
    fix = "The adjacency matrix in CSR, and `torch.sparse.mm`; PyG: `ToSparseTensor` and `conv(x, \z
      adj_t)`; DGL does so by itself. For messages that depend on both ends: edges sorted by \z
      target, and `torch_geometric.utils.segment` or `torch_scatter`'s `segment_csr`.",
    wrong = "Making the matrix takes a sort: once for a fixed graph, but for each batch of a \z
      sampled one. Maxima, messages from an MLP, and sums weighted by attention are no such \z
      products, and are not found.",
  },
  advice = {
    {
      pytorch = {
        training = "Aggregate by a sparse product{.}: make the adjacency matrix once, in CSR \z
          (`to_sparse_csr()`, and its transpose for backward), and use \z
          `torch.sparse.mm(adjacency, x)`. PyG does so for `conv(x, adj_t)` with a sparse tensor \z
          (`T.ToSparseTensor()`).",
        cuda = "Aggregate by a sparse product{.}: make the adjacency matrix once, in CSR \z
          (`to_sparse_csr()`), and use `torch.sparse.mm(adjacency, x)`. PyG does so for `conv(x, \z
          adj_t)` with a sparse tensor (`T.ToSparseTensor()`).",
      },
      cuda = "Aggregate by a sparse product{.}: the adjacency matrix in CSR, and cuSPARSE's SpMM.",
    },
    {
      pytorch = "Otherwise sort the edges by target once{.}: `segment_csr` (torch_scatter) then \z
        adds a node's rows up without atomics.",
    },
  },
  evaluate = function(trace, options, factors)
    local gathers = trace:ops {
      name = {
        "*vectorized_gather_kernel*",
        "*indexSelectLargeIndex*",
        "*index_elementwise_kernel*",
      },
    }
    gathers =
      gathers:minus(gathers:where { name = { "*index_put*", "*index_fill*", "*index_copy*" } })
    local sums = trace:ops {
      name = {
        "*_scatter_gather_*ReduceAdd*",
        "*indexFunc*ReduceAdd*",
        "*indexing_backward_kernel*",
        "void scatter_kernel<*",
      },
    }
    if gathers:count() == 0 or sums:count() == 0 then return {} end
    -- Degrees are counted, and factors for each row computed, in far less time than rows take.
    local row_ns = math.ceil(options.gathered * (gathers:top(1)[1].duration_ns or 0))
    sums = sums:where { min_ns = row_ns }
    -- A factor for each row is broadcast; what a vectorized kernel multiplies differs by element.
    local elements = trace:ops {
      class = "pointwise",
      name = "*vectorized_elementwise_kernel*",
      min_ns = row_ns,
    }
    local between = trace
      :ops({ class = { "pointwise", "reduction" } })
      :plus(trace:ops { kind = { "copy", "set" }, direction = { "d2d", "" } })
      :plus(trace:ops { name = { "*cub::*", "*thrust::*" } })
      :minus(elements:minus(elements:where { name = "*FillFunctor*" }))
      :minus(gathers)
    between = between:minus(sums)
    local rows = gathers:where { min_ns = row_ns }
    local found = trace:match { rows, sums, skip = between }
    -- Factors that a softmax over edges computes need gradients, which no sparse product gives.
    if trace:ops({ class = "pointwise", name = "*exp_kernel*" }):count() > 0 then
      local factors_of_rows = between:where { name = "*MulFunctor*", min_ns = row_ns }
      local weighted =
        trace:match { rows, factors_of_rows, sums, skip = between:minus(factors_of_rows) }
      found[1], found[2] = found[1]:minus(weighted[1]), found[2]:minus(weighted[3])
    end
    gathers, sums = found[1], found[2]
    local pairs_ns, gathered_ns = gathers:plus(sums):own_ns(), gathers:own_ns()
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local share = pairs_ns / total
    if
      gathers:count() == 0
      or share < options.share
      or gathered_ns < options.gathered * pairs_ns
    then
      return {}
    end
    local both = gathers:plus(sums)
    return {
      {
        subject = "messages",
        message = "main",
        data = {
          count = math.floor(gathers:count() / steps + 0.5),
          time = pairs_ns / steps,
          share = share,
        },
        about = true,
        recoverable_ns = pairs_ns * math.max(0, 1 - factors.sparse.by),
        change = { { scale = both, factor = factors.sparse } },
        uncertain = "how many edges share a node, whose row is then in a cache",
        confidence = "medium",
        metrics = {
          {
            name = "gathers and sums by index",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = both:evidence { most = 4 },
      },
    }
  end,
}

local constants = { names = 1000 } -- of products that are looked at

-- The shorter side of the output tile in a product's name ("tilesize64x128x64", "256x16_64x6" and
-- "128x64_64x6" of xmma, nvjet and CUTLASS); nil where it names none.
local function tile_of(name)
  for _, word in ipairs(name:split "_") do
    local sides = (word:starts_with "tilesize" and word:sub(#"tilesize" + 1) or word):split "x"
    local one, other = tonumber(sides[1]), tonumber(sides[2] or "")
    if one and other and (#sides == 2 or word:starts_with "tilesize") then
      return math.min(one, other)
    end
  end
  return nil
end

return {
  id = "decode-bound",
  category = "compute",
  title = "Each token reads all weights and does little with them",
  since = "0.2",
  needs = { "kernels" },
  options = {
    share = {
      default = 0.3,
      unit = "fraction",
      doc = "Share of a token's time in matrix products that read weights for few rows, from \z
        which fewer bytes are the way to go: 8-bit weights then save a tenth of it or more.",
    },
    bandwidth = {
      default = 0.5,
      unit = "fraction",
      doc = "What these products read per second, as a share of what the memory carries in \z
        practice (device.memory_bytes_per_s), from which bandwidth limits them. Below that they \z
        are too small for the GPU or wait for launches, and fewer bytes change little.",
    },
    rows = {
      default = 64,
      unit = "count",
      doc = "Rows (requests) up to which memory bandwidth limits a product. With r rows and \z
        16-bit weights it does r operations per byte, and an H200 does 195 in the time of a byte \z
        (schemas/gpus.toml, as attained): this is a third of that.",
    },
    min_ns = {
      default = 10000,
      unit = "ns",
      doc = "Length from which the tiles of a product tell. Of shorter ones starting and ending \z
        is a third or more (see low-sm-fill).",
    },
    launch_share = {
      default = 0.2,
      unit = "fraction",
      doc = "Idle time while the host launches, as a share of a token's time, from which \z
        launch-bound comes first.",
    },
  },
  factors = {
    in_8_bits = {
      by = 0.6,
      least = 0.5,
      most = 0.85,
      doc = "Time of products that read 8-bit weights, relative to 16-bit ones.",
      source = "Half of the bytes at least; scales have to be read and weights expanded as well, \z
        so that the time is not always halved. Chosen between.",
    },
  },
  messages = {
    shapes = "Matrix products of {rows:one row|at most # rows} take {time:lost} of {each_step} \z
      ({share:fraction}) and read {bytes:bytes} of weights {a_step}, at {rate:bytes/s}: \z
      {of_memory:fraction} of what this GPU's memory carries. Faster products do not help, fewer \z
      bytes do.",
    tiles = "Matrix products take {time:lost} of {each_step} ({share:fraction}) in kernels that \z
      cover their results with one wave of tiles, a side of {rows} or less: libraries choose \z
      those where rows are few. With {rows} rows a product does {rows} operations for each byte \z
      of 16-bit weights, a third or less of what the GPU could do while it reads them. Faster \z
      products do not help, fewer bytes do.",
    sampled = "Matrix products take {time:lost} of {each_step} ({share:fraction}), and this GPU's \z
      memory was sampled as busy {of_memory:fraction} of the time: weights are read at the \z
      memory's full rate. Faster products do not help, fewer bytes do.",
    graphs = "CUDA graphs take {time:lost} of {each_step} ({share:fraction}), and this GPU's \z
      memory was sampled as busy {of_memory:fraction} of the time: memory limits what runs in \z
      them. How much of that is weights and how much the KV cache is unknown, because graphs were \z
      traced as a whole.",
  },
  headlines = {
    shapes = "Each token reads {bytes:bytes} of weights and does little with them",
    tiles = "Each token reads all weights for few rows",
    sampled = "Reading weights limits each token",
    graphs = "Memory bandwidth limits each token",
  },
  doc = {
    what = "For a program that generates tokens: adds up what its matrix products read, by the \z
      shapes that operators carry (`record_shapes`), or takes the sampled memory activity, and \z
      compares it with what the memory carries. With neither, the tiles in the names of kernels \z
      tell: libraries choose tiles of 64 rows or fewer, and no more of them than SMs, where rows \z
      are few. If CUDA graphs were traced as a whole, samples show that memory limits them, but \z
      not how much of that is weights. If the host cannot launch fast enough, launch-bound says \z
      so and this rule is silent.",
    why = "A token of one request reads every weight once and multiplies it with one row. The \z
      tensor cores wait for memory; a batch of requests would share each read.",
    fix = "Decode more requests at once (continuous batching), which costs nothing until the \z
      products become compute-bound. For the latency of one request: weights in FP8, INT8 or \z
      INT4, which halve or quarter the bytes, or speculative decoding, which checks several \z
      tokens in one pass.",
    wrong = "Quantized weights change the model's output, if only slightly. Attention over a long \z
      context reads the KV cache, which quantized weights do not shrink. No shipped recording \z
      triggers this rule yet.",
  },
  advice = {
    {
      vllm = "Decode more requests at once{.}: a larger `--max-num-seqs`, and \z
        `--gpu-memory-utilization` for the KV cache that they need; `--kv-cache-dtype fp8` halves \z
        that.",
      sglang = "Decode more requests at once{.}: a larger `--max-running-requests`, and \z
        `--mem-fraction-static` for the KV cache that they need; `--kv-cache-dtype fp8_e4m3` \z
        halves that.",
      tensorrt_llm = "Decode more requests at once{.}: a larger `max_batch_size`; \z
        `kv_cache_config` with dtype fp8 halves the KV cache that they need.",
      transformers = "Decode several requests in one `generate()`{.}: a batch with left padding. \z
        Or serve the model with an engine that batches requests as they come (continuous \z
        batching).",
      pytorch = "Decode several requests at once{.}: each read of the weights then serves all of \z
        them.",
      cuda = "Decode several requests at once{.}: each read of the weights then serves all of \z
        them.",
    },
    {
      unless = "quantized",
      vllm = "For the latency of one request{.}: `--quantization fp8` (from compute capability \z
        8.9 on), or a checkpoint in AWQ or GPTQ.",
      sglang = "For the latency of one request{.}: `--quantization fp8` (from compute capability \z
        8.9 on), or a checkpoint in AWQ or GPTQ.",
      tensorrt_llm = "For the latency of one request{.}: a checkpoint in FP8, NVFP4 or INT4-AWQ \z
        (ModelOpt; `quant_config` if weights are quantized when they are loaded).",
      transformers = "For the latency of one request{.}: weights in 8 or 4 bits \z
        (`quantization_config`: TorchAoConfig, FineGrainedFP8Config, GPTQ or AWQ).",
      pytorch = "For the latency of one request{.}: weights in 8 or 4 bits (`torchao.quantize_` \z
        with Int8WeightOnlyConfig or Int4WeightOnlyConfig, and `torch.compile`).",
      cuda = "For the latency of one request{.}: weights in 8 or 4 bits, expanded inside the \z
        product.",
    },
    {
      vllm = "Or speculative decoding (`--speculative-config`){.}: several tokens for one pass \z
        over the weights.",
      sglang = "Or speculative decoding (`--speculative-algorithm EAGLE`){.}: several tokens for \z
        one pass over the weights.",
      tensorrt_llm = "Or speculative decoding (`speculative_config`{.}: Eagle3, MTP or NGram): \z
        several tokens for one pass over the weights.",
      transformers = "Or `generate(assistant_model=...)`{.}: several tokens for one pass over the \z
        weights.",
      cuda = "Or speculative decoding{.}: a small model proposes several tokens, and one pass \z
        over the weights checks them.",
    },
  },
  evaluate = function(trace, options, factors)
    -- If graphs were traced as a whole, only memory samples show anything.
    local whole = not trace:available "graph_nodes"
    local active = trace:available "samples" and trace:fact "samples.dram_active_fraction"
    if whole and not active then
      return nil,
        "CUDA graphs were traced as a whole, so the matrix products inside them are unknown, and \z
          memory activity was not sampled",
        trace:words {
          nsys = "`--cuda-graph-trace=node --gpu-metrics-devices=all`",
          torch_profiler = "`torch.profiler.profile(record_shapes=True)`, without CUDA graphs",
        }
    end
    if not trace:is "tokens" and trace:fact "unit.name" ~= "token" then
      return nil, "nothing shows that tokens are generated", ""
    end
    local memory = trace:fact "device.memory_bytes_per_s"
    if not memory then
      return nil,
        "neither the report nor schemas/gpus.toml gives the bandwidth of this GPU's memory",
        ""
    end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local launching = trace:idle({ cause = { "launch", "launch_latency" } }):union_ns()
      >= options.launch_share * total
    local products = trace:ops { class = { "gemm_*", "gemv" } }
    if whole then products = trace:ops { kind = "graph" } end
    if products:count() == 0 then return nil, "no matrix multiplication ran", "" end

    -- Of [m, k] x [k, n] the larger factor holds the weights, and the short side of the result is
    -- the number of rows.
    local reading, bytes, known_ns, rows = products:minus(products), 0, 0, 0
    local quantized = false
    for _, product in ipairs(products:products()) do
      known_ns = known_ns + product.sum_ns
      local short = math.min(product.m, product.n)
      if short <= options.rows then
        reading = reading:plus(product.rows)
        bytes = bytes
          + product.count * product.element_bytes * product.k * math.max(product.m, product.n)
        rows = math.max(rows, short)
        if product.element_bytes < 2 then quantized = true end
      end
    end
    local message, time = "shapes", reading:own_ns()
    local of_memory
    if whole then
      message, reading, time, of_memory = "graphs", products, products:own_ns(), active
    elseif 2 * known_ns >= products:sum "duration_ns" then
      if time == 0 or launching then return {} end
      of_memory = bytes / (time / 1e9) / memory
    elseif active then
      message, reading, time, of_memory = "sampled", products, products:own_ns(), active
    else
      -- Graphs and reports of Nsight Systems hold no shapes. Small tiles, no more than there are
      -- SMs, show that rows are few, and as many as half of them that none waits for itself.
      local sms = trace:fact "device.sm_count" or 0
      local wide =
        products:minus(products:where { class = { "gemm_fp8", "gemm_int8" } }):where {
          min_blocks = sms // 2,
          max_blocks = sms,
          min_ns = options.min_ns,
        }
      for _, kernel in ipairs(wide:group("name", constants.names)) do
        local tile = tile_of(kernel.key)
        if tile and tile <= options.rows then
          reading, rows = reading:plus(kernel.rows), math.max(rows, tile)
        end
      end
      message, time = "tiles", reading:own_ns()
      if time < options.share * total or launching then
        return nil,
          "no operator carries the shapes of the matrix products, and memory activity was not \z
            sampled",
          trace:words {
            nsys = "`--gpu-metrics-devices=all`",
            torch_profiler = "`torch.profiler.profile(record_shapes=True)`, without CUDA graphs",
          }
      end
    end
    if launching then return {} end
    local share = time / total
    if share < options.share or (of_memory or 1) < options.bandwidth then return {} end
    quantized = quantized
      or products
          :where { name = { "*marlin*", "*awq*", "*gptq*", "*int8*", "*int4*", "*fp8*" } }
          :count()
        > 0

    return {
      {
        subject = "weights",
        message = message,
        data = {
          rows = math.floor(rows),
          time = time / steps,
          share = share,
          bytes = bytes / steps,
          rate = (of_memory or 0) * memory,
          of_memory = of_memory,
        },
        about = not whole,
        -- At most all bytes are weights, and half of those can be saved.
        recoverable_ns = not quantized
            and (1 - (whole and factors.in_8_bits.least or factors.in_8_bits.by)) * time
          or 0,
        change = not quantized
            and not whole
            and {
              { scale = reading, factor = factors.in_8_bits, precision = "eight_bits" },
            }
          or nil,
        uncertain = "how close products of 8-bit weights come to the memory's rate depends on \z
          their kernels",
        at_most = (quantized or whole) and "note" or "warning",
        confidence = message == "shapes" and "high" or whole and "low" or "medium",
        metrics = {
          of_memory and {
            name = "weights read, as a share of memory bandwidth",
            value = of_memory,
            unit = "fraction",
            threshold = options.bandwidth,
          } or {
            name = "products of few rows",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = reading:evidence { most = 3 },
        seen = { quantized = quantized },
      },
    }
  end,
}

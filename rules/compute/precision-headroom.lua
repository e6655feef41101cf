local constants = {
  ada = 8.9, -- compute capability from which tensor cores have FP8
}

return {
  id = "precision-headroom",
  category = "compute",
  title = "Matrix multiplications could run in a faster precision",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.10,
      unit = "fraction",
      doc = "Reported from this share of the step: what the faster precision would save.",
    },
    note_share = {
      default = 0.05,
      unit = "fraction",
      doc = "From this share of the step TF32 is a note.",
    },
    attention_speedup = {
      default = 8.5,
      unit = "count",
      doc = "How many times as fast fused attention runs in BF16 as in FP32, which only has \z
        memory-efficient attention. Measured on an H100 (see half_attention); 9.7 on an H200.",
    },
    fp8_speedup = {
      default = 1.5,
      unit = "count",
      doc = "How many times as fast matrix products run in FP8 as in BF16. The ratio of the peaks \z
        is 2; casting the operands takes part of it back.",
    },
    fp8_min_ns = {
      default = 50000,
      unit = "ns",
      doc = "Shorter products gain less from FP8 than their casts cost.",
    },
    tf32_speedup = {
      default = 1.5,
      unit = "count",
      doc = "How many times as fast as FP32 TF32 has to be for non-tensor-core-gemm to claim only \z
        what TF32 gains; as there.",
    },
    convolutions = {
      default = 0.25,
      unit = "fraction",
      doc = "Share of the TF32 products' time that is convolutions by name, from which most are: \z
        those of one pixel run as plain products. Chosen.",
    },
  },
  factors = {
    in_half = {
      by = 1.03,
      least = 0.85,
      most = 1.65,
      doc = "Time of a TF32 product in BF16, relative to what the ratio of the GPU's attained \z
        rates predicts, in a program that trains.",
      source = "Measured on an H100 with eight transformers, recurrent nets and MLPs (0.86 to \z
        1.37, median 1.02) and six nets of convolutions (0.97 to 1.64).",
    },
    forward_in_half = {
      by = 1.28,
      least = 0.95,
      most = 2.05,
      doc = "The same in one that does not: TF32 is at its best forward.",
      source = "Measured so: 0.99 (LSTM) to 2.03 (128 wide), convolutions 1.05 to 1.9.",
    },
    cores_in_half = {
      by = 1.4,
      least = 1,
      most = 4.4,
      doc = "The same of a product on CUDA cores.",
      source = "Measured so: 1.02 (2,048 wide) to 4.37 (128 wide), median 1.4.",
    },
    half_attention = {
      by = 1,
      least = 0.7,
      most = 3.1,
      doc = "Time of FP32 attention in BF16, relative to what attention_speedup says.",
      source = "Measured on an H100: six models 0.09 to 0.18 of the time, median 0.11; alone, \z
        with heads of 64 and 128 and 256 to 4,096 tokens, 0.11 to 0.26 with flash attention and \z
        up to 0.37 with a mask as a tensor, which it does not take.",
    },
    memory_factor = {
      by = 1,
      least = 0.75,
      most = 1.5,
      doc = "Time of an FP32 model's memory-bound kernels under autocast to BF16, with which a \z
        program trains, relative to before: its casts are among them.",
      source = "Measured on an H100: 0.75 (LSTM), 0.82 (MLP), 0.94 (ViT-B), 1.1 to 1.5 (decoders, \z
        BERT); on an H200 0.9 (a decoder with more tokens).",
    },
    convolution_memory_factor = {
      by = 1,
      least = 0.65,
      most = 1.3,
      doc = "The same if most products are convolutions.",
      source = "Measured on an H100 with six nets in NCHW and NHWC: 0.67 to 1.26, median 1.01. \z
        Batch normalization in NCHW gains nothing.",
    },
    forward_memory_factor = {
      by = 0.58,
      least = 0.29,
      most = 1,
      doc = "The same of a program that does not train and has its model in BF16, without casts.",
      source = "Measured on an H100: 0.53 to 0.64 (ViT-B, BERT, decoders), 0.79 (rotary embedding \z
        and norms in FP32), 0.29 (LSTM), 0.97 (an MLP of 64 rows).",
    },
    forward_convolution_memory_factor = {
      by = 0.7,
      least = 0.44,
      most = 0.85,
      doc = "The same if most products are convolutions.",
      source = "Measured on an H100 with six nets in NCHW and NHWC: 0.44 to 0.84, median 0.7.",
    },
  },
  messages = {
    tf32 = "GEMMs of FP32 data run in TF32: they take {time:ns}{attention} of {each_step}. In \z
      BF16 such GEMMs are about {speedup} times as fast.",
    beyond = "Beyond TF32 there is BF16: once the FP32 GEMMs have left the CUDA cores, BF16 makes \z
      them about {speedup} times as fast again{attention}.",
    fp8 = "BF16 and FP16 GEMMs take {time:lost} of {each_step} ({share:fraction}). This GPU \z
      multiplies FP8 twice as fast, from operands of half the bytes; whether the result tolerates \z
      it is up to you.",
  },
  headlines = {
    tf32 = "GEMMs run in TF32; BF16 is about {speedup} times as fast",
    beyond = "BF16 makes GEMMs about {speedup} times as fast as TF32",
    fp8 = "BF16 GEMMs could run in FP8",
  },
  doc = {
    what = "Estimates what GEMMs would take one tier down: TF32 in BF16 by the ratio of what this \z
      GPU attains in both, FP32 attention by a measured ratio; BF16 in FP8 on a GPU that has it, \z
      except convolutions, as a note.",
    why = "BF16 doubles the rate of TF32 and halves the bytes, and only half precision has flash \z
      attention.",
    fix = '`torch.autocast("cuda", dtype=torch.bfloat16)` around forward and loss, `bf16=True` in \z
      the Hugging Face Trainer, `precision="bf16-mixed"` in Lightning and NeMo, `--bf16` in \z
      Megatron. FP8: Transformer Engine\'s `fp8_autocast` with E4M3 forward and E5M2 backward \z
      (`--fp8-format hybrid` in Megatron, `fp8="hybrid"` in NeMo), or `torchao.float8`.',
    wrong = "FP32 may be deliberate: a solver, a measured loss of precision. What a model gains \z
      depends on how much of it is memory-bound, which autocast to BF16 does not shorten: with \z
      few rows in a batch, its casts of the weights may take longer than BF16 saves.",
  },
  advice = {
    {
      unless = "fp8",
      trainer = 'Train in BF16, which needs no loss scaling{.}: `bf16=True` of \z
        `TrainingArguments`, or `torch.autocast("cuda", dtype=torch.bfloat16)`.',
      transformers = {
        inference = "Use BF16{.}: `torch_dtype=torch.bfloat16` in `from_pretrained`.",
      },
      lightning = 'Use BF16{.}: `precision="bf16-mixed"` of the Trainer.',
      nemo = 'Train in BF16, which needs no loss scaling{.}: `precision="bf16-mixed"` of the \z
        Trainer.',
      megatron = "Train in BF16, which needs no loss scaling{.}: `--bf16`.",
      deepspeed = "Train in BF16, which needs no loss scaling{.}: `bf16: { enabled: true }` of \z
        the configuration.",
      pytorch = {
        training = 'Train in BF16, which needs no loss scaling{.}: `torch.autocast("cuda", \z
          dtype=torch.bfloat16)` around forward and loss.',
        cuda = "Use BF16{.}: `model.to(torch.bfloat16)`. Autocast leaves the weights in FP32 and \z
          casts them in each step.",
      },
      jax = "Use BF16{.}: arrays of `jnp.bfloat16`, or that dtype in the layers.",
      tensorrt = "Use BF16{.}: `BuilderFlag::kBF16` or kFP16, or a strongly typed network.",
      cupy = "Use half precision{.}: matrices of `cupy.float16`, with FP32 accumulation.",
      cuda = "Use BF16{.}: operands of `__nv_bfloat16` or `__half` with FP32 accumulation \z
        (`cublasGemmEx` with `CUBLAS_COMPUTE_32F`), if the result tolerates it.",
    },
    {
      unless = "fp8",
      pytorch = "Flash attention also needs half precision{.}: only then does \z
        `scaled_dot_product_attention` use it.",
    },
    {
      when = "fp8",
      megatron = "Use FP8{.}: `--fp8-format hybrid`. Compare the loss over a few thousand steps \z
        first.",
      nemo = 'Use FP8{.}: `fp8="hybrid"`. Compare the loss over a few thousand steps first.',
      vllm = 'Use FP8{.}: `quantization="fp8"`, or a checkpoint in FP8. Compare answers first.',
      sglang = "Use FP8{.}: `--quantization fp8`, or a checkpoint in FP8. Compare answers first.",
      tensorrt_llm = "Quantize the checkpoint to FP8{.}: with ModelOpt. Compare answers first.",
      tensorrt = "Quantize to FP8 before the engine is built{.}: with ModelOpt. Compare results \z
        first.",
      pytorch = {
        training = "Use FP8{.}: Transformer Engine's `fp8_autocast` with a `DelayedScaling` \z
          recipe of format HYBRID (E4M3 forward, where weights and activations need its \z
          precision, E5M2 backward, where gradients need its range). Plain PyTorch: \z
          `torchao.float8`, E4M3 with a scale for each tensor or row. Compare the loss over a few \z
          thousand steps first.",
        cuda = "Use FP8{.}: `torchao.quantization`'s `quantize_(model, \z
          Float8DynamicActivationFloat8WeightConfig())`. Compare results first.",
      },
      cuda = "Use FP8{.}: `cublasLtMatmul` with operands of `__nv_fp8_e4m3` and a scale for each; \z
        `__nv_fp8_e5m2` where range matters more than precision. Compare results first.",
    },
    {
      when = "fp8",
      tokens = "Weights in FP8 also take half the memory of BF16{.}: room for a larger batch or \z
        cache, and half the bytes to read for each token.",
      training = {
        pytorch = "Operands in FP8 take half the memory of BF16{.}: what is saved for backward \z
          shrinks, and with Transformer Engine's `fp8_model_init` the weights.",
        cuda = "Operands in FP8 take half the memory of BF16{.}: what is saved for backward \z
          shrinks.",
      },
      inference = "Weights in FP8 also take half the memory of BF16.",
    },
  },
  evaluate = function(trace, options, factors)
    local tensor_cores = trace:fact "device.tensor_cores"
    if tensor_cores == nil then
      return nil,
        "the report does not say which GPU ran, so whether it has a faster precision is unknown",
        ""
    end
    if tensor_cores == 0 then return nil, "this GPU has no tensor cores", "" end
    if trace:ops { class = "gemm_*" }:count() == 0 then
      return nil, "no matrix multiplication or convolution ran", ""
    end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local gemms = trace:ops({ class = "gemm_*" }):usual()
    local tf32, half = gemms:where { class = "gemm_tf32" }, gemms:where { class = "gemm_half" }
    local cores = gemms:where { class = "gemm_cuda_core" }
    -- Complex numbers have no half precision.
    local complex = { "*cgemm*", "*_cf32*", "*gaussian_*", "*_c1688*", "*_gc1688*" }
    tf32, cores =
      tf32:minus(tf32:where { name = complex }), cores:minus(cores:where { name = complex })
    local to_tf32, to_half = trace:fact "device.tf32_speedup", trace:fact "device.half_speedup"
    -- If TF32 hardly gains, the other rule claims all of what half precision gains over CUDA cores.
    if to_tf32 and to_tf32 < options.tf32_speedup then cores = cores:minus(cores) end
    -- What leaves most SMs empty waits for its own loads, not for tensor cores.
    local sms = trace:fact "device.sm_count"
    local small = sms and tf32:where { max_blocks = sms // 2 } or tf32:minus(tf32)
    local cores_ns, tf32_ns, half_ns = cores:own_ns(), tf32:own_ns(), half:own_ns()
    local trains = trace:fact "program.task" == "training"
    local convolution = { "*conv*", "*Conv*", "*fprop*", "*dgrad*", "*wgrad*" }

    if to_tf32 and to_half and to_half > to_tf32 and tf32_ns + cores_ns > 0 then
      local gain = 1 - to_tf32 / to_half
      local attention =
        trace:ops { class = "attention_fused", name = { "*_f32_*", "*<float,*" } }
      local left = 1 / math.max(options.attention_speedup, 1)
      local change = {
        {
          scale = tf32:minus(small),
          factor = trains and factors.in_half or factors.forward_in_half,
          times = to_tf32 / to_half,
          precision = "half",
        },
        {
          scale = attention,
          factor = factors.half_attention,
          times = left,
          precision = "half",
        },
      }
      local saved = tf32:minus(small):own_ns() * gain + attention:own_ns() * (1 - left)
      if tf32_ns + cores_ns > half_ns then
        local convolutions = tf32:where { name = convolution }:own_ns()
          > options.convolutions * tf32_ns
        local training = convolutions and factors.convolution_memory_factor
          or factors.memory_factor
        local forward = convolutions and factors.forward_convolution_memory_factor
          or factors.forward_memory_factor
        local factor = trains and training or forward
        local memory_bound = trace:ops { class = { "pointwise", "reduction", "norm" } }
        saved = saved + memory_bound:own_ns() * (1 - factor.by)
        change[#change + 1] = { scale = memory_bound, factor = factor }
      end
      -- GEMMs on CUDA cores belong to the other rule, up to TF32; the rest is worth a note.
      local beyond = cores_ns > tf32_ns
      if beyond then
        change[#change + 1] = {
          scale = cores,
          factor = factors.cores_in_half,
          times = 1 / math.max(to_half, 1),
          precision = "half",
        }
      end
      if beyond then saved = saved + cores_ns / math.max(to_tf32, 1) * gain end
      local share = saved / total
      if share >= options.note_share then
        return {
          {
            subject = "BF16",
            message = beyond and "beyond" or "tf32",
            data = {
              time = tf32_ns / steps,
              speedup = string.format("%.1f", to_half / to_tf32),
              attention = attention:count() == 0 and ""
                or string.format(
                  beyond and ", and attention in FP32 (%.1f ms) more so"
                    or " and attention in FP32 %.1f ms",
                  attention:own_ns() / steps / 1e6
                ),
            },
            about = true,
            recoverable_ns = saved,
            change = change,
            uncertain = "how much of the model is memory-bound, and how close its matrix products \z
              come to the half-precision peak, is unknown in advance",
            at_most = (beyond or share < options.share) and "note" or nil,
            confidence = "medium",
            metrics = {
              {
                name = "saved in BF16",
                value = share,
                unit = "fraction",
                threshold = options.share,
              },
            },
            evidence = (beyond and cores or tf32):plus(attention):evidence { most = 5 },
          },
        }
      end
    end

    -- Neither PyTorch nor Transformer Engine has convolutions in FP8.
    local products = half:minus(half:where { name = convolution })
    local large = products:where { min_ns = options.fp8_min_ns }
    local saved = large:own_ns() * math.max(0, 1 - 1 / math.max(options.fp8_speedup, 1))
    local capability = trace:fact "device.compute_capability" or 0
    if
      capability < constants.ada
      or saved <= 0
      or saved / total < options.share
      or trace:ops { class = "gemm_fp8" }:count() > 0
    then
      return {}
    end
    return {
      {
        subject = "FP8",
        message = "fp8",
        data = { time = products:own_ns() / steps, share = products:own_ns() / total },
        about = true,
        recoverable_ns = saved,
        at_most = "note",
        confidence = "medium",
        metrics = {
          {
            name = "saved in FP8",
            value = saved / total,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = large:evidence { most = 3 },
      },
    }
  end,
}

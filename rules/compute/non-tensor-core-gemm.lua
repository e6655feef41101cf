local constants = {
  ampere = 8, -- compute capability from which tensor cores have TF32 and BF16
}

return {
  id = "non-tensor-core-gemm",
  category = "compute",
  title = "Matrix multiplications run on CUDA cores",
  since = "0.1",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: CUDA-core GEMMs and convolutions. Healthy BF16 \z
        training has none.",
    },
    note_share = {
      default = 0.02,
      unit = "fraction",
      doc = "From this share of the step it is a note.",
    },
    tf32_speedup = {
      default = 1.5,
      unit = "count",
      doc = "How many times as fast as FP32 TF32 has to be on this GPU to be recommended. On \z
        GeForce it is hardly faster; on an H200 it is six times as fast (schemas/gpus.toml).",
    },
    short_ns = {
      default = 100000,
      unit = "ns",
      doc = "Shorter products gain less. Measured on an H100: those of a decoder 512 wide take \z
        340 us and gain what is expected, those of 64 rows or 128 columns take 50 to 100 us and \z
        do not.",
    },
  },
  factors = {
    on_tensor_cores = {
      by = 1,
      least = 0.8,
      most = 1.7,
      doc = "Time of a product on tensor cores, relative to what the ratio of the GPU's attained \z
        rates predicts.",
      source = "Measured on an H100 with TF32, training and inference: ViT-B, BERT and four \z
        decoders 0.81 to 1.68, median 1. An H200: 1.",
    },
    short_on_tensor_cores = {
      by = 2,
      least = 1.3,
      most = 2.9,
      doc = "The same of products shorter than short_ns, which memory bounds.",
      source = "Measured so: an LSTM 1.34 and 1.53, MLPs of 64 rows and of 128 columns 2.06 to \z
        2.87.",
    },
    convolutions = {
      by = 1.4,
      least = 1.2,
      most = 1.5,
      doc = "The same of convolutions.",
      source = "Measured so: ResNet-50, a UNet and ConvNeXt-T (forward), 1.28 to 1.47.",
    },
    fused_attention = {
      by = 1.2,
      least = 0.54,
      most = 1.6,
      doc = "Time of fused attention relative to only the GEMMs that it replaces.",
      source = "As for unfused-softmax, on CUDA cores.",
    },
    fused_upcast = {
      by = 0.13,
      least = 0.05,
      most = 0.27,
      doc = "The same in a model in half precision, whose attention was cast up.",
      source = "As for unfused-softmax.",
    },
  },
  messages = {
    cores = "{count:# GEMM or convolution runs|# GEMMs or convolutions run} on CUDA cores \z
      {a_step}: {time:lost} of {each_step} ({share:fraction}), {of_gemms:fraction} of all GEMM \z
      time. In {tier} this GPU's tensor cores are about {speedup} times as fast.{root}",
    unknown = "{count:# GEMM or convolution runs|# GEMMs or convolutions run} on CUDA cores \z
      {a_step}: {time:lost} of {each_step} ({share:fraction}), {of_gemms:fraction} of all GEMM \z
      time.{root}",
  },
  headlines = {
    cores = "{count:# GEMM or convolution runs|# GEMMs or convolutions run} on CUDA cores {a_step}",
    unknown = "{count:# GEMM or convolution runs|# GEMMs or convolutions run} on CUDA cores \z
      {a_step}",
  },
  doc = {
    what = "Adds up the kernels that multiply matrices or convolve without tensor cores (by name, \z
      schemas/kernels.toml), on a GPU that has tensor cores.",
    why = "Tensor cores do most of what a training GPU can do: on an H100 or H200 an FP32 GEMM \z
      becomes six times as fast with TF32 and fifteen times with BF16. Utilization looks the same \z
      either way.",
    fix = "TF32 needs one line and no change to the model: \z
      `torch.set_float32_matmul_precision('high')` and `torch.backends.cudnn.allow_tf32 = True` \z
      (JAX: `jax_default_matmul_precision='tensorfloat32'`). Autocast to BF16 gains as much \z
      again. Look for single modules that stayed in FP32: LoRA adapters, a loss head, a norm that \z
      casts up.",
    wrong = "Complex products support TF32 but no half precision. FP32 may be deliberate (a \z
      solver, a measured loss of precision). The gain is estimated from peak rates: a GEMM with \z
      one very short side is memory-bound and gains less.",
  },
  advice = {
    {
      when = { "ampere", "products" },
      pytorch = 'Allow TF32 for FP32 matrices{.}: `torch.set_float32_matmul_precision("high")` \z
        (or `torch.backends.cuda.matmul.allow_tf32 = True`).',
      jax = 'Allow TF32 for FP32 matrices{.}: `jax.config.update("jax_default_matmul_precision", \z
        "tensorfloat32")`.',
      tensorflow = "Allow TF32 for FP32 matrices{.}: \z
        `tf.config.experimental.enable_tensor_float_32_execution(True)`.",
      tensorrt = "Allow TF32 for FP32 matrices{.}: `BuilderFlag::kTF32`.",
      cupy = "Allow TF32 for FP32 matrices{.}: `CUPY_TF32=1` in the environment.",
      julia = "Allow TF32 for FP32 matrices{.}: `CUDA.math_mode!(CUDA.FAST_MATH)`.",
      cuda = "Allow TF32 for FP32 matrices{.}: `cublasSetMathMode(handle, \z
        CUBLAS_TF32_TENSOR_OP_MATH)`, or `CUBLAS_COMPUTE_32F_FAST_TF32` in `cublasGemmEx`. \z
        Replace hand-written products by cuBLAS or CUTLASS.",
    },
    {
      when = { "ampere", "convolutions", "tf32_allowed" },
      pytorch = "Use channels in multiples of 4{.}: TF32 is allowed, as other convolutions show, \z
        but cuDNN has no such kernel for these. Set `memory_format=torch.channels_last` and \z
        `torch.backends.cudnn.benchmark = True` as well.",
      cuda = "Use channels in multiples of 4{.}: TF32 is allowed, as other convolutions show, but \z
        cuDNN has no such kernel for these. Keep tensors in NHWC.",
    },
    {
      when = { "ampere", "convolutions" },
      unless = "tf32_allowed",
      pytorch = "Allow TF32 for convolutions{.}: `torch.backends.cudnn.allow_tf32 = True` \z
        (PyTorch's default).",
      cuda = "Allow TF32 for convolutions{.}: `cudnnSetConvolutionMathType(descriptor, \z
        CUDNN_TENSOR_OP_MATH)`.",
    },
    {
      when = { "ampere", "mostly_complex" },
      "Use TF32, not half precision, for complex products{.}: most of these are complex.",
    },
    {
      when = "ampere",
      unless = "mostly_complex",
      trainer = '{better}{.}: `bf16=True` of `TrainingArguments`, or `torch.autocast("cuda", \z
        dtype=torch.bfloat16)`.',
      transformers = {
        inference = "{better}{.}: `torch_dtype=torch.bfloat16` in `from_pretrained`.",
      },
      lightning = '{better}{.}: `precision="bf16-mixed"` of the Trainer.',
      nemo = '{better}{.}: `precision="bf16-mixed"` of the Trainer.',
      megatron = "{better}{.}: `--bf16`.",
      deepspeed = "{better}{.}: `bf16: { enabled: true }` of the configuration.",
      pytorch = {
        training = '{better}{.}: `torch.autocast("cuda", dtype=torch.bfloat16)` around forward \z
          and loss.',
        cuda = '{better}{.}: `model.to(torch.bfloat16)`, or `torch.autocast("cuda", \z
          dtype=torch.bfloat16)`.',
      },
      jax = "{better}{.}: arrays of `jnp.bfloat16`, or that dtype in the layers.",
      tensorrt = "{better}{.}: `BuilderFlag::kBF16` or kFP16, or a strongly typed network.",
      cupy = "{better} or FP16{.}: matrices of `cupy.float16`, with FP32 accumulation.",
      cuda = "{better}{.}: operands of `__nv_bfloat16` or `__half` with FP32 accumulation \z
        (`cublasGemmEx` with `CUBLAS_COMPUTE_32F`), if the result tolerates it.",
    },
    {
      unless = "ampere",
      pytorch = {
        training = 'Train in FP16 with loss scaling{.}: `torch.autocast("cuda", \z
          dtype=torch.float16)` with `torch.amp.GradScaler`; this GPU\'s tensor cores have no \z
          TF32 and no BF16.',
        cuda = "Use FP16{.}: `model.half()`; this GPU's tensor cores have no TF32 and no BF16.",
      },
      cuda = "Use FP16 with FP32 accumulation{.}: `cublasGemmEx` with `CUBLAS_COMPUTE_32F`, if \z
        the result tolerates it. This GPU's tensor cores have no TF32 and no BF16.",
    },
    {
      when = "mostly_half",
      pytorch = {
        training = "Cast the few modules that are still in FP32, since most GEMMs already run on \z
          tensor cores (LoRA adapters{.}: `model.to(torch.bfloat16)` after `get_peft_model`, or \z
          `autocast_adapter_dtype=False`; heads and losses), or wrap them in autocast.",
        cuda = "Cast the few modules that are still in FP32, since most GEMMs already run on \z
          tensor cores, or wrap them in autocast.",
      },
      cuda = "Cast the few operands that are still in FP32{.}: most GEMMs already run on tensor \z
        cores.",
    },
  },
  evaluate = function(trace, options, factors)
    local tensor_cores = trace:fact "device.tensor_cores"
    if tensor_cores == nil then
      return nil,
        "the report does not say which GPU ran, so whether it has tensor cores is unknown",
        ""
    end
    if tensor_cores == 0 then return nil, "this GPU has no tensor cores", "" end
    local gemms = trace:ops({ class = "gemm_*" }):usual()
    if gemms:count() == 0 then return nil, "no matrix multiplication or convolution ran", "" end
    -- On GeForce TF32 is hardly faster than FP32: there the gain is in half precision.
    local tf32, half_speedup =
      trace:fact "device.tf32_speedup", trace:fact "device.half_speedup"
    local to_tf32 = tf32 ~= nil and tf32 >= options.tf32_speedup
    local slow = gemms:where { class = "gemm_cuda_core" }
    -- Complex numbers have no half precision.
    local complex = slow:where { name = { "*cgemm*", "*_cf32*", "*gaussian_*" } }
    if not to_tf32 then slow = slow:minus(complex) end
    local time = slow:own_ns()
    local share = time / trace:total_ns()
    if time == 0 or share < options.note_share then return {} end

    local steps = trace:fact "steps.count"
    local capability = trace:fact "device.compute_capability" or constants.ampere
    local speedup = to_tf32 and tf32 or half_speedup
    local of_convolutions =
      { "*conv*", "*dgrad*", "*wgrad*", "*fprop*", "*winograd*", "*cudnn*" }
    local convolutions = slow:where { name = of_convolutions }
    local allowed = gemms:where { class = "gemm_tf32", name = of_convolutions }:count() > 0
    local mostly_complex = complex:own_ns() > time / 2
    local mostly_half = gemms:where { class = { "gemm_half", "gemm_fp8" } }:own_ns() > time
    -- Fused attention has no such products around its softmax.
    local between = trace
      :ops { class = { "pointwise", "reduction", "softmax", "embedding" } }
      :plus(trace:ops { kind = { "copy", "set" }, direction = { "d2d", "" } })
    local chains, written_out, attention = trace:chains {
      centre = trace:ops { class = "softmax" },
      edge = gemms,
      through = between,
      edges = 2,
    }
    local follows = chains:count() >= 2 * steps
      and slow:minus(slow:minus(attention)):own_ns() > time / 2
    local change
    local tier = to_tf32 and "tf32" or "half"
    local function in_tier(of)
      local products = of:minus(convolutions)
      local long = products:where { min_ns = options.short_ns }
      return {
        {
          scale = long,
          factor = factors.on_tensor_cores,
          times = 1 / speedup,
          precision = tier,
        },
        {
          scale = products:minus(long),
          factor = factors.short_on_tensor_cores,
          times = 1 / speedup,
          precision = tier,
        },
        {
          scale = of:minus(products),
          factor = factors.convolutions,
          times = 1 / speedup,
          precision = tier,
        },
      }
    end
    if follows and speedup then -- fused attention of FP32 data is no faster for allowing TF32
      change = in_tier(slow:minus(attention))
      change[#change + 1] = { remove = written_out }
      change[#change + 1] = {
        scale = attention,
        factor = mostly_half and factors.fused_upcast or factors.fused_attention,
        precision = mostly_half and "half" or "same",
        fused = true,
      }
    -- cast like the rest of the model, they need no casts around them
    elseif speedup and mostly_half and half_speedup and complex:own_ns() == 0 then
      local casts = between:where { class = "pointwise", name = "*copy_kernel*" }:beside(slow)
      change = {
        {
          scale = slow,
          factor = factors.on_tensor_cores,
          times = 1 / half_speedup,
          precision = "half",
        },
        { remove = casts },
      }
    elseif speedup then
      change = in_tier(slow)
    end
    return {
      {
        subject = "FP32 GEMMs",
        message = speedup and "cores" or "unknown",
        data = {
          root = follows and " Most of it is attention that runs as separate kernels."
            or mostly_complex and " Most of it multiplies complex numbers."
            or "",
          count = math.floor(slow:count() / steps + 0.5),
          time = time / steps,
          share = share,
          of_gemms = time / gemms:own_ns(),
          speedup = speedup and string.format("%.1f", speedup),
          tier = to_tf32 and "TF32" or "half precision",
          better = to_tf32 and "Or use BF16" or "Use BF16",
        },
        about = true,
        recoverable_ns = speedup and time * math.max(0, 1 - 1 / speedup) or time,
        change = change,
        uncertain = "large products were measured to take 0.8 to 1.7 of the expected time, \z
          convolutions 1.2 to 1.5, short products up to 2.9",
        at_most = share < options.share and "note" or nil,
        confidence = speedup and "high" or "medium",
        follows_from = follows and "unfused-softmax" or nil,
        metrics = {
          {
            name = "CUDA-core GEMMs",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = slow:evidence { most = 5 },
        seen = {
          ampere = capability >= constants.ampere,
          products = to_tf32 and slow:count() > convolutions:count(),
          convolutions = to_tf32 and convolutions:count() > 0,
          tf32_allowed = allowed,
          mostly_complex = mostly_complex,
          mostly_half = mostly_half,
        },
      },
    }
  end,
}

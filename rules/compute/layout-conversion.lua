return {
  id = "layout-conversion",
  category = "compute",
  title = "Convolutions convert their operands to another memory layout and back",
  since = "0.2",
  needs = { "kernels", "graph_nodes" },
  options = {
    share = {
      default = 0.05,
      unit = "fraction",
      doc = "Reported from this share of the step: kernels that convert between NCHW and NHWC. A \z
        model in NHWC has none.",
    },
  },
  factors = {
    norm_factor = {
      by = 0.6,
      least = 0.48,
      most = 1,
      doc = "Time of batch normalization in NHWC relative to NCHW.",
      source = "Measured on an H200 in half precision; at worst it gains nothing.",
    },
    left = {
      by = 0,
      least = 0,
      most = 0.1,
      doc = "Conversions that remain with NHWC throughout. With group normalization up to all of \z
        them.",
      source = "Chosen: single layers that support only NCHW bring some back.",
    },
  },
  messages = {
    conversions = "{count:# kernel|# kernels} {a_step} {count:converts|convert} operands of \z
      convolutions between NCHW and NHWC: {time:lost} of {each_step} ({share:fraction}), compared \z
      with {convolutions:ns} for the convolutions next to them. Tensor cores convolve in \z
      NHWC.{group}",
  },
  headlines = {
    conversions = "{count:# kernel converts|# kernels convert} between NCHW and NHWC {a_step}",
  },
  doc = {
    what = "Adds up cuDNN's kernels that convert between NCHW and NHWC around convolutions.",
    why = "Tensor cores convolve NHWC data. cuDNN converts NCHW data, PyTorch's default, before \z
      each convolution, and its result back: each conversion reads and writes a whole activation. \z
      With NHWC throughout no conversion remains, and batch normalization has a faster kernel.",
    fix = '`model.to(memory_format=torch.channels_last)`, and the same for each input; channels \z
      in multiples of 8. TensorFlow: `data_format="channels_last"`. cuDNN: descriptors of \z
      `CUDNN_TENSOR_NHWC`. A single layer that supports only NCHW (a view, a custom operator) \z
      brings the conversions back around itself.',
    wrong = "Group normalization, upsampling and pooling may be slower in NHWC: a UNet was \z
      measured to become slower as a whole. With group normalization next to the convolutions \z
      this is a note. The forecast leaves out how much faster or slower other layers become, \z
      except batch normalization.",
  },
  advice = {
    {
      pytorch = "Keep model and inputs in NHWC{.}: `model.to(memory_format=torch.channels_last)`, \z
        `images.to(memory_format=torch.channels_last)`. Time a step before and after.",
      tensorflow = 'Keep images in NHWC, TensorFlow\'s own layout{.}: \z
        `data_format="channels_last"`.',
      jax = 'Keep images in NHWC{.}: `dimension_numbers=("NHWC", "HWIO", "NHWC")` of \z
        `lax.conv_general_dilated`.',
      cuda = "Keep tensors in NHWC{.}: cuDNN descriptors of `CUDNN_TENSOR_NHWC`, channels in \z
        multiples of 8.",
    },
    {
      pytorch = "Layers that copy back to NCHW (view, reshape, custom operators) undo it{.}: look \z
        for the operators that launch the remaining conversions.",
    },
  },
  evaluate = function(trace, options, factors)
    local conversions = trace:ops {
      class = "pointwise",
      name = { "*nchwToNhwc*", "*nhwcToNchw*", "*nchw2nhwc*", "*nhwc2nchw*" },
    }
    local products = trace:ops { class = "gemm_*" }
    if conversions:count() + products:count() == 0 then return nil, "no convolution ran", "" end
    local total, steps = trace:total_ns(), trace:fact "steps.count"
    local time = conversions:own_ns()
    local share = time / total
    if time == 0 or share < options.share then return {} end
    local norms = trace:ops { class = "norm" }
    local batch_norms = norms:where {
      name = { "*batch_norm*", "*BatchNorm*", "*::bn_*", "*bn_fw*", "*bn_bw*", "*batchnorm*" },
    }
    local group_norms = norms
      :where {
        name = {
          "*RowwiseMoments*",
          "*ComputeFusedParams*",
          "*ComputeInternalGradients*",
          "*ComputeBackwardFusedParams*",
          "*group_norm*",
          "*GroupNorm*",
        },
      }
      :count() > 0
    local change = {
      {
        scale = conversions,
        by = factors.left.by,
        least = factors.left.least,
        most = group_norms and 1 or factors.left.most,
      },
    }
    if not group_norms then
      change[2] = { scale = batch_norms, factor = factors.norm_factor }
    end
    return {
      {
        subject = "convolutions",
        message = "conversions",
        data = {
          count = math.floor(conversions:count() / steps + 0.5),
          time = time / steps,
          share = share,
          convolutions = products:beside(conversions):own_ns() / steps,
          group = group_norms
              and " The model has group normalization, which may be slower in NHWC: time both."
            or "",
        },
        about = true,
        recoverable_ns = time,
        change = change,
        uncertain = group_norms
            and "layers other than convolutions may become slower by as much"
          or "batch normalization gains up to half, or nothing",
        at_most = group_norms and "note" or nil,
        confidence = group_norms and "low" or "medium",
        metrics = {
          {
            name = "layout conversions",
            value = share,
            unit = "fraction",
            threshold = options.share,
          },
        },
        evidence = conversions:evidence { most = 4 },
      },
    }
  end,
}

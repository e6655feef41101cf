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
    grouped = {
      default = 0.1,
      unit = "fraction",
      doc = "Time of cuDNN's general transformations relative to that of conversions from which \z
        convolutions are grouped. Measured: 0.02 and less without groups, 0.2 and more in a \z
        RegNetY.",
    },
  },
  factors = {
    left = {
      by = 0,
      least = 0,
      most = 0.06,
      doc = "Conversions that remain with NHWC throughout.",
      source = "Measured on an H100 in TF32, autocast and half precision, training and inference: \z
        none in ResNet-50 with either norm, three UNets, a decoder of images, ConvNeXt-T and \z
        EfficientNet-B0, 0.05 in a RegNetY.",
    },
    convolutions = {
      by = 0.95,
      least = 0.79,
      most = 1.1,
      doc = "Time of convolutions in NHWC relative to before, without their conversions.",
      source = "Measured so: ResNet-50 0.79 to 0.91, UNets 0.95 to 1.09.",
    },
    training_norm = {
      by = 0.47,
      least = 0.29,
      most = 0.67,
      doc = "Time of batch normalization in NHWC relative to NCHW, forward and backward.",
      source = "Measured so: ResNet-50 0.45 to 0.67, a UNet 0.29 to 0.33, EfficientNet-B0 0.32 to \z
        0.45, a RegNetY 0.41 to 0.53; the upper ends in TF32. On an H200 0.6.",
    },
    norm = {
      by = 0.87,
      least = 0.61,
      most = 2.35,
      doc = "The same in inference.",
      source = "Measured so: ResNet-50 0.61 to 0.98, EfficientNet-B0 0.67 to 0.87, a RegNetY 0.66 \z
        to 0.99, a UNet 1.02 to 2.35.",
    },
    others = {
      by = 1.1,
      least = 0.95,
      most = 1.4,
      doc = "Time of activations, sums and pooling in NHWC relative to NCHW.",
      source = "Measured so: ResNet-50 0.97 to 1.02, ConvNeXt-T 0.95 to 0.99, a UNet 1.18 to 1.4.",
    },
    beside_grouped = {
      by = 2.4,
      least = 0.87,
      most = 2.5,
      doc = "The same with grouped convolutions, for which cuDNN transforms tensors in NHWC, too.",
      source = "Measured so on a RegNetY: 0.87 in TF32, 2.4 in BF16; its step took 0.78 to 1.13 \z
        of the time.",
    },
    beside_group_norm = {
      by = 2.6,
      least = 1.9,
      most = 6.6,
      doc = "The same with group normalization, for which PyTorch copies its operand to NCHW.",
      source = "Measured so: two UNets, a decoder of images and a ResNet-50, whose steps took \z
        1.08 to 1.91 of the time. A UNet on an H200: 2.1.",
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
    wrong = "Group normalization has no kernel for NHWC in PyTorch, which copies its operand to \z
      NCHW and the result back: all four nets that were measured became slower. In inference a \z
      net may become slower as well, and so may grouped convolutions. Where the range of what was \z
      measured includes that, this is a note and the advice is to try.",
  },
  advice = {
    {
      when = "group_norm",
      cuda = "Try NHWC with a group normalization that has a kernel for it{.}: one that needs its \z
        operand in NCHW brings the copies back.",
      pytorch = "Try NHWC with a group normalization that has a kernel for it{.}: apex's \z
        `apex.contrib.group_norm.GroupNorm`. PyTorch's copies its operand. In inference \z
        `torch.compile(model)` chooses the layout itself.",
    },
    {
      unless = "group_norm",
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
      unless = "group_norm",
      pytorch = "Layers that copy back to NCHW (view, reshape, custom operators) undo it{.}: look \z
        for the operators that launch the remaining conversions.",
    },
  },
  evaluate = function(trace, options, factors)
    local conversions = require "layout_conversions"(trace)
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
    local trains = batch_norms
      :where { name = { "*bn_fw_tr*", "*bn_bw*", "*ackward*", "*collect_statistics*" } }
      :count() > 0
    local transforms = trace:ops {
      class = "pointwise",
      name = { "*tensorTransformGeneric*", "*genericTranspose_kernel*" },
    }
    local grouped = transforms:own_ns() > options.grouped * time
    local others = trace:ops { class = { "pointwise", "reduction" } }:minus(conversions)
    local change = {
      { scale = conversions, factor = factors.left },
      { scale = batch_norms, factor = trains and factors.training_norm or factors.norm },
      {
        scale = others,
        factor = group_norms and factors.beside_group_norm
          or grouped and factors.beside_grouped
          or factors.others,
      },
    }
    if not group_norms then change[4] = { scale = products, factor = factors.convolutions } end
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
              and " The model has group normalization, whose operands are then copied to NCHW and \z
                back: NHWC was slower in each such net that was measured."
            or "",
        },
        about = true,
        recoverable_ns = time,
        change = change,
        uncertain = group_norms
            and "with group normalization NHWC was measured to take 1.08 to 1.91 of the time"
          or "how much batch normalization gains in NHWC depends on precision and shapes, in \z
            inference often nothing",
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
        seen = { group_norm = group_norms },
      },
    }
  end,
}

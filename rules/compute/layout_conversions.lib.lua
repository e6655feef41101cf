-- cuDNN's kernels that convert a tensor between NCHW and NHWC around a convolution.
return function(trace)
  return trace:ops {
    class = "pointwise",
    name = { "*nchwToNhwc*", "*nhwcToNchw*", "*nchw2nhwc*", "*nhwc2nchw*" },
  }
end

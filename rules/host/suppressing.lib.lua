-- The kernels that compare boxes for non-maximum suppression, one for each call of it.
return function(trace) return trace:ops { name = { "*nms_kernel*", "*nms_cuda*" } } end

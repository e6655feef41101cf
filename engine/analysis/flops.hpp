// Counts the operations of the products that a program computes, where its ranges contain the
// shapes of the operands.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// Floating-point operations of the product that a range of
/// torch.autograd.profiler.emit_nvtx(record_shapes=True) names, from its "sizes = [[8192, 2048],
/// [2048, 2048]]": 2 m n k for aten::mm, bmm, addmm, baddbmm, _scaled_mm; for the scaled
/// dot-product attentions 4 b h s t d forward and 10 b h s t d backward, with no reduction for a
/// causal mask. Nothing for any other name: operators that only wrap one of these (aten::linear,
/// aten::matmul) must not count twice.
std::optional<double> flops_of_range(std::string_view name);

/// A matrix product [m, k] x [k, n], or a batch of them.
struct Product {
  double m = 0, n = 0, k = 0;
  /// The strides, in elements, of the operands' rows (or columns) and batches; empty where the
  /// range gives only sizes.
  std::vector<double> leading;
};

/// The product that such a range names, or a range of a PyTorch trace, which adds ", strides =
/// [[2048, 1], [1, 2048]]". Nothing for attention.
std::optional<Product> product_of_range(std::string_view name);

/// Whether all rows of operands and result begin at multiples of 16 bytes, the unit in which the
/// fast tensor-core kernels load (NVIDIA, Matrix Multiplication Background: m, n and k multiples of
/// 8 in FP16, 16 in FP8, 4 in TF32). Strides give an exact answer. From sizes alone, the answer is
/// yes if m, n and k are such multiples, and no if n is not, since PyTorch lays out results row by
/// row. If only m or k is not, it may be the extent across the rows: then there is no answer. Nor
/// is there one for products with vectors. `odd` is set to the extent that is to blame.
std::optional<bool> is_aligned(const Product& product, int element_bytes, double* odd = nullptr);

/// Operations of the convolution that such a range names: 2 for each element of the result and each
/// weight that goes into it. For aten::cudnn_convolution the size of the result follows from
/// padding, stride and dilation. PyTorch traces give these; emit_nvtx does not, and then
/// `output_elements` is used (0: unknown). Backward takes the gradient of the result and computes
/// two products, for its input and for its weights. Nothing for any other name, nor for transposed
/// convolutions.
std::optional<double> convolution_flops(std::string_view name, double output_elements = 0);

/// Operations of all ranges within the analyzed steps that name products.
struct ProductFlops {
  std::optional<double> flops;  ///< nothing where no range carries shapes
  /// Convolutions whose operations cannot be counted from the recording: then `flops` is only a
  /// part.
  std::int64_t convolutions_untold = 0;
};
ProductFlops product_flops(const Analysis& analysis);

/// Operations of each range's product, by the range's name, for ranges that contain shapes.
class RangeFlops {
 public:
  explicit RangeFlops(const Trace& trace);
  /// 0 for a range that names no product; nothing for a convolution that cannot be counted.
  std::optional<double> of(NameId range) const;

 private:
  std::unordered_map<NameId, std::optional<double>> known_;
};

/// An upper bound of the model FLOPs utilization: time in products and fused attention, each at the
/// peak of its tier, over all step time, relative to the FP16 and BF16 peak. Graphs traced as a
/// whole count as if they contained nothing else. Nothing where the GPU's peaks are unknown.
std::optional<double> mfu_upper_bound(const Analysis& analysis);

}  // namespace gh

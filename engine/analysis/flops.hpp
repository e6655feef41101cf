// Operations of the products that a program computes, where its ranges carry the shapes of their
// operands.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// The shapes of an operator's operands, from "sizes = [[8192, 2048], []]" behind its name; an
/// empty one of what is no tensor. None where the name carries none.
std::vector<std::vector<double>> shapes_of_range(std::string_view name);

/// Floating-point operations of the product that a range of
/// torch.autograd.profiler.emit_nvtx(record_shapes=True) names, from its "sizes = [[8192, 2048],
/// [2048, 2048]]": 2 m n k for aten::mm, bmm, addmm, baddbmm, _scaled_mm; for the scaled
/// dot-product attentions 4 b h s t d forward and 10 b h s t d backward, a causal mask not taken
/// off. Nothing for any other name: those that only wrap one of these (aten::linear, aten::matmul)
/// must not count twice.
std::optional<double> flops_of_range(std::string_view name);

/// A matrix product [m, k] x [k, n], or a batch of them.
struct Product {
  double m = 0, n = 0, k = 0;
  /// How many elements apart rows (or columns) of the operands and batches lie in memory; empty
  /// where the range tells sizes only.
  std::vector<double> leading;
};

/// The product that such a range names, or one of a PyTorch trace, which adds ", strides = [[2048,
/// 1], [1, 2048]]". Nothing for attention.
std::optional<Product> product_of_range(std::string_view name);

/// Whether rows of operands and result all begin at multiples of 16 bytes, which the fast kernels
/// of tensor cores load at a time (NVIDIA, Matrix Multiplication Background: m, n and k multiples
/// of 8 in FP16, 16 in FP8, 4 in TF32). Strides tell exactly. From sizes alone it is so where m, n
/// and k are such multiples, and not so where n is none, since PyTorch lays out results row by row;
/// m or k that are none may lie across the rows: then nothing. Nothing of products with vectors
/// either. `odd` becomes the extent that is to blame.
std::optional<bool> is_aligned(const Product& product, int element_bytes, double* odd = nullptr);

/// Operations of convolutions that such a range names: 2 for each element of the result and each of
/// the weights that go into it. Of aten::cudnn_convolution the result's extent follows from
/// padding, stride and dilation, which PyTorch traces tell; emit_nvtx does not, then
/// `output_elements` is asked for (0: not known). Backward has the gradient of the result, and is
/// two products, of its input and of its weights. Nothing for any other name, nor for transposed
/// convolutions.
std::optional<double> convolution_flops(std::string_view name, double output_elements = 0);

/// Operations over all ranges of the analysed steps that name products.
struct ProductFlops {
  std::optional<double> flops;  ///< nothing where no range carries shapes
  /// Convolutions whose operations the recording does not tell: `flops` is then only a part.
  std::int64_t convolutions_untold = 0;
};
ProductFlops product_flops(const Analysis& analysis);

/// The operations of each range's product, by name of the range: of those that carry shapes.
class RangeFlops {
 public:
  explicit RangeFlops(const Trace& trace);
  /// 0 of a range that names no product; nothing of a convolution that does not tell.
  std::optional<double> of(NameId range) const;

 private:
  std::unordered_map<NameId, std::optional<double>> known_;
};

/// Model FLOPs utilization, of the GPUs' peak in FP16 and BF16; nothing where operations or peaks
/// are not known.
std::optional<double> mfu_of(const Analysis& analysis);

/// The most that the model FLOPs utilization can be: time in products and fused attention, each at
/// the peak of its tier, of all step time, against the peak in FP16 and BF16. Graphs traced whole
/// count as if they were nothing else. Nothing where the GPU's peaks are unknown.
std::optional<double> mfu_upper_bound(const Analysis& analysis);

}  // namespace gh

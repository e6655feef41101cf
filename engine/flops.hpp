// Operations of the products that a program computes, where its ranges carry the shapes of their operands.
#pragma once
#include <optional>
#include <string_view>

#include "analysis.hpp"

namespace gh {

/// Floating-point operations of the product that a range of torch.autograd.profiler.emit_nvtx(record_shapes=True) names, from its
/// "sizes = [[8192, 2048], [2048, 2048]]": 2 m n k for aten::mm, bmm, addmm, baddbmm, _scaled_mm; for the scaled dot-product attentions
/// 4 b h s t d forward and 10 b h s t d backward, a causal mask not taken off. Nothing for any other name: those that only wrap one of
/// these (aten::linear, aten::matmul) must not count twice.
std::optional<double> flops_of_range(std::string_view name);

/// The same over all ranges of the analysed steps; nothing where no range carries shapes.
std::optional<double> product_flops(const Analysis& analysis);

/// The most that the model FLOPs utilization can be: time in products and fused attention, each at the peak of its tier, of all step
/// time, against the peak in FP16 and BF16. Graphs traced whole count as if they were nothing else. Nothing where the GPU's peaks are unknown.
std::optional<double> mfu_upper_bound(const Analysis& analysis);

}  // namespace gh

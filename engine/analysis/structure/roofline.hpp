// The least time that device operations need for their computations and bytes, compared to the time
// they took; and what limits a unit as a whole.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/step_time.hpp"

namespace gh {

/// Covers products, convolutions and attention whose range or operator contains shapes, copies
/// within the device and memsets; of other kernels only the class is known. Times are sums over the
/// steps of all devices.
struct Roofline {
  double device_ns = 0;  ///< of all kernels, copies within the device and memsets
  double known_ns = 0;   ///< of those with known operations or bytes
  double least_ns = 0;   ///< what the device needs for these at its attainable rates
  double by_memory_ns =
      0;  ///< of products (in known_ns) that are limited by bytes rather than operations
};
Roofline roofline_of(const Analysis& analysis);

/// A product whose range or operator contains shapes, or a copy within the device or a memset.
struct KnownWork {
  Row op = no_row;       ///< its longest kernel, or the copy
  double ns = 0;         ///< that it took
  double least_ns = -1;  ///< that it needs at the attainable rates; -1 where these are unknown
  double flops = 0;
  double bytes = 0;  ///< operands and result, each once; 0 if unknown
  bool by_memory = false;
  Precision precision = Precision::none;  ///< of a product whose kernel tells
  /// Whether shapes do not show a mask, which may skip half of the operations.
  bool may_be_masked = false;
};
/// All of it within the steps, by operation. Analysis::known_work() keeps it.
std::vector<KnownWork> known_work_of(const Analysis& analysis);

/// Nanoseconds of the steps' products and fused attention, and for how much of that their size is
/// known. Graphs that were traced as a whole count as products of unknown size.
struct ProductTimes {
  double all_ns = 0;
  double known_ns = 0;
};
ProductTimes product_times(const Analysis& analysis);

/// Model FLOPs utilization relative to the GPUs' FP16 and BF16 peak; nothing where peaks, or
/// the operations of most products' time, are unknown.
std::optional<double> mfu_of(const Analysis& analysis);

/// What a causal mask leaves of attention's operations: about half.
inline constexpr double least_of_masked = 0.5;

/// How fast a device computes and reads.
class Rates {
 public:
  /// The attainable part of its peaks; Attainable{} is all of them.
  Rates(const GpuPeaks& peaks, const Attainable& part);
  double memory_bytes_per_s() const { return memory_; }  ///< 0 if unknown
  /// One way, as attained; 0 if unknown.
  double host_link_bytes_per_s() const { return peaks_.host_link_bytes_per_s; }
  /// Nanoseconds that a product needs for its operations, and for its bytes, in this precision; 0
  /// if the rate is unknown. Attention's operations are those that a causal mask leaves.
  double compute_ns(const KnownWork& product, Precision precision) const;
  double memory_ns(const KnownWork& product, Precision precision) const;

 private:
  GpuPeaks peaks_;
  Attainable part_;
  double memory_;
};

/// What limits a unit.
struct BoundBy {
  /// What takes most of the time: "compute", "memory", "launching", "the link", "the network", "the
  /// host", "unified memory", "waiting for other work"; "custom kernels" if nothing is known about
  /// most kernels, "graphs" if they were traced as a whole, "products" where they generate tokens
  /// and have no known size: they compute, or read weights. "" without GPU work.
  std::string by;
  /// Each with its share of the step, the largest first.
  std::vector<std::pair<std::string, double>> shares;
};
BoundBy bound_by(const Analysis& analysis, const StepTime& step);

/// "compute: 61 % of each training step; memory 27 %, launching 8 %"; names both if two take about
/// as much.
std::string bound_text(const Analysis& analysis, const BoundBy& bound);

/// Model FLOPs utilization that large training runs usually reach on Ampere and Hopper: 35 to 45 %
/// (Megatron-LM and Llama 3 report 38 to 47 % on A100 and H100).
inline constexpr double usual_mfu_least = 0.35, usual_mfu_most = 0.45;

/// For training a transformer on such GPUs: how its utilization compares to the usual, and what
/// takes the rest, from the account; "" for anything else.
std::string mfu_verdict(const Analysis& analysis, const StepTime& step);

}  // namespace gh

// What an operation of the device takes at least, by the operations that it computes and the bytes
// that it moves, against what it took; and what binds a unit as a whole.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/step_time.hpp"

namespace gh {

/// Products, convolutions and attention whose range or operator carries shapes, copies within the
/// device and memsets: what is known of the rest is only its class. Times are sums over the steps
/// of all devices.
struct Roofline {
  double device_ns = 0;     ///< of all kernels, copies within the device, memsets
  double known_ns = 0;      ///< of those whose operations or bytes are known
  double least_ns = 0;      ///< what the device needs for these, at the rates that it attains
  double by_memory_ns = 0;  ///< of products (in known_ns) that bytes bound and not operations
};
Roofline roofline_of(const Analysis& analysis);

/// What binds a unit.
struct BoundBy {
  /// What most of the time goes by: "compute", "memory", "launching", "the link", "the network",
  /// "the host", "unified memory", "waiting for other work"; "kernels of its own" where most is in
  /// kernels of which nothing is known, "graphs" where they were traced whole. "" without GPU work.
  std::string by;
  /// Each with its share of the step, the largest first.
  std::vector<std::pair<std::string, double>> shares;
};
BoundBy bound_by(const Analysis& analysis, const StepTime& step);

/// "compute: 61 % of each training step; memory 27 %, launching 8 %"; both where two take about as
/// much.
std::string bound_text(const Analysis& analysis, const BoundBy& bound);

/// What training at large reaches on Ampere and Hopper: model FLOPs utilization of 35 to 45 %
/// (Megatron-LM and Llama 3 report 38 to 47 % on A100 and H100).
inline constexpr double usual_mfu_least = 0.35, usual_mfu_most = 0.45;

/// Of training a transformer on such GPUs: how its utilization compares to that, and what takes the
/// rest, from the account; "" of anything else.
std::string mfu_verdict(const Analysis& analysis, const StepTime& step);

}  // namespace gh

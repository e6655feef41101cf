// What a step's ranges hold, one within the other: its phases, modules and operators, each with the
// host's time in it and the GPU work that was launched in it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// All ranges of one name within one parent. Times are of a mean step, as recorded.
struct RangeNode {
  enum class Of : std::uint8_t {
    range,  ///< of the program: NVTX, or a profiler's annotation
    op,     ///< an operator of a framework, or a call of a library
    frame   ///< a Python function or module
  };
  static constexpr std::uint32_t no_parent = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t parent = no_parent;  ///< its place in the list
  std::uint32_t depth = 0;
  Of of = Of::range;
  std::string name;  ///< what counts is one: "layer #"
  double count = 0;
  double host_ns = 0;    ///< from its start to its end
  double device_ns = 0;  ///< GPU work launched in it: what runs side by side counts in full
};

struct RangeTree {
  /// Each behind its parent and in front of its parent's next child; children in the order in which
  /// they first began.
  std::vector<RangeNode> nodes;
  std::size_t left_out = 0;  ///< nodes too small for the list
  double step_ns = 0;        ///< the mean step as recorded
  double device_ns = 0;      ///< GPU work of a mean step, launched in a range or not
};

/// The ranges of the analysed steps; of them the `most_nodes` that take most.
RangeTree range_tree_of(const Analysis& analysis, std::size_t most_nodes);

}  // namespace gh

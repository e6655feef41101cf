// The kernels and calls that a finding is about.
#pragma once
#include <string>
#include <vector>

#include "rules/finding.hpp"

namespace gh {

/// A kernel, or a call, that a finding is about.
struct Use {
  std::string name, kind;  ///< kind: the kernel class, "copy", "memset", or the class of the call
  double count = 0;
  double ns = 0;
};
struct Concerned {
  /// Count and time are of a mean step; otherwise of the evidence as a whole.
  bool per_step = false;
  std::vector<Use> uses;  ///< the costliest first
};
/// What a finding's fix would change; where that cannot be told, what ran in its evidence.
Concerned concerned_by(const Analysis& analysis, const Report& report, const Finding& finding);

}  // namespace gh

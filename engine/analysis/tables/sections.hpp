// What is around launches but is no layer: the ranges of steps and passes, and Python's functions,
// within each other, as far as they lie in one layer or in none.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/structure/program_layers.hpp"

namespace gh {

using SectionId = std::uint32_t;
inline constexpr SectionId no_section = 0;

/// All ranges, or functions, of one name in one section.
struct Section {
  SectionId parent = no_section;  ///< which has a smaller id
  std::string name;               ///< "step #"; of a function: "train.py(40): train_step"
  bool is_function = false;
};

/// The sections of the analyzed window, and which of them a call is in.
class Sections {
 public:
  explicit Sections(const Analysis& analysis);

  /// The first one is none.
  const std::vector<Section>& all() const { return sections_; }
  /// In the layer that the call is of: no_section for backward, which does not run in that layer.
  SectionId of_call(Row call) const { return call == no_row ? no_section : of_call_[call]; }
  /// Calls take(layer, section, ns): how long threads were in a section, and in none within.
  template <class Take>
  void each_host_time(Take take) const {
    for (const auto& [key, ns] : host_ns_)
      take(static_cast<LayerId>(key >> 32), static_cast<SectionId>(key), ns);
  }

 private:
  std::vector<Section> sections_{1};
  std::vector<SectionId> of_call_;
  std::unordered_map<std::uint64_t, Ns> host_ns_;  // by layer and section
};

}  // namespace gh

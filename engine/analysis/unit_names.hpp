// Names a level of repetition by its content: a training step by its optimizer, a layer by what it
// lacks.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/classes.hpp"
#include "analysis/launch_sequence.hpp"
#include "analysis/periods.hpp"
#include "analysis/program_kind.hpp"
#include "analysis/steps.hpp"

namespace gh {

/// What a span of launches contains.
struct UnitContent {
  bool optimizer = false, product = false, loss_or_embedding = false;
  bool input = false;           ///< something comes from the host
  bool meets_host = false;      ///< a copy from or to it, a wait for the device, a graph
  bool time_embedding = false;  ///< sines and cosines of the diffusion time step

  /// Whether it lacks everything that a model's step has and its layers do not.
  bool is_inside() const { return !optimizer && !loss_or_embedding && !meets_host; }
  /// Whether it is a whole pass of a model, which updates nothing: from its input or to its loss.
  bool is_pass() const { return product && (loss_or_embedding || input) && !optimizer; }
};

class UnitNames {
 public:
  UnitNames(const Trace& trace, const Classes& classes, const NameClasses& names,
            const ProgramKind& program, const LaunchSequence& sequence);

  UnitContent content(std::size_t from, std::size_t to) const;
  /// How many launches of an optimizer lie between two places.
  std::size_t updates(std::size_t from, std::size_t to) const;
  /// The name of a unit whose typical repetition lies between two places. `noun`: what the
  /// program's own ranges call it, "" if they do not.
  std::string name_of(std::size_t from, std::size_t to, const std::string& noun) const;
  /// What repeats between two places, outermost first, as far as it can be named.
  std::vector<UnitLevel> levels_within(std::size_t from, std::size_t to) const;
  /// The same for the typical repetition, whatever the profiler lost of it.
  std::vector<UnitLevel> levels_within(const Period& period) const;
  /// Whether launches in turn may be layers of a model.
  bool may_be_layers() const { return program_.runs_models() && !program_.has_device_loops(); }
  bool trains() const { return program_.is("training"); }
  bool are_tokens() const { return program_.is("tokens"); }

 private:
  // The name of a repetition within a unit that takes a share of it; "" if unknown.
  std::string name_within(const UnitContent& unit, const UnitContent& inner, double share) const;

  bool is_known_sine(NameId kernel) const {
    const auto it = sines_.find(kernel);
    return it != sines_.end() && it->second;
  }

  const Trace& trace_;
  const Classes& classes_;
  const NameClasses& names_;
  const ProgramKind& program_;
  const LaunchSequence& seq_;
  std::unordered_map<NameId, bool> sines_;  // by kernel, in programs that denoise
  bool has_optimizer_ = false;              // anywhere
};

}  // namespace gh

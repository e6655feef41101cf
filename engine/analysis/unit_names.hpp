// What a level of repetition is called, told by what is in it: a training step by its optimizer, a
// layer by what it lacks.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/classes.hpp"
#include "analysis/launch_sequence.hpp"
#include "analysis/program_kind.hpp"
#include "analysis/steps.hpp"

namespace gh {

/// What a stretch of launches holds.
struct UnitContent {
  bool optimizer = false, product = false, loss_or_embedding = false;
  bool input = false;           ///< something comes from the host
  bool meets_host = false;      ///< a copy from or to it, a wait for the device, a graph
  bool time_embedding = false;  ///< sines and cosines: of the moment that is denoised

  /// Nothing of what a step of a model has and its layers have not.
  bool is_inside() const { return !optimizer && !loss_or_embedding && !meets_host; }
};

class UnitNames {
 public:
  UnitNames(const Trace& trace, const Classes& classes, const NameClasses& names,
            const ProgramKind& program, const LaunchSequence& sequence);

  UnitContent content(std::size_t from, std::size_t to) const;
  /// Of a unit of which the typical one lies between two places. `noun`: what the program's own
  /// ranges call it, "" where nothing does.
  std::string name_of(std::size_t from, std::size_t to, const std::string& noun) const;
  /// What repeats between two places, outermost first: as far as it can be named.
  std::vector<UnitLevel> levels_within(std::size_t from, std::size_t to) const;
  /// Whether launches in turn may be layers of a model. XLA has loops of its own on the device that
  /// look alike.
  bool may_be_layers() const { return program_.runs_models() && !program_.is("jax"); }
  bool trains() const { return program_.is("training"); }
  bool are_tokens() const { return program_.is("tokens"); }

 private:
  // Of what repeats within a unit and holds a share of it; "" where nothing tells.
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
  std::unordered_map<NameId, bool> sines_;  // of kernels, in programs that denoise
  bool has_optimizer_ = false;              // anywhere
};

}  // namespace gh

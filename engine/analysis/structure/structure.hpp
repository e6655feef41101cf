// Where in the program each launch, and each moment of a host thread, lies. Layers, tables, the
// path, facts and rules ask here. What is asked before there is an analysis, or of ranges of one
// kind alone, has its own look at the ranges: steps (steps_from_ranges.cpp) and collectives
// (collectives.cpp).
//
//   nesting.hpp         the ranges around a moment, from the innermost out
//   program_layers.hpp  the module, operator, line and pass of a launch, with backward led to the
//                       forward that it is of; layers that no range names: repeated_layers.hpp
//   host_work.hpp       what a thread did in a span of time
//   code_owners.hpp     whose time a moment is, and what to do about it (schemas/owners.toml)
//   periodic_events.hpp  what comes in every n-th step only, and what the host does there
//   roofline.hpp        the least time that work of known size needs, by the ranges around it
//
// Analysis holds it (Analysis::structure). Each part is made when it is first asked for.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/structure/code_owners.hpp"
#include "analysis/structure/host_work.hpp"
#include "analysis/structure/nesting.hpp"
#include "analysis/structure/program_layers.hpp"
#include "base/lazy.hpp"

namespace gh {

/// Several threads may ask at once.
class Structure {
 public:
  /// The analysis has to outlive it.
  explicit Structure(const Analysis& analysis) : analysis_(analysis) {}

  const Nesting& ranges() const;
  const Nesting& frames() const;
  /// By name: operators_of the trace.
  const std::vector<std::uint8_t>& operators() const;
  /// By thread: callers_of the trace.
  const std::vector<std::uint16_t>& callers() const;
  const ProgramLayers& layers() const;
  const HostWork& host_work() const;
  const CodeOwners& owners() const;

 private:
  const Analysis& analysis_;
  Lazy<Nesting> ranges_, frames_;
  Lazy<std::vector<std::uint8_t>> operators_;
  Lazy<std::vector<std::uint16_t>> callers_;
  Lazy<ProgramLayers> layers_;
  Lazy<HostWork> host_work_;
  Lazy<CodeOwners> owners_;
};

}  // namespace gh

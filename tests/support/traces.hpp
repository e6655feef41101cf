// Traces and their analyses, from recordings and from literals.
#pragma once
#include <string>

#include "analysis/analysis.hpp"
#include "read/nsys.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"

namespace support {

/// An Nsight Systems export by name: "starved".
inline gh::Trace recorded(const std::string& name) { return gh::read_nsys(fixture(name)); }

inline gh::Analysis analysed(gh::Trace trace) {
  return gh::Analysis(std::move(trace), gh::Classes(), {});
}
/// Of a literal trace: "return { ops = { ... } }".
inline gh::Analysis analysed(const std::string& lua) { return analysed(gh::trace_from_text(lua)); }

}  // namespace support

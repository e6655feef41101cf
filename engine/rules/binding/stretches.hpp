// Classifies the host's stretches: idle time in which it neither launched, waited for the GPU,
// allocated, loaded nor compiled code. Every stretch has exactly one class, so that no two rules
// claim it.
#pragma once
#include <cstdint>
#include <vector>

#include "rules/binding/context.hpp"

namespace gh::binding {

enum class Stretch : std::uint8_t {
  none,       ///< idle time that is no such stretch
  offload,    ///< during tensors that move to the host and back, or weights that are streamed in
  phase,      ///< in ranges of a checkpoint, an evaluation or Python's garbage collection
  optimizer,  ///< between gradients copied down and parameters copied up
  compiler,   ///< between calls that load or compile code, in a step that has such calls
  lock,       ///< Python's lock was held by another thread
  preempted,  ///< off the CPU outside of any call, while other threads were on it
  waits,      ///< in a call in which a thread does nothing
  launching,  ///< in an operator that launches GPU work and takes long to do so
  works,      ///< it did something with a name, was on a CPU, or worked on what it had read back
  unnamed     ///< nothing shows it
};
const char* name_of(Stretch);

/// By row of idle time. Found once for all rules.
const std::vector<std::uint8_t>& stretches(const Context& c);

inline Stretch stretch_of(const Context& c, Row idle) {
  return static_cast<Stretch>(stretches(c)[idle]);
}

}  // namespace gh::binding

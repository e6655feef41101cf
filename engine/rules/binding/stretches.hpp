// What the host's stretches are, of idle time in which it neither launched nor waited for the GPU,
// allocated, loaded or made code: whose business each is. Every stretch is one thing only, so that
// no two rules claim it.
#pragma once
#include <cstdint>
#include <vector>

#include "rules/binding/context.hpp"

namespace gh::binding {

enum class Stretch : std::uint8_t {
  none,       ///< idle time that is no such stretch
  offload,    ///< beside tensors that travel to the host and back, or weights that stream in
  phase,      ///< in ranges of a checkpoint, an evaluation or Python's garbage collection
  optimizer,  ///< between gradients that came down and parameters that go up
  compiler,   ///< among calls that load or make code, in a step that has them
  lock,       ///< Python's lock was held by another thread
  preempted,  ///< off the CPU, in no call, and other threads were on it
  waits,      ///< in a call in which a thread does nothing
  launching,  ///< in an operator that gives the GPU work, and takes long about it
  works,   ///< it did something that has a name, was on a CPU, or worked on what it had read back
  unnamed  ///< nothing tells
};
const char* name_of(Stretch);

/// By row of idle time. Found once for all rules.
const std::vector<std::uint8_t>& stretches(const Context& c);

inline Stretch stretch_of(const Context& c, Row idle) {
  return static_cast<Stretch>(stretches(c)[idle]);
}

}  // namespace gh::binding

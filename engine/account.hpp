// Where the time of every step went: each nanosecond of every step on every device, in exactly one cause.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "classes.hpp"
#include "steps.hpp"
#include "trace.hpp"

namespace gh {

/// Why a GPU did nothing.
enum class IdleCause : std::uint8_t { input, sync, launch, allocation, compilation, dependency, unknown };
const char* name_of(IdleCause);

/// A stretch in which a device did nothing, with one cause. A pause of the GPU falls into several where the host did several things.
struct Idle {
  Span span;
  Row previous = no_row, next = no_row;  ///< the operations around the pause
  Row call = no_row;               ///< sync, allocation, compilation: the call in which the thread was
  std::uint16_t thread = no_index; ///< that launched `next`
  IdleCause cause = IdleCause::unknown;
  bool inferred : 1 = false;       ///< input: no range says so, the way the host spent the time does
  bool by_upload : 1 = false;      ///< input: only that data went up after the pause speaks for it
  bool drained : 1 = false;        ///< the thread had let the GPU run dry by waiting for it, and has not got ahead of it again since
};

/// The account of one device.
struct DeviceAccount {
  Spans window;                             ///< the steps, joined
  Spans busy;                               ///< of the window: GPU work and unified-memory stalls
  std::vector<Idle> idle;                   ///< the rest of the window, in order
  std::vector<std::vector<Ns>> step_ns;     ///< [step][cause]: each step's row adds up to its length
};

/// The account of a report. Causes are, in this precedence (a nanosecond goes to the first that claims it):
///   um_stall                 page faults of unified memory being handled, and unified copies, also while a kernel waits for them
///   compute.<class>          kernels by class (schemas/kernels.toml), then compute.graph for graphs traced whole, then
///                            compute.device_copy for copies and memsets that stay on the device
///   communication_exposed    collectives with no compute beside them
///   copy_exposed             copies over a link with no compute or collective beside them
///   idle.<cause>             nothing on the GPU
struct Account {
  std::vector<std::string> causes;
  std::vector<DeviceAccount> devices;       ///< parallel to the DeviceSteps they were made of
  std::vector<IdleCause> idle_causes;       ///< of every Idle, one device after the other: what is asked of all of them, again and again
  /// The sum over devices and steps of one cause; 0 for one that is not listed.
  Ns total_ns(const std::string& cause) const;
  Ns total_ns() const;                      ///< over all causes: the sum of all steps on all devices
};

Account make_account(const Trace& trace, const Classes& classes, const NameClasses& names, const std::vector<DeviceSteps>& devices);

}  // namespace gh

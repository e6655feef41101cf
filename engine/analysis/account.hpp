// Where the time of every step went: each nanosecond of every step on every device, in exactly one
// cause.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/classes.hpp"
#include "analysis/idle.hpp"
#include "analysis/steps.hpp"
#include "trace/trace.hpp"

namespace gh {

/// The account of one device.
struct DeviceAccount {
  Spans window;                          ///< the steps, joined
  Ns busy_ns = 0;                        ///< of the window: GPU work and unified-memory stalls
  Ns longest_idle_ns = 0;                ///< the longest pause, whatever its causes
  IdleList idle;                         ///< what is not busy of the window
  std::vector<std::vector<Ns>> step_ns;  ///< [step][cause]: each step's row adds up to its length
};

/// The account of a report. Causes are, in this precedence (a nanosecond goes to the first that
/// claims it):
///   um_stall               page faults of unified memory being handled, and unified copies, also
///                          while a kernel waits for them
///   compute.<class>        kernels by class (schemas/kernels.toml)
///   compute.graph          graphs traced whole
///   compute.device_copy    copies and memsets that stay on the device
///   communication_exposed  collectives with no compute beside them
///   copy_exposed           copies over a link with no compute or collective beside them
///   idle.<cause>           nothing on the GPU (IdleCause)
struct Account {
  std::vector<std::string> causes;
  std::vector<DeviceAccount> devices;  ///< parallel to the DeviceSteps they were made of
  /// Of every Idle, one device after the other: what is asked of all of them, again and again.
  std::vector<IdleCause> idle_causes;
  /// The sum over devices and steps of one cause; 0 for one that is not listed.
  Ns total_ns(const std::string& cause) const;
  Ns total_ns() const;  ///< over all causes: the sum of all steps on all devices
};

/// `failed`: the calls that returned an error, in order. `chunk_size`: after about how many
/// operations a device's time is cut, so that several threads can work on it. The account does not
/// depend on it.
Account make_account(const Trace& trace, const Classes& classes, const NameClasses& names,
                     const std::vector<DeviceSteps>& devices, const std::vector<Row>& failed = {},
                     std::size_t chunk_size = 1 << 15);

/// "compute.gemm_half" -> "compute: GEMM, half precision"
std::string cause_label(const std::string& cause);

}  // namespace gh

// Where the time of every step went: each nanosecond of every step on every device belongs to
// exactly one cause.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/cause.hpp"
#include "analysis/causes.hpp"
#include "analysis/classes.hpp"
#include "analysis/idle.hpp"
#include "analysis/step_causes.hpp"
#include "analysis/steps.hpp"
#include "trace/trace.hpp"

namespace gh {

/// The account of one device.
struct DeviceAccount {
  Spans window;            ///< the steps, with adjacent ones joined
  Ns window_ns = 0;        ///< how long that is
  Ns busy_ns = 0;          ///< of the window: GPU work and unified-memory stalls
  Ns longest_idle_ns = 0;  ///< the longest pause, whatever caused it
  IdleList idle;           ///< the parts of the window that are not busy
  StepCauses step_ns;      ///< each step's causes add up to its length
};

/// The account of a report. The causes, in order of precedence (a nanosecond goes to the first that
/// claims it):
///   um_stall               page faults of unified memory being handled, and unified-memory copies,
///                          even while a kernel waits for them
///   compute.<class>        kernels by class (schemas/kernels.toml)
///   compute.graph          graphs traced whole
///   compute.device_copy    copies and memsets that stay on the device
///   communication_exposed  collectives while no compute runs
///   copy_exposed           copies over a link while neither compute nor a collective runs
///   idle.<cause>           nothing on the GPU (IdleCause)
struct Account {
  std::vector<std::string> causes;
  std::vector<Cause> kinds;            ///< what each of them is
  std::vector<DeviceAccount> devices;  ///< parallel to the DeviceSteps they were made from
  /// The cause of every Idle, ordered by device: kept apart because it is read over and over.
  std::vector<IdleCause> idle_causes;
  /// The sum of one cause over devices and steps; 0 for a cause that is not listed.
  Ns total_ns(const std::string& cause) const;
  Ns total_ns(const Cause& cause) const;
  Ns total_ns(std::size_t cause) const;  ///< by its place
  Ns total_ns() const;                   ///< over all causes: the sum of all steps on all devices
};

/// A span of a GPU's work, and its cause: the place in Account::causes.
struct BusySpan {
  Span span;
  std::size_t cause = 0;
};
/// The work of one device that the account counts and that reaches into a span of time, as
/// recorded, in any order: operations (of which `take` gets the row) and page faults (no_row).
template <class Take>
void each_busy_span(const Trace& trace, const Causes& causes, const DeviceSteps& device,
                    Span within, Take take) {
  const auto reaches = [&](Span s) { return s.start < within.end && s.end > within.start; };
  for (const Row op : device.ops) {
    if (trace.ops.start[op] >= within.end) break;
    if (reaches(trace.span_of(op))) take(BusySpan{trace.span_of(op), causes.of(op)}, op);
  }
  const GpuFaults& faults = trace.gpu_faults;
  for (Row f = 0; f < faults.size() && faults.start[f] < within.end; ++f)
    if (const Span span{faults.start[f], faults.end[f]};
        faults.device[f] == device.device && reaches(span))
      take(BusySpan{span, Causes::um_stall}, no_row);
}
/// How much of a span of time each of `causes` causes gets, if this work is all that a device does.
std::vector<Ns> time_by_cause(std::vector<BusySpan> work, Span within, std::size_t causes);

/// `failed`: the calls that returned an error, in order. `chunk_size`: a device's time is cut after
/// about this many operations, so that several threads can work on it. The result does not depend
/// on it.
Account make_account(const Trace& trace, const Classes& classes, const NameClasses& names,
                     const std::vector<DeviceSteps>& devices, const std::vector<Row>& failed = {},
                     std::size_t chunk_size = 1 << 15);

}  // namespace gh

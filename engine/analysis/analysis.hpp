// A trace together with all that has been found out about it before any rule: classes of names,
// steps, the account.
#pragma once
#include <memory>

#include "analysis/account.hpp"
#include "analysis/classes.hpp"
#include "analysis/steps.hpp"
#include "trace/trace.hpp"

namespace gh {

struct Analysis {
  Trace trace;
  Classes classes;
  NameClasses names;
  std::vector<DeviceSteps>
      devices;  ///< those that did any work and were selected; none in a report without GPU work
  std::vector<DeviceSteps> bystanders;  ///< devices without steps that did next to nothing while
                                        ///< others train: left out of all that follows
  Account account;                      ///< account.devices is parallel to `devices`

  Analysis(Trace trace, Classes classes, const Selection& selection);

  Ns total_ns() const { return account.total_ns(); }  ///< of all steps on all devices
  std::int64_t step_count() const;                    ///< over all devices
  bool has_steps() const;                ///< false where a whole window stands in for them
  std::vector<Ns> step_lengths() const;  ///< of all devices
  /// From the first device's first step to the last one's end; what the host did is looked at
  /// within.
  Span hull() const;
  /// The operations of the n-th analysed device that touch its steps, in order.
  std::vector<Row> ops_in_steps(std::size_t device) const;
  /// Calls take(row) with each of them.
  template <class Take>
  void each_op_in_steps(std::size_t device, Take take) const {
    const Spans& window = account.devices[device].window;
    std::size_t at = 0;
    for (const Row op : devices[device].ops) {
      while (at < window.size() && window[at].end <= trace.ops.start[op]) ++at;
      if (at == window.size()) break;
      if (trace.ops.end[op] > window[at].start) take(op);
    }
  }
  /// The kernel class of an operation, or "" of copies, memsets and graphs.
  const std::string& kernel_class(Row op) const;
};

}  // namespace gh

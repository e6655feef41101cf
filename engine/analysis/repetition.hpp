// Finds what a device's work repeats, from ranges or launches, and cuts the device's time
// accordingly.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/crews.hpp"
#include "analysis/host_steps.hpp"
#include "analysis/steps.hpp"

namespace gh {

/// Finds the steps of a device, what they were found from and what they are called: from ranges
/// that mark them, or else from launches that repeat. Returns them as the host began them; nothing,
/// and leaves no steps, if neither shows any.
std::optional<HostSteps> find_repetition(const Trace& trace, const Classes& classes,
                                         const NameClasses& names, const ProgramKind& program,
                                         DeviceSteps& device);

/// The same where several crews may work on the device: two models that share it, or a loop whose
/// batches another thread prepares there. The steps are those of the crew that works most. The
/// others take part in them, unless they repeat something else meanwhile, at their own rate.
std::optional<HostSteps> find_repetition(const Trace& trace, const Classes& classes,
                                         const NameClasses& names, const ProgramKind& program,
                                         const Crews& crews, DeviceSteps& device);

/// Beside a loop that trains, one whose operations update nothing validates or generates: the first
/// of its levels is no training step.
void name_by_content(const Trace& trace, const NameClasses& names, const std::vector<Row>& ops,
                     std::vector<UnitLevel>& levels);

/// Cuts a device's time where the host began the steps of another device of the job. Leaves no
/// steps unless the device does about the same in most of them.
void cut_like(const Trace& trace, const Classes& classes, const NameClasses& names,
              const ProgramKind& program, const HostSteps& host, DeviceSteps& device);

/// Cuts a device's time where the host began the repetitions of another loop (other_loops.hpp),
/// which `of_it` says were found on this device. On others, leaves no steps unless the device does
/// about the same in most of them.
void cut_in_loop(const Trace& trace, const Classes& classes, const NameClasses& names,
                 const HostSteps& loop, bool of_it, DeviceSteps& device);

/// Whether the steps of a host leave little of what a device does in them out: each does about the
/// same, but for what comes once in a while.
bool leave_little_out(const Trace& trace, const Classes& classes, const NameClasses& names,
                      const HostSteps& host, const DeviceSteps& device);

/// As find_repetition, for the level of that name beside the one that it finds.
std::optional<HostSteps> find_unit(const Trace& trace, const Classes& classes,
                                   const NameClasses& names, const ProgramKind& program,
                                   const std::string& unit, DeviceSteps& device);

/// What repeats on a device, by name: what find_repetition finds first. Names may come twice.
std::vector<std::string> units_on(const Trace& trace, const Classes& classes,
                                  const NameClasses& names, const ProgramKind& program,
                                  DeviceSteps device);

}  // namespace gh

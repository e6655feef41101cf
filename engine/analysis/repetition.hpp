// What a device's work repeats, told by ranges or by launches, cut out of the device's time.
#pragma once
#include <string>
#include <vector>

#include "analysis/steps.hpp"

namespace gh {

/// Finds the steps of a device, with what they were found from and what they are called: from
/// ranges that mark them, else from launches that repeat. Leaves none where neither tells.
void find_repetition(const Trace& trace, const Classes& classes, const NameClasses& names,
                     const ProgramKind& program, DeviceSteps& device);

/// The same of the level of that name. Where there is none, leaves no steps, and adds to `known`
/// what there is.
void find_unit(const Trace& trace, const Classes& classes, const NameClasses& names,
               const ProgramKind& program, const std::string& unit, DeviceSteps& device,
               std::vector<std::string>& known);

}  // namespace gh

// The devices of one job repeat the same unit: what one of them shows holds for the others.
#pragma once
#include <optional>
#include <vector>

#include "analysis/host_steps.hpp"
#include "analysis/steps.hpp"

namespace gh {

/// Devices that run the same kernels have one unit: of those that they show by themselves, the
/// shortest that leaves little out on each of them. It is cut on those that show another.
void agree_on_unit(const Trace& trace, const Classes& classes, const NameClasses& names,
                   const ProgramKind& program, std::vector<std::optional<HostSteps>>& found,
                   std::vector<DeviceSteps>& devices);

/// Where a device shows no steps, those of others cut its time too, of its own process first, if it
/// does about the same in most of them. `found`: what each device shows by itself.
void take_steps_of_others(const Trace& trace, const Classes& classes, const NameClasses& names,
                          const ProgramKind& program,
                          const std::vector<std::optional<HostSteps>>& found,
                          std::vector<DeviceSteps>& devices);

/// The levels within the steps are the same on all devices that run the same kernels.
void take_one_tree(const Trace& trace, const std::vector<std::optional<HostSteps>>& found,
                   std::vector<DeviceSteps>& devices);

/// Devices that run their steps together are judged on the same ones: what is start-up on one, or
/// cut off at an end of the recording, is judged on none, since the others waited for it.
void judge_together(const Trace& trace, std::vector<DeviceSteps>& devices);

/// How much of a device's time it works on kernels and copies that another device runs for as large
/// a part of its time, from 0 to 1.
double common_fraction(const Trace& trace, const DeviceSteps& a, const DeviceSteps& b);
/// Whether they do the same work, apart from what a rank does on its own.
bool do_the_same(const Trace& trace, const DeviceSteps& a, const DeviceSteps& b);

}  // namespace gh

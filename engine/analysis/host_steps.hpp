// Steps as the host began them, before they are cut out of a device's time (steps.cpp). They come
// from ranges that mark them (steps_from_ranges.cpp), or else from launches that repeat
// (steps_from_launches.cpp).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/steps.hpp"

namespace gh {

struct HostSteps {
  struct Begin {
    Ns at = 0;
    std::int64_t number = 0;
  };
  StepSource source = StepSource::none;
  std::string described;      ///< as DeviceSteps::described
  std::string noun;           ///< what their ranges call them: "frame"; "" where they do not say
  std::vector<Begin> begins;  ///< in order
  Ns end = 0;                 ///< of the last step
  std::int64_t cut_off = 0;   ///< steps that the recording contains only in part, at its ends
  std::vector<UnitLevel> levels;  ///< as DeviceSteps::levels
};

/// Ranges of the device's process that mark steps, by name and number. Nothing if there are none.
std::optional<HostSteps> steps_from_ranges(const Trace& trace, const Classes& classes,
                                           const DeviceSteps& device);

/// The repetition in the sequence of launches. Nothing if there is none.
std::optional<HostSteps> steps_from_launches(const Trace& trace, const Classes& classes,
                                             const NameClasses& names, const ProgramKind& program,
                                             const DeviceSteps& device);

/// The level of that name, from ranges.
std::optional<HostSteps> ranges_called(const Trace& trace, const Classes& classes,
                                       const DeviceSteps& device, const std::string& unit);

/// Every level at which launches repeat: those found throughout the recording, outermost first, and
/// then those inside of one of these.
std::vector<HostSteps> levels_from_launches(const Trace& trace, const Classes& classes,
                                            const NameClasses& names, const ProgramKind& program,
                                            const DeviceSteps& device);

}  // namespace gh

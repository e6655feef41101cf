// Devices that wait for each other: which entered collectives last, and how long the others waited.
#pragma once
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// How long others waited for a device, in collectives that it entered last.
struct LateDevice {
  std::size_t slot = 0;          ///< its position in Analysis::devices
  Ns ns = 0;                     ///< the median of the others in each
  Ns exposed_ns = 0;             ///< of this, with no compute at the same time
  std::vector<Row> own, waited;  ///< its operations, one a collective, and the others'; in order
};

/// The worst first. Without aligned clocks there are none.
std::vector<LateDevice> find_late_devices(const Analysis& analysis);

}  // namespace gh

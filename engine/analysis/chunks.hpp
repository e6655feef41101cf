// A device's time in parts that several threads can go through at once.
#pragma once
#include <cstddef>
#include <vector>

#include "analysis/crews.hpp"
#include "analysis/idle_causes.hpp"
#include "analysis/steps.hpp"
#include "trace/trace.hpp"

namespace gh {

/// A part of a device's time. What began before it had ended by its start, until which the device
/// was at work, at last on what its main crew launched: no pause reaches across.
struct Chunk {
  std::size_t device = 0;  ///< index into the devices
  Span span;
  std::size_t first_op =
      0;  ///< place among the device's operations of the first that may lie in it
  Row first_fault = 0;
  Row previous = no_row;  ///< of the operations before, the one that ended last
};

/// What has to be known of a device before its time is gone through.
struct ChunkedDevice {
  std::vector<Chunk> chunks;
  OffloadedSizes offloaded;
};

/// Cuts the time of device `d` within `window` after about every `size` operations, where it can be
/// cut.
ChunkedDevice cut_into_chunks(std::size_t size, const Trace& trace, const Crews& crews,
                              const std::vector<DeviceSteps>& devices, std::size_t d, Span window);

}  // namespace gh

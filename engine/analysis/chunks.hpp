// Splits a device's time into parts that several threads can sweep at once.
#pragma once
#include <cstddef>
#include <vector>

#include "analysis/crews.hpp"
#include "analysis/idle_causes.hpp"
#include "analysis/steps.hpp"
#include "trace/trace.hpp"

namespace gh {

/// A part of a device's time. Everything that began earlier had ended by its start, and the device
/// was busy until then, at the end with work of its main crew: no pause crosses the start.
struct Chunk {
  std::size_t device = 0;  ///< index into the devices
  Span span;
  std::size_t first_op = 0;  ///< index into the device's operations: the first that may lie in it
  Row first_fault = 0;
  Row previous = no_row;  ///< of the earlier operations, the one that ended last
};

/// What has to be known about a device before its time is swept.
struct ChunkedDevice {
  std::vector<Chunk> chunks;
  OffloadedSizes offloaded;
};

/// Cuts the time of device `d` within `window` after about every `size` operations, where a cut is
/// possible.
ChunkedDevice cut_into_chunks(std::size_t size, const Trace& trace, const Crews& crews,
                              const std::vector<DeviceSteps>& devices, std::size_t d, Span window);

}  // namespace gh

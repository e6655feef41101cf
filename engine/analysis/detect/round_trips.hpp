// Tensors that leave the device and come back, and weights that are streamed in while the GPU
// works.
#pragma once
#include <cstddef>
#include <cstdint>

#include "analysis/analysis.hpp"
#include "trace/row_set.hpp"

namespace gh {

struct RoundTrips {
  RowSet copies;
  std::int64_t pairs = 0;
};

/// The size from which copies matter, unless a rule sets it.
inline constexpr std::int64_t least_trip_bytes = 1 << 20;
/// A batch is one burst.
inline constexpr std::size_t least_upload_bursts = 4;

/// Of `copies`: those to the host after which the same number of bytes came back, and the copies
/// that brought them back.
RoundTrips find_round_trips(const Analysis& analysis, const RowSet& copies,
                            std::int64_t least_bytes);

/// Copies from the host that come in at least this many bursts within a step.
RowSet find_streamed_uploads(const Analysis& analysis, std::int64_t least_bytes,
                             std::size_t least_bursts);

}  // namespace gh

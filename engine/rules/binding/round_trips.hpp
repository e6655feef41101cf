// Copies back and forth, used by the verbs of copies.cpp and by the stretches of the host.
#pragma once
#include <cstddef>
#include <cstdint>

#include "rules/binding/context.hpp"
#include "trace/row_set.hpp"

namespace gh::binding {

struct RoundTrips {
  RowBits copies;
  std::int64_t pairs = 0;
};

/// Copies to the host after which the same number of bytes came back, and the copies that brought
/// them back.
RoundTrips find_round_trips(const Context& c, std::int64_t least_bytes);

/// Copies from the host that come in at least this many bursts within a step.
RowBits find_streamed_uploads(const Context& c, std::int64_t least_bytes, std::size_t least_bursts);

/// The size from which copies matter, unless a rule sets it.
inline constexpr std::int64_t least_trip_bytes = 1 << 20;
/// A batch is one burst.
inline constexpr std::size_t least_upload_bursts = 4;

}  // namespace gh::binding

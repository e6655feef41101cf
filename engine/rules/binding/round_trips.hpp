// Copies that come and go, as the verbs of copies.cpp and the stretches of the host ask for them.
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

/// Copies to the host of which the same number of bytes came back later, and those that brought
/// them back.
RoundTrips find_round_trips(const Context& c, std::int64_t least_bytes);

/// Copies from the host that come in at least so many bursts within a step.
RowBits find_streamed_uploads(const Context& c, std::int64_t least_bytes, std::size_t least_bursts);

/// Of copies that matter, unless a rule says otherwise.
inline constexpr std::int64_t least_trip_bytes = 1 << 20;
/// A batch is one burst.
inline constexpr std::size_t least_upload_bursts = 4;

}  // namespace gh::binding

// The time that selections cover, as sets of spans: one per device, and one for the host.
#pragma once
#include <cstddef>
#include <map>

#include "base/spans.hpp"
#include "rules/binding/rows.hpp"

namespace gh::binding {

/// By slot; no_slot for the host.
using TimeSets = std::map<std::size_t, Spans>;

/// The time of a selection within the steps. With `near`, only those of a device's rows that touch
/// this time on it.
TimeSets time_of(const Context& c, const Rows& s, const TimeSets* near = nullptr);

/// The set of a device; if it has none, that of the host, which concerns every device.
const Spans& set_for(const TimeSets& sets, std::size_t slot);

/// The length of all of time_of, without storing it if possible.
Ns recorded_time(const Context& c, const Rows& s);

/// The same, with idle time as it is without the profiler; also in the functions below.
double total_time(const Context& c, const Rows& s);

/// The time that both cover on the same device; host time counts for all devices.
double common_time(const Context& c, const Rows& a, const Rows& b);
/// The time that `a` covers and `b` does not.
double exposed_time(const Context& c, const Rows& a, const Rows& b);

}  // namespace gh::binding

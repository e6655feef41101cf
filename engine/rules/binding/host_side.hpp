// What the host did while the GPU was idle or work was launched: in which range, on which line of
// the program.
#pragma once
#include <cstdint>
#include <string>

#include "base/text.hpp"
#include "rules/binding/context.hpp"

namespace gh::binding {

/// What the launching thread did while the GPU was idle: its range and program line, and the OS
/// calls that took longest. "" if nothing shows it.
std::string host_note(const Context& c, const Idle& idle);

/// What the host did for most of an idle time of the device in that slot.
HostWork::Doing doing_during(const Context& c, const Idle& idle, std::size_t slot);

/// Whether the profiler recorded anything about threads in addition to their calls.
bool watched(const Trace& trace);

/// The program line that a thread was at: from its Python frames, its ranges, or the forward
/// operator whose backward it computes; otherwise that of another thread of the process, since
/// backward runs on a separate thread while the one that called it waits.
SourceLine source_around(const Context& c, std::uint16_t thread, Ns at);

/// The line that the host was at for most of an idle time, as in host_note; otherwise where it made
/// the call that it was in, or the one that ended the idle time.
SourceLine source_of_idle(const Context& c, const Idle& idle);

}  // namespace gh::binding

// What the host did while the GPU idled or was given work: in which range, on which line of the
// program.
#pragma once
#include <cstdint>
#include <string>

#include "base/text.hpp"
#include "rules/binding/context.hpp"

namespace gh::binding {

/// What the launching thread did while the GPU idled: the range and the line of the program that it
/// was in, and the OS calls that took longest. "" where nothing tells.
std::string host_note(const Context& c, const Idle& idle);

/// Whether the profiler saw anything of threads beside their calls.
bool watched(const Trace& trace);

/// Sentences, each after a space: in which function the launching thread was sampled most, whether
/// it waited for Python's lock, was held off its CPU or waited, and for whom. `total`: the time in
/// which it was looked at. "" where the profiler saw nothing that is worth a sentence.
std::string host_story(const Context& c, const HostWork::Seen& seen, Ns total);

/// The line of the program at which a thread was: that of its Python frames, of its ranges, of the
/// forward operator whose backward it computes; else of another thread of the process, since
/// backward runs on a thread of its own while the one that called it waits.
SourceLine source_around(const Context& c, std::uint16_t thread, Ns at);

/// The line at which the host was for most of an idle time, as host_note names it; else where it
/// made the call that it was in, or the one that ended it.
SourceLine source_of_idle(const Context& c, const Idle& idle);

}  // namespace gh::binding

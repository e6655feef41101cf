// What a report says of its own recording: who made it, when, where, with which options, and what
// went wrong.
#pragma once
#include <string>
#include <vector>

#include "read/sqlite.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// Format, producer and schema. Returns whether the whole report was exported, and not only some
/// tables of it.
bool read_version(const Database& db, Trace& trace);

/// The time of day and the host. A report that does not tell them is whole all the same.
void read_session(const Database& db, Trace& trace);

/// Options of the recording that tell what was recorded, each as "name=value".
std::vector<std::string> read_capture_options(const Database& db, Trace& trace);

/// The profiler's messages, in order of time.
void read_diagnostics(const Database& db, Trace& trace);

}  // namespace gh::nsys

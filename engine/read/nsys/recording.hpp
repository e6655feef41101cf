// What a report says about its own recording: who made it, when, where, with which options, and
// what went wrong.
#pragma once
#include <string>
#include <vector>

#include "read/sqlite.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// Reads format, producer and schema. Returns whether the whole report was exported, not only some
/// of its tables.
bool read_version(const Database& db, Trace& trace);

/// Reads the time of day and the host. A report without them is still complete.
void read_session(const Database& db, Trace& trace);

/// Recording options that show what was recorded, each as "name=value".
std::vector<std::string> read_capture_options(const Database& db, Trace& trace);

/// The profiler's messages, in order of time.
void read_diagnostics(const Database& db, Trace& trace);

}  // namespace gh::nsys

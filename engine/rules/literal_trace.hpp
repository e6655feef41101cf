// Tiny traces written as Lua tables, for tests of rules and of the engine.
#pragma once
#include <string_view>

#include "rules/lua_table.hpp"
#include "rules/sandbox.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Limits of a sandbox for such traces: each repetition reads its texts again.
SandboxLimits literal_limits();

/// Makes a sealed trace from a table like literal_trace_example(). Times are in microseconds from
/// the trace's own zero.
///
/// Operations, calls, ranges and OS calls may have a `rank`, from 0: a process with its own GPU. A
/// range may have `bytes`, the size of its collective's message; an operation may be `in_graph`. An
/// operation is launched by a call of 5 us that begins 10 us before it, unless `launched` gives the
/// call's times or is false for none. Throws Error that names the problem.
Trace trace_from_lua(const LuaTable& table);

/// A table with everything that a literal trace may contain, for documentation.
std::string_view literal_trace_example();

/// The same from Lua text that returns such a table.
Trace trace_from_text(std::string_view lua_text);

}  // namespace gh

// Tiny traces written down as Lua tables, for tests of rules and of the engine.
#pragma once
#include <string_view>

#include "rules/lua_table.hpp"
#include "rules/sandbox.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Limits of a sandbox that holds such traces: each repetition reads its texts again.
SandboxLimits literal_limits();

/// Makes a sealed trace of a table, as literal_trace_example() shows one. Times are
/// microseconds, from the trace's own zero.
///
/// Operations, calls, ranges and OS calls may have a `rank`, from 0: a process with a GPU of its
/// own. A range may have `bytes`, those of its collective's message; an operation may be
/// `in_graph`. An operation is launched by a call of 5 us that begins 10 us before it, unless
/// `launched` says when, or is false for none. Throws Error that names what is wrong.
Trace trace_from_lua(const LuaTable& table);

/// A table with everything that one may hold, for documentation.
std::string_view literal_trace_example();

/// The same from Lua text that returns such a table.
Trace trace_from_text(std::string_view lua_text);

}  // namespace gh

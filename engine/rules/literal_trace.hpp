// Tiny traces written down as Lua tables, for tests of rules and of the engine.
#pragma once
#include <string_view>

#include "trace/trace.hpp"

struct lua_State;

namespace gh {

/// Makes a sealed trace of the table at `index`, as literal_trace_example() shows one. Times are
/// microseconds, from the trace's own zero.
///
/// Operations, calls, ranges and OS calls may have a `rank`, from 0: a process with a GPU of its
/// own. A range may have `bytes`, those of its collective's message; an operation may be
/// `in_graph`. An operation is launched by a call of 5 us that begins 10 us before it, unless
/// `launched` says when, or is false for none. Throws Error that names what is wrong.
Trace trace_from_lua(lua_State* lua, int index);

/// A table with everything that one may hold, for documentation.
std::string_view literal_trace_example();

/// The same from Lua text that returns such a table.
Trace trace_from_text(std::string_view lua_text);

}  // namespace gh

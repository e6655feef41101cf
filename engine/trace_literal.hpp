// Tiny traces written down as Lua tables, for tests of rules and of the engine.
#pragma once
#include <string_view>

#include "trace.hpp"

struct lua_State;

namespace gh {

/// Makes a sealed trace of the table at `index`. Times are microseconds, from the trace's own zero:
///
///   { device = { name = "NVIDIA H200", sm_count = 132, compute = 9.0, memory_gib = 141 },
///     repeats = { times = 6, every = 1000 },      -- everything below again, later each time; {n} in a range's name counts from 1
///     ops = { { 10, 110, kernel = "sm80_xmma_gemm_...", blocks = 132, stream = 7, launched = { 0, 5 }, thread = "main" },
///             { 120, 200, copy = "h2d", bytes = 1048576, from = "pinned" },   -- or to = "pageable", cause = "fault", address = 4096
///             { 210, 215, set = true }, { 220, 230, graph = true } },
///     calls = { { 20, 25, "cudaStreamSynchronize", thread = "main" } },
///     ranges = { { 0, 900, "step {n}" } }, os_calls = { { 300, 400, "read" } },
///     gpu_faults = { { 5, 9, address = 0, count = 3 } }, memory_use = { { 0, bytes = 1e9 } },
///     samples = { { 5, "SMs Active [Throughput %]", 80 } },
///     diagnostics = { "text" }, not_collected = { "gpu_faults" } }
///
/// Operations, calls, ranges and OS calls may have a `rank`, from 0: a process with a GPU of its own. A range may have `bytes`, those
/// of its collective's message; an operation may be `in_graph`. An operation is launched by a call of 5 us that begins 10 us before it, unless `launched` says when, or is false for none.
/// Throws Error that names what is wrong.
Trace trace_from_lua(lua_State* lua, int index);

/// The same from Lua text that returns such a table.
Trace trace_from_text(std::string_view lua_text);

}  // namespace gh

// The verbs of rules, by the file below verbs/ that contains them. verbs.cpp has each verb's name,
// documentation and cost.
#pragma once
#include "rules/binding/crossing.hpp"

namespace gh::binding {

// recording.cpp: what is known about the report as a whole
int fact(lua_State* lua, const Context& c);
int total_ns(lua_State* lua, const Context& c);
int available(lua_State* lua, const Context& c);
int thread_count(lua_State* lua, const Context& c);
int diagnostics(lua_State* lua, const Context& c);
int problems(lua_State* lua, const Context& c);
int is_kind(lua_State* lua, const Context& c);
int words(lua_State* lua, const Context& c);
int failed_calls(lua_State* lua, const Context& c);
int environment(lua_State* lua, const Context& c);
int found(lua_State* lua, const Context& c);
int asked(lua_State* lua, const Context& c);

// select.cpp: selections from the trace, and from selections
int ops(lua_State* lua, const Context& c);
int calls(lua_State* lua, const Context& c);
int ranges(lua_State* lua, const Context& c);
int os_calls(lua_State* lua, const Context& c);
int gpu_faults(lua_State* lua, const Context& c);
int idle(lua_State* lua, const Context& c);
int steps(lua_State* lua, const Context& c);
int where(lua_State* lua, const Context& c, const Rows& asked);
int first_of_steps(lua_State* lua, const Context& c, const Rows& asked);
int calls_of(lua_State* lua, const Context& c, const Rows& asked);
int containing(lua_State* lua, const Context& c, const Rows& asked, const Rows& other);
int without(lua_State* lua, const Context& c, const Rows& asked, const Rows& other);
int at(lua_State* lua, const Context& c, const Rows& asked);
int plus(lua_State* lua, const Context& c, const Rows& asked, const Rows& other);
int minus(lua_State* lua, const Context& c, const Rows& asked, const Rows& other);

// copies.cpp: copies back and forth
int round_trips(lua_State* lua, const Context& c);
int streamed_uploads(lua_State* lua, const Context& c);
int read_backs(lua_State* lua, const Context& c);
int residency(lua_State* lua, const Context& c);
int relayed(lua_State* lua, const Context& c);

// neighbours.cpp: operations next to each other on a stream
int chains(lua_State* lua, const Context& c);
int runs(lua_State* lua, const Context& c);
int repeated(lua_State* lua, const Context& c);
int beside(lua_State* lua, const Context& c, const Rows& asked, const Rows& other);

// samples.cpp: sampled GPU metrics
int metric(lua_State* lua, const Context& c);
int sampled_fraction(lua_State* lua, const Context& c);

// patterns.cpp: patterns of rows, which rules compose
int match(lua_State* lua, const Context& c);
int alike(lua_State* lua, const Context& c, const Rows& asked, const Rows& other);
int pair(lua_State* lua, const Context& c, const Rows& asked, const Rows& other);
int phases(lua_State* lua, const Context& c, const Rows& asked, const Rows& marks);
int gaps(lua_State* lua, const Context& c, const Rows& asked);
int ahead_of(lua_State* lua, const Context& c, const Rows& asked, const Rows& other);
int last(lua_State* lua, const Context& c, const Rows& asked);
int ops_of(lua_State* lua, const Context& c, const Rows& asked);
int keep(lua_State* lua, const Context& c, const Rows& asked);

// turns.cpp: devices and streams that take turns, or wait for each other
int late_devices(lua_State* lua, const Context& c);
int devices_in_turn(lua_State* lua, const Context& c);
int stream_turns(lua_State* lua, const Context& c);

// times.cpp: how long, and at the same time as what
int union_ns(lua_State* lua, const Context& c, const Rows& asked);
int recorded_ns(lua_State* lua, const Context& c, const Rows& asked);
int own_ns(lua_State* lua, const Context& c, const Rows& asked);
int overlap_ns(lua_State* lua, const Context& c, const Rows& asked, const Rows& other);
int exposed_ns(lua_State* lua, const Context& c, const Rows& asked, const Rows& other);
int exposed(lua_State* lua, const Context& c, const Rows& asked, const Rows& other);
int quarters(lua_State* lua, const Context& c, const Rows& asked);
int throughout(lua_State* lua, const Context& c, const Rows& asked);

// values.cpp: fields of rows, summed up
int count(lua_State* lua, const Context& c, const Rows& asked);
int sum(lua_State* lua, const Context& c, const Rows& asked);
int median(lua_State* lua, const Context& c, const Rows& asked);
int growth(lua_State* lua, const Context& c, const Rows& asked);
int group(lua_State* lua, const Context& c, const Rows& asked);
int top(lua_State* lua, const Context& c, const Rows& asked);

// products.cpp: the matrix products that operations compute, and the shapes of operators' operands
int products(lua_State* lua, const Context& c, const Rows& asked);
int shapes(lua_State* lua, const Context& c, const Rows& asked);

// launches.cpp: how kernels were launched, and how much of the device that fills
int launch_shapes(lua_State* lua, const Context& c, const Rows& asked);
int empty_sm_ns(lua_State* lua, const Context& c, const Rows& asked, const Rows& full);
// operators.cpp: the ranges or operators that launched operations
int operators(lua_State* lua, const Context& c, const Rows& asked);

// host.cpp: what the profiler recorded about the launching thread in addition to its calls
int doing(lua_State* lua, const Context& c, const Rows& asked);
int host(lua_State* lua, const Context& c, const Rows& asked);

// evidence.cpp: rows as shown by a finding
int evidence(lua_State* lua, const Context& c, const Rows& asked);

}  // namespace gh::binding

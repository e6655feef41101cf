// Selections of the trace's rows, and of selections.
#include "rules/binding/filter.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// The rows that pass the filter that is the verb's argument.
int select(lua_State* lua, const Context& c, Kind kind, const RowSet& all) {
  charge(lua, all.size() / 4);
  const Filter filter = to_filter(lua, 2, kind);
  push_rows(lua, filter.of(c, Rows{kind, all}));
  return 1;
}

void check_same_kind(const Rows& a, const Rows& b) {
  if (a.kind != b.kind || a.chains != b.chains) {
    throw Error("these selections are of different kinds");
  }
}

}  // namespace

int ops(lua_State* lua, const Context& c) { return select(lua, c, Kind::ops, c.in_steps.ops); }
int calls(lua_State* lua, const Context& c) {
  return select(lua, c, Kind::calls, c.in_steps.calls);
}
int ranges(lua_State* lua, const Context& c) {
  return select(lua, c, Kind::ranges, c.in_steps.ranges);
}
int os_calls(lua_State* lua, const Context& c) {
  return select(lua, c, Kind::os_calls, c.in_steps.os_calls);
}
int gpu_faults(lua_State* lua, const Context& c) {
  return select(lua, c, Kind::gpu_faults, c.in_steps.gpu_faults);
}
int idle(lua_State* lua, const Context& c) { return select(lua, c, Kind::idle, c.in_steps.idle); }
int steps(lua_State* lua, const Context& c) {
  return select(lua, c, Kind::steps, c.in_steps.steps);
}

int where(lua_State* lua, const Context& c, const Rows& asked) {
  push_rows(lua, to_filter(lua, 2, asked.kind).of(c, asked));
  return 1;
}

int calls_of(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::ops) throw Error("only operations are launched by calls");
  const Trace& t = c.trace();
  RowBits calls(t.calls.size());
  asked.rows.each([&](Row op) {
    if (const Row call = t.ops.call[op]; call != no_row) calls.add(call);
  });
  push_rows(lua, {Kind::calls, std::move(calls).set()});
  return 1;
}

int plus(lua_State* lua, const Context&, const Rows& asked, const Rows& other) {
  check_same_kind(asked, other);
  push_rows(lua, {asked.kind, asked.rows.plus(other.rows), asked.chains});
  return 1;
}

int minus(lua_State* lua, const Context&, const Rows& asked, const Rows& other) {
  check_same_kind(asked, other);
  push_rows(lua, {asked.kind, asked.rows.minus(other.rows), asked.chains});
  return 1;
}

}  // namespace gh::binding

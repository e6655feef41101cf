// Selections of the trace's rows, and selections from selections.
#include <algorithm>
#include <cmath>
#include <vector>

#include "rules/binding/filter.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// The rows that pass the filter in the verb's argument.
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

int first_of_steps(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::ops) throw Error("'first_of_steps' needs a selection of operations");
  const double share = luaL_checknumber(lua, 2);
  if (!(share >= 0 && share <= 1)) throw Error("the share must be between 0 and 1");
  const Trace& t = c.trace();
  // By slot and step: the rows, which come in order of time.
  std::vector<std::vector<std::vector<Row>>> in_steps;
  for (const DeviceSteps& device : c.analysis.devices) in_steps.emplace_back(device.steps.size());
  asked.rows.each([&](Row op) {
    const std::size_t slot = slot_of(c, asked, op);
    if (slot == no_slot) return;
    const std::vector<Step>& steps = c.analysis.devices[slot].steps;
    const auto after = std::partition_point(
        steps.begin(), steps.end(), [&](const Step& s) { return s.span.start <= t.ops.start[op]; });
    const auto before = static_cast<std::size_t>(after - steps.begin());
    if (before > 0) in_steps[slot][before - 1].push_back(op);
  });
  RowBits first(t.ops.size());
  for (const auto& steps : in_steps) {
    for (const std::vector<Row>& rows : steps) {
      const auto most =
          static_cast<std::size_t>(std::llround(share * static_cast<double>(rows.size())));
      for (std::size_t i = 0; i < most; ++i) first.add(rows[i]);
    }
  }
  push_rows(lua, {Kind::ops, std::move(first).set()});
  return 1;
}

int calls_of(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::ops) throw Error("'calls' needs a selection of operations");
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

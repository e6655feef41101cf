// Devices and streams of which one works while the others wait for it.
#include "analysis/detect/turns.hpp"

#include "analysis/detect/late_devices.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

int late_devices(lua_State* lua, const Context& c) {
  if (c.analysis.devices.size() > 1) charge(lua, c.trace().ops.size() / 2);
  NewList list(lua);
  for (LateDevice& late : find_late_devices(c.analysis)) {
    lua_newtable(lua);
    set_number(lua, "device", static_cast<double>(c.ordinal(late.slot)));
    set_number(lua, "late_ns", static_cast<double>(late.ns));
    set_number(lua, "exposed_ns", static_cast<double>(late.exposed_ns));
    set_integer(lua, "count", static_cast<std::int64_t>(late.own.size()));
    set_rows(lua, "own", {Kind::ops, RowSet(std::move(late.own))});
    set_rows(lua, "waited", {Kind::ops, RowSet(std::move(late.waited))});
    list.append();
  }
  return 1;
}

int stream_turns(lua_State* lua, const Context& c) {
  constexpr std::size_t most_pairs = 8;
  NewList list(lua);
  for (StreamTurns& turns : find_stream_turns(c.analysis, most_pairs)) {
    charge(lua, c.trace().ops.size() / 8);
    lua_newtable(lua);
    set_flag(lua, "legacy", turns.legacy);
    set_integer(lua, "events", turns.events);
    set_integer(lua, "count", turns.count);
    set_number(lua, "wait_ns", static_cast<double>(turns.wait_ns));
    set_rows(lua, "first", {Kind::ops, RowSet(std::move(turns.first))});
    set_rows(lua, "second", {Kind::ops, RowSet(std::move(turns.second))});
    list.append();
  }
  return 1;
}

int devices_in_turn(lua_State* lua, const Context& c) {
  NewList list(lua);
  for (DeviceTurns& turns : find_device_turns(c.analysis)) {
    lua_newtable(lua);
    set_integer(lua, "devices", static_cast<std::int64_t>(turns.devices));
    set_number(lua, "busy_ns", static_cast<double>(turns.busy_ns));
    set_number(lua, "together_ns", static_cast<double>(turns.together_ns));
    set_rows(lua, "idle", {Kind::idle, std::move(turns.idle)});
    set_rows(lua, "copies", {Kind::ops, std::move(turns.copies)});
    list.append();
  }
  return 1;
}

constexpr Verb turns_table[] = {
    {"trace:late_devices", verb<late_devices>},
    {"trace:stream_turns", verb<stream_turns, Cost{.ops = 1}>},
    {"trace:devices_in_turn", verb<devices_in_turn, Cost{.ops = 2}>},
};

}  // namespace

const Verbs turns_verbs = turns_table;

}  // namespace gh::binding

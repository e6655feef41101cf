// What the profiler recorded about the launching thread in addition to its calls.
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rules/binding/host_side.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

int thread_work(lua_State* lua, const Context& c, const Rows& asked) {
  const Trace& t = c.trace();
  if (!watched(t)) {
    lua_pushnil(lua);
    return 1;
  }
  std::vector<HostWork::Stretch> stretches;
  Ns total_ns = 0;
  asked.rows.each([&](Row r) {
    const std::uint16_t thread = thread_of(c, asked, r);
    if (thread == no_index) return;
    stretches.push_back({thread, span_of(c, asked, r)});
    total_ns += stretches.back().span.length();
  });
  const HostWork::Seen seen = c.in_steps.host_work().seen(stretches);
  lua_newtable(lua);
  const auto set_count = [&](const char* key, std::size_t count) {
    set_integer(lua, key, static_cast<std::int64_t>(count));
  };
  set_count("samples", seen.samples < HostWork::least_samples ? 0 : seen.samples);
  set_count("in_name", seen.in_function);
  set_count("in_module", seen.in_module);
  set_text(lua, "name", t.names[seen.function]);
  set_text(lua, "module", t.names[seen.module]);
  if (seen.line != 0) set_text(lua, "line", t.names[seen.line]);
  set_integer(lua, "total_ns", total_ns);
  set_integer(lua, "scheduled_ns", seen.scheduled_ns);
  set_integer(lua, "waited_ns", seen.waited_ns);
  set_integer(lua, "held_off_ns", seen.held_off_ns);
  set_integer(lua, "taken_ns", seen.taken_ns);
  set_integer(lua, "lock_ns", seen.lock_ns);
  if (seen.waker != no_index) set_text(lua, "waker", t.thread_label(seen.waker));
  if (seen.holder != no_index) set_text(lua, "holder", t.thread_label(seen.holder));
  return 1;
}

HostMoment moment_of(const Context& c, const Rows& rows, Row r) {
  const Trace& t = c.trace();
  const Ns ns = span_of(c, rows, r).length();
  if (rows.kind == Kind::idle)
    return {TimeOf::work, thread_of(c, rows, r), no_row, span_of(c, rows, r), ns};
  const bool waits = rows.kind == Kind::calls;
  const Row call = waits ? r : t.ops.call[r];
  return {waits ? TimeOf::wait : TimeOf::launch,
          call == no_row ? no_index : t.calls.thread[call],
          call,
          {},
          ns};
}

// Of very many, some tell who owns most: about so many, picked by a hash of their position, since
// equal distances might fit the program's own period.
constexpr std::size_t most_asked = 2000;

bool is_asked(std::size_t position, std::size_t of) {
  const std::size_t each = (of + most_asked - 1) / most_asked;
  return each <= 1 || (position * 0x9E3779B97F4A7C15ULL >> 32) % each == 0;
}

struct Owned {
  std::vector<Row> rows;  // by moment
  std::vector<CodeOwner> owners;
};

Owned owners_of(const Context& c, const Rows& asked) {
  if (asked.kind != Kind::idle && asked.kind != Kind::calls && asked.kind != Kind::ops)
    throw Error("an owner is of calls, idle time or operations");
  Owned owned;
  std::vector<HostMoment> moments;
  std::size_t i = 0;
  asked.rows.each([&](Row r) {
    if (!is_asked(i++, asked.rows.size())) return;
    owned.rows.push_back(r);
    moments.push_back(moment_of(c, asked, r));
  });
  owned.owners = c.analysis.structure().owners().of(moments);
  return owned;
}

std::vector<CodeOwner> owners_of(const Context& c, const Changes& changes) {
  std::vector<HostMoment> moments;
  const auto add = [&](const auto& rows, auto moment) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (is_asked(i, rows.size())) moments.push_back(moment(rows[i]));
  };
  for (const Change& change : changes) {
    add(ops_of(change), [&](Row op) { return moment_of(c, {Kind::ops, {}}, op); });
    add(calls_of(change), [&](Row call) { return moment_of(c, {Kind::calls, {}}, call); });
    if (const auto* pause = std::get_if<change::Pause>(&change))
      add(pause->host, [&](const HostSpan& host) {
        return HostMoment{TimeOf::work, host.thread, no_row, host.span, host.span.length()};
      });
  }
  return c.analysis.structure().owners().named(moments);
}

int owners(lua_State* lua, const Context& c, const Rows& asked) {
  const Owned owned = owners_of(c, asked);
  NewList list(lua);
  for (const CodeOwner& owner : owned.owners) {
    std::vector<Row> rows;
    for (const std::size_t moment : owner.moments) rows.push_back(owned.rows[moment]);
    lua_newtable(lua);
    set_text(lua, "name", owner.name);
    if (owner.known) set_text(lua, "key", owner.known->key);
    set_number(lua, "sum_ns", static_cast<double>(owner.ns));
    set_rows(lua, "rows", {asked.kind, RowSet(std::move(rows))});
    list.append();
  }
  return 1;
}

constexpr Verb host_table[] = {
    {"selection:owners", verb<owners, Cost{.rows = 1, .ranges = 4}>},
    {"selection:thread_work", verb<thread_work, Cost{.rows = 1}>},
};

}  // namespace

const Verbs host_verbs = host_table;

}  // namespace gh::binding

namespace gh {

std::vector<CodeOwner> to_owners(const LuaTable& finding, const Changes& changes) {
  lua_State* lua = finding.lua();
  const binding::Context& c = binding::context(lua);
  const bool is_named = finding.push("owner") != LUA_TNIL;
  std::vector<CodeOwner> owners =
      is_named
          ? binding::owners_of(c, binding::selection_at(lua, -1, "'owner' of a finding")).owners
          : binding::owners_of(c, changes);
  lua_pop(lua, 1);
  return owners;
}

}  // namespace gh

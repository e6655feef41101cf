// The filters of selections: the table is at the end. To add one, add a function here and a row
// there; `selection:where` in verbs.cpp documents them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/text.hpp"
#include "rules/binding/crossing.hpp"
#include "rules/binding/filter.hpp"

namespace gh::binding {
namespace {

// What a rule wrote for one key, and for which rows.
struct Given {
  const LuaTable& table;
  const Context& c;
  Kind kind;
  const char* key;
  int value;  // its index on the stack
  lua_State* lua() const { return table.lua(); }
};

double number(const Given& g) {
  if (lua_type(g.lua(), g.value) != LUA_TNUMBER) {
    throw Error(fmt::format("filter '{}' takes a number", g.key));
  }
  return lua_tonumber(g.lua(), g.value);
}

bool truth(const Given& g) { return lua_toboolean(g.lua(), g.value) != 0; }

const Rows& selection(const Given& g) {
  return selection_at(g.lua(), g.value, fmt::format("filter '{}'", g.key));
}

// One pattern, or a list of them. They are matched once against every name that occurs.
Globs globs(const Given& g) {
  Globs globs{globs_in(g.table, g.key)};
  std::size_t bytes = 0;
  for (const std::string& glob : globs.list) bytes += glob.size() + 1;
  charge(g.lua(), bytes * g.c.trace().names.size() / 64);
  return globs;
}

// --- Texts and numbers

template <Field field>
void matches(const Given& g, Filter& filter) {
  filter.text(g.c, field, globs(g));
}

void either_memory(const Given& g, Filter& filter) {
  const Globs either = globs(g);
  filter.test([from = text_test(Field::from, either), to = text_test(Field::to, either)](
                  const Context& c, const Rows& s, Row r) { return from(c, s, r) || to(c, s, r); });
}

double length_ns(const Context& c, const Rows& s, Row r) {
  return static_cast<double>(span_of(c, s, r).length());
}

template <Field field>
double value(const Context& c, const Rows& s, Row r) {
  return number_field(c, s, r, field).value_or(0);
}

template <double (*value_of)(const Context&, const Rows&, Row)>
void at_least(const Given& g, Filter& filter) {
  filter.test([least = number(g)](const Context& c, const Rows& s, Row r) {
    return value_of(c, s, r) >= least;
  });
}

template <double (*value_of)(const Context&, const Rows&, Row)>
void at_most(const Given& g, Filter& filter) {
  filter.test([most = number(g)](const Context& c, const Rows& s, Row r) {
    return value_of(c, s, r) <= most;
  });
}

void device(const Given& g, Filter& filter) {
  const double ordinal = number(g);
  const std::vector<DeviceSteps>& devices = g.c.analysis.devices;
  bool the_only_one = true;
  for (std::size_t slot = 0; slot < devices.size(); ++slot) {
    the_only_one = the_only_one && g.c.ordinal(slot) == ordinal;
  }
  const bool on_device =
      g.kind != Kind::calls && g.kind != Kind::ranges && g.kind != Kind::os_calls;
  if (on_device && the_only_one) return;  // as in most reports: all rows pass
  filter.test([ordinal](const Context& c, const Rows& s, Row r) {
    return number_field(c, s, r, Field::device).value_or(-1) == ordinal;
  });
}

// The enumerators that a rule names, as bits.
template <class Enum>
std::uint16_t bits_of(const Given& g, const char* what) {
  static_assert(static_cast<std::size_t>(Enum::count) <= 16, "each has a bit");
  const std::vector<std::string> wanted = globs(g).list;
  std::vector<std::string> names;
  std::uint16_t bits = 0;
  for (std::size_t e = 0; e < static_cast<std::size_t>(Enum::count); ++e) {
    names.emplace_back(name_of(static_cast<Enum>(e)));
    if (std::find(wanted.begin(), wanted.end(), names.back()) != wanted.end()) {
      bits |= static_cast<std::uint16_t>(1 << e);
    }
  }
  for (const std::string& w : wanted) {
    if (std::find(names.begin(), names.end(), w) != names.end()) continue;
    throw Error(fmt::format("there is no {} '{}'{}", what, printable(w), did_you_mean(w, names)));
  }
  return bits;
}

void phase(const Given& g, Filter& filter) {
  filter.test([bits = bits_of<Phase>(g, "phase")](const Context& c, const Rows&, Row r) {
    return (c.analysis.names.phases[c.trace().ranges.name[r]] & bits) != 0;
  });
}

void does(const Given& g, Filter& filter) {
  const Field of = g.kind == Kind::idle ? Field::doing : Field::name;
  filter.test([of, bits = bits_of<OsCallDoes>(g, "OS call that does")](const Context& c,
                                                                       const Rows& s, Row r) {
    const TextKey name = text_key(c, s, r, of);
    return name != no_text && (c.analysis.names.os_call[name] & bits) != 0;
  });
}

// --- Booleans

template <bool (*is)(const Context&, Row)>
void whether(const Given& g, Filter& filter) {
  filter.test([want = truth(g)](const Context& c, const Rows&, Row r) { return is(c, r) == want; });
}

bool in_graph(const Context& c, Row op) { return c.trace().ops.in_graph[op] != 0; }

// Kernels that belong to no library or framework (schemas/kernels.toml).
bool own(const Context& c, Row op) {
  const Ops& ops = c.trace().ops;
  return ops.kind[op] == OpKind::kernel && c.analysis.names.own[ops.name[op]] != 0;
}

bool inferred(const Context& c, Row idle) { return c.idle_of(idle).inferred; }
bool drained(const Context& c, Row idle) { return c.idle_of(idle).drained; }

// Page faults on addresses that migrations moved. Rows other than page faults have no address.
void migrating(const Given& g, Filter& filter) {
  const Ops& ops = g.c.trace().ops;
  charge(g.lua(), ops.size());
  std::vector<Span> moved;  // of addresses, not of time
  for (Row op = 0; op < ops.size(); ++op) {
    const std::int64_t at = ops.address_of(op);
    if (at != 0) moved.push_back({at, at + ops.bytes[op]});
  }
  const auto set = std::make_shared<const Spans>(united(std::move(moved)));
  filter.test([set, want = truth(g)](const Context& c, const Rows& s, Row r) {
    const std::int64_t at = s.kind == Kind::gpu_faults ? c.trace().gpu_faults.address[r] : 0;
    return (overlap(*set, Span{at, at + 1}) > 0) == want;
  });
}

// The class of a stretch of the host. The first use has to classify all of them.
void stretch(const Given& g, Filter& filter) {
  charge(g.lua(), g.c.in_steps.idle.size());
  matches<Field::stretch>(g, filter);
}

// --- Selections

// Idle time next to an operation of a selection, before or after it.
template <Row Idle::*neighbour>
void next_to(const Given& g, Filter& filter) {
  const Rows& ops = selection(g);
  if (ops.kind != Kind::ops) {
    throw Error(fmt::format("filter '{}' takes a selection of operations", g.key));
  }
  if (ops.rows.empty()) return filter.none();
  const std::size_t all = g.c.trace().ops.size();
  charge(g.lua(), all / 64);
  const auto wanted = std::make_shared<const RowBits>(ops.rows, all);
  filter.test([wanted](const Context& c, const Rows&, Row r) {
    const Row op = c.idle_of(r).*neighbour;
    return op != no_row && wanted->holds(op);
  });
}

// By device where rows of both kinds have one; otherwise whatever the device.
void inside(const Given& g, Filter& filter) {
  const Rows& outer = selection(g);
  charge(g.lua(), outer.rows.size());
  const std::size_t slots = g.c.analysis.devices.size();
  std::vector<Spans> sets(1 + slots);  // first that of all, then by slot
  bool by_device = false;
  outer.rows.each([&](Row r) {
    const std::size_t slot = slot_of(g.c, outer, r);
    sets[0].push_back(span_of(g.c, outer, r));
    if (slot == no_slot || slots == 1) return;
    sets[1 + slot].push_back(span_of(g.c, outer, r));
    by_device = true;
  });
  for (Spans& set : sets) set = united(std::move(set));
  filter.test([sets = std::make_shared<const std::vector<Spans>>(std::move(sets)), by_device](
                  const Context& c, const Rows& s, Row r) {
    const Span span = span_of(c, s, r);
    const std::size_t slot = by_device ? slot_of(c, s, r) : no_slot;
    const Spans& set = (*sets)[slot == no_slot ? 0 : 1 + slot];
    return !set.empty() && set.front().start < span.end && span.start < set.back().end &&
           overlap(set, span) == span.length();
  });
}

void launched_in(const Given& g, Filter& filter) {
  const Rows& around = selection(g);
  if (around.kind != Kind::ranges && around.kind != Kind::calls) {
    throw Error("filter 'launched_in' takes a selection of ranges or calls");
  }
  charge(g.lua(), around.rows.size());
  // By process, not by thread: backward launches from a separate thread.
  std::map<std::uint16_t, std::vector<Span>> spans;
  around.rows.each([&](Row r) {
    const Thread& thread = g.c.trace().threads[thread_of(g.c, around, r)];
    spans[thread.process].push_back(span_of(g.c, around, r));
  });
  auto sets = std::make_shared<std::map<std::uint16_t, Spans>>();
  for (auto& [process, list] : spans) (*sets)[process] = united(std::move(list));
  filter.test([sets](const Context& c, const Rows&, Row op) {
    const Trace& t = c.trace();
    const Row call = t.ops.call[op];
    const auto set = sets->find(t.process_of(op));
    if (call == no_row || set == sets->end()) return false;
    const Ns at = t.calls.start[call];
    return overlap(set->second, Span{at, at + 1}) > 0;
  });
}

// --- What a filter asks, as a text

// Of a value that a filter has read, and so checked. False if it is not made of texts, numbers and
// truths.
bool append_value(lua_State* lua, int value, std::string& text) {
  switch (lua_type(lua, value)) {
    case LUA_TBOOLEAN: text += lua_toboolean(lua, value) != 0 ? " true" : " false"; return true;
    case LUA_TNUMBER: text += fmt::format(" {}", lua_tonumber(lua, value)); return true;
    case LUA_TSTRING: {
      std::size_t bytes = 0;
      const char* characters = lua_tolstring(lua, value, &bytes);
      text += fmt::format(" {}:", bytes).append(characters, bytes);
      return true;
    }
    case LUA_TTABLE: {
      bool plain = true;
      for (lua_Integer i = 1; plain; ++i) {
        const bool more = lua_rawgeti(lua, value, i) != LUA_TNIL;
        plain = !more || (lua_type(lua, -1) != LUA_TTABLE && append_value(lua, -1, text));
        lua_pop(lua, 1);
        if (!more) break;
      }
      return plain;
    }
    default: return false;
  }
}

// --- The table

using Kinds = unsigned;  // a bit for each Kind
constexpr Kinds only(Kind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr Kinds all_kinds = ~Kinds{0};

struct FilterKey {
  const char* name;
  Kinds kinds;                         // rows of other kinds do not pass, whatever the value
  void (*add)(const Given&, Filter&);  // reads the value and adds a test
};

constexpr FilterKey filter_keys[] = {
    {"name", all_kinds, matches<Field::name>},
    {"class", all_kinds, matches<Field::name_class>},
    {"kind", all_kinds, matches<Field::kind>},
    {"direction", all_kinds, matches<Field::direction>},
    {"from", all_kinds, matches<Field::from>},
    {"to", all_kinds, matches<Field::to>},
    {"cause", all_kinds, matches<Field::cause>},
    {"thread", all_kinds, matches<Field::thread>},
    {"stretch", only(Kind::idle), stretch},
    {"collective", all_kinds, matches<Field::collective>},
    {"group", all_kinds, matches<Field::group>},
    {"memory", all_kinds, either_memory},
    {"device", all_kinds, device},
    {"phase", only(Kind::ranges), phase},
    {"does", only(Kind::os_calls) | only(Kind::idle), does},
    {"min_ns", all_kinds, at_least<length_ns>},
    {"max_ns", all_kinds, at_most<length_ns>},
    {"min_bytes", all_kinds, at_least<value<Field::bytes>>},
    {"max_bytes", all_kinds, at_most<value<Field::bytes>>},
    {"min_blocks", all_kinds, at_least<value<Field::blocks>>},
    {"max_blocks", all_kinds, at_most<value<Field::blocks>>},
    {"in_graph", only(Kind::ops), whether<in_graph>},
    {"own", only(Kind::ops), whether<own>},
    {"inferred", only(Kind::idle), whether<inferred>},
    {"drained", only(Kind::idle), whether<drained>},
    {"migrating", all_kinds, migrating},
    {"after", only(Kind::idle), next_to<&Idle::previous>},
    {"before", only(Kind::idle), next_to<&Idle::next>},
    {"inside", all_kinds, inside},
    {"launched_in", only(Kind::ops), launched_in},
};

const FilterKey& filter_key(const std::string& name) {
  std::vector<std::string> names;
  for (const FilterKey& key : filter_keys) {
    if (name == key.name) return key;
    names.emplace_back(key.name);
  }
  throw Error(fmt::format("there is no filter '{}'{}", printable(name), did_you_mean(name, names)));
}

}  // namespace

Filter to_filter(lua_State* lua, int index, Kind kind) {
  const Context& c = context(lua);
  Filter filter(c, kind);
  if (lua_isnoneornil(lua, index)) return filter;
  const LuaTable table(lua, index, "a filter");
  std::string text = fmt::format("{}", static_cast<int>(kind));
  bool plain = true;
  for (const std::string& name : table.names()) {
    const FilterKey& key = filter_key(name);
    table.push(key.name);
    const int value = lua_gettop(lua);
    key.add({table, c, kind, key.name, value}, filter);
    text += fmt::format("\n{}", name);
    plain = plain && append_value(lua, value, text);
    if ((key.kinds & only(kind)) == 0) filter.none();
    lua_settop(lua, value - 1);
  }
  if (plain) filter.asks(std::move(text));
  return filter;
}

}  // namespace gh::binding

// What the profiler recorded about the launching thread in addition to its calls.
#include <map>

#include "rules/binding/host_side.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

struct Named {
  TextKey key = no_text;
  Ns ns = 0;
};

// The value of a field that takes most of the time of the rows for which passes(row) holds.
template <class Passes>
Named most_named(const Context& c, const Rows& asked, Field field, Passes passes) {
  std::map<TextKey, Ns> by_name;
  asked.rows.each([&](Row r) {
    if (!passes(r)) return;
    if (const TextKey key = text_key(c, asked, r, field); key != no_text)
      by_name[key] += span_of(c, asked, r).length();
  });
  Named most;
  for (const auto& [key, ns] : by_name)
    if (ns > most.ns) most = {key, ns};
  return most;
}

}  // namespace

int doing(lua_State* lua, const Context& c, const Rows& asked) {
  const double least = luaL_checknumber(lua, 2);
  if (asked.kind != Kind::idle) throw Error("'doing' needs a selection of idle time");
  Ns all = 0;
  asked.rows.each([&](Row r) { all += span_of(c, asked, r).length(); });
  const Named most = most_named(c, asked, Field::doing, [](Row) { return true; });
  if (most.key == no_text || static_cast<double>(most.ns) < least * static_cast<double>(all)) {
    lua_pushnil(lua);
    return 1;
  }
  const Named around = most_named(c, asked, Field::within, [&](Row r) {
    return text_key(c, asked, r, Field::doing) == most.key;
  });
  push_text(lua, key_text(c, Kind::idle, Field::doing, most.key));
  // If half of the time is outside of any range, the answer is none.
  push_text(lua,
            2 * around.ns >= most.ns ? key_text(c, Kind::idle, Field::within, around.key) : "");
  push_number(lua, static_cast<double>(most.ns));
  return 3;
}

int host(lua_State* lua, const Context& c, const Rows& asked) {
  if (!watched(c.trace())) {
    push_text(lua, "");
    return 1;
  }
  std::vector<HostWork::Stretch> stretches;
  Ns total = 0;
  asked.rows.each([&](Row r) {
    const std::uint16_t thread = thread_of(c, asked, r);
    if (thread == no_index) return;
    stretches.push_back({thread, span_of(c, asked, r)});
    total += stretches.back().span.length();
  });
  push_text(lua, host_story(c, c.in_steps.host_work().seen(stretches), total));
  return 1;
}

}  // namespace gh::binding

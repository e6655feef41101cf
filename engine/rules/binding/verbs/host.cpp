// What the profiler recorded about the launching thread in addition to its calls.
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

constexpr Verb host_table[] = {
    {"selection:thread_work", verb<thread_work, Cost{.rows = 1}>},
};

}  // namespace

const Verbs host_verbs = host_table;

}  // namespace gh::binding

// What the profiler saw of the launching thread beside its calls.
#include "rules/binding/host_side.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {

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

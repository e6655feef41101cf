// How long, and at the same time as what: the time that selections cover.
#include <algorithm>
#include <array>

#include "rules/binding/time_sets.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {

namespace {

// When kernels and whole graphs start, or anything else if none run.
std::vector<Ns> starts_of_work(const Context& c) {
  const Ops& ops = c.trace().ops;
  std::vector<Ns> starts;
  for (const bool kernels : {true, false}) {
    c.in_steps.ops.each([&](Row op) {
      const bool is_kernel = ops.kind[op] == OpKind::kernel || ops.kind[op] == OpKind::graph;
      if (is_kernel == kernels) starts.push_back(ops.start[op]);
    });
    if (!starts.empty()) break;
  }
  return starts;
}

int union_ns(lua_State* lua, const Context& c, const Rows& asked) {
  push_number(lua, total_time(c, asked));
  return 1;
}

int recorded_ns(lua_State* lua, const Context& c, const Rows& asked) {
  push_number(lua, static_cast<double>(recorded_time(c, asked)));
  return 1;
}

int own_ns(lua_State* lua, const Context& c, const Rows& asked) {
  const std::vector<Spans>& stalls = c.in_steps.stalls();
  const bool never_stalls = std::all_of(stalls.begin(), stalls.end(),
                                        [](const Spans& of_device) { return of_device.empty(); });
  if (never_stalls) return union_ns(lua, c, asked);
  double sum = 0;
  for (const auto& [slot, set] : time_of(c, asked)) {
    const Ns stalled = slot == no_slot ? 0 : overlap(set, stalls[slot]);
    sum += static_cast<double>(total(set) - stalled);
  }
  push_number(lua, sum);
  return 1;
}

int overlap_ns(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  push_number(lua, common_time(c, asked, other));
  return 1;
}

int exposed_ns(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  push_number(lua, exposed_time(c, asked, other));
  return 1;
}

int exposed(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  const double least_fraction = luaL_optnumber(lua, 3, 0.5);
  const TimeSets own = time_of(c, asked);
  const TimeSets others = asked.rows.empty() ? own : time_of(c, other, &own);
  const auto exposed_enough = [&](Row r) {
    const Span span = span_of(c, asked, r);
    const Ns covered = overlap(set_for(others, slot_of(c, asked, r)), span);
    return static_cast<double>(span.length() - covered) >=
           least_fraction * static_cast<double>(span.length());
  };
  push_rows(lua, {asked.kind, asked.rows.where(exposed_enough), asked.chains});
  return 1;
}

// In how many quarters of the work the rows begin.
std::ptrdiff_t quarters_of(const Context& c, const Rows& asked) {
  constexpr double least = 0.1;  // of all their time; less does not count
  const std::vector<Ns> work = starts_of_work(c);
  std::array<Ns, 4> ns{};
  asked.rows.each([&](Row r) {
    const Span span = span_of(c, asked, r);
    const auto done = static_cast<std::size_t>(
        std::lower_bound(work.begin(), work.end(), span.start) - work.begin());
    ns[std::min<std::size_t>(3, 4 * done / std::max<std::size_t>(1, work.size()))] += span.length();
  });
  const auto all = static_cast<double>(ns[0] + ns[1] + ns[2] + ns[3]);
  return std::count_if(ns.begin(), ns.end(), [&](Ns quarter) {
    return quarter > 0 && static_cast<double>(quarter) >= least * all;
  });
}

int quarters(lua_State* lua, const Context& c, const Rows& asked) {
  lua_pushinteger(lua, quarters_of(c, asked));
  return 1;
}

int throughout(lua_State* lua, const Context& c, const Rows& asked) {
  lua_pushboolean(lua, quarters_of(c, asked) >= 3);
  return 1;
}

constexpr Verb times_table[] = {
    {"selection:union_ns", verb<union_ns, Cost{.rows = 1}>},
    {"selection:recorded_ns", verb<recorded_ns, Cost{.rows = 1}>},
    {"selection:own_ns", verb<own_ns, Cost{.rows = 1, .gpu_faults = 1}>},
    {"selection:overlap_ns", verb<overlap_ns, Cost{.rows = 1}>},
    {"selection:exposed_ns", verb<exposed_ns, Cost{.rows = 1}>},
    {"selection:exposed", verb<exposed, Cost{.rows = 1}>},
    {"selection:quarters", verb<quarters, Cost{.rows = 1, .ops = 1}>},
    {"selection:throughout", verb<throughout, Cost{.rows = 1, .ops = 1}>},
};

}  // namespace

const Verbs times_verbs = times_table;

}  // namespace gh::binding

// The ranges or operators in which operations were launched.
#include <algorithm>
#include <utility>

#include "analysis/tables/groups.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// Ranges that last about as long as a step or longer say nothing about what launched an operation.
Groups<NameId> by_operator(const Context& c, const Rows& asked) {
  constexpr double most_of_a_step = 0.8;
  const Trace& t = c.trace();
  const Ns longest =
      static_cast<Ns>(most_of_a_step * static_cast<double>(c.analysis.total_ns()) /
                      static_cast<double>(std::max<std::int64_t>(1, c.analysis.step_count())));
  const Nesting& ranges = c.analysis.structure().ranges();
  Groups<NameId> sums;
  asked.rows.each([&](Row op) {
    const Row call = t.ops.call[op];
    if (call == no_row) return;
    const Row innermost = ranges.first_open(
        t.calls.thread[call], t.calls.start[call],
        [&](Row range) { return t.ranges.end[range] - t.ranges.start[range] <= longest; });
    if (innermost == no_row) return;
    sums.of(t.ranges.name[innermost]).each.add(t.span_of(op).length());
  });
  return sums;
}

}  // namespace

int operators(lua_State* lua, const Context& c, const Rows& asked) {
  constexpr std::size_t most_operators = 20;
  if (asked.kind != Kind::ops) throw Error("'operators' needs a selection of operations");
  const Trace& t = c.trace();
  const Groups<NameId> sums = by_operator(c, asked);
  auto order = sums.longest_first([&](NameId name) { return std::string_view(t.names[name]); });
  order.resize(std::min(order.size(), most_operators));
  NewList list(lua);
  for (const auto* sum : order) {
    lua_newtable(lua);
    set_text(lua, "name", t.names[sum->key]);
    set_number(lua, "count", static_cast<double>(sum->each.count));
    set_number(lua, "sum_ns", static_cast<double>(sum->each.total_ns));
    list.append();
  }
  return 1;
}

}  // namespace gh::binding

// The ranges or operators in which operations were launched.
#include <algorithm>
#include <map>
#include <utility>

#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

struct OperatorSum {
  std::size_t count = 0;
  Ns ns = 0;
};

// Ranges that last about as long as a step or longer say nothing about what launched an operation.
std::map<NameId, OperatorSum> sums_by_operator(const Context& c, const Rows& asked) {
  constexpr double most_of_a_step = 0.8;
  const Trace& t = c.trace();
  const Ns longest =
      static_cast<Ns>(most_of_a_step * static_cast<double>(c.analysis.total_ns()) /
                      static_cast<double>(std::max<std::int64_t>(1, c.analysis.step_count())));
  const Nesting& ranges = c.analysis.structure().ranges();
  std::map<NameId, OperatorSum> sums;
  asked.rows.each([&](Row op) {
    const Row call = t.ops.call[op];
    if (call == no_row) return;
    const Row innermost = ranges.first_open(
        t.calls.thread[call], t.calls.start[call],
        [&](Row range) { return t.ranges.end[range] - t.ranges.start[range] <= longest; });
    if (innermost == no_row) return;
    OperatorSum& sum = sums[t.ranges.name[innermost]];
    ++sum.count;
    sum.ns += t.span_of(op).length();
  });
  return sums;
}

}  // namespace

int operators(lua_State* lua, const Context& c, const Rows& asked) {
  constexpr std::size_t most_operators = 20;
  if (asked.kind != Kind::ops) throw Error("'operators' needs a selection of operations");
  const Trace& t = c.trace();
  std::vector<std::pair<NameId, OperatorSum>> order;
  for (const auto& [name, sum] : sums_by_operator(c, asked)) order.emplace_back(name, sum);
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    if (a.second.ns != b.second.ns) return a.second.ns > b.second.ns;
    return t.names[a.first] < t.names[b.first];
  });
  order.resize(std::min(order.size(), most_operators));
  NewList list(lua);
  for (const auto& [name, sum] : order) {
    lua_newtable(lua);
    set_text(lua, "name", t.names[name]);
    set_number(lua, "count", static_cast<double>(sum.count));
    set_number(lua, "sum_ns", static_cast<double>(sum.ns));
    list.append();
  }
  return 1;
}

}  // namespace gh::binding

// The ranges or operators in which operations were launched.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// Where an operation was launched.
struct LaunchMoment {
  std::uint16_t thread;
  Ns at;
  Row op;
};

std::vector<LaunchMoment> launch_moments(const Trace& t, const Rows& asked) {
  std::vector<LaunchMoment> moments;
  asked.rows.each([&](Row op) {
    const Row call = t.ops.call[op];
    if (call != no_row) moments.push_back({t.calls.thread[call], t.calls.start[call], op});
  });
  std::sort(moments.begin(), moments.end(), [](const LaunchMoment& a, const LaunchMoment& b) {
    return std::tie(a.thread, a.at, a.op) < std::tie(b.thread, b.at, b.op);
  });
  return moments;
}

struct OperatorSum {
  std::size_t count = 0;
  Ns ns = 0;
};

// Walks each thread once, with the open ranges on a stack. Ranges that last about as long as a step
// or longer say nothing about what launched an operation.
std::map<NameId, OperatorSum> sums_by_operator(const Context& c, const Rows& asked) {
  constexpr double most_of_a_step = 0.8;
  const Trace& t = c.trace();
  const Ns longest =
      static_cast<Ns>(most_of_a_step * static_cast<double>(c.analysis.total_ns()) /
                      static_cast<double>(std::max<std::int64_t>(1, c.analysis.step_count())));
  const std::vector<LaunchMoment> moments = launch_moments(t, asked);
  std::vector<std::vector<Row>> ranges(t.threads.size());
  for (Row r = 0; r < t.ranges.size(); ++r) {
    if (t.ranges.end[r] - t.ranges.start[r] > longest) continue;
    ranges[t.ranges.thread[r]].push_back(r);
  }
  std::map<NameId, OperatorSum> sums;
  std::vector<Row> open;
  std::size_t next = 0;  // range of the thread
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const LaunchMoment& m = moments[i];
    if (i == 0 || moments[i - 1].thread != m.thread) {
      open.clear();
      next = 0;
    }
    const std::vector<Row>& of_thread = ranges[m.thread];
    for (; next < of_thread.size() && t.ranges.start[of_thread[next]] <= m.at; ++next) {
      while (!open.empty() && t.ranges.end[open.back()] < t.ranges.start[of_thread[next]]) {
        open.pop_back();
      }
      open.push_back(of_thread[next]);
    }
    while (!open.empty() && t.ranges.end[open.back()] < m.at) open.pop_back();
    if (open.empty()) continue;
    OperatorSum& sum = sums[t.ranges.name[open.back()]];
    ++sum.count;
    sum.ns += t.span_of(m.op).length();
  }
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

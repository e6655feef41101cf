#include "report/concerned.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/tables/groups.hpp"
#include "report/phrases.hpp"
#include "report/timeline.hpp"

namespace gh {
namespace {

constexpr std::size_t most_uses = 20;
// What reaches into evidence began at most so many rows before it.
constexpr std::size_t most_before = 4'096;

struct Rows {
  std::vector<Row> ops, calls, os_calls;
};

// What the changes of the fix name.
Rows changed_by(const Finding& f) {
  Rows rows;
  for (const Change& c : f.changes) {
    rows.ops.insert(rows.ops.end(), ops_of(c).begin(), ops_of(c).end());
    rows.calls.insert(rows.calls.end(), calls_of(c).begin(), calls_of(c).end());
  }
  return rows;
}

// Leaves out what lies at the ends of a run, beyond its steps: `inside` gathers the rows of its
// steps. Returns how many steps those are, over devices.
double gather_steps(const Rows& rows, const Analysis& a, const ReplayedSteps& run, Rows& inside) {
  const Trace& t = a.trace;
  std::vector<Span> on_device(t.devices.size()), on_host(t.processes.size());
  double steps = 0;
  for (std::size_t d = 0; d < run.device_steps.size(); ++d) {
    const std::vector<Step>& all = a.devices[d].steps;
    const auto [first, count] = run.device_steps[d];
    const std::size_t next = first + count;
    const Ns end = all[next - 1].span.end;
    on_device[a.devices[d].device] = {all[first].span.start, end};
    if (a.devices[d].process < on_host.size())
      on_host[a.devices[d].process] = {all[first].host_start,
                                       next < all.size() ? all[next].host_start : end};
    steps += static_cast<double>(count);
  }
  const auto within = [](Span s, Ns start) { return start >= s.start && start < s.end; };
  for (const Row op : rows.ops)
    if (within(on_device[t.device_of(op)], t.ops.start[op])) inside.ops.push_back(op);
  for (const Row c : rows.calls)
    if (within(on_host[t.threads[t.calls.thread[c]].process], t.calls.start[c]))
      inside.calls.push_back(c);
  return steps;
}

// A change that was replayed names rows of the replayed runs alone. Returns how many steps were
// replayed.
double keep_replayed_steps(Rows& rows, const Analysis& a, const Replay& replay) {
  Rows inside;
  double steps = 0;
  for (const ReplayedSteps* run : replay.runs()) steps += gather_steps(rows, a, *run, inside);
  rows.ops = std::move(inside.ops);
  rows.calls = std::move(inside.calls);
  return steps;
}

// Calls take(row) with what began in the span, and with what began shortly before and reached into
// it.
template <class Events, class Take>
void each_touching(const Events& events, Span span, Take take) {
  const auto from = static_cast<std::size_t>(
      std::lower_bound(events.start.begin(), events.start.end(), span.start) -
      events.start.begin());
  for (std::size_t i = from - std::min(from, most_before);
       i < events.size() && events.start[i] < span.end; ++i)
    if (events.end[i] > span.start) take(static_cast<Row>(i));
}

Rows rows_in_evidence(const Analysis& a, const Finding& f) {
  const Trace& t = a.trace;
  Rows rows;
  for (const Evidence& e : f.evidence) {
    const std::uint16_t thread = thread_of(a, e);
    each_touching(t.ops, e.span, [&](Row op) {
      if ((e.device < 0 || t.devices[t.device_of(op)].ordinal == e.device) &&
          (e.stream < 0 || t.streams[t.ops.stream[op]].id == e.stream))
        rows.ops.push_back(op);
    });
    each_touching(t.calls, e.span, [&](Row c) {
      if (thread == no_index ? e.device < 0 : t.calls.thread[c] == thread) rows.calls.push_back(c);
    });
    each_touching(t.os_calls, e.span, [&](Row c) {
      if (thread != no_index && t.os_calls.thread[c] == thread) rows.os_calls.push_back(c);
    });
  }
  return rows;
}

void make_distinct(std::vector<Row>& rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

// Rows of one name and kind together, each divided by `steps`.
std::vector<Use> summed(const Analysis& a, const Rows& rows, double steps) {
  const Trace& t = a.trace;
  Groups<std::pair<std::string, std::string>> groups;  // by name and kind
  const auto add = [&](const std::string& name, const std::string& kind, Ns ns) {
    groups.of({name, kind}).each.add(ns);
  };
  for (const Row op : rows.ops)
    add(op_label(a, op),
        t.ops.kind[op] == OpKind::kernel ? a.kernel_class(op) : name_of(t.ops.kind[op]),
        t.ops.end[op] - t.ops.start[op]);
  for (const Row c : rows.calls)
    add(t.names[t.calls.name[c]], fmt::format("call, {}", name_of(a.names.call[t.calls.name[c]])),
        t.calls.end[c] - t.calls.start[c]);
  for (const Row c : rows.os_calls)
    add(t.names[t.os_calls.name[c]], "OS call", t.os_calls.end[c] - t.os_calls.start[c]);

  std::vector<Use> uses;
  for (const auto* sum : groups.longest_first())
    if (uses.size() < most_uses)
      uses.push_back({sum->key.first, sum->key.second,
                      static_cast<double>(sum->each.count) / std::max(steps, 1.0),
                      static_cast<double>(sum->each.total_ns) / std::max(steps, 1.0)});
  return uses;
}

}  // namespace

Concerned concerned_by(const Analysis& a, const Report& report, const Finding& f) {
  Rows rows = changed_by(f);
  double steps = 1;
  const bool per_step = !rows.ops.empty() || !rows.calls.empty();
  if (!per_step)
    rows = rows_in_evidence(a, f);
  else if (f.predicted && report.replay)
    steps = keep_replayed_steps(rows, a, *report.replay);
  else
    steps = static_cast<double>(a.step_count());
  make_distinct(rows.ops);
  make_distinct(rows.calls);
  make_distinct(rows.os_calls);
  return {per_step, summed(a, rows, steps)};
}

}  // namespace gh

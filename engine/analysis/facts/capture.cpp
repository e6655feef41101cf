#include <algorithm>

#include "analysis/facts/functions.hpp"
#include "analysis/facts/sums.hpp"
#include "analysis/recording_cost.hpp"

namespace gh::fact {

FactValue report_producer(const Analysis& a) { return a.trace.producer; }

FactValue report_schema(const Analysis& a) { return a.trace.schema; }

FactValue capture_ns(const Analysis& a) {
  return static_cast<double>(a.trace.capture_end - a.trace.capture_start);
}

FactValue profiler_overhead(const Analysis& a) {
  const Span window = a.analysed_window();
  return per(static_cast<double>(overlap(united(a.trace.profiler_overhead), window)),
             static_cast<double>(window.length()), "no GPU did any work in this report");
}

FactValue recording(const Analysis& a) {
  const auto length = static_cast<double>(a.trace.capture_end - a.trace.capture_start) *
                      static_cast<double>(std::max<std::size_t>(a.trace.processes.size(), 1));
  return per(static_cast<double>(RecordingCost(a.trace).of_all(a.names)), length,
             "nothing was recorded");
}

FactValue added_to_launches(const Analysis& a) {
  const Ns launch_ns = usual_launch_ns(a.trace, a.names, 0, static_cast<Row>(a.trace.ops.size()));
  return launch_worth().usual * static_cast<double>(launch_ns);
}

FactValue overhead(const Analysis& a) {
  if (a.measured_step_ns() == 0) return step_measured_ns(a);
  return static_cast<double>(a.recorded_step_ns()) / static_cast<double>(a.measured_step_ns()) - 1;
}

FactValue unlaunched(const Analysis& a) {
  const auto launched_by_host = [&a](Row op) { return !is_unified(a.trace.ops.copy[op]); };
  const auto without_call = [&](Row op) {
    return launched_by_host(op) && a.trace.ops.call[op] == no_row;
  };
  return per(sum_ops(a, without_call, one), sum_ops(a, launched_by_host, one),
             "no GPU did any work in this report");
}

FactValue lost_work(const Analysis& a) {
  if (a.trace.lost.described.empty()) return Unknown{"no work was lost"};
  return a.trace.lost.described;
}

FactValue environment_variables(const Analysis& a) {
  return static_cast<double>(a.trace.environment_variables);
}

FactValue problems(const Analysis& a) { return static_cast<double>(a.trace.problems.size()); }

}  // namespace gh::fact

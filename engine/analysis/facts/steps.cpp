#include <algorithm>
#include <numeric>
#include <vector>

#include "analysis/facts/functions.hpp"
#include "analysis/facts/sums.hpp"
#include "base/span_cursor.hpp"

namespace gh::fact {
namespace {

// Applies `choose` to the lengths of all steps.
template <class Choose>
FactValue of_lengths(const Analysis& a, Choose choose) {
  const std::vector<Ns> lengths = a.step_lengths();
  if (lengths.empty()) return Unknown{"no GPU did any work in this report"};
  return static_cast<double>(choose(lengths));
}

}  // namespace

FactValue steps_count(const Analysis& a) { return static_cast<double>(a.step_count()); }

FactValue steps_found(const Analysis& a) { return a.has_steps() ? 1.0 : 0.0; }

FactValue unit_name(const Analysis& a) { return a.unit(); }

FactValue unit_per(const Analysis& a) { return a.words().per; }

FactValue unit_repeats(const Analysis& a) {
  if (!a.has_steps()) return Unknown{"no repetition was found"};
  return a.repeats();
}

FactValue unit_micro_batches(const Analysis& a) {
  for (const DeviceSteps& d : a.devices)
    for (std::size_t i = 1; i < d.levels.size(); ++i)
      if (d.levels[i].name == "micro-batch") return static_cast<double>(d.levels[i].count);
  return Unknown{"no micro-batches repeat within a step"};
}

FactValue steps_source(const Analysis& a, const Device&) { return a.devices.front().described; }

FactValue steps_told_by(const Analysis& a, const Device&) {
  switch (a.devices.front().source) {
    case StepSource::ranges: return "ranges";
    case StepSource::kernels: return "launches";
    case StepSource::selected_range: return "selection";
    case StepSource::none: break;
  }
  return "nothing";
}

FactValue steps_total_ns(const Analysis& a) { return static_cast<double>(a.total_ns()); }

FactValue steps_lost(const Analysis& a) {
  std::int64_t most = 0;
  for (const DeviceSteps& d : a.devices) most = std::max(most, d.lost);
  return static_cast<double>(most);
}

FactValue steps_recorded(const Analysis& a) {
  std::int64_t most = 0;
  for (const DeviceSteps& d : a.devices)
    if (!d.levels.empty()) most = std::max(most, d.levels.front().count);
  return static_cast<double>(most);
}

FactValue steps_left_out(const Analysis& a) {
  std::int64_t n = 0;
  for (const DeviceSteps& d : a.devices) n += d.left_out;
  return static_cast<double>(n);
}

// How many steps' worth of kernels `counts`, given those in the steps of a device and the rest; the
// most of any device.
template <class Counts>
FactValue in_steps(const Analysis& a, Counts counts) {
  double most = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const std::vector<Step>& steps = a.devices[d].steps;
    double inside = 0, counted = 0;
    SpanCursor window(a.account.devices[d].window);
    for (const Row op : a.devices[d].ops) {
      const OpKind kind = a.trace.ops.kind[op];
      if (kind != OpKind::kernel && kind != OpKind::graph) continue;
      const Span span = a.trace.span_of(op);
      const Ns within = window.overlap(span);
      inside += static_cast<double>(within);
      if (counts(span, steps.front().span.start))
        counted += static_cast<double>(span.length() - within);
    }
    if (inside > 0) most = std::max(most, counted * static_cast<double>(steps.size()) / inside);
  }
  return most;
}

FactValue steps_work_before(const Analysis& a) {
  return in_steps(a, [](Span kernel, Ns begun) { return kernel.start < begun; });
}

FactValue steps_work_outside(const Analysis& a) {
  return in_steps(a, [](Span kernel, Ns begun) { return kernel.start >= begun; });
}

FactValue steps_before_ns(const Analysis& a) {
  double ns = 0;
  for (const DeviceSteps& d : a.devices) ns += static_cast<double>(d.before_ns);
  return per(ns, static_cast<double>(a.devices.size()), "no GPU did any work in this report");
}

FactValue step_measured_ns(const Analysis& a) {
  if (a.trace.measured_step.ns == 0)
    return Unknown{"the step was not measured without the profiler (pass --measured-step 16.5ms)"};
  if (a.measured_step_ns() == 0)
    return Unknown{"the measured step is not used: " + a.why_measured_step_is_unused()};
  return static_cast<double>(a.measured_step_ns());
}

FactValue step_median_ns(const Analysis& a) {
  return of_lengths(a, [](const std::vector<Ns>& l) { return median(l); });
}

FactValue step_mean_ns(const Analysis& a) {
  return of_lengths(a, [](const std::vector<Ns>& l) {
    return std::accumulate(l.begin(), l.end(), Ns{0}) / static_cast<Ns>(l.size());
  });
}

FactValue step_shortest_ns(const Analysis& a) {
  return of_lengths(a,
                    [](const std::vector<Ns>& l) { return *std::min_element(l.begin(), l.end()); });
}

FactValue step_longest_ns(const Analysis& a) {
  return of_lengths(a,
                    [](const std::vector<Ns>& l) { return *std::max_element(l.begin(), l.end()); });
}

}  // namespace gh::fact

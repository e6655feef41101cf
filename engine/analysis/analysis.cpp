#include "analysis/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/profile.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

// How much of a measured unit one step of the report is, told by how long the same units took in
// the recording: 1/4 if a unit holds four steps, 2 if a step holds two units, 0 if neither fits.
double part_of_unit(Ns recorded_unit_ns, Ns recorded_step_ns) {
  if (recorded_unit_ns == 0 || recorded_step_ns == 0) return 1;
  // Recording is uneven, since the first units take longer. Of two counts in a row, such as 7 and
  // 8, at most one may fit.
  constexpr double off = 0.25;
  const double steps =
      static_cast<double>(recorded_unit_ns) / static_cast<double>(recorded_step_ns);
  const double count = std::round(std::max(steps, 1 / steps));
  const bool fits = std::abs(std::max(steps, 1 / steps) / count - 1) <= off / count;
  if (!fits) return 0;
  return steps < 1 ? count : 1 / count;
}

// Removes and returns the devices that have no steps and worked less than a hundredth as long as
// one that has: a default context, a display, a framework that touches every GPU.
std::vector<DeviceSteps> take_unused(const Trace& trace, std::vector<DeviceSteps>& devices) {
  Ns most = 0;
  for (const DeviceSteps& d : devices)
    if (d.source != StepSource::none) most = std::max(most, d.worked_ns(trace));
  const auto first =
      std::stable_partition(devices.begin(), devices.end(), [&](const DeviceSteps& d) {
        return d.source != StepSource::none || !d.hardly_worked(trace, most);
      });
  std::vector<DeviceSteps> unused(std::make_move_iterator(first),
                                  std::make_move_iterator(devices.end()));
  devices.erase(first, devices.end());
  return unused;
}

// A process that does almost nothing on a GPU, and ends almost none of its pauses, does not share
// it: many programs touch the first GPU once.
std::size_t processes_on_a_device(const Analysis& a) {
  constexpr double least_share = 0.01;  // of the steps' time
  const Trace& trace = a.trace;
  std::size_t most = 1;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const auto foreign = [&](const Stream& s) {
      return s.device == a.devices[d].device && s.process != a.devices[d].process;
    };
    if (std::none_of(trace.streams.begin(), trace.streams.end(), foreign)) continue;
    std::map<std::uint16_t, double> took_ns;
    const auto add = [&](Row op, Ns ns) {
      // The driver migrates pages for any process that touches the memory.
      if (!is_unified(trace.ops.copy[op])) took_ns[trace.process_of(op)] += static_cast<double>(ns);
    };
    a.each_op_in_steps(d, [&](Row op) { add(op, trace.ops.end[op] - trace.ops.start[op]); });
    double steps_ns = 0;
    for (const Step& step : a.devices[d].steps) steps_ns += static_cast<double>(step.span.length());
    const IdleList& idle = a.account.devices[d].idle;
    for (std::size_t i = 0; i < idle.size(); ++i)
      if (idle[i].next != no_row) add(idle[i].next, idle[i].span.length());
    const auto sharing = std::count_if(took_ns.begin(), took_ns.end(), [&](const auto& process) {
      return process.second >= least_share * steps_ns;
    });
    most = std::max(most, static_cast<std::size_t>(sharing));
  }
  return most;
}

}  // namespace

Analysis::Analysis(Trace read, Classes known, const Selection& selection)
    : trace(std::move(read)), classes(std::move(known)) {
  names = timed("names", [&] { return NameClasses(trace, classes); });
  program = timed("program", [&] { return program_of(trace, classes, names); });
  devices = timed("steps", [&] { return find_steps(trace, classes, names, program, selection); });
  unused_devices = take_unused(trace, devices);
  if (trace.lost.many &&
      std::any_of(devices.begin(), devices.end(), [](const DeviceSteps& d) { return !d.whole; }))
    trace.doubt(trace.lost.described);
  account_for_time();
  take_measured_name();
}

Analysis::Analysis(Trace read, std::vector<DeviceSteps> with_steps, Classes known,
                   ProgramKind known_program)
    : trace(std::move(read)),
      classes(std::move(known)),
      program(std::move(known_program)),
      devices(std::move(with_steps)),
      remade(true) {
  names = NameClasses(trace, classes);
  account_for_time();
}

void Analysis::account_for_time() {
  failed_calls = gh::failed_calls(trace, classes);
  account =
      timed("account", [&] { return make_account(trace, classes, names, devices, failed_calls); });
  processes_on_a_device = gh::processes_on_a_device(*this);
}

// Who measured a unit of the same length knows what it is called.
void Analysis::take_measured_name() {
  const MeasuredStep& measured = trace.measured_step;
  if (!has_steps() || measured.recorded_ns == 0 || measured.unit == "step") return;
  if (part_of_unit(measured.recorded_ns, recorded_step_ns()) != 1) return;
  for (DeviceSteps& d : devices)
    if (!d.levels.empty()) d.found_as = std::exchange(d.levels.front().name, measured.unit);
}

std::string Analysis::why_shared() const {
  if (processes_on_a_device < 2)
    return share_a_device(devices)
               ? "another loop runs on the GPU at the same time, and one may run "
                 "work while the other keeps the GPU waiting"
               : "";
  return fmt::format(
      "{} processes share a GPU, and one may run work while another keeps the GPU waiting",
      processes_on_a_device);
}

std::int64_t Analysis::step_count() const {
  std::int64_t n = 0;
  for (const DeviceSteps& d : devices) n += static_cast<std::int64_t>(d.steps.size());
  return n;
}

bool Analysis::has_steps() const {
  return std::any_of(devices.begin(), devices.end(),
                     [](const DeviceSteps& d) { return d.source != StepSource::none; });
}

std::string Analysis::unit() const {
  if (!has_steps()) return window_unit;
  const DeviceSteps& d = *std::find_if(devices.begin(), devices.end(), [](const DeviceSteps& x) {
    return x.source != StepSource::none;
  });
  if (d.source == StepSource::selected_range) return "stretch";
  return d.levels.empty() ? "step" : d.levels.front().name;
}

Ns Analysis::measured_step_ns() const {
  const MeasuredStep& measured = trace.measured_step;
  const bool fits = has_steps() && (measured.unit == "step" || is_called(unit(), measured.unit));
  if (!fits) return 0;
  const double part = part_of_unit(measured.recorded_ns, recorded_step_ns());
  const Ns ns = std::llround(static_cast<double>(measured.ns) * part);
  // Kernels and copies take as long without a profiler, but for a GPU that was busy otherwise.
  constexpr double slower_gpu = 1.1;
  return static_cast<double>(busy_step_ns()) <= slower_gpu * static_cast<double>(ns) ? ns : 0;
}

std::string Analysis::why_measured_step_is_unused() const {
  if (trace.measured_step.ns == 0 || measured_step_ns() > 0) return "";
  if (!has_steps()) return "no repetition was found";
  if (trace.measured_step.unit != "step" && !is_called(unit(), trace.measured_step.unit))
    return "what repeats here is called " + unit();
  if (part_of_unit(trace.measured_step.recorded_ns, recorded_step_ns()) == 0)
    return fmt::format("the measured unit took {} in the recording, and {} takes {}",
                       duration(trace.measured_step.recorded_ns), words().a,
                       duration(recorded_step_ns()));
  return fmt::format("the GPU alone worked for {} {}", duration(busy_step_ns()), words().per);
}

Ns Analysis::busy_step_ns() const {
  Ns busy = 0;
  for (const DeviceAccount& d : account.devices) busy += d.busy_ns;
  return busy / std::max<std::int64_t>(step_count(), 1);
}

double Analysis::coverage() const {
  Ns busy = 0;
  for (const DeviceAccount& d : account.devices) busy += d.busy_ns;
  if (busy == 0) return 1;
  const Ns hidden = account.total_ns("compute.graph");
  return 1 - static_cast<double>(hidden) / static_cast<double>(busy);
}

std::string Analysis::repeats() const {
  if (!has_steps()) return "";
  const DeviceSteps& d = *std::find_if(devices.begin(), devices.end(), [](const DeviceSteps& x) {
    return x.source != StepSource::none;
  });
  std::string text = plural(static_cast<std::int64_t>(d.steps.size()), unit());
  for (std::size_t i = 1; i < d.levels.size(); ++i)
    text += (i == 1 ? " of " : ", ") + plural(d.levels[i].count, d.levels[i].name);
  if (d.levels.size() > 2) text += " each";
  const bool on_all = std::all_of(devices.begin(), devices.end(), [&](const DeviceSteps& x) {
    return x.source != StepSource::none && x.steps.size() == d.steps.size() && x.repeats_like(d);
  });
  if (devices.size() > 1 && on_all) text += fmt::format(" on {} devices", devices.size());
  return text;
}

std::vector<Ns> Analysis::step_lengths() const {
  std::vector<Ns> lengths;
  for (const DeviceSteps& d : devices)
    for (const Ns ns : d.lengths()) lengths.push_back(ns);
  return lengths;
}

Ns Analysis::recorded_step_ns() const {
  const std::int64_t steps = step_count();
  return steps > 0 ? total_ns() / steps : 0;
}

Span Analysis::analysed_window() const {
  std::optional<Span> all;
  for (const DeviceSteps& d : devices)
    for (const Step& s : d.steps) {
      const Span span{std::min(s.host_start, s.span.start), s.span.end};
      all = all ? Span{std::min(all->start, span.start), std::max(all->end, span.end)} : span;
    }
  return all.value_or(Span{});
}

std::vector<std::size_t> Analysis::slots() const {
  std::vector<std::size_t> slots(trace.devices.size(), devices.size());
  for (std::size_t d = 0; d < devices.size(); ++d) slots[devices[d].device] = d;
  return slots;
}

std::vector<std::uint8_t> Analysis::analysed_threads() const {
  std::vector<std::uint8_t> analysed(trace.threads.size());
  for (std::size_t t = 0; t < analysed.size(); ++t)
    analysed[t] = std::any_of(devices.begin(), devices.end(), [&](const DeviceSteps& d) {
      return d.process == trace.threads[t].process;
    });
  return analysed;
}

std::vector<Row> Analysis::ops_in_steps(std::size_t device) const {
  std::vector<Row> rows;
  each_op_in_steps(device, [&](Row op) { rows.push_back(op); });
  return rows;
}

const std::string& Analysis::kernel_class(Row op) const {
  static const std::string none;
  const KernelClass c = class_of(op);
  return c == KernelClass::none ? none : classes.name_of(c);
}

}  // namespace gh

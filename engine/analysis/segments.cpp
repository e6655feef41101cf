#include "analysis/segments.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/host_steps.hpp"

namespace gh {
namespace {

constexpr std::array kinds_in_order{Segment::Kind::before, Segment::Kind::steps,
                                    Segment::Kind::after};

// From the first call or operation to the last, of the analyzed devices and their processes.
Span recording_of(const Analysis& a) {
  Span all = a.analysed_window();
  for (const DeviceSteps& d : a.devices) {
    all.start = std::min(all.start, a.trace.ops.start[d.ops.front()]);
    for (const Row op : d.ops) all.end = std::max(all.end, a.trace.ops.end[op]);
  }
  const std::vector<std::uint8_t> analysed = a.analysed_threads();
  for (Row c = 0; c < a.trace.calls.size(); ++c)
    if (analysed[a.trace.calls.thread[c]]) {
      all.start = std::min(all.start, a.trace.calls.start[c]);
      all.end = std::max(all.end, a.trace.calls.end[c]);
    }
  return all;
}

// What lies before a device's steps, the steps, and what lies after them.
std::array<Span, kinds_in_order.size()> parts_of(const DeviceSteps& device, Span recording) {
  const Span steps{device.steps.front().span.start, device.steps.back().span.end};
  return {{{recording.start, steps.start}, steps, {steps.end, recording.end}}};
}

bool is_unknown_outside(const Analysis& a) {
  return std::any_of(a.devices.begin(), a.devices.end(),
                     [](const DeviceSteps& d) { return d.selected || d.lost > 0; });
}

// What repeats among the operations that began in a part of the recording, on the device that
// worked most there.
std::optional<UnitLevel> loop_in(const Analysis& a, const std::vector<Span>& parts) {
  constexpr double least = 0.1;  // of the device's work: less is no other loop of the program
  std::optional<UnitLevel> loop;
  Ns most = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    DeviceSteps part;
    part.device = a.devices[d].device;
    part.process = a.devices[d].process;
    for (const Row op : a.devices[d].ops)
      if (a.trace.ops.start[op] >= parts[d].start && a.trace.ops.start[op] < parts[d].end)
        part.ops.push_back(op);
    const Ns worked = part.worked_ns(a.trace);
    if (worked <= most ||
        static_cast<double>(worked) < least * static_cast<double>(a.devices[d].worked_ns(a.trace)))
      continue;
    most = worked;
    loop.reset();
    const bool updates = std::any_of(part.ops.begin(), part.ops.end(), [&](Row op) {
      return a.class_of(op) == KernelClass::optimizer;
    });
    if (const auto host = steps_from_launches(a.trace, a.classes, a.names, a.program, part))
      if (!host->levels.empty()) loop = host->levels.front();
    // Beside a loop that trains, one without updates validates or generates.
    if (loop && !updates && loop->name == "training step") loop->name = "batch";
  }
  // What trains outside of the steps is one of them, or a part of one.
  return loop && loop->name == "training step" ? std::nullopt : loop;
}

// An encoder that runs before the loop is no start-up.
void tell_start_up(std::vector<Segment>& segments) {
  const auto steps = std::find_if(segments.begin(), segments.end(),
                                  [](const Segment& s) { return s.kind == Segment::Kind::steps; });
  if (steps == segments.end()) return;
  for (Segment& s : segments)
    if (s.kind == Segment::Kind::before && 2 * s.busy_fraction() < steps->busy_fraction())
      s.kind = Segment::Kind::start_up;
}

}  // namespace

Ns Segments::device_ns() const {
  Ns ns = 0;
  for (const Segment& s : list) ns += s.device_ns;
  return ns;
}

double Segments::fraction(const Segment& segment) const {
  return static_cast<double>(segment.device_ns) / static_cast<double>(std::max<Ns>(device_ns(), 1));
}

double fraction_outside(const Analysis& a) {
  if (a.devices.empty() || is_unknown_outside(a)) return 0;
  const Span recording = recording_of(a);
  double steps_ns = 0;
  for (const DeviceSteps& d : a.devices)
    steps_ns += static_cast<double>(parts_of(d, recording)[1].length());
  const auto all_ns =
      static_cast<double>(recording.length()) * static_cast<double>(a.devices.size());
  return all_ns > 0 ? 1 - steps_ns / all_ns : 0;
}

Segments segments_of(const Analysis& a) {
  Segments segments;
  if (a.devices.empty() || is_unknown_outside(a)) return segments;
  segments.recording = recording_of(a);

  // One account of all parts: a part that takes no time on a device is no step there.
  std::vector<DeviceSteps> cut = a.devices;
  for (std::size_t d = 0; d < cut.size(); ++d) {
    cut[d].steps.clear();
    const auto parts = parts_of(a.devices[d], segments.recording);
    for (std::size_t k = 0; k < parts.size(); ++k)
      if (parts[k].length() > 0)
        cut[d].steps.push_back({parts[k], static_cast<std::int64_t>(k), parts[k].start});
  }
  const auto devices = static_cast<Ns>(cut.size());
  const Account account = make_account(a.trace, a.classes, a.names, cut, a.failed_calls);
  segments.causes = account.causes;

  for (std::size_t k = 0; k < kinds_in_order.size(); ++k) {
    Segment s;
    s.kind = kinds_in_order[k];
    s.cause_ns.resize(account.causes.size());
    std::vector<Span> parts(cut.size());
    for (std::size_t d = 0; d < cut.size(); ++d)
      for (std::size_t n = 0; n < cut[d].steps.size(); ++n) {
        const Step& step = cut[d].steps[n];
        if (step.number != static_cast<std::int64_t>(k)) continue;
        parts[d] = step.span;
        s.span = s.device_ns == 0 ? step.span
                                  : Span{std::min(s.span.start, step.span.start),
                                         std::max(s.span.end, step.span.end)};
        s.device_ns += step.span.length();
        for (std::size_t c = 0; c < s.cause_ns.size(); ++c) {
          s.cause_ns[c] += account.devices[d].step_ns[n][c];
          if (!account.kinds[c].is_idle()) s.busy_ns += account.devices[d].step_ns[n][c];
        }
      }
    if (s.device_ns == 0) continue;
    if (s.kind == Segment::Kind::steps)
      for (const DeviceSteps& d : a.devices)
        s.steps = std::max(s.steps, static_cast<std::int64_t>(d.steps.size()));
    else if (!a.has_steps() || 2 * s.device_ns > 3 * devices * a.recorded_step_ns())
      s.loop = loop_in(a, parts);  // in less, what repeats are the parts of a step
    segments.list.push_back(std::move(s));
  }
  tell_start_up(segments.list);
  return segments;
}

}  // namespace gh

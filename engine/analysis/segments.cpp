#include "analysis/segments.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "analysis/launch_times.hpp"
#include "analysis/other_loops.hpp"
#include "base/quantities.hpp"
#include "base/unit_words.hpp"

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

std::string unit_of(const Analysis& a, const DeviceSteps& device) {
  return device.source == StepSource::none ? window_unit
         : device.levels.empty()           ? a.unit()
                                           : device.levels.front().name;
}

// The unit of each device, the report's first. Devices with as many steps repeat the same, whatever
// each is called: what one rank alone does, such as the update, gives steps their name.
std::vector<UnitShare> units_of_devices(const Analysis& a) {
  std::vector<UnitShare> units;
  for (const bool of_report : {true, false})
    for (std::size_t d = 0; d < a.devices.size(); ++d) {
      const DeviceSteps& device = a.devices[d];
      const std::string name = unit_of(a, device);
      if ((name == a.unit()) != of_report) continue;
      const auto count = static_cast<std::int64_t>(device.steps.size());
      auto unit = std::find_if(units.begin(), units.end(), [&](const UnitShare& u) {
        return u.unit.name == name ||
               (device.source != StepSource::none && u.unit.name != window_unit &&
                std::abs(u.unit.count - count) <= 1);
      });
      if (unit == units.end()) unit = units.insert(units.end(), {{name, 0}, 0});
      unit->unit.count = std::max(unit->unit.count, count);
      unit->busy_ns += a.account.devices[d].busy_ns;
    }
  return units;
}

// Whether an operation was launched in another loop, after what that begins with.
bool is_inside(const Trace& trace, Row op, const OtherLoop& loop) {
  const Ns at = launched_at(trace, op);
  return at > loop.host.begins.front().at && at <= loop.host.end;
}

std::vector<LongIdle> long_idle_in(const Analysis& a, const Account& account, Segment::Kind kind,
                                   const std::vector<Span>& parts,
                                   const std::vector<OtherLoop>& loops) {
  std::vector<LongIdle> found;
  const Ns step_ns = a.recorded_step_ns();
  for (std::size_t d = 0; d < parts.size(); ++d) {
    const DeviceSteps& device = a.devices[d];
    const bool warms_up = kind == Segment::Kind::before && device.left_out > 0;
    if (device.source == StepSource::none || device.steps.size() < 2 || warms_up) continue;
    const std::size_t first = found.size();
    for (const Idle& idle : account.devices[d].idle) {
      if (idle.span.length() <= step_ns || idle.span.start < parts[d].start ||
          idle.span.end > parts[d].end || idle.previous == no_row || idle.next == no_row ||
          std::any_of(loops.begin(), loops.end(),
                      [&](const OtherLoop& loop) { return is_inside(a.trace, idle.next, loop); }))
        continue;
      if (found.size() == first || found.back().idle.next != idle.next)
        found.push_back({idle, d});
      else if (idle.span.length() > found.back().idle.span.length())
        found.back().idle = idle;
    }
  }
  return found;
}

// Loops that share a device with its steps share its work: as much of the time that the device was
// busy as their operations took of all.
void add_loops_beside(const Analysis& a, const std::vector<OtherLoop>& loops,
                      std::vector<UnitShare>& units) {
  for (const OtherLoop& loop : loops) {
    if (loop.place != LoopPlace::beside) continue;
    const auto ns =
        std::llround(loop.share * static_cast<double>(a.account.devices[loop.device].busy_ns));
    const std::string beside = unit_of(a, a.devices[loop.device]);
    for (UnitShare& unit : units)
      if (unit.unit.name == beside) unit.busy_ns = std::max<Ns>(0, unit.busy_ns - ns);
    units.push_back({{loop.name, loop.count}, ns});
  }
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

LoopPlace Segment::place() const {
  switch (kind) {
    case Kind::steps: return LoopPlace::beside;
    case Kind::after: return LoopPlace::after;
    default: return LoopPlace::before;
  }
}

Ns Segments::device_ns() const {
  Ns ns = 0;
  for (const Segment& s : list) ns += s.device_ns;
  return ns;
}

double Segments::fraction(const Segment& segment) const {
  return static_cast<double>(segment.device_ns) / static_cast<double>(std::max<Ns>(device_ns(), 1));
}

std::string label_of(const Analysis& a, const Segment& s) {
  switch (s.kind) {
    case Segment::Kind::start_up: return "start-up";
    case Segment::Kind::before: return a.has_steps() ? "before the " + a.words().many : "before";
    case Segment::Kind::after:
      return a.has_steps() ? "after the last " + a.words().noun : "after the window";
    default: return a.has_steps() ? plural(s.steps, a.unit()) : "the window";
  }
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
  const Account account = make_account(a.trace, a.classes, a.names, cut, a.failed_calls);
  segments.causes = account.causes;
  const std::vector<OtherLoop> loops =
      other_loops(a.trace, a.classes, a.names, a.program, a.devices);

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
          const Ns ns = account.devices[d].step_ns.of(n, c);
          s.cause_ns[c] += ns;
          if (!account.kinds[c].is_idle()) s.busy_ns += ns;
        }
      }
    if (s.device_ns == 0) continue;
    if (s.kind == Segment::Kind::steps) {
      s.units = units_of_devices(a);
      s.steps = s.units.front().unit.count;
      add_loops_beside(a, loops, s.units);
      if (s.units.size() == 1) s.units.clear();
    } else {
      s.long_idle = long_idle_in(a, account, s.kind, parts, loops);
    }
    for (const OtherLoop& loop : loops)
      if (loop.place == s.place() && !s.loop) s.loop = UnitLevel{loop.name, loop.count};
    segments.list.push_back(std::move(s));
  }
  tell_start_up(segments.list);
  return segments;
}

const Segments& Analysis::segments() const {
  return segments_.get([&] { return std::make_shared<const Segments>(segments_of(*this)); });
}

}  // namespace gh

#include "analysis/other_loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "analysis/launch_times.hpp"
#include "analysis/repetition.hpp"
#include "base/quantities.hpp"

namespace gh {
namespace {

class LoopSearch {
 public:
  LoopSearch(const Trace& trace, const Classes& classes, const NameClasses& names,
             const ProgramKind& program, const std::vector<DeviceSteps>& devices)
      : trace_(trace), classes_(classes), names_(names), program_(program), devices_(devices) {}

  // What another crew of a device repeats during its steps.
  std::optional<OtherLoop> loop_beside(std::size_t device, std::uint16_t crew) const {
    const DeviceSteps& own = devices_[device];
    DeviceSteps theirs = own.part_of(trace_, crew);
    auto host = find_repetition(trace_, classes_, names_, program_, theirs);
    if (!host) return std::nullopt;
    name_by_content(trace_, names_, theirs.ops, theirs.levels);
    host->levels = theirs.levels;
    const Span steps = steps_of(own);
    const auto count = std::count_if(theirs.steps.begin(), theirs.steps.end(), [&](const Step& s) {
      return s.span.end > steps.start && s.span.start < steps.end;
    });
    if (count == 0) return std::nullopt;
    double all_ns = 0, their_ns = 0;
    for (const Row op : own.ops) {
      const Span span = trace_.span_of(op);
      const auto ns = static_cast<double>(
          std::max<Ns>(0, std::min(span.end, steps.end) - std::max(span.start, steps.start)));
      all_ns += ns;
      if (own.other_crew_of(trace_, op) == crew) their_ns += ns;
    }
    return OtherLoop{.name = theirs.levels.front().name,
                     .place = LoopPlace::beside,
                     .device = device,
                     .host = std::move(*host),
                     .count = count,
                     .crew = crew,
                     .share = their_ns / std::max(all_ns, 1.0)};
  }

  // What repeats before the steps, or after them, on the device that works most there.
  std::optional<OtherLoop> loop(bool after) const {
    DeviceSteps most;
    Ns most_ns = 0;
    std::size_t at = 0;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      DeviceSteps part = part_of(devices_[d], after);
      const Ns worked = part.worked_ns(trace_);
      if (worked <= most_ns || !exceeds_a_step(part, devices_[d]) ||
          static_cast<double>(worked) <
              least_work_of_loop * static_cast<double>(devices_[d].worked_ns(trace_)))
        continue;
      most_ns = worked;
      most = std::move(part);
      at = d;
    }
    if (most_ns == 0) return std::nullopt;
    auto host = steps_from_launches(trace_, classes_, names_, program_, most);
    if (!host || host->levels.empty()) return std::nullopt;
    name_by_content(trace_, names_, most.ops, host->levels);
    const UnitLevel& unit = host->levels.front();
    // What trains outside of the steps is one of them, or a part of one.
    if (unit.name == "training step" ||
        (is_level(unit.name) && does_the_same(most, *host, devices_[at])))
      return std::nullopt;
    const std::int64_t count = unit.count;
    return OtherLoop{.name = unit.name,
                     .place = after ? LoopPlace::after : LoopPlace::before,
                     .device = at,
                     .host = std::move(*host),
                     .count = count};
  }

  // Whether something within the judged steps, or they themselves, are called that.
  bool is_level(const std::string& name) const {
    return std::any_of(devices_.begin(), devices_.end(), [&](const DeviceSteps& d) {
      return d.found_as == name ||  // which --unit knows, rather than what it was measured as
             std::any_of(d.levels.begin(), d.levels.end(),
                         [&](const UnitLevel& level) { return level.name == name; });
    });
  }

 private:
  static Span steps_of(const DeviceSteps& device) {
    return {device.steps.front().span.start, device.steps.back().span.end};
  }

  // A device with the operations that began before its steps, or after them, less those of the
  // loops beside these.
  DeviceSteps part_of(const DeviceSteps& device, bool after) const {
    const Span steps = steps_of(device);
    DeviceSteps part;
    part.device = device.device;
    part.process = device.process;
    for (const Row op : device.ops_of(trace_, no_index))
      if (after ? trace_.ops.start[op] >= steps.end : trace_.ops.start[op] < steps.start)
        part.ops.push_back(op);
    return part;
  }

  // In less than a step and a half, what repeats are the parts of a step.
  bool exceeds_a_step(const DeviceSteps& part, const DeviceSteps& device) const {
    if (part.ops.empty()) return false;
    const Ns length = trace_.ops.end[part.ops.back()] - trace_.ops.start[part.ops.front()];
    return 2 * length * static_cast<Ns>(device.steps.size()) > 3 * steps_of(device).length();
  }

  // Whether nearly all of the loop's work is in kernels of the judged steps.
  bool does_the_same(const DeviceSteps& part, const HostSteps& loop,
                     const DeviceSteps& device) const {
    constexpr double nearly_all = 0.99;  // as of what recurs in a unit (periods.hpp)
    const Span steps = steps_of(device);
    std::unordered_set<NameId> in_steps;
    for (const Row op : device.ops)
      if (trace_.ops.start[op] >= steps.start && trace_.ops.start[op] < steps.end)
        in_steps.insert(trace_.ops.name[op]);
    double all_ns = 0, same_ns = 0;
    for (const Row op : part.ops) {
      const Ns at = launched_at(trace_, op);
      if (at < loop.begins.front().at || at >= loop.end) continue;
      const auto ns = static_cast<double>(trace_.span_of(op).length());
      all_ns += ns;
      if (in_steps.contains(trace_.ops.name[op])) same_ns += ns;
    }
    return same_ns >= nearly_all * all_ns;
  }

  const Trace& trace_;
  const Classes& classes_;
  const NameClasses& names_;
  const ProgramKind& program_;
  const std::vector<DeviceSteps>& devices_;
};

}  // namespace

std::vector<OtherLoop> other_loops(const Trace& trace, const Classes& classes,
                                   const NameClasses& names, const ProgramKind& program,
                                   const std::vector<DeviceSteps>& devices) {
  const LoopSearch search(trace, classes, names, program, devices);
  std::vector<OtherLoop> loops;
  const auto is_taken = [&](const std::string& name) {
    return search.is_level(name) || std::any_of(loops.begin(), loops.end(),
                                                [&](const OtherLoop& l) { return l.name == name; });
  };
  // "batch", "other batch", "2nd other batch": names for --unit.
  const auto add = [&](std::optional<OtherLoop> loop, const std::string& where) {
    if (!loop) return;
    const std::string name = loop->name;
    if (is_taken(name)) loop->name = where + ' ' + name;
    for (int n = 2; is_taken(loop->name); ++n)
      loop->name = fmt::format("{} {} {}", ordinal(n), where, name);
    loops.push_back(std::move(*loop));
  };
  add(search.loop(false), "earlier");
  std::vector<OtherLoop> beside;
  for (std::size_t d = 0; d < devices.size(); ++d)
    for (const std::uint16_t crew : devices[d].other_crews())
      if (auto loop = search.loop_beside(d, crew)) beside.push_back(std::move(*loop));
  std::stable_sort(beside.begin(), beside.end(),
                   [](const OtherLoop& x, const OtherLoop& y) { return x.share > y.share; });
  for (OtherLoop& loop : beside) add(std::move(loop), "other");
  add(search.loop(true), "later");
  return loops;
}

}  // namespace gh

#include "analysis/other_loops.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "analysis/launch_times.hpp"

namespace gh {
namespace {

class LoopSearch {
 public:
  LoopSearch(const Trace& trace, const Classes& classes, const NameClasses& names,
             const ProgramKind& program, const std::vector<DeviceSteps>& devices)
      : trace_(trace), classes_(classes), names_(names), program_(program), devices_(devices) {}

  // What repeats before the steps, or after them, on the device that works most there.
  std::optional<OtherLoop> loop(bool after) const {
    constexpr double least = 0.1;  // of the device's work: less is no other loop of the program
    DeviceSteps most;
    Ns most_ns = 0;
    std::size_t at = 0;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      DeviceSteps part = part_of(devices_[d], after);
      const Ns worked = part.worked_ns(trace_);
      if (worked <= most_ns || !exceeds_a_step(part, devices_[d]) ||
          static_cast<double>(worked) < least * static_cast<double>(devices_[d].worked_ns(trace_)))
        continue;
      most_ns = worked;
      most = std::move(part);
      at = d;
    }
    if (most_ns == 0) return std::nullopt;
    auto host = steps_from_launches(trace_, classes_, names_, program_, most);
    if (!host || host->levels.empty()) return std::nullopt;
    UnitLevel& unit = host->levels.front();
    // Beside a loop that trains, one without updates validates or generates.
    if (unit.name == "training step" && !updates(most)) unit.name = "batch";
    // What trains outside of the steps is one of them, or a part of one.
    if (unit.name == "training step" ||
        (is_level(unit.name) && does_the_same(most, *host, devices_[at])))
      return std::nullopt;
    return OtherLoop{unit.name, after, at, std::move(*host)};
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

  // A device with the operations that began before its steps, or after them.
  DeviceSteps part_of(const DeviceSteps& device, bool after) const {
    const Span steps = steps_of(device);
    DeviceSteps part;
    part.device = device.device;
    part.process = device.process;
    for (const Row op : device.ops)
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

  bool updates(const DeviceSteps& part) const {
    return std::any_of(part.ops.begin(), part.ops.end(), [&](Row op) {
      return trace_.ops.kind[op] == OpKind::kernel &&
             names_.kernel[trace_.ops.name[op]] == KernelClass::optimizer;
    });
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
  for (const bool after : {false, true}) {
    std::optional<OtherLoop> loop = search.loop(after);
    if (!loop) continue;
    if (search.is_level(loop->name) || (!loops.empty() && loops.front().name == loop->name))
      loop->name = (after ? "later " : "earlier ") + loop->name;
    loops.push_back(std::move(*loop));
  }
  return loops;
}

}  // namespace gh

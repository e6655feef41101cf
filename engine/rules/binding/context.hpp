// What all verbs of one rule work on: the analysis, and to which device a row belongs.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "rules/binding.hpp"

namespace gh::binding {

/// A device's slot is its position in Analysis::devices. Host activity has none, and neither has
/// activity on devices that are not analyzed.
constexpr std::size_t no_slot = std::string::npos;

/// Memory of the selections that a rule holds. Lua's collector does not see it, so it is counted
/// here, and the collector runs before the rule holds much.
struct HeldSelections {
  static constexpr std::size_t most_bytes = 400'000'000, first_collection_bytes = 8'000'000;
  std::size_t bytes = 0, collect_at_bytes = first_collection_bytes;
  /// The most rows that all changes of its findings may name.
  static constexpr std::size_t most_changed_rows = 20'000'000;
  std::size_t changed_rows = 0;
};

struct Context {
  lua_State* lua;  ///< of the rule
  const Analysis& analysis;
  const Facts& facts;
  const RowsInSteps& in_steps;
  const StepTime& step;
  const Replay* replay;      ///< null if the steps cannot be replayed
  const OtherRules* others;  ///< null if this rule does not run after them
  Span window;
  std::vector<std::size_t> slot_of_device;  ///< by device of the trace
  std::vector<std::size_t> slot_of_stream;  ///< by stream of the trace
  /// By slot: the number of rows of idle time, and of steps, up to and including that device.
  std::vector<std::size_t> idle_until, steps_until;
  HeldSelections held;

  Context(lua_State* of_rule, const ApiHost& host)
      : lua(of_rule),
        analysis(host.analysis),
        facts(host.facts),
        in_steps(host.in_steps),
        step(host.step),
        replay(host.replay && host.replay->reason().empty() ? host.replay : nullptr),
        others(host.others),
        window(analysis.analysed_window()),
        slot_of_device(trace().devices.size(), no_slot) {
    std::size_t idle_rows = 0, step_rows = 0;
    for (std::size_t slot = 0; slot < analysis.devices.size(); ++slot) {
      slot_of_device[analysis.devices[slot].device] = slot;
      idle_until.push_back(idle_rows += analysis.account.devices[slot].idle.size());
      steps_until.push_back(step_rows += analysis.devices[slot].steps.size());
    }
    for (const Stream& s : trace().streams) slot_of_stream.push_back(slot_of_device[s.device]);
  }

  const Trace& trace() const { return analysis.trace; }

  /// The device that a row of idle time or steps belongs to, and its index there.
  struct Place {
    std::size_t slot, index;
  };
  /// In `until`, one of the two lists above.
  static Place place(const std::vector<std::size_t>& until, Row r) {
    const auto after = std::upper_bound(until.begin(), until.end(), std::size_t{r});
    const auto slot = static_cast<std::size_t>(after - until.begin());
    return {slot, r - (slot > 0 ? until[slot - 1] : 0)};
  }
  const Idle& idle_of(Row r) const {
    const Place at = place(idle_until, r);
    return analysis.account.devices[at.slot].idle[at.index];
  }
  const Step& step_of(Row r) const {
    const Place at = place(steps_until, r);
    return analysis.devices[at.slot].steps[at.index];
  }
  /// The step of a device that this moment belongs to; null outside of them.
  const Step* step_at(std::size_t slot, Ns at) const {
    if (slot == no_slot) return nullptr;
    const DeviceSteps& device = analysis.devices[slot];
    const std::size_t step = device.step_at(at);
    return step < device.steps.size() && device.steps[step].span.start <= at ? &device.steps[step]
                                                                             : nullptr;
  }
  /// Ordinal of an analyzed device, as shown to users.
  int ordinal(std::size_t slot) const {
    return trace().devices[analysis.devices[slot].device].ordinal;
  }
};

}  // namespace gh::binding

#include "analysis/metrics.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "trace/metric_names.hpp"

namespace gh {

bool sampled_in_steps(const Analysis& a, std::size_t device, Row sample) {
  const Samples& s = a.trace.samples;
  const Span of{s.start[sample] - s.period[sample], s.start[sample] + 1};
  return overlap(a.account.devices[device].window, of) == of.length();
}

std::optional<double> sampled_activity(const Analysis& a, std::string_view name) {
  const SampledActivity* activity = activity_of(name);
  const Samples& s = a.trace.samples;
  if (!activity) return std::nullopt;
  std::map<NameId, int> parts;
  std::map<std::uint16_t, std::size_t> slots;
  for (std::size_t d = 0; d < a.devices.size(); ++d) slots[a.devices[d].device] = d;
  double sum = 0, n = 0, moment = 0;
  // Rows are in order of time and device, so that those of a moment follow each other.
  Row last = no_row;
  const auto settle = [&] {
    if (last != no_row) {
      sum += std::min(moment, 100.0);
      ++n;
    }
    moment = 0;
  };
  for (Row r = 0; r < s.size(); ++r) {
    const auto [part, first] = parts.emplace(s.metric[r], -1);
    if (first) part->second = part_of(*activity, a.trace.names[s.metric[r]]);
    const auto slot = slots.find(s.device[r]);
    if (part->second < 0 || slot == slots.end() || !sampled_in_steps(a, slot->second, r)) continue;
    if (last == no_row || s.start[last] != s.start[r] || s.device[last] != s.device[r]) settle();
    moment += s.value[r];
    last = r;
  }
  settle();
  return n > 0 ? std::optional(sum / n / 100) : std::nullopt;
}

std::optional<double> unaligned_activity(const Analysis& a, std::string_view name) {
  const SampledActivity* activity = activity_of(name);
  double sum = 0, n = 0;
  for (const UnalignedMean& m : a.trace.monitor.unaligned)
    if (activity && part_of(*activity, m.metric) >= 0 &&
        std::any_of(a.devices.begin(), a.devices.end(),
                    [&](const DeviceSteps& d) { return d.device == m.device; })) {
      sum += m.mean * static_cast<double>(m.count);
      n += static_cast<double>(m.count);
    }
  return n > 0 ? std::optional(sum / n / 100) : std::nullopt;
}

}  // namespace gh

#include "analysis/metrics.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "trace/metric_names.hpp"

namespace gh {
namespace {

// Which samples measure an activity; looks at each name once.
class ActivitySamples {
 public:
  ActivitySamples(const Trace& trace, const SampledActivity& activity)
      : trace_(trace), activity_(activity) {}
  bool holds(Row sample) {
    const NameId metric = trace_.samples.metric[sample];
    const auto [it, is_new] = is_part_.emplace(metric, false);
    if (is_new) it->second = part_of(activity_, trace_.names[metric]) >= 0;
    return it->second;
  }

 private:
  const Trace& trace_;
  const SampledActivity& activity_;
  std::map<NameId, bool> is_part_;
};

// Calls take(row) with the samples of an activity within the steps.
template <class Take>
void each_in_steps(const Analysis& a, const SampledActivity& activity, Take take) {
  const Samples& s = a.trace.samples;
  ActivitySamples of_activity(a.trace, activity);
  const std::vector<std::size_t> slots = a.slots();
  for (Row r = 0; r < s.size(); ++r)
    if (const std::size_t slot = slots[s.device[r]];
        of_activity.holds(r) && slot < a.devices.size() && sampled_in_steps(a, slot, r))
      take(r);
}

}  // namespace

bool sampled_in_steps(const Analysis& a, std::size_t device, Row sample) {
  const Samples& s = a.trace.samples;
  const Span of{s.start[sample] - s.period[sample], s.start[sample] + 1};
  return overlap(a.account.devices[device].window, of) == of.length();
}

std::optional<double> sampled_activity(const Analysis& a, std::string_view name) {
  const SampledActivity* activity = activity_of(name);
  const Samples& s = a.trace.samples;
  if (!activity) return std::nullopt;
  double sum = 0, n = 0, moment = 0;
  // Rows are in order of time and device, so samples of one moment are adjacent.
  Row last = no_row;
  const auto settle = [&] {
    if (last != no_row) {
      sum += std::min(moment, 100.0);
      ++n;
    }
    moment = 0;
  };
  each_in_steps(a, *activity, [&](Row r) {
    if (last == no_row || s.start[last] != s.start[r] || s.device[last] != s.device[r]) settle();
    moment += s.value[r];
    last = r;
  });
  settle();
  return n > 0 ? std::optional(sum / n / 100) : std::nullopt;
}

std::optional<double> sampled_value(const Analysis& a, std::string_view name) {
  const SampledActivity* activity = activity_of(name);
  if (!activity) return std::nullopt;
  double sum = 0, n = 0;
  each_in_steps(a, *activity, [&](Row r) {
    sum += a.trace.samples.value[r];
    ++n;
  });
  if (n > 0) return sum / n;
  const auto unaligned = unaligned_activity(a, name);
  return unaligned ? std::optional(100 * *unaligned) : std::nullopt;
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

SampledCurve::SampledCurve(const Analysis& a, std::string_view name)
    : pieces_(a.trace.devices.size()) {
  const SampledActivity* activity = activity_of(name);
  const Samples& s = a.trace.samples;
  if (!activity) return;
  ActivitySamples of_activity(a.trace, *activity);
  for (Row r = 0; r < s.size(); ++r) {
    if (s.period[r] > 0 || !of_activity.holds(r)) continue;
    std::vector<Piece>& pieces = pieces_[s.device[r]];
    if (pieces.empty() || pieces.back().end != s.start[r]) pieces.push_back({s.start[r], 0, 0});
    pieces.back().value = std::min(pieces.back().value + s.value[r] / 100, 1.0);
  }
  for (std::vector<Piece>& pieces : pieces_)
    for (std::size_t i = 1; i < pieces.size(); ++i)
      pieces[i].active_ns =
          pieces[i - 1].active_ns +
          pieces[i].value * static_cast<double>(pieces[i].end - pieces[i - 1].end);
}

SampledTime SampledCurve::over(std::uint16_t device, Span span) const {
  const std::vector<Piece>& pieces = pieces_[device];
  if (pieces.size() < 2) return {};
  span = {std::max(span.start, pieces.front().end), std::min(span.end, pieces.back().end)};
  if (span.length() <= 0) return {};
  const auto active_until = [&](Ns time) {
    const auto p = std::lower_bound(pieces.begin(), pieces.end(), time,
                                    [](const Piece& piece, Ns t) { return piece.end < t; });
    return p->active_ns - p->value * static_cast<double>(p->end - time);
  };
  return {static_cast<double>(span.length()), active_until(span.end) - active_until(span.start)};
}

}  // namespace gh

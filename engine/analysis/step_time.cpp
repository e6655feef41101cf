#include "analysis/step_time.hpp"

#include <algorithm>

namespace gh {
StepTime::StepTime(const Analysis& a) : ns(a.recorded_step_ns()), recorded_ns(ns) { idle.fill(1); }

StepTime::StepTime(const Analysis& a, Ns step_ns, From told_from, const OfIdleCauses& idle_left)
    : StepTime(a) {
  if (recorded_ns == 0) return;
  ns = step_ns;
  from = told_from;
  double busy_ns = static_cast<double>(a.total_ns()), idle_ns = 0;
  for (std::size_t c = 0; c < idle_causes; ++c) {
    const auto recorded = static_cast<double>(a.account.total_ns(static_cast<IdleCause>(c)));
    busy_ns -= recorded;
    idle_ns += idle_left[c] * recorded;
  }
  const double left_ns = total_ns(a) - busy_ns;
  if (left_ns > 0 && idle_ns > 0) {
    for (std::size_t c = 0; c < idle_causes; ++c) idle[c] = idle_left[c] * left_ns / idle_ns;
  } else {
    busy = total_ns(a) / static_cast<double>(a.total_ns());
    idle.fill(busy);
  }
}

double StepTime::of(const Cause& cause) const {
  return cause.is_idle() ? idle[static_cast<std::size_t>(cause.idle)] : busy;
}

double StepTime::total_ns(const Analysis& a) const {
  return as_recorded() ? static_cast<double>(a.total_ns())
                       : static_cast<double>(ns) * static_cast<double>(a.step_count());
}

double StepTime::total_ns(const Analysis& a, const std::string& cause) const {
  return of(cause) * static_cast<double>(a.account.total_ns(cause));
}

double StepTime::share(double of_recorded) const {
  return ns > 0 ? of_recorded * busy * static_cast<double>(recorded_ns) / static_cast<double>(ns)
                : of_recorded;
}

}  // namespace gh

#include "analysis/step_time.hpp"

#include <algorithm>

namespace gh {
namespace {

// The time of causes from one place to another, with these weights.
double weighted_ns(const Analysis& a, const OfCauses& weights, std::size_t from, std::size_t to) {
  double ns = 0;
  for (std::size_t c = from; c < to; ++c)
    ns += weights[c] * static_cast<double>(a.account.total_ns(c));
  return ns;
}

}  // namespace

StepTime::StepTime(const Analysis& a)
    : ns(a.recorded_step_ns()),
      recorded_ns(ns),
      least_ns(ns),
      most_ns(ns),
      weights(a.account.causes.size(), 1) {}

StepTime::StepTime(const Analysis& a, Ns step_ns, From told_from, const OfCauses& left)
    : StepTime(a) {
  if (recorded_ns == 0) return;
  ns = least_ns = most_ns = step_ns;
  from = told_from;
  const std::size_t idle = left.size() - idle_causes;
  const double idle_ns = weighted_ns(a, left, idle, left.size()),
               idle_left_ns = total_ns(a) - weighted_ns(a, left, 0, idle);
  if (idle_left_ns > 0 && idle_ns > 0) {
    weights = left;
    for (std::size_t c = idle; c < left.size(); ++c) weights[c] *= idle_left_ns / idle_ns;
  } else {
    std::fill(weights.begin(), weights.end(), total_ns(a) / static_cast<double>(a.total_ns()));
  }
  double was = 0, is = 0;
  for (std::size_t c = 0; c < idle; ++c) {
    if (!a.account.kinds[c].computes()) continue;
    was += static_cast<double>(a.account.total_ns(c));
    is += total_ns(a, c);
  }
  work = was > 0 ? is / was : 1;
}

double StepTime::of(const Analysis& a, const Cause& cause) const {
  const auto& kinds = a.account.kinds;
  const auto at =
      static_cast<std::size_t>(std::find(kinds.begin(), kinds.end(), cause) - kinds.begin());
  return at < weights.size() ? weights[at] : 1;
}

double StepTime::total_ns(const Analysis& a) const {
  return as_recorded() ? static_cast<double>(a.total_ns())
                       : static_cast<double>(ns) * static_cast<double>(a.step_count());
}

double StepTime::total_ns(const Analysis& a, std::size_t cause) const {
  return weights[cause] * static_cast<double>(a.account.total_ns(cause));
}

double StepTime::busy_share(const Analysis& a) const {
  double busy_ns = 0;
  for (std::size_t c = 0; c < a.account.causes.size(); ++c)
    if (!a.account.kinds[c].is_idle()) busy_ns += total_ns(a, c);
  return busy_ns / std::max(total_ns(a), 1.0);
}

double StepTime::share(double of_recorded) const {
  return ns > 0 ? of_recorded * work * static_cast<double>(recorded_ns) / static_cast<double>(ns)
                : of_recorded;
}

}  // namespace gh

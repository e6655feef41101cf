#include "report/cause_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace gh {
namespace {

CauseTimes times_of(const Account& account, const StepTime& step,
                    std::span<const DeviceAccount> devices) {
  CauseTimes causes;
  for (const std::string& cause : account.causes) causes.push_back({cause});
  for (const DeviceAccount& device : devices)
    for (std::size_t c = 0; c < causes.size(); ++c)
      causes[c].recorded_ns += device.step_ns.total_ns(c);
  for (std::size_t c = 0; c < causes.size(); ++c)
    causes[c].ns = step.weights[c] * static_cast<double>(causes[c].recorded_ns);
  return causes;
}

}  // namespace

CauseTimes cause_times(const Analysis& a, const StepTime& step, const DeviceAccount& device) {
  return times_of(a.account, step, {&device, 1});
}

CauseTimes cause_times(const Analysis& a, const StepTime& step) {
  return times_of(a.account, step, a.account.devices);
}

double sum_of(const CauseTimes& causes) {
  double ns = 0;
  for (const CauseTime& c : causes) ns += c.ns;
  return ns;
}

double time_of(const CauseTimes& causes, const std::string& cause) {
  const auto at = std::find_if(causes.begin(), causes.end(),
                               [&](const CauseTime& c) { return c.cause == cause; });
  return at == causes.end() ? 0 : at->ns;
}

std::string account_title(const UnitWords& unit) {
  return unit.is_window() ? "Where the time goes" : fmt::format("Where {} goes", unit.a);
}

std::vector<AccountLine> account_lines(const Analysis& a, const StepTime& step) {
  if (a.total_ns() == 0) return {};
  const CauseTimes causes = cause_times(a, step);
  const double all_ns = sum_of(causes), steps = static_cast<double>(a.step_count());
  std::vector<AccountLine> lines;
  double small_ns = 0;
  std::size_t small_count = 0;
  for (const CauseTime& c : causes) {
    if (c.ns >= least_account_share * all_ns) {
      lines.push_back({c.cause, cause_label(c.cause), c.ns / steps, c.ns / all_ns});
    } else if (c.ns > 0) {
      small_ns += c.ns;
      ++small_count;
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const AccountLine& x, const AccountLine& y) { return x.ns > y.ns; });
  if (small_count > 0)
    lines.push_back(
        {"", fmt::format("{} more, below {} each", small_count, percent(least_account_share)),
         small_ns / steps, small_ns / all_ns});
  return lines;
}

}  // namespace gh

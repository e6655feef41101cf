// How the whole window was spent, in equal parts of it.
#include <algorithm>

#include "report/phrases.hpp"
#include "report/timeline.hpp"

namespace gh {
namespace {

using ActivityTimes = std::array<double, account_activities>;

// From the first step of any device to the last one's end.
Span window_of(const Analysis& a) {
  Span window;
  for (const DeviceAccount& d : a.account.devices) {
    if (d.window.empty()) continue;
    const Span of_device{d.window.front().start, d.window.back().end};
    window = window.length() == 0 ? of_device
                                  : Span{std::min(window.start, of_device.start),
                                         std::max(window.end, of_device.end)};
  }
  return window;
}

// Where a span is cut into equal parts.
struct Cuts {
  Span span;
  std::size_t parts;
  Ns at(std::size_t i) const {
    return span.start + static_cast<Ns>(static_cast<double>(span.length()) *
                                        static_cast<double>(i) / static_cast<double>(parts));
  }
  double share(std::size_t part, Ns ns) const {
    return static_cast<double>(ns) / static_cast<double>(std::max<Ns>(1, at(part + 1) - at(part)));
  }
};

// The account of equal parts rather than of steps: it tells all but why the GPU idled, which
// depends on the steps.
Account account_of_parts(const Analysis& a, std::size_t devices, const Cuts& cuts) {
  std::vector<DeviceSteps> even(a.devices.begin(),
                                a.devices.begin() + static_cast<std::ptrdiff_t>(devices));
  for (DeviceSteps& d : even) {
    d.steps.clear();
    for (std::size_t i = 0; i < cuts.parts; ++i)
      d.steps.push_back({{cuts.at(i), cuts.at(i + 1)}, static_cast<std::int64_t>(i), cuts.at(i)});
  }
  return make_account(a.trace, a.classes, a.names, even, a.failed_calls);
}

void add_work(std::vector<ActivityTimes>& parts, const Account& account, std::size_t device,
              const Cuts& cuts) {
  for (std::size_t i = 0; i < cuts.parts; ++i)
    for (std::size_t c = 0; c < account.causes.size(); ++c)
      if (!account.kinds[c].is_idle())
        parts[i][static_cast<std::size_t>(activity_of(account.kinds[c]))] +=
            cuts.share(i, account.devices[device].step_ns.of(i, c));
}

void add_idle(std::vector<ActivityTimes>& parts, const IdleList& idle_list, const Cuts& cuts) {
  std::size_t first = 0;
  for (const Idle& idle : idle_list) {
    const auto activity = static_cast<std::size_t>(activity_of(idle.cause));
    while (first < cuts.parts && cuts.at(first + 1) <= idle.span.start) ++first;
    for (std::size_t i = first; i < cuts.parts && cuts.at(i) < idle.span.end; ++i)
      parts[i][activity] += cuts.share(
          i, std::min(idle.span.end, cuts.at(i + 1)) - std::max(idle.span.start, cuts.at(i)));
  }
}

// Evenly chosen, the first and the last among them.
std::vector<Step> thinned(const std::vector<Step>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<Step> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return some;
}

}  // namespace

Overview overview_of(const Analysis& a, std::size_t most_parts, std::size_t most_steps) {
  Overview o;
  o.span = window_of(a);
  if (o.span.length() <= 0) return o;
  const std::size_t shown = std::min(a.devices.size(), most_devices_drawn);
  o.devices_left_out = a.devices.size() - shown;
  const Cuts cuts{o.span,
                  std::clamp<std::size_t>(most_parts / std::max<std::size_t>(shown, 1), 60, 480)};
  const Account account = account_of_parts(a, shown, cuts);
  for (std::size_t d = 0; d < shown; ++d) {
    Overview::Device& out = o.devices.emplace_back();
    out.label = device_label(a.trace, a.devices[d].device);
    out.parts.resize(cuts.parts);
    add_work(out.parts, account, d, cuts);
    add_idle(out.parts, a.account.devices[d].idle, cuts);
    if (a.has_steps())
      out.steps = thinned(a.devices[d].steps, std::max<std::size_t>(2, most_steps / shown));
  }
  return o;
}

}  // namespace gh

#include "analysis/job_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/repetition.hpp"
#include "base/deadline.hpp"
#include "base/spans.hpp"

namespace gh {
namespace {

// How many of a device's operations have each name, of all.
std::vector<double> name_fractions(const Trace& trace, const DeviceSteps& device) {
  std::vector<double> fractions(trace.names.size());
  for (const Row op : device.ops)
    fractions[trace.ops.name[op]] += 1 / static_cast<double>(device.ops.size());
  return fractions;
}

// --- Which steps of two devices run together

using Bound = Ns Span::*;  // of a step: where it begins or ends

// The step whose bound is the nearest to a moment.
std::size_t nearest(const std::vector<Step>& steps, Bound bound, Ns at) {
  const auto next = std::partition_point(steps.begin(), steps.end(),
                                         [&](const Step& s) { return s.span.*bound < at; });
  const auto k = static_cast<std::size_t>(next - steps.begin());
  if (k == steps.size() || (k > 0 && at - steps[k - 1].span.*bound < next->span.*bound - at))
    return k - 1;
  return k;
}

// Steps of a device beside those of another, each begun and ended about as much later.
class Beside {
 public:
  Beside(const std::vector<Step>& lead, const std::vector<Step>& steps)
      : lead_(lead), steps_(steps) {
    // Where ranks run the same steps, their bounds lie within 16 % of a step of each other, less
    // what one is later than the other as a rule; where one did not take part in a step, 64 % and
    // more apart.
    constexpr double most_apart = 0.25;  // of a step
    std::vector<Ns> lengths, later;
    for (const Step& s : lead) lengths.push_back(s.span.length());
    most_apart_ = std::llround(most_apart * static_cast<double>(median(std::move(lengths))));
    for (const Step& s : steps)
      later.push_back(s.span.end - lead[nearest(lead, &Span::end, s.span.end)].span.end);
    later_ = median(std::move(later));
  }

  // The step that begins or ends with the k-th of the lead.
  std::optional<std::size_t> with(std::size_t k, Bound bound) const {
    const Ns at = lead_[k].span.*bound + later_;
    const std::size_t found = nearest(steps_, bound, at);
    if (std::abs(steps_[found].span.*bound - at) > most_apart_) return std::nullopt;
    return found;
  }

  // Whether most steps of both run at the same time. Stages of a pipeline may run one after the
  // other.
  bool run_together() const {
    std::size_t n = 0;
    for (std::size_t k = 0; k < lead_.size(); ++k) n += with(k, &Span::end).has_value();
    return std::abs(later_) <= most_apart_ && 2 * n > std::max(lead_.size(), steps_.size());
  }

 private:
  const std::vector<Step>& lead_;
  const std::vector<Step>& steps_;
  Ns most_apart_ = 0, later_ = 0;
};

// Devices of one job that run their steps together.
class Together {
 public:
  explicit Together(std::vector<DeviceSteps>& devices) {
    for (DeviceSteps& d : devices) {
      if (d.source == StepSource::none) continue;
      Beside beside(devices_.empty() ? d.steps : devices_.front()->steps, d.steps);
      if (!devices_.empty() && !beside.run_together()) continue;
      devices_.push_back(&d);
      beside_.push_back(beside);
    }
  }

  const std::vector<DeviceSteps*>& devices() const { return devices_; }

  // How many steps of each device lie outside of those that all have, at one end: the first ones
  // for `&Span::start`, the last ones for `&Span::end`. None if more than a quarter of a device's
  // do.
  std::vector<std::size_t> outside(Bound bound) const {
    std::vector<std::size_t> outside(devices_.size());
    const std::size_t all = devices_.empty() ? 0 : devices_.front()->steps.size();
    for (std::size_t n = 0; 4 * n <= all && n < all; ++n)
      if (outside_of(bound == &Span::start ? n : all - 1 - n, bound, outside)) return outside;
    return std::vector<std::size_t>(devices_.size());
  }

 private:
  // Those outside of the k-th step of the first device. False if another has no such step.
  bool outside_of(std::size_t k, Bound bound, std::vector<std::size_t>& outside) const {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const std::size_t all = devices_[d]->steps.size();
      const std::optional<std::size_t> with = beside_[d].with(k, bound);
      if (!with) return false;
      outside[d] = bound == &Span::start ? *with : all - 1 - *with;
      if (4 * outside[d] > all) return false;
    }
    return true;
  }

  std::vector<DeviceSteps*> devices_;
  std::vector<Beside> beside_;  // each beside the first
};

Ns mean_step(const DeviceSteps& device) {
  Ns ns = 0;
  for (const Step& s : device.steps) ns += s.span.length();
  return ns / static_cast<Ns>(device.steps.size());
}

bool have_same_unit(const DeviceSteps& a, const DeviceSteps& b) {
  const Ns x = mean_step(a), y = mean_step(b);
  return a.levels.front().name == b.levels.front().name && 2 * x < 3 * y && 2 * y < 3 * x;
}

}  // namespace

void agree_on_unit(const Trace& trace, const Classes& classes, const NameClasses& names,
                   const ProgramKind& program, std::vector<std::optional<HostSteps>>& found,
                   std::vector<DeviceSteps>& devices) {
  constexpr std::size_t most_units = 8;
  if (!trace.clocks_aligned) return;
  std::vector<std::size_t> job, units;  // devices; the first that shows each unit
  for (std::size_t d = 0; d < devices.size(); ++d)
    if (found[d]) job.push_back(d);
  const auto find_units = [&] {
    units.clear();
    for (const std::size_t d : job)
      if (std::none_of(units.begin(), units.end(),
                       [&](std::size_t u) { return have_same_unit(devices[u], devices[d]); }))
        units.push_back(d);
  };
  find_units();
  if (units.size() < 2) return;
  std::erase_if(job, [&, first = job.front()](std::size_t d) {
    return d != first && !do_the_same(trace, devices[first], devices[d]);
  });
  find_units();
  if (units.size() < 2 || units.size() > most_units) return;
  std::stable_sort(units.begin(), units.end(), [&](std::size_t a, std::size_t b) {
    return mean_step(devices[a]) < mean_step(devices[b]);
  });
  const auto chosen = std::find_if(units.begin(), units.end(), [&](std::size_t u) {
    return std::all_of(job.begin(), job.end(), [&](std::size_t d) {
      check_time();
      return leave_little_out(trace, classes, names, *found[u], devices[d]);
    });
  });
  if (chosen == units.end()) return;
  for (const std::size_t d : job) {
    if (have_same_unit(devices[*chosen], devices[d])) continue;
    DeviceSteps own = devices[d];
    cut_like(trace, classes, names, program, *found[*chosen], devices[d]);
    if (devices[d].steps.empty())
      devices[d] = std::move(own);
    else
      found[d].reset();  // it shows these steps no more by itself
  }
}

void take_steps_of_others(const Trace& trace, const Classes& classes, const NameClasses& names,
                          const ProgramKind& program,
                          const std::vector<std::optional<HostSteps>>& found,
                          std::vector<DeviceSteps>& devices) {
  constexpr std::size_t most_tried = 8;  // others that do not fit: more of the job will not either
  std::vector<Ns> worked;
  for (const DeviceSteps& device : devices) worked.push_back(device.worked_ns(trace));
  for (DeviceSteps& device : devices) {
    std::size_t tried = 0;
    for (const bool same_process : {true, false})
      for (std::size_t d = 0; d < devices.size() && device.steps.empty(); ++d) {
        if (!found[d] || (devices[d].process == device.process) != same_process) continue;
        if (!same_process && !trace.clocks_aligned) continue;
        if (device.hardly_worked(trace, worked[d]) || ++tried > most_tried) continue;
        check_time();
        cut_like(trace, classes, names, program, *found[d], device);
      }
  }
}

void take_one_tree(const Trace& trace, const std::vector<std::optional<HostSteps>>& found,
                   std::vector<DeviceSteps>& devices) {
  // What most devices show; of as many, what one shows by itself, and what tells more.
  std::map<std::size_t, std::vector<std::size_t>> same;  // by the first of them
  for (std::size_t d = 0; d < devices.size(); ++d) {
    if (devices[d].steps.empty() || devices[d].levels.empty()) continue;
    const auto like = std::find_if(same.begin(), same.end(), [&](const auto& tree) {
      return devices[tree.first].repeats_like(devices[d]);
    });
    same[like == same.end() ? d : like->first].push_back(d);
  }
  if (same.size() < 2) return;
  const auto worth = [&](const auto& tree) {
    const auto by_itself = std::count_if(tree.second.begin(), tree.second.end(),
                                         [&](std::size_t d) { return found[d].has_value(); });
    return std::tuple(tree.second.size(), by_itself, devices[tree.first].levels.size());
  };
  const auto best = std::max_element(
      same.begin(), same.end(), [&](const auto& a, const auto& b) { return worth(a) < worth(b); });
  const DeviceSteps& model = devices[best->first];
  for (DeviceSteps& d : devices)
    if (&d != &model && !d.steps.empty() && !d.levels.empty() &&
        d.levels.front().name == model.levels.front().name && do_the_same(trace, model, d)) {
      d.levels.resize(1);
      d.levels.insert(d.levels.end(), model.levels.begin() + 1, model.levels.end());
    }
}

void judge_together(const Trace& trace, std::vector<DeviceSteps>& devices) {
  if (!trace.clocks_aligned) return;
  const Together together(devices);
  const std::vector<std::size_t> before = together.outside(&Span::start),
                                 after = together.outside(&Span::end);
  for (std::size_t d = 0; d < before.size(); ++d) {
    std::vector<Step>& steps = together.devices()[d]->steps;
    if (before[d] + after[d] >= steps.size()) continue;
    steps.erase(steps.end() - static_cast<std::ptrdiff_t>(after[d]), steps.end());
    steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(before[d]));
    together.devices()[d]->left_out += static_cast<std::int64_t>(before[d]);
  }
}

double common_fraction(const Trace& trace, const DeviceSteps& a, const DeviceSteps& b) {
  const std::vector<double> of_a = name_fractions(trace, a), of_b = name_fractions(trace, b);
  double common = 0;
  for (std::size_t name = 0; name < of_a.size(); ++name) common += std::min(of_a[name], of_b[name]);
  return common;
}

bool do_the_same(const Trace& trace, const DeviceSteps& a, const DeviceSteps& b) {
  constexpr double least = 0.7;  // as where repetitions are compared: one rank may validate alone
  return common_fraction(trace, a, b) >= least;
}

}  // namespace gh

#include "analysis/repetition.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <iterator>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/host_steps.hpp"
#include "analysis/job_steps.hpp"
#include "analysis/launch_sequence.hpp"
#include "analysis/launch_times.hpp"
#include "analysis/periods.hpp"
#include "analysis/unit_names.hpp"
#include "base/unit_words.hpp"

namespace gh {
namespace {

// When the host was done with the step that it began at `begin`.
Ns host_end(const HostSteps& host, Ns begin) {
  const auto next = std::partition_point(host.begins.begin(), host.begins.end(),
                                         [&](const HostSteps::Begin& b) { return b.at <= begin; });
  return next == host.begins.end() ? host.end : next->at;
}

// Leaves out the steps in which the profiler lost work, and those before which it lost what was
// launched last, so that where they begin is unknown. If none is left, all stay. So they do where
// launches show what repeats and most repetitions lack some: a longer loop around these may be all
// that is whole in the program, and none of it shows.
void leave_out_lost(const Trace& trace, const HostSteps& host, DeviceSteps& device) {
  device.lost = 0;
  device.whole = true;
  if (trace.lost.launched.empty()) return;
  const LaunchTimes launches(trace, device.ops);
  std::vector<Ns> lacking;  // when the host began them
  for (const HostSteps::Begin& b : host.begins) {
    const std::optional<Ns> before = trace.lost.last_before(b.at);
    if (trace.lost.any_in({b.at, host_end(host, b.at)}) ||
        (before && !launches.any({*before, b.at})))
      lacking.push_back(b.at);
  }
  std::vector<Step> whole;
  std::copy_if(device.steps.begin(), device.steps.end(), std::back_inserter(whole),
               [&](const Step& step) {
                 return !std::binary_search(lacking.begin(), lacking.end(), step.host_start);
               });
  device.whole = !whole.empty() &&
                 (host.source == StepSource::ranges || 2 * lacking.size() <= host.begins.size());
  if (!device.whole) return;
  device.lost = static_cast<std::int64_t>(lacking.size());
  device.steps = std::move(whole);
}

// Cuts a device's time where the host began steps: every boundary is the latest end of the work
// launched up to then. If nothing was launched by then, the boundary is the end of the first
// operation.
std::vector<Step> cut(const Trace& trace, const std::vector<Row>& ops, const HostSteps& host) {
  std::vector<Ns> times;
  for (const HostSteps::Begin& b : host.begins) times.push_back(b.at);
  times.push_back(host.end);
  const LaunchedUntil launched = launched_until(trace, ops, std::move(times));
  std::vector<Step> steps;
  for (std::size_t k = 0; k < host.begins.size(); ++k) {
    const auto& before = launched.at[k];
    const auto& after = launched.at[k + 1];
    const Ns from = std::max(before.last_end, launched.first_end);
    if (after.count > before.count && after.last_end > from)
      steps.push_back({{from, after.last_end}, host.begins[k].number, host.begins[k].at});
  }
  return steps;
}

// How much of the device's work lies between its first step and its last.
double busy_fraction(const Trace& trace, const DeviceSteps& device) {
  const Span steps{device.steps.front().span.start, device.steps.back().span.end};
  double all_ns = 0, in_steps_ns = 0;
  for (const Row op : device.ops) {
    const auto ns = static_cast<double>(trace.span_of(op).length());
    all_ns += ns;
    if (trace.ops.start[op] >= steps.start && trace.ops.end[op] <= steps.end) in_steps_ns += ns;
  }
  return all_ns > 0 ? in_steps_ns / all_ns : 0;
}

// The repetitions among a device's launches that the host began then; nothing if there are not two.
std::optional<Period> period_of(const Trace& trace, const Classes& classes,
                                const NameClasses& names, const HostSteps& host,
                                const DeviceSteps& device) {
  const LaunchSequence sequence(trace, classes, names, device.ops);
  std::vector<std::size_t> cuts;
  std::size_t at = 0;
  const auto cut_at = [&](Ns begun) {
    while (at < sequence.size() && sequence.begun(at) < begun) ++at;
    if (cuts.empty() || at > cuts.back()) cuts.push_back(at);
  };
  for (const HostSteps::Begin& b : host.begins) cut_at(b.at);
  cut_at(host.end);
  if (cuts.size() < 3) return std::nullopt;
  return period_at(sequence, std::move(cuts));
}

// Whether the steps are alike, so that their mean says what the device does.
bool are_alike(const Trace& trace, const Classes& classes, const NameClasses& names,
               const HostSteps& host, const DeviceSteps& device) {
  const std::optional<Period> period = period_of(trace, classes, names, host, device);
  return period && period->is_nearly_whole();
}

// Whether the steps take half of the device's work or of the recording's time.
bool hold_half(const Trace& trace, const DeviceSteps& device) {
  const double least = least_of_loop(device.steps.size());
  const Ns all = trace.ops.end[device.ops.back()] - trace.ops.start[device.ops.front()],
           in_steps = device.steps.back().span.end - device.steps.front().span.start;
  return static_cast<double>(in_steps) >= least * static_cast<double>(all) ||
         busy_fraction(trace, device) >= least;
}

// While it lives, a device has only what no other crew launches.
class OwnOps {
 public:
  OwnOps(const Trace& trace, DeviceSteps& device) : device_(device) {
    std::vector<Row> own = device.ops_of(trace, no_index);
    all_ = std::exchange(device.ops, std::move(own));
  }
  OwnOps(const OwnOps&) = delete;
  ~OwnOps() { device_.ops = std::move(all_); }

 private:
  DeviceSteps& device_;
  std::vector<Row> all_;
};

// How much the moments at which one loop begins anew lie at the same phase of another's
// repetitions: 1 if all do, about 0 if they lie anywhere (the mean resultant length of circular
// statistics).
double phase_locked(const HostSteps& loop, const HostSteps& other) {
  constexpr double turn = 2 * std::numbers::pi;
  std::complex<double> sum;
  double moments = 0;
  for (const HostSteps::Begin& b : other.begins) {
    const auto next =
        std::partition_point(loop.begins.begin(), loop.begins.end(),
                             [&](const HostSteps::Begin& begin) { return begin.at <= b.at; });
    if (next == loop.begins.begin() || next == loop.begins.end()) continue;
    const Ns begin = std::prev(next)->at;
    sum += std::polar(
        1.0, turn * static_cast<double>(b.at - begin) / static_cast<double>(next->at - begin));
    ++moments;
  }
  return moments > 0 ? std::abs(sum) / moments : 0;
}

// Whether two loops take turns: a batch is prepared for each step, or an update follows every
// fourth. Then one begins at the same phase of the other, however long a repetition is, even where
// the profiler lost some. Recorded programs whose threads hand over batches reach 0.78 to 0.96,
// also with 5 % of their launches lost; two loops at rates of their own 0.05 to 0.41.
bool take_turns(const HostSteps& a, const HostSteps& b) {
  constexpr double least_locked = 0.6;
  return std::max(phase_locked(a, b), phase_locked(b, a)) >= least_locked;
}

// Whether a loop goes on during another.
bool runs_beside(const HostSteps& loop, const HostSteps& other) {
  const Ns from = std::max(loop.begins.front().at, other.begins.front().at),
           to = std::min(loop.end, other.end);
  return std::count_if(loop.begins.begin(), loop.begins.end(),
                       [&](const HostSteps::Begin& b) { return b.at >= from && b.at < to; }) >= 2;
}

// The names of steps from ranges, and of the repetitions within a typical one.
std::vector<UnitLevel> levels_of(const Trace& trace, const Classes& classes,
                                 const NameClasses& names, const ProgramKind& program,
                                 const DeviceSteps& device, const HostSteps& host) {
  std::vector<std::pair<Ns, std::size_t>> lengths;
  for (std::size_t k = 0; k < device.steps.size(); ++k)
    lengths.emplace_back(device.steps[k].span.length(), k);
  std::nth_element(lengths.begin(),
                   lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2),
                   lengths.end());
  const std::size_t typical = lengths[lengths.size() / 2].second;
  const Ns begin = device.steps[typical].host_start;
  const Span launched{begin, host_end(host, begin)};
  std::vector<Row> ops;
  for (const Row op : device.ops)
    if (const Ns at = launched_at(trace, op); at >= launched.start && at < launched.end)
      ops.push_back(op);
  const LaunchSequence sequence(trace, classes, names, ops, launched);
  const UnitNames unit_names(trace, classes, names, program, sequence);
  std::vector<UnitLevel> levels = unit_names.levels_within(0, sequence.size());
  levels.insert(levels.begin(),
                {unit_names.name_of(0, sequence.size(), host.noun),
                 static_cast<std::int64_t>(device.steps.size()) + device.lost + host.cut_off});
  return levels;
}

// What the host did before the very first launch was not recorded: where steps come from launches,
// the first may lack its pause.
void leave_out_first(const Trace& trace, DeviceSteps& device) {
  if (device.steps.size() < 4) return;
  if (device.steps.front().host_start > launched_at(trace, device.ops.front())) return;
  std::vector<Ns> lengths = device.lengths();
  const Ns first = lengths.front();
  if (10 * first < 9 * median(std::move(lengths))) device.steps.erase(device.steps.begin());
}

// Uses steps from ranges, if there are any and something was launched in them.
void take_ranges(const Trace& trace, const Classes& classes, const NameClasses& names,
                 const ProgramKind& program, DeviceSteps& device,
                 const std::optional<HostSteps>& host) {
  if (host) device.steps = cut(trace, device.ops, *host);
  if (device.steps.empty()) return;
  leave_out_lost(trace, *host, device);
  device.source = host->source;
  device.described = host->described;
  device.levels = levels_of(trace, classes, names, program, device, *host);
}

// Uses steps from launches. Launches that were not recorded cut nothing.
void take_launches(const Trace& trace, DeviceSteps& device, const HostSteps& host) {
  device.steps = cut(trace, device.ops, host);
  if (4 * device.steps.size() < 3 * host.begins.size()) device.steps.clear();
  if (device.steps.empty()) return;
  leave_out_lost(trace, host, device);
  leave_out_first(trace, device);
  device.source = host.source;
  device.described = host.described;
  device.levels = host.levels;
}

}  // namespace

std::optional<HostSteps> find_repetition(const Trace& trace, const Classes& classes,
                                         const NameClasses& names, const ProgramKind& program,
                                         DeviceSteps& device) {
  std::optional<HostSteps> host = steps_from_ranges(trace, classes, device);
  take_ranges(trace, classes, names, program, device, host);
  // Marks are evidence and no proof: two steps are a unit only if they are alike.
  if (!device.steps.empty() && hold_half(trace, device) &&
      (device.steps.size() != 2 || are_alike(trace, classes, names, *host, device)))
    return host;
  device.steps.clear();
  host = steps_from_launches(trace, classes, names, program, device);
  if (host) take_launches(trace, device, *host);
  return device.steps.empty() ? std::nullopt : std::move(host);
}

std::optional<HostSteps> find_repetition(const Trace& trace, const Classes& classes,
                                         const NameClasses& names, const ProgramKind& program,
                                         const Crews& crews, DeviceSteps& device) {
  std::vector<std::uint16_t> working;
  if (crews.are_several()) working = crews.working(device.ops);
  if (working.size() < 2) return find_repetition(trace, classes, names, program, device);
  // The crew that works most, with those in none, and the others beside it.
  const auto part_beside = [&](const std::vector<std::uint16_t>& others) {
    DeviceSteps part;
    part.device = device.device;
    part.ops = device.ops;
    part.crew = working.front();
    part.process = trace.threads[part.crew].process;
    part.other_crew.resize(trace.threads.size(), no_index);
    for (std::uint16_t t = 0; t < part.other_crew.size(); ++t)
      if (std::find(others.begin(), others.end(), crews.of(t)) != others.end())
        part.other_crew[t] = crews.of(t);
    return part;
  };
  const auto search = [&](DeviceSteps& part) {
    const OwnOps own(trace, part);
    auto host = find_repetition(trace, classes, names, program, part);
    if (host) name_by_content(trace, names, part.ops, part.levels);
    return host;
  };
  std::vector<std::uint16_t> others(working.begin() + 1, working.end());
  DeviceSteps own = part_beside(others);
  std::optional<HostSteps> host = search(own);
  std::erase_if(others, [&](std::uint16_t crew) {
    if (!host) return true;
    DeviceSteps theirs = own.part_of(trace, crew);
    const auto loop = find_repetition(trace, classes, names, program, theirs);
    const OwnOps without_others(trace, own);
    // Two trainings of one model may keep step with each other.
    return !loop || !runs_beside(*loop, *host) ||
           (take_turns(*loop, *host) && !do_the_same(trace, own, theirs));
  });
  if (others.size() + 1 < working.size()) {
    own = part_beside(others);
    host = search(own);
  }
  if (others.empty() || !host) return find_repetition(trace, classes, names, program, device);
  device = std::move(own);
  return host;
}

void name_by_content(const Trace& trace, const NameClasses& names, const std::vector<Row>& ops,
                     std::vector<UnitLevel>& levels) {
  const bool updates = std::any_of(ops.begin(), ops.end(), [&](Row op) {
    return trace.ops.kind[op] == OpKind::kernel &&
           names.kernel[trace.ops.name[op]] == KernelClass::optimizer;
  });
  if (!updates && !levels.empty() && levels.front().name == "training step")
    levels.front().name = "batch";
}

void cut_like(const Trace& trace, const Classes& classes, const NameClasses& names,
              const ProgramKind& program, const HostSteps& host, DeviceSteps& device) {
  take_ranges(trace, classes, names, program, device, host);
  if (!device.steps.empty() &&
      !(hold_half(trace, device) && are_alike(trace, classes, names, host, device)))
    device.steps.clear();
  // The same repetitions have one name.
  if (!device.steps.empty() && !host.levels.empty())
    device.levels.front().name = host.levels.front().name;
}

void cut_in_loop(const Trace& trace, const Classes& classes, const NameClasses& names,
                 const HostSteps& loop, bool of_it, DeviceSteps& device) {
  take_launches(trace, device, loop);
  if (!of_it && !device.steps.empty() && !are_alike(trace, classes, names, loop, device))
    device.steps.clear();
}

bool leave_little_out(const Trace& trace, const Classes& classes, const NameClasses& names,
                      const HostSteps& host, const DeviceSteps& device) {
  const std::optional<Period> period = period_of(trace, classes, names, host, device);
  return period && period->leaves_little_out();
}

std::optional<HostSteps> find_unit(const Trace& trace, const Classes& classes,
                                   const NameClasses& names, const ProgramKind& program,
                                   const std::string& unit, DeviceSteps& device) {
  const OwnOps own(trace, device);
  std::optional<HostSteps> host = ranges_called(trace, classes, device, unit);
  device.steps.clear();
  take_ranges(trace, classes, names, program, device, host);
  if (!device.steps.empty()) return host;
  for (HostSteps& level : levels_from_launches(trace, classes, names, program, device)) {
    if (!is_called(level.levels.front().name, unit)) continue;
    take_launches(trace, device, level);
    if (!device.steps.empty()) return std::move(level);
  }
  return std::nullopt;
}

std::vector<std::string> units_on(const Trace& trace, const Classes& classes,
                                  const NameClasses& names, const ProgramKind& program,
                                  DeviceSteps device) {
  std::vector<std::string> units;
  const OwnOps own(trace, device);
  device.steps.clear();
  if (find_repetition(trace, classes, names, program, device))
    units.push_back(device.levels.front().name);
  for (const HostSteps& level : levels_from_launches(trace, classes, names, program, device)) {
    take_launches(trace, device, level);
    // What repeats within a graph has no launches of its own.
    if (!device.steps.empty()) units.push_back(level.levels.front().name);
  }
  return units;
}

}  // namespace gh

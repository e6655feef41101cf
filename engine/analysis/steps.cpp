#include "analysis/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/crews.hpp"
#include "analysis/job_steps.hpp"
#include "analysis/launch_times.hpp"
#include "analysis/other_loops.hpp"
#include "analysis/periods.hpp"
#include "analysis/repetition.hpp"
#include "base/deadline.hpp"
#include "base/unit_words.hpp"

namespace gh {
namespace {

// The process that launched most of each device's work.
void set_processes(const Trace& trace, std::vector<DeviceSteps>& devices,
                   const std::vector<std::size_t>& ops_on_stream) {
  std::vector<std::map<std::uint16_t, std::size_t>> by_process(devices.size());
  for (std::size_t s = 0; s < ops_on_stream.size(); ++s)
    if (const Stream& stream = trace.streams[s]; ops_on_stream[s] > 0)
      by_process[stream.device][stream.process] += ops_on_stream[s];
  for (DeviceSteps& d : devices) {
    std::size_t most = 0;
    for (const auto& [process, ops] : by_process[d.device])
      if (ops > most) {
        most = ops;
        d.process = process;
      }
  }
}

// Devices that did any work, in order of ordinal.
std::vector<DeviceSteps> devices_with_work(const Trace& trace) {
  std::vector<DeviceSteps> devices(trace.devices.size());
  std::vector<std::size_t> on_stream(trace.streams.size()), on_device(devices.size());
  for (const std::uint32_t stream : trace.ops.stream) ++on_stream[stream];
  for (std::size_t s = 0; s < on_stream.size(); ++s)
    if (on_stream[s] > 0) on_device[trace.streams[s].device] += on_stream[s];
  for (std::size_t d = 0; d < devices.size(); ++d) {
    devices[d].device = static_cast<std::uint16_t>(d);
    devices[d].ops.reserve(on_device[d]);
  }
  for (Row op = 0; op < trace.ops.size(); ++op) devices[trace.device_of(op)].ops.push_back(op);
  set_processes(trace, devices, on_stream);
  std::erase_if(devices, [](const DeviceSteps& d) { return d.ops.empty(); });
  std::sort(devices.begin(), devices.end(), [&](const DeviceSteps& a, const DeviceSteps& b) {
    return std::tuple(trace.devices[a.device].ordinal, a.device) <
           std::tuple(trace.devices[b.device].ordinal, b.device);
  });
  return devices;
}

void keep_rank(std::vector<DeviceSteps>& devices, int rank) {
  std::vector<std::uint16_t> ranks;
  for (const DeviceSteps& d : devices)
    if (std::find(ranks.begin(), ranks.end(), d.process) == ranks.end()) ranks.push_back(d.process);
  if (rank < 0 || static_cast<std::size_t>(rank) >= ranks.size())
    throw Error(fmt::format("--rank {}: the report has {} rank{}, counted from 0", rank,
                            ranks.size(), ranks.size() == 1 ? "" : "s"));
  std::erase_if(devices, [&](const DeviceSteps& d) {
    return d.process != ranks[static_cast<std::size_t>(rank)];
  });
}

void keep_device(const Trace& trace, std::vector<DeviceSteps>& devices, int ordinal) {
  std::vector<int> ordinals;
  for (const DeviceSteps& d : devices) ordinals.push_back(trace.devices[d.device].ordinal);
  std::erase_if(devices,
                [&](const DeviceSteps& d) { return trace.devices[d.device].ordinal != ordinal; });
  if (devices.empty())
    throw Error(
        fmt::format("--device {}: nothing ran there; the report has work on device {}", ordinal,
                    ordinals.empty() ? "none" : fmt::format("{}", fmt::join(ordinals, ", "))));
}

[[noreturn]] void throw_no_such_unit(const std::string& unit, std::vector<std::string> known) {
  std::erase(known, window_unit);
  std::sort(known.begin(), known.end());
  throw Error(
      fmt::format("--unit '{}': nothing with that name repeats{}", unit,
                  known.empty() ? "" : fmt::format("; these repeat: {}", fmt::join(known, ", "))));
}

void keep_numbers(std::vector<Step>& steps, std::int64_t first, std::int64_t last) {
  const std::string available = fmt::format("{}:{}", steps.front().number, steps.back().number);
  std::erase_if(steps, [&](const Step& s) { return s.number < first || s.number > last; });
  if (steps.empty())
    throw Error(fmt::format("--steps {}:{}: the report has steps {}", first, last, available));
}

// Steps at the front that took far longer than the rest are start-up: lazy loading, autotuning,
// first allocations.
void leave_out_startup(DeviceSteps& device) {
  if (device.steps.size() < 3) return;
  const std::vector<Ns> lengths = device.lengths();
  // With few steps, leave out only extreme ones.
  const Ns most = (device.steps.size() < 5 ? 4 : 2) * median(lengths);
  const std::size_t most_steps = std::max<std::size_t>(1, device.steps.size() / 4);
  std::size_t n = 0;
  while (n < most_steps && lengths[n] > most) ++n;
  // Start-up ends abruptly; steps that grow shorter little by little have less and less to do.
  const auto after = lengths.begin() + static_cast<std::ptrdiff_t>(n);
  if (n > 0 && 4 * lengths[n - 1] < 5 * median({after, std::min(after + 3, lengths.end())})) return;
  device.steps.erase(device.steps.begin(), device.steps.begin() + static_cast<std::ptrdiff_t>(n));
  device.left_out = static_cast<std::int64_t>(n);
}

// Of sizes that are measured one after another, the largest is judged.
void keep_largest_of_sweep(DeviceSteps& device) {
  const std::vector<Ns> lengths = device.lengths();
  if (!are_sizes(lengths)) return;
  device.described += fmt::format(", which grow: the largest of {}", lengths.size());
  const auto largest = std::max_element(
      device.steps.begin(), device.steps.end(),
      [](const Step& x, const Step& y) { return x.span.length() < y.span.length(); });
  device.steps = {*largest};
  device.is_largest_of_sweep = true;
}

// The steps whose mean is judged.
void keep_typical(DeviceSteps& device) {
  keep_largest_of_sweep(device);
  leave_out_startup(device);
}

// Cuts a device's time where the crew of a loop began its repetitions.
DeviceSteps cut_in_loop_of_crew(const Trace& trace, const Classes& classes,
                                const NameClasses& names, const OtherLoop& loop,
                                DeviceSteps device) {
  DeviceSteps in_loop = device.part_of(trace, loop.crew);
  cut_in_loop(trace, classes, names, loop.host, true, in_loop);
  in_loop.ops = std::move(device.ops);
  return in_loop;
}

// Of the devices of a selection those on which another loop of that name repeats, beside the steps
// that are judged if nobody chooses.
std::vector<DeviceSteps> devices_in_loop(const Trace& trace, const Classes& classes,
                                         const NameClasses& names, const ProgramKind& program,
                                         const Selection& selection) {
  Selection nothing_chosen;
  nothing_chosen.device = selection.device;
  nothing_chosen.rank = selection.rank;
  std::vector<DeviceSteps> devices = find_steps(trace, classes, names, program, nothing_chosen);
  for (const OtherLoop& loop : other_loops(trace, classes, names, program, devices)) {
    if (!is_called(loop.name, selection.unit)) continue;
    if (loop.crew != no_index) {
      return {cut_in_loop_of_crew(trace, classes, names, loop, std::move(devices[loop.device]))};
    }
    for (std::size_t d = 0; d < devices.size(); ++d) {
      DeviceSteps in_loop;
      in_loop.device = devices[d].device;
      in_loop.process = devices[d].process;
      in_loop.ops = std::move(devices[d].ops);
      cut_in_loop(trace, classes, names, loop.host, d == loop.device, in_loop);
      devices[d] = std::move(in_loop);
    }
    std::erase_if(devices, [](const DeviceSteps& d) { return d.steps.empty(); });
    return devices;
  }
  return {};
}

bool has_no_steps(const DeviceSteps& device) { return device.steps.empty(); }

// The repetitions of the level of that name become the steps, on the devices that have it. The name
// of what is judged anyway changes nothing.
void select_unit(const Trace& trace, const Classes& classes, const NameClasses& names,
                 const ProgramKind& program, const Selection& selection,
                 std::vector<std::optional<HostSteps>>& found, std::vector<DeviceSteps>& devices) {
  const std::string& unit = selection.unit;
  const auto is_it = [&](const DeviceSteps& d) {
    return !d.steps.empty() && is_called(d.levels.front().name, unit);
  };
  const auto take_loop = [&] {
    std::vector<DeviceSteps> in_loop = devices_in_loop(trace, classes, names, program, selection);
    if (in_loop.empty()) return false;
    devices = std::move(in_loop);
    found.assign(devices.size(), std::nullopt);
    return true;
  };
  const auto judged = std::find_if_not(devices.begin(), devices.end(), has_no_steps);
  if (judged == devices.end() || !is_it(*judged)) {
    // Another loop on the same GPU is known by its name, and what mixes both is none.
    const bool is_shared = share_a_device(devices);
    if (is_shared && take_loop()) return;
    for (std::size_t d = 0; d < devices.size(); ++d)
      if (!is_it(devices[d]))
        found[d] = find_unit(trace, classes, names, program, unit, devices[d]);
    take_steps_of_others(trace, classes, names, program, found, devices);
    if (!std::all_of(devices.begin(), devices.end(), has_no_steps)) return;
    if (!is_shared && take_loop()) return;
    // Layers run forward and backward, so that none of a training step is one stretch of time.
    for (const DeviceSteps& d : devices)
      for (std::size_t l = 1; l < d.levels.size(); ++l)
        if (is_called(d.levels[l].name, unit))
          throw Error(
              fmt::format("--unit '{}': {} lie within each {} and cannot be judged by themselves; "
                          "see gh-advise layers",
                          unit, plural(d.levels[l].name), d.levels.front().name));
    throw_no_such_unit(unit, units_of(trace, classes, names, program, devices));
  }
}

// From the first launch, or from the first operation if its launch was not recorded, to the last
// operation's end.
Span window_of(const Trace& trace, const DeviceSteps& device) {
  Span window = trace.span_of(device.ops.front());
  for (const Row op : device.ops)
    window = {std::min(window.start, launched_at(trace, op)),
              std::max(window.end, trace.ops.end[op])};
  return window;
}

// Whether the repetitions are too short in total to be judged, and the rest takes longer.
bool are_too_little(const Trace& trace, const DeviceSteps& device) {
  const Ns repeating = device.steps.back().span.end - device.steps.front().span.start;
  return device.source == StepSource::kernels && repeating < least_judged_ns &&
         2 * repeating < window_of(trace, device).length();
}

// When the launching thread began to fetch what a device works on first: the loader's last range
// before that, if no more time passes after it than in it. `launched`: when that was launched.
Ns fetched_from(const Trace& trace, const NameClasses& names, const DeviceSteps& device,
                Ns launched) {
  const Ranges& r = trace.ranges;
  const Row call = trace.ops.call[device.ops.front()];
  if (call == no_row) return launched;
  Ns from = launched, last_end = std::numeric_limits<Ns>::min();
  for (Row i = 0; i < r.size() && r.start[i] < launched; ++i)
    if (r.thread[i] == trace.calls.thread[call] && r.end[i] <= launched && r.end[i] > last_end &&
        names.is_phase(Phase::loader, r.name[i])) {
      last_end = r.end[i];
      from = launched - r.end[i] <= r.end[i] - r.start[i] ? r.start[i] : launched;
    }
  return from;
}

void take_whole_window(const Trace& trace, const NameClasses& names, DeviceSteps& device) {
  Span window = window_of(trace, device);
  window.start = fetched_from(trace, names, device, window.start);
  device.described = "no repetition was found: the whole window";
  if (!device.steps.empty())
    device.described =
        fmt::format("too little repeats ({} {}, {} in all): the whole window", device.steps.size(),
                    plural(device.levels.front().name),
                    duration(device.steps.back().span.end - device.steps.front().span.start));
  device.source = StepSource::none;
  device.lost = 0;
  device.whole = !trace.lost.any_in(window);  // what is lost before its first launch is not in it
  device.levels.clear();
  device.steps = {{window, 0, window.start}};
}

// The work launched inside the ranges. A step begins with its range, or with the end of the work
// launched earlier if that is later.
std::vector<Step> steps_in_range(const Trace& trace, const DeviceSteps& device,
                                 const std::string& glob) {
  std::vector<Span> hosts;
  for (Row r = 0; r < trace.ranges.size(); ++r)
    if (trace.threads[trace.ranges.thread[r]].process == device.process &&
        glob_match(glob, trace.names[trace.ranges.name[r]]))
      hosts.push_back({trace.ranges.start[r], trace.ranges.end[r]});
  hosts = united(std::move(hosts));
  std::vector<Ns> times;
  for (const Span host : hosts) times.insert(times.end(), {host.start, host.end});
  const LaunchedUntil launched = launched_until(trace, device.ops, std::move(times));
  std::vector<Step> steps;
  for (std::size_t k = 0; k < hosts.size(); ++k) {
    const auto& before = launched.at[2 * k];
    const auto& after = launched.at[2 * k + 1];
    const Ns from = std::max(before.last_end, hosts[k].start);
    if (after.count > before.count && after.last_end > from)
      steps.push_back(
          {{from, after.last_end}, static_cast<std::int64_t>(steps.size()), hosts[k].start});
  }
  return steps;
}

std::string no_such_range(const Trace& trace, const std::string& glob) {
  std::set<std::string> names;
  for (const NameId id : trace.ranges.name) names.insert(trace.names[id]);
  if (names.empty())
    return fmt::format("--range '{}': the report has no {}", glob, trace.ranges_are);
  std::vector<std::string> all(names.begin(), names.end());
  if (std::any_of(all.begin(), all.end(),
                  [&](const std::string& n) { return glob_match(glob, n); }))
    return fmt::format("--range '{}': nothing was launched inside such ranges", glob);
  std::string hint = did_you_mean(glob, all);
  if (hint.empty()) {
    all.resize(std::min<std::size_t>(all.size(), 5));
    hint = fmt::format("; it has '{}'", fmt::join(all, "', '"));
  }
  return fmt::format("--range '{}': the report has no range of that name{}", glob, hint);
}

// Keeps the devices on which ranges of that name launched something, which becomes the steps. What
// the profiler lost of it stays lost: the user asked for these.
void select_range(const Trace& trace, std::vector<DeviceSteps>& devices, const std::string& glob) {
  for (DeviceSteps& device : devices) {
    device.steps = steps_in_range(trace, device, glob);
    device.source = StepSource::selected_range;
    device.selected = true;
    device.whole = trace.lost.launched.empty();
    device.described = fmt::format("ranges that match '{}'", glob);
  }
  std::erase_if(devices, [](const DeviceSteps& d) { return d.steps.empty(); });
  if (devices.empty()) throw Error(no_such_range(trace, glob));
}

}  // namespace

std::vector<Ns> DeviceSteps::lengths() const {
  std::vector<Ns> lengths;
  for (const Step& s : steps) lengths.push_back(s.span.length());
  return lengths;
}

bool DeviceSteps::repeats_like(const DeviceSteps& other) const {
  const auto within = [](const std::vector<UnitLevel>& all) {
    return all.begin() + (all.empty() ? 0 : 1);
  };
  return std::equal(within(levels), levels.end(), within(other.levels), other.levels.end());
}

DeviceSteps DeviceSteps::part_of(const Trace& trace, std::uint16_t of) const {
  DeviceSteps part;
  part.device = device;
  part.process = trace.threads[of].process;  // a crew has the name of one of its threads
  part.ops = ops_of(trace, of);
  part.crew = of;
  part.other_crew = other_crew;
  for (std::uint16_t& of_thread : part.other_crew)
    if (of_thread == of || of_thread == no_index) of_thread = of_thread == of ? no_index : crew;
  return part;
}

std::vector<Row> DeviceSteps::ops_of(const Trace& trace, std::uint16_t crew) const {
  if (other_crew.empty() && crew == no_index) return ops;
  std::vector<Row> of_crew;
  std::copy_if(ops.begin(), ops.end(), std::back_inserter(of_crew),
               [&](Row op) { return other_crew_of(trace, op) == crew; });
  return of_crew;
}

std::vector<std::uint16_t> DeviceSteps::other_crews() const {
  std::set<std::uint16_t> crews(other_crew.begin(), other_crew.end());
  crews.erase(no_index);
  return {crews.begin(), crews.end()};
}

Ns DeviceSteps::worked_ns(const Trace& trace) const {
  Ns ns = 0;
  for (const Row op : ops) ns += trace.span_of(op).length();
  return ns;
}

std::vector<DeviceSteps> find_steps(const Trace& trace, const Classes& classes,
                                    const NameClasses& names, const ProgramKind& program,
                                    const Selection& selection) {
  std::vector<DeviceSteps> devices = devices_with_work(trace);
  if (selection.rank) keep_rank(devices, *selection.rank);
  if (selection.device) keep_device(trace, devices, *selection.device);

  if (!selection.range.empty() && !selection.unit.empty())
    throw Error("--range and --unit exclude each other: give one of them");
  if (!selection.range.empty()) {
    if (selection.steps)
      throw Error("--range and --steps exclude each other: stretches of a range have no numbers");
    select_range(trace, devices, selection.range);
    return devices;
  }
  if (selection.unit == window_unit && selection.steps)
    throw Error("--unit window and --steps exclude each other: a window has no steps");
  if (selection.unit != window_unit) {
    std::vector<std::optional<HostSteps>> found;
    const Crews crews(trace);
    for (DeviceSteps& device : devices) {
      check_time();
      found.push_back(find_repetition(trace, classes, names, program, crews, device));
    }
    agree_on_unit(trace, classes, names, program, found, devices);
    take_steps_of_others(trace, classes, names, program, found, devices);
    if (!selection.unit.empty())
      select_unit(trace, classes, names, program, selection, found, devices);
    take_one_tree(trace, found, devices);
    if (!selection.unit.empty()) std::erase_if(devices, has_no_steps);
  }
  for (DeviceSteps& device : devices) {
    if (!device.steps.empty() && selection.steps)
      keep_numbers(device.steps, selection.steps->first, selection.steps->second);
    else if (!device.steps.empty() && (!selection.unit.empty() || !are_too_little(trace, device)))
      keep_typical(device);
    else if (selection.steps)
      throw Error(
          "--steps: nothing in the report repeats; mark steps with NVTX ranges such as \"step "
          "12\", or "
          "use --range");
    else
      take_whole_window(trace, names, device);
    if (selection.unit == window_unit) device.described = "the whole window, as --unit says";
    device.selected = selection.steps.has_value();
  }
  if (!selection.steps) judge_together(trace, devices);
  for (DeviceSteps& device : devices)
    if (!device.selected)
      device.before_ns =
          std::max<Ns>(0, device.steps.front().span.start - trace.ops.start[device.ops.front()]);
  return devices;
}

std::vector<std::string> units_of(const Trace& trace, const Classes& classes,
                                  const NameClasses& names, const ProgramKind& program,
                                  const std::vector<DeviceSteps>& devices) {
  std::vector<std::string> units;
  for (const DeviceSteps& device : devices) {
    check_time();
    for (std::string& unit : units_on(trace, classes, names, program, device))
      if (std::find(units.begin(), units.end(), unit) == units.end())
        units.push_back(std::move(unit));
  }
  for (OtherLoop& loop :
       other_loops(trace, classes, names, program, find_steps(trace, classes, names, program, {})))
    units.push_back(std::move(loop.name));
  units.emplace_back(window_unit);
  return units;
}

}  // namespace gh

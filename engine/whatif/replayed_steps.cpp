#include "whatif/replayed_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/crews.hpp"
#include "analysis/launch_times.hpp"
#include "base/text.hpp"
#include "whatif/apply.hpp"

namespace gh {
namespace {

constexpr std::size_t most_steps = 24;        // enough for a mean of steps that alternate
constexpr std::size_t most_points = 150'000;  // at least three steps, even if they have more
// Relative to the mean step: beyond the first, savings in the replayed steps say nothing about the
// rest; up to the second, a single run can stand for all.
constexpr double most_unrepresentative = 0.05, typical = 0.02;

// Points of a window without steps, which is replayed once per change.
constexpr std::size_t most_window_points = 1'000'000;

std::string why_not(const Analysis& a) {
  if (a.devices.empty()) return "no GPU work was recorded";
  for (const DeviceSteps& d : a.devices)
    if (d.source == StepSource::selected_range) return "only parts of the recording were selected";
  if (!a.trace.availability(Source::calls).known() || a.trace.calls.size() == 0)
    return "the host's CUDA calls were not recorded";
  // A fix applies to the process that its evidence names; the replay would leave the other
  // processes unchanged, and these determine the step.
  return a.why_shared();
}

bool steps_repeat(const Analysis& a) {
  return std::all_of(a.devices.begin(), a.devices.end(), [](const DeviceSteps& d) {
    return (d.source == StepSource::ranges || d.source == StepSource::kernels) &&
           d.steps.size() >= 2;
  });
}

// How many steps can be replayed repeatedly. Begins and ends of calls and ends of operations are
// points of the graph.
std::size_t steps_in_reach(const Trace& t, const std::vector<Step>& steps) {
  const double points = static_cast<double>(2 * t.calls.size() + t.ops.size()) *
                        static_cast<double>(steps.back().span.end - steps.front().span.start) /
                        static_cast<double>(std::max<Ns>(t.capture_end - t.capture_start, 1));
  const auto room = static_cast<std::size_t>(
      static_cast<double>(most_points) / std::max(points / static_cast<double>(steps.size()), 1.0));
  return std::min({steps.size(), most_steps, std::max<std::size_t>(room, 3)});
}

// Consecutive steps. `led`: starts with the work before the first step, so that this step counts
// too.
struct Run {
  std::size_t first = 0, count = 0;
  bool led = false;

  Ns begin(const std::vector<Step>& steps) const {
    return led ? steps[first].span.start : steps[first].span.end;
  }
  std::size_t counted() const { return led ? count : count - 1; }
  Span measured(const std::vector<Step>& steps) const {
    return {begin(steps), steps[first + count - 1].span.end};
  }
  double mean_ns(const std::vector<Step>& steps) const {
    return static_cast<double>(measured(steps).length()) / static_cast<double>(counted());
  }
};

double mean_length(const std::vector<Step>& steps) {
  Ns all = 0;
  for (const Step& s : steps) all += s.span.length();
  return static_cast<double>(all) / static_cast<double>(steps.size());
}

bool follows(const std::vector<Step>& steps, std::size_t k) {
  return steps[k].span.start <= steps[k - 1].span.end;
}

// Of the runs of `count` steps for which `fits(mean)`, the one whose mean is closest to `mean_ns`.
// `whole`: no steps were left out between these, across which no run may go.
// Nothing if none fits.
template <class Fits>
std::optional<Run> nearest_run(const std::vector<Step>& steps, std::size_t count, double mean_ns,
                               Fits fits, bool whole) {
  std::optional<Run> best;
  std::size_t joined = 0;  // steps up to the last of the run that follow each other
  const auto off = [&](const Run& run) { return std::abs(run.mean_ns(steps) - mean_ns); };
  for (std::size_t last = 0; last < steps.size(); ++last) {
    joined = last > 0 && (whole || follows(steps, last)) ? joined + 1 : 1;
    if (joined < count) continue;
    const Run run{last + 1 - count, count};
    if (fits(run.mean_ns(steps)) && (!best || off(run) < off(*best))) best = run;
  }
  return best;
}

// How many steps follow each other at most: those that were left out leave gaps.
std::size_t longest_stretch(const std::vector<Step>& steps) {
  std::size_t longest = 1, joined = 1;
  for (std::size_t k = 1; k < steps.size(); ++k) {
    joined = follows(steps, k) ? joined + 1 : 1;
    longest = std::max(longest, joined);
  }
  return longest;
}

// One run that resembles all steps or contains all of them; otherwise a faster and a slower one;
// otherwise the closest one.
std::vector<Run> runs_of(const std::vector<Step>& steps, std::size_t count, bool whole) {
  const double mean = mean_length(steps);
  const auto nearest = [&](std::size_t length) {
    return *nearest_run(
        steps, length, mean, [](double) { return true; }, whole);
  };
  const auto off = [&](const Run& run) { return std::abs(run.mean_ns(steps) / mean - 1); };
  const Run one = nearest(count);
  if (off(one) <= typical) return {one};
  // What a fix changes about the first step may lie before it, where no rule looks: the first step
  // counts only if nothing could be replayed otherwise. Without it, what comes every n-th step
  // comes too often in the rest, and a run that leaves out a few more may be nearer to all.
  const bool all = count == steps.size();
  for (std::size_t fewer = count - 1; all && fewer >= 3 && 4 * fewer >= 3 * count; --fewer)
    if (const Run shorter = nearest(fewer); off(shorter) <= typical) return {shorter};
  if (all && off(one) <= most_unrepresentative) return {one};
  if (all) return {{0, count, true}};
  const std::size_t half = std::max<std::size_t>(count / 2, 2);
  const auto slower = nearest_run(
                 steps, half, mean, [&](double m) { return m > mean; }, whole),
             faster = nearest_run(
                 steps, half, mean, [&](double m) { return m <= mean; }, whole);
  if (!slower || !faster) return {one};
  return {*faster, *slower};
}

// Finds on every device the steps that end when those of the first device's run do, within half a
// usual step, and the window around them.
void match_devices(const Analysis& a, const Run& run, ReplayedSteps& out) {
  const std::vector<Step>& lead = a.devices.front().steps;
  const Step &from = lead[run.first], &to = lead[run.first + run.count - 1];
  std::vector<Ns> lengths;
  for (std::size_t k = run.first; k < run.first + run.count; ++k)
    lengths.push_back(lead[k].span.length());
  const Ns slack = median(std::move(lengths)) / 2;
  const auto begin_of = [&](const Step& step) {
    return std::min(step.host_start, step.span.start) - (out.led ? step.span.length() : 0);
  };
  out.window = {begin_of(from), to.span.end};
  for (const DeviceSteps& d : a.devices) {
    std::size_t first = 0, count = 0;
    for (std::size_t k = 0; k < d.steps.size(); ++k) {
      const Step& step = d.steps[k];
      if (step.span.end < from.span.end - slack || step.span.end > to.span.end + slack) continue;
      if (count++ == 0) first = k;
      out.window.end = std::max(out.window.end, step.span.end);
      out.window.start = std::min(out.window.start, begin_of(step));
    }
    // One step more or less at either end is fine; a program with far more has different steps.
    if (count < 2 || count > run.count + 2) {
      out.reason = fmt::format("the devices' {} do not match", a.words().many);
      return;
    }
    out.device_steps.emplace_back(first, count);
    out.measured.push_back(Run{first, count, out.led}.measured(d.steps));
  }
  out.recorded_ns = out.mean_ns(out.measured);
  if (out.recorded_ns <= 0) out.reason = fmt::format("the {} have no length", a.words().many);
}

RowBlock rows_in(const std::vector<Ns>& start, Span window) {
  const auto first = std::lower_bound(start.begin(), start.end(), window.start),
             last = std::lower_bound(first, start.end(), window.end);
  return {static_cast<Row>(first - start.begin()), static_cast<Row>(last - first)};
}

// In which replayed step of its device an operation was launched, or -1. What was launched before
// the first step belongs to it or, where the replay is led, to the work before it.
std::int16_t step_of(const Trace& t, Row op, const std::vector<Step>& steps, const Run& run) {
  const auto first = steps.begin() + static_cast<std::ptrdiff_t>(run.first),
             last = first + static_cast<std::ptrdiff_t>(run.count);
  const bool before = t.ops.end[op] <= first->span.start;
  if (before || t.ops.end[op] > std::prev(last)->span.end) return before && run.led ? 0 : -1;
  const Ns launched = launched_at(t, op);
  if (last != steps.end() && launched >= last->host_start) return -1;
  const auto next = std::upper_bound(first, last, launched,
                                     [](Ns at, const Step& step) { return at < step.host_start; });
  return static_cast<std::int16_t>(run.led ? next - first
                                           : std::max<std::ptrdiff_t>(next - first, 1) - 1);
}

// Which replayed step each operation belongs to. Migrations of unified memory belong to the driver,
// and work of other crews ends no step; nor does an upload by a thread that launches no kernel.
void assign_ops(const Analysis& a, ReplayedSteps& out) {
  const Trace& t = a.trace;
  out.step_of_op.assign(out.ops.count, -1);
  out.device_ops.resize(a.devices.size());
  const std::vector<std::size_t> slot = a.slots();
  const Crews crews(t);
  const auto ends_no_step = [&](Row op) {
    return crews.is_beside(op) &&
           (!out.whole || crews.of(t.calls.thread[t.ops.call[op]]) == no_index);
  };
  for (Row op = out.ops.first; op < out.ops.end(); ++op) {
    const std::size_t d = slot[t.device_of(op)];
    if (d == a.devices.size() || is_unified(t.ops.copy[op]) || ends_no_step(op)) continue;
    const auto [first, count] = out.device_steps[d];
    const std::int16_t step =
        out.whole ? 0 : step_of(t, op, a.devices[d].steps, {first, count, out.led});
    if (step < 0) continue;
    out.step_of_op[op - out.ops.first] = step;
    out.device_ops[d].push_back(op);
    out.collectives = out.collectives || a.is_collective(op);
  }
}

// The time of all operations, summed up, by each of `parts` equal parts of the window.
std::vector<double> work_by_part(const Trace& t, Span window, std::size_t parts) {
  std::vector<double> work(parts);
  const double part_ns = static_cast<double>(window.length()) / static_cast<double>(parts);
  for (Row op = 0; op < t.ops.size(); ++op) {
    if (t.ops.start[op] < window.start || t.ops.start[op] >= window.end) continue;
    const auto at =
        static_cast<std::size_t>(static_cast<double>(t.ops.start[op] - window.start) / part_ns);
    work[std::min(at, parts - 1)] += static_cast<double>(t.ops.end[op] - t.ops.start[op]);
  }
  return work;
}

// A window too long to be replayed is cut into equal parts, and the part with the most typical work
// stands for all of it.
void take_typical_part(const Trace& t, ReplayedSteps& out) {
  const RowBlock ops = rows_in(t.ops.start, out.window), calls = rows_in(t.calls.start, out.window);
  const std::size_t points = 2 * std::size_t{calls.count} + ops.count;
  if (points <= most_window_points) return;
  const std::size_t parts = 2 * points / most_window_points + 1;
  const std::vector<double> work = work_by_part(t, out.window, parts);
  double all = 0;
  for (const double part : work) all += part;
  const double mean = all / static_cast<double>(parts);
  const auto off = [&](double part) { return std::abs(part - mean); };
  const auto best = std::min_element(work.begin(), work.end(),
                                     [&](double x, double y) { return off(x) < off(y); });
  const Ns part_ns = out.window.length() / static_cast<Ns>(parts);
  out.window.start += part_ns * (best - work.begin());
  out.window.end = out.window.start + part_ns;
  out.scale = static_cast<double>(parts);
  out.unrepresentative = mean > 0 ? off(*best) / mean : 0;
}

// The whole window, as if it were one step. Each device has its own, of which the part may hold
// nothing.
void take_window(const Analysis& a, ReplayedSteps& out) {
  out.whole = true;
  out.count = 1;
  out.window = a.analysed_window();
  take_typical_part(a.trace, out);
  out.device_steps.assign(a.devices.size(), {0, 1});
  for (const DeviceSteps& d : a.devices) {
    const Span all = d.steps.front().span;
    const Ns start = std::clamp(out.window.start, all.start, all.end);
    out.measured.push_back({start, std::clamp(out.window.end, start, all.end)});
  }
  out.recorded_ns = out.mean_ns(out.measured);
}

// Whether every device ran something before its first step.
bool has_lead(const Analysis& a, const ReplayedSteps& out) {
  std::vector<bool> ran(a.devices.size());
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    for (const Row op : out.device_ops[d]) ran[d] = ran[d] || out.step_of(op) == 0;
  return std::find(ran.begin(), ran.end(), false) == ran.end();
}

void take_rows(const Analysis& a, ReplayedSteps& out) {
  out.ops = rows_in(a.trace.ops.start, out.window);
  out.calls = rows_in(a.trace.calls.start, out.window);
  assign_ops(a, out);
}

// A run on every device.
ReplayedSteps steps_of(const Analysis& a, const Run& run) {
  ReplayedSteps out;
  out.count = run.count;
  out.led = run.led;
  match_devices(a, run, out);
  if (!out.reason.empty()) return out;
  take_rows(a, out);
  return run.led && !has_lead(a, out) ? steps_of(a, {run.first, run.count}) : out;
}

// How far the runs' mean is from the mean of all steps of the first device, relative to the latter.
double unrepresentative(const std::vector<ReplayedSteps>& runs, const std::vector<Step>& lead) {
  double mean = 0;
  for (const ReplayedSteps& r : runs)
    mean += r.weight * Run{r.device_steps[0].first, r.count, r.led}.mean_ns(lead);
  return std::abs(mean / mean_length(lead) - 1);
}

std::vector<ReplayedSteps> step_runs(const Analysis& a) {
  const std::vector<Step>& lead = a.devices.front().steps;
  // Nothing is replayed across steps that were left out because the profiler lost their work.
  const bool whole = a.devices.front().lost == 0;
  const std::size_t joined = whole ? lead.size() : longest_stretch(lead);
  if (joined < 2) {
    ReplayedSteps none;
    none.reason = fmt::format("no two {} without lost work follow each other", a.words().many);
    return {none};
  }
  const std::vector<Run> chosen =
      runs_of(lead, std::min(joined, steps_in_reach(a.trace, lead)), whole);
  std::vector<ReplayedSteps> runs;
  for (const Run& run : chosen) {
    runs.push_back(steps_of(a, run));
    if (!runs.back().reason.empty()) return {std::move(runs.back())};
  }
  if (runs.size() == 2) {
    const double faster = chosen[0].mean_ns(lead), slower = chosen[1].mean_ns(lead);
    runs[1].weight = (mean_length(lead) - faster) / (slower - faster);
    runs[0].weight = 1 - runs[1].weight;
  }
  const double off = unrepresentative(runs, lead);
  for (ReplayedSteps& r : runs) {
    r.unrepresentative = off;
    if (off > most_unrepresentative)
      r.reason = fmt::format("the {} that can be replayed differ from the average by {}",
                             a.words().many, percent(off));
  }
  return runs;
}

}  // namespace

Ns ReplayedSteps::mean_ns(const std::vector<Span>& of_devices) const {
  double sum = 0;
  for (std::size_t d = 0; d < of_devices.size(); ++d)
    sum += static_cast<double>(of_devices[d].length()) / static_cast<double>(periods(d));
  return std::llround(sum / static_cast<double>(of_devices.size()) * scale);
}

std::vector<ReplayedSteps> choose_runs(const Analysis& a) {
  ReplayedSteps out;
  out.reason = why_not(a);
  if (!out.reason.empty()) return {out};
  if (steps_repeat(a)) return step_runs(a);
  if (a.has_steps()) {  // the GPU may still work on the previous one when the host begins it
    out.reason = fmt::format("the beginning of a single {} is unknown", a.words().noun);
    return {out};
  }
  take_window(a, out);
  take_rows(a, out);
  return {out};
}

}  // namespace gh

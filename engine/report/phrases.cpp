#include "report/phrases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analysis/flops.hpp"
#include "analysis/job_steps.hpp"
#include "analysis/metrics.hpp"
#include "analysis/structure/periodic_events.hpp"
#include "analysis/structure/roofline.hpp"
#include "report/cause_times.hpp"
#include "report/layout.hpp"
#include "report/suppressed.hpp"
#include "report/tables.hpp"
#include "report/verdict.hpp"

namespace gh {
namespace {

// Busy is not efficient: how much of the GPU was at work, where that was sampled. A monitor whose
// clock cannot be aligned tells only averages over all of its file.
std::string activity_text(const Analysis& a) {
  const bool aligned = sampled_activity(a, "sm_active") || sampled_activity(a, "tensor_active");
  const auto mean = [&](const char* activity) {
    return aligned ? sampled_activity(a, activity) : unaligned_activity(a, activity);
  };
  std::string text;
  if (const auto sms = mean("sm_active")) text += ", SMs active " + percent(*sms);
  if (const auto tensor = mean("tensor_active"))
    text += (text.empty() ? ", tensor cores active " : ", tensor cores ") + percent(*tensor);
  return text.empty() || aligned ? text : text + " over all that was monitored";
}

// How much of the GPU's peak the model can have reached. Below what can be printed it says so: "0
// %" would be read as not counted.
std::string mfu_text(const Analysis& a, const StepTime& step) {
  const auto bound = a.has_steps() ? mfu_upper_bound(a) : std::nullopt;
  if (!bound || *bound == 0) return "";
  if (const auto mfu = mfu_of(a)) return ", MFU " + percent(step.share(*mfu));
  return ", MFU at most " + percent(step.share(*bound));
}

// A loss that no rule explains is reported from this share on: launch gaps and waits of healthy
// training stay below.
constexpr double unexplained_share = 0.15;

// The cause of the account, compute aside, that takes most of the time.
std::pair<std::string, double> largest_loss(const Analysis& a, const StepTime& step) {
  for (const AccountLine& line : account_lines(a, step))
    if (!line.cause.empty() && !Cause(line.cause).computes()) return {line.cause, line.fraction};
  return {"", 0};
}

// How far the recorded mean of what is replayed is from that of all.
std::string part_text(const StepTime& step) {
  const Ns longer = step.part_ns - step.recorded_ns;
  if (longer == 0) return "Its mean is that of all.";
  return fmt::format("As recorded, its mean is {} {} than that of all, {}.",
                     duration(std::abs(longer)), longer > 0 ? "longer" : "shorter",
                     duration(step.recorded_ns));
}

// Of how much the replay is, where it is not of all.
std::string sample_text(const Replay& r) {
  if (r.of_window() > 1)
    return fmt::format(
        "The replay covers one of {:.0f} equal parts of the window, the one most like the whole.",
        r.of_window());
  if (r.whole_window()) return "";
  if (r.steps() == r.of_steps())
    return r.step().part_ns == r.step().recorded_ns
               ? ""
               : fmt::format("The replay measures from the end of the first {}.",
                             r.analysis().words().noun);
  return fmt::format("The replay covers {} of {} {}: {}.", r.steps(), r.of_steps(),
                     r.analysis().words().many,
                     r.runs().size() == 1 ? "a run that is representative of all"
                                          : "a faster run and a slower one, weighted to "
                                            "represent all");
}

// What bounds a step: the GPU, the link to the host, or the host itself.
std::string bound_text(const Replay::Bounds& b) {
  const Ns host = b.host_ns, gpu = b.compute_ns, link = b.link_ns;
  const Ns products = std::min(b.products_ns, gpu);
  const std::string gpu_text =
      duration(gpu) + " of kernels" +
      (products > 0 ? fmt::format(", {} of it in matrix products and attention", duration(products))
                    : "");
  if (gpu >= host && gpu >= link) return "the GPU: " + gpu_text;
  if (link >= host) return fmt::format("the link to the host: {} of copies", duration(link));
  return "the host: it needs " + duration(host) + (gpu > 0 ? "; the GPU needs " + gpu_text : "");
}

}  // namespace

std::string seconds(Ns ns) { return fmt::format("{:.4f} s", static_cast<double>(ns) / 1e9); }

std::string listed(const std::vector<std::string>& list) {
  if (list.size() < 2) return list.empty() ? "" : list.front();
  return fmt::format("{} and {}", fmt::join(list.begin(), list.end() - 1, ", "), list.back());
}

std::string device_label(const Trace& trace, std::uint16_t device) {
  const Device& d = trace.devices[device];
  return fmt::format("device {}: {}", d.ordinal,
                     d.name.empty() ? "GPU not named in the report" : shortened(d.name, 80));
}

std::string recording_text(const Analysis& a) {
  const std::string program = a.program.described();
  return fmt::format("{}, schema {}{}{}", a.trace.producer, a.trace.schema,
                     program.empty() ? "" : ": ", program);
}

namespace {

// "5 of 6 training steps": those that are judged, of all. Ranges mark where a step ends, not where
// the first begins, and a recording cuts the last one off.
std::string judged_text(const Analysis& a, const DeviceSteps& d) {
  const auto steps = static_cast<std::int64_t>(d.steps.size());
  if (d.selected || d.levels.empty() || d.is_largest_of_sweep) return plural(steps, a.unit());
  const std::int64_t all = d.levels.front().count;
  return all - steps - d.left_out - d.lost > 0
             ? fmt::format("{} of {}", steps, plural(all, a.unit()))
             : plural(steps, a.unit());
}

// Why a device has not the levels of the first one.
std::string unlike_text(const Analysis& a, const DeviceSteps& d) {
  const DeviceSteps& first = a.devices.front();
  if (d.repeats_like(first) && d.source == first.source) return "";
  const double common = common_fraction(a.trace, first, d);
  return fmt::format("; unlike device {}, with which it has {} of its operations in common",
                     a.trace.devices[first.device].ordinal, percent(common));
}

}  // namespace

std::string device_text(const Analysis& a, const DeviceSteps& d) {
  const std::vector<Ns> lengths = d.lengths();
  std::string text = device_label(a.trace, d.device) + ", ";
  if (d.source == StepSource::none)
    text += fmt::format("{}, {}", d.described, duration(lengths.front()));
  else
    text += fmt::format("{} from {}", judged_text(a, d), d.described);
  if (d.left_out > 0)
    text += fmt::format("; {} of start-up left out", plural(d.left_out, a.words().noun));
  if (d.lost > 0)
    text += fmt::format("; {} of {} {} left out: the profiler lost their kernels", d.lost,
                        d.levels.front().count, a.words().many);
  return text + unlike_text(a, d);
}

std::vector<SegmentLine> segment_lines(const Analysis& a) {
  const Segments& segments = a.segments();
  const auto devices = static_cast<Ns>(std::max<std::size_t>(1, a.devices.size()));
  std::vector<SegmentLine> lines;
  for (const Segment& s : segments.list)
    lines.push_back({.label = label_of(a, s),
                     .ns = s.device_ns / devices,
                     .fraction = segments.fraction(s),
                     .repeats = s.loop && s.place() != LoopPlace::beside
                                    ? plural(s.loop->count, s.loop->name)
                                    : "",
                     .segment = &s});
  return lines;
}

namespace {

// Whether it may be one more step, cut off at an end or not counted: as short and as busy as one.
bool may_be_a_step(const Analysis& a, const SegmentLine& line, const SegmentLine& steps) {
  return a.has_steps() && 2 * line.ns <= 3 * a.recorded_step_ns() &&
         2 * line.segment->busy_fraction() >= steps.segment->busy_fraction();
}

// Whether the GPUs have nothing more to do in most of what follows the steps.
bool ends_the_program(const Analysis& a, const SegmentLine& line) {
  if (line.segment->kind != Segment::Kind::after) return false;
  Ns last = 0;
  for (const DeviceSteps& d : a.devices)
    for (const Row op : d.ops) last = std::max(last, a.trace.ops.end[op]);
  const Span& span = line.segment->span;
  return 2 * (span.end - last) > span.length();
}

}  // namespace

std::string outside_text(const Analysis& a) {
  constexpr double least = 0.1;  // of the recording: what takes less changes no decision
  if (fraction_outside(a) < least) return "";
  const std::vector<SegmentLine> lines = segment_lines(a);
  const auto steps = std::find_if(lines.begin(), lines.end(), [](const SegmentLine& line) {
    return line.segment->kind == Segment::Kind::steps;
  });
  if (steps == lines.end()) return "";
  double outside = 0;
  for (const SegmentLine& line : lines)
    if (&line != &*steps && !may_be_a_step(a, line, *steps)) outside += line.fraction;
  if (outside < least) return "";
  std::string text = fmt::format("Of the {} recorded:", duration(a.segments().recording.length()));
  const char* separator = " ";
  for (const SegmentLine& line : lines) {
    // The account tells of the steps, without what the profiler adds.
    const std::string busy = line.segment->kind == Segment::Kind::steps
                                 ? ""
                                 : ", GPU busy " + percent(line.segment->busy_fraction());
    text +=
        fmt::format("{}{} {} ({}{}{}{})", separator, line.label, duration(line.ns),
                    percent(line.fraction), busy, line.repeats.empty() ? "" : ": " + line.repeats,
                    ends_the_program(a, line) ? ", most of it after the GPU's last work" : "");
    separator = ", ";
  }
  return text + '.';
}

std::vector<std::string> periodic_texts(const Analysis& a) {
  std::vector<std::string> texts;
  const auto recorded_ns = static_cast<double>(a.recorded_step_ns());
  for (const PeriodicEvent& e : a.periodic_events()) {
    std::string text = fmt::format(
        "Every {} {} takes {} longer, {} of the mean {} as recorded ({}): {}", ordinal(e.every),
        a.words().noun, duration(e.extra_ns), duration(e.cost_ns), a.words().noun,
        percent(e.cost_ns / recorded_ns), cause_label(a.account.causes[e.cause]));
    if (e.doing != 0)
      text += fmt::format(", in '{}'", shortened(without_arguments(a.trace.names[e.doing]), 60));
    if (e.within != 0)
      text +=
          fmt::format(" (within '{}')", shortened(without_arguments(a.trace.names[e.within]), 60));
    texts.push_back(text + '.');
  }
  return texts;
}

std::string different_units_text(const Analysis& a) {
  const auto unit_of = [](const DeviceSteps& d) {
    return d.levels.empty() ? std::string() : d.levels.front().name;
  };
  const bool is_shared = share_a_device(a.devices);
  if (!is_shared && std::all_of(a.devices.begin(), a.devices.end(), [&](const DeviceSteps& d) {
        return unit_of(d) == unit_of(a.devices.front());
      }))
    return "";
  std::vector<std::string> texts;
  for (const Segment& s : a.segments().list) {
    Ns all_ns = 0;
    for (const UnitShare& u : s.units) all_ns += u.busy_ns;
    for (const UnitShare& u : s.units)
      texts.push_back(fmt::format(
          "{} ({} of the work)",
          u.unit.name == window_unit ? "no steps" : plural(u.unit.count, u.unit.name),
          percent(static_cast<double>(u.busy_ns) / static_cast<double>(std::max<Ns>(all_ns, 1)))));
  }
  if (texts.empty()) return "";
  return fmt::format(
      "{}: {}.",
      is_shared ? "Loops run on a GPU at the same time" : "The GPUs repeat different units",
      listed(texts));
}

std::string loop_label(const Analysis& a, const JudgedLoop& loop) {
  if (loop.name.find(' ') != std::string::npos)
    return plural(loop.name);  // "later batch" says where
  switch (loop.place) {
    case LoopPlace::before: return plural(loop.name) + " before the " + a.words().many;
    case LoopPlace::beside: return plural(loop.name) + " beside the " + a.words().many;
    default: return plural(loop.name) + " after the last " + a.words().noun;
  }
}

std::vector<std::string> loop_texts(const Analysis& a, const Report& report) {
  std::vector<std::string> texts;
  for (const JudgedLoop& loop : report.loops) {
    std::string text = fmt::format("In the {} ({} judged, {} each): ", loop_label(a, loop),
                                   loop.steps, duration(loop.step_ns));
    if (const auto& f = loop.finding)
      text +=
          fmt::format("{} (saves {}, {}); ", f->title, amount_text(*f), percent(f->alone_fraction));
    else
      text += "no large problem was found; ";
    texts.push_back(text + fmt::format("--unit {} judges them.", shell_word(loop.name)));
  }
  return texts;
}

namespace {

std::string waited_for(const HostWait& wait) {
  const std::string size = bytes_text(static_cast<double>(wait.bytes));
  switch (wait.what) {
    case WaitFor::result: return "for a result of " + size;
    case WaitFor::decision: return "for a result that decides what comes next";
    case WaitFor::upload: return "for an upload of " + size;
    case WaitFor::pageable: return "for a copy of " + size + " through pageable memory";
    case WaitFor::managed:
    case WaitFor::migration: return "for pages that the host touches next";
    case WaitFor::offload: return "for an offloaded tensor";
    case WaitFor::checkpoint: return "for a checkpoint";
    case WaitFor::memory: return "to give memory back";
    default: return "for all work before it";
  }
}

}  // namespace

std::vector<WaitLine> wait_lines(const Report& report, double least_fraction) {
  std::vector<WaitLine> lines;
  for (const HostWait& wait : report.waits) {
    const double fraction = report.step.ns > 0 ? static_cast<double>(wait.saves_ns) /
                                                     static_cast<double>(report.step.ns)
                                               : 0;
    const bool silent = wait.what == WaitFor::unrecorded;
    if (wait.without && fraction < least_fraction) continue;
    WaitLine line{&wait, fraction, "unknown", ""};
    if (silent) {
      line.label =
          fmt::format("'{}' {} {} {}: it {} for {}", wait.thread,
                      wait.within_call ? "hangs for" : "is silent for", duration(wait.blocked_ns),
                      (wait.within_call ? "in " : "before ") + wait.call,
                      wait.is_certain ? "waits" : "may wait", wait.waits_for);
      lines.push_back(std::move(line));
      continue;
    }
    if (wait.without) line.saves = (wait.at_most ? "at most " : "") + duration(wait.saves_ns);
    line.label = fmt::format("{} x {} {}",
                             wait.per_step < 0.95 ? fmt::format("{:.2f}", wait.per_step)
                                                  : fmt::format("{:.0f}", wait.per_step),
                             wait.call, waited_for(wait));
    if (!wait.op.empty()) line.label += ", in " + wait.op;
    if (!wait.layer.empty()) line.label += (wait.op.empty() ? ", in " : " of ") + wait.layer;
    if (!wait.source.file.empty())
      line.label += fmt::format(", {}:{}", wait.source.file, wait.source.line);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string waits_title(const UnitWords& words) {
  return fmt::format("What waits for the GPU cost {}, each alone", words.a);
}

std::string units_text(const Analysis& a) {
  const auto repeats = [](const DeviceSteps& d) {
    return d.source == StepSource::ranges || d.source == StepSource::kernels;
  };
  if (a.remade || std::none_of(a.devices.begin(), a.devices.end(), repeats)) return "";
  std::vector<std::string> units = units_of(a.trace, a.classes, a.names, a.program, a.devices);
  if (std::find(units.begin(), units.end(), a.unit()) == units.end())
    units.insert(units.begin(), a.unit());
  for (std::string& unit : units) unit = shell_word(unit);
  return fmt::format("--unit chooses among: {}.", fmt::join(units, ", "));
}

std::string repeats_text(const Analysis& a) {
  const bool nested = std::any_of(a.devices.begin(), a.devices.end(),
                                  [](const DeviceSteps& d) { return d.levels.size() > 1; });
  const std::string repeats = a.repeats();
  return nested && !repeats.empty() ? "Repeats: " + repeats : "";
}

std::string step_time_text(const Analysis& a, const StepTime& step) {
  if (a.total_ns() == 0) return "";
  const std::string length = duration(step.ns), recorded = duration(step.recorded_ns);
  const std::string takes = a.has_steps()
                                ? fmt::format("{} takes {}", capitalized(a.words().a), length)
                                : fmt::format("The window takes {}", length);
  std::string text;
  switch (step.from) {
    case StepTime::From::measured:
      text = fmt::format("{}, measured without the profiler ({}); recorded, it took {}.", takes,
                         a.trace.measured_step.from, recorded);
      break;
    case StepTime::From::replayed:
      text = length == recorded           ? takes + '.'
             : step.ns > step.recorded_ns ? fmt::format("{} (recorded: {}).", takes, recorded)
             : step.is_uncertain()
                 ? fmt::format(
                       "{} without the profiler's overhead, {} to {} as far as that is known; "
                       "recorded, it took {}.",
                       takes, duration(step.least_ns), duration(step.most_ns), recorded)
                 : fmt::format("{} without the profiler's overhead; recorded, it took {}.", takes,
                               recorded);
      break;
    case StepTime::From::recorded:
      text = takes + ", as recorded";
      if (a.measured_step_ns() > 0)
        text += fmt::format("; measured without the profiler, {} ({})",
                            duration(a.measured_step_ns()), a.trace.measured_step.from);
      text += '.';
      break;
  }
  const MeasuredStep& measured = a.trace.measured_step;
  if (const std::string why = a.why_measured_step_is_unused(); !why.empty())
    text += fmt::format(" The measured {} of {} ({}) is not used: {}.", measured.unit,
                        duration(measured.ns), measured.from, why);
  return text;
}

Unseen unseen_text(const Analysis& a) {
  if (a.coverage() >= least_coverage) return {};
  Unseen unseen{fmt::format("{} of the GPU's work could not be judged: it is in CUDA graphs that "
                            "were traced as a whole.",
                            percent(1 - a.coverage())),
                ""};
  if (const std::string& with = a.trace.availability(Source::graph_nodes).record_with;
      !with.empty())
    unseen.record = fmt::format("Record with nsys profile {} to see the kernels in them.", with);
  return unseen;
}

std::vector<std::string> side_notes(const Analysis& a, const StepTime& step) {
  std::vector<std::string> notes;
  if (const std::string text = step_time_text(a, step); !text.empty()) notes.push_back(text);
  if (const std::string repeats = repeats_text(a); !repeats.empty()) notes.push_back(repeats);
  if (const std::string units = different_units_text(a); !units.empty()) notes.push_back(units);
  if (const std::string outside = outside_text(a); !outside.empty()) notes.push_back(outside);
  if (a.coverage() < least_coverage)
    notes.push_back(fmt::format("Coverage: the kernels of {} of the GPU's work are known.",
                                percent(a.coverage())));
  for (const DeviceSteps& d : a.unused_devices)
    notes.push_back(
        fmt::format("device {} is left out: it ran {} and no {}", a.trace.devices[d.device].ordinal,
                    plural(static_cast<std::int64_t>(d.ops.size()), "operation"), a.words().noun));
  if (!a.trace.monitor.time_base.empty())
    notes.push_back("DCGM samples: time base " + a.trace.monitor.time_base);
  return notes;
}

std::string privacy_text(const Analysis& a) {
  if (a.trace.environment_variables == 0) return "";
  return fmt::format(
      "The report holds {} of the profiled program; before you share it: gh-advise scrub {} -o OUT",
      plural(a.trace.environment_variables, "environment variable"), a.trace.path);
}

std::string class_label(const std::string& kernel_class) {
  return cause_label(cause_name(kernel_class)).substr(std::string_view("compute: ").size());
}

std::string path_title(const UnitWords& unit) { return fmt::format("What {} waits for", unit.a); }

std::string path_label(PathItem::Kind kind, const std::string& name) {
  switch (kind) {
    case PathItem::Kind::compute: return cause_label(cause_name(name));
    case PathItem::Kind::copy:
      return name == "h2d"   ? "copies to the device"
             : name == "d2h" ? "copies to the host"
             : name == "p2p" ? "copies between devices"
                             : "copies (" + name + ")";
    case PathItem::Kind::communication:
      return name == "other_ranks" ? "communication, and waiting for ranks not in the report"
                                   : "communication";
    case PathItem::Kind::launch_latency: return "launches on their way to the GPU";
    case PathItem::Kind::gap: return "between operations";
    case PathItem::Kind::dependency:
      if (name.empty()) return "waiting for other work";
      return "waiting for other work, before " +
             (name == "h2d" || name == "d2h" ? "copies" : class_label(name));
    case PathItem::Kind::call: return "host: in " + name;
    case PathItem::Kind::host:
      return name.empty() ? "host: between calls, in no range" : "host: " + name;
    case PathItem::Kind::rest: return "all else";
    default: return "not recorded";
  }
}

PathLines path_lines(const Path& path, double least_share) {
  PathLines out;
  const double step_ns = path.step_ns();
  for (const PathItem& item : path.items) {
    const double ns = path.step_ns(item), fraction = ns / step_ns;
    if (fraction >= least_share) {
      out.lines.push_back({path_label(item.kind, item.name), ns, fraction, &item});
    } else {
      out.small_ns += ns;
      ++out.small_count;
    }
  }
  return out;
}

std::string path_device(const Analysis& a, const PathItem& i) {
  if (a.devices.size() < 2 || i.by_device.empty() || i.ns == 0) return "";
  const auto most = std::max_element(i.by_device.begin(), i.by_device.end());
  const DeviceSteps& device = a.devices[static_cast<std::size_t>(most - i.by_device.begin())];
  return fmt::format("device {}: {}", a.trace.devices[device.device].ordinal,
                     percent(static_cast<double>(*most) / static_cast<double>(i.ns)));
}

std::string busy_text(const Analysis& a, const StepTime& step) {
  return "GPU busy " + percent(step.busy_share(a)) + mfu_text(a, step) + activity_text(a);
}

std::string hottest_kernel_text(const Analysis& a, const StepTime& step) {
  // A fix of what takes less than a twentieth is worth less than that.
  constexpr double least_share = 0.05;
  const std::optional<HottestKernel> hottest = hottest_kernel(a);
  if (!hottest || step.share(hottest->of_window) < least_share) return "";
  const double steps = static_cast<double>(std::max<std::int64_t>(a.step_count(), 1));
  const double launches = static_cast<double>(hottest->count) / steps;
  const std::string& kernel_class = a.classes.name_of(hottest->kernel_class);
  return fmt::format(
      "The kernel that takes most is {} ({}): {} of the kernels' time, {} of the {}, {:.{}f} "
      "time{} {}, {} each.",
      shortened(kernel_label(a.trace.names[hottest->name]), 80), class_label(kernel_class),
      percent(hottest->of_kernels), percent(step.share(hottest->of_window)), a.words().noun,
      launches, launches == std::floor(launches) ? 0 : 1, launches == 1 ? "" : "s", a.words().per,
      duration(static_cast<double>(hottest->ns) / static_cast<double>(hottest->count)));
}

std::string bound_verdict_text(const Analysis& a, const StepTime& step) {
  const BoundBy bound = bound_by(a, step);
  if (bound.by.empty()) return "";
  std::string text = "Bound by " + bound_text(a, bound) + ".";
  if (const std::string verdict = mfu_verdict(a, step); verdict.starts_with("below")) {
    if (const auto mfu = mfu_of(a))
      text += fmt::format(" MFU {} is {}.", percent(step.share(*mfu)), verdict);
  }
  return text;
}

std::string amount_text(const Finding& f) { return amount_text(f, f.alone_ns); }

std::string amount_text(const Finding& f, Ns ns) {
  if (is_to_try(f)) return "up to " + duration(ns);
  const std::string likely = fmt::format("{} {}", about(f), duration(ns));
  if (!f.about || !f.predicted || f.masked) return likely;
  const auto [least, most] = saving_range(f, ns);
  if (4 * (most - least) <= ns) return likely;
  return fmt::format("{} ({} to {})", likely, least > 0 ? duration(least) : "nothing",
                     duration(most));
}

const char* about(const Finding& f) { return f.about ? "about" : "at most"; }

std::string saving_text(const Finding& f, const UnitWords& unit) {
  if (f.alone_ns <= 0 || f.masked) return "";
  return fmt::format("saves {} {}", amount_text(f), f.of_window ? "of the window" : unit.per);
}

std::string whole_text(const Analysis& a, const StepTime& step) {
  const std::string which = a.has_steps() ? "each" : "the", noun = a.words().noun;
  if (!step.is_uncertain()) return fmt::format("{} {} {}", which, duration(step.ns), noun);
  return fmt::format("{} {} of {} ({} to {})", which, noun, duration(step.ns),
                     duration(step.least_ns), duration(step.most_ns));
}

std::string doubt_text(const Finding& f) {
  return f.confidence == "high" ? "" : fmt::format(" ({} confidence)", f.confidence);
}

std::string prediction_text(const Finding& f) {
  if (!f.predicted) return "";
  const Prediction& p = *f.predicted;
  if (f.masked)
    return fmt::format("{} with this fix and those before it; expect to measure {} to {} ({})",
                       duration(p.step_ns), duration(p.least_ns), duration(p.most_ns), p.why);
  if (is_to_try(f))
    return fmt::format("{} to {} with this fix alone: time both, as gh-advise try does ({})",
                       duration(p.least_ns), duration(p.most_ns), p.why);
  // A ceiling that the finding cites nothing of says nothing about other work.
  if (f.alone_ns == 0 && !f.about)
    return fmt::format("{} to {} with this fix alone ({})", duration(p.least_ns),
                       duration(p.most_ns), p.why);
  if (f.alone_ns == 0 && p.saving_range(0).second == 0)
    return fmt::format("still {} with this fix alone: other work hides it", duration(p.step_ns));
  if (f.about)
    return fmt::format("{} with this fix alone; expect to measure {} to {} ({})",
                       duration(p.step_ns), duration(p.least_ns), duration(p.most_ns), p.why);
  return fmt::format("no less than {} with this fix alone ({})", duration(p.step_ns), p.why);
}

// Some ranges hold arguments.
constexpr std::size_t most_owner = 60;

std::string where_text(const Finding& f) {
  std::string text;
  for (const ConcernedLayer& l : f.layers) {
    text += text.empty() ? "" : "; ";
    if (l.path == "layer *" || l.path == "part *")  // which no range names
      text += fmt::format("{} of {} {}s", l.count, l.of, l.path.substr(0, l.path.find(' ')));
    else
      text += l.path + (l.of > 1 ? fmt::format(", {} of {} layers", l.count, l.of) : "");
  }
  if (f.owner.empty()) return text;
  return text.empty() ? shortened(f.owner, most_owner)
                      : fmt::format("{}; mostly {}", text, shortened(f.owner, most_owner));
}

std::string sharing_text(const Finding& f, const Report& report) {
  if (f.after.empty() || f.masked) return "";
  std::vector<std::string> rules;  // of the fixes before it
  for (const Finding& before : report.findings)
    if (std::find(f.after.begin(), f.after.end(), before.fingerprint) != f.after.end())
      rules.push_back(before.rule);
  std::sort(rules.begin(), rules.end());
  rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
  return fmt::format("saves {} alone, {} once {} {} fixed", amount_text(f),
                     f.recoverable_ns > 0 ? duration(f.recoverable_ns) : "nothing", listed(rules),
                     rules.size() == 1 ? "is" : "are");
}

std::string step_text(const Plan& p, const Prediction& s) {
  return duration(s.step_ns) +
         (p.items > 0 ? fmt::format(" ({:.0f} {}/s)",
                                    p.items / (static_cast<double>(s.step_ns) / 1e9), p.item)
                      : "");
}

std::vector<std::string> plan_notes(const Report& report) {
  const Plan& p = *report.plan;
  const UnitWords unit = report.replay->analysis().words();
  std::vector<std::string> notes;
  if (!p.fixes.empty())
    notes.push_back(fmt::format("What then limits {} is {}.", unit.a, bound_text(p.bounds)));
  if (const std::string sample = sample_text(*report.replay); !sample.empty())
    notes.push_back(sample + ' ' + part_text(report.replay->step()));
  std::vector<std::string> masked;
  for (const PlanLine& line : plan_lines(report))
    if (line.masked) masked.push_back(std::to_string(line.number));
  if (!masked.empty())
    notes.push_back(fmt::format("{} only once the fixes above {} are made.",
                                masked.size() == 1 ? fmt::format("Fix {} matters", listed(masked))
                                                   : fmt::format("Fixes {} matter", listed(masked)),
                                masked.size() == 1 ? "it" : "them"));
  return notes;
}

Quiet quiet_text(const Analysis& a, const Report& report) {
  const bool loud = std::any_of(report.findings.begin(), report.findings.end(),
                                [](const Finding& f) { return f.severity != Severity::note; });
  if (loud) return {};
  if (const std::string hidden = suppressed_verdict(a, report); !hidden.empty())
    return {hidden, false};
  if (report.clean.empty() && report.findings.empty()) return {};
  const auto [cause, share] = largest_loss(a, report.step);
  if (share < unexplained_share)
    return {fmt::format("{} was found{}.",
                        report.findings.empty() ? "Nothing to fix" : "No large problem",
                        a.coverage() < least_coverage ? " in the rest" : ""),
            true};
  // A note that may save most of that loss explains it as far as anything does.
  const auto named = std::max_element(
      report.findings.begin(), report.findings.end(), [](const Finding& x, const Finding& y) {
        return std::pair(!x.masked, x.alone_ns) < std::pair(!y.masked, y.alone_ns);
      });
  if (named != report.findings.end() && !named->masked && 2 * named->alone_fraction > share)
    return {fmt::format("No problem is certain; the largest that may be one: {}.", named->title),
            false};
  return {fmt::format("No known problem explains the largest loss: {}, {} of the {}.",
                      cause_label(cause), percent(share), a.words().noun),
          false};
}

std::vector<std::string> not_checked_text(const Report& report, bool mark_code) {
  // Rules that lack the same thing are named together.
  std::vector<std::pair<NotChecked, std::string>> lacking;
  for (const NotChecked& n : report.not_checked) {
    const auto same = std::find_if(lacking.begin(), lacking.end(), [&](const auto& l) {
      return l.first.reason == n.reason && l.first.record_with == n.record_with;
    });
    if (same == lacking.end())
      lacking.emplace_back(n, n.rule);
    else
      same->second += ", " + n.rule;
  }
  std::vector<std::string> lines;
  for (const auto& [n, ids] : lacking) {
    std::string line =
        fmt::format("{}: {}.", ids, n.reason.substr(0, n.reason.find_last_not_of('.') + 1));
    if (!n.record_with.empty()) {
      std::string with = mark_code ? n.marked_record_with : n.record_with;
      if (!n.record_with.starts_with("torch."))
        with.insert(with.starts_with('`') ? 1 : 0, "nsys profile ");
      line += " Record with: " + with;
    }
    lines.push_back(line);
  }
  return lines;
}

std::string suppressed_text(const Suppression& s) {
  return fmt::format("{}{}: {}{} ({})", s.rule, s.subject == "*" ? "" : ", " + s.subject, s.reason,
                     s.until.empty() ? "" : ", until " + s.until, s.where);
}

std::vector<std::pair<const char*, std::string>> rule_parts(const Rule& rule) {
  return {{"What it does", rule.what},
          {"Why it matters", rule.why},
          {"How to fix it", rule.fix},
          {"When it is wrong", rule.wrong}};
}

std::string option_text(const OptionValue& value) {
  if (const auto* n = std::get_if<double>(&value)) return fmt::format("{}", *n);
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  return fmt::format("\"{}\"", std::get<std::string>(value));
}

}  // namespace gh

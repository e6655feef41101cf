#include "report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>

#include "report/layout.hpp"
#include "report/phrases.hpp"

namespace gh {
namespace {

constexpr std::size_t activities = static_cast<std::size_t>(Activity::count);
constexpr std::array<const char*, activities> names{
    "products",   "attention",   "kernels",     "communication",   "copy",    "stall",
    "idle-input", "idle-sync",   "idle-launch", "idle-other",      "step",    "range",
    "call",       "call-launch", "call-sync",   "call-allocation", "os-call", "fault"};
constexpr std::array<const char*, activities> labels{"matrix products",
                                                     "fused attention",
                                                     "other GPU work",
                                                     "exposed communication",
                                                     "exposed copies",
                                                     "unified-memory stall",
                                                     "idle: input",
                                                     "idle: sync",
                                                     "idle: launch",
                                                     "idle: other",
                                                     "step",
                                                     "range",
                                                     "CUDA call",
                                                     "CUDA call that launches",
                                                     "CUDA call that waits",
                                                     "CUDA call that allocates",
                                                     "operating-system call",
                                                     "page fault"};

constexpr std::size_t most_range_levels = 5, most_streams = 6, most_other_devices = 3,
                      most_concerned = 20, most_before = 4'096;
// Evidence is shown with half its length on either side, and never less than this: what led to a
// kernel of 5 us takes longer than that.
constexpr Ns least_margin_ns = 200'000;

bool touches(Ns start, Ns end, Span s) { return start < s.end && end > s.start; }

Activity call_activity(CallClass c) {
  switch (c) {
    case CallClass::sync:
    case CallClass::copy_sync: return Activity::call_sync;
    case CallClass::allocation: return Activity::call_allocation;
    case CallClass::launch:
    case CallClass::graph_launch:
    case CallClass::copy: return Activity::call_launch;
    default: return Activity::call;
  }
}

// What operations count as in the account, without a look at names.
class Activities {
 public:
  explicit Activities(const Analysis& a) : a_(a) {
    for (const std::string& c : a.classes.kernel_classes())
      by_class_.push_back(c == "collective" ? Activity::communication
                                            : activity_of("compute." + c));
  }
  Activity operator()(Row op) const {
    const Ops& ops = a_.trace.ops;
    if (ops.kind[op] == OpKind::kernel) return by_class_[a_.names.kernel[ops.name[op]]];
    if (ops.kind[op] != OpKind::copy || ops.copy[op] == CopyKind::d2d) return Activity::kernels;
    return is_unified(ops.copy[op]) ? Activity::stall : Activity::copy;
  }

 private:
  const Analysis& a_;
  std::vector<Activity> by_class_;
};

std::string op_name(const Analysis& a, Row op) {
  const Ops& ops = a.trace.ops;
  switch (ops.kind[op]) {
    case OpKind::kernel: return kernel_label(a.trace.names[ops.name[op]]);
    case OpKind::graph: return "CUDA graph";
    case OpKind::set: return "memset";
    default:
      if (is_unified(ops.copy[op])) return fmt::format("migration {}", name_of(ops.copy[op]));
      return fmt::format(
          "copy {}{}", name_of(ops.copy[op]),
          ops.source[op] == MemoryKind::pageable || ops.target[op] == MemoryKind::pageable
              ? ", pageable"
              : "");
  }
}

// Pieces as they come, those too short to be seen joined with their neighbours. What is too short
// depends on where it lies.
class Drawn {
 public:
  Drawn(std::vector<Piece>& out, Span detail, Ns fine, Ns coarse)
      : out_(out), detail_(detail), fine_(fine), coarse_(coarse) {}
  ~Drawn() { flush(); }

  // In order of start.
  template <class Text>
  void add(Span s, Activity activity, Text text) {
    const bool near = touches(s.start, s.end, detail_);
    const Ns least = near ? fine_ : coarse_;
    if (s.length() >= least) {
      flush();
      out_.push_back({s, text(), activity, 1, s.length()});
      return;
    }
    if (open_.count > 0 &&
        (near != near_ || s.start - open_.span.end > least || open_.span.length() >= 2 * least))
      flush();
    if (open_.count == 0) {
      open_ = {s, text(), activity, 1, s.length()};
      near_ = near;
      weight_ = {};
    } else {
      const Ns covered = std::max<Ns>(0, s.end - std::max(s.start, open_.span.end));
      open_.span.end = std::max(open_.span.end, s.end);
      open_.name.clear();
      ++open_.count;
      open_.busy_ns += covered;
    }
    weight_[static_cast<std::size_t>(activity)] += s.length();
  }

 private:
  void flush() {
    if (open_.count == 0) return;
    if (open_.count > 1)
      open_.activity =
          static_cast<Activity>(std::max_element(weight_.begin(), weight_.end()) - weight_.begin());
    out_.push_back(std::move(open_));
    open_ = {};
    open_.count = 0;
  }
  std::vector<Piece>& out_;
  Span detail_;
  Ns fine_, coarse_;
  Piece open_{{}, "", Activity::kernels, 0, 0};
  bool near_ = false;
  std::array<Ns, activities> weight_{};
};

// The thread that evidence names. Ranks in containers have threads of one name and number: that of
// the device's process then.
std::uint16_t thread_of(const Analysis& a, const Evidence& e) {
  std::uint16_t found = no_index;
  for (std::uint16_t i = 0; i < a.trace.threads.size() && !e.thread.empty(); ++i) {
    if (a.trace.thread_label(i) != e.thread) continue;
    if (found == no_index) found = i;
    for (const DeviceSteps& d : a.devices)
      if (a.trace.devices[d.device].ordinal == e.device && d.process == a.trace.threads[i].process)
        return i;
  }
  return found;
}

// The analysed device on which evidence lies: the one it names, else the first that its thread's
// process launched on, else the first.
std::size_t device_of(const Analysis& a, const Evidence& e, std::uint16_t thread) {
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    if (e.device >= 0 && a.trace.devices[a.devices[d].device].ordinal == e.device) return d;
  if (e.device < 0 && thread != no_index)
    for (std::size_t d = 0; d < a.devices.size(); ++d)
      if (a.devices[d].process == a.trace.threads[thread].process) return d;
  return 0;
}

// The thread that launched most of what ran on the device in a stretch of time.
std::uint16_t launching_thread(const Analysis& a, const DeviceSteps& device, Span within) {
  std::map<std::uint16_t, std::size_t> launched;
  for (const Row op : device.ops) {
    if (a.trace.ops.start[op] >= within.end) break;
    if (a.trace.ops.call[op] != no_row &&
        touches(a.trace.ops.start[op], a.trace.ops.end[op], within))
      ++launched[a.trace.calls.thread[a.trace.ops.call[op]]];
  }
  const auto most =
      std::max_element(launched.begin(), launched.end(),
                       [](const auto& x, const auto& y) { return x.second < y.second; });
  return most == launched.end() ? no_index : most->first;
}

// Gathers once what a view may show, and then draws it as finely as is asked for.
class ViewMaker {
 public:
  ViewMaker(const Analysis& a, const Evidence& e) : a_(a), t_(a.trace), activity_(a) {
    view_.evidence = e.span;
    thread_ = thread_of(a, e);
    device_ = device_of(a, e, thread_);
    const Ns margin = std::max(e.span.length() / 2, least_margin_ns);
    view_.detail = {e.span.start - margin, e.span.end + margin};
    view_.span = view_.detail;
    if (device_ < a.devices.size()) {
      if (a.has_steps()) {
        for (const Step& s : a.devices[device_].steps)
          if (touches(s.span.start, s.span.end, view_.detail))
            view_.span = {std::min(view_.span.start, s.span.start),
                          std::max(view_.span.end, s.span.end)};
      } else {
        view_.span = {view_.detail.start - 10 * view_.detail.length(),
                      view_.detail.end + 10 * view_.detail.length()};
      }
      if (thread_ == no_index) thread_ = launching_thread(a, a.devices[device_], view_.detail);
      if (thread_ == no_index) thread_ = launching_thread(a, a.devices[device_], view_.span);
      steps();
    }
    if (thread_ != no_index) {
      ranges();
      calls();
    }
    if (device_ < a_.devices.size()) {
      streams();
      faults();
      lost();
      other_devices();
    }
  }

  // Things shorter than these are drawn together.
  View made(Ns fine, Ns coarse) {
    view_.lanes.clear();
    for (const Source& s : sources_) {
      if (s.events.empty()) continue;
      Lane& lane = view_.lanes.emplace_back(Lane{s.label, {}});
      Drawn out(lane.pieces, view_.detail, fine, coarse);
      for (const Event& e : s.events) out.add(e.span, e.activity, [&] { return s.name(e.row); });
    }
    return view_;
  }

  const View& view() const { return view_; }

 private:
  struct Event {
    Span span;
    Activity activity;
    std::size_t row;
  };
  struct Source {
    std::string label;
    std::function<std::string(std::size_t row)> name;
    std::vector<Event> events;
  };

  std::vector<Event>& source(std::string label, std::function<std::string(std::size_t)> name) {
    return sources_.emplace_back(Source{std::move(label), std::move(name), {}}).events;
  }
  bool shown(Ns start, Ns end) const { return touches(start, end, view_.span); }

  void steps() {
    if (!a_.has_steps()) return;
    const std::vector<Step>& all = a_.devices[device_].steps;
    std::vector<Event>& events =
        source("steps", [&all](std::size_t i) { return fmt::format("step {}", all[i].number); });
    for (std::size_t i = 0; i < all.size(); ++i)
      if (shown(all[i].span.start, all[i].span.end))
        events.push_back({all[i].span, Activity::step, i});
  }

  // A level of its own for what is nested. Ranges that only overlap (start/end ranges) take a level
  // beside.
  void ranges() {
    std::vector<std::vector<Event>> levels;
    for (Row r = 0; r < t_.ranges.size() && t_.ranges.start[r] < view_.span.end; ++r) {
      if (t_.ranges.thread[r] != thread_ || t_.ranges.start[r] == t_.ranges.end[r] ||
          !shown(t_.ranges.start[r], t_.ranges.end[r]))
        continue;
      std::size_t level = 0;
      while (level < levels.size() && levels[level].back().span.end > t_.ranges.start[r]) ++level;
      if (level == most_range_levels) continue;
      if (level == levels.size()) levels.emplace_back();
      levels[level].push_back({{t_.ranges.start[r], t_.ranges.end[r]}, Activity::range, r});
    }
    for (std::size_t level = 0; level < levels.size(); ++level)
      source(level == 0 ? fmt::format("ranges of {}", t_.thread_label(thread_)) : "",
             [this](std::size_t r) { return t_.names[t_.ranges.name[r]]; }) =
          std::move(levels[level]);
  }

  void calls() {
    std::vector<Event>& cuda = source(fmt::format("CUDA calls of {}", t_.thread_label(thread_)),
                                      [this](std::size_t c) { return t_.names[t_.calls.name[c]]; });
    Ns nested_until = std::numeric_limits<Ns>::min();
    for (Row c = 0; c < t_.calls.size() && t_.calls.start[c] < view_.span.end; ++c) {
      if (t_.calls.thread[c] != thread_ || t_.calls.end[c] <= nested_until ||
          !shown(t_.calls.start[c], t_.calls.end[c]))
        continue;
      nested_until = t_.calls.end[c];
      cuda.push_back({{t_.calls.start[c], t_.calls.end[c]},
                      call_activity(a_.names.call[t_.calls.name[c]]),
                      c});
    }
    std::vector<Event>& os =
        source(fmt::format("OS calls of {}", t_.thread_label(thread_)),
               [this](std::size_t c) { return t_.names[t_.os_calls.name[c]]; });
    for (Row c = 0; c < t_.os_calls.size() && t_.os_calls.start[c] < view_.span.end; ++c)
      if (t_.os_calls.thread[c] == thread_ && shown(t_.os_calls.start[c], t_.os_calls.end[c]))
        os.push_back({{t_.os_calls.start[c], t_.os_calls.end[c]}, Activity::os_call, c});
  }

  std::vector<Row> ops_of(std::size_t device) const {
    std::vector<Row> ops;
    for (const Row op : a_.devices[device].ops) {
      if (t_.ops.start[op] >= view_.span.end) break;
      if (shown(t_.ops.start[op], t_.ops.end[op])) ops.push_back(op);
    }
    return ops;
  }
  void add(const std::string& label, const std::vector<Row>& ops) {
    std::vector<Event>& events =
        source(label, [this](std::size_t op) { return op_name(a_, static_cast<Row>(op)); });
    for (const Row op : ops) events.push_back({t_.span_of(op), activity_(op), op});
  }

  // The busiest streams each, the rest in one lane.
  void streams() {
    std::map<std::uint32_t, std::vector<Row>> by_stream;
    std::vector<Span> compute, collectives, copies;
    for (const Row op : ops_of(device_)) {
      by_stream[t_.ops.stream[op]].push_back(op);
      const Activity what = activity_(op);
      (what == Activity::communication ? collectives
       : what == Activity::copy        ? copies
                                       : compute)
          .push_back(t_.span_of(op));
    }
    std::vector<std::pair<Ns, std::uint32_t>> busiest;
    for (const auto& [stream, ops] : by_stream) {
      Ns busy = 0;
      for (const Row op : ops) busy += t_.ops.end[op] - t_.ops.start[op];
      busiest.push_back({-busy, stream});
    }
    std::sort(busiest.begin(), busiest.end());
    std::vector<Row> rest;
    const std::size_t apart = busiest.size() <= most_streams ? busiest.size() : most_streams - 1;
    for (std::size_t i = 0; i < busiest.size(); ++i) {
      const std::vector<Row>& ops = by_stream[busiest[i].second];
      const std::int64_t id = t_.streams[busiest[i].second].id;
      if (i < apart)
        add(id < 0 ? "no stream" : fmt::format("stream {}", id), ops);
      else
        rest.insert(rest.end(), ops.begin(), ops.end());
    }
    std::sort(rest.begin(), rest.end());
    add(fmt::format("{} more streams", busiest.size() - apart), rest);
    const Spans computing = united(std::move(compute)), talking = united(std::move(collectives));
    exposed_communication_ = difference(talking, computing);
    exposed_copies_ = difference(difference(united(std::move(copies)), computing), talking);
  }

  void faults() {
    std::vector<Event>& events =
        source("GPU page faults", [](std::size_t) { return std::string("page faults handled"); });
    for (std::size_t f = 0; f < t_.gpu_faults.size() && t_.gpu_faults.start[f] < view_.span.end;
         ++f)
      if (t_.gpu_faults.device[f] == a_.devices[device_].device &&
          shown(t_.gpu_faults.start[f], t_.gpu_faults.end[f]))
        events.push_back({{t_.gpu_faults.start[f], t_.gpu_faults.end[f]}, Activity::fault, f});
  }

  // Rows are the causes of idle time here, and what is exposed after them.
  void lost() {
    constexpr std::size_t communication = 100, copies = 101;
    std::vector<Event>& events = source("GPU idle or exposed", [](std::size_t row) -> std::string {
      return row == communication ? "exposed communication"
             : row == copies      ? "exposed copy"
                                  : fmt::format("idle: {}", name_of(static_cast<IdleCause>(row)));
    });
    for (const Idle& i : a_.account.devices[device_].idle)
      if (shown(i.span.start, i.span.end))
        events.push_back({i.span, activity_of(std::string("idle.") + name_of(i.cause)),
                          static_cast<std::size_t>(i.cause)});
    for (const Span& s : exposed_communication_)
      events.push_back({s, Activity::communication, communication});
    for (const Span& s : exposed_copies_) events.push_back({s, Activity::copy, copies});
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& x, const Event& y) { return x.span.start < y.span.start; });
  }

  // Ranks wait for each other: what the others did meanwhile, each in one lane.
  void other_devices() {
    std::size_t added = 0;
    for (std::size_t d = 0; d < a_.devices.size() && added < most_other_devices; ++d)
      if (d != device_) {
        ++added;
        add(fmt::format("device {}, all streams", t_.devices[a_.devices[d].device].ordinal),
            ops_of(d));
      }
  }

  const Analysis& a_;
  const Trace& t_;
  Activities activity_;
  View view_;
  std::deque<Source> sources_;  // which stay where they are as others are added
  std::uint16_t thread_ = no_index;
  std::size_t device_ = 0;
  Spans exposed_communication_, exposed_copies_;
};

// Evenly chosen, the first and the last among them.
template <class T>
std::vector<T> thinned(const std::vector<T>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return some;
}

}  // namespace

const char* name_of(Activity a) { return names[static_cast<std::size_t>(a)]; }
const char* label_of(Activity a) { return labels[static_cast<std::size_t>(a)]; }

Activity activity_of(const std::string& cause) {
  if (cause.starts_with("compute.gem")) return Activity::products;
  if (cause == "compute.attention_fused") return Activity::attention;
  if (cause.starts_with("compute.")) return Activity::kernels;
  if (cause == "communication_exposed") return Activity::communication;
  if (cause == "copy_exposed") return Activity::copy;
  if (cause == "um_stall") return Activity::stall;
  if (cause == "idle.input") return Activity::idle_input;
  if (cause == "idle.sync") return Activity::idle_sync;
  if (cause == "idle.launch") return Activity::idle_launch;
  return Activity::idle_other;
}

View view_of(const Analysis& a, const Evidence& evidence, std::size_t most_pieces) {
  ViewMaker maker(a, evidence);
  Ns fine = std::max<Ns>(1, maker.view().detail.length() / 2000),
     coarse = std::max<Ns>(1, maker.view().span.length() / 1000);
  while (true) {
    View view = maker.made(fine, coarse);
    std::size_t pieces = 0;
    for (const Lane& l : view.lanes) pieces += l.pieces.size();
    if (pieces <= most_pieces || fine > maker.view().span.length()) return view;
    fine *= 2;
    coarse *= 2;
  }
}

Overview overview_of(const Analysis& a, std::size_t most_parts, std::size_t most_steps) {
  Overview o;
  for (const DeviceAccount& d : a.account.devices)
    if (!d.window.empty())
      o.span = o.span.length() == 0 ? Span{d.window.front().start, d.window.back().end}
                                    : Span{std::min(o.span.start, d.window.front().start),
                                           std::max(o.span.end, d.window.back().end)};
  if (o.span.length() <= 0) return o;
  const std::size_t shown = std::min(a.devices.size(), most_devices_drawn),
                    parts = std::clamp<std::size_t>(most_parts / std::max<std::size_t>(shown, 1),
                                                    60, 480);
  o.devices_left_out = a.devices.size() - shown;
  // The account of equal parts rather than of steps tells all but why the GPU idled, which depends
  // on the steps.
  std::vector<DeviceSteps> even(a.devices.begin(),
                                a.devices.begin() + static_cast<std::ptrdiff_t>(shown));
  const auto at = [&](std::size_t i) {
    return o.span.start + static_cast<Ns>(static_cast<double>(o.span.length()) *
                                          static_cast<double>(i) / static_cast<double>(parts));
  };
  for (DeviceSteps& d : even) {
    d.steps.clear();
    for (std::size_t i = 0; i < parts; ++i)
      d.steps.push_back({{at(i), at(i + 1)}, static_cast<std::int64_t>(i), at(i)});
  }
  const Account account = make_account(a.trace, a.classes, a.names, even);
  for (std::size_t d = 0; d < shown; ++d) {
    Overview::Device& out = o.devices.emplace_back();
    out.label = device_label(a.trace, a.devices[d].device);
    out.parts.resize(parts);
    const auto share = [&](std::size_t part, Ns ns) {
      return static_cast<double>(ns) /
             static_cast<double>(std::max<Ns>(1, at(part + 1) - at(part)));
    };
    for (std::size_t i = 0; i < parts; ++i)
      for (std::size_t c = 0; c < account.causes.size(); ++c)
        if (!account.causes[c].starts_with("idle."))
          out.parts[i][static_cast<std::size_t>(activity_of(account.causes[c]))] +=
              share(i, account.devices[d].step_ns[i][c]);
    std::size_t part = 0;
    for (const Idle& idle : a.account.devices[d].idle) {
      while (part < parts && at(part + 1) <= idle.span.start) ++part;
      for (std::size_t i = part; i < parts && at(i) < idle.span.end; ++i)
        out.parts[i][static_cast<std::size_t>(
            activity_of(std::string("idle.") + name_of(idle.cause)))] +=
            share(i, std::min(idle.span.end, at(i + 1)) - std::max(idle.span.start, at(i)));
    }
    if (a.has_steps())
      out.steps = thinned(a.devices[d].steps, std::max<std::size_t>(2, most_steps / shown));
  }
  return o;
}

Concerned concerned_by(const Analysis& a, const Report& report, const Finding& f) {
  const Trace& t = a.trace;
  std::vector<Row> ops, calls, os_calls;
  for (const Change& c : f.changes) {
    const bool of_calls = c.kind == Change::Kind::unblock || c.kind == Change::Kind::drop;
    (of_calls ? calls : ops).insert((of_calls ? calls : ops).end(), c.rows.begin(), c.rows.end());
  }
  Concerned out;
  out.per_step = !ops.empty() || !calls.empty();
  double steps = 1;
  if (out.per_step && f.predicted && report.replay) {
    // A change that was replayed names rows of the replayed steps alone, and of what lies at their
    // ends.
    const auto& replayed = report.replay->device_steps();
    std::vector<Span> on_device(t.devices.size()), on_host(t.processes.size());
    steps = 0;
    for (std::size_t d = 0; d < replayed.size(); ++d) {
      const std::vector<Step>& all = a.devices[d].steps;
      const auto [first, count] = replayed[d];
      on_device[a.devices[d].device] = {all[first].span.start, all[first + count - 1].span.end};
      if (a.devices[d].process < on_host.size())
        on_host[a.devices[d].process] = {
            all[first].host_start, first + count < all.size() ? all[first + count].host_start
                                                              : all[first + count - 1].span.end};
      steps += static_cast<double>(count);
    }
    const auto outside = [](Span s, Ns start) { return start < s.start || start >= s.end; };
    std::erase_if(ops,
                  [&](Row op) { return outside(on_device[t.device_of(op)], t.ops.start[op]); });
    std::erase_if(calls, [&](Row c) {
      return outside(on_host[t.threads[t.calls.thread[c]].process], t.calls.start[c]);
    });
  } else if (out.per_step) {
    steps = static_cast<double>(std::max<std::int64_t>(a.step_count(), 1));
  } else {
    // What began in the evidence, and what began shortly before and reached into it.
    const auto each = [](const auto& events, Span s, auto take) {
      const auto from = static_cast<std::size_t>(
          std::lower_bound(events.start.begin(), events.start.end(), s.start) -
          events.start.begin());
      for (std::size_t i = from - std::min(from, most_before);
           i < events.size() && events.start[i] < s.end; ++i)
        if (touches(events.start[i], events.end[i], s)) take(static_cast<Row>(i));
    };
    for (const Evidence& e : f.evidence) {
      const std::uint16_t thread = thread_of(a, e);
      each(t.ops, e.span, [&](Row op) {
        if ((e.device < 0 || t.devices[t.device_of(op)].ordinal == e.device) &&
            (e.stream < 0 || t.streams[t.ops.stream[op]].id == e.stream))
          ops.push_back(op);
      });
      each(t.calls, e.span, [&](Row c) {
        if (thread == no_index ? e.device < 0 : t.calls.thread[c] == thread) calls.push_back(c);
      });
      each(t.os_calls, e.span, [&](Row c) {
        if (thread != no_index && t.os_calls.thread[c] == thread) os_calls.push_back(c);
      });
    }
  }
  const auto distinct = [](std::vector<Row>& rows) {
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  };
  distinct(ops);
  distinct(calls);
  distinct(os_calls);
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, Ns>> sums;
  const auto add = [&](std::string name, std::string kind, Ns ns) {
    auto& [count, time] = sums[{std::move(name), std::move(kind)}];
    ++count;
    time += ns;
  };
  for (const Row op : ops)
    add(op_name(a, op),
        t.ops.kind[op] == OpKind::kernel ? a.kernel_class(op) : name_of(t.ops.kind[op]),
        t.ops.end[op] - t.ops.start[op]);
  for (const Row c : calls)
    add(t.names[t.calls.name[c]], fmt::format("call, {}", name_of(a.names.call[t.calls.name[c]])),
        t.calls.end[c] - t.calls.start[c]);
  for (const Row c : os_calls)
    add(t.names[t.os_calls.name[c]], "OS call", t.os_calls.end[c] - t.os_calls.start[c]);
  for (const auto& [what, sum] : sums)
    out.uses.push_back({what.first, what.second,
                        static_cast<double>(sum.first) / std::max(steps, 1.0),
                        static_cast<double>(sum.second) / std::max(steps, 1.0)});
  std::stable_sort(out.uses.begin(), out.uses.end(),
                   [](const Use& x, const Use& y) { return x.ns > y.ns; });
  if (out.uses.size() > most_concerned) out.uses.resize(most_concerned);
  return out;
}

}  // namespace gh

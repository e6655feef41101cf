// What ran around a piece of evidence, as lanes of pieces.
#include "report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>

#include "report/phrases.hpp"

namespace gh {
namespace {

constexpr std::size_t most_range_levels = 5, most_streams = 6, most_other_devices = 3;
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
      by_class_.push_back(activity_of_kernels(c));
  }
  Activity operator()(Row op) const {
    const Ops& ops = a_.trace.ops;
    if (ops.kind[op] == OpKind::kernel)
      return by_class_[static_cast<std::size_t>(a_.names.kernel[ops.name[op]])];
    if (!crosses_link(ops.copy[op])) return Activity::kernels;
    return is_unified(ops.copy[op]) ? Activity::stall : Activity::copy;
  }

 private:
  const Analysis& a_;
  std::vector<Activity> by_class_;
};

// Puts events into a lane as pieces, and joins those that are too short to be seen with their
// neighbours. What is too short is less in the detail, to which a page zooms in, than outside.
class PieceJoiner {
 public:
  PieceJoiner(std::vector<Piece>& out, Span detail, Ns fine_ns, Ns coarse_ns)
      : out_(out), detail_(detail), fine_ns_(fine_ns), coarse_ns_(coarse_ns) {}
  ~PieceJoiner() { flush(); }

  // In order of start. `name()` is asked only where the event is drawn by itself.
  template <class Name>
  void add(Span s, Activity activity, Name name) {
    const bool near = touches(s.start, s.end, detail_);
    const Ns least_ns = near ? fine_ns_ : coarse_ns_;
    if (s.length() >= least_ns) {
      flush();
      out_.push_back({s, name(), activity, 1, s.length()});
      return;
    }
    if (open_.count > 0 && (near != near_ || s.start - open_.span.end > least_ns ||
                            open_.span.length() >= 2 * least_ns))
      flush();
    if (open_.count == 0) {
      open_ = {s, name(), activity, 1, s.length()};
      near_ = near;
      activity_ns_ = {};
    } else {
      join(s);
    }
    activity_ns_[static_cast<std::size_t>(activity)] += s.length();
  }

 private:
  void join(Span s) {
    open_.busy_ns += std::max<Ns>(0, s.end - std::max(s.start, open_.span.end));
    open_.span.end = std::max(open_.span.end, s.end);
    open_.name.clear();
    ++open_.count;
  }
  // Several are drawn as the activity that takes most of their time.
  void flush() {
    if (open_.count == 0) return;
    if (open_.count > 1)
      open_.activity = static_cast<Activity>(
          std::max_element(activity_ns_.begin(), activity_ns_.end()) - activity_ns_.begin());
    out_.push_back(std::move(open_));
    open_ = {};
    open_.count = 0;
  }

  std::vector<Piece>& out_;
  Span detail_;
  Ns fine_ns_, coarse_ns_;
  Piece open_{{}, "", Activity::kernels, 0, 0};
  bool near_ = false;
  std::array<Ns, activity_count> activity_ns_{};
};

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
  const Ops& ops = a.trace.ops;
  std::map<std::uint16_t, std::size_t> launched;
  for (const Row op : device.ops) {
    if (ops.start[op] >= within.end) break;
    if (ops.call[op] != no_row && touches(ops.start[op], ops.end[op], within))
      ++launched[a.trace.calls.thread[ops.call[op]]];
  }
  const auto most =
      std::max_element(launched.begin(), launched.end(),
                       [](const auto& x, const auto& y) { return x.second < y.second; });
  return most == launched.end() ? no_index : most->first;
}

// Gathers once what a view may show, and then draws it as finely as is asked for.
class ViewMaker {
 public:
  ViewMaker(const Analysis& a, const Evidence& e)
      : a_(a),
        t_(a.trace),
        activity_(a),
        thread_(thread_of(a, e)),
        device_(device_of(a, e, thread_)) {
    const bool has_device = device_ < a.devices.size();
    set_spans(e.span);
    if (has_device) {
      if (thread_ == no_index) thread_ = launching_thread(a, a.devices[device_], view_.detail);
      if (thread_ == no_index) thread_ = launching_thread(a, a.devices[device_], view_.span);
      add_steps();
    }
    if (thread_ != no_index) {
      add_ranges();
      add_calls();
      add_os_calls();
    }
    if (has_device) {
      add_streams();
      add_faults();
      add_lost_time();
      add_other_devices();
    }
  }

  // Things shorter than these are drawn together.
  View made(Ns fine_ns, Ns coarse_ns) {
    view_.lanes.clear();
    for (const Source& s : sources_) {
      if (s.events.empty()) continue;
      Lane& lane = view_.lanes.emplace_back(Lane{s.label, {}});
      PieceJoiner joiner(lane.pieces, view_.detail, fine_ns, coarse_ns);
      for (const Event& e : s.events) joiner.add(e.span, e.activity, [&] { return s.name(e.row); });
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
  // What becomes a lane.
  struct Source {
    std::string label;
    std::function<std::string(std::size_t row)> name;
    std::vector<Event> events;
  };

  std::vector<Event>& source(std::string label, std::function<std::string(std::size_t)> name) {
    return sources_.emplace_back(Source{std::move(label), std::move(name), {}}).events;
  }
  bool shown(Ns start, Ns end) const { return touches(start, end, view_.span); }

  // The detail is the evidence with a margin; around it are the steps that it touches, or ten times
  // its length where there are none.
  void set_spans(Span evidence) {
    const Ns margin_ns = std::max(evidence.length() / 2, least_margin_ns);
    view_.evidence = evidence;
    view_.detail = {evidence.start - margin_ns, evidence.end + margin_ns};
    view_.span = view_.detail;
    if (device_ >= a_.devices.size()) return;
    if (!a_.has_steps()) {
      view_.span = {view_.detail.start - 10 * view_.detail.length(),
                    view_.detail.end + 10 * view_.detail.length()};
      return;
    }
    for (const Step& s : a_.devices[device_].steps)
      if (touches(s.span.start, s.span.end, view_.detail))
        view_.span = {std::min(view_.span.start, s.span.start),
                      std::max(view_.span.end, s.span.end)};
  }

  void add_steps() {
    if (!a_.has_steps()) return;
    const UnitWords unit = a_.words();
    const std::vector<Step>& all = a_.devices[device_].steps;
    std::vector<Event>& events = source(unit.many, [&all, noun = unit.noun](std::size_t i) {
      return fmt::format("{} {}", noun, all[i].number);
    });
    for (std::size_t i = 0; i < all.size(); ++i)
      if (shown(all[i].span.start, all[i].span.end))
        events.push_back({all[i].span, Activity::step, i});
  }

  // A level of its own for what is nested. Ranges that only overlap (start/end ranges) take a level
  // beside.
  void add_ranges() {
    std::vector<std::vector<Event>> levels;
    for (Row r = 0; r < t_.ranges.size() && t_.ranges.start[r] < view_.span.end; ++r) {
      const Span span{t_.ranges.start[r], t_.ranges.end[r]};
      if (t_.ranges.thread[r] != thread_ || span.length() == 0 || !shown(span.start, span.end))
        continue;
      std::size_t level = 0;
      while (level < levels.size() && levels[level].back().span.end > span.start) ++level;
      if (level == most_range_levels) continue;
      if (level == levels.size()) levels.emplace_back();
      levels[level].push_back({span, Activity::range, r});
    }
    for (std::size_t level = 0; level < levels.size(); ++level)
      source(level == 0 ? fmt::format("ranges of {}", t_.thread_label(thread_)) : "",
             [this](std::size_t r) { return t_.names[t_.ranges.name[r]]; }) =
          std::move(levels[level]);
  }

  // Of calls inside others only the outermost.
  void add_calls() {
    std::vector<Event>& events =
        source(fmt::format("CUDA calls of {}", t_.thread_label(thread_)),
               [this](std::size_t c) { return t_.names[t_.calls.name[c]]; });
    Ns nested_until = std::numeric_limits<Ns>::min();
    for (Row c = 0; c < t_.calls.size() && t_.calls.start[c] < view_.span.end; ++c) {
      if (t_.calls.thread[c] != thread_ || t_.calls.end[c] <= nested_until ||
          !shown(t_.calls.start[c], t_.calls.end[c]))
        continue;
      nested_until = t_.calls.end[c];
      events.push_back({{t_.calls.start[c], t_.calls.end[c]},
                        call_activity(a_.names.call[t_.calls.name[c]]),
                        c});
    }
  }

  void add_os_calls() {
    std::vector<Event>& events =
        source(fmt::format("OS calls of {}", t_.thread_label(thread_)),
               [this](std::size_t c) { return t_.names[t_.os_calls.name[c]]; });
    for (Row c = 0; c < t_.os_calls.size() && t_.os_calls.start[c] < view_.span.end; ++c)
      if (t_.os_calls.thread[c] == thread_ && shown(t_.os_calls.start[c], t_.os_calls.end[c]))
        events.push_back({{t_.os_calls.start[c], t_.os_calls.end[c]}, Activity::os_call, c});
  }

  std::vector<Row> ops_of(std::size_t device) const {
    std::vector<Row> ops;
    for (const Row op : a_.devices[device].ops) {
      if (t_.ops.start[op] >= view_.span.end) break;
      if (shown(t_.ops.start[op], t_.ops.end[op])) ops.push_back(op);
    }
    return ops;
  }
  void add_ops(const std::string& label, const std::vector<Row>& ops) {
    std::vector<Event>& events =
        source(label, [this](std::size_t op) { return op_label(a_, static_cast<Row>(op)); });
    for (const Row op : ops) events.push_back({t_.span_of(op), activity_(op), op});
  }

  // The busiest streams each, the rest in one lane.
  void add_streams() {
    const std::vector<Row> ops = ops_of(device_);
    std::map<std::uint32_t, std::vector<Row>> by_stream;
    for (const Row op : ops) by_stream[t_.ops.stream[op]].push_back(op);
    std::vector<std::pair<Ns, std::uint32_t>> busiest;
    for (const auto& [stream, its_ops] : by_stream) {
      Ns busy_ns = 0;
      for (const Row op : its_ops) busy_ns += t_.ops.end[op] - t_.ops.start[op];
      busiest.push_back({-busy_ns, stream});
    }
    std::sort(busiest.begin(), busiest.end());

    std::vector<Row> rest;
    const std::size_t apart = busiest.size() <= most_streams ? busiest.size() : most_streams - 1;
    for (std::size_t i = 0; i < busiest.size(); ++i) {
      const std::vector<Row>& its_ops = by_stream[busiest[i].second];
      const std::int64_t id = t_.streams[busiest[i].second].id;
      if (i < apart)
        add_ops(id < 0 ? "no stream" : fmt::format("stream {}", id), its_ops);
      else
        rest.insert(rest.end(), its_ops.begin(), its_ops.end());
    }
    std::sort(rest.begin(), rest.end());
    add_ops(fmt::format("{} more streams", busiest.size() - apart), rest);
    find_exposed(ops);
  }

  // Collectives with no compute beside them, and copies with neither.
  void find_exposed(const std::vector<Row>& ops) {
    std::vector<Span> compute, collectives, copies;
    for (const Row op : ops) switch (activity_(op)) {
        case Activity::communication: collectives.push_back(t_.span_of(op)); break;
        case Activity::copy: copies.push_back(t_.span_of(op)); break;
        default: compute.push_back(t_.span_of(op));
      }
    const Spans computing = united(std::move(compute)), talking = united(std::move(collectives));
    exposed_communication_ = difference(talking, computing);
    exposed_copies_ = difference(difference(united(std::move(copies)), computing), talking);
  }

  void add_faults() {
    const auto& faults = t_.gpu_faults;
    std::vector<Event>& events =
        source("GPU page faults", [](std::size_t) { return std::string("page faults handled"); });
    for (std::size_t f = 0; f < faults.size() && faults.start[f] < view_.span.end; ++f)
      if (faults.device[f] == a_.devices[device_].device && shown(faults.start[f], faults.end[f]))
        events.push_back({{faults.start[f], faults.end[f]}, Activity::fault, f});
  }

  // Rows are the causes of idle time here, and what is exposed after them.
  static constexpr std::size_t communication_row = 100, copies_row = 101;
  static std::string lost_name(std::size_t row) {
    if (row == communication_row) return cause_label(cause_name(Cause::Of::communication));
    if (row == copies_row) return cause_label(cause_name(Cause::Of::copy));
    return cause_label(cause_name(static_cast<IdleCause>(row)));
  }
  void add_lost_time() {
    std::vector<Event>& events = source("GPU idle or exposed", lost_name);
    for (const Idle& i : a_.account.devices[device_].idle)
      if (shown(i.span.start, i.span.end))
        events.push_back({i.span, activity_of(i.cause), static_cast<std::size_t>(i.cause)});
    for (const Span& s : exposed_communication_)
      events.push_back({s, Activity::communication, communication_row});
    for (const Span& s : exposed_copies_) events.push_back({s, Activity::copy, copies_row});
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& x, const Event& y) { return x.span.start < y.span.start; });
  }

  // Ranks wait for each other: what the others did meanwhile, each in one lane.
  void add_other_devices() {
    std::size_t added = 0;
    for (std::size_t d = 0; d < a_.devices.size() && added < most_other_devices; ++d) {
      if (d == device_) continue;
      ++added;
      add_ops(fmt::format("device {}, all streams", t_.devices[a_.devices[d].device].ordinal),
              ops_of(d));
    }
  }

  const Analysis& a_;
  const Trace& t_;
  Activities activity_;
  std::uint16_t thread_;  // no_index where none is known
  std::size_t device_;
  View view_;
  std::deque<Source> sources_;  // which stay where they are as others are added
  Spans exposed_communication_, exposed_copies_;
};

}  // namespace

std::uint16_t thread_of(const Analysis& a, const Evidence& e) {
  if (e.thread.empty()) return no_index;
  std::uint16_t found = no_index;
  for (std::uint16_t i = 0; i < a.trace.threads.size(); ++i) {
    if (a.trace.thread_label(i) != e.thread) continue;
    if (found == no_index) found = i;
    for (const DeviceSteps& d : a.devices)
      if (a.trace.devices[d.device].ordinal == e.device && d.process == a.trace.threads[i].process)
        return i;
  }
  return found;
}

View view_of(const Analysis& a, const Evidence& evidence, std::size_t most_pieces) {
  ViewMaker maker(a, evidence);
  // As fine as a screen can show, and then half as fine until it is little enough.
  Ns fine_ns = std::max<Ns>(1, maker.view().detail.length() / 2000),
     coarse_ns = std::max<Ns>(1, maker.view().span.length() / 1000);
  while (true) {
    View view = maker.made(fine_ns, coarse_ns);
    std::size_t pieces = 0;
    for (const Lane& l : view.lanes) pieces += l.pieces.size();
    if (pieces <= most_pieces || fine_ns > maker.view().span.length()) return view;
    fine_ns *= 2;
    coarse_ns *= 2;
  }
}

}  // namespace gh

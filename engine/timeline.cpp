#include "timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "layout.hpp"
#include "phrases.hpp"

namespace gh {
namespace {

constexpr std::size_t activities = static_cast<std::size_t>(Activity::count);
constexpr std::array<const char*, activities> names{"products", "attention", "kernels", "communication", "copy", "stall", "idle-input", "idle-sync", "idle-launch", "idle-other",
                                                    "step", "range", "call", "call-launch", "call-sync", "call-allocation", "os-call", "fault"};
constexpr std::array<const char*, activities> labels{"matrix products", "fused attention", "other GPU work", "exposed communication", "exposed copies", "unified-memory stall", "idle: input", "idle: sync", "idle: launch", "idle: other",
                                                     "step", "range", "CUDA call", "CUDA call that launches", "CUDA call that waits", "CUDA call that allocates", "operating-system call", "page fault"};

constexpr std::size_t most_range_levels = 5, most_streams = 6, most_concerned = 40;
// Evidence is shown with half its length on either side, and never less than this: what led to a kernel of 5 us takes longer than that.
constexpr Ns least_margin_ns = 200'000;

bool touches(Ns start, Ns end, Span s) { return start < s.end && end > s.start; }

Activity call_activity(CallClass c) {
  switch (c) {
    case CallClass::sync: case CallClass::copy_sync: return Activity::call_sync;
    case CallClass::allocation: return Activity::call_allocation;
    case CallClass::launch: case CallClass::graph_launch: case CallClass::copy: return Activity::call_launch;
    default: return Activity::call;
  }
}

// What a kernel or copy is called, and what it counts as in the account.
struct OpText {
  std::string name;
  Activity activity;
};
OpText op_text(const Analysis& a, Row op) {
  const Ops& ops = a.trace.ops;
  switch (ops.kind[op]) {
    case OpKind::kernel: {
      const std::string& c = a.kernel_class(op);
      return {kernel_label(a.trace.names[ops.name[op]]), c == "collective" ? Activity::communication : activity_of("compute." + c)};
    }
    case OpKind::graph: return {"CUDA graph", Activity::kernels};
    case OpKind::set: return {"memset", Activity::kernels};
    default: {
      const CopyKind k = ops.copy[op];
      if (is_unified(k)) return {fmt::format("migration {}", name_of(k)), Activity::stall};
      return {fmt::format("copy {}{}", name_of(k), ops.source[op] == MemoryKind::pageable || ops.target[op] == MemoryKind::pageable ? ", pageable" : ""), k == CopyKind::d2d ? Activity::kernels : Activity::copy};
    }
  }
}

// Pieces as they come, those too short to be seen joined with their neighbours. What is too short depends on where it lies.
class Drawn {
 public:
  Drawn(std::vector<Piece>& out, Span detail, Ns fine, Ns coarse) : out_(out), detail_(detail), fine_(fine), coarse_(coarse) {}
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
    if (open_.count > 0 && (near != near_ || s.start - open_.span.end > least || open_.span.length() >= 2 * least)) flush();
    if (open_.count == 0) open_ = {s, text(), activity, 1, s.length()}, near_ = near, weight_ = {};
    else {
      const Ns covered = std::max<Ns>(0, s.end - std::max(s.start, open_.span.end));
      open_.span.end = std::max(open_.span.end, s.end), open_.name.clear(), ++open_.count, open_.busy_ns += covered;
    }
    weight_[static_cast<std::size_t>(activity)] += s.length();
  }

 private:
  void flush() {
    if (open_.count == 0) return;
    if (open_.count > 1) open_.activity = static_cast<Activity>(std::max_element(weight_.begin(), weight_.end()) - weight_.begin());
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

// The analysed device on which evidence lies: the one it names, else the first that its thread launched on, else the first.
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
    if (a.trace.ops.call[op] != no_row && touches(a.trace.ops.start[op], a.trace.ops.end[op], within)) ++launched[a.trace.calls.thread[a.trace.ops.call[op]]];
  }
  const auto most = std::max_element(launched.begin(), launched.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  return most == launched.end() ? no_index : most->first;
}

class ViewMaker {
 public:
  ViewMaker(const Analysis& a, const Evidence& e) : a_(a), t_(a.trace) {
    view_.evidence = e.span;
    for (std::uint16_t i = 0; i < t_.threads.size() && !e.thread.empty(); ++i)
      if (t_.thread_label(i) == e.thread) { thread_ = i; break; }
    device_ = device_of(a, e, thread_);
    const Ns margin = std::max(e.span.length() / 2, least_margin_ns);
    view_.detail = {e.span.start - margin, e.span.end + margin};
    view_.span = view_.detail;
    if (device_ < a.devices.size()) {
      for (const Step& s : a.devices[device_].steps)
        if (touches(s.span.start, s.span.end, view_.detail)) view_.span = {std::min(view_.span.start, s.span.start), std::max(view_.span.end, s.span.end)};
      if (thread_ == no_index) thread_ = launching_thread(a, a.devices[device_], view_.detail);
      if (thread_ == no_index) thread_ = launching_thread(a, a.devices[device_], view_.span);
    }
  }

  // Things shorter than these are drawn together.
  View made(Ns fine, Ns coarse) {
    fine_ = fine, coarse_ = coarse;
    view_.lanes.clear();
    steps();
    if (thread_ != no_index) ranges(), calls();
    if (device_ < a_.devices.size()) streams(), faults(), lost();
    std::erase_if(view_.lanes, [](const Lane& l) { return l.pieces.empty(); });
    return view_;
  }

  const View& view() const { return view_; }

 private:
  Lane& lane(std::string label) { return view_.lanes.emplace_back(Lane{std::move(label), {}}); }
  Drawn drawn(Lane& l) const { return {l.pieces, view_.detail, fine_, coarse_}; }
  bool shown(Ns start, Ns end) const { return touches(start, end, view_.span); }

  void steps() {
    if (device_ >= a_.devices.size() || !a_.has_steps()) return;
    Lane& l = lane("steps");
    for (const Step& s : a_.devices[device_].steps)
      if (shown(s.span.start, s.span.end)) l.pieces.push_back({s.span, fmt::format("step {}", s.number), Activity::step, 1, s.span.length()});
  }

  // A level of its own for what is nested. Ranges that only overlap (start/end ranges) take a level beside.
  void ranges() {
    std::vector<std::vector<Row>> levels;
    std::vector<Ns> ends;
    for (Row r = 0; r < t_.ranges.size() && t_.ranges.start[r] < view_.span.end; ++r) {
      if (t_.ranges.thread[r] != thread_ || t_.ranges.start[r] == t_.ranges.end[r] || !shown(t_.ranges.start[r], t_.ranges.end[r])) continue;
      std::size_t level = 0;
      while (level < ends.size() && ends[level] > t_.ranges.start[r]) ++level;
      if (level == most_range_levels) continue;
      if (level == ends.size()) ends.push_back(0), levels.emplace_back();
      ends[level] = t_.ranges.end[r];
      levels[level].push_back(r);
    }
    for (std::size_t level = 0; level < levels.size(); ++level) {
      Lane& l = lane(level == 0 ? fmt::format("ranges of {}", t_.thread_label(thread_)) : "");
      Drawn out = drawn(l);
      for (const Row r : levels[level]) out.add({t_.ranges.start[r], t_.ranges.end[r]}, Activity::range, [&] { return t_.names[t_.ranges.name[r]]; });
    }
  }

  void calls() {
    Lane& cuda = lane(fmt::format("CUDA calls of {}", t_.thread_label(thread_)));
    {
      Drawn out = drawn(cuda);
      Ns nested_until = std::numeric_limits<Ns>::min();
      for (Row c = 0; c < t_.calls.size() && t_.calls.start[c] < view_.span.end; ++c) {
        if (t_.calls.thread[c] != thread_ || t_.calls.end[c] <= nested_until || !shown(t_.calls.start[c], t_.calls.end[c])) continue;
        nested_until = t_.calls.end[c];
        out.add({t_.calls.start[c], t_.calls.end[c]}, call_activity(a_.names.call[t_.calls.name[c]]), [&] { return t_.names[t_.calls.name[c]]; });
      }
    }
    Lane& os = lane(fmt::format("OS calls of {}", t_.thread_label(thread_)));
    Drawn out = drawn(os);
    for (Row c = 0; c < t_.os_calls.size() && t_.os_calls.start[c] < view_.span.end; ++c)
      if (t_.os_calls.thread[c] == thread_ && shown(t_.os_calls.start[c], t_.os_calls.end[c])) out.add({t_.os_calls.start[c], t_.os_calls.end[c]}, Activity::os_call, [&] { return t_.names[t_.os_calls.name[c]]; });
  }

  // The busiest streams each, the rest in one lane.
  void streams() {
    std::map<std::uint32_t, std::vector<Row>> by_stream;
    std::vector<std::pair<Ns, std::uint32_t>> busiest;
    std::vector<Span> compute, collectives, copies;
    for (const Row op : a_.devices[device_].ops) {
      if (t_.ops.start[op] >= view_.span.end) break;
      if (!shown(t_.ops.start[op], t_.ops.end[op])) continue;
      by_stream[t_.ops.stream[op]].push_back(op);
      const Activity what = op_text(a_, op).activity;
      (what == Activity::communication ? collectives : what == Activity::copy ? copies : compute).push_back(t_.span_of(op));
    }
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
      if (i < apart) draw(lane(fmt::format("stream {}", t_.streams[busiest[i].second].id)), ops);
      else rest.insert(rest.end(), ops.begin(), ops.end());
    }
    if (!rest.empty()) {
      std::sort(rest.begin(), rest.end());
      draw(lane(fmt::format("{} more streams", busiest.size() - apart)), rest);
    }
    const Spans computing = united(std::move(compute)), talking = united(std::move(collectives));
    exposed_communication_ = difference(talking, computing);
    exposed_copies_ = difference(difference(united(std::move(copies)), computing), talking);
  }

  void draw(Lane& l, const std::vector<Row>& ops) const {
    Drawn out = drawn(l);
    for (const Row op : ops) {
      OpText text = op_text(a_, op);
      out.add(t_.span_of(op), text.activity, [&] { return std::move(text.name); });
    }
  }

  void faults() {
    Lane& l = lane("GPU page faults");
    Drawn out = drawn(l);
    for (std::size_t f = 0; f < t_.gpu_faults.size() && t_.gpu_faults.start[f] < view_.span.end; ++f)
      if (t_.gpu_faults.device[f] == a_.devices[device_].device && shown(t_.gpu_faults.start[f], t_.gpu_faults.end[f])) out.add({t_.gpu_faults.start[f], t_.gpu_faults.end[f]}, Activity::fault, [] { return std::string("page faults handled"); });
  }

  void lost() {
    struct Lost { Span span; Activity activity; std::string text; };
    std::vector<Lost> all;
    for (const Idle& i : a_.account.devices[device_].idle)
      if (shown(i.span.start, i.span.end)) all.push_back({i.span, activity_of(std::string("idle.") + name_of(i.cause)), fmt::format("idle: {}", name_of(i.cause))});
    for (const Span& s : exposed_communication_) all.push_back({s, Activity::communication, "exposed communication"});
    for (const Span& s : exposed_copies_) all.push_back({s, Activity::copy, "exposed copy"});
    std::stable_sort(all.begin(), all.end(), [](const Lost& x, const Lost& y) { return x.span.start < y.span.start; });
    Lane& l = lane("GPU idle or exposed");
    Drawn out = drawn(l);
    for (Lost& x : all) out.add(x.span, x.activity, [&] { return std::move(x.text); });
  }

  const Analysis& a_;
  const Trace& t_;
  View view_;
  std::uint16_t thread_ = no_index;
  std::size_t device_ = 0;
  Ns fine_ = 0, coarse_ = 0;
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
  Ns fine = std::max<Ns>(1, maker.view().detail.length() / 2000), coarse = std::max<Ns>(1, maker.view().span.length() / 1000);
  while (true) {
    View view = maker.made(fine, coarse);
    std::size_t pieces = 0;
    for (const Lane& l : view.lanes) pieces += l.pieces.size();
    if (pieces <= most_pieces || fine > maker.view().span.length()) return view;
    fine *= 2, coarse *= 2;
  }
}

Overview overview_of(const Analysis& a) {
  Overview o;
  for (const DeviceAccount& d : a.account.devices)
    if (!d.window.empty()) o.span = o.span.length() == 0 ? Span{d.window.front().start, d.window.back().end} : Span{std::min(o.span.start, d.window.front().start), std::max(o.span.end, d.window.back().end)};
  if (o.span.length() <= 0) return o;
  const std::size_t shown = std::min(a.devices.size(), most_devices_drawn), parts = std::clamp<std::size_t>(12'000 / std::max<std::size_t>(shown, 1), 120, 480);
  o.devices_left_out = a.devices.size() - shown;
  // The account of equal parts rather than of steps tells all but why the GPU idled, which depends on the steps.
  std::vector<DeviceSteps> even(a.devices.begin(), a.devices.begin() + static_cast<std::ptrdiff_t>(shown));
  const auto at = [&](std::size_t i) { return o.span.start + static_cast<Ns>(static_cast<double>(o.span.length()) * static_cast<double>(i) / static_cast<double>(parts)); };
  for (DeviceSteps& d : even) {
    d.steps.clear();
    for (std::size_t i = 0; i < parts; ++i) d.steps.push_back({{at(i), at(i + 1)}, static_cast<std::int64_t>(i), at(i)});
  }
  const Account account = make_account(a.trace, a.classes, a.names, even);
  for (std::size_t d = 0; d < shown; ++d) {
    Overview::Device& out = o.devices.emplace_back();
    out.label = device_label(a.trace, a.devices[d].device);
    out.parts.resize(parts);
    const auto share = [&](std::size_t part, Ns ns) { return static_cast<double>(ns) / static_cast<double>(std::max<Ns>(1, at(part + 1) - at(part))); };
    for (std::size_t i = 0; i < parts; ++i)
      for (std::size_t c = 0; c < account.causes.size(); ++c)
        if (!account.causes[c].starts_with("idle.")) out.parts[i][static_cast<std::size_t>(activity_of(account.causes[c]))] += share(i, account.devices[d].step_ns[i][c]);
    std::size_t part = 0;
    for (const Idle& idle : a.account.devices[d].idle) {
      while (part < parts && at(part + 1) <= idle.span.start) ++part;
      for (std::size_t i = part; i < parts && at(i) < idle.span.end; ++i)
        out.parts[i][static_cast<std::size_t>(activity_of(std::string("idle.") + name_of(idle.cause)))] += share(i, std::min(idle.span.end, at(i + 1)) - std::max(idle.span.start, at(i)));
    }
    if (a.has_steps()) out.steps = thinned(a.devices[d].steps, most_steps_drawn);
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
  if (out.per_step) {
    // A change that was replayed names rows of the replayed steps alone.
    steps = static_cast<double>(f.predicted && report.replay ? report.replay->steps() * a.devices.size() : static_cast<std::size_t>(std::max<std::int64_t>(a.step_count(), 1)));
  } else {
    for (const Evidence& e : f.evidence) {
      for (Row op = 0; op < t.ops.size() && t.ops.start[op] < e.span.end; ++op)
        if (touches(t.ops.start[op], t.ops.end[op], e.span) && (e.device < 0 || t.devices[t.device_of(op)].ordinal == e.device) && (e.stream < 0 || t.streams[t.ops.stream[op]].id == e.stream)) ops.push_back(op);
      for (Row c = 0; c < t.calls.size() && t.calls.start[c] < e.span.end; ++c)
        if (touches(t.calls.start[c], t.calls.end[c], e.span) && (e.thread.empty() ? e.device < 0 : t.thread_label(t.calls.thread[c]) == e.thread)) calls.push_back(c);
      for (Row c = 0; c < t.os_calls.size() && t.os_calls.start[c] < e.span.end; ++c)
        if (touches(t.os_calls.start[c], t.os_calls.end[c], e.span) && !e.thread.empty() && t.thread_label(t.os_calls.thread[c]) == e.thread) os_calls.push_back(c);
    }
  }
  const auto distinct = [](std::vector<Row>& rows) {
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  };
  distinct(ops), distinct(calls), distinct(os_calls);
  std::map<std::pair<std::string, std::string>, Use> uses;
  const auto add = [&](const std::string& name, const std::string& kind, Ns ns) {
    Use& u = uses.try_emplace({name, kind}, Use{name, kind, 0, 0}).first->second;
    u.count += 1 / steps, u.ns += static_cast<double>(ns) / steps;
  };
  for (const Row op : ops) {
    const bool kernel = t.ops.kind[op] == OpKind::kernel;
    add(kernel ? t.names[t.ops.name[op]] : op_text(a, op).name, kernel ? a.kernel_class(op) : name_of(t.ops.kind[op]), t.ops.end[op] - t.ops.start[op]);
  }
  for (const Row c : calls) add(t.names[t.calls.name[c]], fmt::format("call, {}", name_of(a.names.call[t.calls.name[c]])), t.calls.end[c] - t.calls.start[c]);
  for (const Row c : os_calls) add(t.names[t.os_calls.name[c]], "OS call", t.os_calls.end[c] - t.os_calls.start[c]);
  for (auto& [key, use] : uses) out.uses.push_back(std::move(use));
  std::stable_sort(out.uses.begin(), out.uses.end(), [](const Use& x, const Use& y) { return x.ns > y.ns; });
  if (out.uses.size() > most_concerned) out.uses.resize(most_concerned);
  return out;
}

}  // namespace gh

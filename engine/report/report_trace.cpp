// Evidence and account as a Chrome trace, which Perfetto opens.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

// No process of the report itself has such a number, so that both can be merged into one file.
constexpr std::int64_t findings_pid = 4'000'000'000, first_device_pid = findings_pid + 1;
// Of idle stretches so many are shown for each device, the longest: a viewer gets slow beyond that.
constexpr std::size_t most_idle = 20'000;

std::string quoted(const std::string& text) { return Json(text).dump(); }

// The events of a Chrome trace, times as the report has them.
class Events {
 public:
  explicit Events(Ns origin) : origin_(origin) {}

  void name(const char* what, std::int64_t pid, std::int64_t tid, const std::string& text) {
    add(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid, tid,
        quoted(text));
  }
  void sort(const char* what, std::int64_t pid, std::int64_t tid, std::int64_t index) {
    add(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", what, pid, tid,
        index);
  }
  void span(std::int64_t pid, std::int64_t tid, const std::string& text, Span s, const Json& args) {
    add(R"({{"ph":"X","cat":"gh-advise","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{}}})",
        quoted(text), pid, tid, microseconds(s.start + origin_), microseconds(s.length()),
        args.dump());
  }
  void counter(std::int64_t pid, const std::string& text, Ns at, const Json& values) {
    add(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{}}})", quoted(text), pid,
        microseconds(at + origin_), values.dump());
  }

  std::string text() const {
    return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + text_ + "\n]}\n";
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += (text_.empty() ? "" : ",\n") + fmt::format(format, std::forward<Args>(args)...);
  }
  // In integers: a double has no room for a nanosecond beside the time since 1970.
  static std::string microseconds(Ns ns) {
    return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
  }

  Ns origin_;
  std::string text_;
};

// A row a finding, with its evidence.
void add_findings(Events& events, const Report& report) {
  events.name("process_name", findings_pid, 0, "gh-advise: findings");
  events.sort("process_sort_index", findings_pid, 0, -2);
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const Finding& f = report.findings[i];
    const auto tid = static_cast<std::int64_t>(i + 1);
    events.name("thread_name", findings_pid, tid,
                fmt::format("{}. {}: {}", tid, name_of(f.severity), f.rule));
    events.sort("thread_sort_index", findings_pid, tid, tid);
    for (const Evidence& e : f.evidence) {
      Json args{{"finding", f.title},
                {"why", f.message},
                {"fix", f.advice.empty() ? "" : f.advice.front()}};
      if (!e.note.empty()) args["note"] = e.note;
      if (!e.thread.empty()) args["thread"] = e.thread;
      if (e.device >= 0) args["device"] = e.device;
      if (e.stream >= 0) args["stream"] = e.stream;
      if (e.source.line > 0) args["source"] = fmt::format("{}:{}", e.source.file, e.source.line);
      events.span(findings_pid, tid, e.name.empty() ? f.rule : e.name, e.span, args);
    }
  }
}

// The steps, and their account as a counter.
void add_steps(Events& events, const Analysis& a, std::size_t device, std::int64_t pid) {
  const UnitWords unit = a.words();
  events.name("thread_name", pid, 1, unit.many);
  const std::vector<Step>& steps = a.devices[device].steps;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    Json args, values;
    for (std::size_t c = 0; c < a.account.causes.size(); ++c)
      if (const Ns ns = a.account.devices[device].step_ns.of(s, c); ns > 0) {
        args[a.account.causes[c]] = duration(ns);
        values[a.account.causes[c]] = static_cast<double>(ns) / 1e6;
      }
    events.span(pid, 1, a.has_steps() ? fmt::format("{} {}", unit.noun, steps[s].number) : "all",
                steps[s].span, args);
    events.counter(pid, fmt::format("account of the {}, ms", unit.noun), steps[s].span.start,
                   values);
  }
}

void add_idle(Events& events, const DeviceAccount& account, std::int64_t pid) {
  std::vector<const Idle*> idle;
  for (const Idle& i : account.idle) idle.push_back(&i);
  std::stable_sort(idle.begin(), idle.end(), [](const Idle* x, const Idle* y) {
    return x->span.length() > y->span.length();
  });
  if (idle.size() > most_idle) idle.resize(most_idle);
  std::sort(idle.begin(), idle.end(),
            [](const Idle* x, const Idle* y) { return x->span.start < y->span.start; });
  events.name("thread_name", pid, 2, "idle, by cause");
  for (const Idle* i : idle) events.span(pid, 2, name_of(i->cause), i->span, Json::object());
}

}  // namespace

std::string render_trace(const Analysis& a, const Report& report) {
  Events events(a.trace.origin_ns);
  add_findings(events, report);
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const std::int64_t pid = first_device_pid + static_cast<std::int64_t>(d);
    events.name("process_name", pid, 0,
                fmt::format("gh-advise: account of device {}",
                            a.trace.devices[a.devices[d].device].ordinal));
    events.sort("process_sort_index", pid, 0, -1);
    add_steps(events, a, d, pid);
    add_idle(events, a.account.devices[d], pid);
  }
  return events.text();
}

}  // namespace gh

// One report as JSON (schemas/report.schema.json).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/structure/periodic_events.hpp"
#include "analysis/structure/roofline.hpp"
#include "report/cause_times.hpp"
#include "report/json_parts.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "report/verdict.hpp"
#include "rules/finding_json.hpp"

namespace gh {
namespace {

// An account over so many steps, as recorded and of a step without the profiler.
Json account_json(const CauseTimes& causes, std::int64_t step_count) {
  const double all_ns = std::max(sum_of(causes), 1.0),
               steps = static_cast<double>(std::max<std::int64_t>(step_count, 1));
  Json list = Json::array();
  for (const CauseTime& c : causes)
    if (c.recorded_ns > 0)
      list.push_back({{"cause", c.cause},
                      {"label", cause_label(c.cause)},
                      {"ns", c.recorded_ns},
                      {"ns_per_step", static_cast<Ns>(std::llround(c.ns / steps))},
                      {"fraction", c.ns / all_ns}});
  return list;
}

const char* source_name(StepSource s) {
  switch (s) {
    case StepSource::ranges: return "ranges";
    case StepSource::kernels: return "kernels";
    case StepSource::selected_range: return "selected_range";
    default: return "none";
  }
}

// The length of all steps: what the account has to add up to.
Ns window_ns(const DeviceSteps& d) {
  Ns ns = 0;
  for (const Step& s : d.steps) ns += s.span.length();
  return ns;
}

Json steps_json(const DeviceSteps& d) {
  const std::vector<Ns> lengths = d.lengths();
  return {{"count", lengths.size()},         {"median_ns", median(lengths)},
          {"source", source_name(d.source)}, {"described", d.described},
          {"left_out", d.left_out},          {"lost", d.lost}};
}

// The steps of all devices.
Json steps_json(const Analysis& a, const StepTime& step) {
  static constexpr std::array told_from{"recorded", "replayed", "measured"};
  return {{"count", a.step_count()},
          {"ns", a.total_ns() > 0 ? Json(step.ns) : Json(nullptr)},
          {"range_ns", a.total_ns() > 0 ? Json{step.least_ns, step.most_ns} : Json(nullptr)},
          {"ns_is", told_from[static_cast<std::size_t>(step.from)]},
          {"recorded_ns", a.total_ns() > 0 ? Json(step.recorded_ns) : Json(nullptr)},
          {"part_difference_ns",
           step.part_ns > 0 ? Json(step.part_ns - step.recorded_ns) : Json(nullptr)},
          {"median_ns", median(a.step_lengths())},
          {"measured_ns", a.measured_step_ns() > 0 ? Json(a.measured_step_ns()) : Json(nullptr)},
          {"source", a.devices.empty() ? "none" : source_name(a.devices.front().source)},
          {"described", a.devices.empty() ? "no GPU work" : a.devices.front().described},
          {"found", a.has_steps()}};
}

// What repeats, and what repeats within it, the outermost first. A window is one.
Json unit_json(const Analysis& a) {
  Json levels = Json::array();
  std::int64_t count = 1;
  for (const DeviceSteps& d : a.devices) {
    if (d.source == StepSource::none) continue;
    count = static_cast<std::int64_t>(d.steps.size());
    for (std::size_t i = 1; i < d.levels.size(); ++i)
      levels.push_back({{"name", d.levels[i].name}, {"count", d.levels[i].count}});
    break;
  }
  return {{"name", a.unit()}, {"count", count}, {"levels", levels}};
}

// What the report does not say of a device is null.
Json device_json(const Analysis& a, const StepTime& step, std::size_t device) {
  const DeviceSteps& steps = a.devices[device];
  const Device& d = a.trace.devices[steps.device];
  const Json capability =
      d.compute_major > 0
          ? Json(std::to_string(d.compute_major) + "." + std::to_string(d.compute_minor))
          : Json(nullptr);
  return {{"ordinal", d.ordinal},
          {"name", or_null(d.name)},
          {"sm_count", d.sm_count > 0 ? Json(d.sm_count) : Json(nullptr)},
          {"compute_capability", capability},
          {"memory_bytes", d.memory_bytes > 0 ? Json(d.memory_bytes) : Json(nullptr)},
          {"window_ns", window_ns(steps)},
          {"steps", steps_json(steps)},
          {"account", account_json(cause_times(a, step, a.account.devices[device]),
                                   static_cast<std::int64_t>(steps.steps.size()))}};
}

// Where devices repeat different units, each with its share of their work.
Json unit_shares_json(const Segment& segment) {
  Ns all_ns = 0;
  for (const UnitShare& u : segment.units) all_ns += u.busy_ns;
  return json_list(segment.units, [&](const UnitShare& u) {
    return Json{{"name", u.unit.name},
                {"count", u.unit.count},
                {"fraction",
                 static_cast<double>(u.busy_ns) / static_cast<double>(std::max<Ns>(all_ns, 1))}};
  });
}

// What was found in the other loop of a segment.
Json loop_json(const Segment& segment, const Report& report) {
  const auto loop = std::find_if(
      report.loops.begin(), report.loops.end(),
      [&](const JudgedLoop& judged) { return segment.loop && judged.name == segment.loop->name; });
  if (loop == report.loops.end()) return nullptr;
  Json finding = nullptr;
  if (const auto& f = loop->finding)
    finding = {{"rule", f->rule},
               {"severity", name_of(f->severity)},
               {"title", f->title},
               {"message", f->message},
               {"fix", f->fix},
               {"saves_ns", f->alone_ns},
               {"saves_range_ns", or_null(StoredSaving(*f, f->alone_ns).range_ns)},
               {"saves_fraction", f->alone_fraction}};
  return {{"unit", loop->name},
          {"steps", loop->steps},
          {"step_ns", loop->step_ns},
          {"busy_fraction", loop->busy_fraction},
          {"finding", finding}};
}

// The whole recording; each segment's account adds up to its length on all devices.
Json segments_json(const Analysis& a, const Report& report) {
  static constexpr std::array names{"start-up", "before", "steps", "after"};
  const Segments& segments = a.segments();
  return json_list(segment_lines(a), [&](const SegmentLine& line) {
    const Segment& s = *line.segment;
    Json account = Json::array();
    for (std::size_t c = 0; c < s.cause_ns.size(); ++c)
      if (s.cause_ns[c] > 0)
        account.push_back(
            {{"cause", segments.causes[c]},
             {"label", cause_label(segments.causes[c])},
             {"ns", s.cause_ns[c]},
             {"fraction", static_cast<double>(s.cause_ns[c]) / static_cast<double>(s.device_ns)}});
    return Json{{"kind", names[static_cast<std::size_t>(s.kind)]},
                {"label", line.label},
                {"start_ns", s.span.start},
                {"end_ns", s.span.end},
                {"device_ns", s.device_ns},
                {"fraction", line.fraction},
                {"busy_fraction", s.busy_fraction()},
                {"steps", s.steps},
                {"units", unit_shares_json(s)},
                {"repeats",
                 s.loop ? Json{{"name", s.loop->name}, {"count", s.loop->count}} : Json(nullptr)},
                {"loop", loop_json(s, report)},
                {"account", account}};
  });
}

// What comes in every n-th step only.
Json periodic_events_json(const Analysis& a) {
  const auto recorded_ns = static_cast<double>(a.recorded_step_ns());
  const std::vector<std::string> texts = periodic_texts(a);
  Json list = Json::array();
  for (const PeriodicEvent& e : a.periodic_events())
    list.push_back({{"every", e.every},
                    {"count", e.count},
                    {"extra_ns", static_cast<Ns>(e.extra_ns)},
                    {"cost_ns", static_cast<Ns>(e.cost_ns)},
                    {"fraction", e.cost_ns / recorded_ns},
                    {"cause", a.account.causes[e.cause]},
                    {"label", cause_label(a.account.causes[e.cause])},
                    {"doing", or_null(a.trace.names[e.doing])},
                    {"within", or_null(a.trace.names[e.within])},
                    {"text", texts[list.size()]}});
  return list;
}

// Where the host waits for the GPU, and what the steps take without.
Json waits_json(const Report& report) {
  return json_list(wait_lines(report, 0), [](const WaitLine& line) {
    const HostWait& w = *line.wait;
    Json range = nullptr;
    if (w.without) {
      const auto [least, most] = w.without->saving_range(w.saves_ns);
      range = {least, most};
    }
    return Json{
        {"purpose", name_of(w.what)},
        {"call", w.call},
        {"operator", or_null(w.op)},
        {"layer", or_null(w.layer)},
        {"source", w.source.file.empty() ? Json(nullptr)
                                         : Json{{"file", w.source.file}, {"line", w.source.line}}},
        {"count_per_step", w.per_step},
        {"blocked_ns", w.blocked_ns},
        {"bytes", w.bytes > 0 ? Json(w.bytes) : Json(nullptr)},
        {"saves_ns", w.without ? Json(w.saves_ns) : Json(nullptr)},
        {"saves_range_ns", range},
        {"saves_fraction", w.without ? Json(line.fraction) : Json(nullptr)},
        {"at_most", w.at_most},
        {"thread", or_null(w.thread)},
        {"waits_for", or_null(w.waits_for)},
        {"certain", w.is_certain},
        {"longest", {{"start_ns", w.longest.start}, {"end_ns", w.longest.end}}},
        {"text", line.label}};
  });
}

// Of the GPU's work, what the report has one by one, and what hides the rest.
Json coverage_json(const Analysis& a) {
  Json hidden = Json::array();
  if (const double in_graphs = 1 - a.coverage(); in_graphs > 0)
    hidden.push_back(
        {{"by", "whole_graphs"},
         {"label", cause_label("compute.graph").substr(std::string_view("compute: ").size())},
         {"fraction", in_graphs},
         {"record_with", or_null(a.trace.availability(Source::graph_nodes).record_with)}});
  return {{"fraction", a.coverage()}, {"hidden", hidden}};
}

// What binds a step; null without GPU work.
Json bound_json(const Analysis& a, const StepTime& step) {
  const BoundBy bound = bound_by(a, step);
  if (bound.by.empty()) return nullptr;
  Json shares = Json::array();
  for (const auto& [group, share] : bound.shares)
    shares.push_back({{"by", group}, {"fraction", share}});
  return {{"by", bound.by}, {"shares", shares}, {"text", bound_verdict_text(a, step)}};
}

// What a step waited for, or the window; null where nothing was replayed.
Json path_json(const Analysis& a, const Report& report) {
  if (!report.replay || report.replay->path().items.empty()) return nullptr;
  const Path& p = report.replay->path();
  const double step_ns = p.step_ns();
  Json items = Json::array();
  for (const PathItem& i : p.items) {
    Json by_device = Json::array();
    const double of_step = p.step_ns(i) / static_cast<double>(std::max<Ns>(i.ns, 1));
    for (const Ns ns : i.by_device)
      by_device.push_back(static_cast<Ns>(of_step * static_cast<double>(ns)));
    items.push_back({{"kind", name_of(i.kind)},
                     {"name", or_null(i.name)},
                     {"label", path_label(i.kind, i.name)},
                     {"ns_per_step", static_cast<Ns>(p.step_ns(i))},
                     {"fraction", p.step_ns(i) / step_ns},
                     {"ns_by_device", by_device},
                     {"stretches", i.stretches},
                     {"longest", {{"start_ns", i.longest.start}, {"end_ns", i.longest.end}}}});
  }
  return {{"of", a.has_steps() ? "step" : "window"},
          {"title", path_title(a.words())},
          {"step_ns", std::llround(step_ns)},
          {"items", items}};
}

// What of it nothing tells is null.
Json program_json(const ProgramKind& program) {
  Json runners = Json::array(), evidence = Json::array();
  const auto say = [&](const Trait& t) {
    evidence.push_back({{"of", t.name}, {"what", t.evidence}});
    return Json(t.name);
  };
  const Json framework = program.framework ? say(*program.framework) : Json(nullptr);
  for (const Trait& t : program.runners) runners.push_back(say(t));
  const Json task = program.task ? say(*program.task) : Json(nullptr);
  return {{"framework", framework}, {"runners", runners}, {"task", task}, {"evidence", evidence}};
}

Json findings_json(const std::vector<Finding>& findings, const Report& report) {
  return json_list(findings,
                   [&](const Finding& f) { return finding_json(f, saves_text(f, report)); });
}

Json account_summary(const Analysis& a, const StepTime& step) {
  const auto line_json = [](const AccountLine& line) {
    return Json{{"cause", or_null(line.cause)},
                {"label", line.label},
                {"time", duration(line.ns)},
                {"share", percent(line.fraction)},
                {"fraction", line.fraction}};
  };
  return {{"title", account_title(a.words())},
          {"lines", json_list(account_lines(a, step), line_json)}};
}

Json plan_summary(const Analysis& a, const Report& report) {
  const std::vector<PlanLine> plan = plan_lines(report);
  if (plan.empty()) return nullptr;
  Json lines = Json::array();
  for (const PlanLine& line : plan)
    lines.push_back({{"finding", line.number},
                     {"fix", line.fix},
                     {"before", duration(line.before_ns)},
                     {"after", duration(line.after_ns)},
                     {"speedup", speedup(line.before_ns, line.after_ns)}});
  return {
      {"title", plan_title(*report.plan)}, {"lines", lines}, {"total", plan_total_text(a, report)}};
}

// What the text says first, in its words.
Json summary_json(const Analysis& a, const Report& report) {
  const ReportVerdict verdict = verdict_of(a, report);
  return {{"verdict", verdict.what},
          {"first_fix", verdict.first},
          {"trouble", verdict.trouble},
          {"account", account_summary(a, report.step)},
          {"plan", plan_summary(a, report)}};
}

Json report_json(const Analysis& a, const Report& report) {
  Json devices = Json::array();
  Ns window = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    devices.push_back(device_json(a, report.step, d));
    window += window_ns(a.devices[d]);
  }
  Json not_checked = Json::array(), failed = Json::array();
  for (const NotChecked& n : report.not_checked)
    not_checked.push_back(
        {{"rule", n.rule}, {"reason", n.reason}, {"record_with", or_null(n.record_with)}});
  for (const Failed& f : report.failed) failed.push_back({{"rule", f.rule}, {"error", f.error}});
  return {{"schema_version", reports_schema_version},
          {"generator", generator()},
          {"report", report_head(a)},
          {"summary", summary_json(a, report)},
          {"program", program_json(a.program)},
          {"devices", devices},
          {"window_ns", window},
          {"unit", unit_json(a)},
          {"segments", segments_json(a, report)},
          {"steps", steps_json(a, report.step)},
          {"periodic_events", periodic_events_json(a)},
          {"waits", waits_json(report)},
          {"account", account_json(cause_times(a, report.step), a.step_count())},
          {"coverage", coverage_json(a)},
          {"bound", bound_json(a, report.step)},
          {"path", path_json(a, report)},
          {"plan", plan_json(report)},
          {"findings", findings_json(report.findings, report)},
          {"clean", report.clean},
          {"not_checked", not_checked},
          {"failed", failed},
          {"suppressed", findings_json(report.suppressed, report)},
          {"suppressions", suppressions_json(report.suppressions)},
          {"problems", a.trace.problems}};
}

}  // namespace

std::string render_json(const Analysis& a, const Report& report) {
  return report_json(a, report).dump(2) + '\n';
}

std::string render_json_line(const Analysis& a, const Report& report) {
  return report_json(a, report).dump() + '\n';
}

std::string json_document(const std::vector<std::string>& reports,
                          const std::vector<std::string>& errors) {
  // Each report is a text already: a run of many keeps no more of them than that.
  std::string list;
  for (const std::string& report : reports) {
    list += list.empty() ? "\n    " : ",\n    ";
    for (const char c : report.substr(0, report.find_last_not_of('\n') + 1)) {
      list += c;
      if (c == '\n') list += "    ";  // JSON has line breaks between values only
    }
  }
  return fmt::format(
      "{{\n  \"schema_version\": {},\n  \"generator\": {},\n  \"errors\": {},\n  \"reports\": "
      "[{}\n  ]\n}}\n",
      reports_schema_version, Json(generator()).dump(), Json(errors).dump(), list);
}

}  // namespace gh

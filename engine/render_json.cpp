#include <cmath>

#include "json.hpp"
#include "render.hpp"

namespace gh {
namespace {

Json fact_json(const FactValue& value) {
  if (const auto* n = std::get_if<double>(&value)) return *n == std::floor(*n) && std::abs(*n) < 9e15 ? Json(static_cast<std::int64_t>(*n)) : Json(*n);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  return nullptr;
}

Json report_head(const Analysis& a) { return {{"path", a.trace.path}, {"format", a.trace.format}, {"producer", a.trace.producer}, {"schema", a.trace.schema}, {"environment_variables", a.trace.environment_variables}}; }

// A field that does not apply is null.
Json or_null(std::int64_t v) { return v < 0 ? Json(nullptr) : Json(v); }
Json or_null(const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); }

Json account_json(const Account& account, const std::vector<const DeviceAccount*>& devices) {
  std::vector<Ns> sums(account.causes.size());
  Ns all = 0, steps = 0;
  for (const DeviceAccount* d : devices)
    for (const auto& step : d->step_ns) {
      ++steps;
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += step[c], all += step[c];
    }
  Json list = Json::array();
  for (std::size_t c = 0; c < sums.size(); ++c)
    if (sums[c] > 0) list.push_back({{"cause", account.causes[c]}, {"ns", sums[c]}, {"ns_per_step", sums[c] / std::max<Ns>(steps, 1)}, {"fraction", static_cast<double>(sums[c]) / static_cast<double>(all)}});
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
  std::vector<Ns> lengths;
  for (const Step& s : d.steps) lengths.push_back(s.span.length());
  return {{"count", lengths.size()}, {"median_ns", median(lengths)}, {"source", source_name(d.source)}, {"described", d.described}, {"left_out", d.left_out}};
}

}  // namespace

Json finding_json(const Finding& f) {
  Json metrics = Json::array(), evidence = Json::array();
  for (const Metric& m : f.metrics) metrics.push_back({{"name", m.name}, {"value", m.value}, {"unit", name_of(m.unit)}, {"threshold", m.threshold ? Json(*m.threshold) : Json(nullptr)}});
  for (const Evidence& e : f.evidence)
    evidence.push_back({{"start_ns", e.span.start}, {"end_ns", e.span.end}, {"device", or_null(e.device)}, {"stream", or_null(e.stream)}, {"thread", or_null(e.thread)}, {"name", e.name}, {"note", e.note}, {"source", e.source.line > 0 ? Json(e.source.file + ':' + std::to_string(e.source.line)) : Json(nullptr)}});
  return {{"rule", f.rule}, {"category", f.category}, {"severity", name_of(f.severity)}, {"title", f.title}, {"message", f.message}, {"subject", f.subject},
          {"recoverable_ns", f.recoverable_ns}, {"recoverable_fraction", f.recoverable_fraction}, {"recoverable_is", f.about ? "about" : "at_most"}, {"predicted_step_ns", f.predicted ? Json(f.predicted->step_ns) : Json(nullptr)},
          {"predicted_step_range_ns", f.predicted ? Json{f.predicted->least_ns, f.predicted->most_ns} : Json(nullptr)}, {"predicted_step_why", f.predicted ? Json(f.predicted->why) : Json(nullptr)}, {"confidence", f.confidence}, {"advice", f.advice},
          {"metrics", metrics}, {"evidence", evidence}, {"follows_from", or_null(f.follows_from)}, {"fingerprint", f.fingerprint}};
}

Json plan_json(const Report& report) {
  if (!report.plan) return nullptr;
  const Plan& p = *report.plan;
  const Replay& r = *report.replay;
  Json fixes = Json::array();
  for (const Plan::Fix& f : p.fixes) fixes.push_back({{"rule", f.rule}, {"fingerprint", f.fingerprint}, {"step_ns", f.step.step_ns}, {"step_range_ns", {f.step.least_ns, f.step.most_ns}}});
  return {{"recorded_step_ns", p.recorded_ns}, {"step_ns", p.now.step_ns}, {"step_range_ns", {p.now.least_ns, p.now.most_ns}}, {"items", p.items > 0 ? Json{{"in_step", p.items}, {"what", p.item}} : Json(nullptr)}, {"fixes", fixes}, {"ceiling", or_null(p.ceiling)},
          {"bounds", {{"products_ns", p.bounds.products_ns}, {"compute_ns", p.bounds.compute_ns}, {"link_ns", p.bounds.link_ns}, {"host_ns", p.bounds.host_ns}}},
          {"replay", {{"steps", r.steps()}, {"uniform_error", r.uniform_error()}, {"unresolved", r.unresolved()}, {"unrepresentative", r.unrepresentative()}}}};
}

std::string render_json(const Analysis& a, const Report& report) {
  Json devices = Json::array();
  std::vector<const DeviceAccount*> accounts;
  Ns window = 0;
  for (std::size_t i = 0; i < a.devices.size(); ++i) {
    window += window_ns(a.devices[i]);
    const Device& d = a.trace.devices[a.devices[i].device];
    accounts.push_back(&a.account.devices[i]);
    devices.push_back({{"ordinal", d.ordinal}, {"name", or_null(d.name)}, {"sm_count", d.sm_count > 0 ? Json(d.sm_count) : Json(nullptr)},
                       {"compute_capability", d.compute_major > 0 ? Json(std::to_string(d.compute_major) + "." + std::to_string(d.compute_minor)) : Json(nullptr)},
                       {"memory_bytes", d.memory_bytes > 0 ? Json(d.memory_bytes) : Json(nullptr)}, {"window_ns", window_ns(a.devices[i])}, {"steps", steps_json(a.devices[i])}, {"account", account_json(a.account, {accounts.back()})}});
  }
  Json steps = {{"count", a.step_count()}, {"median_ns", median(a.step_lengths())}, {"source", a.devices.empty() ? "none" : source_name(a.devices.front().source)},
                {"described", a.devices.empty() ? "no GPU work" : a.devices.front().described}, {"found", a.has_steps()}};
  Json findings = Json::array(), not_checked = Json::array(), failed = Json::array();
  for (const Finding& f : report.findings) findings.push_back(finding_json(f));
  for (const NotChecked& n : report.not_checked) not_checked.push_back({{"rule", n.rule}, {"reason", n.reason}, {"record_with", or_null(n.record_with)}});
  Json suppressed = Json::array(), suppressions = Json::array();
  for (const Finding& f : report.suppressed) suppressed.push_back(finding_json(f));
  for (const auto& [s, state] : report.suppressions)
    suppressions.push_back({{"rule", s.rule}, {"subject", s.subject}, {"reason", s.reason}, {"until", or_null(s.until)}, {"where", s.where}, {"state", name_of(state)}});
  for (const Failed& f : report.failed) failed.push_back({{"rule", f.rule}, {"error", f.error}});
  const Json json = {{"schema_version", 1}, {"generator", std::string("gh-advise ") + GH_ADVISE_VERSION}, {"report", report_head(a)}, {"devices", devices}, {"window_ns", window}, {"steps", steps},
                     {"account", account_json(a.account, accounts)}, {"plan", plan_json(report)}, {"findings", findings}, {"clean", report.clean}, {"not_checked", not_checked}, {"failed", failed}, {"suppressed", suppressed}, {"suppressions", suppressions}, {"problems", a.trace.problems}};
  return json.dump(2) + '\n';
}

std::string render_facts_json(const Analysis& a, const Facts& facts) {
  Json list = Json::array();
  for (const Fact& f : facts.all()) {
    const FactValue& value = facts.value(f.name);
    Json entry = {{"name", f.name}, {"value", fact_json(value)}, {"unit", name_of(f.unit)}, {"doc", f.doc}};
    if (const auto* u = std::get_if<Unknown>(&value)) entry["unknown"] = u->reason;
    list.push_back(entry);
  }
  return Json{{"report", report_head(a)}, {"facts", list}}.dump(2) + '\n';
}

std::string render_rules_json(const std::vector<Rule>& rules) {
  Json list = Json::array();
  for (const Rule& r : rules) {
    Json options = Json::array(), needs = Json::array();
    for (const auto& [name, o] : r.options) options.push_back({{"name", name}, {"default", std::visit([](const auto& v) { return Json(v); }, o.value)}, {"unit", o.unit}, {"doc", o.doc}});
    for (const Source s : r.needs) needs.push_back(name_of(s));
    list.push_back({{"id", r.id}, {"category", r.category}, {"title", r.title}, {"since", r.since}, {"needs", needs}, {"options", options},
                    {"doc", {{"what", r.what}, {"why", r.why}, {"fix", r.fix}, {"wrong", r.wrong}}}});
  }
  return Json{{"rules", list}}.dump(2) + '\n';
}

}  // namespace gh

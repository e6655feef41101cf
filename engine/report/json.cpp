#include "base/json.hpp"

#include <cmath>

#include "report/report.hpp"
#include "rules/finding_json.hpp"

namespace gh {
namespace {

// A field that does not apply is null.
Json or_null(const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); }

Json fact_json(const FactValue& value) {
  if (const auto* n = std::get_if<double>(&value))
    return *n == std::floor(*n) && std::abs(*n) < 9e15 ? Json(static_cast<std::int64_t>(*n))
                                                       : Json(*n);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  return nullptr;
}

Json report_head(const Analysis& a) {
  return {{"path", a.trace.path},
          {"format", a.trace.format},
          {"producer", a.trace.producer},
          {"schema", a.trace.schema},
          {"environment_variables", a.trace.environment_variables}};
}

Json account_json(const Account& account, const std::vector<const DeviceAccount*>& devices) {
  std::vector<Ns> sums(account.causes.size());
  Ns all = 0, steps = 0;
  for (const DeviceAccount* d : devices)
    for (const auto& step : d->step_ns) {
      ++steps;
      for (std::size_t c = 0; c < sums.size(); ++c) {
        sums[c] += step[c];
        all += step[c];
      }
    }
  Json list = Json::array();
  for (std::size_t c = 0; c < sums.size(); ++c)
    if (sums[c] > 0)
      list.push_back({{"cause", account.causes[c]},
                      {"ns", sums[c]},
                      {"ns_per_step", sums[c] / std::max<Ns>(steps, 1)},
                      {"fraction", static_cast<double>(sums[c]) / static_cast<double>(all)}});
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
  return {{"count", lengths.size()},
          {"median_ns", median(lengths)},
          {"source", source_name(d.source)},
          {"described", d.described},
          {"left_out", d.left_out}};
}

}  // namespace

std::string render_json(const Analysis& a, const Report& report) {
  Json devices = Json::array();
  std::vector<const DeviceAccount*> accounts;
  Ns window = 0;
  for (std::size_t i = 0; i < a.devices.size(); ++i) {
    window += window_ns(a.devices[i]);
    const Device& d = a.trace.devices[a.devices[i].device];
    accounts.push_back(&a.account.devices[i]);
    devices.push_back(
        {{"ordinal", d.ordinal},
         {"name", or_null(d.name)},
         {"sm_count", d.sm_count > 0 ? Json(d.sm_count) : Json(nullptr)},
         {"compute_capability", d.compute_major > 0 ? Json(std::to_string(d.compute_major) + "." +
                                                           std::to_string(d.compute_minor))
                                                    : Json(nullptr)},
         {"memory_bytes", d.memory_bytes > 0 ? Json(d.memory_bytes) : Json(nullptr)},
         {"window_ns", window_ns(a.devices[i])},
         {"steps", steps_json(a.devices[i])},
         {"account", account_json(a.account, {accounts.back()})}});
  }
  Json steps = {{"count", a.step_count()},
                {"median_ns", median(a.step_lengths())},
                {"source", a.devices.empty() ? "none" : source_name(a.devices.front().source)},
                {"described", a.devices.empty() ? "no GPU work" : a.devices.front().described},
                {"found", a.has_steps()}};
  Json findings = Json::array(), not_checked = Json::array(), failed = Json::array();
  for (const Finding& f : report.findings) findings.push_back(finding_json(f));
  for (const NotChecked& n : report.not_checked)
    not_checked.push_back(
        {{"rule", n.rule}, {"reason", n.reason}, {"record_with", or_null(n.record_with)}});
  Json suppressed = Json::array(), suppressions = Json::array();
  for (const Finding& f : report.suppressed) suppressed.push_back(finding_json(f));
  for (const auto& [s, state] : report.suppressions)
    suppressions.push_back({{"rule", s.rule},
                            {"subject", s.subject},
                            {"reason", s.reason},
                            {"until", or_null(s.until)},
                            {"where", s.where},
                            {"state", name_of(state)}});
  for (const Failed& f : report.failed) failed.push_back({{"rule", f.rule}, {"error", f.error}});
  const Json json = {{"schema_version", 1},
                     {"generator", std::string("gh-advise ") + GH_ADVISE_VERSION},
                     {"report", report_head(a)},
                     {"devices", devices},
                     {"window_ns", window},
                     {"steps", steps},
                     {"account", account_json(a.account, accounts)},
                     {"plan", plan_json(report)},
                     {"findings", findings},
                     {"clean", report.clean},
                     {"not_checked", not_checked},
                     {"failed", failed},
                     {"suppressed", suppressed},
                     {"suppressions", suppressions},
                     {"problems", a.trace.problems}};
  return json.dump(2) + '\n';
}

std::string render_facts_json(const Analysis& a, const Facts& facts) {
  Json list = Json::array();
  for (const Fact& f : facts.all()) {
    const FactValue& value = facts.value(f.name);
    Json entry = {
        {"name", f.name}, {"value", fact_json(value)}, {"unit", name_of(f.unit)}, {"doc", f.doc}};
    if (const auto* u = std::get_if<Unknown>(&value)) entry["unknown"] = u->reason;
    list.push_back(entry);
  }
  return Json{{"report", report_head(a)}, {"facts", list}}.dump(2) + '\n';
}

std::string render_rules_json(const std::vector<Rule>& rules) {
  Json list = Json::array();
  for (const Rule& r : rules) {
    Json options = Json::array(), needs = Json::array();
    for (const auto& [name, o] : r.options)
      options.push_back({{"name", name},
                         {"default", std::visit([](const auto& v) { return Json(v); }, o.value)},
                         {"unit", o.unit},
                         {"doc", o.doc}});
    for (const Source s : r.needs) needs.push_back(name_of(s));
    list.push_back(
        {{"id", r.id},
         {"category", r.category},
         {"title", r.title},
         {"since", r.since},
         {"needs", needs},
         {"options", options},
         {"doc", {{"what", r.what}, {"why", r.why}, {"fix", r.fix}, {"wrong", r.wrong}}}});
  }
  return Json{{"rules", list}}.dump(2) + '\n';
}

}  // namespace gh

#include "baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "flops.hpp"

namespace gh {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kind = "gh-advise baseline";

std::string device_text(const Device& d) {
  std::string text = d.name.empty() ? "a GPU that the report does not name" : d.name;
  if (d.sm_count > 0) text += fmt::format(", {} SMs", d.sm_count);
  if (d.compute_major > 0) text += fmt::format(", compute capability {}.{}", d.compute_major, d.compute_minor);
  return text;
}

bool is_gemm(const std::string& kernel_class) { return kernel_class.starts_with("gemm"); }

Program program_of(const Analysis& a) {
  Program p;
  p.shown = a.trace.availability(Source::graph_nodes).known() && a.trace.availability(Source::kernels).known();
  if (!p.shown || a.step_count() == 0) return p;
  const double steps = static_cast<double>(a.step_count());
  std::map<std::pair<NameId, std::uint32_t>, std::int64_t> grids;
  std::unordered_map<NameId, std::string> classes;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const Spans& window = a.account.devices[d].window;
    // On each stream a run of attention kernels is one block; only a GEMM parts it from the next.
    std::unordered_map<std::uint32_t, bool> in_block;
    for (const Row op : a.devices[d].ops) {
      if (a.trace.ops.kind[op] != OpKind::kernel || window.empty() || a.trace.ops.start[op] >= window.back().end || a.trace.ops.end[op] <= window.front().start) continue;
      const std::string& c = a.kernel_class(op);
      bool& inside = in_block[a.trace.ops.stream[op]];
      if (is_gemm(c)) inside = false, ++p.gemms;
      if (c == "attention_fused" || c == "softmax") {
        if (!inside) ++p.attention_blocks, p.written_out_blocks += c == "softmax";
        inside = true;
      }
      if (is_gemm(c) || c == "attention_fused" || c == "softmax_loss") ++grids[{a.trace.ops.name[op], a.trace.ops.blocks[op]}], classes[a.trace.ops.name[op]] = c;
    }
  }
  p.attention_blocks /= steps, p.written_out_blocks /= steps, p.gemms /= steps;
  for (const auto& [key, count] : grids) p.grids.push_back({a.trace.names[key.first], classes[key.first], key.second, static_cast<double>(count) / steps});
  std::stable_sort(p.grids.begin(), p.grids.end(), [](const Grid& x, const Grid& y) { return x.count_per_step > y.count_per_step; });
  if (p.grids.size() > most_kernels) p.grids.resize(most_kernels);
  if (const auto flops = product_flops(a)) p.flops = *flops / steps;
  return p;
}

std::vector<KernelUse> kernels_of(const Analysis& a) {
  std::unordered_map<NameId, std::pair<std::int64_t, Ns>> uses;
  std::unordered_map<NameId, const std::string*> classes;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const Spans& window = a.account.devices[d].window;
    if (window.empty()) continue;
    for (const Row op : a.devices[d].ops) {
      if (a.trace.ops.kind[op] != OpKind::kernel || a.trace.ops.start[op] >= window.back().end || a.trace.ops.end[op] <= window.front().start) continue;
      auto& [count, ns] = uses[a.trace.ops.name[op]];
      ++count, ns += a.trace.span_of(op).length();
      classes[a.trace.ops.name[op]] = &a.kernel_class(op);
    }
  }
  const double steps = static_cast<double>(std::max<std::int64_t>(a.step_count(), 1));
  std::vector<KernelUse> kernels;
  for (const auto& [name, use] : uses) kernels.push_back({a.trace.names[name], *classes[name], static_cast<double>(use.first) / steps, static_cast<double>(use.second) / steps});
  std::sort(kernels.begin(), kernels.end(), [](const KernelUse& x, const KernelUse& y) { return x.ns_per_step != y.ns_per_step ? x.ns_per_step > y.ns_per_step : x.name < y.name; });
  if (kernels.size() > most_kernels) kernels.resize(most_kernels);
  return kernels;
}

std::string version_of(const Rule& rule, const RuleSettings* settings) {
  std::string text = rule.source;
  if (settings) {
    for (const auto& [name, value] : settings->options) text += '\n' + name + '=' + std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
    if (settings->severity) text += fmt::format("\nseverity={}", name_of(*settings->severity));
  }
  return digest(text);
}

constexpr const char* state_names[] = {"looked", "not_checked", "failed"};

Json number(double v) { return v == std::floor(v) && std::abs(v) < 9e15 ? Json(static_cast<std::int64_t>(v)) : Json(v); }

Json json_of(const Capture& c) {
  Json facts = Json::object(), kernels = Json::array(), grids = Json::array(), findings = Json::array(), rules = Json::object();
  for (const auto& [name, f] : c.facts) {
    facts[name] = {{"value", f.value ? number(*f.value) : Json(nullptr)}, {"unit", name_of(f.unit)}};
    if (!f.value) facts[name]["unknown"] = f.unknown;
  }
  for (const KernelUse& k : c.kernels) kernels.push_back({{"name", k.name}, {"class", k.kernel_class}, {"count_per_step", number(k.count_per_step)}, {"ns_per_step", number(k.ns_per_step)}});
  for (const Grid& g : c.program.grids) grids.push_back({{"kernel", g.kernel}, {"class", g.kernel_class}, {"blocks", g.blocks}, {"count_per_step", number(g.count_per_step)}});
  for (const Finding& f : c.findings)
    findings.push_back({{"rule", f.rule}, {"category", f.category}, {"title", f.title}, {"severity", name_of(f.severity)}, {"message", f.message}, {"subject", f.subject}, {"recoverable_ns", f.recoverable_ns},
                        {"recoverable_fraction", f.recoverable_fraction}, {"recoverable_is", f.about ? "about" : "at_most"}, {"advice", f.advice}, {"voids", f.voids}, {"fingerprint", f.fingerprint}});
  for (const auto& [id, r] : c.rules) {
    rules[id] = {{"state", state_names[static_cast<int>(r.state)]}, {"version", r.version}, {"warns_from", r.warns_from}};
    if (!r.reason.empty()) rules[id]["reason"] = r.reason;
  }
  return {{"path", c.path}, {"format", c.format}, {"producer", c.producer}, {"devices", c.devices}, {"has_steps", c.has_steps}, {"lacking", c.lacking}, {"problems", c.problems},
          {"program", {{"shown", c.program.shown}, {"attention_blocks", number(c.program.attention_blocks)}, {"written_out_blocks", number(c.program.written_out_blocks)}, {"gemms", number(c.program.gemms)},
                       {"flops", c.program.flops ? number(*c.program.flops) : Json(nullptr)}, {"grids", grids}}},
          {"step_ns", c.step_ns}, {"cause_ns", c.cause_ns}, {"facts", facts}, {"kernels", kernels}, {"findings", findings}, {"rules", rules}};
}

Unit unit_named(const std::string& name) {
  for (int u = 0; u <= static_cast<int>(Unit::text); ++u)
    if (name == name_of(static_cast<Unit>(u))) return static_cast<Unit>(u);
  throw Error(fmt::format("there is no unit '{}'", printable(name)));
}

// A number that no file can make infinite or not a number: what is compared with it would be true or false for no reason.
double finite(const Json& json) {
  const double v = json.get<double>();
  if (!std::isfinite(v)) throw Error("a number is out of range");
  return v;
}

Capture capture_from(const Json& j) {
  Capture c;
  const auto text = [](const Json& from, const char* key) { return printable(from.at(key).get<std::string>()); };
  const auto texts = [](const Json& list) {
    std::vector<std::string> out;
    for (const Json& item : list) out.push_back(printable(item.get<std::string>()));
    return out;
  };
  c.path = text(j, "path"), c.format = text(j, "format"), c.producer = text(j, "producer");
  c.devices = texts(j.at("devices")), c.lacking = texts(j.at("lacking")), c.problems = texts(j.at("problems"));
  c.has_steps = j.at("has_steps").get<bool>();
  const Json& p = j.at("program");
  c.program.shown = p.at("shown").get<bool>();
  c.program.attention_blocks = finite(p.at("attention_blocks")), c.program.written_out_blocks = finite(p.at("written_out_blocks")), c.program.gemms = finite(p.at("gemms"));
  if (!p.at("flops").is_null()) c.program.flops = finite(p.at("flops"));
  for (const Json& g : p.at("grids")) c.program.grids.push_back({text(g, "kernel"), text(g, "class"), g.at("blocks").get<std::int64_t>(), finite(g.at("count_per_step"))});
  c.step_ns = j.at("step_ns").get<std::vector<Ns>>();
  c.cause_ns = j.at("cause_ns").get<std::map<std::string, std::vector<Ns>>>();
  for (const auto& [cause, ns] : c.cause_ns)
    if (ns.size() != c.step_ns.size()) throw Error(fmt::format("'{}' of the account is not as long as the steps", printable(cause)));
  for (const auto& [name, f] : j.at("facts").items()) {
    FactNumber& fact = c.facts[name];
    fact.unit = unit_named(f.at("unit").get<std::string>());
    if (f.at("value").is_null()) fact.unknown = text(f, "unknown");
    else fact.value = finite(f.at("value"));
  }
  for (const Json& k : j.at("kernels")) c.kernels.push_back({text(k, "name"), text(k, "class"), finite(k.at("count_per_step")), finite(k.at("ns_per_step"))});
  for (const Json& f : j.at("findings")) {
    Finding finding;
    finding.rule = text(f, "rule"), finding.category = text(f, "category"), finding.title = text(f, "title"), finding.message = text(f, "message"), finding.subject = text(f, "subject"), finding.fingerprint = text(f, "fingerprint");
    finding.severity = parse_severity(text(f, "severity"), "severity");
    finding.recoverable_ns = f.at("recoverable_ns").get<Ns>(), finding.recoverable_fraction = finite(f.at("recoverable_fraction"));
    finding.about = f.at("recoverable_is") == "about", finding.voids = f.at("voids").get<bool>(), finding.advice = texts(f.at("advice"));
    c.findings.push_back(std::move(finding));
  }
  for (const auto& [id, r] : j.at("rules").items()) {
    const auto state = std::find(std::begin(state_names), std::end(state_names), r.at("state").get<std::string>());
    if (state == std::end(state_names)) throw Error(fmt::format("rule '{}' is in no known state", printable(id)));
    c.rules[id] = {static_cast<RuleOutcome::State>(state - state_names), r.contains("reason") ? text(r, "reason") : "", text(r, "version"), finite(r.at("warns_from"))};
  }
  return c;
}

}  // namespace

Capture capture_of(const Analysis& a, const Facts& facts, const Report& report, const std::vector<Rule>& rules, const std::map<std::string, RuleSettings>& settings) {
  Capture c;
  c.path = a.trace.path, c.format = a.trace.format, c.producer = a.trace.producer;
  for (const DeviceSteps& d : a.devices) c.devices.push_back(device_text(a.trace.devices[d.device]));
  std::sort(c.devices.begin(), c.devices.end());
  c.has_steps = a.has_steps();
  for (std::size_t s = 0; s < static_cast<std::size_t>(Source::count); ++s)
    if (!a.trace.sources[s].known()) c.lacking.emplace_back(name_of(static_cast<Source>(s)));
  c.problems = a.trace.problems;
  c.program = program_of(a);

  // Devices of one job wait for each other: a step is one measurement, not one a device.
  std::size_t steps = a.devices.empty() ? 0 : a.devices.front().steps.size();
  for (const DeviceSteps& d : a.devices) steps = std::min(steps, d.steps.size());
  const std::size_t kept = std::min(steps, most_steps);
  const auto mean = [&](auto value_on_device) {
    Ns sum = 0;
    for (std::size_t d = 0; d < a.devices.size(); ++d) sum += value_on_device(d);
    return sum / static_cast<Ns>(a.devices.size());
  };
  std::vector<std::vector<Ns>> by_cause(a.account.causes.size());
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t s = i * steps / kept;
    c.step_ns.push_back(mean([&](std::size_t d) { return a.devices[d].steps[s].span.length(); }));
    for (std::size_t cause = 0; cause < by_cause.size(); ++cause) by_cause[cause].push_back(mean([&](std::size_t d) { return a.account.devices[d].step_ns[s][cause]; }));
  }
  for (std::size_t cause = 0; cause < by_cause.size(); ++cause)
    if (a.account.total_ns(a.account.causes[cause]) > 0) c.cause_ns[a.account.causes[cause]] = std::move(by_cause[cause]);

  for (const Fact& f : facts.all()) {
    if (f.unit == Unit::text) continue;
    const FactValue& value = facts.value(f.name);
    FactNumber& number = c.facts[f.name];
    number.unit = f.unit;
    if (const double* v = std::get_if<double>(&value)) number.value = *v;
    else number.unknown = std::holds_alternative<Unknown>(value) ? std::get<Unknown>(value).reason : "is a text";
  }
  c.kernels = kernels_of(a);
  c.findings = report.findings;
  c.findings.insert(c.findings.end(), report.suppressed.begin(), report.suppressed.end());
  for (const Rule& r : rules) {
    const auto set = settings.find(r.id);
    c.rules[r.id].version = version_of(r, set == settings.end() ? nullptr : &set->second);
    c.rules[r.id].warns_from = warns_from(r, set == settings.end() ? RuleSettings{} : set->second);
  }
  for (const NotChecked& n : report.not_checked) c.rules[n.rule].state = RuleOutcome::State::not_checked, c.rules[n.rule].reason = n.reason;
  for (const Failed& f : report.failed) c.rules[f.rule].state = RuleOutcome::State::failed, c.rules[f.rule].reason = f.error;
  return c;
}

std::string render_baseline(const std::vector<Capture>& captures) {
  Json list = Json::array();
  for (const Capture& c : captures) list.push_back(json_of(c));
  return Json{{"kind", kind}, {"schema_version", 1}, {"analysis_version", analysis_version}, {"generator", std::string("gh-advise ") + GH_ADVISE_VERSION}, {"captures", list}}.dump(1) + '\n';
}

bool is_baseline(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(64, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head.find(kind) != head.npos;
}

std::vector<Capture> read_baseline(const std::filesystem::path& path) {
  const std::string shown_path = printable(path.string());
  const auto damaged = [&](const std::string& why) { return Error(fmt::format("{}: is no intact baseline: {}; make it anew with `gh-advise baseline`", shown_path, printable(why))); };
  try {
    const Json json = Json::parse(read_text(path));
    if (!json.is_object() || json.value("kind", "") != kind) throw damaged("it does not say that it is one");
    if (json.at("schema_version") != 1 || json.at("analysis_version") != analysis_version)
      throw Error(fmt::format("{}: was made by {}, which measured otherwise than gh-advise {}; make it anew with `gh-advise baseline`", shown_path, printable(json.at("generator").get<std::string>()), GH_ADVISE_VERSION));
    std::vector<Capture> captures;
    for (const Json& c : json.at("captures")) captures.push_back(capture_from(c));
    if (captures.empty()) throw damaged("it holds no capture");
    return captures;
  } catch (const Json::exception& e) {
    throw damaged(e.what());
  }
}

}  // namespace gh

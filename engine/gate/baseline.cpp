#include "gate/baseline.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <unordered_map>

#include "analysis/flops.hpp"
#include "base/files.hpp"

namespace gh {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kind = "gh-advise baseline";

std::string device_text(const Device& d) {
  std::string text = d.name.empty() ? "a GPU that the report does not name" : d.name;
  if (d.sm_count > 0) text += fmt::format(", {} SMs", d.sm_count);
  if (d.compute_major > 0)
    text += fmt::format(", compute capability {}.{}", d.compute_major, d.compute_minor);
  return text;
}

bool is_gemm(const std::string& kernel_class) { return kernel_class.starts_with("gemm"); }

Program program_of(const Analysis& a) {
  Program p;
  p.shown = a.trace.availability(Source::graph_nodes).known() &&
            a.trace.availability(Source::kernels).known();
  if (a.step_count() == 0) return p;
  const double steps = static_cast<double>(a.step_count());
  std::map<std::pair<NameId, std::uint32_t>, std::int64_t> grids;
  std::unordered_map<NameId, std::string> classes;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const Spans& window = a.account.devices[d].window;
    // On each stream a run of attention kernels is one block; only a GEMM parts it from the next.
    std::unordered_map<std::uint32_t, bool> in_block;
    for (const Row op : a.devices[d].ops) {
      if (window.empty() || a.trace.ops.start[op] >= window.back().end ||
          a.trace.ops.end[op] <= window.front().start)
        continue;
      p.graphs += a.trace.ops.kind[op] == OpKind::graph;
      p.kernels += a.trace.ops.kind[op] == OpKind::kernel;
      if (a.trace.ops.kind[op] != OpKind::kernel || !p.shown) continue;
      const std::string& c = a.kernel_class(op);
      bool& inside = in_block[a.trace.ops.stream[op]];
      if (is_gemm(c)) {
        inside = false;
        ++p.gemms;
      }
      if (c == "attention_fused" || c == "softmax") {
        if (!inside) {
          ++p.attention_blocks;
          p.written_out_blocks += c == "softmax";
        }
        inside = true;
      }
      if (is_gemm(c) || c == "attention_fused" || c == "softmax_loss") {
        ++grids[{a.trace.ops.name[op], a.trace.ops.blocks[op]}];
        classes[a.trace.ops.name[op]] = c;
      }
    }
  }
  p.attention_blocks /= steps;
  p.written_out_blocks /= steps;
  p.gemms /= steps;
  p.graphs /= steps;
  p.kernels /= steps;
  for (const auto& [key, count] : grids)
    p.grids.push_back({a.trace.names[key.first], classes[key.first], key.second,
                       static_cast<double>(count) / steps});
  std::stable_sort(p.grids.begin(), p.grids.end(), [](const Grid& x, const Grid& y) {
    return x.count_per_step > y.count_per_step;
  });
  if (p.grids.size() > most_kernels) p.grids.resize(most_kernels);
  if (const auto flops = product_flops(a)) p.flops = *flops / steps;
  return p;
}

std::vector<KernelUse> kernels_of(const Analysis& a) {
  std::unordered_map<NameId, std::pair<std::int64_t, Ns>> uses;
  std::unordered_map<NameId, const std::string*> classes;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    for (const Row op : a.ops_in_steps(d)) {
      if (a.trace.ops.kind[op] != OpKind::kernel) continue;
      auto& [count, ns] = uses[a.trace.ops.name[op]];
      ++count;
      ns += a.trace.span_of(op).length();
      classes[a.trace.ops.name[op]] = &a.kernel_class(op);
    }
  }
  const double steps = static_cast<double>(std::max<std::int64_t>(a.step_count(), 1));
  std::vector<KernelUse> kernels;
  for (const auto& [name, use] : uses)
    kernels.push_back({a.trace.names[name], *classes[name], static_cast<double>(use.first) / steps,
                       static_cast<double>(use.second) / steps});
  std::sort(kernels.begin(), kernels.end(), [](const KernelUse& x, const KernelUse& y) {
    return x.ns_per_step != y.ns_per_step ? x.ns_per_step > y.ns_per_step : x.name < y.name;
  });
  if (kernels.size() > most_kernels) kernels.resize(most_kernels);
  return kernels;
}

std::string version_of(const Rule& rule, const RuleSettings* settings) {
  std::string text = rule.source;
  if (settings) {
    for (const auto& [name, value] : settings->options)
      text +=
          '\n' + name + '=' + std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
    if (settings->severity) text += fmt::format("\nseverity={}", name_of(*settings->severity));
  }
  return digest(text);
}

constexpr const char* state_names[] = {"looked", "not_checked", "not_recorded", "failed"};
constexpr const char* collected_names[] = {"recorded", "nothing_happened", "not_recorded",
                                           "unknown"};

Json number(double v) {
  return v == std::floor(v) && std::abs(v) < 9e15 ? Json(static_cast<std::int64_t>(v)) : Json(v);
}

Json json_of(const Capture& c) {
  Json facts = Json::object(), kernels = Json::array(), grids = Json::array(),
       findings = Json::array(), rules = Json::object(), sources = Json::object();
  for (const auto& [name, state] : c.sources)
    sources[name] = collected_names[static_cast<int>(state)];
  for (const auto& [name, f] : c.facts) {
    facts[name] = {{"value", f.value ? number(*f.value) : Json(nullptr)},
                   {"unit", name_of(f.unit)}};
    if (!f.value) facts[name]["unknown"] = f.unknown;
  }
  for (const KernelUse& k : c.kernels)
    kernels.push_back({{"name", k.name},
                       {"class", k.kernel_class},
                       {"count_per_step", number(k.count_per_step)},
                       {"ns_per_step", number(k.ns_per_step)}});
  for (const Grid& g : c.program.grids)
    grids.push_back({{"kernel", g.kernel},
                     {"class", g.kernel_class},
                     {"blocks", g.blocks},
                     {"count_per_step", number(g.count_per_step)}});
  for (const Finding& f : c.findings)
    findings.push_back({{"rule", f.rule},
                        {"category", f.category},
                        {"title", f.title},
                        {"severity", name_of(f.severity)},
                        {"message", f.message},
                        {"subject", f.subject},
                        {"recoverable_ns", f.recoverable_ns},
                        {"recoverable_fraction", f.recoverable_fraction},
                        {"recoverable_is", f.about ? "about" : "at_most"},
                        {"advice", f.advice},
                        {"voids", f.voids},
                        {"fingerprint", f.fingerprint}});
  for (const auto& [id, r] : c.rules) {
    rules[id] = {{"state", state_names[static_cast<int>(r.state)]},
                 {"version", r.version},
                 {"warns_from", r.warns_from}};
    if (!r.reason.empty()) rules[id]["reason"] = r.reason;
  }
  return {{"path", c.path},
          {"format", c.format},
          {"producer", c.producer},
          {"devices", c.devices},
          {"selection", c.selection},
          {"has_steps", c.has_steps},
          {"sources", sources},
          {"problems", c.problems},
          {"program",
           {{"shown", c.program.shown},
            {"graphs", number(c.program.graphs)},
            {"kernels", number(c.program.kernels)},
            {"attention_blocks", number(c.program.attention_blocks)},
            {"written_out_blocks", number(c.program.written_out_blocks)},
            {"gemms", number(c.program.gemms)},
            {"flops", c.program.flops ? number(*c.program.flops) : Json(nullptr)},
            {"grids", grids}}},
          {"step_ns", c.step_ns},
          {"cause_ns", c.cause_ns},
          {"facts", facts},
          {"kernels", kernels},
          {"findings", findings},
          {"rules", rules}};
}

Unit unit_named(const std::string& name) {
  for (int u = 0; u <= static_cast<int>(Unit::text); ++u)
    if (name == name_of(static_cast<Unit>(u))) return static_cast<Unit>(u);
  throw Error(fmt::format("there is no unit '{}'", printable(name)));
}

// Numbers as a recording can have them. What is none would make every comparison with it true or
// false for no reason.
double within(const Json& json, double least, double most) {
  if (!json.is_number()) throw Error("a number is missing");
  const double v = json.get<double>();
  if (!(v >= least && v <= most))
    throw Error(fmt::format("the number {} is out of range", json.dump()));
  return v;
}
constexpr double most_ns = 2e18, most_count = 1e12;  // 63 years
Ns ns_of(const Json& json, double least = 0) {
  return static_cast<Ns>(within(json, least, most_ns));
}
double count_of(const Json& json) { return within(json, 0, most_count); }
double share_of(const Json& json) { return within(json, 0, 1); }

std::string text_of(const Json& json) { return printable(json.get<std::string>()); }

std::string name_in(const Json& json) {
  const std::string name = json.get<std::string>();
  if (!is_name(name))
    throw Error(fmt::format("'{}' is no name of a rule or category", printable(name)));
  return name;
}

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& item : list) texts.push_back(text_of(item));
  return texts;
}

std::vector<Ns> times_of(const Json& list, double least) {
  std::vector<Ns> times;
  for (const Json& item : list) times.push_back(ns_of(item, least));
  return times;
}

template <std::size_t n>
int index_of(const char* const (&names)[n], const std::string& name) {
  const auto it = std::find(std::begin(names), std::end(names), name);
  if (it == std::end(names)) throw Error(fmt::format("'{}' is unknown", printable(name)));
  return static_cast<int>(it - names);
}

Program program_from(const Json& j) {
  Program p;
  p.shown = j.at("shown").get<bool>();
  p.graphs = count_of(j.at("graphs"));
  p.kernels = count_of(j.at("kernels"));
  p.attention_blocks = count_of(j.at("attention_blocks"));
  p.written_out_blocks = count_of(j.at("written_out_blocks"));
  p.gemms = count_of(j.at("gemms"));
  if (!j.at("flops").is_null()) p.flops = within(j.at("flops"), 0, 1e30);
  for (const Json& g : j.at("grids"))
    p.grids.push_back({text_of(g.at("kernel")), text_of(g.at("class")),
                       static_cast<std::int64_t>(count_of(g.at("blocks"))),
                       count_of(g.at("count_per_step"))});
  return p;
}

Finding finding_from(const Json& j) {
  Finding f;
  f.rule = name_in(j.at("rule"));
  f.category = name_in(j.at("category"));
  f.title = text_of(j.at("title"));
  f.message = text_of(j.at("message"));
  f.subject = text_of(j.at("subject"));
  f.fingerprint = text_of(j.at("fingerprint"));
  f.severity = parse_severity(j.at("severity").get<std::string>(), "severity");
  f.recoverable_ns = ns_of(j.at("recoverable_ns"));
  f.recoverable_fraction = share_of(j.at("recoverable_fraction"));
  f.about = j.at("recoverable_is") == "about";
  f.voids = j.at("voids").get<bool>();
  f.advice = texts_of(j.at("advice"));
  return f;
}

Capture capture_from(const Json& j) {
  Capture c;
  c.path = text_of(j.at("path"));
  c.format = text_of(j.at("format"));
  c.producer = text_of(j.at("producer"));
  c.selection = text_of(j.at("selection"));
  c.devices = texts_of(j.at("devices"));
  c.problems = texts_of(j.at("problems"));
  c.has_steps = j.at("has_steps").get<bool>();
  for (const auto& [name, state] : j.at("sources").items())
    c.sources[printable(name)] =
        static_cast<Collected>(index_of(collected_names, state.get<std::string>()));
  c.program = program_from(j.at("program"));
  c.step_ns = times_of(j.at("step_ns"), 1);
  for (const auto& [cause, list] : j.at("cause_ns").items()) {
    std::vector<Ns>& ns = c.cause_ns[printable(cause)] = times_of(list, 0);
    if (ns.size() != c.step_ns.size())
      throw Error(fmt::format("'{}' of the account is not as long as the steps", printable(cause)));
  }
  for (const auto& [name, f] : j.at("facts").items()) {
    FactNumber& fact = c.facts[printable(name)];
    fact.unit = unit_named(f.at("unit").get<std::string>());
    if (f.at("value").is_null())
      fact.unknown = text_of(f.at("unknown"));
    else
      fact.value = within(f.at("value"), -1e30, 1e30);
  }
  for (const Json& k : j.at("kernels"))
    c.kernels.push_back({text_of(k.at("name")), text_of(k.at("class")),
                         count_of(k.at("count_per_step")),
                         within(k.at("ns_per_step"), 0, most_ns)});
  for (const Json& f : j.at("findings")) c.findings.push_back(finding_from(f));
  for (const auto& [id, r] : j.at("rules").items())
    c.rules[printable(id)] = {
        static_cast<RuleOutcome::State>(index_of(state_names, r.at("state").get<std::string>())),
        r.contains("reason") ? text_of(r.at("reason")) : "", text_of(r.at("version")),
        within(r.at("warns_from"), 0, 1e30)};
  return c;
}

}  // namespace

Capture capture_of(const Analysis& a, const Facts& facts, const Report& report,
                   const std::vector<Rule>& rules,
                   const std::map<std::string, RuleSettings>& settings) {
  Capture c;
  c.path = a.trace.path;
  c.format = a.trace.format;
  c.producer = a.trace.producer;
  for (const DeviceSteps& d : a.devices)
    c.devices.push_back(device_text(a.trace.devices[d.device]));
  std::sort(c.devices.begin(), c.devices.end());
  c.has_steps = a.has_steps();
  for (std::size_t s = 0; s < static_cast<std::size_t>(Source::count); ++s)
    c.sources[name_of(static_cast<Source>(s))] = a.trace.sources[s].state;
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
    for (std::size_t cause = 0; cause < by_cause.size(); ++cause)
      by_cause[cause].push_back(
          mean([&](std::size_t d) { return a.account.devices[d].step_ns[s][cause]; }));
  }
  for (std::size_t cause = 0; cause < by_cause.size(); ++cause)
    if (a.account.total_ns(a.account.causes[cause]) > 0)
      c.cause_ns[a.account.causes[cause]] = std::move(by_cause[cause]);

  for (const Fact& f : facts.all()) {
    if (f.unit == Unit::text) continue;
    const FactValue& value = facts.value(f.name);
    FactNumber& number = c.facts[f.name];
    number.unit = f.unit;
    if (const double* v = std::get_if<double>(&value))
      number.value = *v;
    else
      number.unknown =
          std::holds_alternative<Unknown>(value) ? std::get<Unknown>(value).reason : "is a text";
  }
  c.kernels = kernels_of(a);
  c.findings = report.findings;
  c.findings.insert(c.findings.end(), report.suppressed.begin(), report.suppressed.end());
  for (const Rule& r : rules) {
    const auto set = settings.find(r.id);
    c.rules[r.id].version = version_of(r, set == settings.end() ? nullptr : &set->second);
    c.rules[r.id].warns_from = warns_from(r, set == settings.end() ? RuleSettings{} : set->second);
  }
  for (const NotChecked& n : report.not_checked) {
    c.rules[n.rule].state =
        n.not_recorded ? RuleOutcome::State::not_recorded : RuleOutcome::State::not_checked;
    c.rules[n.rule].reason = n.reason;
  }
  for (const Failed& f : report.failed) {
    c.rules[f.rule].state = RuleOutcome::State::failed;
    c.rules[f.rule].reason = f.error;
  }
  return c;
}

std::string render_baseline(const std::vector<Capture>& captures) {
  Json list = Json::array();
  for (const Capture& c : captures) list.push_back(json_of(c));
  return Json{{"kind", kind},
              {"schema_version", 1},
              {"analysis_version", analysis_version},
              {"generator", std::string("gh-advise ") + GH_ADVISE_VERSION},
              {"captures", list}}
             .dump(1) +
         '\n';
}

bool is_baseline(const std::filesystem::path& path) {
  // A trace is JSON as well, of any size.
  if (std::error_code ec; !std::filesystem::is_regular_file(path, ec) ||
                          std::filesystem::file_size(path, ec) > most_file_bytes)
    return false;
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  if (!(file >> first) || first != '{') return false;
  return read_text(path).find(fmt::format("\"{}\"", kind)) != std::string::npos;
}

std::vector<Capture> read_baseline(const std::filesystem::path& path) {
  const std::string shown_path = printable(path.string());
  const auto damaged = [&](const std::string& why) {
    return Error(
        fmt::format("{}: is no intact baseline: {}; make it anew with `gh-advise baseline`",
                    shown_path, printable(why)));
  };
  Json json;
  std::vector<Capture> captures;
  try {
    json = Json::parse(read_text(path));
    if (!json.is_object() || json.value("kind", "") != kind)
      throw Error("it does not say that it is one");
    const bool known =
        json.at("schema_version") == 1 && json.at("analysis_version") == analysis_version;
    if (known)
      for (const Json& c : json.at("captures")) captures.push_back(capture_from(c));
    if (known && captures.empty()) throw Error("it holds no capture");
  } catch (const Json::exception& e) {
    const std::string_view what = e.what();
    throw damaged(std::string(what.substr(
        what.find("] ") == what.npos ? 0
                                     : what.find("] ") + 2)));  // without the library's own number
  } catch (const Error& e) {
    throw damaged(e.what());
  }
  if (captures.empty())
    throw Error(fmt::format(
        "{}: was made by another version, {}, which measured otherwise than gh-advise {}; make it "
        "anew with `gh-advise baseline`",
        shown_path,
        json.contains("generator") && json["generator"].is_string() ? text_of(json["generator"])
                                                                    : "unknown",
        GH_ADVISE_VERSION));
  return captures;
}

}  // namespace gh

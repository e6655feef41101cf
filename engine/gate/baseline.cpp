#include "gate/baseline.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

#include "base/files.hpp"
#include "base/json.hpp"
#include "gate/capture_json.hpp"

namespace gh {
namespace {

constexpr const char* kind = "gh-advise baseline";
constexpr int schema_version = 2;

// A baseline may come from anybody. One of two hundred captures has some four million values, at
// most seven levels deep.
constexpr JsonLimits limits{.levels = 16, .values = 4'000'000};
// More than any capture has of rules, facts, causes, findings, problems, devices.
constexpr std::size_t most_listed = 10'000, most_captures = 1000;

// ---- checked values

double within(const Json& json, double least, double most) {
  if (!json.is_number()) throw Error("a number is missing");
  const double v = json.get<double>();
  if (!(v >= least && v <= most)) {
    throw Error(fmt::format("the number {} is out of range", json.dump()));
  }
  return v;
}

Ns ns_of(const Json& json, double least = 0) {
  return static_cast<Ns>(within(json, least, most_recorded_ns));
}

double count_of(const Json& json) { return within(json, 0, most_recorded_count); }

double share_of(const Json& json) { return within(json, 0, 1); }

std::string text_of(const Json& json) { return printable(json.get<std::string>()); }

std::string name_in(const Json& json) {
  const std::string name = json.get<std::string>();
  if (!is_name(name)) {
    throw Error(fmt::format("'{}' is not the name of a rule or category", printable(name)));
  }
  return name;
}

// The items of a list or table.
const Json& listed(const Json& list, bool is_table, std::size_t most = most_listed) {
  if (is_table ? !list.is_object() : !list.is_array()) {
    throw Error(is_table ? "a table is missing" : "a list is missing");
  }
  if (list.size() > most) {
    throw Error(fmt::format("{} entries are too many for a capture", list.size()));
  }
  return list;
}

const Json& list_in(const Json& list, std::size_t most = most_listed) {
  return listed(list, false, most);
}

const Json& table_in(const Json& table) { return listed(table, true); }

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& item : list_in(list)) texts.push_back(text_of(item));
  return texts;
}

std::vector<Ns> times_of(const Json& list, double least) {
  std::vector<Ns> times;
  for (const Json& item : list_in(list, most_steps)) times.push_back(ns_of(item, least));
  return times;
}

Error unknown_name(const std::string& name) {
  return Error(fmt::format("'{}' is unknown", printable(name)));
}

// ---- each part of a capture, written and read; add a new field to both and to the schema

constexpr const char* collected_names[] = {"recorded", "nothing_happened", "not_recorded",
                                           "unknown"};

Json collected_json(Collected state) { return collected_names[static_cast<int>(state)]; }

Collected collected_from(const Json& j) {
  const std::string name = j.get<std::string>();
  const auto it = std::find(std::begin(collected_names), std::end(collected_names), name);
  if (it == std::end(collected_names)) throw unknown_name(name);
  return static_cast<Collected>(it - std::begin(collected_names));
}

Json to_json(const Grid& g) {
  return {{"kernel", g.kernel},
          {"class", g.kernel_class},
          {"blocks", g.blocks},
          {"count_per_step", number_json(g.count_per_step)}};
}

Grid grid_from(const Json& j) {
  return {text_of(j.at("kernel")), text_of(j.at("class")),
          static_cast<std::int64_t>(count_of(j.at("blocks"))), count_of(j.at("count_per_step"))};
}

Json to_json(const Program& p) {
  Json grids = Json::array();
  for (const Grid& g : p.grids) grids.push_back(to_json(g));
  return {{"shown", p.shown},
          {"graphs", number_json(p.graphs)},
          {"kernels", number_json(p.kernels)},
          {"attention_blocks", number_json(p.attention_blocks)},
          {"written_out_blocks", number_json(p.written_out_blocks)},
          {"gemms", number_json(p.gemms)},
          {"flops", p.flops ? number_json(*p.flops) : Json(nullptr)},
          {"grids", grids}};
}

Program program_from(const Json& j) {
  Program p;
  p.shown = j.at("shown").get<bool>();
  p.graphs = count_of(j.at("graphs"));
  p.kernels = count_of(j.at("kernels"));
  p.attention_blocks = count_of(j.at("attention_blocks"));
  p.written_out_blocks = count_of(j.at("written_out_blocks"));
  p.gemms = count_of(j.at("gemms"));
  if (!j.at("flops").is_null()) p.flops = within(j.at("flops"), 0, most_recorded_value);
  for (const Json& g : list_in(j.at("grids"), most_kernels)) p.grids.push_back(grid_from(g));
  return p;
}

// Facts are written by facts_json.
FactNumber fact_from(const Json& j) {
  FactNumber fact;
  fact.unit = unit_named(j.at("unit").get<std::string>());
  if (j.at("value").is_null()) {
    fact.unknown = text_of(j.at("unknown"));
  } else {
    fact.value = within(j.at("value"), -most_recorded_value, most_recorded_value);
  }
  return fact;
}

Json to_json(const KernelUse& k) {
  return {{"name", k.name},
          {"class", k.kernel_class},
          {"count_per_step", number_json(k.count_per_step)},
          {"ns_per_step", number_json(k.ns_per_step)}};
}

KernelUse kernel_from(const Json& j) {
  return {text_of(j.at("name")), text_of(j.at("class")), count_of(j.at("count_per_step")),
          within(j.at("ns_per_step"), 0, most_recorded_ns)};
}

Json to_json(const PathUse& p) {
  return {{"kind", name_of(p.kind)}, {"name", p.name}, {"step_ns", p.step_ns}};
}

PathUse path_use_from(const Json& j) {
  const std::string kind = j.at("kind").get<std::string>();
  const auto known = path_kind_named(kind);
  if (!known) throw unknown_name(kind);
  return {*known, text_of(j.at("name")), times_of(j.at("step_ns"), 0)};
}

Json to_json(const Finding& f) {
  return {{"rule", f.rule},
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
          {"fingerprint", f.fingerprint}};
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

Json to_json(const RuleOutcome& r) {
  Json json = {{"state", name_of(r.state)}, {"version", r.version}, {"warns_from", r.warns_from}};
  if (!r.reason.empty()) json["reason"] = r.reason;
  return json;
}

RuleOutcome outcome_from(const Json& j) {
  const std::string name = j.at("state").get<std::string>();
  const auto state = rule_state_named(name);
  if (!state) throw unknown_name(name);
  return {*state, j.contains("reason") ? text_of(j.at("reason")) : "", text_of(j.at("version")),
          within(j.at("warns_from"), 0, most_recorded_value)};
}

Json to_json(const Capture& c) {
  Json sources = Json::object(), kernels = Json::array(), findings = Json::array(),
       rules = Json::object(), waits = Json::array();
  for (const PathUse& p : c.waits) waits.push_back(to_json(p));
  for (const auto& [name, state] : c.sources) sources[name] = collected_json(state);
  for (const KernelUse& k : c.kernels) kernels.push_back(to_json(k));
  for (const Finding& f : c.findings) findings.push_back(to_json(f));
  for (const auto& [id, outcome] : c.rules) rules[id] = to_json(outcome);
  return {{"path", c.path},       {"format", c.format},       {"producer", c.producer},
          {"devices", c.devices}, {"selection", c.selection}, {"unit", c.unit},
          {"sources", sources},   {"problems", c.problems},   {"program", to_json(c.program)},
          {"step_ns", c.step_ns}, {"cause_ns", c.cause_ns},   {"facts", facts_json(c.facts)},
          {"waits", waits},       {"kernels", kernels},       {"findings", findings},
          {"rules", rules},       {"settings", c.settings}};
}

Capture capture_from(const Json& j) {
  Capture c;
  c.path = text_of(j.at("path"));
  c.format = text_of(j.at("format"));
  c.producer = text_of(j.at("producer"));
  c.selection = text_of(j.at("selection"));
  c.devices = texts_of(j.at("devices"));
  c.problems = texts_of(j.at("problems"));
  c.unit = text_of(j.at("unit"));
  for (const auto& [name, state] : table_in(j.at("sources")).items()) {
    c.sources[printable(name)] = collected_from(state);
  }
  c.program = program_from(j.at("program"));
  c.step_ns = times_of(j.at("step_ns"), 1);
  for (const auto& [cause, list] : table_in(j.at("cause_ns")).items()) {
    std::vector<Ns>& ns = c.cause_ns[printable(cause)] = times_of(list, 0);
    if (ns.size() != c.step_ns.size()) {
      throw Error(fmt::format("'{}' of the account is not as long as the steps", printable(cause)));
    }
  }
  for (const auto& [name, f] : table_in(j.at("facts")).items())
    c.facts[printable(name)] = fact_from(f);
  if (const auto waits = j.find("waits"); waits != j.end())  // older baselines have none
    for (const Json& p : list_in(*waits, most_path_items + 1)) c.waits.push_back(path_use_from(p));
  for (const Json& k : list_in(j.at("kernels"), most_kernels)) c.kernels.push_back(kernel_from(k));
  for (const Json& f : list_in(j.at("findings"))) c.findings.push_back(finding_from(f));
  for (const auto& [id, r] : table_in(j.at("rules")).items()) {
    c.rules[printable(id)] = outcome_from(r);
  }
  for (const auto& [name, value] : table_in(j.at("settings")).items()) {
    c.settings[printable(name)] = text_of(value);
  }
  if (c.settings.empty()) throw Error("it does not say which settings it was made with");
  return c;
}

// ---- the file

// A message of the JSON library without the number in front.
std::string_view without_number(std::string_view what) {
  const std::size_t end = what.find("] ");
  return end == what.npos ? what : what.substr(end + 2);
}

Error damaged(const std::string& shown_path, std::string_view why) {
  return Error(
      fmt::format("{}: is not an intact baseline: {}; make it again with `gh-advise baseline`",
                  shown_path, printable(why)));
}

struct OfAnotherVersion : Error {
  using Error::Error;
};

// Why it cannot be read by this version, or "".
std::string other_version(const Json& json) {
  const Json &schema = json.at("schema_version"), &analysis = json.at("analysis_version");
  if (schema == schema_version && analysis == analysis_version) return "";
  const bool older = schema < schema_version || analysis < analysis_version,
             named = json.contains("generator") && json["generator"].is_string();
  return fmt::format(
      "was made by {} gh-advise ({}), which stored other data than gh-advise {}; make it again "
      "with "
      "`gh-advise baseline`",
      older ? "an older" : "another", named ? text_of(json["generator"]) : "unknown",
      GH_ADVISE_VERSION);
}

std::vector<Capture> captures_from(const Json& json) {
  std::vector<Capture> captures;
  for (const Json& c : list_in(json.at("captures"), most_captures)) {
    captures.push_back(capture_from(c));
  }
  if (captures.empty()) throw Error("it holds no capture");
  return captures;
}

}  // namespace

std::string baseline_digest(const Json& baseline) {
  nlohmann::json in_order = baseline;  // keys sorted
  in_order.erase("digest");
  return digest(in_order.dump());
}

std::string render_baseline(const std::vector<Capture>& captures) {
  Json list = Json::array();
  for (const Capture& c : captures) list.push_back(to_json(c));
  Json json{{"kind", kind},
            {"schema_version", schema_version},
            {"analysis_version", analysis_version},
            {"generator", std::string("gh-advise ") + GH_ADVISE_VERSION},
            {"captures", list}};
  json["digest"] = baseline_digest(json);
  return json.dump(1) + '\n';
}

bool is_baseline(const std::filesystem::path& path) {
  // A trace is JSON as well, of any size.
  if (std::error_code ec; !std::filesystem::is_regular_file(path, ec) ||
                          std::filesystem::file_size(path, ec) > most_file_bytes) {
    return false;
  }
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  if (!(file >> first) || first != '{') return false;
  return read_text(path).find(fmt::format("\"{}\"", kind)) != std::string::npos;
}

std::vector<Capture> read_baseline(const std::filesystem::path& path) {
  const std::string shown_path = printable(path.string());
  try {
    const Json json = parsed_json(read_text(path), limits);
    if (!json.is_object() || json.value("kind", "") != kind) {
      throw Error("it does not have the kind of one");
    }
    if (const std::string other = other_version(json); !other.empty()) {
      throw OfAnotherVersion(fmt::format("{}: {}", shown_path, other));
    }
    if (json.at("digest") != baseline_digest(json)) {
      throw Error("it was edited or merged since it was written: its digest does not match");
    }
    return captures_from(json);
  } catch (const OfAnotherVersion&) {
    throw;
  } catch (const Json::exception& e) {
    throw damaged(shown_path, without_number(e.what()));
  } catch (const Error& e) {
    throw damaged(shown_path, e.what());
  }
}

}  // namespace gh

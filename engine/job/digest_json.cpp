#include "job/digest_json.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "gate/capture_json.hpp"
#include "rules/finding_json.hpp"

namespace gh {
namespace {

constexpr const char* kind = "gh-advise digest";
constexpr int schema_version = 2;

// ---- checked values. There may be thousands of digests, so simdjson reads them.

using Element = simdjson::dom::element;

Element at(Element object, std::string_view key) {
  Element value;
  if (object[key].get(value)) throw Error(fmt::format("'{}' is missing", key));
  return value;
}

template <class T>
T as(Element json, const char* what) {
  T value;
  if (json.get(value)) throw Error(fmt::format("{} is missing", what));
  return value;
}

simdjson::dom::array list_of(Element json) { return as<simdjson::dom::array>(json, "a list"); }

simdjson::dom::object object_of(Element json) {
  return as<simdjson::dom::object>(json, "an object");
}

bool truth_of(Element json) { return as<bool>(json, "true or false"); }

std::string text_of(Element json) { return printable(as<std::string_view>(json, "a text")); }

std::string text_or_none(Element json) { return json.is_null() ? "" : text_of(json); }

Json or_null(const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); }

double within(Element json, double least, double most) {
  const auto v = as<double>(json, "a number");
  if (!(v >= least && v <= most)) throw Error(fmt::format("the number {} is out of range", v));
  return v;
}

double fact_value_of(Element json) {
  return within(json, -most_recorded_value, most_recorded_value);
}

// Times since 1970 have more digits than a double can hold.
Ns integer_within(Element json, double least, double most) {
  within(json, least, most);
  return as<std::int64_t>(json, "a whole number");
}

Ns ns_of(Element json) { return integer_within(json, 0, most_recorded_ns); }

Ns time_of(Element json) { return integer_within(json, -most_recorded_ns, most_recorded_ns); }

std::int64_t count_of(Element json) { return integer_within(json, 0, most_recorded_count); }

template <class Read>
auto all_of(Element list, Read read) {
  std::vector<decltype(read(Element()))> values;
  for (const Element item : list_of(list)) values.push_back(read(item));
  return values;
}

std::vector<std::string> texts_of(Element list) { return all_of(list, text_of); }

std::vector<Ns> times_of(Element list) { return all_of(list, ns_of); }

std::string id_of(Element json) {
  const std::string name = text_of(json);
  if (!is_name(name)) throw Error(fmt::format("'{}' is not the name of a rule or category", name));
  return name;
}

Unit unit_of(Element json) { return unit_named(text_of(json)); }

Span span_from(Element json) {
  const std::vector<Ns> v = all_of(json, time_of);
  if (v.size() != 2 || v[1] < v[0]) throw Error("a time interval ends before it begins");
  return {v[0], v[1]};
}

// ---- each part of a digest, written and read; a new field goes into both and into the schema

Json to_json(const Quartiles& q) { return {q.least, q.lower, q.middle, q.upper, q.most}; }

Quartiles quartiles_from(Element json) {
  const std::vector<Ns> v = times_of(json);
  if (v.size() != 5) throw Error("quartiles must be five numbers");
  if (!std::is_sorted(v.begin(), v.end())) throw Error("quartiles are not in order");
  return {v[0], v[1], v[2], v[3], v[4]};
}

Json to_json(const Collectives::Kind& k) {
  return {{"name", k.name}, {"count", k.count}, {"quartiles_ns", to_json(k.ns)}};
}

Collectives::Kind collective_kind_from(Element j) {
  return {text_of(at(j, "name")), count_of(at(j, "count")), quartiles_from(at(j, "quartiles_ns"))};
}

// Stored in columns, which gzip compresses better.
Json to_json(const Collectives& c) {
  Json kinds = Json::array(), name = Json::array(), start = Json::array(), ns = Json::array(),
       alone = {Json::array(), Json::array(), Json::array(), Json::array()};
  for (const Collectives::Kind& k : c.kinds) kinds.push_back(to_json(k));
  for (const Collective& one : c.first) {
    name.push_back(one.name);
    start.push_back(one.start);
    ns.push_back(one.end - one.start);
    for (std::size_t q = 0; q < one.alone.size(); ++q) alone[q].push_back(one.alone[q]);
  }
  return {{"kinds", kinds},    {"names", c.names}, {"name", name},
          {"start_ns", start}, {"ns", ns},         {"alone_quarters_ns", alone}};
}

Collectives collectives_from(Element j) {
  Collectives c;
  c.kinds = all_of(at(j, "kinds"), collective_kind_from);
  c.names = texts_of(at(j, "names"));
  const std::vector<Ns> name = times_of(at(j, "name"));
  const std::vector<Ns> start = all_of(at(j, "start_ns"), time_of);
  const std::vector<Ns> ns = times_of(at(j, "ns"));
  const std::vector<std::vector<Ns>> alone = all_of(at(j, "alone_quarters_ns"), times_of);
  const auto as_long = [&](const std::vector<Ns>& column) { return column.size() == name.size(); };
  if (!as_long(start) || !as_long(ns) || alone.size() != 4 ||
      !std::all_of(alone.begin(), alone.end(), as_long)) {
    throw Error("columns of collectives have different lengths");
  }
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] >= static_cast<Ns>(c.names.size())) throw Error("a collective has no name");
    Collective one{static_cast<std::uint32_t>(name[i]), start[i], start[i] + ns[i]};
    for (std::size_t q = 0; q < one.alone.size(); ++q) one.alone[q] = std::min(alone[q][i], ns[i]);
    if (!std::is_sorted(one.alone.begin(), one.alone.end())) {
      throw Error("a collective's quarters are not in order");
    }
    c.first.push_back(one);
    if (i > 0 && c.first[i - 1].end > one.end) throw Error("collectives are not in order");
  }
  return c;
}

// An account is a list, so that each cause's name is next to its figures.
Json cause_json(const std::string& cause, const CauseShare& share) {
  return {{"cause", cause},
          {"ns_per_step", number_json(share.ns_per_step)},
          {"quartiles_ns", to_json(share.ns)},
          {"sample_ns", share.sample_ns}};
}

CauseShare cause_from(Element j) {
  return {within(at(j, "ns_per_step"), 0, most_recorded_ns), quartiles_from(at(j, "quartiles_ns")),
          times_of(at(j, "sample_ns"))};
}

// facts_json writes facts.
FactNumber fact_from(Element j) {
  FactNumber fact;
  fact.unit = unit_of(at(j, "unit"));
  if (at(j, "value").is_null()) {
    fact.unknown = text_of(at(j, "unknown"));
  } else {
    fact.value = fact_value_of(at(j, "value"));
  }
  return fact;
}

// Findings are stored as in a report, together with what only later evaluation needs.
Json to_json(const Finding& f) {
  Json json = finding_json(f);
  json["voids"] = f.voids;
  return json;
}

Evidence evidence_from(Element j) {
  Evidence e;
  e.span = {time_of(at(j, "start_ns")), time_of(at(j, "end_ns"))};
  if (e.span.end < e.span.start) throw Error("evidence ends before it begins");
  if (!at(j, "device").is_null()) e.device = count_of(at(j, "device"));
  if (!at(j, "stream").is_null()) e.stream = ns_of(at(j, "stream"));
  e.thread = text_or_none(at(j, "thread"));
  e.name = text_of(at(j, "name"));
  e.note = text_of(at(j, "note"));
  // Digests that were made before findings named layers have none.
  if (Element layer; !j["layer"].get(layer)) e.layer = text_or_none(layer);
  if (const std::string place = text_or_none(at(j, "source")); !place.empty()) {
    const std::size_t colon = place.rfind(':');
    e.source = {place.substr(0, colon),
                colon == place.npos ? 0 : std::atoi(place.c_str() + colon + 1)};
  }
  return e;
}

ConcernedLayer layer_from(Element j) {
  return {text_of(at(j, "path")), static_cast<std::size_t>(count_of(at(j, "count"))),
          static_cast<std::size_t>(count_of(at(j, "of"))), within(at(j, "share"), 0, 1)};
}

Metric metric_from(Element j) {
  Metric m{text_of(at(j, "name")), fact_value_of(at(j, "value")), unit_of(at(j, "unit")),
           std::nullopt};
  if (!at(j, "threshold").is_null()) m.threshold = fact_value_of(at(j, "threshold"));
  return m;
}

// `of` is "step", or "window" for a report without steps.
std::optional<Prediction> prediction_from(Element finding, const std::string& of) {
  const std::string name = "predicted_" + of;
  if (at(finding, name + "_ns").is_null()) return std::nullopt;
  const Span range = span_from(at(finding, name + "_range_ns"));
  return Prediction{ns_of(at(finding, name + "_ns")), range.start, range.end,
                    text_or_none(at(finding, name + "_why"))};
}

Finding finding_from(Element j) {
  Finding f;
  f.rule = id_of(at(j, "rule"));
  f.category = id_of(at(j, "category"));
  f.title = text_of(at(j, "title"));
  f.message = text_of(at(j, "message"));
  f.subject = text_of(at(j, "subject"));
  f.fingerprint = text_of(at(j, "fingerprint"));
  f.severity = parse_severity(text_of(at(j, "severity")), "severity");
  f.recoverable_ns = ns_of(at(j, "recoverable_ns"));
  f.recoverable_fraction = within(at(j, "recoverable_fraction"), 0, 1);
  f.about = text_of(at(j, "recoverable_is")) == "about";
  f.alone_ns = ns_of(at(j, "alone_ns"));
  if (!at(j, "explained_ns").is_null()) f.explained_ns = ns_of(at(j, "explained_ns"));
  f.after = texts_of(at(j, "after"));
  f.masked = truth_of(at(j, "masked"));
  f.voids = truth_of(at(j, "voids"));
  f.confidence = text_of(at(j, "confidence"));
  f.advice = texts_of(at(j, "advice"));
  f.follows_from = text_or_none(at(j, "follows_from"));
  f.evidence = all_of(at(j, "evidence"), evidence_from);
  f.metrics = all_of(at(j, "metrics"), metric_from);
  if (Element layers; !j["layers"].get(layers)) f.layers = all_of(layers, layer_from);
  const std::string of = text_of(at(j, "recoverable_of"));
  if (of != "step" && of != "window")
    throw Error("recoverable time is neither per step nor per window");
  f.of_window = of == "window";
  f.predicted = prediction_from(j, of);
  return f;
}

Json to_json(const RuleOutcome& outcome) {
  Json json = {{"state", name_of(outcome.state)}, {"version", outcome.version}};
  if (!outcome.reason.empty()) json["reason"] = outcome.reason;
  return json;
}

RuleOutcome outcome_from(Element j) {
  RuleOutcome outcome;
  const auto state = rule_state_named(text_of(at(j, "state")));
  if (!state) throw Error("a rule has an unknown state");
  outcome.state = *state;
  if (Element reason; !j["reason"].get(reason)) outcome.reason = text_of(reason);
  outcome.version = text_of(at(j, "version"));
  return outcome;
}

Json steps_json(const RankDigest& r) {
  return {{"unit", r.unit},
          {"count", r.step_count},
          {"mean_ns", number_json(r.mean_step_ns)},
          {"quartiles_ns", to_json(r.step_ns)},
          {"sample_ns", r.sample_ns},
          {"window_ns", {r.window.start, r.window.end}}};
}

void read_steps(Element j, RankDigest& r) {
  r.unit = text_of(at(j, "unit"));
  r.step_count = count_of(at(j, "count"));
  r.mean_step_ns = within(at(j, "mean_ns"), 0, most_recorded_ns);
  if (r.mean_step_ns <= 0) throw Error("its step takes no time");
  r.step_ns = quartiles_from(at(j, "quartiles_ns"));
  r.sample_ns = times_of(at(j, "sample_ns"));
  r.window = span_from(at(j, "window_ns"));
}

Json to_json(const RankDigest& r) {
  Json account = Json::array(), findings = Json::array(), rules = Json::object();
  for (const auto& [cause, share] : r.account) account.push_back(cause_json(cause, share));
  for (const Finding& f : r.findings) findings.push_back(to_json(f));
  for (const auto& [id, outcome] : r.rules) rules[id] = to_json(outcome);
  return {{"rank", r.rank ? Json(*r.rank) : Json(nullptr)},
          {"local_rank", r.local_rank},
          {"devices", r.devices},
          {"steps", steps_json(r)},
          {"account", account},
          {"facts", facts_json(r.facts)},
          {"findings", findings},
          {"rules", rules},
          {"plan", Json::parse(r.plan_json)},
          {"collectives", to_json(r.collectives)}};
}

RankDigest rank_from(Element j) {
  RankDigest r;
  if (!at(j, "rank").is_null()) r.rank = integer_within(at(j, "rank"), 0, most_rank);
  r.local_rank = count_of(at(j, "local_rank"));
  r.devices = texts_of(at(j, "devices"));
  read_steps(at(j, "steps"), r);
  for (const Element c : list_of(at(j, "account"))) {
    CauseShare& share = r.account[text_of(at(c, "cause"))];
    share = cause_from(c);
    if (share.sample_ns.size() != r.sample_ns.size()) {
      throw Error("the account has a different number of steps");
    }
  }
  for (const auto [name, f] : object_of(at(j, "facts"))) r.facts[printable(name)] = fact_from(f);
  r.findings = all_of(at(j, "findings"), finding_from);
  for (const auto [id, outcome] : object_of(at(j, "rules"))) {
    r.rules[printable(id)] = outcome_from(outcome);
  }
  r.plan_json = simdjson::minify(at(j, "plan"));
  r.collectives = collectives_from(at(j, "collectives"));
  return r;
}

Json to_json(const Digest& d) {
  Json ranks = Json::array();
  for (const RankDigest& r : d.ranks) ranks.push_back(to_json(r));
  return {{"kind", kind},
          {"schema_version", schema_version},
          {"analysis_version", analysis_version},
          {"generator", std::string("gh-advise ") + GH_ADVISE_VERSION},
          {"report",
           {{"path", d.report},
            {"format", d.format},
            {"producer", d.producer},
            {"epoch_ns", d.epoch_ns > 0 ? Json(d.epoch_ns) : Json(nullptr)}}},
          {"node", or_null(d.node)},
          {"world_size", d.world_size > 0 ? Json(d.world_size) : Json(nullptr)},
          {"problems", d.problems},
          {"ranks", ranks}};
}

Digest digest_from(Element j) {
  Digest d;
  const Element report = at(j, "report");
  d.report = text_of(at(report, "path"));
  d.format = text_of(at(report, "format"));
  d.producer = text_of(at(report, "producer"));
  if (!at(report, "epoch_ns").is_null()) d.epoch_ns = ns_of(at(report, "epoch_ns"));
  d.node = text_or_none(at(j, "node"));
  d.problems = texts_of(at(j, "problems"));
  if (!at(j, "world_size").is_null()) {
    d.world_size = integer_within(at(j, "world_size"), 0, most_rank + 1);
  }
  d.ranks = all_of(at(j, "ranks"), rank_from);
  if (d.ranks.empty()) throw Error("it contains no rank");
  return d;
}

}  // namespace

std::string digest_json(const Digest& d) { return to_json(d).dump() + '\n'; }

Digest digest_from_json(const std::string& text) {
  simdjson::dom::parser parser;
  Element json;
  if (parser.parse(text).get(json)) throw Error("its JSON is incomplete or malformed");
  std::string_view said;
  if (json["kind"].get(said) || said != kind) throw Error("it is some other JSON");
  if (count_of(at(json, "schema_version")) != schema_version ||
      count_of(at(json, "analysis_version")) != analysis_version) {
    throw OtherVersion(text_of(at(json, "generator")));
  }
  return digest_from(json);
}

}  // namespace gh

#include "job/digest.hpp"

#include <fmt/format.h>
#include <re2/re2.h>
#include <simdjson.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/ranks.hpp"
#include "base/files.hpp"
#include "base/json.hpp"
#include "read/job_files.hpp"
#include "rules/finding_json.hpp"

namespace gh {
namespace {

constexpr const char* kind = "gh-advise digest";
constexpr std::size_t most_evidence = 8, most_texts = 20;

// ---- from a report

// Evenly chosen indices of n things.
std::vector<std::size_t> chosen_of(std::size_t n, std::size_t most) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < std::min(n, most); ++i)
    indices.push_back(n <= most ? i : i * n / most);
  return indices;
}

// PyTorch's handler names its traces HOST_PID.TIME.pt.trace.json.
std::string host_in_name(const std::string& path) {
  static const re2::RE2 handler(R"(^(.+)_\d+\.\d{10,}\.pt\.trace\.json(?:\.gz)?$)");
  std::string host;
  RE2::FullMatch(std::filesystem::path(path).filename().string(), handler, &host);
  return printable(host);
}

Collectives collectives_of(const Analysis& a, std::size_t most) {
  Collectives out;
  if (a.devices.empty()) return out;
  const Trace& t = a.trace;
  std::vector<Span> spans;
  std::vector<Row> rows;
  for (const Row op : a.devices.front().ops) {
    if (a.kernel_class(op) != "collective") {
      if (t.ops.kind[op] != OpKind::copy) spans.push_back(t.span_of(op));
    } else if (t.names[t.ops.name[op]].find("SendRecv") == std::string::npos) {
      rows.push_back(op);
    }
  }
  const Spans computing = united(std::move(spans));
  std::stable_sort(rows.begin(), rows.end(),
                   [&](Row x, Row y) { return t.ops.end[x] < t.ops.end[y]; });
  std::map<std::string, std::vector<Ns>> lengths;
  for (const Row op : rows) lengths[t.names[t.ops.name[op]]].push_back(t.span_of(op).length());
  for (const auto& [name, ns] : lengths) {
    if (out.kinds.size() < most_texts)
      out.kinds.push_back({name, static_cast<std::int64_t>(ns.size()), quartiles(ns)});
    out.names.push_back(name);
  }
  if (rows.size() > most) rows.resize(most);
  for (const Row op : rows) {
    const auto name =
        std::lower_bound(out.names.begin(), out.names.end(), t.names[t.ops.name[op]]) -
        out.names.begin();
    Collective c{static_cast<std::uint32_t>(name), t.ops.start[op], t.ops.end[op]};
    for (std::size_t q = 0; q < 4; ++q) {
      const Span part{c.start, c.start + (c.end - c.start) * static_cast<Ns>(q + 1) / 4};
      c.alone[q] = part.length() - overlap(computing, part);
    }
    out.first.push_back(c);
  }
  return out;
}

RankDigest rank_of(const Analysis& a, const std::vector<Rule>& rules,
                   const std::map<std::string, RuleSettings>& settings, std::size_t collectives) {
  RankDigest r;
  const Facts facts(a);
  const Report report = evaluate(rules, a, facts, settings);
  Capture c = capture_of(a, facts, report, rules, settings);
  r.devices = std::move(c.devices);
  r.has_steps = c.has_steps;
  r.facts = std::move(c.facts);
  r.rules = std::move(c.rules);
  r.findings = report.findings;
  std::erase_if(r.facts, [](const auto& fact) { return fact.first.starts_with("account."); });
  for (Finding& f : r.findings)
    if (f.evidence.size() > most_evidence) f.evidence.resize(most_evidence);
  r.plan_json = plan_json(report).dump();
  r.step_count =
      c.step_ns.empty() ? 0 : a.step_count() / static_cast<std::int64_t>(a.devices.size());
  r.window = a.hull();
  if (a.step_count() > 0)
    r.mean_step_ns = static_cast<double>(a.total_ns()) / static_cast<double>(a.step_count());
  r.step_ns = quartiles(c.step_ns);
  const std::vector<std::size_t> sampled = chosen_of(c.step_ns.size(), most_sampled_steps);
  for (const std::size_t s : sampled) r.sample_ns.push_back(c.step_ns[s]);
  for (const auto& [cause, ns] : c.cause_ns) {
    CauseShare& share = r.account[cause];
    share.ns_per_step =
        static_cast<double>(a.account.total_ns(cause)) / static_cast<double>(a.step_count());
    share.ns = quartiles(ns);
    for (const std::size_t s : sampled) share.sample_ns.push_back(ns[s]);
  }
  r.collectives = collectives_of(a, collectives);
  return r;
}

// The processes that train, as Selection::rank counts them.
std::vector<int> training_ranks(const Analysis& a) {
  std::vector<const DeviceSteps*> all;
  for (const DeviceSteps& d : a.devices) all.push_back(&d);
  for (const DeviceSteps& d : a.bystanders) all.push_back(&d);
  std::sort(all.begin(), all.end(), [&](const DeviceSteps* x, const DeviceSteps* y) {
    return std::pair(a.trace.devices[x->device].ordinal, x->device) <
           std::pair(a.trace.devices[y->device].ordinal, y->device);
  });
  std::vector<std::uint16_t> processes;
  for (const DeviceSteps* d : all)
    if (std::find(processes.begin(), processes.end(), d->process) == processes.end())
      processes.push_back(d->process);
  std::vector<int> ranks;
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (std::any_of(a.devices.begin(), a.devices.end(),
                    [&](const DeviceSteps& d) { return d.process == processes[i]; }))
      ranks.push_back(static_cast<int>(i));
  return ranks;
}

// ---- as JSON

Json number(double v) {
  return v == std::floor(v) && std::abs(v) < 9e15 ? Json(static_cast<std::int64_t>(v)) : Json(v);
}
Json or_null(const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); }
Json json_of(const Quartiles& q) { return {q.least, q.lower, q.middle, q.upper, q.most}; }

Json json_of(const Collectives& c) {
  Json kinds = Json::array(), name = Json::array(), start = Json::array(), ns = Json::array(),
       alone = {Json::array(), Json::array(), Json::array(), Json::array()};
  for (const Collectives::Kind& k : c.kinds)
    kinds.push_back({{"name", k.name}, {"count", k.count}, {"quartiles_ns", json_of(k.ns)}});
  for (const Collective& one : c.first) {
    name.push_back(one.name);
    start.push_back(one.start);
    ns.push_back(one.end - one.start);
    for (std::size_t q = 0; q < 4; ++q) alone[q].push_back(one.alone[q]);
  }
  return {{"kinds", kinds},    {"names", c.names}, {"name", name},
          {"start_ns", start}, {"ns", ns},         {"alone_quarters_ns", alone}};
}

constexpr const char* state_names[] = {"looked", "not_checked", "not_recorded", "failed"};

Json json_of(const RankDigest& r) {
  Json account = Json::array(), facts = Json::object(), findings = Json::array(),
       rules = Json::object();
  for (const auto& [cause, share] : r.account)
    account.push_back({{"cause", cause},
                       {"ns_per_step", number(share.ns_per_step)},
                       {"quartiles_ns", json_of(share.ns)},
                       {"sample_ns", share.sample_ns}});
  for (const auto& [name, f] : r.facts) {
    facts[name] = {{"value", f.value ? number(*f.value) : Json(nullptr)},
                   {"unit", name_of(f.unit)}};
    if (!f.value) facts[name]["unknown"] = f.unknown;
  }
  for (const Finding& f : r.findings) {
    findings.push_back(finding_json(f));
    findings.back()["voids"] = f.voids;
  }
  for (const auto& [id, outcome] : r.rules) {
    rules[id] = {{"state", state_names[static_cast<int>(outcome.state)]},
                 {"version", outcome.version}};
    if (!outcome.reason.empty()) rules[id]["reason"] = outcome.reason;
  }
  return {{"rank", r.rank ? Json(*r.rank) : Json(nullptr)},
          {"local_rank", r.local_rank},
          {"devices", r.devices},
          {"steps",
           {{"found", r.has_steps},
            {"count", r.step_count},
            {"mean_ns", number(r.mean_step_ns)},
            {"quartiles_ns", json_of(r.step_ns)},
            {"sample_ns", r.sample_ns},
            {"window_ns", {r.window.start, r.window.end}}}},
          {"account", account},
          {"facts", facts},
          {"findings", findings},
          {"rules", rules},
          {"plan", Json::parse(r.plan_json)},
          {"collectives", json_of(r.collectives)}};
}

// ---- and back, by simdjson, as there may be thousands. Numbers are as a recording can have them:
// what is none would make every comparison with it true or false for no reason.

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
bool truth_of(Element json) { return as<bool>(json, "a truth value"); }
std::string text_of(Element json) { return printable(as<std::string_view>(json, "a text")); }
std::string text_or_none(Element json) { return json.is_null() ? "" : text_of(json); }

double within(Element json, double least, double most) {
  const auto v = as<double>(json, "a number");
  if (!(v >= least && v <= most)) throw Error(fmt::format("the number {} is out of range", v));
  return v;
}
constexpr double most_ns = 2e18, most_count = 1e12;
// Times since 1970 have more digits than a double.
Ns integer_within(Element json, double least, double most) {
  within(json, least, most);
  return as<std::int64_t>(json, "a whole number");
}
Ns ns_of(Element json) { return integer_within(json, 0, most_ns); }
Ns time_of(Element json) { return integer_within(json, -most_ns, most_ns); }
std::int64_t count_of(Element json) { return integer_within(json, 0, most_count); }

template <class Read>
auto all_of(Element list, Read read) {
  std::vector<decltype(read(Element()))> values;
  for (const Element item : list_of(list)) values.push_back(read(item));
  return values;
}
std::vector<std::string> texts_of(Element list) { return all_of(list, text_of); }
std::vector<Ns> times_of(Element list) { return all_of(list, ns_of); }

Quartiles quartiles_from(Element json) {
  const std::vector<Ns> v = times_of(json);
  if (v.size() != 5) throw Error("quartiles are five numbers");
  if (!std::is_sorted(v.begin(), v.end())) throw Error("quartiles are not in order");
  return {v[0], v[1], v[2], v[3], v[4]};
}

Span span_from(Element json) {
  const std::vector<Ns> v = all_of(json, time_of);
  if (v.size() != 2 || v[1] < v[0]) throw Error("a stretch of time ends before it begins");
  return {v[0], v[1]};
}

std::string id_of(Element json) {
  const std::string name = text_of(json);
  if (!is_name(name)) throw Error(fmt::format("'{}' is no name of a rule or category", name));
  return name;
}

Unit unit_of(Element json) {
  const std::string name = text_of(json);
  for (int u = 0; u <= static_cast<int>(Unit::text); ++u)
    if (name == name_of(static_cast<Unit>(u))) return static_cast<Unit>(u);
  throw Error(fmt::format("there is no unit '{}'", name));
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
  if (const std::string place = text_or_none(at(j, "source")); !place.empty()) {
    const std::size_t colon = place.rfind(':');
    e.source = {place.substr(0, colon),
                colon == place.npos ? 0 : std::atoi(place.c_str() + colon + 1)};
  }
  return e;
}

Metric metric_from(Element j) {
  Metric m{text_of(at(j, "name")), within(at(j, "value"), -1e30, 1e30), unit_of(at(j, "unit")),
           std::nullopt};
  if (!at(j, "threshold").is_null()) m.threshold = within(at(j, "threshold"), -1e30, 1e30);
  return m;
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
  f.voids = truth_of(at(j, "voids"));
  f.confidence = text_of(at(j, "confidence"));
  f.advice = texts_of(at(j, "advice"));
  f.follows_from = text_or_none(at(j, "follows_from"));
  f.evidence = all_of(at(j, "evidence"), evidence_from);
  f.metrics = all_of(at(j, "metrics"), metric_from);
  if (!at(j, "predicted_step_ns").is_null()) {
    const Span range = span_from(at(j, "predicted_step_range_ns"));
    f.predicted = Prediction{ns_of(at(j, "predicted_step_ns")), range.start, range.end,
                             text_or_none(at(j, "predicted_step_why"))};
  }
  return f;
}

Collectives collectives_from(Element j) {
  Collectives c;
  c.kinds = all_of(at(j, "kinds"), [](Element k) {
    return Collectives::Kind{text_of(at(k, "name")), count_of(at(k, "count")),
                             quartiles_from(at(k, "quartiles_ns"))};
  });
  c.names = texts_of(at(j, "names"));
  const std::vector<Ns> name = times_of(at(j, "name")), start = all_of(at(j, "start_ns"), time_of),
                        ns = times_of(at(j, "ns"));
  const std::vector<std::vector<Ns>> alone = all_of(at(j, "alone_quarters_ns"), times_of);
  if (start.size() != name.size() || ns.size() != name.size() || alone.size() != 4 ||
      std::any_of(alone.begin(), alone.end(),
                  [&](const std::vector<Ns>& column) { return column.size() != name.size(); }))
    throw Error("columns of collectives are not of one length");
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] >= static_cast<Ns>(c.names.size())) throw Error("a collective has no name");
    Collective one{static_cast<std::uint32_t>(name[i]), start[i], start[i] + ns[i]};
    for (std::size_t q = 0; q < 4; ++q) one.alone[q] = std::min(alone[q][i], ns[i]);
    if (!std::is_sorted(one.alone.begin(), one.alone.end()))
      throw Error("a collective's quarters are not in order");
    c.first.push_back(one);
    if (i > 0 && c.first[i - 1].end > one.end) throw Error("collectives are not in order");
  }
  return c;
}

RankDigest rank_from(Element j) {
  RankDigest r;
  if (!at(j, "rank").is_null()) r.rank = integer_within(at(j, "rank"), 0, most_rank);
  r.local_rank = count_of(at(j, "local_rank"));
  r.devices = texts_of(at(j, "devices"));
  const Element steps = at(j, "steps");
  r.has_steps = truth_of(at(steps, "found"));
  r.step_count = count_of(at(steps, "count"));
  r.mean_step_ns = within(at(steps, "mean_ns"), 0, most_ns);
  if (r.mean_step_ns <= 0) throw Error("its step takes no time");
  r.step_ns = quartiles_from(at(steps, "quartiles_ns"));
  r.sample_ns = times_of(at(steps, "sample_ns"));
  r.window = span_from(at(steps, "window_ns"));
  for (const Element c : list_of(at(j, "account"))) {
    CauseShare& share = r.account[text_of(at(c, "cause"))];
    share = {within(at(c, "ns_per_step"), 0, most_ns), quartiles_from(at(c, "quartiles_ns")),
             times_of(at(c, "sample_ns"))};
    if (share.sample_ns.size() != r.sample_ns.size())
      throw Error("the account is not as long as the steps");
  }
  for (const auto [name, f] : object_of(at(j, "facts"))) {
    FactNumber& fact = r.facts[printable(name)];
    fact.unit = unit_of(at(f, "unit"));
    if (at(f, "value").is_null())
      fact.unknown = text_of(at(f, "unknown"));
    else
      fact.value = within(at(f, "value"), -1e30, 1e30);
  }
  r.findings = all_of(at(j, "findings"), finding_from);
  for (const auto [id, outcome] : object_of(at(j, "rules"))) {
    const auto state =
        std::find(std::begin(state_names), std::end(state_names), text_of(at(outcome, "state")));
    if (state == std::end(state_names)) throw Error("a rule is in no state that there is");
    Element reason;
    r.rules[printable(id)] = {static_cast<RuleOutcome::State>(state - std::begin(state_names)),
                              outcome["reason"].get(reason) ? "" : text_of(reason),
                              text_of(at(outcome, "version")), 0};
  }
  r.plan_json = simdjson::minify(at(j, "plan"));
  r.collectives = collectives_from(at(j, "collectives"));
  return r;
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
  if (!at(j, "world_size").is_null())
    d.world_size = integer_within(at(j, "world_size"), 0, most_rank + 1);
  d.ranks = all_of(at(j, "ranks"), rank_from);
  if (d.ranks.empty()) throw Error("it holds no rank");
  return d;
}

Error none(const std::filesystem::path& path, const std::string& why) {
  return Error(fmt::format("{}: is no intact digest: {}; make it anew with `gh-advise digest`",
                           printable(path.string()), printable(why)));
}

}  // namespace

double Collective::alone_within(Ns ns) const {
  const double length = static_cast<double>(end - start),
               at = length > 0 ? std::clamp(4 * static_cast<double>(ns) / length, 0.0, 4.0) : 0;
  const auto whole = std::min(static_cast<std::size_t>(at), alone.size() - 1);
  const double before = whole > 0 ? static_cast<double>(alone[whole - 1]) : 0;
  return before + (at - static_cast<double>(whole)) * (static_cast<double>(alone[whole]) - before);
}

Quartiles quartiles(std::vector<Ns> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t last = values.size() - 1;
  return {values.front(), values[last / 4], values[last / 2], values[last - last / 4],
          values.back()};
}

Digest make_digest(const std::function<Analysis(std::optional<int>)>& analyse,
                   const std::string& path, const std::vector<Rule>& rules,
                   const std::map<std::string, RuleSettings>& settings,
                   const DigestOptions& options) {
  const Analysis whole = analyse(std::nullopt);
  const Trace& t = whole.trace;
  if (whole.total_ns() == 0)
    throw Error(fmt::format("{}: holds no GPU work, so there is nothing to digest; record it again",
                            t.path));
  Digest d;
  d.report = t.path;
  d.format = t.format;
  d.producer = t.producer;
  d.epoch_ns = t.epoch_ns;
  d.problems = t.problems;
  if (d.problems.size() > most_texts) d.problems.resize(most_texts);
  d.node = !options.node.empty() ? printable(options.node)
           : !t.host.empty()     ? t.host
                                 : host_in_name(path);
  const Place place = place_of(path);
  d.world_size = place.world_size;
  const std::vector<int> ranks = training_ranks(whole);
  std::optional<std::int64_t> first = options.first_rank;
  // What a name says of one rank says nothing of where the ranks of a report with several begin.
  if (!first && !place.job.empty() && ranks.size() == 1) first = place.rank;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t collectives = std::max<std::size_t>(most_collectives / ranks.size(), 64);
    d.ranks.push_back(ranks.size() == 1 ? rank_of(whole, rules, settings, collectives)
                                        : rank_of(analyse(ranks[i]), rules, settings, collectives));
    d.ranks.back().local_rank = static_cast<std::int64_t>(i);
    if (first) d.ranks.back().rank = *first + static_cast<std::int64_t>(i);
  }
  return d;
}

std::string pack_digest(const Digest& d) {
  Json ranks = Json::array();
  for (const RankDigest& r : d.ranks) ranks.push_back(json_of(r));
  std::string text = Json{{"kind", kind},
                          {"schema_version", 1},
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
                          {"ranks", ranks}}
                         .dump() +
                     '\n';
  // zlib writes no time and no name, so that the same digest is the same file.
  z_stream z{};
  constexpr int gzip = 15 + 16;
  if (deflateInit2(&z, 9, Z_DEFLATED, gzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("there is no memory left to pack a digest");
  std::string packed(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(text.data());
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  const int rc = deflate(&z, Z_FINISH);
  packed.resize(z.total_out);
  deflateEnd(&z);
  if (rc != Z_STREAM_END) throw Error("a digest could not be packed");
  return packed;
}

std::string unpack_digest(const std::filesystem::path& path) {
  const std::string packed = read_text(path);
  if (packed.starts_with("SQLite format 3") ||
      (packed.find("\"traceEvents\"") != packed.npos && packed.starts_with("{")))
    throw Error(fmt::format("{}: is a report: digest it first with `gh-advise digest`",
                            printable(path.string())));
  if (!packed.starts_with("\x1f\x8b")) throw none(path, "it is not packed by gzip");
  constexpr std::size_t most_bytes = 64 << 20;  // ours take less than a thirtieth of it
  z_stream z{};
  if (inflateInit2(&z, 15 + 16) != Z_OK) throw Error("there is no memory left to unpack a digest");
  std::string text(packed.size() * 6, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = static_cast<uInt>(packed.size());
  int rc = Z_OK;
  while (rc == Z_OK && z.total_out < most_bytes) {
    if (z.total_out == text.size()) text.resize(text.size() * 2);
    z.next_out = reinterpret_cast<Bytef*>(text.data() + z.total_out);
    z.avail_out = static_cast<uInt>(text.size() - z.total_out);
    rc = inflate(&z, Z_NO_FLUSH);
  }
  text.resize(z.total_out);
  inflateEnd(&z);
  if (rc != Z_STREAM_END)
    throw none(path,
               rc == Z_OK ? "it is larger than any digest" : "its bytes are cut short or changed");
  return text;
}

Digest read_digest(const std::filesystem::path& path) {
  const std::string text = unpack_digest(path);
  simdjson::dom::parser parser;
  Element json;
  std::string generator;
  try {
    if (parser.parse(text).get(json)) throw Error("it is no whole JSON");
    std::string_view said;
    if (json["kind"].get(said) || said != kind) throw Error("it does not say that it is one");
    if (count_of(at(json, "schema_version")) == 1 &&
        count_of(at(json, "analysis_version")) == analysis_version) {
      Digest d = digest_from(json);
      d.path = printable(path.string());
      return d;
    }
    generator = text_of(at(json, "generator"));
  } catch (const Error& e) {
    throw none(path, e.what());
  }
  throw Error(
      fmt::format("{}: was made by another version, {}, which measured otherwise than gh-advise "
                  "{}; make it anew with `gh-advise digest`",
                  printable(path.string()), generator, GH_ADVISE_VERSION));
}

}  // namespace gh

#include "job/digest_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_reader.hpp"
#include "gate/capture_json.hpp"
#include "rules/finding_json.hpp"

namespace gh {
namespace {

constexpr const char* kind = "gh-advise digest";
constexpr int schema_version = 2;

// ---- each part of a digest; a new field goes into the schema as well

std::vector<Ns> stored_quartiles(const Quartiles& q) {
  return {q.least, q.lower, q.middle, q.upper, q.most};
}

Quartiles quartiles_from(const std::vector<Ns>& v) {
  if (v.size() != 5) throw Error("quartiles must be five numbers");
  if (!std::is_sorted(v.begin(), v.end())) throw Error("quartiles are not in order");
  return {v[0], v[1], v[2], v[3], v[4]};
}

std::vector<Ns> stored_span(const Span& span) { return {span.start, span.end}; }

Span span_from(const std::vector<Ns>& v) {
  if (v.size() != 2 || v[1] < v[0]) throw Error("a time interval ends before it begins");
  return {v[0], v[1]};
}

constexpr auto quartiles_field = [](auto& json, auto& quartiles) {
  json.through("quartiles_ns", quartiles, stored_quartiles, quartiles_from);
};

constexpr auto collective_kind_fields = [](auto& json, auto& kind) {
  json("name", kind.name);
  json("count", kind.count, counts);
  quartiles_field(json, kind.ns);
};

// Collectives in columns, which gzip compresses better.
struct Columns {
  std::vector<Ns> name, start, ns;
  std::vector<std::vector<Ns>> alone;

  explicit Columns(const std::vector<Collective>& collectives) : alone(4) {
    for (const Collective& one : collectives) {
      name.push_back(one.name);
      start.push_back(one.start);
      ns.push_back(one.end - one.start);
      for (std::size_t q = 0; q < one.alone.size(); ++q) alone[q].push_back(one.alone[q]);
    }
  }

  std::vector<Collective> collectives(std::size_t names) const {
    const auto as_long = [&](const std::vector<Ns>& column) {
      return column.size() == name.size();
    };
    if (!as_long(start) || !as_long(ns) || alone.size() != 4 ||
        !std::all_of(alone.begin(), alone.end(), as_long)) {
      throw Error("columns of collectives have different lengths");
    }
    std::vector<Collective> collectives;
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (name[i] >= static_cast<Ns>(names)) throw Error("a collective has no name");
      Collective one{static_cast<std::uint32_t>(name[i]), start[i], start[i] + ns[i]};
      for (std::size_t q = 0; q < one.alone.size(); ++q)
        one.alone[q] = std::min(alone[q][i], ns[i]);
      if (!std::is_sorted(one.alone.begin(), one.alone.end())) {
        throw Error("a collective's quarters are not in order");
      }
      if (i > 0 && collectives.back().end > one.end) throw Error("collectives are not in order");
      collectives.push_back(one);
    }
    return collectives;
  }
};

constexpr auto collectives_fields = [](auto& json, auto& collectives) {
  Columns columns(collectives.first);
  json("kinds", collectives.kinds, collective_kind_fields);
  json("names", collectives.names);
  json("name", columns.name);
  json("start_ns", columns.start, times);
  json("ns", columns.ns);
  json("alone_quarters_ns", columns.alone);
  if constexpr (reads<decltype(json)>)
    collectives.first = columns.collectives(collectives.names.size());
};

// An account is a list, so that each cause's name is next to its figures.
struct NamedCause : CauseShare {
  std::string cause;
};

std::vector<NamedCause> stored_account(const std::map<std::string, CauseShare>& account) {
  std::vector<NamedCause> causes;
  for (const auto& [cause, share] : account) causes.push_back({share, cause});
  return causes;
}

std::map<std::string, CauseShare> account_from(const std::vector<NamedCause>& causes) {
  std::map<std::string, CauseShare> account;
  for (const NamedCause& cause : causes) account[cause.cause] = cause;
  return account;
}

constexpr auto cause_fields = [](auto& json, auto& share) {
  json("cause", share.cause);
  json("ns_per_step", share.ns_per_step);
  quartiles_field(json, share.ns);
  json("sample_ns", share.sample_ns);
};

// Findings are stored as in a report, together with what only later evaluation needs.
constexpr auto stored_finding_fields = [](auto& json, auto& finding) {
  finding_fields(json, finding);
  json("voids", finding.voids);
  // Digests that were made before advice said it have none.
  if (json.has("fix")) json("fix", finding.fix);
};

constexpr auto rule_fields = [](auto& json, auto& outcome) {
  json("state", outcome.state, RuleOutcome::State::failed);
  json("version", outcome.version);
  if (json.has("reason", !outcome.reason.empty())) json("reason", outcome.reason);
};

constexpr auto steps_fields = [](auto& json, auto& rank) {
  json("unit", rank.unit);
  json("count", rank.step_count, counts);
  json("mean_ns", rank.mean_step_ns);
  quartiles_field(json, rank.step_ns);
  json("sample_ns", rank.sample_ns);
  json.through("window_ns", rank.window, stored_span, span_from, times);
};

constexpr auto rank_fields = [](auto& json, auto& rank) {
  json("rank", rank.rank, Limits{.most = most_rank});
  json("local_rank", rank.local_rank, counts);
  json("devices", rank.devices);
  json("steps", rank, steps_fields);
  json.through("account", rank.account, stored_account, account_from, cause_fields);
  json("facts", rank.facts, fact_fields);
  json("findings", rank.findings, stored_finding_fields);
  json("rules", rank.rules, rule_fields);
  json.raw("plan", rank.plan_json);
  json("collectives", rank.collectives, collectives_fields);
};

void check(const RankDigest& rank) {
  if (rank.mean_step_ns <= 0) throw Error("its step takes no time");
  for (const auto& [cause, share] : rank.account)
    if (share.sample_ns.size() != rank.sample_ns.size())
      throw Error("the account has a different number of steps");
  for (const Finding& finding : rank.findings)
    for (const Evidence& evidence : finding.evidence)
      if (evidence.span.end < evidence.span.start) throw Error("evidence ends before it begins");
}

constexpr auto report_fields = [](auto& json, auto& digest) {
  json("path", digest.report);
  json("format", digest.format);
  json("producer", digest.producer);
  json.or_null("epoch_ns", digest.epoch_ns, Ns{0});
};

constexpr auto digest_fields = [](auto& json, auto& digest) {
  json("report", digest, report_fields);
  json.or_null("node", digest.node);
  json.or_null("world_size", digest.world_size, std::int64_t{0}, Limits{.most = most_rank + 1});
  json("problems", digest.problems);
  json("ranks", digest.ranks, rank_fields);
};

}  // namespace

std::string digest_json(const Digest& digest) {
  FieldWriter writer;
  writer.json = {{"kind", kind},
                 {"schema_version", schema_version},
                 {"analysis_version", analysis_version},
                 {"generator", generator()}};
  digest_fields(writer, digest);
  return writer.json.dump() + '\n';
}

Digest digest_from_json(const std::string& text) {
  Digest digest;
  read_json(text, [&](const FieldReader& reader) {
    std::string said, by;
    std::int64_t schema = 0, analysis = 0;
    if (reader.has("kind")) reader("kind", said);
    if (said != kind) throw Error("it is some other JSON");
    reader("schema_version", schema);
    reader("analysis_version", analysis);
    reader("generator", by);
    if (schema != schema_version || analysis != analysis_version) throw OtherVersion(by);
    digest_fields(reader, digest);
  });
  if (digest.ranks.empty()) throw Error("it contains no rank");
  std::for_each(digest.ranks.begin(), digest.ranks.end(), check);
  return digest;
}

}  // namespace gh

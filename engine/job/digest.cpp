#include "job/digest.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "base/json.hpp"
#include "read/job_files.hpp"
#include "rules/finding_json.hpp"

namespace gh {
namespace {

// Limits that keep a digest small.
constexpr std::size_t most_evidence = 8, most_kinds = 20, most_problems = 20;
constexpr std::size_t least_collectives = 64;  // per rank, if a report has many

// ---- collectives

// The quarters of a collective, and in each the time in which the GPU computed nothing else.
std::array<Ns, 4> alone_quarters(const Spans& computing, const Collective& c) {
  std::array<Ns, 4> alone{};
  for (std::size_t q = 0; q < alone.size(); ++q) {
    const Span part{c.start, c.start + (c.end - c.start) * static_cast<Ns>(q + 1) / 4};
    alone[q] = part.length() - overlap(computing, part);
  }
  return alone;
}

// The first `most` collectives of the recording.
Collectives collectives_of(const Analysis& a, std::size_t most) {
  Collectives out;
  if (a.devices.empty()) return out;
  const Trace& t = a.trace;
  const auto kernel_name = [&](Row op) -> const std::string& { return t.names[t.ops.name[op]]; };
  std::vector<Span> spans;
  std::vector<Row> rows;
  for (const Row op : a.devices.front().ops) {
    if (!a.is_collective(op)) {
      if (t.ops.kind[op] != OpKind::copy) spans.push_back(t.span_of(op));
    } else if (kernel_name(op).find("SendRecv") == std::string::npos) {
      rows.push_back(op);
    }
  }
  const Spans computing = united(std::move(spans));
  std::stable_sort(rows.begin(), rows.end(),
                   [&](Row x, Row y) { return t.ops.end[x] < t.ops.end[y]; });

  std::map<std::string, std::vector<Ns>> lengths;
  for (const Row op : rows) lengths[kernel_name(op)].push_back(t.span_of(op).length());
  for (const auto& [name, ns] : lengths) {
    if (out.kinds.size() < most_kinds) {
      out.kinds.push_back({name, static_cast<std::int64_t>(ns.size()), quartiles(ns)});
    }
    out.names.push_back(name);
  }

  if (rows.size() > most) rows.resize(most);
  for (const Row op : rows) {
    const auto name =
        std::lower_bound(out.names.begin(), out.names.end(), kernel_name(op)) - out.names.begin();
    Collective c{static_cast<std::uint32_t>(name), t.ops.start[op], t.ops.end[op]};
    c.alone = alone_quarters(computing, c);
    out.first.push_back(c);
  }
  return out;
}

// ---- a rank

// Evenly spaced indices of n things.
std::vector<std::size_t> chosen_of(std::size_t n, std::size_t most) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < std::min(n, most); ++i) {
    indices.push_back(n <= most ? i : i * n / most);
  }
  return indices;
}

void add_steps(const Analysis& a, const Capture& c, RankDigest& r) {
  r.unit = c.unit;
  if (!c.step_ns.empty()) {
    r.step_count = a.step_count() / static_cast<std::int64_t>(a.devices.size());
  }
  r.window = a.analysed_window();
  if (a.step_count() > 0) {
    r.mean_step_ns = static_cast<double>(a.total_ns()) / static_cast<double>(a.step_count());
  }
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
}

RankDigest rank_of(const Analysis& a, const std::vector<Rule>& rules,
                   const std::map<std::string, RuleSettings>& settings, std::size_t collectives) {
  const Facts facts(a);
  const Report report = evaluate(rules, a, facts, settings);
  Capture c = capture_of(a, facts, report, rules, settings);
  RankDigest r;
  r.devices = std::move(c.devices);
  add_steps(a, c, r);
  r.facts = std::move(c.facts);
  std::erase_if(r.facts, [](const auto& fact) { return fact.first.starts_with("account."); });
  r.rules = std::move(c.rules);
  r.findings = report.findings;
  std::erase_if(r.findings, [](const Finding& f) { return f.masked; });
  for (Finding& f : r.findings) {
    if (f.evidence.size() > most_evidence) f.evidence.resize(most_evidence);
  }
  r.plan_json = plan_json(report).dump();
  r.collectives = collectives_of(a, collectives);
  return r;
}

// ---- a report

// The processes whose devices are analyzed, numbered as Selection::rank numbers them: in order of
// their GPUs, including processes that are left out.
std::vector<int> analysed_ranks(const Analysis& a) {
  std::vector<const DeviceSteps*> all;
  for (const DeviceSteps& d : a.devices) all.push_back(&d);
  for (const DeviceSteps& d : a.unused_devices) all.push_back(&d);
  std::sort(all.begin(), all.end(), [&](const DeviceSteps* x, const DeviceSteps* y) {
    return std::pair(a.trace.devices[x->device].ordinal, x->device) <
           std::pair(a.trace.devices[y->device].ordinal, y->device);
  });
  std::vector<std::uint16_t> processes;
  for (const DeviceSteps* d : all) {
    if (std::find(processes.begin(), processes.end(), d->process) == processes.end()) {
      processes.push_back(d->process);
    }
  }
  std::vector<int> ranks;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (std::any_of(a.devices.begin(), a.devices.end(),
                    [&](const DeviceSteps& d) { return d.process == processes[i]; })) {
      ranks.push_back(static_cast<int>(i));
    }
  }
  return ranks;
}

// PyTorch's handler names its traces HOST_PID.TIME.pt.trace.json.
std::string host_in_name(const std::string& path) {
  static const re2::RE2 handler(R"(^(.+)_\d+\.\d{10,}\.pt\.trace\.json(?:\.gz)?$)");
  std::string host;
  RE2::FullMatch(std::filesystem::path(path).filename().string(), handler, &host);
  return printable(host);
}

std::string node_of(const Trace& t, const std::string& path, const DigestOptions& options) {
  if (!options.node.empty()) return printable(options.node);
  return t.host.empty() ? host_in_name(path) : t.host;
}

}  // namespace

double Collective::alone_within(Ns ns) const {
  const double length = static_cast<double>(end - start);
  const double quarters =
      length > 0 ? std::clamp(4 * static_cast<double>(ns) / length, 0.0, 4.0) : 0;
  const auto whole = std::min(static_cast<std::size_t>(quarters), alone.size() - 1);
  const double before = whole > 0 ? static_cast<double>(alone[whole - 1]) : 0;
  return before +
         (quarters - static_cast<double>(whole)) * (static_cast<double>(alone[whole]) - before);
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
  if (whole.total_ns() == 0) {
    throw Error(fmt::format(
        "{}: contains no GPU work, so there is nothing to digest; record it again", t.path));
  }
  const Place place = place_of(path);
  Digest d;
  d.report = t.path;
  d.format = t.format;
  d.producer = t.producer;
  d.node = node_of(t, path, options);
  d.world_size = place.world_size;
  d.epoch_ns = t.epoch_ns;
  d.problems = t.problems;
  if (d.problems.size() > most_problems) d.problems.resize(most_problems);

  const std::vector<int> ranks = analysed_ranks(whole);
  std::optional<std::int64_t> first = options.first_rank;
  // A name with one rank does not say where the ranks of a report with several begin.
  if (!first && !place.job.empty() && ranks.size() == 1) first = place.rank;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t collectives =
        std::max<std::size_t>(most_collectives / ranks.size(), least_collectives);
    d.ranks.push_back(ranks.size() == 1 ? rank_of(whole, rules, settings, collectives)
                                        : rank_of(analyse(ranks[i]), rules, settings, collectives));
    d.ranks.back().local_rank = static_cast<std::int64_t>(i);
    if (first) d.ranks.back().rank = *first + static_cast<std::int64_t>(i);
  }
  return d;
}

}  // namespace gh

#include "job/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "analysis/ranks.hpp"
#include "base/parallel.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

constexpr double straggler_share =
    0.02;  // of the job's step, from which a rank's lateness is told: rank-straggler's note_share
constexpr double persistent_share =
    0.5;  // of what the job waits: a straggler causes that much by itself, else ranks take turns
constexpr double least_worth = 0.02;  // of the step that is left, for a fix to be part of the plan
constexpr std::size_t most_fixes = 8;
constexpr double error_at = 0.20, warning_at = 0.05;  // of the job's step, as for a report
constexpr const char* late_rule = "rank-straggler";

double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// How far values lie from the middle one, in the middle; scaled to what a normal distribution's
// deviation would be.
double usual_distance(const std::vector<double>& values, double from) {
  std::vector<double> off;
  for (const double v : values) off.push_back(std::abs(v - from));
  return 1.4826 * middle(std::move(off));
}

// "run2" before "run10".
bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const auto number = [&](std::string_view s, std::size_t& at) {
      while (at < s.size() && s[at] == '0') ++at;
      const std::size_t from = at;
      while (at < s.size() && digit(s[at])) ++at;
      return s.substr(from, at - from);
    };
    const std::string_view x = number(a, i), y = number(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

// A rank with its digest.
struct Member {
  const Digest* digest;
  const RankDigest* rank;
};

void check_one_job(const std::vector<Digest>& digests) {
  const Digest& first = digests.front();
  for (const Digest& d : digests) {
    std::string why;
    if (d.format != first.format)
      why = "they come from different profilers";
    else if (d.world_size != first.world_size)
      why = fmt::format("one says that it has {} ranks, the other {}", first.world_size,
                        d.world_size);
    if (!why.empty())
      throw Error(fmt::format("{} and {} are not of one job: {}; give the digests of one job",
                              first.path, d.path, why));
  }
}

// Numbers the ranks, and sorts them.
std::vector<Member> members_of(std::vector<Digest>& digests, Fleet& fleet) {
  std::sort(digests.begin(), digests.end(), [](const Digest& a, const Digest& b) {
    return natural_less(a.report, b.report) ||
           (a.report == b.report && natural_less(a.path, b.path));
  });
  std::size_t known = 0, all = 0;
  for (const Digest& d : digests)
    for (const RankDigest& r : d.ranks) {
      ++all;
      known += r.rank.has_value();
    }
  if (known > 0 && known < all) {
    const auto lacks = std::find_if(digests.begin(), digests.end(),
                                    [](const Digest& d) { return !d.ranks.front().rank; });
    throw Error(
        fmt::format("{}: does not know its rank, others do; make it anew with `gh-advise digest "
                    "--first-rank N`, or move that report out of the folder",
                    lacks->path));
  }
  fleet.numbered = known > 0;
  std::map<std::pair<std::string, Ns>, const Digest*> reports;
  std::map<std::int64_t, const Digest*> taken;
  std::int64_t next = 0;
  for (Digest& d : digests) {
    const auto [it, fresh] = reports.try_emplace({d.report, d.epoch_ns}, &d);
    if (!fresh && !fleet.numbered)
      throw Error(fmt::format("{} and {} are of the same report; give each once", it->second->path,
                              d.path));
    for (RankDigest& r : d.ranks) {
      if (!r.rank) r.rank = next++;
      if (d.world_size > 0 && *r.rank >= d.world_size)
        throw Error(
            fmt::format("{}: is of rank {}, but says that its job has {} ranks; make it anew with "
                        "the right --first-rank",
                        d.path, *r.rank, d.world_size));
      const auto [at, first] = taken.try_emplace(*r.rank, &d);
      if (!first)
        throw Error(fmt::format("{} and {} are both of rank {}; give each rank once",
                                at->second->path, d.path, *r.rank));
    }
  }
  std::vector<Member> members;
  for (const Digest& d : digests)
    for (const RankDigest& r : d.ranks) members.push_back({&d, &r});
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return *a.rank->rank < *b.rank->rank; });
  fleet.world_size = std::max(digests.front().world_size, taken.rbegin()->first + 1);
  for (std::int64_t r = 0; r < fleet.world_size && fleet.missing.size() < 10'000; ++r)
    if (!taken.contains(r)) fleet.missing.push_back(r);
  return members;
}

void add_account(const std::vector<Member>& members, Fleet& fleet) {
  std::map<std::string, double> sums;
  for (const Member& m : members)
    for (const auto& [cause, share] : m.rank->account) sums[cause] += share.ns_per_step;
  for (const auto& [cause, sum] : sums) fleet.causes.push_back(cause);
  std::stable_sort(fleet.causes.begin(), fleet.causes.end(),
                   [&](const std::string& a, const std::string& b) { return sums[a] > sums[b]; });
  for (const Member& m : members) {
    FleetRank r{*m.rank->rank,
                m.digest->node,
                m.digest->report,
                fmt::format("{}", fmt::join(m.rank->devices, "; ")),
                m.rank->step_count,
                m.rank->mean_step_ns,
                {}};
    for (const std::string& cause : fleet.causes) {
      const auto share = m.rank->account.find(cause);
      r.cause_ns.push_back(share == m.rank->account.end() ? 0 : share->second.ns_per_step);
    }
    fleet.ranks.push_back(std::move(r));
    fleet.step_ns = std::max(fleet.step_ns, m.rank->mean_step_ns);
  }
  for (std::size_t c = 0; c < fleet.causes.size(); ++c) {
    std::vector<Ns> values;
    for (const FleetRank& r : fleet.ranks) values.push_back(static_cast<Ns>(r.cause_ns[c]));
    fleet.account.push_back(quartiles(std::move(values)));
  }
}

double cause_of(const Fleet& fleet, const FleetRank& r, std::string_view cause) {
  for (std::size_t c = 0; c < fleet.causes.size(); ++c)
    if (fleet.causes[c] == cause) return r.cause_ns[c];
  return 0;
}

// ---- who comes late

// The ranks of one group, with how their collectives belong to those of the first.
struct Group {
  std::vector<std::size_t> members;
  std::vector<Alignment> alignments;
};

std::vector<Group> groups_of(const std::vector<Member>& members) {
  constexpr std::size_t most_compared =
      96;  // of a name: enough to tell them apart, and each pair of ranks is compared
  constexpr std::size_t most_groups = 16, most_odd = 8;
  std::size_t odd = 0;
  std::vector<CollectiveEnds> ends(members.size());
  for (std::size_t m = 0; m < members.size(); ++m)
    for (const Collective& c : members[m].rank->collectives.first)
      if (auto& list = ends[m][members[m].rank->collectives.names[c.name]];
          list.size() < most_compared)
        list.push_back(c.end);
  std::vector<std::size_t> rest;
  for (std::size_t m = 0; m < members.size(); ++m)
    if (!ends[m].empty()) rest.push_back(m);
  std::vector<Group> groups;
  while (!rest.empty() && groups.size() < most_groups) {
    const std::size_t first = rest.front();
    std::vector<std::optional<Alignment>> found(rest.size());
    in_parallel(rest.size(), [&](std::size_t i, std::size_t) {
      const Ns a = members[first].digest->epoch_ns, b = members[rest[i]].digest->epoch_ns;
      if (i > 0)
        found[i] =
            align(ends[first], ends[rest[i]], a > 0 && b > 0 ? std::optional(a - b) : std::nullopt);
      if (i > 0 && !found[i] && a > 0 && b > 0)
        found[i] = align(ends[first], ends[rest[i]], std::nullopt);  // a clock may be off
    });
    found[0].emplace();
    for (const auto& [name, list] : ends[first]) found[0]->offsets[name] = 0;
    Group group;
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < rest.size(); ++i)
      if (found[i]) {
        group.members.push_back(rest[i]);
        group.alignments.push_back(std::move(*found[i]));
      } else
        left.push_back(rest[i]);
    // A few odd ranks must not hide the others; but where none belongs to any, there is no use in
    // trying each.
    if (group.members.size() > 1)
      groups.push_back(std::move(group));
    else if (++odd > most_odd)
      break;
    rest = std::move(left);
  }
  return groups;
}

void add_lateness(const std::vector<Member>& members, Fleet& fleet) {
  const std::vector<Group> groups = groups_of(members);
  fleet.groups = groups.size();
  std::vector<std::size_t> matched(members.size()), last_count(members.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    const std::size_t n = group.members.size();
    std::vector<std::map<std::string, std::vector<const Collective*>>> by_name(n);
    for (std::size_t m = 0; m < n; ++m) {
      const Collectives& c = members[group.members[m]].rank->collectives;
      for (const Collective& one : c.first) by_name[m][c.names[one.name]].push_back(&one);
    }
    const Span window = members[group.members.front()].rank->window;
    Ns begin = std::numeric_limits<Ns>::max(), end = 0;
    std::vector<double> wait(n), late(n);
    double waited = 0;
    for (const auto& [name, own] : by_name.front())
      for (std::size_t k = 0; k < own.size(); ++k) {
        if (own[k]->end < window.start || own[k]->end > window.end) continue;
        std::vector<std::pair<std::size_t, const Collective*>> same;
        for (std::size_t m = 0; m < n; ++m) {
          const auto offset = group.alignments[m].offsets.find(name);
          const auto list = by_name[m].find(name);
          if (offset == group.alignments[m].offsets.end() || list == by_name[m].end()) continue;
          const std::ptrdiff_t i = static_cast<std::ptrdiff_t>(k) + offset->second;
          if (i >= 0 && i < static_cast<std::ptrdiff_t>(list->second.size()))
            same.emplace_back(m, list->second[static_cast<std::size_t>(i)]);
        }
        if (same.size() < 2 || 2 * same.size() < n) continue;
        const auto arrival = [&](const auto& s) {
          return s.second->start - group.alignments[s.first].ahead;
        };
        std::vector<double> arrivals, ends, waits;
        Ns last = std::numeric_limits<Ns>::min();
        std::size_t last_member = 0;
        for (const auto& s : same) {
          arrivals.push_back(static_cast<double>(arrival(s)));
          ends.push_back(static_cast<double>(s.second->end - group.alignments[s.first].ahead));
          if (arrival(s) > last) {
            last = arrival(s);
            last_member = s.first;
          }
        }
        if (middle(std::move(ends)) <= static_cast<double>(last))
          continue;  // nobody waited: the root of a broadcast, or another group's
        for (const auto& s : same) {
          const double own_wait = s.second->alone_within(last - arrival(s));
          wait[s.first] += own_wait;
          waits.push_back(-own_wait);
          ++matched[group.members[s.first]];
        }
        const double usual = -middle(std::move(waits)), usual_arrival = middle(arrivals);
        waited += usual;
        for (std::size_t i = 0; i < same.size(); ++i)
          late[same[i].first] += std::clamp(arrivals[i] - usual_arrival, 0.0, usual);
        ++last_count[group.members[last_member]];
        begin = std::min(begin, own[k]->start);
        end = std::max(end, own[k]->end);
      }
    if (end <= begin) continue;
    const double step = members[group.members.front()].rank->mean_step_ns;
    // A stretch of whole steps begins in the first one's collectives and ends in the last one's.
    const double steps = std::max(1.0, std::ceil(static_cast<double>(end - begin) / step - 0.1));
    fleet.waited_ns = std::max(fleet.waited_ns, waited / steps);
    for (std::size_t m = 0; m < n; ++m) {
      FleetRank& r = fleet.ranks[group.members[m]];
      r.group = static_cast<int>(g);
      r.late_ns = late[m] / steps;
      r.wait_ns = std::min(wait[m] / steps, cause_of(fleet, r, "communication_exposed"));
      if (const std::size_t all = matched[group.members[m]]; all > 0)
        r.last_fraction =
            static_cast<double>(last_count[group.members[m]]) / static_cast<double>(all);
    }
  }
  fleet.collectives = std::any_of(members.begin(), members.end(), [](const Member& m) {
    return !m.rank->collectives.first.empty();
  });
  const auto aligned = static_cast<std::size_t>(std::count_if(
      fleet.ranks.begin(), fleet.ranks.end(), [](const FleetRank& r) { return r.group >= 0; }));
  if (fleet.ranks.size() < 2)
    fleet.clocks =
        fleet.collectives
            ? "the other ranks' digests are not here, so what it waits for them is not known"
            : "there is one rank only";
  else if (!fleet.collectives)
    fleet.clocks =
        "no report shows a collective, in which ranks would wait for each other and by which their "
        "clocks could be aligned";
  else if (aligned == 0)
    fleet.clocks =
        "the ranks' collectives could not be matched, so times of different reports cannot be "
        "compared and who comes late does not show";
  else {
    fleet.clocks = fmt::format(
        "the clocks of {} of {} ranks were aligned by the ends of their collectives, which no rank "
        "leaves much before another",
        aligned, fleet.ranks.size());
    if (groups.size() > 1)
      fleet.clocks += fmt::format(
          "; they fall into {} groups that share no collectives, and are told apart only within "
          "each",
          groups.size());
  }
}

// Of one job are digests whose first steps lie close to each other, or whose collectives match:
// then a clock is off.
void check_clocks(const std::vector<Member>& members, Fleet& fleet) {
  constexpr Ns apart_ns = 60'000'000'000;  // profilers of one job start at one step; clocks of
                                           // machines differ by seconds at worst
  const auto begin = [](const Member& m) { return m.digest->epoch_ns + m.rank->window.start; };
  std::vector<std::size_t> known;
  for (std::size_t m = 0; m < members.size(); ++m)
    if (members[m].digest->epoch_ns > 0 && members[m].rank->has_steps) known.push_back(m);
  if (known.empty()) return;
  const auto [least, most] = std::minmax_element(
      known.begin(), known.end(),
      [&](std::size_t a, std::size_t b) { return begin(members[a]) < begin(members[b]); });
  const Ns apart = begin(members[*most]) - begin(members[*least]);
  if (apart <= apart_ns) return;
  const int group = fleet.ranks[*least].group;
  if (group < 0 || fleet.ranks[*most].group != group)
    throw Error(fmt::format(
        "{} and {} are not of one job: their first steps lie {} apart; give the digests of one job",
        members[*least].digest->path, members[*most].digest->path, duration(apart)));
  fleet.notes.push_back(
      fmt::format("by their clocks ranks {} and {} begin {} apart, yet their collectives match: a "
                  "machine's clock is off",
                  fleet.ranks[*least].rank, fleet.ranks[*most].rank, duration(apart)));
}

// What a late rank spends its steps on more than the others do: cause of the account, or "compute";
// and how much.
std::pair<std::string, double> excess_of(const Fleet& fleet, const FleetRank& late) {
  std::map<std::string, std::vector<double>> others;
  std::map<std::string, double> own;
  for (const FleetRank& r : fleet.ranks) {
    std::map<std::string, double> spent;
    for (std::size_t c = 0; c < fleet.causes.size(); ++c)
      if (fleet.causes[c] != "communication_exposed")
        spent[fleet.causes[c].starts_with("compute.") ? "compute" : fleet.causes[c]] +=
            r.cause_ns[c];
    if (&r == &late)
      own = std::move(spent);
    else if (r.group == late.group && std::find(fleet.stragglers.begin(), fleet.stragglers.end(),
                                                r.rank) == fleet.stragglers.end())
      for (const auto& [cause, ns] : spent) others[cause].push_back(ns);
  }
  std::pair<std::string, double> most{"", 0};
  for (const auto& [cause, ns] : own)
    if (const double more = ns - middle(others[cause]); more > most.second) most = {cause, more};
  if (most.second < late.late_ns / 4) most.first.clear();
  return most;
}

std::string excess_text(const std::string& cause) {
  static const std::map<std::string, const char*> words{
      {"compute", "computing"},
      {"copy_exposed", "copying"},
      {"um_stall", "waiting for unified memory"},
      {"idle.input", "waiting for its data loader"},
      {"idle.sync", "waiting for its own synchronization"},
      {"idle.launch", "waiting for its launches"},
      {"idle.allocation", "allocating memory"},
      {"idle.compilation", "loading or compiling code"},
      {"idle.dependency", "between kernels"},
      {"idle.unknown", "doing nothing that the trace explains"}};
  const auto it = words.find(cause);
  return it == words.end() ? cause_label(cause) : it->second;
}

std::string excess_advice(const std::string& cause) {
  if (cause == "compute")
    return "These ranks compute longer: compare how many kernels they run and how many tokens they "
           "get; with as many of both, the GPU is slower (nvidia-smi -q -d "
           "CLOCK,PERFORMANCE,TEMPERATURE), or shared.";
  if (cause == "idle.input")
    return "Give these ranks as many loader workers and cores as the others, and shards of the "
           "same size; look at the node's file system.";
  if (cause == "idle.launch")
    return "The hosts of these ranks launch more slowly. The profiler slows launching as well: "
           "time the step without it first. If it stays, bind processes to the cores next to their "
           "GPU (srun --cpu-bind, numactl), and look for other work on the node.";
  if (cause.empty())
    return "No one kind of work sets these ranks apart: compare the timelines of one of them and "
           "of another before the longest waits.";
  return "Keep what only these ranks do (logging, validation, saving, .item()) out of the step, or "
         "do it on all in turn.";
}

// The rule that finds what a late rank does on that rank itself.
std::string root_of(const std::string& cause) {
  static const std::map<std::string, const char*> rules{
      {"idle.input", "data-loader-starvation"}, {"idle.sync", "host-sync"},
      {"idle.launch", "launch-bound"},          {"idle.allocation", "alloc-churn"},
      {"idle.compilation", "jit-in-loop"},      {"idle.unknown", "gpu-idle"}};
  const auto it = rules.find(cause);
  return it == rules.end() ? "" : it->second;
}

void add_stragglers(const Rule* late, Fleet& fleet) {
  std::vector<const FleetRank*> stragglers;
  for (const FleetRank& r : fleet.ranks)
    if (r.late_ns > 0 && r.late_ns >= straggler_share * fleet.step_ns &&
        r.late_ns >= persistent_share * fleet.waited_ns)
      stragglers.push_back(&r);
  std::stable_sort(stragglers.begin(), stragglers.end(),
                   [](const FleetRank* a, const FleetRank* b) { return a->late_ns > b->late_ns; });
  for (const FleetRank* r : stragglers) fleet.stragglers.push_back(r->rank);

  std::map<std::string, std::vector<const FleetRank*>> nodes;
  for (const FleetRank& r : fleet.ranks)
    if (!r.node.empty()) nodes[r.node].push_back(&r);
  for (const auto& [node, ranks] : nodes) {
    FleetNode n{node, static_cast<std::int64_t>(ranks.size()), 0, 0};
    std::vector<double> lateness;
    for (const FleetRank* r : ranks) {
      n.late += std::find(fleet.stragglers.begin(), fleet.stragglers.end(), r->rank) !=
                fleet.stragglers.end();
      lateness.push_back(r->late_ns);
    }
    n.late_ns = middle(std::move(lateness));
    fleet.nodes.push_back(std::move(n));
  }

  if (!late || !fleet.collectives)
    return;  // without collectives it stands as the ranks' own reports have it
  RuleOutcome& outcome = fleet.rules[late_rule];
  outcome.state = fleet.groups > 0 ? RuleOutcome::State::looked : RuleOutcome::State::not_checked;
  const auto alone = std::count_if(fleet.ranks.begin(), fleet.ranks.end(),
                                   [](const FleetRank& r) { return r.group < 0; });
  outcome.reason = fleet.groups == 0 ? fleet.clocks
                   : alone > 0
                       ? fmt::format("not on {} of {} ranks: their collectives match nobody's",
                                     alone, fleet.ranks.size())
                       : "";
  const bool turns = stragglers.empty() && fleet.waited_ns >= warning_at * fleet.step_ns;
  if (stragglers.empty() && !turns) return;
  FleetFinding f;
  f.finding.rule = late->id;
  f.finding.category = late->category;
  f.finding.title = late->title;
  f.looked = static_cast<std::int64_t>(std::count_if(
      fleet.ranks.begin(), fleet.ranks.end(), [](const FleetRank& r) { return r.group >= 0; }));
  if (turns) {
    const auto worst = std::max_element(
        fleet.ranks.begin(), fleet.ranks.end(),
        [](const FleetRank& a, const FleetRank& b) { return a.late_ns < b.late_ns; });
    f.finding.subject = "ranks in turn";
    f.worst = worst->rank;
    f.finding.message = fmt::format(
        "Ranks take turns in coming late to collectives: the middle one waits {} of each {} step "
        "for the last ({}), none of them causes half of it.",
        duration(fleet.waited_ns), duration(fleet.step_ns),
        percent(fleet.waited_ns / fleet.step_ns));
    f.finding.advice = {
        "Ranks that take turns have unequal batches, as a rule: bucket or pack sequences by "
        "length, so that all ranks have as many tokens in each step."};
    for (const FleetRank& r : fleet.ranks)
      if (r.group >= 0) f.ranks.push_back(r.rank);
    f.rank_ns = {0, 0, static_cast<Ns>(fleet.waited_ns), static_cast<Ns>(fleet.waited_ns),
                 static_cast<Ns>(fleet.waited_ns)};
  } else {
    f.ranks = fleet.stragglers;
    f.worst = fleet.stragglers.front();
    std::sort(f.ranks.begin(), f.ranks.end());
    std::vector<Ns> lateness;
    for (const FleetRank* r : stragglers) lateness.push_back(static_cast<Ns>(r->late_ns));
    f.rank_ns = quartiles(lateness);
    const bool one = stragglers.size() == 1;
    f.finding.subject = fmt::format("rank{} {}", one ? "" : "s", ranks_text(f.ranks));
    const FleetRank& worst = *stragglers.front();
    const auto [cause, excess] = excess_of(fleet, worst);
    std::set<std::string> on;
    for (const FleetRank* r : stragglers)
      if (!r->node.empty()) on.insert(r->node);
    std::string where;
    if (on.size() == 1) {
      const auto node = std::find_if(fleet.nodes.begin(), fleet.nodes.end(),
                                     [&](const FleetNode& n) { return n.node == *on.begin(); });
      where = fleet.nodes.size() == 1 ? ""
              : node->late == node->ranks && node->ranks > 1
                  ? fmt::format(", all ranks of node {},", node->node)
                  : fmt::format(", on node {},", node->node);
    } else if (on.size() > 1)
      where = fmt::format(", on {} nodes,", on.size());
    f.finding.message = fmt::format(
        "The other ranks wait in collectives for {} {}{} which {} {} after the middle rank in each "
        "{} step ({}){}.",
        one ? "rank" : "ranks", ranks_text(f.ranks), where.empty() ? "," : where,
        one ? "comes" : fmt::format("come up to"), duration(worst.late_ns), duration(fleet.step_ns),
        percent(worst.late_ns / fleet.step_ns),
        cause.empty() ? ""
                      : fmt::format("; rank {} spends {} a step more than the others {}",
                                    worst.rank, duration(excess), excess_text(cause)));
    f.finding.advice = {excess_advice(cause)};
    f.finding.follows_from = root_of(cause);
    // A host that launches later does so under the profiler, which slows launching down and not
    // always alike.
    f.only_note = cause == "idle.launch";
  }
  f.finding.metrics = {
      {"waiting for the last rank", fleet.waited_ns / fleet.step_ns, Unit::fraction, warning_at}};
  f.finding.fingerprint = fingerprint(f.finding);
  fleet.findings.push_back(std::move(f));
}

// ---- what they have in common, and what they have not

void add_findings(const std::vector<Member>& members, Fleet& fleet) {
  std::map<std::string, std::int64_t> looked, not_looked;
  for (const Member& m : members)
    for (const auto& [id, outcome] : m.rank->rules) {
      ++(outcome.state == RuleOutcome::State::looked ? looked : not_looked)[id];
      const auto [it, first] = fleet.rules.try_emplace(id, outcome);
      // Where one rank could look the rule has looked; what kept others from it is kept beside.
      if (!first && outcome.state != it->second.state) {
        const bool failed = outcome.state == RuleOutcome::State::failed ||
                            it->second.state == RuleOutcome::State::failed;
        if (it->second.reason.empty()) it->second.reason = outcome.reason;
        it->second.state =
            failed ? RuleOutcome::State::failed : std::min(outcome.state, it->second.state);
      }
    }
  for (auto& [id, outcome] : fleet.rules)
    if (outcome.reason.starts_with("the report holds one rank only"))
      outcome.reason = "needs all ranks in one report; a digest holds each by itself";
  for (auto& [id, outcome] : fleet.rules)
    if (outcome.state == RuleOutcome::State::looked && not_looked[id] > 0)
      outcome.reason =
          fmt::format("not on {} of {} ranks: {}", not_looked[id], members.size(), outcome.reason);
  std::map<std::string, std::size_t> index;
  std::vector<std::vector<Ns>> worth;
  for (const Member& m : members)
    for (const Finding& f : m.rank->findings) {
      if (f.rule == late_rule) continue;
      const auto [it, first] = index.try_emplace(f.fingerprint, worth.size());
      if (first) {
        fleet.findings.push_back({f, {}, looked[f.rule], *m.rank->rank, {}, false});
        worth.emplace_back();
      }
      FleetFinding& of = fleet.findings[it->second];
      if (!first && f.recoverable_ns > of.finding.recoverable_ns) {
        of.finding = f;
        of.worst = *m.rank->rank;
      }
      if (of.ranks.empty() || of.ranks.back() != *m.rank->rank) of.ranks.push_back(*m.rank->rank);
      worth[it->second].push_back(f.recoverable_ns);
    }
  for (std::size_t i = 0; i < worth.size(); ++i) {
    FleetFinding& f = fleet.findings[i];
    f.rank_ns = quartiles(worth[i]);
    const auto of_all = static_cast<std::int64_t>(members.size());
    const std::string who =
        static_cast<std::int64_t>(f.ranks.size()) == of_all
            ? (of_all == 1 ? "On the one rank" : fmt::format("On all {} ranks", of_all))
            : fmt::format("On {} of {} ranks ({})", f.ranks.size(), of_all, ranks_text(f.ranks));
    f.finding.message = fmt::format("{}; rank {}: {}", who, f.worst, f.finding.message);
    if (f.looked < of_all)
      f.finding.message += fmt::format(" On {} rank{} its rule could not look.", of_all - f.looked,
                                       of_all - f.looked == 1 ? "" : "s");
    const auto worst = std::find_if(fleet.ranks.begin(), fleet.ranks.end(),
                                    [&](const FleetRank& r) { return r.rank == f.worst; });
    for (Evidence& e : f.finding.evidence)
      e.note =
          fmt::format("rank {}{}{}{}", f.worst, worst->node.empty() ? "" : " on " + worst->node,
                      e.note.empty() ? "" : ", ", e.note);
  }
}

void add_unlike(const std::vector<Member>& members, Fleet& fleet) {
  if (members.size() < 3) return;  // of two, which one is odd?
  const auto told = [&](const std::string& what, std::vector<std::int64_t> ranks) {
    if (!ranks.empty()) fleet.unlike.push_back({what, std::move(ranks)});
  };
  const auto words = [&](const char* name, auto value_of) {
    std::map<std::string, std::vector<std::int64_t>> values;
    for (std::size_t m = 0; m < members.size(); ++m)
      values[value_of(m)].push_back(fleet.ranks[m].rank);
    const auto most = std::max_element(
        values.begin(), values.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (2 * most->second.size() <= members.size()) {
      std::vector<std::string> parts;
      for (const auto& [value, ranks] : values)
        if (parts.size() < 4)
          parts.push_back(fmt::format("{} on {} {}", value, ranks.size() == 1 ? "rank" : "ranks",
                                      ranks_text(ranks)));
      if (values.size() > parts.size())
        parts.push_back(fmt::format("{} other values", values.size() - parts.size()));
      std::vector<std::int64_t> all;
      for (const FleetRank& r : fleet.ranks) all.push_back(r.rank);
      return told(fmt::format("{} differs: {}", name, fmt::join(parts, ", ")), all);
    }
    for (const auto& [value, ranks] : values)
      if (value != most->first)
        told(fmt::format("{}: {}, {} {}", name, value, values.size() == 2 ? "the others" : "most",
                         most->first),
             ranks);
  };
  words("GPU", [&](std::size_t m) { return fleet.ranks[m].devices; });
  words("profiler", [&](std::size_t m) { return members[m].digest->producer; });
  words("steps recorded", [&](std::size_t m) { return std::to_string(fleet.ranks[m].steps); });
  // Far from the middle is what is both unusual among these ranks and of some size.
  const auto numbers = [&](const std::string& name,
                           const std::vector<std::optional<double>>& values, double least,
                           auto shown) {
    std::vector<double> known;
    for (const auto& v : values)
      if (v) known.push_back(*v);
    if (known.size() < 3) return;
    const double usual = middle(known), far = std::max(least < 0 ? -least * usual : least,
                                                       5 * usual_distance(known, usual));
    for (const bool more : {true, false}) {
      std::vector<std::int64_t> ranks;
      std::vector<double> theirs;
      for (std::size_t m = 0; m < values.size(); ++m)
        if (values[m] && (more ? *values[m] - usual : usual - *values[m]) > far) {
          ranks.push_back(fleet.ranks[m].rank);
          theirs.push_back(*values[m]);
        }
      if (2 * ranks.size() < known.size())
        told(fmt::format("{}: {}, the others {}", name, shown(middle(theirs)), shown(usual)),
             ranks);
    }
  };
  const auto time = [](double ns) { return duration(ns) + " a step"; };
  for (std::size_t c = 0; c < fleet.causes.size(); ++c) {
    if (fleet.causes[c] == "communication_exposed") continue;  // it mirrors who comes late
    std::vector<std::optional<double>> values;
    for (const FleetRank& r : fleet.ranks) values.emplace_back(r.cause_ns[c]);
    numbers(cause_label(fleet.causes[c]), values, warning_at * fleet.step_ns, time);
  }
  const auto fact = [&](const char* name, const char* label, double least_share, auto shown) {
    std::vector<std::optional<double>> values;
    for (const Member& m : members) {
      const auto f = m.rank->facts.find(name);
      values.push_back(f == m.rank->facts.end() ? std::nullopt : f->second.value);
    }
    numbers(label, values, -least_share, shown);
  };
  fact("kernels.per_step", "kernels a step", 0.02,
       [](double v) { return fmt::format("{:.0f}", v); });
  fact("memory.peak_bytes", "memory at most", 0.10, [](double v) { return bytes_text(v); });
  std::vector<std::optional<double>> steps;
  for (const FleetRank& r : fleet.ranks) steps.emplace_back(r.step_ns);
  numbers("the mean step", steps, warning_at * fleet.step_ns,
          [](double ns) { return duration(ns); });
}

// ---- what fixes are worth to the job

// The job's step cannot fall below the longest of what each rank takes by itself. What that is now:
// its step without its waits for others. Where those are not known, all of its exposed
// communication may be such a wait.
class Job {
 public:
  explicit Job(const Fleet& fleet) : fleet_(fleet) {
    for (const FleetRank& r : fleet.ranks) {
      const double communication = cause_of(fleet, r, "communication_exposed");
      own_.push_back(r.step_ns - (r.group >= 0 ? r.wait_ns : communication));
      transfer_.push_back(r.group >= 0 ? communication - r.wait_ns : communication);
      index_[r.rank] = index_.size();
    }
  }
  std::size_t slowest() const {
    return static_cast<std::size_t>(std::max_element(own_.begin(), own_.end()) - own_.begin());
  }

  // What a fix may win on each rank.
  std::vector<double> wins(const FleetFinding& f, const std::vector<Member>& members) const {
    std::vector<double> win(own_.size());
    if (f.finding.rule == late_rule) {
      for (const std::int64_t r : f.ranks)
        win[index_.at(r)] = f.finding.subject == "ranks in turn"
                                ? fleet_.waited_ns
                                : fleet_.ranks[index_.at(r)].late_ns;
      return win;
    }
    for (std::size_t m = 0; m < members.size(); ++m)
      for (const Finding& own : members[m].rank->findings)
        // What a rank waits for others in its collectives goes with what makes them late, not with
        // a fix of communication.
        if (own.fingerprint == f.finding.fingerprint)
          win[m] += std::min(static_cast<double>(own.recoverable_ns),
                             own.category == "comm" ? transfer_[m] : own_[m]);
    return win;
  }

  double least_step(const std::vector<double>& win) const {
    double longest = 0, sum = 0;
    for (std::size_t r = 0; r < own_.size(); ++r) {
      longest = std::max(longest, own_[r] - win[r]);
      sum += win[r];
    }
    return std::clamp(std::max(longest, fleet_.step_ns - sum), 0.0, fleet_.step_ns);
  }

 private:
  const Fleet& fleet_;
  std::vector<double> own_, transfer_;
  std::map<std::int64_t, std::size_t> index_;
};

void add_plan(const std::vector<Member>& members, Fleet& fleet) {
  const Job job(fleet);
  // What communication costs on ranks whose peers are not here may be all waiting for those.
  const bool partly = !fleet.missing.empty() || (fleet.ranks.size() == 1 && fleet.collectives);
  const auto untold = [&](const FleetFinding& f) { return partly && f.finding.category == "comm"; };
  fleet.slowest = fleet.ranks[job.slowest()].rank;
  std::vector<std::vector<double>> wins;
  for (FleetFinding& f : fleet.findings) {
    wins.push_back(job.wins(f, members));
    const double won = fleet.step_ns - job.least_step(wins.back());
    f.finding.recoverable_ns = static_cast<Ns>(won);
    f.finding.about = false;
    f.finding.predicted.reset();
    f.finding.recoverable_fraction = fleet.step_ns > 0 ? won / fleet.step_ns : 0;
    if (f.finding.rule == late_rule)
      f.finding.severity = f.only_note                                    ? Severity::note
                           : f.finding.recoverable_fraction >= error_at   ? Severity::error
                           : f.finding.recoverable_fraction >= warning_at ? Severity::warning
                                                                          : Severity::note;
    // A rule holds back what is a choice; and what is grave on a rank may matter little to the job.
    else if (!f.finding.voids && f.finding.severity != Severity::note && f.rank_ns.most > 0)
      f.finding.severity = std::min(
          f.finding.severity, f.finding.recoverable_fraction >= error_at     ? Severity::error
                              : f.finding.recoverable_fraction >= warning_at ? Severity::warning
                                                                             : Severity::note);
    if (untold(f)) f.finding.severity = Severity::note;
  }
  std::set<std::size_t> rest;
  for (std::size_t i = 0; i < wins.size(); ++i)
    if (!fleet.findings[i].suppressed && !untold(fleet.findings[i])) rest.insert(i);
  std::vector<double> made(fleet.ranks.size());
  double step = fleet.step_ns;
  while (!rest.empty() && fleet.plan.size() < most_fixes) {
    // A rank that comes late does so for a reason that another finding may name: of the two the
    // larger counts, not their sum.
    const auto with = [&](std::size_t i) {
      std::vector<double> sum = made;
      for (std::size_t r = 0; r < sum.size(); ++r)
        sum[r] = fleet.findings[i].finding.rule == late_rule ? std::max(sum[r], wins[i][r])
                                                             : sum[r] + wins[i][r];
      return sum;
    };
    const auto less = [&](std::size_t a, std::size_t b) {
      return job.least_step(with(a)) < job.least_step(with(b));
    };
    std::size_t best = *std::min_element(rest.begin(), rest.end(), less);
    // Of fixes that win as much, the one that is a cause and does not follow from another.
    std::set<std::size_t> causes;
    for (const std::size_t i : rest)
      if (fleet.findings[i].finding.follows_from.empty() &&
          job.least_step(with(i)) - job.least_step(with(best)) < least_worth * step)
        causes.insert(i);
    if (!causes.empty() && !fleet.findings[best].finding.follows_from.empty())
      best = *std::min_element(causes.begin(), causes.end(), less);
    const double left = job.least_step(with(best));
    if (step - left < least_worth * step || step <= 0) break;
    made = with(best);
    step = left;
    rest.erase(best);
    fleet.plan.push_back(
        {fleet.findings[best].finding.rule, fleet.findings[best].finding.fingerprint, left});
  }
}

void suppress_findings(const std::vector<Suppression>& suppressions, const std::string& today,
                       Fleet& fleet) {
  for (const Suppression& s : suppressions) {
    SuppressionState state = SuppressionState::expired;
    if (s.holds(today)) {
      const auto outcome = fleet.rules.find(s.rule);
      state = outcome != fleet.rules.end() && outcome->second.state == RuleOutcome::State::looked
                  ? SuppressionState::unused
                  : SuppressionState::not_checked;
      for (FleetFinding& f : fleet.findings)
        if (f.finding.rule == s.rule && glob_match(s.subject, f.finding.subject) &&
            (!s.up_to || static_cast<double>(f.rank_ns.most) <= *s.up_to)) {
          f.suppressed = true;
          state = SuppressionState::used;
        }
    }
    fleet.suppressions.emplace_back(s, state);
  }
}

// The best fix first, as in a report.
void sort_findings(Fleet& fleet) {
  std::vector<Finding> ranked;
  for (const FleetFinding& f : fleet.findings) ranked.push_back(f.finding);
  rank(ranked);
  std::vector<FleetFinding> sorted;
  for (Finding& f : ranked) {
    sorted.push_back(*std::find_if(
        fleet.findings.begin(), fleet.findings.end(),
        [&](const FleetFinding& of) { return of.finding.fingerprint == f.fingerprint; }));
    sorted.back().finding = std::move(f);
  }
  fleet.findings = std::move(sorted);
}

}  // namespace

std::vector<std::string> find_digests(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ec;
    if (!fs::is_directory(path, ec)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (fs::recursive_directory_iterator
             at(path, fs::directory_options::skip_permission_denied, ec),
         end;
         !ec && at != end; at.increment(ec))
      if (at->path().extension() == ".digest") inside.push_back(at->path().string());
    if (ec) throw Error(fmt::format("{}: cannot be read: {}", printable(path), ec.message()));
    if (inside.empty())
      throw Error(
          fmt::format("{}: holds no *.digest; make them with `gh-advise digest`, or `gh-advise "
                      "slurm` for a folder of reports",
                      printable(path)));
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

std::vector<Digest> read_digests(const std::vector<std::string>& paths,
                                 std::vector<std::string>& errors) {
  std::vector<std::optional<Digest>> read(paths.size());
  std::vector<std::string> failed(paths.size());
  in_parallel(paths.size(), [&](std::size_t i, std::size_t) {
    try {
      read[i] = read_digest(paths[i]);
      // Of thousands only this is needed.
      for (RankDigest& r : read[i]->ranks) {
        r.plan_json.clear();
        r.sample_ns = {};
        r.collectives.kinds = {};
        for (auto& [cause, share] : r.account) share.sample_ns = {};
      }
    } catch (const std::exception& e) {
      failed[i] = e.what();
    }
  });
  std::vector<Digest> digests;
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (read[i])
      digests.push_back(std::move(*read[i]));
    else
      errors.push_back(printable(failed[i]));
  return digests;
}

Fleet make_fleet(std::vector<Digest> digests, const Rule* late,
                 const std::vector<Suppression>& suppressions, const std::string& today) {
  if (digests.empty()) throw Error("there is no digest to bring together");
  check_one_job(digests);
  Fleet fleet;
  const std::vector<Member> members = members_of(digests, fleet);
  add_account(members, fleet);
  add_lateness(members, fleet);
  check_clocks(members, fleet);
  add_findings(members, fleet);
  add_stragglers(late, fleet);
  add_unlike(members, fleet);
  suppress_findings(suppressions, today, fleet);
  add_plan(members, fleet);
  sort_findings(fleet);
  if (!fleet.numbered && fleet.ranks.size() > 1)
    fleet.notes.push_back(
        "no digest knows its rank: they are counted in the order of their reports' names; "
        "`gh-advise digest --first-rank N` says it");
  if (!fleet.missing.empty())
    fleet.notes.push_back(
        fmt::format("{}: what they did, and whether the others waited for them, is not known",
                    fleet_missing_text(fleet)));
  std::size_t without_steps = 0;
  for (const Member& m : members) without_steps += !m.rank->has_steps;
  if (without_steps > 0)
    fleet.notes.push_back(fmt::format(
        "on {} rank{} no training steps were found: there the whole recording stands for one",
        without_steps, without_steps == 1 ? "" : "s"));
  return fleet;
}

std::string ranks_text(std::vector<std::int64_t> ranks, std::size_t most) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (runs++ == most) return text + fmt::format(" and {} more", ranks.size() - i);
    text += (text.empty() ? "" : ", ") +
            (i == j ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[j]));
    i = j + 1;
  }
  return text;
}

std::string fleet_missing_text(const Fleet& fleet) {
  const auto missing = fleet.world_size - static_cast<std::int64_t>(fleet.ranks.size()),
             listed = static_cast<std::int64_t>(fleet.missing.size());
  return fmt::format("{} of {} ranks are missing ({}{})", missing, fleet.world_size,
                     ranks_text(fleet.missing), missing > listed ? ", ..." : "");
}

}  // namespace gh

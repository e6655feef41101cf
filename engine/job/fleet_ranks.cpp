// Which digests are which ranks of the job, and what each rank spends its steps on.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "job/fleet_passes.hpp"

namespace gh {
namespace {

constexpr std::size_t most_missing = 10'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The digits that begin at `at`, leading zeros aside; `at` moves behind them.
std::string_view number_at(std::string_view s, std::size_t& at) {
  while (at < s.size() && s[at] == '0') ++at;
  const std::size_t from = at;
  while (at < s.size() && is_digit(s[at])) ++at;
  return s.substr(from, at - from);
}

// "run2" before "run10".
bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = number_at(a, i), y = number_at(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

void sort_by_name(std::vector<Digest>& digests) {
  std::sort(digests.begin(), digests.end(), [](const Digest& a, const Digest& b) {
    return natural_less(a.report, b.report) ||
           (a.report == b.report && natural_less(a.path, b.path));
  });
}

// Whether digests know their ranks: all or none of them have to.
bool are_numbered(const std::vector<Digest>& digests) {
  std::size_t known = 0, all = 0;
  for (const Digest& d : digests) {
    for (const RankDigest& r : d.ranks) {
      ++all;
      known += r.rank.has_value();
    }
  }
  if (known > 0 && known < all) {
    const auto lacks = std::find_if(digests.begin(), digests.end(),
                                    [](const Digest& d) { return !d.ranks.front().rank; });
    throw Error(
        fmt::format("{}: does not know its rank, others do; make it anew with `gh-advise digest "
                    "--first-rank N`, or move that report out of the folder",
                    lacks->path));
  }
  return known > 0;
}

using DigestByRank = std::map<std::int64_t, const Digest*>;

void take_rank(const Digest& d, std::int64_t rank, DigestByRank& taken) {
  if (d.world_size > 0 && rank >= d.world_size) {
    throw Error(
        fmt::format("{}: is of rank {}, but says that its job has {} ranks; make it anew with "
                    "the right --first-rank",
                    d.path, rank, d.world_size));
  }
  const auto [other, fresh] = taken.try_emplace(rank, &d);
  if (!fresh) {
    throw Error(fmt::format("{} and {} are both of rank {}; give each rank once",
                            other->second->path, d.path, rank));
  }
}

// Ranks that do not know their number are counted.
DigestByRank take_ranks(std::vector<Digest>& digests, bool numbered) {
  std::map<std::pair<std::string, Ns>, const Digest*> reports;
  DigestByRank taken;
  std::int64_t next = 0;
  for (Digest& d : digests) {
    const auto [other, fresh] = reports.try_emplace({d.report, d.epoch_ns}, &d);
    if (!fresh && !numbered) {
      throw Error(fmt::format("{} and {} are of the same report; give each once",
                              other->second->path, d.path));
    }
    for (RankDigest& r : d.ranks) {
      if (!r.rank) r.rank = next++;
      take_rank(d, *r.rank, taken);
    }
  }
  return taken;
}

}  // namespace

void check_one_job(const std::vector<Digest>& digests) {
  const Digest& first = digests.front();
  for (const Digest& d : digests) {
    std::string why;
    if (d.format != first.format) {
      why = "they come from different profilers";
    } else if (d.world_size != first.world_size) {
      why = fmt::format("one says that it has {} ranks, the other {}", first.world_size,
                        d.world_size);
    }
    if (!why.empty()) {
      throw Error(fmt::format("{} and {} are not of one job: {}; give the digests of one job",
                              first.path, d.path, why));
    }
  }
}

FleetMembers number_ranks(std::vector<Digest>& digests, Fleet& fleet) {
  sort_by_name(digests);
  fleet.numbered = are_numbered(digests);
  const DigestByRank taken = take_ranks(digests, fleet.numbered);
  fleet.world_size = std::max(digests.front().world_size, taken.rbegin()->first + 1);
  for (std::int64_t r = 0; r < fleet.world_size && fleet.missing.size() < most_missing; ++r) {
    if (!taken.contains(r)) fleet.missing.push_back(r);
  }
  FleetMembers members;
  for (const Digest& d : digests) {
    for (const RankDigest& r : d.ranks) members.push_back({&d, &r});
  }
  std::sort(members.begin(), members.end(), [](const FleetMember& a, const FleetMember& b) {
    return *a.rank->rank < *b.rank->rank;
  });
  return members;
}

void add_account(const FleetMembers& members, Fleet& fleet) {
  std::map<std::string, double> sums;
  for (const FleetMember& m : members) {
    for (const auto& [cause, share] : m.rank->account) sums[cause] += share.ns_per_step;
  }
  for (const auto& [cause, sum] : sums) fleet.causes.push_back(cause);
  std::stable_sort(fleet.causes.begin(), fleet.causes.end(),
                   [&](const std::string& a, const std::string& b) { return sums[a] > sums[b]; });

  for (const FleetMember& m : members) {
    FleetRank r;
    r.rank = *m.rank->rank;
    r.node = m.digest->node;
    r.report = m.digest->report;
    r.devices = fmt::format("{}", fmt::join(m.rank->devices, "; "));
    r.steps = m.rank->step_count;
    r.step_ns = m.rank->mean_step_ns;
    for (const std::string& cause : fleet.causes) {
      const auto share = m.rank->account.find(cause);
      r.cause_ns.push_back(share == m.rank->account.end() ? 0 : share->second.ns_per_step);
    }
    fleet.step_ns = std::max(fleet.step_ns, r.step_ns);
    fleet.ranks.push_back(std::move(r));
  }

  for (std::size_t c = 0; c < fleet.causes.size(); ++c) {
    std::vector<Ns> values;
    for (const FleetRank& r : fleet.ranks) values.push_back(static_cast<Ns>(r.cause_ns[c]));
    fleet.account.push_back(quartiles(std::move(values)));
  }
}

}  // namespace gh

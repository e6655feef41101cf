// Finds which digest is which rank of the job, and what each rank spends its steps on.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "job/fleet_passes.hpp"

namespace gh {
namespace {

constexpr std::size_t most_missing = 10'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The digits that begin at `at`, without leading zeros; moves `at` past them.
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

// Removes the digests for which `why` returns a reason, and adds the reason to `left_out`.
template <class Why>
void leave_out(std::vector<Digest>& digests, std::vector<std::string>& left_out, Why why) {
  std::erase_if(digests, [&](const Digest& d) {
    const std::string said = why(d);
    if (!said.empty()) left_out.push_back(fmt::format("{}: {}", d.path, said));
    return !said.empty();
  });
}

// Whether digests know their ranks. Leaves out a few that do not; otherwise all or none must know.
bool are_numbered(std::vector<Digest>& digests, std::vector<std::string>& left_out) {
  const auto lacks_rank = [](const Digest& d) { return !d.ranks.front().rank; };
  const auto lacking = std::find_if(digests.begin(), digests.end(), lacks_rank);
  const auto without =
      static_cast<std::size_t>(std::count_if(digests.begin(), digests.end(), lacks_rank));
  if (without == digests.size()) return false;
  constexpr const char* remedy =
      "does not know its rank, but others do; create it again with `gh-advise digest --first-rank "
      "N`, or move that report out of the folder";
  if (2 * without >= digests.size()) throw Error(fmt::format("{}: {}", lacking->path, remedy));
  leave_out(digests, left_out, [&](const Digest& d) { return lacks_rank(d) ? remedy : ""; });
  return true;
}

using DigestByRank = std::map<std::int64_t, const Digest*>;

// Why a digest cannot be this rank's; "" if it can, in which case the rank is taken.
std::string refusal(const Digest& d, std::int64_t rank, DigestByRank& taken) {
  if (d.world_size > 0 && rank >= d.world_size)
    return fmt::format(
        "is rank {}, but says that its job has {} ranks; create it again with the right "
        "--first-rank",
        rank, d.world_size);
  const auto [other, fresh] = taken.try_emplace(rank, &d);
  return fresh ? ""
               : fmt::format("is rank {}, but so is {}, which was used; give each rank once", rank,
                             other->second->path);
}

// Numbers ranks that do not know theirs. Keeps the first of duplicates.
DigestByRank take_ranks(std::vector<Digest>& digests, bool numbered,
                        std::vector<std::string>& left_out) {
  std::map<std::pair<std::string, Ns>, std::string> reports;
  if (!numbered)
    leave_out(digests, left_out, [&](const Digest& d) {
      const auto [other, fresh] = reports.try_emplace({d.report, d.epoch_ns}, d.path);
      return fresh ? ""
                   : fmt::format(
                         "is from the same report as {}, which was used; give each report once",
                         other->second);
    });
  DigestByRank taken;
  std::int64_t next = 0;
  for (Digest& d : digests)
    std::erase_if(d.ranks, [&](RankDigest& r) {
      if (!r.rank) r.rank = next++;
      const std::string why = refusal(d, *r.rank, taken);
      if (!why.empty()) left_out.push_back(fmt::format("{}: {}", d.path, why));
      return !why.empty();
    });
  return taken;
}

// What all digests of a job share.
std::pair<std::string, std::int64_t> job_of(const Digest& d) { return {d.format, d.world_size}; }

std::string unlike_job(const Digest& d, const Digest& other) {
  if (d.format != other.format) return "they come from different profilers";
  return fmt::format("one says that the job has {} ranks, the other {}", other.world_size,
                     d.world_size);
}

}  // namespace

void keep_one_job(std::vector<Digest>& digests, std::vector<std::string>& left_out) {
  std::map<std::pair<std::string, std::int64_t>, std::size_t> jobs;
  for (const Digest& d : digests) ++jobs[job_of(d)];
  const auto largest = std::max_element(
      jobs.begin(), jobs.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  if (jobs.size() > 1 && 2 * largest->second <= digests.size()) {
    const Digest& first = digests.front();
    const Digest& other = *std::find_if(digests.begin(), digests.end(), [&](const Digest& d) {
      return job_of(d) != job_of(first);
    });
    throw Error(fmt::format("{} and {} are not from the same job: {}; give the digests of one job",
                            first.path, other.path, unlike_job(other, first)));
  }
  const auto found = std::find_if(digests.begin(), digests.end(),
                                  [&](const Digest& d) { return job_of(d) == largest->first; });
  Digest member;  // what others are compared with; a copy, because digests move
  member.path = found->path;
  std::tie(member.format, member.world_size) = job_of(*found);
  leave_out(digests, left_out, [&](const Digest& d) {
    return job_of(d) == largest->first
               ? ""
               : fmt::format(
                     "is not from the same job as most others, such as {}: {}; give the digests "
                     "of one job",
                     member.path, unlike_job(d, member));
  });
}

FleetMembers number_ranks(std::vector<Digest>& digests, Fleet& fleet) {
  sort_by_name(digests);
  fleet.numbered = are_numbered(digests, fleet.left_out);
  const DigestByRank taken = take_ranks(digests, fleet.numbered, fleet.left_out);
  if (taken.empty()) throw Error(fmt::format("no rank is left: {}", fleet.left_out.front()));
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

namespace {

std::string unit_of_most(const FleetMembers& members) {
  std::map<std::string, std::size_t> ranks;
  for (const FleetMember& m : members) ++ranks[m.rank->unit];
  return std::max_element(ranks.begin(), ranks.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

void add_account(const FleetMembers& members, Fleet& fleet) {
  std::map<std::string, double> sums;
  for (const FleetMember& m : members) {
    for (const auto& [cause, share] : m.rank->account) sums[cause] += share.ns_per_step;
  }
  for (const auto& [cause, sum] : sums) fleet.causes.push_back(cause);
  fleet.unit = UnitWords(unit_of_most(members));
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

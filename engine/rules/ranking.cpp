#include "rules/ranking.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

namespace gh {
namespace {

// By finding: the first one above a note that confirms the root cause that it names; itself if none
// does.
std::vector<std::size_t> roots_of(const std::vector<Placed>& placed) {
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const std::string& named = placed[i].standing.follows_from;
    const auto root = std::find_if(placed.begin(), placed.end(), [&](const Placed& p) {
      return p.finding->rule == named && named != placed[i].finding->rule &&
             p.standing.severity != Severity::note;
    });
    const bool is_confirmed = !named.empty() && root != placed.end();
    roots.push_back(is_confirmed ? static_cast<std::size_t>(root - placed.begin()) : i);
  }
  return roots;
}

// The ultimate root cause of a finding, and how many steps away it is.
struct Ancestor {
  std::size_t finding = 0, depth = 0;
};

Ancestor origin_of(std::size_t finding, const std::vector<std::size_t>& roots) {
  Ancestor origin{finding, 0};
  for (; roots[origin.finding] != origin.finding; ++origin.depth) {
    if (origin.depth > roots.size()) return {finding, 0};  // a cycle: no root cause
    origin.finding = roots[origin.finding];
  }
  return origin;
}

using Key = std::tuple<bool, bool, double, std::string_view, std::string_view, std::string_view>;

// Findings with the smallest key come first.
Key key_of(const Placed& p, double weight) {
  const Estimated& f = *p.finding;
  return {!f.voids, p.standing.severity == Severity::note, -weight, f.rule, f.subject, f.text};
}

}  // namespace

std::vector<Placed> ranked(std::vector<Placed> placed) {
  const std::vector<std::size_t> roots = roots_of(placed);
  std::vector<Ancestor> origins;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    origins.push_back(origin_of(i, roots));
    if (origins[i].finding == i) placed[i].standing.follows_from.clear();
  }
  // A root weighs as much as its heaviest consequence. A note, which may be no loss, lends it none.
  std::vector<double> weights(placed.size());
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (origins[i].finding != i && placed[i].standing.severity == Severity::note) continue;
    double& weight = weights[origins[i].finding];
    weight = std::max(weight, placed[i].standing.recoverable_fraction);
  }
  const auto origin_key = [&](std::size_t i) {
    return key_of(placed[origins[i].finding], weights[origins[i].finding]);
  };
  const auto own_key = [&](std::size_t i) {
    return std::pair(origins[i].depth, key_of(placed[i], placed[i].standing.recoverable_fraction));
  };
  std::vector<std::size_t> order(placed.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Key x = origin_key(a), y = origin_key(b);
    return x != y ? x < y : own_key(a) < own_key(b);
  });
  std::vector<Placed> ranked;
  for (const std::size_t i : order) ranked.push_back(std::move(placed[i]));
  return ranked;
}

}  // namespace gh

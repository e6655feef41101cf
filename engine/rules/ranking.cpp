#include "rules/ranking.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

namespace gh {
namespace {

// The root cause that a finding names, if some finding above a note confirms it.
const Finding* root_of(const Finding& f, const std::vector<Finding>& findings) {
  const auto it = std::find_if(findings.begin(), findings.end(), [&](const Finding& root) {
    return root.rule == f.follows_from && root.rule != f.rule && root.severity != Severity::note;
  });
  return it == findings.end() ? nullptr : &*it;
}

// The ultimate root cause of a finding, and how many steps away it is.
struct Ancestor {
  const Finding* finding = nullptr;
  std::size_t depth = 0;
};

Ancestor origin_of(const Finding& f, const std::vector<Finding>& findings) {
  const Finding* at = &f;
  std::size_t depth = 0;
  for (; !at->follows_from.empty(); ++depth) {
    if (depth > findings.size()) return {&f, 0};  // a cycle: no root cause
    at = root_of(*at, findings);
  }
  return {at, depth};
}

using Key = std::tuple<bool, bool, double, std::string_view, std::string_view, std::string_view>;

// Findings with the smallest key come first.
Key key_of(const Finding& f, double weight) {
  return {!f.voids, f.severity == Severity::note, -weight, f.rule, f.subject, f.message};
}

}  // namespace

void rank(std::vector<Finding>& findings) {
  for (Finding& f : findings)
    if (f.follows_from.empty() || !root_of(f, findings)) f.follows_from.clear();
  std::vector<Ancestor> origins;
  for (const Finding& f : findings) origins.push_back(origin_of(f, findings));
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (origins[i].finding == &findings[i]) findings[i].follows_from.clear();

  // A root weighs as much as its heaviest consequence.
  std::vector<double> weights(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    double& weight = weights[static_cast<std::size_t>(origins[i].finding - findings.data())];
    weight = std::max(weight, findings[i].recoverable_fraction);
  }
  const auto origin_key = [&](std::size_t i) {
    const Finding& origin = *origins[i].finding;
    return key_of(origin, weights[static_cast<std::size_t>(&origin - findings.data())]);
  };
  const auto own_key = [&](std::size_t i) {
    return std::pair(origins[i].depth, key_of(findings[i], findings[i].recoverable_fraction));
  };
  std::vector<std::size_t> order(findings.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Key x = origin_key(a), y = origin_key(b);
    return x != y ? x < y : own_key(a) < own_key(b);
  });
  std::vector<Finding> ranked;
  for (const std::size_t i : order) ranked.push_back(std::move(findings[i]));
  findings = std::move(ranked);
}

}  // namespace gh

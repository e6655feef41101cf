#include "finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace gh {

const char* name_of(Severity s) { return s == Severity::error ? "error" : s == Severity::warning ? "warning" : "note"; }

Severity parse_severity(const std::string& name, const std::string& where) {
  const std::vector<std::string> names{"note", "warning", "error"};
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) throw Error(fmt::format("{}: '{}' is none of note, warning, error{}", where, printable(name), did_you_mean(name, names)));
  return static_cast<Severity>(it - names.begin());
}

std::string fingerprint(const Finding& finding) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: stable across machines and versions, which std::hash is not
  for (const char c : finding.rule + '\n' + finding.subject) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

void rank(std::vector<Finding>& findings) {
  for (Finding& f : findings)
    if (std::none_of(findings.begin(), findings.end(), [&](const Finding& root) { return root.rule == f.follows_from && root.follows_from.empty() && root.severity != Severity::note; })) f.follows_from.clear();
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    const auto key = [](const Finding& f) { return std::tuple<bool, bool, double, std::string_view, std::string_view, std::string_view>(!f.voids, f.severity == Severity::note, -f.recoverable_fraction, f.rule, f.subject, f.message); };
    return key(a) < key(b);
  });
  const auto first_follower = std::stable_partition(findings.begin(), findings.end(), [](const Finding& f) { return f.follows_from.empty(); });
  const std::vector<Finding> followers(std::make_move_iterator(first_follower), std::make_move_iterator(findings.end()));
  findings.erase(first_follower, findings.end());
  for (auto f = followers.rbegin(); f != followers.rend(); ++f)
    findings.insert(std::next(std::find_if(findings.begin(), findings.end(), [&](const Finding& root) { return root.rule == f->follows_from; })), *f);
}

const char* name_of(SuppressionState s) {
  constexpr const char* names[] = {"used", "unused", "expired", "not_checked"};
  return names[static_cast<std::size_t>(s)];
}

void suppress(Report& report, const std::vector<Suppression>& suppressions, const std::string& today) {
  for (const Suppression& s : suppressions) {
    SuppressionState state = SuppressionState::expired;
    if (s.until.empty() || today <= s.until) {
      const auto matches = [&](const Finding& f) { return f.rule == s.rule && glob_match(s.subject, f.subject); };
      const auto first = std::stable_partition(report.findings.begin(), report.findings.end(), std::not_fn(matches));
      const bool looked = std::find(report.clean.begin(), report.clean.end(), s.rule) != report.clean.end() ||
                          std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) { return f.rule == s.rule; });
      state = first != report.findings.end() ? SuppressionState::used : looked ? SuppressionState::unused : SuppressionState::not_checked;
      report.suppressed.insert(report.suppressed.end(), std::make_move_iterator(first), std::make_move_iterator(report.findings.end()));
      report.findings.erase(first, report.findings.end());
    }
    report.suppressions.emplace_back(s, state);
  }
  rank(report.findings);  // what followed from a root that is now suppressed stands for itself
}

}  // namespace gh

#include "rules/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

namespace gh {

const char* name_of(Severity s) {
  return s == Severity::error ? "error" : s == Severity::warning ? "warning" : "note";
}

Severity parse_severity(const std::string& name, const std::string& where) {
  const std::vector<std::string> names{"note", "warning", "error"};
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end())
    throw Error(fmt::format("{}: '{}' is none of note, warning, error{}", where, printable(name),
                            did_you_mean(name, names)));
  return static_cast<Severity>(it - names.begin());
}

std::string fingerprint(const Finding& finding) {
  return digest(finding.rule + '\n' + finding.subject);
}

void rank(std::vector<Finding>& findings) {
  const auto root_of = [&](const Finding& f) {
    return std::find_if(findings.begin(), findings.end(), [&](const Finding& root) {
      return root.rule == f.follows_from && root.rule != f.rule && root.severity != Severity::note;
    });
  };
  for (Finding& f : findings)
    if (f.follows_from.empty() || root_of(f) == findings.end()) f.follows_from.clear();
  // Up from what follows to what it follows from; one that comes back to itself is nobody's
  // consequence.
  const auto origin = [&](const Finding& f) {
    const Finding* at = &f;
    for (std::size_t up = 0; !at->follows_from.empty(); ++up) {
      if (up > findings.size()) return std::pair<const Finding*, std::size_t>{&f, 0};
      at = &*root_of(*at);
    }
    std::size_t depth = 0;
    for (const Finding* x = &f; x != at; x = &*root_of(*x)) ++depth;
    return std::pair<const Finding*, std::size_t>{at, depth};
  };
  std::vector<const Finding*> origins;
  std::vector<std::size_t> depths;
  for (Finding& f : findings) {
    const auto [at, depth] = origin(f);
    origins.push_back(at);
    depths.push_back(depth);
  }
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (origins[i] == &findings[i]) findings[i].follows_from.clear();
  // A root weighs as much as the heaviest of what follows from it.
  const auto weight = [&](const Finding* origin) {
    double most = 0;
    for (std::size_t i = 0; i < findings.size(); ++i)
      if (origins[i] == origin) most = std::max(most, findings[i].recoverable_fraction);
    return most;
  };
  std::vector<std::size_t> order(findings.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    using Key =
        std::tuple<bool, bool, double, std::string_view, std::string_view, std::string_view>;
    const auto key = [&](const Finding& f, double w) {
      return Key(!f.voids, f.severity == Severity::note, -w, f.rule, f.subject, f.message);
    };
    const Key a = key(*origins[x], weight(origins[x])), b = key(*origins[y], weight(origins[y]));
    if (a != b) return a < b;
    return std::pair(depths[x], key(findings[x], findings[x].recoverable_fraction)) <
           std::pair(depths[y], key(findings[y], findings[y].recoverable_fraction));
  });
  std::vector<Finding> ranked;
  for (const std::size_t i : order) ranked.push_back(findings[i]);
  findings = std::move(ranked);
}

const char* name_of(SuppressionState s) {
  constexpr const char* names[] = {"used", "unused", "expired", "not_checked"};
  return names[static_cast<std::size_t>(s)];
}

std::string suppression_note(const Suppression& s, SuppressionState state) {
  if (state == SuppressionState::expired)
    return fmt::format("{}: the suppression of {} expired after {}; fix it, or decide anew",
                       s.where, s.rule, s.until);
  if (state == SuppressionState::unused)
    return fmt::format("{}: the suppression of {} matches nothing any more; take it out", s.where,
                       s.rule);
  return "";
}

void suppress(Report& report, const std::vector<Suppression>& suppressions,
              const std::string& today) {
  for (const Suppression& s : suppressions) {
    SuppressionState state = SuppressionState::expired;
    if (s.holds(today)) {
      const auto matches = [&](const Finding& f) {
        return f.rule == s.rule && glob_match(s.subject, f.subject) &&
               (!s.up_to || static_cast<double>(f.recoverable_ns) <= *s.up_to);
      };
      const auto first = std::stable_partition(report.findings.begin(), report.findings.end(),
                                               std::not_fn(matches));
      const bool looked =
          std::find(report.clean.begin(), report.clean.end(), s.rule) != report.clean.end() ||
          std::any_of(report.findings.begin(), report.findings.end(),
                      [&](const Finding& f) { return f.rule == s.rule; });
      state = first != report.findings.end() ? SuppressionState::used
              : looked                       ? SuppressionState::unused
                                             : SuppressionState::not_checked;
      report.suppressed.insert(report.suppressed.end(), std::make_move_iterator(first),
                               std::make_move_iterator(report.findings.end()));
      report.findings.erase(first, report.findings.end());
    }
    report.suppressions.emplace_back(s, state);
  }
  if (std::any_of(report.suppressed.begin(), report.suppressed.end(),
                  [](const Finding& f) { return f.predicted.has_value(); }))
    report.plan = plan_of(report);
  rank(report.findings);  // what followed from a root that is now suppressed stands for itself
}

void predict(Finding& f, const Replay& replay, const std::string& uncertain) {
  if (f.changes.empty() || !replay.reason().empty() || replay.collectives()) return;
  replay.trim(f.changes);
  f.predicted = predicted(replay, f.changes, uncertain);
  const Ns now = replay.step_ns({});
  f.recoverable_ns = std::clamp<Ns>(now - f.predicted->step_ns, 0, now);
  f.recoverable_fraction = static_cast<double>(f.recoverable_ns) / static_cast<double>(now);
  f.about = replay.trusted();
}

void widen_by_roots(std::vector<Finding>& findings) {
  for (Finding& f : findings)
    for (const Finding& root : findings)
      if (f.predicted && root.predicted && root.rule == f.follows_from &&
          root.predicted->least_ns < f.predicted->least_ns) {
        f.predicted->least_ns = root.predicted->least_ns;
        f.predicted->why =
            fmt::format("the fix of {} may cure this as well; {}", root.rule, f.predicted->why);
      }
}

std::optional<Plan> plan_of(const Report& report) {
  if (!report.replay || !report.replay->reason().empty() || report.replay->collectives())
    return std::nullopt;
  std::vector<Candidate> candidates;
  for (const Finding& f : report.findings)
    if (f.predicted) candidates.push_back({f.rule, f.fingerprint, &f.changes});
  return make_plan(*report.replay, std::move(candidates));
}

}  // namespace gh

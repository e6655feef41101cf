// Findings of both sides: which are the same, and how each changed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"
#include "gate/comparison_passes.hpp"

namespace gh {
namespace {

// A new finding fails without a longer step only if it is worth twice the share at which its rule
// warns, of the longer step: one just above its threshold may have been just below before, and the
// same cost is a larger share of a shorter step.
constexpr double clearly = 2;

// ---- matching

// The findings of one kind over the captures of a side.
struct Held {
  const Finding* finding = nullptr;  // the one of middle cost
  std::vector<double> ns, least_ns;  // a step, of each capture that has it
};

// What its fix saves at least.
double least_ns(const Finding& f) {
  return static_cast<double>(f.predicted ? saving_range(f, f.recoverable_ns).first
                                         : f.recoverable_ns);
}
using HeldByFingerprint = std::map<std::string, Held>;

HeldByFingerprint held_findings(const std::vector<Capture>& captures) {
  std::map<std::string, std::vector<const Finding*>> by_fingerprint;
  for (const Capture& c : captures) {
    for (const Finding& f : c.findings) by_fingerprint[f.fingerprint].push_back(&f);
  }
  HeldByFingerprint held;
  for (auto& [fingerprint, list] : by_fingerprint) {
    // A finding in half of the captures or fewer comes and goes.
    if (2 * list.size() <= captures.size()) continue;
    std::sort(list.begin(), list.end(), [](const Finding* x, const Finding* y) {
      return x->recoverable_ns < y->recoverable_ns;
    });
    Held& h = held[fingerprint];
    h.finding = list[list.size() / 2];
    for (const Finding* f : list) {
      h.ns.push_back(static_cast<double>(f->recoverable_ns));
      h.least_ns.push_back(least_ns(*f));
    }
  }
  return held;
}

std::size_t captures_with(const std::vector<Capture>& captures, const std::string& fingerprint) {
  const auto has_it = [&](const Capture& c) {
    return std::any_of(c.findings.begin(), c.findings.end(),
                       [&](const Finding& f) { return f.fingerprint == fingerprint; });
  };
  return static_cast<std::size_t>(std::count_if(captures.begin(), captures.end(), has_it));
}

// Fingerprints of what was there before, by those of what is there now and the same.
std::map<std::string, std::string> partners(const HeldByFingerprint& was,
                                            const HeldByFingerprint& is) {
  std::map<std::string, std::string> partner;
  std::set<std::string> taken;
  for (const auto& [fingerprint, h] : is) {
    if (!was.contains(fingerprint)) continue;
    partner[fingerprint] = fingerprint;
    taken.insert(fingerprint);
  }
  // The subject of a finding may have another name now (another kernel leads). A finding of the
  // same rule that would be gone otherwise, and cost about as much, is the same one.
  for (const auto& [fingerprint, h] : is) {
    if (partner.contains(fingerprint)) continue;
    const double ns = median_of(h.ns);
    const auto far = [&](const Held& w) { return std::abs(median_of(w.ns) - ns); };
    auto nearest = was.end();
    for (auto w = was.begin(); w != was.end(); ++w) {
      if (!taken.contains(w->first) && w->second.finding->rule == h.finding->rule &&
          (nearest == was.end() || far(w->second) < far(nearest->second))) {
        nearest = w;
      }
    }
    if (nearest != was.end() &&
        far(nearest->second) <= std::max(ns, median_of(nearest->second.ns)) / 2) {
      partner[fingerprint] = nearest->first;
      taken.insert(nearest->first);
    }
  }
  return partner;
}

// How a finding that both sides have changed: `c` has its costs.
void compare_costs(FindingChange& c, const Held& was, const Held& is, const Sides& sides,
                   const Difference& step) {
  const GateSettings& settings = sides.settings;
  const Difference d =
      difference_of({was.ns, {}}, {is.ns, {}},
                    {.least_effect = settings.min_effect, .reference = step.before}, settings);
  const double noise_ns =
      std::max(settings.min_effect * step.before, settings.noise_floor * c.before_ns);
  const bool up = c.after_ns > c.before_ns,
             beyond_noise = d.p ? d.real : std::abs(c.after_ns - c.before_ns) > noise_ns;
  c.unproved = d.p && d.open && up;
  c.change = !beyond_noise ? FindingState::same : up ? FindingState::worse : FindingState::better;
}

FindingChange change_of(const Held* was, const Held& is, const Sides& sides,
                        const Difference& step) {
  FindingChange c;
  c.change = FindingState::fresh;
  c.finding = *is.finding;
  c.after_ns = median_of(is.ns);
  c.least_ns = median_of(is.least_ns);
  if (was) {
    c.before_ns = median_of(was->ns);
    compare_costs(c, *was, is, sides, step);
  }
  return c;
}

FindingChange gone(const Held& was) {
  FindingChange c;
  c.change = FindingState::gone;
  c.finding = *was.finding;
  c.present = false;
  c.before_ns = median_of(was.ns);
  c.least_ns = median_of(was.least_ns);
  return c;
}

// Findings that only some of the captures show, and the baseline not at all.
void add_sporadic(const Sides& sides, const HeldByFingerprint& is,
                  std::vector<FindingChange>& changes) {
  std::set<std::string> seen;
  for (const Capture& capture : sides.after) {
    for (const Finding& f : capture.findings) {
      if (is.contains(f.fingerprint) || captures_with(sides.before, f.fingerprint) > 0 ||
          !seen.insert(f.fingerprint).second) {
        continue;
      }
      FindingChange c;
      c.change = FindingState::unknown;
      c.finding = f;
      c.after_ns = static_cast<double>(f.recoverable_ns);
      c.least_ns = least_ns(f);
      changes.push_back(std::move(c));
    }
  }
}

// ---- judging

// A change, and what decides on it.
struct Case {
  FindingChange& c;
  const Sides& sides;
  const Difference& step;
  const StepTrend& trend;
  bool loud;  // from the severity on that fails
  const RuleOutcome *then, *now;
  std::size_t shown_by;  // captures of now

  // Whether so much counts whatever the step does.
  bool is_much(double ns) const {
    return now && ns >= clearly * now->warns_from * std::max(step.before, step.after);
  }
  // What may save next to nothing does not count, however much it is expected to save.
  bool is_clear(double ns) const { return ns == 0 || is_much(std::min(ns, c.least_ns)); }
  // Whether the step got longer, or may have, by more than accepted findings add.
  bool step_fails() const { return trend.longer && !trend.explained; }
  bool step_may_fail() const { return trend.perhaps_longer && !trend.explained; }
  void unknown(std::string why) const {
    c.change = FindingState::unknown;
    c.why = std::move(why);
  }
  void untold(std::string why) const {
    unknown(std::move(why));
    c.untold = loud;
  }
  std::string shown_text() const {
    return fmt::format("shown by {} of {} captures", shown_by, sides.after.size());
  }
};

std::string step_untold(const Case& k) {
  return fmt::format("the {} may have got longer: its measurements do not prove it",
                     k.sides.unit.noun);
}

void judge_worse(const Case& k) {
  if (!k.loud) return;
  k.c.fails = k.step_fails();
  if (k.step_may_fail()) {
    k.c.untold = true;
    k.c.why = step_untold(k);
  } else if (!k.trend.longer && !k.trend.perhaps_longer) {
    k.c.why = fmt::format("does not fail: the {} did not get longer", k.sides.unit.noun);
  }
}

// A finding whose cost grew in some of the captures, together with the step.
void judge_unproved(const Case& k) {
  if (k.step_fails() || k.step_may_fail()) {
    k.untold("it costs more in some of the captures, which may be noise");
  }
}

void judge_sporadic(const Case& k) {
  // One capture of many may have had bad luck.
  const bool counts = k.is_clear(k.c.after_ns) || k.step_fails() || k.step_may_fail();
  if (3 * k.shown_by >= k.sides.after.size() && counts) {
    k.untold(k.shown_text());
  } else {
    k.unknown(k.shown_text());
  }
}

void judge_fresh(const Case& k) {
  if (!k.then) return k.untold("the baseline was made without this rule");
  if (k.now && k.then->version != k.now->version) {
    return k.untold("the rule or its options changed since the baseline was made");
  }
  if (k.then->state == RuleOutcome::State::failed) {
    return k.untold("the rule failed on the baseline");
  }
  if (captures_with(k.sides.before, k.c.finding.fingerprint) > 0) {
    return k.unknown("comes and goes in the baseline's captures as well");
  }
  if (k.then->state != RuleOutcome::State::looked) {
    return k.untold("the baseline could not be checked for it: " + k.then->reason);
  }
  if (k.is_clear(k.c.after_ns) || k.step_fails()) {
    k.c.fails = k.loud;
    return;
  }
  if (k.step_may_fail()) return k.untold(step_untold(k));
  if (k.trend.shorter)
    return k.unknown("may have been there before, as a smaller share of a longer " +
                     k.sides.unit.noun);
  if (k.loud && !k.trend.longer && !k.trend.perhaps_longer) {
    k.c.why =
        fmt::format("does not fail: the {} did not get longer, and it may {}", k.sides.unit.noun,
                    !k.is_much(k.c.after_ns) ? "have been just below its threshold before"
                    : k.c.least_ns > 0 ? fmt::format("save as little as {}", duration(k.c.least_ns))
                                       : "save nothing");
  }
}

void judge_gone(const Case& k) {
  if (!k.now) return k.unknown("the rule did not run this time");
  if (k.now->state != RuleOutcome::State::looked) {
    return k.unknown("could not be checked this time: " + k.now->reason);
  }
  if (k.shown_by > 0) return k.unknown(k.shown_text());
  if ((k.trend.longer || k.trend.perhaps_longer) && !k.is_clear(k.c.before_ns)) {
    k.unknown("may still be there, as a smaller share of a longer " + k.sides.unit.noun);
  }
}

bool comes_first(const FindingChange& x, const FindingChange& y) {
  const auto key = [](const FindingChange& c) {
    return std::tuple(!c.fails, -std::abs(c.after_ns - c.before_ns),
                      c.finding.severity == Severity::note, c.finding.rule, c.finding.subject);
  };
  return key(x) < key(y);
}

}  // namespace

const char* name_of(FindingState c) {
  constexpr const char* names[] = {"new", "worse", "same", "better", "gone", "unknown", "accepted"};
  return names[static_cast<std::size_t>(c)];
}

const RuleOutcome* outcome_of(const std::vector<Capture>& captures, const std::string& rule) {
  const RuleOutcome* outcome = nullptr;
  for (const Capture& c : captures) {
    const auto it = c.rules.find(rule);
    if (it != c.rules.end() && (!outcome || it->second.state > outcome->state)) {
      outcome = &it->second;
    }
  }
  return outcome;
}

std::vector<FindingChange> matched_findings(const Sides& sides, const Difference& step) {
  const HeldByFingerprint was = held_findings(sides.before), is = held_findings(sides.after);
  const std::map<std::string, std::string> partner = partners(was, is);
  std::vector<FindingChange> changes;
  std::set<std::string> matched;  // of before
  for (const auto& [fingerprint, h] : is) {
    const auto p = partner.find(fingerprint);
    if (p != partner.end()) matched.insert(p->second);
    const Held* before = p == partner.end() ? nullptr : &was.at(p->second);
    changes.push_back(change_of(before, h, sides, step));
  }
  for (const auto& [fingerprint, h] : was) {
    if (!matched.contains(fingerprint)) changes.push_back(gone(h));
  }
  add_sporadic(sides, is, changes);
  return changes;
}

void judge_findings(std::vector<FindingChange>& changes, const Sides& sides, const Difference& step,
                    const StepTrend& trend) {
  const Severity fail_on = sides.settings.fail_on.value_or(Severity::warning);
  for (FindingChange& c : changes) {
    const Case k{c,
                 sides,
                 step,
                 trend,
                 c.finding.severity >= fail_on,
                 outcome_of(sides.before, c.finding.rule),
                 outcome_of(sides.after, c.finding.rule),
                 captures_with(sides.after, c.finding.fingerprint)};
    switch (c.change) {
      case FindingState::worse: judge_worse(k); break;
      case FindingState::fresh: judge_fresh(k); break;
      case FindingState::gone: judge_gone(k); break;
      case FindingState::unknown: judge_sporadic(k); break;
      case FindingState::same:
        if (c.unproved) judge_unproved(k);
        break;
      case FindingState::better:
      case FindingState::accepted: break;
    }
  }
  std::stable_sort(changes.begin(), changes.end(), comes_first);
}

}  // namespace gh

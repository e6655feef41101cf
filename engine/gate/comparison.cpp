#include "gate/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <variant>

namespace gh {
namespace {

// From so many measurements a side on, a rank test can reach the level of 5 %: of four against
// four, one order in 35 is as extreme.
constexpr std::size_t enough = 4;
// A finding that came in is taken for real without a longer step where it is worth twice the share
// from which its rule warns, of the longer of the steps: one just above its threshold may have been
// just below before, and what costs the same is a larger share of a step that got shorter.
constexpr double clearly = 2;
// Programs differ in a count where it differs by more than this; a step now and then with something
// extra does not.
constexpr double same_count = 0.03, same_gemms = 0.05, same_flops = 0.02;

double median_of(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double mean_of(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

// The standard deviation, from the median absolute deviation: one outlier does not widen it.
double spread(const std::vector<double>& v) {
  const double middle = median_of(v);
  std::vector<double> off;
  for (const double x : v) off.push_back(std::abs(x - middle));
  return 1.4826 * median_of(off);
}

// What was measured of a quantity on one side.
struct Sample {
  std::vector<double> captures;  // one value each
  std::vector<double> steps;     // of all captures; empty where it is not measured step by step
};

// How a quantity is compared.
struct Scale {
  double least_effect = 0;          // of the reference
  std::optional<double> reference;  // itself before, where not given
  bool means = false;               // parts of a whole are told by their means, which add up
  bool exact = false;               // counts do not vary from run to run: no noise floor
};

// A change as a share of a reference; from nothing to something, more than any limit.
double relative(double change, double reference) {
  return reference > 0 ? change / reference : change == 0 ? 0 : std::copysign(1e9, change);
}

Difference difference(const Sample& before, const Sample& after, const Scale& scale,
                      const GateSettings& settings) {
  Difference d;
  const bool by_captures = before.captures.size() >= enough && after.captures.size() >= enough;
  const bool by_steps =
      !by_captures && before.steps.size() >= enough && after.steps.size() >= enough;
  const auto& x =
      by_captures || before.steps.empty() || after.steps.empty() ? before.captures : before.steps;
  const auto& y =
      by_captures || before.steps.empty() || after.steps.empty() ? after.captures : after.steps;
  d.before = scale.means ? mean_of(x) : median_of(x);
  d.after = scale.means ? mean_of(y) : median_of(y);
  const double reference = scale.reference.value_or(std::abs(d.before)),
               change = d.after - d.before;
  d.effect = relative(change, reference);
  d.real = std::abs(d.effect) > scale.least_effect && change != 0;
  if (by_captures || by_steps) {
    d.p = mann_whitney_p(x, y);
    d.real = d.real && *d.p < settings.alpha;
    d.basis =
        fmt::format("{} {} against {}", x.size(), by_captures ? "captures" : "steps", y.size());
    const bool by_ranks = d.real;
    if (by_steps) {
      // Steps of one capture share the state of its machine, so that they are more alike than
      // captures are: the shift also has to stand out by three standard errors of a difference of
      // medians (1.2533 is what a median's is against a mean's).
      const double error =
          1.2533 * std::hypot(spread(x) / std::sqrt(static_cast<double>(x.size())),
                              spread(y) / std::sqrt(static_cast<double>(y.size())));
      d.real = d.real && std::abs(change) > 3 * error;
      if (by_ranks && !d.real) d.basis += ", less than three standard errors";
    }
  } else if (scale.exact) {
    d.basis = "counted";
  } else {
    d.real = d.real && std::abs(d.effect) > settings.noise_floor;
    d.basis = fmt::format("{} against {}, too few for a test: more than {} counts", x.size(),
                          y.size(), percent(settings.noise_floor));
  }
  return d;
}

template <class Value>
Sample sample(const std::vector<Capture>& captures, Value value_of_capture,
              const std::function<std::vector<double>(const Capture&)>& steps = {}) {
  Sample s;
  for (const Capture& c : captures) {
    s.captures.push_back(value_of_capture(c));
    if (!steps) continue;
    const std::vector<double> v = steps(c);
    s.steps.insert(s.steps.end(), v.begin(), v.end());
  }
  return s;
}

std::vector<double> doubles(const std::vector<Ns>& v) { return {v.begin(), v.end()}; }

Sample step_sample(const std::vector<Capture>& captures) {
  return sample(
      captures, [](const Capture& c) { return median_of(doubles(c.step_ns)); },
      [](const Capture& c) { return doubles(c.step_ns); });
}

std::vector<double> cause_steps(const Capture& c, const std::string& cause) {
  const auto it = c.cause_ns.find(cause);
  return it == c.cause_ns.end() ? std::vector<double>(c.step_ns.size(), 0.0) : doubles(it->second);
}

Sample cause_sample(const std::vector<Capture>& captures, const std::string& cause) {
  return sample(
      captures, [&](const Capture& c) { return mean_of(cause_steps(c, cause)); },
      [&](const Capture& c) { return cause_steps(c, cause); });
}

// A fact step by step, where the capture holds it so.
std::vector<double> fact_steps(const Capture& c, const std::string& fact) {
  if (fact == "step.median_ns" || fact == "step.mean_ns") return doubles(c.step_ns);
  std::vector<double> shares;
  const auto share = [&](const std::vector<double>& ns) {
    for (std::size_t i = 0; i < ns.size(); ++i)
      shares.push_back(c.step_ns[i] > 0 ? ns[i] / static_cast<double>(c.step_ns[i]) : 0);
    return shares;
  };
  if (fact == "gpu.busy_fraction") {
    std::vector<double> busy = doubles(c.step_ns);
    for (const auto& [cause, ns] : c.cause_ns)
      if (cause.starts_with("idle."))
        for (std::size_t i = 0; i < ns.size(); ++i) busy[i] -= static_cast<double>(ns[i]);
    return share(busy);
  }
  constexpr std::string_view head = "account.";
  if (!fact.starts_with(head)) return {};
  if (fact.ends_with("_ns"))
    return cause_steps(c, fact.substr(head.size(), fact.size() - head.size() - 3));
  if (fact.ends_with("_fraction"))
    return share(cause_steps(c, fact.substr(head.size(), fact.size() - head.size() - 9)));
  return {};
}

// A difference of a fact, or why there is none.
std::variant<Difference, std::string> fact_difference(const std::vector<Capture>& before,
                                                      const std::vector<Capture>& after,
                                                      const std::string& fact, double least_effect,
                                                      double step_before,
                                                      const GateSettings& settings) {
  Unit unit = Unit::count;
  for (const auto& [side, said] : {std::pair(&after, ""), {&before, "in the baseline "}})
    for (const Capture& c : *side) {
      const auto it = c.facts.find(fact);
      if (it == c.facts.end())
        return fmt::format("{} is unknown {}", fact, *said ? "in the baseline" : "here");
      if (!it->second.value)
        return fmt::format("{} is unknown {}({})", fact, said, it->second.unknown);
      unit = it->second.unit;
    }
  const auto of = [&](const std::vector<Capture>& side) {
    return sample(
        side, [&](const Capture& c) { return *c.facts.at(fact).value; },
        [&](const Capture& c) { return fact_steps(c, fact); });
  };
  const Sample x = of(before), y = of(after);
  // What the program itself decides does not vary from run to run.
  const bool exact = fact == "kernels.per_step" || fact == "gemm.flops_per_step" ||
                     (fact.starts_with("copies.") && fact.ends_with("_bytes_per_step"));
  Scale scale{least_effect, std::nullopt, fact.starts_with("account."), exact};
  // A share of next to nothing doubles without meaning anything: changes of parts of a step are
  // relative to at least the minimum effect of it.
  if (fact.starts_with("account."))
    scale.reference = std::max(std::abs(mean_of(x.captures)),
                               settings.min_effect * (unit == Unit::ns ? step_before : 1));
  Difference d = difference(x, y, scale, settings);
  // Steps tell whether it changed; by how much is told by the fact itself, which is not always
  // their median.
  d.before = median_of(x.captures);
  d.after = median_of(y.captures);
  d.effect = relative(d.after - d.before, scale.reference.value_or(std::abs(d.before)));
  return d;
}

// "2 x NVIDIA H200, 132 SMs"
std::string gpus_text(const std::vector<std::string>& devices) {
  std::string text;
  for (auto it = devices.begin(); it != devices.end();) {
    const auto next = std::upper_bound(it, devices.end(), *it);
    text += fmt::format("{}{}{}", text.empty() ? "" : " and ",
                        next - it > 1 ? fmt::format("{} x ", next - it) : "", *it);
    it = next;
  }
  return text;
}

bool differ(double a, double b, double tolerance) {
  return std::abs(a - b) > tolerance * std::max(std::abs(a), std::abs(b));
}

std::string count_text(double n) {
  return std::abs(n - std::round(n)) < 0.05 ? fmt::format("{:.0f}", n) : fmt::format("{:.1f}", n);
}

// Whether the kernels that two programs share were launched over other grids: of the loss, or of
// GEMMs and attention. Another precision takes other kernels; where they share less than a quarter,
// grids tell nothing.
std::optional<bool> grids_differ(const std::vector<Grid>& a, const std::vector<Grid>& b,
                                 bool loss) {
  struct Use {
    double count_a = 0, count_b = 0, blocks_a = 0, blocks_b = 0;
  };
  std::map<std::string, Use> uses;
  std::map<std::pair<std::string, std::int64_t>, Use> grids;
  double all = 0, odd = 0;
  for (const auto* side : {&a, &b})
    for (const Grid& g : *side) {
      if ((g.kernel_class == "softmax_loss") != loss) continue;
      Use &use = uses[g.kernel], &grid = grids[{g.kernel, g.blocks}];
      (side == &a ? use.count_a : use.count_b) += g.count_per_step;
      (side == &a ? grid.count_a : grid.count_b) += g.count_per_step;
      (side == &a ? use.blocks_a : use.blocks_b) +=
          g.count_per_step * static_cast<double>(g.blocks);
      all += side == &a ? g.count_per_step : 0;
      odd +=
          std::abs(g.count_per_step - std::round(g.count_per_step)) > 0.01 ? g.count_per_step : 0;
    }
  double common = 0, matched = 0, changed = 0;
  for (const auto& [kernel, use] : uses) {
    const double both = std::min(use.count_a, use.count_b);
    common += both;
    if (both > 0 && differ(use.blocks_a / use.count_a, use.blocks_b / use.count_b, 0.2))
      changed += both;
  }
  for (const auto& [grid, use] : grids) matched += std::min(use.count_a, use.count_b);
  if (all == 0 || common < 0.25 * all) return std::nullopt;
  // Where shapes change from step to step (sequences of any length), only their mean tells.
  return odd > 0.25 * all ? changed > 0.5 * common : matched < 0.75 * common;
}

// Why two captures are not of one program, or "".
std::string other_program(const Program& a, const Program& b) {
  if (a.shown != b.shown)
    return "the kernels inside CUDA graphs show in only one of the two; record both with "
           "--cuda-graph-trace=node";
  if (differ(a.graphs, b.graphs, same_count))
    return fmt::format("another program: {} CUDA graphs a step where the baseline has {}",
                       count_text(b.graphs), count_text(a.graphs));
  if (!a.shown)
    return differ(a.kernels, b.kernels, same_gemms)
               ? fmt::format(
                     "another program: {} kernels a step outside of CUDA graphs where the baseline "
                     "has {}",
                     count_text(b.kernels), count_text(a.kernels))
               : "";
  if (differ(a.attention_blocks, b.attention_blocks, same_count))
    return fmt::format("another program: {} attention blocks a step where the baseline has {}",
                       count_text(b.attention_blocks), count_text(a.attention_blocks));
  // Attention that is written out takes two GEMMs forward and four backward, three a block, which
  // are none where it is fused.
  const double gemms_a = a.gemms - 3 * a.written_out_blocks,
               gemms_b = b.gemms - 3 * b.written_out_blocks;
  // Convolutions are GEMMs of as many kernels as their algorithm takes; the loss's grids then vouch
  // for the program.
  const bool convolutions =
      a.attention_blocks == 0 && grids_differ(a.grids, b.grids, true) == false;
  if (differ(gemms_a, gemms_b, convolutions ? 0.4 : same_gemms))
    return fmt::format(
        "another program: {} GEMMs a step, attention aside, where the baseline has {}",
        count_text(gemms_b), count_text(gemms_a));
  if (a.flops && b.flops && differ(*a.flops, *b.flops, same_flops))
    return fmt::format(
        "another program: {:.3g} operations a step in GEMMs and attention where the baseline has "
        "{:.3g}",
        *b.flops, *a.flops);
  if (grids_differ(a.grids, b.grids, false).value_or(false))
    return "another program: the GEMMs and attention kernels that both run have other grids, so "
           "shapes differ (batch, sequence or model)";
  if (grids_differ(a.grids, b.grids, true).value_or(false))
    return "another program: the loss is computed over other grids, so it has another number of "
           "tokens or samples";
  return "";
}

// The findings of one kind over the captures of a side.
struct Held {
  const Finding* finding = nullptr;  // the one of middle cost
  std::vector<double> ns;            // a step, of each capture that has it
};

std::map<std::string, Held> held_findings(const std::vector<Capture>& captures) {
  std::map<std::string, std::vector<const Finding*>> by_fingerprint;
  for (const Capture& c : captures)
    for (const Finding& f : c.findings) by_fingerprint[f.fingerprint].push_back(&f);
  std::map<std::string, Held> held;
  for (auto& [fingerprint, list] : by_fingerprint) {
    if (2 * list.size() <= captures.size())
      continue;  // in half of them or fewer, it comes and goes
    std::sort(list.begin(), list.end(), [](const Finding* x, const Finding* y) {
      return x->recoverable_ns < y->recoverable_ns;
    });
    Held& h = held[fingerprint];
    h.finding = list[list.size() / 2];
    for (const Finding* f : list) h.ns.push_back(static_cast<double>(f->recoverable_ns));
  }
  return held;
}

// What a rule did on a side, at its worst over the captures; nothing where it was not among the
// rules.
const RuleOutcome* outcome_of(const std::vector<Capture>& captures, const std::string& rule) {
  const RuleOutcome* outcome = nullptr;
  for (const Capture& c : captures) {
    const auto it = c.rules.find(rule);
    if (it != c.rules.end() && (!outcome || it->second.state > outcome->state))
      outcome = &it->second;
  }
  return outcome;
}

std::string side_text(const std::vector<Capture>& captures) {
  return captures.size() == 1
             ? captures.front().path
             : fmt::format("{} captures, {} and on", captures.size(), captures.front().path);
}

std::size_t captures_with(const std::vector<Capture>& captures, const std::string& fingerprint) {
  return static_cast<std::size_t>(
      std::count_if(captures.begin(), captures.end(), [&](const Capture& c) {
        return std::any_of(c.findings.begin(), c.findings.end(),
                           [&](const Finding& f) { return f.fingerprint == fingerprint; });
      }));
}

// The findings of both sides with what each costs, matched; nothing is judged yet.
std::vector<FindingChange> matched_findings(const std::vector<Capture>& before,
                                            const std::vector<Capture>& after,
                                            const GateSettings& settings, const Difference& step) {
  const std::map<std::string, Held> was = held_findings(before), is = held_findings(after);
  std::map<std::string, std::string> partner;  // by fingerprint of now
  std::set<std::string> taken;
  for (const auto& [fingerprint, h] : is)
    if (was.contains(fingerprint)) {
      partner[fingerprint] = fingerprint;
      taken.insert(fingerprint);
    }
  // What a finding is about may be named otherwise now (another kernel leads): the same rule's that
  // is otherwise gone, and cost about as much, is the same.
  for (const auto& [fingerprint, h] : is) {
    if (partner.contains(fingerprint)) continue;
    const double ns = median_of(h.ns);
    const auto far = [&](const Held& w) { return std::abs(median_of(w.ns) - ns); };
    auto nearest = was.end();
    for (auto w = was.begin(); w != was.end(); ++w)
      if (!taken.contains(w->first) && w->second.finding->rule == h.finding->rule &&
          (nearest == was.end() || far(w->second) < far(nearest->second)))
        nearest = w;
    if (nearest != was.end() &&
        far(nearest->second) <= std::max(ns, median_of(nearest->second.ns)) / 2) {
      partner[fingerprint] = nearest->first;
      taken.insert(nearest->first);
    }
  }
  std::vector<FindingChange> changes;
  for (const auto& [fingerprint, h] : is) {
    FindingChange c;
    c.change = FindingState::fresh;
    c.finding = *h.finding;
    c.after_ns = median_of(h.ns);
    if (const auto p = partner.find(fingerprint); p != partner.end()) {
      const Held& w = was.at(p->second);
      c.before_ns = median_of(w.ns);
      const Difference d = difference({w.ns, {}}, {h.ns, {}},
                                      {settings.min_effect, step.before, false, false}, settings);
      const bool beyond_noise =
          d.p ? d.real
              : std::abs(c.after_ns - c.before_ns) >
                    std::max(settings.min_effect * step.before, settings.noise_floor * c.before_ns);
      c.change = !beyond_noise              ? FindingState::same
                 : c.after_ns > c.before_ns ? FindingState::worse
                                            : FindingState::better;
    }
    changes.push_back(std::move(c));
  }
  for (const auto& [fingerprint, w] : was) {
    if (taken.contains(fingerprint)) continue;
    FindingChange c;
    c.change = FindingState::gone;
    c.finding = *w.finding;
    c.present = false;
    c.before_ns = median_of(w.ns);
    changes.push_back(std::move(c));
  }
  // What only some of the captures show, and the baseline nowhere.
  std::set<std::string> seen;
  for (const Capture& capture : after)
    for (const Finding& f : capture.findings) {
      if (is.contains(f.fingerprint) || captures_with(before, f.fingerprint) > 0 ||
          !seen.insert(f.fingerprint).second)
        continue;
      FindingChange c;
      c.change = FindingState::unknown;
      c.finding = f;
      c.after_ns = static_cast<double>(f.recoverable_ns);
      changes.push_back(std::move(c));
    }
  return changes;
}

// Judges what came in, got worse or went. `longer` and `shorter`: whether the step did;
// `explained`: what is suppressed made it so.
void judge_findings(std::vector<FindingChange>& changes, const std::vector<Capture>& before,
                    const std::vector<Capture>& after, const GateSettings& settings,
                    const Difference& step, bool longer, bool explained, bool shorter) {
  const auto clear = [&](double ns, const RuleOutcome* rule) {
    return ns == 0 ||
           (rule && ns >= clearly * rule->warns_from * std::max(step.before, step.after));
  };
  for (FindingChange& c : changes) {
    const bool loud = c.finding.severity >= settings.fail_on.value_or(Severity::warning);
    const RuleOutcome *then = outcome_of(before, c.finding.rule),
                      *now = outcome_of(after, c.finding.rule);
    const auto unknown = [&](std::string why) {
      c.change = FindingState::unknown;
      c.why = std::move(why);
    };
    const auto untold = [&](std::string why) {
      unknown(std::move(why));
      c.untold = loud;
    };
    const std::size_t shown_by = captures_with(after, c.finding.fingerprint);
    if (c.change == FindingState::worse && loud) {
      c.fails = longer && !explained;
      if (!longer) c.why = "does not fail, since the step did not get longer";
    } else if (c.change == FindingState::unknown) {
      const std::string why = fmt::format("shown by {} of {} captures", shown_by, after.size());
      // One capture of many may have had bad luck.
      if (3 * shown_by >= after.size() && clear(c.after_ns, now))
        untold(why);
      else
        unknown(why);
    } else if (c.change == FindingState::fresh) {
      if (!then)
        untold("the baseline was made without this rule");
      else if (now && then->version != now->version)
        untold("the rule or its options changed since the baseline was made");
      else if (then->state == RuleOutcome::State::failed)
        untold("the rule failed on the baseline");
      else if (captures_with(before, c.finding.fingerprint) > 0)
        unknown("comes and goes in the captures of the baseline as well");
      else if (then->state != RuleOutcome::State::looked)
        untold("the baseline could not be checked for it: " + then->reason);
      else if (clear(c.after_ns, now) || (longer && !explained))
        c.fails = loud;
      else if (shorter)
        unknown("may have been there, a smaller share of a longer step");
      else if (loud && !longer)
        c.why =
            "does not fail: the step did not get longer, and it is so close to its threshold that "
            "it may have been just below";
    } else if (c.change == FindingState::gone) {
      if (!now)
        unknown("the rule was not asked this time");
      else if (now->state != RuleOutcome::State::looked)
        unknown("could not be checked this time: " + now->reason);
      else if (shown_by > 0)
        unknown(fmt::format("shown by {} of {} captures", shown_by, after.size()));
      else if (longer && !clear(c.before_ns, now))
        unknown("may still be there, a smaller share of a longer step");
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const FindingChange& x, const FindingChange& y) {
                     const auto key = [](const FindingChange& c) {
                       return std::tuple(!c.fails, -std::abs(c.after_ns - c.before_ns),
                                         c.finding.severity == Severity::note, c.finding.rule,
                                         c.finding.subject);
                     };
                     return key(x) < key(y);
                   });
}

std::vector<CauseChange> account_changes(const std::vector<Capture>& before,
                                         const std::vector<Capture>& after,
                                         const GateSettings& settings, const Difference& step) {
  std::set<std::string> causes;
  for (const auto* side : {&before, &after})
    for (const Capture& c : *side)
      for (const auto& [cause, ns] : c.cause_ns) causes.insert(cause);
  std::vector<CauseChange> changes;
  for (const std::string& cause : causes)
    changes.push_back(
        {cause, difference(cause_sample(before, cause), cause_sample(after, cause),
                           {settings.min_effect, step.before, true, false}, settings)});
  std::stable_sort(changes.begin(), changes.end(), [](const CauseChange& x, const CauseChange& y) {
    return std::abs(x.ns.after - x.ns.before) > std::abs(y.ns.after - y.ns.before);
  });
  return changes;
}

std::vector<KernelChange> kernel_changes(const std::vector<Capture>& before,
                                         const std::vector<Capture>& after) {
  std::map<std::string, KernelChange> by_name;
  for (const auto* side : {&before, &after})
    for (const Capture& c : *side)
      for (const KernelUse& k : c.kernels) {
        KernelChange& change = by_name[k.name];
        change.name = k.name;
        change.kernel_class = k.kernel_class;
        const double captures = static_cast<double>(side->size());
        (side == &before ? change.count_before : change.count_after) += k.count_per_step / captures;
        (side == &before ? change.ns_before : change.ns_after) += k.ns_per_step / captures;
      }
  std::vector<KernelChange> changes;
  for (auto& [name, change] : by_name) changes.push_back(std::move(change));
  std::stable_sort(changes.begin(), changes.end(),
                   [](const KernelChange& x, const KernelChange& y) {
                     return std::abs(x.ns_after - x.ns_before) > std::abs(y.ns_after - y.ns_before);
                   });
  return changes;
}

std::vector<FactChange> fact_changes(const std::vector<Capture>& before,
                                     const std::vector<Capture>& after,
                                     const GateSettings& settings, const Difference& step) {
  std::vector<FactChange> changes;
  for (const auto& [name, fact] : after.front().facts) {
    if (name.starts_with("account.") || name.starts_with("step") || name.starts_with("device.") ||
        name.starts_with("capture."))
      continue;  // told elsewhere, or not the program's
    const auto d = fact_difference(before, after, name, settings.min_effect, step.before, settings);
    if (const Difference* real = std::get_if<Difference>(&d); real && real->real)
      changes.push_back({name, fact.unit, *real});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const FactChange& x, const FactChange& y) {
    return std::abs(x.value.effect) > std::abs(y.value.effect);
  });
  return changes;
}

BudgetResult judge(const Budget& budget, const std::vector<Capture>& before,
                   const std::vector<Capture>& after, const GateSettings& settings,
                   const Difference& step) {
  BudgetResult r;
  r.budget = budget;
  const auto known = after.front().facts.find(budget.fact);
  if (known == after.front().facts.end()) {
    std::vector<std::string> names;
    for (const auto& [name, fact] : after.front().facts) names.push_back(name);
    throw Error(
        fmt::format("{}: there is no fact '{}' with a number{}; `gh-advise facts` lists them",
                    budget.where, budget.fact, did_you_mean(budget.fact, names)));
  }
  r.unit = known->second.unit;
  const auto text = [&](double v) { return shown(v, r.unit); };
  const auto breaks = [&](const std::string& message) {
    r.state = BudgetResult::State::broken;
    r.message = message;
  };
  // Absolute limits need no baseline; relative ones need both sides.
  const bool relative = budget.max_increase || budget.max_decrease;
  const auto here = fact_difference(after, after, budget.fact, 0, step.before, settings);
  const auto change =
      relative ? fact_difference(before, after, budget.fact, 0, step.before, settings) : here;
  if (const std::string* why = std::get_if<std::string>(&change)) {
    r.state = BudgetResult::State::unknown;
    r.message = *why;
  }
  if (const Difference* d = std::get_if<Difference>(&here)) {
    r.value = *d;
    if (r.state == BudgetResult::State::kept)
      r.message = fmt::format("{} is {}", budget.fact, text(d->after));
    if (budget.max && d->after > *budget.max)
      breaks(fmt::format("{} is {}; the budget is at most {}", budget.fact, text(d->after),
                         text(*budget.max)));
    if (budget.min && d->after < *budget.min)
      breaks(fmt::format("{} is {}; the budget is at least {}", budget.fact, text(d->after),
                         text(*budget.min)));
  }
  if (const Difference* d = std::get_if<Difference>(&change); d && relative) {
    r.value = *d;
    if (r.state == BudgetResult::State::kept)
      r.message += fmt::format(", before {}", text(d->before));
    // The change has to exceed the limit, and to be real.
    for (const auto& [limit, sign] :
         {std::pair(budget.max_increase, 1.0), {budget.max_decrease, -1.0}}) {
      if (!limit || sign * d->effect <= *limit) continue;
      const char* more = sign > 0 ? "more" : "less";
      if (d->real && budget.where.empty())
        breaks(fmt::format("the step takes {} instead of {} ({}, {}); more than {} fails",
                           text(d->after), text(d->before), change_text(d->effect), basis_text(*d),
                           percent(*limit)));
      else if (d->real)
        breaks(fmt::format("{} is {} instead of {} ({}); the budget is at most {} {} ({})",
                           budget.fact, text(d->after), text(d->before), change_text(d->effect),
                           percent(*limit), more, basis_text(*d)));
      else if (r.state == BudgetResult::State::kept)
        r.message += fmt::format(" ({}), which is no more than noise ({})", change_text(d->effect),
                                 basis_text(*d));
    }
  }
  r.fails = r.state == BudgetResult::State::broken &&
            budget.severity >= settings.fail_on.value_or(Severity::warning);
  return r;
}

// "the step takes 49.7 ms instead of 47.4 ms (+5.0 %)"
std::string step_text(const Comparison& c, const GateSettings& settings) {
  const std::string now = duration(c.step.after), then = duration(c.step.before),
                    change = change_text(c.step.effect);
  if (c.step.effect == 0) return fmt::format("the step takes {}, as before", now);
  if (c.step.real) return fmt::format("the step takes {} instead of {} ({})", now, then, change);
  if (std::abs(c.step.effect) <= settings.min_effect)
    return fmt::format("the step takes {}, before {} ({}, too little to count)", now, then, change);
  return fmt::format("the step takes {}, before {} ({}, which may be noise)", now, then, change);
}

std::string headline(const Comparison& c, const GateSettings& settings) {
  const std::string step = step_text(c, settings);
  const auto rules = [&](auto wanted) {
    std::vector<std::string> names;
    for (const FindingChange& f : c.findings)
      if (wanted(f) && std::find(names.begin(), names.end(), f.finding.rule) == names.end())
        names.push_back(f.finding.rule);
    return names;
  };
  const auto loud = [](const FindingChange& f) { return f.finding.severity != Severity::note; };
  std::string text;
  if (c.verdict == Verdict::cannot_tell)
    return fmt::format("Cannot tell: {}.", c.incomparable.front());
  const auto part = [&](const std::vector<std::string>& names, const char* one, const char* many) {
    if (!names.empty())
      text += fmt::format("{} {}; ", fmt::join(names, ", "), names.size() == 1 ? one : many);
  };
  if (c.verdict == Verdict::regressed) {
    part(rules([](const FindingChange& f) { return f.fails && f.change == FindingState::fresh; }),
         "came in", "came in");
    part(rules([](const FindingChange& f) { return f.fails && f.change == FindingState::worse; }),
         "got worse", "got worse");
    std::set<std::string> broken;  // several budgets may name one fact
    for (const BudgetResult& b : c.budgets)
      if (b.fails && !b.budget.where.empty() && broken.insert(b.budget.fact).second)
        text += fmt::format("{} breaks its budget; ", b.budget.fact);
    return fmt::format("Regressed: {}{}.", text, step);
  }
  part(rules([&](const FindingChange& f) { return loud(f) && f.change == FindingState::gone; }),
       "is gone", "are gone");
  part(rules([&](const FindingChange& f) { return loud(f) && f.change == FindingState::better; }),
       "got better", "got better");
  std::vector<std::string> accepted =
      rules([](const FindingChange& f) { return f.change == FindingState::accepted; });
  for (const BudgetResult& b : c.budgets)
    if (b.state == BudgetResult::State::accepted)
      accepted.push_back(b.budget.where.empty() ? "the longer step" : b.budget.fact);
  part(accepted, "is accepted", "are accepted");
  return fmt::format("Passes: {}{}.", text, step);
}

}  // namespace

std::string change_text(double effect) {
  return fmt::format("{}{:.{}f} %", effect < 0 ? "-" : "+", std::abs(effect) * 100,
                     std::abs(effect) < 0.0995 ? 1 : 0);
}

std::string basis_text(const Difference& d) {
  return d.p ? fmt::format("{}, p = {:.2g}", d.basis, *d.p) : d.basis;
}

double mann_whitney_p(const std::vector<double>& x, const std::vector<double>& y) {
  const std::size_t n = x.size(), m = y.size();
  if (n == 0 || m == 0) return 1;
  std::vector<std::pair<double, bool>> all;  // value, whether of x
  for (const double v : x) all.emplace_back(v, true);
  for (const double v : y) all.emplace_back(v, false);
  std::sort(all.begin(), all.end());
  double ranks = 0, ties = 0;  // of x
  for (std::size_t i = 0; i < all.size();) {
    std::size_t j = i;
    while (j < all.size() && all[j].first == all[i].first) ++j;
    const double t = static_cast<double>(j - i), rank = static_cast<double>(i + j + 1) / 2;
    ties += t * t * t - t;
    for (; i < j; ++i) ranks += all[i].second ? rank : 0;
  }
  const double a = static_cast<double>(n), b = static_cast<double>(m), u = ranks - a * (a + 1) / 2,
               middle = a * b / 2;
  if (ties == 0 && n <= 20 && m <= 20) {
    // ways[k][u]: in how many ways k values of x, put among those of y so far, come to the
    // statistic u.
    std::vector<std::vector<double>> ways(n + 1, std::vector<double>(n * m + 1, 0.0));
    ways[0][0] = 1;
    for (std::size_t place = 1; place <= n + m; ++place)
      for (std::size_t k = std::min(place, n); k >= 1; --k) {
        if (place - k > m) break;  // more of y below than there are
        const std::size_t below = place - k;
        for (std::size_t v = n * m + 1; v-- > below;) ways[k][v] += ways[k - 1][v - below];
      }
    double extreme = 0, total = 0;
    for (std::size_t v = 0; v <= n * m; ++v) {
      total += ways[n][v];
      if (std::abs(static_cast<double>(v) - middle) >= std::abs(u - middle) - 1e-9)
        extreme += ways[n][v];
    }
    return std::min(1.0, extreme / total);
  }
  const double all_n = a + b, variance = a * b / 12 * (all_n + 1 - ties / (all_n * (all_n - 1)));
  if (variance <= 0) return 1;  // all values are the same
  return std::min(1.0,
                  std::erfc(std::max(0.0, std::abs(u - middle) - 0.5) / std::sqrt(2 * variance)));
}

const char* name_of(Verdict v) {
  constexpr const char* names[] = {"passes", "regressed", "cannot_tell"};
  return names[static_cast<std::size_t>(v)];
}

const char* name_of(BudgetResult::State s) {
  constexpr const char* names[] = {"kept", "broken", "unknown", "accepted"};
  return names[static_cast<std::size_t>(s)];
}

const char* name_of(FindingState c) {
  constexpr const char* names[] = {"new", "worse", "same", "better", "gone", "unknown", "accepted"};
  return names[static_cast<std::size_t>(c)];
}

std::vector<std::string> incomparable(const std::vector<Capture>& before,
                                      const std::vector<Capture>& after) {
  std::vector<std::string> reasons;
  const auto add = [&](std::string reason) {
    if (!reason.empty() && std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(std::move(reason));
  };
  const auto state = [](const Capture& c, Source source) {
    const auto it = c.sources.find(name_of(source));
    return it == c.sources.end() ? Collected::unknown : it->second;
  };
  for (const auto* side : {&before, &after})
    for (const Capture& c : *side) {
      const Collected kernels = state(c, Source::kernels);
      if (c.step_ns.empty())
        add(fmt::format("{} holds no GPU work; record it again", c.path));
      else if (kernels != Collected::yes && kernels != Collected::nothing_happened)
        add(fmt::format("{} holds no kernels; record it again with --trace=cuda", c.path));
      else if (!c.has_steps)
        add(fmt::format(
            "{} shows no training steps, and a whole recording is as long as it was recorded; mark "
            "them with ranges ([ranges] step), or choose a part with --range",
            c.path));
      // What is wrong with a recording is not the merge's doing.
      for (const Finding& f : c.findings)
        if (f.voids || (f.category == "capture" && f.severity != Severity::note))
          add(fmt::format("{} is in doubt: {}", c.path, f.message));
    }
  if (!reasons.empty()) return reasons;
  const Capture& first = before.front();
  for (const auto* side : {&before, &after})
    for (const Capture& c : *side) {
      if (&c == &first) continue;
      if (c.devices != first.devices)
        add(fmt::format("other GPUs: {} where the baseline has {}", gpus_text(c.devices),
                        gpus_text(first.devices)));
      if (c.format != first.format)
        add(fmt::format(
            "another profiler: {} where the baseline has {}; each slows a program in its own way",
            c.producer, first.producer));
      if (c.selection != first.selection)
        add(fmt::format("another part of the report: {} where the baseline has {}",
                        c.selection.empty() ? "all of it" : c.selection,
                        first.selection.empty() ? "all of it" : first.selection));
      // Every training run makes calls and waits, and marks what it always marks; without them
      // causes and steps are told otherwise.
      for (const Source source : {Source::calls, Source::ranges, Source::os_calls}) {
        const bool here = state(c, source) == Collected::yes,
                   there = state(first, source) == Collected::yes;
        if (here != there)
          add(fmt::format("{} holds no {}, {} does; record both alike", here ? first.path : c.path,
                          name_of(source), here ? c.path : first.path));
      }
      add(other_program(first.program, c.program));
    }
  return reasons;
}

Finding finding_of(const BudgetResult& b) {
  Finding f;
  f.rule = "budget";
  f.category = "gate";
  f.subject = b.budget.fact;
  f.severity = b.budget.severity;
  f.message = b.message + '.';
  f.title = b.budget.where.empty() ? "The step became longer"
                                   : fmt::format("{} breaks its budget", b.budget.fact);
  if (!b.budget.where.empty())
    f.message += fmt::format(" The budget is set in {}.", b.budget.where);
  f.advice = {"Run `gh-advise diff` on both reports: it shows where the time went."};
  f.fingerprint = fingerprint(f);
  return f;
}

Comparison compare(const std::vector<Capture>& before, const std::vector<Capture>& after,
                   const GateSettings& settings, const std::vector<Suppression>& suppressions,
                   const std::string& today) {
  Comparison c;
  c.before = side_text(before);
  c.after = side_text(after);
  c.incomparable = incomparable(before, after);
  const bool comparable = c.incomparable.empty();
  c.step = difference(step_sample(before), step_sample(after),
                      {settings.min_effect, std::nullopt, false, false}, settings);
  c.account = account_changes(before, after, settings, c.step);
  c.kernels = kernel_changes(before, after);
  c.findings = matched_findings(before, after, settings, c.step);
  c.facts = fact_changes(before, after, settings, c.step);

  // What costs more than was accepted is not what was accepted.
  const auto suppressed = [&](const std::string& rule, const std::string& subject, double cost) {
    return std::any_of(suppressions.begin(), suppressions.end(), [&](const Suppression& s) {
      return s.holds(today) && s.rule == rule && glob_match(s.subject, subject) &&
             (!s.up_to || cost <= *s.up_to);
    });
  };
  double accepted_ns = 0;  // what is accepted adds to the step
  for (FindingChange& f : c.findings)
    if (f.present && f.change != FindingState::better &&
        suppressed(f.finding.rule, f.finding.subject, f.after_ns)) {
      accepted_ns += std::max(0.0, f.after_ns - f.before_ns);
      f.change = FindingState::accepted;
    }
  const bool longer = c.step.real && c.step.effect > 0;
  // What a fix is worth leaves out what the profiler added, and is right within a tenth or so.
  const bool explained =
      longer && accepted_ns > 0 &&
      c.step.after - 1.1 * accepted_ns <= c.step.before * (1 + settings.min_effect);
  judge_findings(c.findings, before, after, settings, c.step, longer, explained,
                 c.step.real && c.step.effect < 0);

  std::vector<Budget> budgets = settings.budgets;
  if (std::none_of(budgets.begin(), budgets.end(),
                   [](const Budget& b) { return b.fact == "step.median_ns" && b.max_increase; })) {
    Budget own;
    own.fact = "step.median_ns";
    own.max_increase = settings.min_effect;
    budgets.insert(budgets.begin(), own);
  }
  for (const Budget& budget : budgets) {
    BudgetResult r = judge(budget, before, after, settings, c.step);
    if (r.state == BudgetResult::State::broken) {
      const bool by_accepted = explained && budget.where.empty();
      if (by_accepted)
        r.message += "; what was accepted explains it";
      else if (budget.where.empty() && accepted_ns > 0)
        r.message += fmt::format("; {} of it is accepted", duration(accepted_ns));
      if (by_accepted || suppressed("budget", budget.fact, r.value.after)) {
        r.state = BudgetResult::State::accepted;
        r.fails = false;
      }
    }
    c.budgets.push_back(std::move(r));
  }

  for (const Suppression& s : suppressions) {
    SuppressionState state = SuppressionState::expired;
    if (s.holds(today)) {
      const auto subject_fits = [&](const Finding& f) {
        return f.rule == s.rule && glob_match(s.subject, f.subject);
      };
      const bool used =
          std::any_of(c.findings.begin(), c.findings.end(),
                      [&](const FindingChange& f) {
                        return f.change == FindingState::accepted && subject_fits(f.finding);
                      }) ||
          std::any_of(c.budgets.begin(), c.budgets.end(), [&](const BudgetResult& b) {
            return b.state == BudgetResult::State::accepted && subject_fits(finding_of(b));
          });
      const RuleOutcome* outcome = outcome_of(after, s.rule);
      const bool looked =
          s.rule == "budget" || (outcome && outcome->state == RuleOutcome::State::looked);
      state = used     ? SuppressionState::used
              : looked ? SuppressionState::unused
                       : SuppressionState::not_checked;
    }
    c.suppressions.emplace_back(s, state);
  }

  for (const FindingChange& f : c.findings)
    if (f.fails)
      c.reasons.push_back(fmt::format(
          "{} {}: {} ({})", f.finding.rule,
          f.change == FindingState::fresh ? "came in" : "got worse", f.finding.title,
          f.change == FindingState::fresh
              ? fmt::format("worth {} {} a step", f.finding.about ? "about" : "at most",
                            duration(f.after_ns))
              : fmt::format("{} a step, before {}", duration(f.after_ns), duration(f.before_ns))));
  for (const BudgetResult& b : c.budgets)
    if (b.fails) c.reasons.push_back(b.message);

  // What could be told before and cannot be now must not pass.
  std::vector<std::string> untold;
  for (const BudgetResult& b : c.budgets)
    if (b.state == BudgetResult::State::unknown &&
        b.budget.severity >= settings.fail_on.value_or(Severity::warning))
      untold.push_back(
          fmt::format("the budget of {} cannot be held: {}", b.budget.fact, b.message));
  std::map<std::string, std::vector<std::string>> blind;  // reason to rules
  for (const auto& [id, outcome] : after.front().rules) {
    const RuleOutcome *then = outcome_of(before, id), *now = outcome_of(after, id);
    if (now->state == RuleOutcome::State::failed)
      untold.push_back(fmt::format("rule {} failed: {}", id, now->reason));
    if (then && then->state == RuleOutcome::State::looked &&
        now->state == RuleOutcome::State::not_recorded)
      blind[now->reason].push_back(id);
  }
  for (const auto& [reason, ids] : blind)
    untold.push_back(fmt::format("the baseline was checked for {}, this capture could not be: {}",
                                 fmt::join(ids, ", "), reason));
  const double too_much =
      2 *
      settings
          .noise_floor;  // what may be noise and would be this much longer has to be measured again
  if (!c.step.real && c.step.effect > too_much)
    untold.push_back(
        fmt::format("the step takes {} instead of {} ({}), which its measurements neither prove "
                    "nor rule out ({}): record more captures",
                    duration(c.step.after), duration(c.step.before), change_text(c.step.effect),
                    basis_text(c.step)));
  for (const FindingChange& f : c.findings)
    if (f.untold) untold.push_back(fmt::format("whether {} is new: {}", f.finding.rule, f.why));
  c.incomparable.insert(c.incomparable.end(), untold.begin(), untold.end());

  if (comparable) {
    std::set<std::string> problems;
    for (const auto* side : {&before, &after})
      for (const Capture& capture : *side)
        for (const std::string& problem : capture.problems)
          problems.insert(fmt::format("{}: {}", capture.path, problem));
    c.notes.insert(c.notes.end(), problems.begin(), problems.end());
    const Program &a = before.front().program, &b = after.front().program;
    if (a.shown && !grids_differ(a.grids, b.grids, false) && !grids_differ(a.grids, b.grids, true))
      c.notes.push_back(
          "that both are the same program shows in no more than the number of attention blocks and "
          "GEMMs a step: they share no kernel of GEMMs, attention or the loss");
    if (!a.shown)
      c.notes.push_back(
          "whole CUDA graphs hide the model's kernels: that both are the same program shows only "
          "in how many graphs, and kernels beside them, a step launches");
    const std::string then = before.front().producer, now = after.front().producer;
    if (then != now)
      c.notes.push_back(fmt::format(
          "recorded by {}, the baseline by {}: profilers differ in what they cost", now, then));
    if (!c.step.real && std::abs(c.step.effect) > settings.min_effect && c.step.effect <= too_much)
      c.notes.push_back(
          fmt::format("the step looks {} {}, but that may be noise ({}); more captures would tell",
                      percent(std::abs(c.step.effect)), c.step.effect > 0 ? "longer" : "shorter",
                      basis_text(c.step)));
    for (const BudgetResult& b : c.budgets)
      if (b.state == BudgetResult::State::broken && !b.fails) c.notes.push_back(b.message);
  } else {
    c.reasons.clear();
  }
  c.verdict = !comparable          ? Verdict::cannot_tell
              : !c.reasons.empty() ? Verdict::regressed
              : !untold.empty()    ? Verdict::cannot_tell
                                   : Verdict::passes;
  c.headline = headline(c, settings);
  return c;
}

}  // namespace gh

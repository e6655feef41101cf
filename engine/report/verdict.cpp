#include "report/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/step_time.hpp"
#include "report/phrases.hpp"

namespace gh {
namespace {

// Of the step: a saving below this is not worth a sentence.
constexpr double worth_a_sentence = 0.01;

// "a step then takes about 46.9 ms (3.4x faster)"; "" where that is not known.
std::string outcome(const Finding& f, const Analysis& a) {
  if (!f.predicted || f.alone_ns == 0) return "";
  const Ns left = f.step_ns - f.alone_ns;
  return f.about ? fmt::format("{} then takes about {} ({} faster)", a.words().a, duration(left),
                               speedup(f.step_ns, left))
                 : fmt::format("{} then takes no less than {} (at most {} faster)", a.words().a,
                               duration(left), speedup(f.step_ns, left));
}

// "both fixes", "all 3 fixes"
std::string all_fixes(const Plan& p) {
  return p.fixes.size() == 2 ? "both fixes" : fmt::format("all {} fixes", p.fixes.size());
}

// What the plan as a whole brings: ", and about 30.5 ms (5.2x) with all 3 fixes". Where `first`
// cannot be forecast, the plan is one of other fixes.
std::string outcome_of_plan(const Finding& first, const Analysis& a, const Report& report) {
  if (!report.plan || report.plan->fixes.empty()) return "";
  const Plan& p = *report.plan;
  const Prediction& step = p.fixes.back().step;
  const Ns left = step.step_ns;
  // How slow the host is without the profiler may decide what several fixes leave.
  const bool is_vague = p.ceiling.empty() && step.most_ns > 2 * left;
  const std::string then = fmt::format(
      "{} {} ({}{})", is_limit(p) ? "no less than" : "about", duration(left),
      speedup(p.now.step_ns, left),
      is_vague ? fmt::format("; {} to {}", duration(step.least_ns), duration(step.most_ns)) : "");
  if (p.fixes.front().fingerprint != first.fingerprint) {
    std::vector<std::string> others;
    for (const PlanLine& line : plan_lines(report)) others.push_back(std::to_string(line.number));
    return fmt::format("; {} {} below {} {} to {}", others.size() == 1 ? "fix" : "fixes",
                       listed(others), others.size() == 1 ? "takes" : "take", a.words().a, then);
  }
  return p.fixes.size() < 2 ? "" : fmt::format(", and {} with {}", then, all_fixes(p));
}

// Both texts, or the one that there is.
std::string both(const std::string& first, const std::string& then) {
  return first.empty() || then.empty() ? first + then : first + ' ' + then;
}

// Why to time a step first: how much recording slowed the host decides what to fix. "" if it does
// not.
std::string time_first_text(const Finding& first, const Analysis& a, const Report& report) {
  if (report.step.from != StepTime::From::replayed || !a.has_steps() || !first.predicted ||
      !first.about)
    return "";
  const auto at = [](const Finding& f, Ns Prediction::*end) { return (*f.predicted).*end; };
  std::string decided;
  for (const auto end : {&Prediction::saves_if_most_ns, &Prediction::saves_if_least_ns}) {
    const auto worth_it = warning_at * static_cast<double>(first.step_ns);
    const Finding* best = &first;
    for (const Finding& f : report.findings)
      if (f.predicted && f.about && !f.masked && f.doubt.empty() &&
          4 * at(f, end) > 5 * at(*best, end) && static_cast<double>(at(f, end)) >= worth_it)
        best = &f;
    if (best != &first && decided.empty())
      decided = fmt::format("whether {} saves more", best->rule);
    // Less than half of what is expected, and too little: what a fix does explains smaller ranges.
    if (decided.empty() && static_cast<double>(at(first, end)) < worth_it &&
        2 * at(first, end) < first.alone_ns)
      decided = "whether this saves much";
  }
  if (decided.empty()) return "";
  return fmt::format(
      "Time {} without the profiler first (gh-advise record does that; or give it with "
      "--measured-step): what recording added decides {}. ",
      a.words().a, decided);
}

ReportVerdict trouble(const Finding& f, const Analysis& a, const Report& report) {
  ReportVerdict v{f.title, "", true};
  if (f.alone_ns > 0) {
    const std::string whole = whole_text(a, report.step),
                      share =
                          percent(static_cast<double>(f.alone_ns) / static_cast<double>(f.step_ns));
    v.what += report.step.is_uncertain()
                  ? fmt::format(". That costs {}, {} of {}", amount_text(f), share, whole)
                  : fmt::format(". That costs {} of {} ({})", amount_text(f), whole, share);
  }
  v.what += '.';
  const Unseen unseen = unseen_text(a);
  v.what = both(v.what, unseen.what);
  if (!f.advice.empty()) {
    v.first = time_first_text(f, a, report);
    v.first += "Fix first: " + short_fix(f);
    if (const std::string one = outcome(f, a); !one.empty()) v.first += "; " + one;
    v.first += outcome_of_plan(f, a, report) + '.';
  }
  v.first = both(v.first, unseen.record);
  return v;
}

// "The GPU is busy for 97 % of each 47.1 ms step."
std::string state_text(const Analysis& a, const Report& report) {
  return fmt::format("The GPU is busy for {} of {}.", percent(report.step.busy_share(a)),
                     whole_text(a, report.step));
}

// Nothing above a note.
ReportVerdict quiet(const Analysis& a, const Report& report) {
  const Unseen unseen = unseen_text(a);
  ReportVerdict v{both(unseen.what, quiet_text(a, report).text + ' ' + state_text(a, report)),
                  unseen.record, !unseen.what.empty()};
  for (const JudgedLoop& loop : report.loops)
    if (loop.finding) {
      v.what += fmt::format(" But there is one in the {}: --unit {} judges them.",
                            loop_label(a, loop), shell_word(loop.name));
      v.trouble = true;
    }
  const auto best =
      std::max_element(report.findings.begin(), report.findings.end(),
                       [](const Finding& x, const Finding& y) { return x.alone_ns < y.alone_ns; });
  if (best == report.findings.end() || best->advice.empty() ||
      static_cast<double>(best->alone_ns) < worth_a_sentence * static_cast<double>(best->step_ns))
    return v;
  v.first =
      both(v.first, fmt::format("Worth a look: {} ({}){}.", short_fix(*best),
                                savings_text(*best, report), outcome_of_plan(*best, a, report)));
  return v;
}

// No rule found what it needs.
ReportVerdict not_judged(const Report& report) {
  ReportVerdict v{"This report cannot be judged: it holds nothing that a rule could check.", "",
                  true};
  if (const auto lacking = not_checked_text(report); !lacking.empty()) v.first = lacking.front();
  return v;
}

}  // namespace

ReportVerdict verdict_of(const Analysis& a, const Report& report) {
  const Finding* first = report.findings.empty() ? nullptr : &report.findings.front();
  const bool no_work = a.total_ns() == 0;
  if (first && (first->voids || no_work)) {
    const bool ended = first->message.ends_with('.');
    return {fmt::format("{}: {}{}",
                        no_work ? "This report cannot be judged" : "Do not rely on this report",
                        first->message, ended ? "" : "."),
            first->advice.empty() ? "" : first->advice.front(), true};
  }
  if (no_work) return {"This report cannot be judged: it holds no GPU work.", "", true};
  if (first && first->severity != Severity::note) return trouble(*first, a, report);
  return quiet_text(a, report).text.empty() ? not_judged(report) : quiet(a, report);
}

std::string fix_text(const Finding& f) {
  const std::string fix = short_fix(f);
  return fix.empty() ? f.title : fix;
}

std::vector<PlanLine> plan_lines(const Report& report) {
  if (!report.plan) return {};
  std::vector<PlanLine> lines;
  Ns before = report.plan->now.step_ns;
  for (const Plan::Fix& fix : report.plan->fixes) {
    const auto f =
        std::find_if(report.findings.begin(), report.findings.end(),
                     [&](const Finding& found) { return found.fingerprint == fix.fingerprint; });
    if (f == report.findings.end()) continue;
    lines.push_back({static_cast<std::size_t>(f - report.findings.begin()) + 1, fix_text(*f),
                     before, fix.step.step_ns, fix.masked});
    before = fix.step.step_ns;
  }
  return lines;
}

std::string speedup(Ns before_ns, Ns after_ns) {
  const double times =
      static_cast<double>(before_ns) / static_cast<double>(std::max<Ns>(after_ns, 1));
  return fmt::format("{:.{}f}x", times, times < 1.995 ? 2 : times < 9.95 ? 1 : 0);
}

bool is_limit(const Plan& p) {
  if (p.ceiling.empty() || p.fixes.empty()) return !p.ceiling.empty();
  const Prediction& last = p.fixes.back().step;
  return static_cast<double>(last.least_ns) >=
         (0.75 - run_to_run) * static_cast<double>(last.step_ns);
}

std::string plan_title(const Plan& p) {
  return is_limit(p) ? "The fixes, one after the other, at most" : "The fixes, one after the other";
}

std::string plan_total_text(const Analysis& a, const Report& report) {
  if (!report.plan || report.plan->fixes.empty()) return "";
  const Plan& p = *report.plan;
  const Prediction& last = p.fixes.back().step;
  std::string text =
      p.fixes.size() > 1
          ? fmt::format("{}: {}{}, {}{} faster", capitalized(all_fixes(p)),
                        is_limit(p) ? "no less than " : "", step_text(p, last),
                        is_limit(p) ? "at most " : "", speedup(p.now.step_ns, last.step_ns))
          : "";
  if (!p.ceiling.empty())
    return fmt::format("{}{}is no forecast: {}.", text, text.empty() ? "This " : ". This ",
                       p.ceiling);
  const std::string expected = fmt::format("xpect to measure {} to {} {}", duration(last.least_ns),
                                           duration(last.most_ns), a.words().per);
  // Where the step itself may be that long, so may be what is left of it.
  const std::string as_is = report.step.is_uncertain() && last.most_ns > p.now.step_ns
                                ? fmt::format("; as it is, {} takes {} to {}", a.words().a,
                                              duration(p.now.least_ns), duration(p.now.most_ns))
                                : "";
  // Runs of the same step differ by so much.
  if (static_cast<double>(last.most_ns) >=
      (1 - run_to_run) * static_cast<double>(report.step.most_as_is_ns()))
    return fmt::format("{} is uncertain: e{}, and perhaps no gain at all{}.",
                       text.empty() ? "This" : text + "; this", expected, as_is);
  return fmt::format("{}{}{}{}.", text, text.empty() ? "E" : "; e", expected, as_is);
}

bool is_in_plan(const Finding& f, const Report& report) {
  return report.plan &&
         std::any_of(report.plan->fixes.begin(), report.plan->fixes.end(),
                     [&](const Plan::Fix& fix) { return fix.fingerprint == f.fingerprint; });
}

std::string saves_text(const Finding& f, const Report& report) {
  if (f.masked) return "matters once the fixes above are made";
  const std::string savings = savings_text(f, report);
  if (savings.empty()) return "";
  if (is_to_try(f)) return "may save " + savings + ": try it";
  const bool covered =
      f.predicted && report.plan && !report.plan->fixes.empty() && !is_in_plan(f, report);
  return "saves " + savings + (covered ? "; little after the fixes above" : "");
}

std::string savings_text(const Finding& f, const Report& report) {
  if (f.alone_ns <= 0 || f.masked) return "";
  // Made in the plan's order, a fix may bring more, or less, than alone.
  bool in_order = true;
  for (const PlanLine& line : plan_lines(report))
    if (&report.findings[line.number - 1] == &f)
      in_order = duration(line.before_ns - line.after_ns) == duration(f.alone_ns);
  return fmt::format("{}{}, {}{}", amount_text(f), in_order ? "" : " alone",
                     percent(static_cast<double>(f.alone_ns) / static_cast<double>(f.step_ns)),
                     is_to_try(f) ? ", or nothing" : "");
}

}  // namespace gh

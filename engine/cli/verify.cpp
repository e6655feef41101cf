// gh-advise verify: whether a fix brought what was predicted; and what all forecasts so far were
// worth.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "advise.hpp"
#include "base/text.hpp"
#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/settings.hpp"
#include "read/job_files.hpp"
#include "record/record.hpp"
#include "report/verdict.hpp"
#include "rules/rules.hpp"

namespace gh {
namespace {

struct VerifyCommand {
  std::vector<std::string> reports, fixed;  // before and after; rules
  std::string ledger = "gh-advise.ledger.jsonl";
  StyleOptions style;
  RuleOptions rule;
  ReportOptions report;
};

struct Side {
  Advice advice;
  Capture capture;
};

Side side_of(const std::string& path, const VerifyCommand& o, const Settings& settings) {
  Request request = settings.request(settings.rules(o.rule), o.report);
  const std::vector<std::string> files = find_reports({path});
  const auto jobs = find_jobs(files);
  if (jobs.size() != 1)
    throw Error(fmt::format("{}: holds {} reports; verify takes one before and one after",
                            printable(path), jobs.size()));
  request.files = jobs.front();
  request.other_loops = false;
  request.measured_step_ns = MeasuredSteps(o.report, o.reports).of({path});
  Side side{advise(request), {}};
  side.capture = capture_of(*side.advice.analysis, *side.advice.facts, side.advice.report,
                            request.rules, request.settings);
  return side;
}

// The findings whose fixes were made: those named, otherwise those that are gone.
std::vector<const Finding*> fixed_findings(const VerifyCommand& o, const Report& before,
                                           const Report& after) {
  std::vector<const Finding*> fixed;
  for (const Finding& f : before.findings) {
    if (f.masked || !f.predicted) continue;
    const bool is_left =
        std::any_of(after.findings.begin(), after.findings.end(), [&](const Finding& x) {
          return x.fingerprint == f.fingerprint && (x.severity >= f.severity || x.masked);
        });
    const bool is_named = std::find(o.fixed.begin(), o.fixed.end(), f.rule) != o.fixed.end();
    if (o.fixed.empty() ? !is_left && f.severity != Severity::note : is_named) fixed.push_back(&f);
  }
  for (const std::string& rule : o.fixed)
    if (std::none_of(fixed.begin(), fixed.end(), [&](const Finding* f) { return f->rule == rule; }))
      throw Error(fmt::format("--fixed {}: predicts nothing for {}", printable(rule),
                              printable(o.reports.front())));
  return fixed;
}

// The step with these fixes made, with the range that the report before says: its finding of one
// fix, its plan of several, one after the other; all at once where a plan leaves small ones out.
Prediction predicted_with(const std::vector<const Finding*>& fixed, const Report& before) {
  if (fixed.size() == 1) return *fixed.front()->predicted;
  std::vector<Finding> findings;
  Changes all;
  for (const Finding* f : fixed) {
    findings.push_back(*f);
    all.insert(all.end(), f->changes.begin(), f->changes.end());
  }
  const std::optional<Plan> plan = plan_of(findings, before.replay.get());
  return plan && plan->fixes.size() == fixed.size() ? plan->fixes.back().step
                                                    : predicted(*before.replay, all, "");
}

LedgerEntry entry_of(const Side& before, const Side& after) {
  LedgerEntry entry;
  entry.day = today();
  entry.before = before.advice.analysis->trace.path;
  entry.after = after.advice.analysis->trace.path;
  entry.before_ns = before.advice.report.step.ns;
  entry.after_ns = after.advice.report.step.ns;
  if (const auto& devices = after.advice.analysis->trace.devices; !devices.empty())
    entry.gpu = devices.front().name;
  return entry;
}

std::string headline(const LedgerEntry& e) {
  switch (e.outcome) {
    case Outcome::held: return "The forecast held";
    case Outcome::missed: return "The forecast was missed";
    case Outcome::not_comparable: return "Not comparable";
  }
  return "";
}

// Findings with a fix that were not there before, as lines of text.
std::vector<std::string> new_since(const Report& before, const Report& after) {
  std::vector<std::string> lines;
  for (const Finding& f : after.findings) {
    const bool was_there =
        std::any_of(before.findings.begin(), before.findings.end(),
                    [&](const Finding& x) { return x.fingerprint == f.fingerprint; });
    if (!was_there && !f.masked && f.severity != Severity::note)
      lines.push_back(fmt::format("New since: {} [{}].", f.title, f.rule));
  }
  return lines;
}

// Fixes that were named although their findings are still there.
std::vector<std::string> not_made(const VerifyCommand& o, const Report& after) {
  std::vector<std::string> reasons;
  for (const std::string& rule : o.fixed)
    if (std::any_of(after.findings.begin(), after.findings.end(),
                    [&](const Finding& f) { return f.rule == rule && !f.masked; }))
      reasons.push_back(fmt::format("{} is still found after it", rule));
  return reasons;
}

std::string text_of(const LedgerEntry& e, const std::vector<std::string>& reasons,
                    const UnitWords& unit) {
  std::string text =
      fmt::format("{}: {} took {} and takes {}, {}", headline(e), unit.a, duration(e.before_ns),
                  duration(e.after_ns), speedup(e.before_ns, e.after_ns));
  if (e.outcome != Outcome::not_comparable)
    text += fmt::format("; predicted were {} ({} to {}) for {}", duration(e.predicted_ns),
                        duration(e.least_ns), duration(e.most_ns), fmt::join(e.rules, ", "));
  text += ".\n";
  if (e.outcome == Outcome::missed && e.after_ns < e.least_ns)
    text +=
        "  That is shorter than predicted: the fix does more, or something else changed, too.\n";
  for (const std::string& reason : reasons) text += "  " + reason + '\n';
  return text;
}

int verify(const VerifyCommand& o) {
  const Working working(o.report);
  const Settings settings(o.rule);
  if (o.ledger != "none") check_ledger(o.ledger, settings.inputs(o.report.inputs(o.reports)));
  const Side before = side_of(o.reports.front(), o, settings),
             after = side_of(o.reports.back(), o, settings);
  if (same_recording(before.capture, after.capture))
    throw Error(fmt::format("{}: is the same recording as {}", printable(o.reports.back()),
                            printable(o.reports.front())));
  LedgerEntry entry = entry_of(before, after);
  std::vector<std::string> reasons = incomparable({before.capture}, {after.capture});
  const auto fixed = fixed_findings(o, before.advice.report, after.advice.report);
  for (const Finding* f : fixed) entry.rules.push_back(f->rule);
  if (fixed.empty() || !before.advice.report.plan)
    reasons.push_back(
        "no finding whose fix was predicted is gone; name the fix that was made: --fixed RULE");
  if (reasons.empty()) {
    const Prediction predicted = predicted_with(fixed, before.advice.report);
    entry.predicted_ns = predicted.step_ns;
    entry.least_ns = predicted.least_ns;
    entry.most_ns = predicted.most_ns;
    entry.outcome = outcome_of(entry.after_ns, entry.least_ns, entry.most_ns);
    // Whatever shortened the step, it was not that fix.
    reasons = not_made(o, after.advice.report);
    if (entry.after_ns <= entry.most_ns && !reasons.empty())
      entry.outcome = Outcome::not_comparable;
  } else {
    entry.outcome = Outcome::not_comparable;
  }
  for (std::string& line : new_since(before.advice.report, after.advice.report))
    reasons.push_back(std::move(line));
  write(text_of(entry, reasons, after.advice.analysis->words()), to_stdout);
  if (o.ledger != "none") append_to_ledger(o.ledger, entry);
  if (entry.outcome == Outcome::not_comparable) return could_not;
  return entry.outcome == Outcome::held ? done : threshold_met;
}

struct CalibrationCommand {
  std::vector<std::string> ledgers;
  StyleOptions style;
};

int calibration(const CalibrationCommand& o) {
  std::vector<LedgerEntry> all;
  const std::vector<std::string> usual = {"gh-advise.ledger.jsonl"};
  for (const std::string& ledger : o.ledgers.empty() ? usual : o.ledgers)
    for (LedgerEntry& entry : read_ledger(ledger)) all.push_back(std::move(entry));
  write(render_ledger_text(all, o.style.style(stdout_is_terminal())), to_stdout);
  return done;
}

}  // namespace

Command add_verify(CommandLine& line) {
  Parser command(line, "verify",
                 "Say whether a fix brought what was predicted, and write that down");
  const auto o = std::make_shared<VerifyCommand>();
  command
      .option("REPORT", o->reports,
              "The report before the fix and the one after. Exit status: 0 if the forecast held, 1 "
              "if it was missed, 2 if they cannot be compared")
      .required()
      .exactly(2);
  command.option("--fixed RULE,...", o->fixed,
                 "The rules whose fixes were made (default: those whose findings are gone)");
  command.option("--ledger FILE", o->ledger,
                 "Append what was predicted and measured to this file (default: "
                 "gh-advise.ledger.jsonl); none for no file");
  o->rule.add(command);
  o->report.add(command);
  return {command, [o] { return verify(*o); }};
}

Command add_calibration(CommandLine& line) {
  Parser command(line, "calibration",
                 "Show how far forecasts were off on your programs, rule by rule");
  const auto o = std::make_shared<CalibrationCommand>();
  command.option("LEDGER", o->ledgers,
                 "What `gh-advise try` and `gh-advise verify` wrote down (default: "
                 "gh-advise.ledger.jsonl)");
  o->style.add_color(command);
  return {command, [o] { return calibration(*o); }};
}

}  // namespace gh

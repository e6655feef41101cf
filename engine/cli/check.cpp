// gh-advise check: what slows reports down, and what to fix first.
#include "cli/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "advise.hpp"
#include "base/deadline.hpp"
#include "base/profile.hpp"
#include "base/text.hpp"
#include "cli/cli.hpp"
#include "cli/progress.hpp"
#include "cli/settings.hpp"
#include "read/job_files.hpp"

namespace gh {
namespace {

// What became of each suppression over all reports. It is in use if any report uses it.
class SuppressionsOfAll {
 public:
  void add(const Report& report) {
    for (const auto& [suppression, state] : report.suppressions) {
      const auto [it, first] = states_.try_emplace(suppression.where, suppression, state);
      SuppressionState& known = it->second.second;
      if (!first && (state == SuppressionState::used || known == SuppressionState::not_checked))
        known = state;
    }
  }
  std::vector<std::pair<Suppression, SuppressionState>> all() const {
    std::vector<std::pair<Suppression, SuppressionState>> list;
    for (const auto& [where, entry] : states_) list.push_back(entry);
    return list;
  }

 private:
  std::map<std::string, std::pair<Suppression, SuppressionState>> states_;  // by place
};

using Several = CheckFormat::Several;

// A file to write, its format, and the text of each report for it.
struct Document {
  Output output;
  const CheckFormat* format;
  std::vector<std::string> of_reports;
};

std::vector<Document> documents_of(std::vector<Output> outputs) {
  std::vector<Document> documents;
  for (Output& output : outputs) {
    const auto format = std::find_if(check_formats.begin(), check_formats.end(),
                                     [&](const CheckFormat& f) { return output.format == f.name; });
    documents.push_back({std::move(output), &*format, {}});
  }
  return documents;
}

// The result of all reports.
struct Checked {
  CiResult result;
  std::vector<std::string> not_judged, failed;  // reports, and rules, with why
  SuppressionsOfAll suppressions;
  bool threshold_met = false;

  Verdict verdict() const {
    if (!not_judged.empty() || !failed.empty()) return Verdict::cannot_tell;
    return threshold_met ? Verdict::regressed : Verdict::passes;
  }
};

void render(const Advice& advice, const std::vector<Rule>& rules,
            std::vector<Document>& documents) {
  const Timed timed("render");
  const ReportDocument report{*advice.analysis, advice.report, rules};
  for (Document& d : documents)
    if (d.format->of_report) d.of_reports.push_back(d.format->of_report(report, d.output.style));
}

// The whole text of a file.
std::string joined(const Document& document, const CiResult& result) {
  const std::vector<std::string>& parts = document.of_reports;
  switch (document.format->several) {
    case Several::run: return document.format->of_run(result);
    case Several::document: return json_document(parts, result.errors);
    case Several::lines: return fmt::format("{}", fmt::join(parts, ""));
    case Several::texts: return fmt::format("{}", fmt::join(parts, "\n"));
    case Several::refused: return parts.empty() ? "" : parts.front();
  }
  return "";
}

void judge(const Advice& advice, std::optional<Severity> fail_on, Checked& checked) {
  checked.result.add(*advice.analysis, advice.report, fail_on);
  // A gate that passes on an empty report would pass on every broken recording.
  if (fail_on && advice.analysis->total_ns() == 0)
    checked.not_judged.push_back(
        fmt::format("{}: holds no GPU work, so --fail-on cannot judge it; record it again",
                    advice.analysis->trace.path));
  for (const Finding& f : advice.report.findings)
    if (fail_on && f.severity >= *fail_on && !f.masked) checked.threshold_met = true;
  for (const Failed& f : advice.report.failed)
    checked.failed.push_back(fmt::format("rule {} failed: {}", f.rule, f.error));
}

}  // namespace

int check(CheckCommand o) {
  o.reports = find_reports(o.reports);
  const Working working(o.report);
  const Settings settings(o.rule);
  const std::vector<Rule> rules = settings.rules(o.rule);
  std::vector<Document> documents = documents_of(
      o.output.parsed(format_names(check_formats), settings.inputs(o.report.inputs(o.reports))));
  if (rules.empty())
    throw Error("--select and --ignore leave no rule to check; `gh-advise rules` lists them");
  const std::optional<Severity> fail_on = settings.fail_on(o.fail_on);
  Request request = settings.request(rules, o.report);
  request.suppressions = settings.config.suppressions;
  request.today = today();

  Checked checked;
  checked.result.rules = rules;
  const std::vector<std::vector<std::string>> jobs = find_jobs(o.reports);
  const MeasuredSteps measured(o.report, o.reports);
  for (const Document& d : documents)
    if (jobs.size() > 1 && d.format->several == Several::refused)
      throw Error(
          fmt::format("--format {} takes one report, and there are {}; check them one at a time",
                      d.output.format, jobs.size()));
  {
    Progress progress(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      request.files = jobs[i];
      request.measured_step_ns = measured.of(jobs[i]);
      request.begins = [&](const char* phase) {
        progress.say(fmt::format("{} {}", phase, printable(jobs[i].front())), i);
      };
      try {
        const TimeLimit limit;
        const Advice advice = advise(request);
        checked.suppressions.add(advice.report);
        render(advice, rules, documents);
        judge(advice, fail_on, checked);
      } catch (const Error& e) {
        checked.not_judged.push_back(e.what());  // the other reports can still be judged
      }
    }
  }

  checked.result.errors = checked.not_judged;
  checked.result.verdict = checked.verdict();
  for (const Document& d : documents) write(joined(d, checked.result), d.output);
  print_suppression_notes(checked.suppressions.all());
  for (const std::string& e : checked.not_judged) print_message(e);
  for (const std::string& e : checked.failed) print_message(e);
  return exit_status(checked.result.verdict);
}

Command add_check(CommandLine& line) {
  Parser command(line, "check", "Say what slows reports down, and what to fix first");
  const auto o = std::make_shared<CheckCommand>();
  command
      .option("REPORT", o->reports,
              "Reports of Nsight Systems (.sqlite, or .nsys-rep if nsys is installed), traces of "
              "PyTorch's profiler (.json, .json.gz), or folders with them. Ranks of one job make "
              "one report")
      .required();
  o->output.add(command, format_names(check_formats));
  o->output.style.add_amount(command);
  o->rule.add(command);
  o->report.add(command);
  command.option(
      "--fail-on SEVERITY", o->fail_on,
      "Exit with 1 if a finding is at least this severe: error, warning or note. Exceptions of "
      "the gate do not count here");
  return {command, [o] { return check(*o); }};
}

}  // namespace gh

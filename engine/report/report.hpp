// Reports as people and programs read them. No renderer sees more of a report than Analysis, Facts
// and Report hold: neither the captured output of the profiled program nor its environment is among
// that, but for the variables of schemas/environment.toml.
#pragma once
#include <string>

#include "gate/comparison.hpp"
#include "job/fleet.hpp"
#include "record/record.hpp"
#include "report/ci.hpp"
#include "report/layout.hpp"
#include "rules/rules.hpp"

namespace gh {

/// A report for people: the account of the step first, then each finding, what was clean, what
/// could not be checked.
std::string render_text(const Analysis& analysis, const Report& report, const TextStyle& style);

/// One report as a JSON object (schemas/report.schema.json), indented or in one line.
std::string render_json(const Analysis& analysis, const Report& report);
std::string render_json_line(const Analysis& analysis, const Report& report);

/// The JSON document of a run (schemas/reports.schema.json): its reports, each as render_json wrote
/// it, and why others could not be read or judged.
std::string json_document(const std::vector<std::string>& reports,
                          const std::vector<std::string>& errors);

/// The evidence of all findings, the steps with their account, and what the devices idled for, as a
/// Chrome trace on the time axis of the report's own file, to be opened in Perfetto beside it.
std::string render_trace(const Analysis& analysis, const Report& report);

/// A page to look at, one file below 2 MB: verdict, plan, account, timelines of the evidence,
/// steps, kernels, ranges, calls, copies. `rules` document themselves in it.
std::string render_html(const Analysis& analysis, const Report& report,
                        const std::vector<Rule>& rules);

/// Facts with units and documentation, as a table or as JSON: all, or those that `only` names
/// (Facts::chosen).
std::string render_facts_text(const Analysis& analysis, const Facts& facts, const TextStyle& style,
                              const std::vector<std::string>& only = {});
std::string render_facts_json(const Analysis& analysis, const Facts& facts,
                              const std::vector<std::string>& only = {});

/// The rules as a table or as JSON, and one rule's documentation.
std::string render_rules_text(const std::vector<Rule>& rules, const TextStyle& style);
std::string render_rules_json(const std::vector<Rule>& rules);
std::string render_explanation(const Rule& rule, const TextStyle& style);

/// A comparison for people: `verdict` shows what decides it, `everything` also what stayed, the
/// kernels and the other facts.
enum class Detail { verdict, everything };
std::string render_comparison_text(const Comparison& comparison, Detail detail,
                                   const TextStyle& style);
/// As JSON (schemas/comparison.schema.json), and as Markdown for a pull request.
std::string render_comparison_json(const Comparison& comparison);
std::string render_comparison_markdown(const Comparison& comparison);
/// As a page to look at, before and after side by side; the captures tell each step.
std::string render_comparison_html(const Comparison& comparison, const std::vector<Capture>& before,
                                   const std::vector<Capture>& after);
/// An exception and what became of it, in a line.
std::string suppression_text(const Suppression& suppression, SuppressionState state);

/// SARIF 2.1.0. A result's place is the source line that its evidence names, where it has one,
/// otherwise the report. What is gone has the baseline state "absent" and passes.
std::string render_sarif(const CiResult& result);
/// Workflow commands of GitHub Actions, which annotate a run.
std::string render_github(const CiResult& result);
/// JUnit XML: a case for each rule and budget.
std::string render_junit(const CiResult& result);
/// Findings of one or several reports in Markdown.
std::string render_check_markdown(const CiResult& result);

/// "17 of 20 ranks on 3 nodes", what the job's step is, and what ranks wait for each other, as
/// sentences.
std::string fleet_count_text(const Fleet& fleet);
std::string fleet_step_text(const Fleet& fleet);
std::string fleet_waits_text(const Fleet& fleet);

/// `errors`: digests that could not be read.
std::string render_fleet_text(const Fleet& fleet, const TextStyle& style,
                              const std::vector<std::string>& errors = {});
/// As JSON (schemas/fleet.schema.json).
std::string render_fleet_json(const Fleet& fleet, const std::vector<std::string>& errors);
/// As a page, with a map of ranks by cause.
std::string render_fleet_html(const Fleet& fleet, const std::vector<std::string>& errors);

/// What fixes that were tried brought, beside what was predicted, and what to write into the
/// program to keep those that help.
std::string render_trials_text(const Trials& trials, const std::vector<Forecast>& forecasts,
                               const TextStyle& style);
/// As JSON (schemas/trials.schema.json).
std::string render_trials_json(const Trials& trials, const std::vector<Forecast>& forecasts);

/// How far forecasts are off, rule by rule.
std::string render_ledger_text(const std::vector<LedgerEntry>& entries, const TextStyle& style);

}  // namespace gh

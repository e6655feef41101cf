#include "report/formats.hpp"

namespace gh {
namespace {

// A format of CI systems, for any document that has a CiResult.
template <class Document, std::string (*render)(const CiResult&)>
std::string of_ci(const Document& d, const TextStyle&) {
  return render(d.ci);
}

std::string comparison_text(const ComparisonDocument& d, const TextStyle& style) {
  return render_comparison_text(d.comparison, d.detail, style);
}
std::string comparison_json(const ComparisonDocument& d, const TextStyle&) {
  return render_comparison_json(d.comparison);
}
std::string comparison_markdown(const ComparisonDocument& d, const TextStyle&) {
  return render_comparison_markdown(d.comparison);
}
std::string comparison_html(const ComparisonDocument& d, const TextStyle&) {
  return render_comparison_html(d.comparison, d.before, d.after);
}

std::string fleet_text(const FleetDocument& d, const TextStyle& style) {
  return render_fleet_text(d.fleet, style, d.errors);
}
std::string fleet_json(const FleetDocument& d, const TextStyle&) {
  return render_fleet_json(d.fleet, d.errors);
}
std::string fleet_html(const FleetDocument& d, const TextStyle&) {
  return render_fleet_html(d.fleet, d.errors);
}

std::string facts_text(const FactsDocument& d, const TextStyle& style) {
  return render_facts_text(d.analysis, d.facts, style, d.only);
}
std::string facts_json(const FactsDocument& d, const TextStyle&) {
  return render_facts_json(d.analysis, d.facts, d.only);
}
std::string top_text_of(const TablesDocument& d, const TextStyle& style) {
  return render_top_text(d.reports, style);
}
std::string top_json_of(const TablesDocument& d, const TextStyle&) {
  return render_top_json(d.reports, d.errors);
}
std::string top_csv_of(const TablesDocument& d, const TextStyle&) {
  return render_top_csv(d.reports);
}
std::string layers_text_of(const TablesDocument& d, const TextStyle& style) {
  return render_layers_text(d.reports, style);
}
std::string layers_json_of(const TablesDocument& d, const TextStyle&) {
  return render_layers_json(d.reports, d.errors);
}
std::string layers_csv_of(const TablesDocument& d, const TextStyle&) {
  return render_layers_csv(d.reports);
}
std::string layers_diff_json(const LayersComparison& c, const TextStyle&) {
  return render_layers_comparison_json(c);
}
std::string rules_json(const std::vector<Rule>& rules, const TextStyle&) {
  return render_rules_json(rules);
}

std::string report_text(const ReportDocument& d, const TextStyle& style) {
  return render_text(d.analysis, d.report, style);
}
std::string report_json_text(const ReportDocument& d, const TextStyle&) {
  return render_json(d.analysis, d.report);
}
std::string report_json_line(const ReportDocument& d, const TextStyle&) {
  return render_json_line(d.analysis, d.report);
}
std::string report_html(const ReportDocument& d, const TextStyle&) {
  return render_html(d.analysis, d.report, d.rules);
}
std::string report_trace(const ReportDocument& d, const TextStyle&) {
  return render_trace(d.analysis, d.report);
}

using Several = CheckFormat::Several;

}  // namespace

const std::vector<CheckFormat> check_formats{
    {"text", Several::texts, report_text, nullptr},
    {"json", Several::document, report_json_text, nullptr},
    {"jsonl", Several::lines, report_json_line, nullptr},
    {"markdown", Several::run, nullptr, render_check_markdown},
    {"sarif", Several::run, nullptr, render_sarif},
    {"github", Several::run, nullptr, render_github},
    {"junit", Several::run, nullptr, render_junit},
    {"html", Several::refused, report_html, nullptr},
    {"trace", Several::refused, report_trace, nullptr},
};

const std::vector<Format<ComparisonDocument>> gate_formats{
    {"text", comparison_text},
    {"json", comparison_json},
    {"markdown", comparison_markdown},
    {"sarif", of_ci<ComparisonDocument, render_sarif>},
    {"github", of_ci<ComparisonDocument, render_github>},
    {"junit", of_ci<ComparisonDocument, render_junit>},
    {"html", comparison_html},
};

const std::vector<Format<ComparisonDocument>> diff_formats{
    {"text", comparison_text},
    {"json", comparison_json},
    {"markdown", comparison_markdown},
    {"html", comparison_html},
};

const std::vector<Format<FleetDocument>> fleet_formats{
    {"text", fleet_text},
    {"json", fleet_json},
    {"markdown", of_ci<FleetDocument, render_check_markdown>},
    {"sarif", of_ci<FleetDocument, render_sarif>},
    {"github", of_ci<FleetDocument, render_github>},
    {"junit", of_ci<FleetDocument, render_junit>},
    {"html", fleet_html},
};

const std::vector<Format<FactsDocument>> facts_formats{
    {"text", facts_text},
    {"json", facts_json},
};

const std::vector<Format<TablesDocument>> top_formats{
    {"text", top_text_of},
    {"json", top_json_of},
    {"csv", top_csv_of},
};

const std::vector<Format<TablesDocument>> layers_formats{
    {"text", layers_text_of},
    {"json", layers_json_of},
    {"csv", layers_csv_of},
};

const std::vector<Format<LayersComparison>> layers_diff_formats{
    {"text", render_layers_comparison_text},
    {"json", layers_diff_json},
};

const std::vector<Format<std::vector<Rule>>> rules_formats{
    {"text", render_rules_text},
    {"json", rules_json},
};

}  // namespace gh

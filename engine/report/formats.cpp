#include "report/formats.hpp"

namespace gh {
namespace {

using Several = CheckFormat::Several;

}  // namespace

const std::vector<CheckFormat> check_formats{
    {"text", Several::texts,
     [](auto& d, auto& style) { return render_text(d.analysis, d.report, style); }, nullptr},
    {"json", Several::document, [](auto& d, auto&) { return render_json(d.analysis, d.report); },
     nullptr},
    {"jsonl", Several::lines, [](auto& d, auto&) { return render_json_line(d.analysis, d.report); },
     nullptr},
    {"markdown", Several::run, nullptr, render_check_markdown},
    {"sarif", Several::run, nullptr, render_sarif},
    {"github", Several::run, nullptr, render_github},
    {"junit", Several::run, nullptr, render_junit},
    {"html", Several::refused,
     [](auto& d, auto&) { return render_html(d.analysis, d.report, d.rules); }, nullptr},
    {"trace", Several::refused, [](auto& d, auto&) { return render_trace(d.analysis, d.report); },
     nullptr},
};

const std::vector<Format<ComparisonDocument>> gate_formats{
    {"text",
     [](auto& d, auto& style) { return render_comparison_text(d.comparison, d.detail, style); }},
    {"json", [](auto& d, auto&) { return render_comparison_json(d.comparison); }},
    {"markdown", [](auto& d, auto&) { return render_comparison_markdown(d.comparison); }},
    {"sarif", [](auto& d, auto&) { return render_sarif(d.ci); }},
    {"github", [](auto& d, auto&) { return render_github(d.ci); }},
    {"junit", [](auto& d, auto&) { return render_junit(d.ci); }},
    {"html",
     [](auto& d, auto&) { return render_comparison_html(d.comparison, d.before, d.after); }},
};

const std::vector<Format<ComparisonDocument>> diff_formats{
    {"text",
     [](auto& d, auto& style) { return render_comparison_text(d.comparison, d.detail, style); }},
    {"json", [](auto& d, auto&) { return render_comparison_json(d.comparison); }},
    {"markdown", [](auto& d, auto&) { return render_comparison_markdown(d.comparison); }},
    {"html",
     [](auto& d, auto&) { return render_comparison_html(d.comparison, d.before, d.after); }},
};

const std::vector<Format<FleetDocument>> fleet_formats{
    {"text", [](auto& d, auto& style) { return render_fleet_text(d.fleet, style, d.errors); }},
    {"json", [](auto& d, auto&) { return render_fleet_json(d.fleet, d.errors); }},
    {"markdown", [](auto& d, auto&) { return render_check_markdown(d.ci); }},
    {"sarif", [](auto& d, auto&) { return render_sarif(d.ci); }},
    {"github", [](auto& d, auto&) { return render_github(d.ci); }},
    {"junit", [](auto& d, auto&) { return render_junit(d.ci); }},
    {"html", [](auto& d, auto&) { return render_fleet_html(d.fleet, d.errors); }},
};

const std::vector<Format<FactsDocument>> facts_formats{
    {"text",
     [](auto& d, auto& style) { return render_facts_text(d.analysis, d.facts, style, d.only); }},
    {"json", [](auto& d, auto&) { return render_facts_json(d.analysis, d.facts, d.only); }},
};

const std::vector<Format<TablesDocument>> top_formats{
    {"text", [](auto& d, auto& style) { return render_top_text(d.reports, style); }},
    {"json", [](auto& d, auto&) { return render_top_json(d.reports, d.errors); }},
    {"csv", [](auto& d, auto&) { return render_top_csv(d.reports); }},
};

const std::vector<Format<TablesDocument>> layers_formats{
    {"text", [](auto& d, auto& style) { return render_layers_text(d.reports, style); }},
    {"json", [](auto& d, auto&) { return render_layers_json(d.reports, d.errors); }},
    {"csv", [](auto& d, auto&) { return render_layers_csv(d.reports); }},
};

const std::vector<Format<LayersComparison>> layers_diff_formats{
    {"text", render_layers_comparison_text},
    {"json", [](auto& c, auto&) { return render_layers_comparison_json(c); }},
};

const std::vector<Format<std::vector<Rule>>> rules_formats{
    {"text", render_rules_text},
    {"json", [](auto& rules, auto&) { return render_rules_json(rules); }},
};

}  // namespace gh

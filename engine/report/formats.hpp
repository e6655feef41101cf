// Which formats each command writes, by the names that --format and --output take and in the order
// in which help lists them. A new format is a renderer in DOCUMENT_FORMAT.cpp, declared in
// report.hpp, and a line in the tables of formats.cpp. cli/output.cpp knows its files' ending.
#pragma once
#include <string>
#include <vector>

#include "report/report.hpp"
#include "report/tables.hpp"

namespace gh {

/// A format of one kind of document.
template <class Document>
struct Format {
  const char* name;
  std::string (*render)(const Document& document, const TextStyle& style);
};

/// What `gate` and `diff` write. `ci` is the result for the formats of CI systems; `diff` has none
/// of those and leaves it empty.
struct ComparisonDocument {
  const Comparison& comparison;
  Detail detail;
  const std::vector<Capture>& before;
  const std::vector<Capture>& after;
  const CiResult& ci;
};
extern const std::vector<Format<ComparisonDocument>> gate_formats, diff_formats;

/// What `fleet` writes. `errors`: what was left out, and why.
struct FleetDocument {
  const Fleet& fleet;
  const std::vector<std::string>& errors;
  const CiResult& ci;
};
extern const std::vector<Format<FleetDocument>> fleet_formats;

/// What `facts` and `rules` write.
struct FactsDocument {
  const Analysis& analysis;
  const Facts& facts;
  const std::vector<std::string>& only;
};
extern const std::vector<Format<FactsDocument>> facts_formats;
/// What `top` and `layers` write. `errors`: why other reports are missing.
struct TablesDocument {
  const std::vector<TablesReport>& reports;
  const std::vector<std::string>& errors;
};
extern const std::vector<Format<TablesDocument>> top_formats, layers_formats;
/// What `diff --layers` writes.
extern const std::vector<Format<LayersComparison>> layers_diff_formats;
extern const std::vector<Format<std::vector<Rule>>> rules_formats;

/// What `check` writes about a report. It reads one report after the other and keeps none, so most
/// formats are rendered as each is read, and the others once at the end of the run.
struct ReportDocument {
  const Analysis& analysis;
  const Report& report;
  const std::vector<Rule>& rules;
};
struct CheckFormat {
  const char* name;
  /// How several reports share a file: `texts` with an empty line between them, `lines` without,
  /// `document` in a list of JSON objects, `refused` not at all. `run` is rendered once for all.
  enum class Several { texts, lines, document, refused, run } several;
  std::string (*of_report)(const ReportDocument& document, const TextStyle& style);
  std::string (*of_run)(const CiResult& result);  ///< for `run` only
};
extern const std::vector<CheckFormat> check_formats;

/// "text", "json", ...: the names of a table, for options.
template <class Table>
std::vector<std::string> format_names(const Table& table) {
  std::vector<std::string> names;
  for (const auto& format : table) names.emplace_back(format.name);
  return names;
}

}  // namespace gh

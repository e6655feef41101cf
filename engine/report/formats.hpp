// Which command writes its document in which formats, by the names that --format and --output take
// and in the order in which help lists them. A new format is a renderer in DOCUMENT_FORMAT.cpp,
// declared in report.hpp, and a line in the tables of formats.cpp.
#pragma once
#include <string>
#include <vector>

#include "report/report.hpp"
#include "report/top.hpp"

namespace gh {

/// A format of one kind of document.
template <class Document>
struct Format {
  const char* name;
  std::string (*render)(const Document& document, const TextStyle& style);
};

/// What `gate` and `diff` write. `ci` is what the comparison came to, for the formats of CI
/// systems; `diff` has none of those, and then it may be empty.
struct ComparisonDocument {
  const Comparison& comparison;
  Detail detail;
  const std::vector<Capture>& before;
  const std::vector<Capture>& after;
  const CiResult& ci;
};
extern const std::vector<Format<ComparisonDocument>> gate_formats, diff_formats;

/// What `fleet` writes. `errors`: what is left out, and why.
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
};
extern const std::vector<Format<FactsDocument>> facts_formats;
/// What `top` writes, of each report.
extern const std::vector<Format<std::vector<Top>>> top_formats;
extern const std::vector<Format<std::vector<Rule>>> rules_formats;

/// What `check` writes of a report. It reads one report after the other and keeps none, so most
/// formats are rendered of each as it is read, and the others of the whole run at the end.
struct ReportDocument {
  const Analysis& analysis;
  const Report& report;
  const std::vector<Rule>& rules;
};
struct CheckFormat {
  const char* name;
  /// What several reports come to in one file: their texts below each other, a list of their JSON
  /// objects, or an error; `run` is rendered once of all.
  enum class Several { texts, list, refused, run } several;
  std::string (*of_report)(const ReportDocument& document, const TextStyle& style);
  std::string (*of_run)(const CiResult& result);  ///< of `run` alone
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

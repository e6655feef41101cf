// The sections of a report's page. report_html.cpp puts them together.
#pragma once
#include <string>
#include <vector>

#include "report/tables.hpp"
#include "report/timeline_json.hpp"
#include "rules/rules.hpp"

namespace gh {

/// What a page has room for.
struct Allowance {
  std::size_t pieces;    ///< of all findings' timelines
  std::size_t findings;  ///< shown in full
  std::size_t text;      ///< characters of a name or sentence
  std::size_t parts;     ///< of the overview; 0 leaves it out
  std::size_t steps;     ///< of the overview, and twice the dots of each strip
  std::size_t devices;   ///< with a line of their own
  std::size_t rows;      ///< of a table of names
  std::size_t nodes;     ///< of the tree of layers
};

/// What a page is made of.
struct ReportPage {
  const Analysis& analysis;
  const Report& report;
  const std::vector<Rule>& rules;
  const TablesReport& layers;  ///< by module
  const Allowance& allowed;

  /// As long as a text may be, and no longer than `most`.
  std::string cut(const std::string& text, std::size_t most = 1'000'000) const;
  /// How many findings have a place of their own on the page.
  std::size_t findings_shown() const;
  /// A link to the place of a finding, counted from 1.
  std::string link_to_finding(std::size_t number) const;
  /// What sums are of, for captions: ", of a mean step".
  std::string mean_of() const;
  /// Steps on all devices, at least 1.
  double steps() const;
};

/// Each is the HTML inside of a section; "" where there is nothing to show.
std::string plan_section(const ReportPage& page);
std::string account_section(const ReportPage& page);
std::string path_section(const ReportPage& page);
std::string waits_section(const ReportPage& page);
std::string devices_section(const ReportPage& page);
std::string overview_section(const ReportPage& page, TimelineData& timelines);
std::string findings_section(const ReportPage& page, TimelineData& timelines);
std::string steps_section(const ReportPage& page);
std::string kernels_section(const ReportPage& page);
std::string layers_section(const ReportPage& page);
/// The tables of `gh-advise top` by name, cut to what a page has room for.
TablesReport costliest(const ReportPage& page, std::vector<std::string> tables, By by = By::name);
/// One of them, of a mean step, folded behind how many rows it has; "" where it has none. `kind`:
/// what a row is.
std::string table_by_name(const ReportPage& page, const TablesReport& tables,
                          const std::string& name, const std::string& caption,
                          const std::string& kind);
/// The end of the layers' section: memory over time, and what was in use at its peak.
std::string memory_part(const ReportPage& page);
std::string calls_section(const ReportPage& page);
std::string copies_section(const ReportPage& page);
std::string rules_section(const ReportPage& page);

}  // namespace gh

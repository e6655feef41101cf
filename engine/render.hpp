// Reports as people and programs read them. No renderer sees more of a report than Analysis, Facts and Report hold: the profiled
// program's environment and its captured output are never among that.
#pragma once
#include <string>

#include "finding.hpp"
#include "rules.hpp"

namespace gh {

/// How text is to look.
struct TextStyle {
  bool colour = false;
  bool unicode = true;       ///< bars of blocks rather than of #
  std::size_t width = 100;   ///< characters in a line
};

/// A report for people: the account of the step first, then each finding, what was clean, what could not be checked.
std::string render_text(const Analysis& analysis, const Report& report, const TextStyle& style);

/// One report as a JSON object (schemas/report.schema.json), indented.
std::string render_json(const Analysis& analysis, const Report& report);

/// All facts with units and documentation, as a table or as JSON.
std::string render_facts_text(const Analysis& analysis, const Facts& facts, const TextStyle& style);
std::string render_facts_json(const Analysis& analysis, const Facts& facts);

/// The rules as a table or as JSON, and one rule's documentation.
std::string render_rules_text(const std::vector<Rule>& rules, const TextStyle& style);
std::string render_rules_json(const std::vector<Rule>& rules);
std::string render_explanation(const Rule& rule, const TextStyle& style);

}  // namespace gh

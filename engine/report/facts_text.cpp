// Facts with their documentation, for people, on a terminal.
#include <algorithm>

#include "report/phrases.hpp"
#include "report/report.hpp"
#include "report/text_parts.hpp"

namespace gh {
namespace {

// Causes that took no time would fill two thirds of the list of all.
bool took_no_time(const Fact& fact, const FactValue& value) {
  const auto* n = std::get_if<double>(&value);
  return fact.name.starts_with("account.") && n && *n == 0;
}

}  // namespace

std::string render_facts_text(const Analysis& a, const Facts& facts, const TextStyle& style,
                              const std::vector<std::string>& only) {
  const Paint paint(style);
  std::string out = report_name(a, style) + report_heading(a, StepTime(a), style);
  if (const std::string privacy = privacy_text(a); !privacy.empty())
    out += wrapped(privacy, style.width, 2) + '\n';
  out += '\n';
  const std::vector<const Fact*> shown_facts = facts.chosen(only);
  std::size_t name_width = 0;
  for (const Fact* f : shown_facts) name_width = std::max(name_width, f->name.size());
  // A narrow terminal gets values and documentation below the names.
  const bool beside = style.width >= name_width + 42;
  const std::size_t indent = beside ? name_width + 2 : 4;
  for (const Fact* f : shown_facts) {
    const FactValue& value = facts.value(f->name);
    if (only.empty() && took_no_time(*f, value)) continue;
    out += beside ? padded(f->name, indent) : f->name + "\n    ";
    out += paint.bold(wrapped(shown(value, f->unit), style.width, indent)) + '\n' +
           std::string(indent, ' ') + paint.faint(wrapped(f->doc, style.width, indent)) + '\n';
  }
  return out;
}

}  // namespace gh

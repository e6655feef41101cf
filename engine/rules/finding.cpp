#include "rules/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"

namespace gh {

const char* name_of(Severity s) {
  switch (s) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    default: return "note";
  }
}

Severity parse_severity(const std::string& name, const std::string& where) {
  const std::vector<std::string> names{"note", "warning", "error"};
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end())
    throw Error(fmt::format("{}: '{}' is not note, warning or error{}", where, printable(name),
                            did_you_mean(name, names)));
  return static_cast<Severity>(it - names.begin());
}

Unit parse_unit(const std::string& name, const std::string& where) {
  static const std::map<std::string, Unit> units{
      {"ns", Unit::ns},       {"fraction", Unit::fraction},   {"count", Unit::count},
      {"bytes", Unit::bytes}, {"bytes/s", Unit::bytes_per_s}, {"FLOP/s", Unit::flops_per_s},
      {"W", Unit::watts}};
  const auto it = units.find(name);
  if (it == units.end())
    throw Error(fmt::format("{}: unit '{}' is not ns, fraction, count, bytes, bytes/s, FLOP/s or W",
                            where, printable(name)));
  return it->second;
}

std::string short_fix(const Said& finding) {
  if (!finding.fix.empty() || finding.advice.empty()) return finding.fix;
  const std::string& text = finding.advice.front();
  std::string fix = text.substr(0, std::min(text.find(": "), text.find(". ")));
  if (fix.ends_with('.')) fix.pop_back();
  return fix;
}

const std::vector<std::string>& marked_advice(const Said& finding) {
  const bool marked = finding.marked.advice.size() == finding.advice.size();
  return marked ? finding.marked.advice : finding.advice;
}

std::string marked_short_fix(const Said& finding) {
  const std::string fix = short_fix(finding);
  if (!finding.marked.fix.empty() || fix.empty()) return finding.marked.fix;
  const std::string& advice = marked_advice(finding).front();
  for (std::size_t length = fix.size(); length <= advice.size(); ++length)
    if (plain_sentence(advice.substr(0, length)) == fix) return advice.substr(0, length);
  return fix;  // it ends within code
}

std::string fingerprint(const Said& finding) {
  return digest(finding.rule + '\n' + finding.subject);
}

}  // namespace gh

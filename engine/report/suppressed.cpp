#include "report/suppressed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/phrases.hpp"

namespace gh {
namespace {

// Of the findings that a suppression hides, the one that saves most; null if it hides none.
const Finding* most_hidden(const Report& report, const Suppression& s) {
  const Finding* most = nullptr;
  for (const std::size_t i : hidden_by(report, s)) {
    const Finding& f = report.suppressed[i];
    if (!most || f.alone_ns > most->alone_ns) most = &f;
  }
  return most;
}

}  // namespace

std::vector<std::string> suppressed_lines(const Analysis& a, const Report& report) {
  std::vector<std::string> lines;
  for (const auto& [s, state] : report.suppressions) {
    if (state != SuppressionState::used) continue;
    const Finding* hidden = most_hidden(report, s);
    const std::string saving = hidden ? saving_text(*hidden, a.words()) : "";
    lines.push_back(fmt::format("{}{}", suppressed_text(s), saving.empty() ? "" : "; " + saving));
  }
  return lines;
}

std::string suppressed_verdict(const Analysis& a, const Report& report) {
  const Finding* most = nullptr;
  for (const Finding& f : report.suppressed)
    if (f.severity != Severity::note && (!most || f.alone_ns > most->alone_ns)) most = &f;
  if (!most) return "";
  const std::string saving = saving_text(*most, a.words());
  return fmt::format("The largest loss is suppressed: {} ({}{}).", most->title, most->rule,
                     saving.empty() ? "" : ", " + saving);
}

}  // namespace gh

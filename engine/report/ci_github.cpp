// Workflow commands of GitHub Actions.
#include <fmt/format.h>

#include "report/ci_phrases.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

// Without the characters that would end a command, or a property of one.
enum class Part { text, property };
std::string escaped_for_github(const std::string& text, Part part) {
  std::string out;
  for (const char c : printable_lines(text))
    if (c == '%' || c == '\r' || c == '\n' || (part == Part::property && (c == ':' || c == ',')))
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      out += c;
  return out;
}

// `place` may be nowhere; line 1 is a whole file.
std::string command(const char* level, const std::string& title, const std::string& text,
                    const SourceLine& place) {
  std::string where;
  if (!place.file.empty()) {
    where = fmt::format("file={},", escaped_for_github(place.file, Part::property));
    if (place.line > 1) where += fmt::format("line={},", place.line);
  }
  return fmt::format("::{} {}title={}::{}\n", level, where,
                     escaped_for_github(title, Part::property),
                     escaped_for_github(text, Part::text));
}

const char* level_of(const CiFinding& f) {
  if (f.change == FindingState::gone || f.change == FindingState::better) return "notice";
  if (f.fails) return "error";
  if (f.change && f.finding.severity != Severity::note) return "warning";
  switch (f.finding.severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    default: return "notice";
  }
}

}  // namespace

std::string render_github(const CiResult& result) {
  std::string out;
  if (!result.headline.empty())
    out += command(result.verdict == Verdict::passes ? "notice" : "error", "gh-advise",
                   result.headline, {});
  for (const std::string& e : result.errors)
    out += command("error", "gh-advise: cannot be judged", e, {});
  for (const CiFinding& f : result.findings)
    if (f.change != FindingState::same && f.change != FindingState::accepted)
      out += command(level_of(f), fmt::format("gh-advise: {}", f.finding.rule), full_text(f),
                     place_of(f));
  return out;
}

}  // namespace gh

#include "report/ci_phrases.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "report/phrases.hpp"

namespace gh {
namespace {

// The path from the folder that the program runs in, which in CI is the repository's root; "" for
// one outside it.
std::string inside_repository(const std::string& path) {
  std::error_code ec;
  const std::filesystem::path relative = std::filesystem::path(path).is_absolute()
                                             ? std::filesystem::proximate(path, ec)
                                             : std::filesystem::path(path).lexically_normal();
  const bool outside =
      ec || relative.empty() || relative.is_absolute() || *relative.begin() == "..";
  return outside ? "" : relative.generic_string();
}

std::string change_prefix(const CiFinding& f) {
  return f.change ? fmt::format("[{}] ", name_of(*f.change)) : "";
}

}  // namespace

SourceLine place_of(const CiFinding& f) {
  for (const Evidence& e : f.finding.evidence)
    if (e.source.line > 0)
      if (const std::string file = inside_repository(e.source.file); !file.empty())
        return {file, e.source.line};
  const std::string report = inside_repository(f.report);
  return {report.empty() ? std::filesystem::path(f.report).filename().string() : report, 1};
}

bool is_present(const CiFinding& f) { return !f.change || *f.change != FindingState::gone; }

std::string ci_worth_text(const CiFinding& shown) {
  const Finding& f = shown.finding;
  const std::string saving = saving_text(f, shown.unit);
  return saving.empty() ? "" : fmt::format("{} ({})", saving, percent(f.alone_fraction));
}

std::string full_text(const CiFinding& f) {
  if (!is_present(f)) return fmt::format("{}{}.", change_prefix(f), f.finding.title);
  const std::string worth = ci_worth_text(f);
  std::string text =
      fmt::format("{}{}{} {}", change_prefix(f), f.finding.title,
                  worth.empty() ? "." : fmt::format(", {}.", worth), sentence(f.finding.message));
  if (!f.finding.advice.empty()) text += " Fix: " + sentence(f.finding.advice.front());
  return text;
}

std::string sentence(const std::string& text) {
  return text.empty() || text.ends_with('.') ? text : text + '.';
}

}  // namespace gh

#include "report/text_parts.hpp"

#include <fmt/format.h>

#include "report/phrases.hpp"

namespace gh {

std::string report_name(const Analysis& a, const TextStyle& style) {
  return Paint(style).faint(shortened(a.trace.path, style.width)) + '\n';
}

std::string report_heading(const Analysis& a, const StepTime& step, const TextStyle& style) {
  std::vector<std::string> lines{recording_text(a)};
  for (const DeviceSteps& d : a.devices) lines.push_back(device_text(a, d));
  for (const std::string& note : side_notes(a, step)) lines.push_back(note);
  std::string out;
  for (const std::string& line : lines) out += wrapped(line, style.width, 2) + '\n';
  return out;
}

void FindingText::title(std::size_t number, Severity severity, const std::string& rest) {
  // Colours have no width: they are put in once the line is wrapped.
  const std::string tag = fmt::format("{}. {}", number, name_of(severity));
  const std::string plain = wrapped(fmt::format("{}: {}", tag, rest), style_.width, 3);
  text_ += paint_.severity(severity, tag) + plain.substr(tag.size()) + '\n';
}

void FindingText::line(const std::string& name, const std::string& text) {
  text_ +=
      fmt::format("   {}{}\n", paint_.faint(padded(fmt::format("{} ", name), indent - 3)), text);
}

void FindingText::field(const std::string& name, const std::string& text) {
  line(name, wrapped(text, style_.width, indent));
}

void FindingText::indented(const std::string& text) {
  text_ += "   " + wrapped(text, style_.width, 3) + '\n';
}

void FindingText::why(const Finding& f) { field("why", f.message + doubt_text(f)); }

void FindingText::follows_from(const Finding& f) {
  if (!f.follows_from.empty())
    field("follows", fmt::format("from {}: that fix probably cures this as well", f.follows_from));
}

void FindingText::advice(const Finding& f) {
  const char* bullet = f.advice.size() > 1 ? "- " : "";
  for (std::size_t i = 0; i < f.advice.size(); ++i)
    line(i == 0 ? "fix" : "",
         bullet + wrapped(f.advice[i], style_.width, indent + std::string_view(bullet).size()));
}

void FindingText::more(const Finding& f) { line("more", "gh-advise explain " + f.rule); }

}  // namespace gh

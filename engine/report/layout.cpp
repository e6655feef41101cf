#include "report/layout.hpp"

#include <algorithm>

namespace gh {
namespace {

// Whether the space at `i` stands between a number and its unit, which are read together.
bool before_unit(const std::string& text, std::size_t i) {
  if (i == 0 || text[i - 1] < '0' || text[i - 1] > '9') return false;
  const std::string word =
      text.substr(i + 1, std::min(text.find_first_of(" ,;:.)", i + 1), text.size()) - i - 1);
  for (const char* unit :
       {"%", "ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB", "GB/s", "TFLOP/s"})
    if (word == unit) return true;
  return false;
}

// Whether what stands before `rest` becomes a link with it, without any markup and even where it is
// escaped: @user, #12 and !12 (issues and merge requests), https://..., www....
bool begins_link(std::string_view before, std::string_view rest) {
  const char last = before.back();
  if (last == '@') return !rest.empty() && rest[0] != ' ';
  if (last == '#' || last == '!') return !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
  if (last == ':') return rest.starts_with("//");
  return last == '.' && before.size() >= 4 && (before[before.size() - 2] | 0x20) == 'w' &&
         (before[before.size() - 3] | 0x20) == 'w' && (before[before.size() - 4] | 0x20) == 'w';
}

}  // namespace

std::string padded(const std::string& s, std::size_t width) {
  return s + std::string(width > display_width(s) ? width - display_width(s) : 0, ' ');
}

std::string wrapped(const std::string& text, std::size_t width, std::size_t indent) {
  std::string out, line;
  const std::size_t room = std::max<std::size_t>(width > indent ? width - indent : 0, 20);
  for (std::size_t i = 0; i <= text.size();) {
    std::size_t next = std::min(text.find(' ', i), text.size());
    while (next < text.size() && before_unit(text, next))
      next = std::min(text.find(' ', next + 1), text.size());
    const std::string word = text.substr(i, next - i);
    if (!line.empty() && display_width(line) + 1 + display_width(word) > room) {
      out += line + '\n' + std::string(indent, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    i = next + 1;
  }
  return out + line;
}

std::string markdown_text(const std::string& text) {
  constexpr const char* breaks_link = "\u200b";
  constexpr std::string_view markup = "\\`*_{}[]<>#|~!&$";
  const std::string bare = printable(text);
  const std::string_view shown = bare;
  std::string out;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (markup.find(shown[i]) != markup.npos) out += '\\';
    out += shown[i];
    if (begins_link(shown.substr(0, i + 1), shown.substr(i + 1))) out += breaks_link;
  }
  return out;
}

std::string csv_text(const std::string& text) {
  std::string out = "\"";
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos)
    out += '\'';
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

}  // namespace gh

#include "base/source_line.hpp"

#include <re2/re2.h>

namespace gh {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// Whether it has what the expression below needs: "y:12", "p(7". Most names of ranges do not, and
// to look for the whole takes ten times as long.
bool may_name_a_line(std::string_view text) {
  for (std::size_t i = 1; i + 1 < text.size(); ++i)
    if ((text[i] == ':' || text[i] == '(') && is_digit(text[i + 1]) && is_lower(text[i - 1]))
      return true;
  return false;
}

}  // namespace

SourceLine source_line(std::string_view text) {
  static const RE2 named(
      R"(([\w./+\-]*\w\.(?:py|pyx|c|cc|cpp|cxx|cu|cuh|h|hpp|jl|rs))[:(](\d{1,7})\b)");
  static const RE2 installed(
      R"((?:^|/)(?:site-packages|dist-packages|lib/python[\d.]*)/|^(?:torch/|<))");
  if (!may_name_a_line(text)) return {};
  std::string file;
  int line = 0;
  re2::StringPiece rest(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, named, &file, &line))
    if (line > 0 && !RE2::PartialMatch(file, installed)) return {file, line};
  return {};
}

}  // namespace gh

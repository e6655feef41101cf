#include "base/source_line.hpp"

#include <re2/re2.h>

namespace gh {

SourceLine source_line(std::string_view text) {
  static const RE2 named(
      R"(([\w./+\-]*\w\.(?:py|pyx|c|cc|cpp|cxx|cu|cuh|h|hpp|jl|rs))[:(](\d{1,7})\b)");
  static const RE2 installed(
      R"((?:^|/)(?:site-packages|dist-packages|lib/python[\d.]*)/|^(?:torch/|<))");
  std::string file;
  int line = 0;
  re2::StringPiece rest(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, named, &file, &line))
    if (line > 0 && !RE2::PartialMatch(file, installed)) return {file, line};
  return {};
}

}  // namespace gh

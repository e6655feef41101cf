#include "analysis/tables/labels.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/text.hpp"

namespace gh {
namespace {

// Longer range names are cut.
constexpr std::size_t most_characters = 120;

}  // namespace

std::string kernel_label(const std::string& name) {
  std::string label = name;
  for (const std::string_view part :
       {"void ", "at::native::", "(anonymous namespace)::", "<unnamed>::", "at::", "c10::"})
    for (std::size_t at; (at = label.find(part)) != label.npos;) label.erase(at, part.size());
  // The parameters: from the parenthesis that the last one closes.
  if (label.ends_with(')')) {
    std::size_t depth = 0, at = label.size();
    while (at-- > 0) {
      depth += label[at] == ')';
      if (label[at] == '(' && --depth == 0) break;
    }
    if (at > 0 && at < label.size()) label.erase(at);
  }
  return label;
}

std::string op_label(const Analysis& a, Row op) {
  const Ops& ops = a.trace.ops;
  switch (ops.kind[op]) {
    case OpKind::kernel: return kernel_label(a.trace.names[ops.name[op]]);
    case OpKind::graph: return "CUDA graph";
    case OpKind::set: return "memset";
    default: break;
  }
  if (is_unified(ops.copy[op])) return fmt::format("migration {}", name_of(ops.copy[op]));
  const bool pageable =
      ops.source[op] == MemoryKind::pageable || ops.target[op] == MemoryKind::pageable;
  return fmt::format("copy {}{}", name_of(ops.copy[op]), pageable ? ", pageable" : "");
}

std::string without_numbers(const std::string& name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  const std::string text = shortened(name, most_characters);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    // A single digit between letters is part of a word: "h2d", "conv2d".
    const bool in_word =
        i > 0 && i + 1 < text.size() && is_letter(text[i - 1]) && is_letter(text[i + 1]);
    if (!is_digit(text[i]) || in_word)
      out += text[i];
    else if (out.empty() || out.back() != '#')
      out += '#';
  }
  return out;
}

}  // namespace gh

#include "read/scrub/node_list.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

namespace gh::scrubbing {

std::vector<std::string> nodes_of(std::string_view list) {
  constexpr std::size_t most_nodes = 20'000;
  static const RE2 expression(R"(([^,\[\]]+)(?:\[([^\]]*)\]([^,\[\]]*))?,?)"),
      range(R"((\d+)(?:-(\d+))?,?)");
  std::vector<std::string> nodes;
  re2::StringPiece rest(list.data(), list.size());
  for (std::string before, numbers, after;
       RE2::Consume(&rest, expression, &before, &numbers, &after);) {
    if (numbers.empty()) {
      nodes.push_back(before);
      continue;
    }
    re2::StringPiece ranges(numbers);
    for (std::string first, last; RE2::Consume(&ranges, range, &first, &last);) {
      if (first.size() > 9 || last.size() > 9) continue;
      const std::uint64_t from = std::stoull(first), to = last.empty() ? from : std::stoull(last);
      for (std::uint64_t n = from; n <= to && nodes.size() < most_nodes; ++n) {
        nodes.push_back(fmt::format("{}{:0{}}{}", before, n, first.size(), after));
      }
    }
  }
  return nodes;
}

}  // namespace gh::scrubbing

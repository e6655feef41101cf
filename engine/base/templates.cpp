#include "base/templates.hpp"

#include "base/embedded.hpp"

namespace gh {

std::string filled(std::string_view name, const Marks& marks) {
  std::string_view left = embedded_file("engine/templates/" + std::string(name));
  std::string text;
  for (std::size_t begin; (begin = left.find("{{")) != left.npos;) {
    const std::size_t end = left.find("}}", begin);
    const std::string_view mark = left.substr(begin + 2, end - begin - 2);
    const auto list = marks.find(mark);
    text += left.substr(0, begin);
    text += list == marks.end() ? embedded_file(mark) : std::string_view(list->second);
    left.remove_prefix(end + 2);
  }
  return text.append(left);
}

}  // namespace gh

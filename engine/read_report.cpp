#include "read_report.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "read_kineto.hpp"
#include "read_nsys.hpp"

namespace gh {
namespace {

// Whether a file begins as JSON does, or as what gzip packs.
bool may_be_json(const std::filesystem::path& path) {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) return false;
  std::ifstream file(path, std::ios::binary);
  char head[256] = {};
  file.read(head, sizeof head);
  std::string_view begin(head, static_cast<std::size_t>(file.gcount()));
  if (begin.starts_with("\x1f\x8b")) return true;
  begin.remove_prefix(std::min(begin.size(), begin.find_first_not_of(" \t\r\n")));
  return begin.starts_with('{') || begin.starts_with('[');
}

}  // namespace

Trace read_report(const std::filesystem::path& path) { return may_be_json(path) ? read_kineto(path) : read_nsys(path); }

}  // namespace gh

#include "read/recognise.hpp"

#include <algorithm>
#include <fstream>

namespace gh {

namespace fs = std::filesystem;

std::string first_bytes_of(const fs::path& path) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return "";
  std::ifstream file(path, std::ios::binary);
  std::string bytes(256, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

bool is_torch_trace(std::string_view first_bytes) {
  if (first_bytes.starts_with("\x1f\x8b")) return true;
  const std::size_t spaces = first_bytes.find_first_not_of(" \t\r\n");
  first_bytes.remove_prefix(std::min(first_bytes.size(), spaces));
  return first_bytes.starts_with('{') || first_bytes.starts_with('[');
}

bool is_nsys_rep(std::string_view first_bytes, const fs::path& path) {
  const std::string extension = path.extension().string();
  return !first_bytes.empty() && !first_bytes.starts_with("SQLite format 3") &&
         (extension == ".nsys-rep" || extension == ".qdrep");
}

}  // namespace gh

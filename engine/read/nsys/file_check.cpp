#include "read/nsys/file_check.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <string_view>

#include "base/error.hpp"
#include "read/table_pages.hpp"

namespace gh::nsys {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t header_bytes = 100;

// The header of an SQLite file; shorter if the file is.
std::string read_header(const fs::path& path, const std::string& shown) {
  std::ifstream file(path, std::ios::binary);
  std::string header(header_bytes, '\0');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  header.resize(static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad()) {
    throw Error(fmt::format("{}: cannot be read; check its permissions", shown));
  }
  return header;
}

[[noreturn]] void fail_no_database(const fs::path& path, const std::string& shown) {
  const std::string extension = path.extension().string();
  if (extension == ".nsys-rep" || extension == ".qdrep" || extension == ".qdstrm") {
    throw Error(fmt::format(
        "{}: is not exported yet; run `nsys export --type sqlite {}` and give the .sqlite file",
        shown, shown));
  }
  throw Error(
      fmt::format("{}: is neither an SQLite database nor a PyTorch profiler trace; give a report "
                  "exported with `nsys export --type sqlite`, or a file from export_chrome_trace",
                  shown));
}

// The size of the database according to its header.
std::uint64_t database_bytes(std::string_view header) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(header.data());
  const std::uint64_t page_bytes = big16(bytes + 16) == 1 ? 65536 : big16(bytes + 16);
  return big32(bytes + 28) * page_bytes;
}

}  // namespace

void check_file(const fs::path& path, const std::string& shown) {
  std::error_code ec;
  const fs::file_status status = fs::status(path, ec);
  if (!fs::exists(status)) throw Error(fmt::format("{}: no such file; check the path", shown));
  if (fs::is_directory(status)) {
    throw Error(fmt::format("{}: is a directory; give a report in it", shown));
  }
  if (!fs::is_regular_file(status)) {
    throw Error(fmt::format(
        "{}: is not a regular file; give a report exported with `nsys export --type sqlite`",
        shown));
  }

  const std::string header = read_header(path, shown);
  if (header.empty()) {
    throw Error(fmt::format(
        "{}: is empty; export the report again with `nsys export --type sqlite`", shown));
  }
  if (!header.starts_with(std::string_view("SQLite format 3\0", 16))) {
    fail_no_database(path, shown);
  }

  const bool has_header = header.size() == header_bytes;
  const std::uintmax_t size = fs::file_size(path, ec);
  if (!has_header || size < database_bytes(header)) {
    throw Error(fmt::format("{}: is cut off ({} of {} bytes); copy or export it again", shown, size,
                            has_header ? std::to_string(database_bytes(header)) : "at least 512"));
  }
}

}  // namespace gh::nsys

#include "read/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "read/kineto.hpp"
#include "read/nsys.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

// The first bytes of a file; "" of what is none.
std::string beginning(const fs::path& path) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return "";
  std::ifstream file(path, std::ios::binary);
  std::string head(256, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

// Whether a file begins as JSON does, or as what gzip packs.
bool may_be_json(std::string_view begin) {
  if (begin.starts_with("\x1f\x8b")) return true;
  begin.remove_prefix(std::min(begin.size(), begin.find_first_not_of(" \t\r\n")));
  return begin.starts_with('{') || begin.starts_with('[');
}

bool needs_export(const fs::path& path, std::string_view begin) {
  const std::string extension = path.extension().string();
  return !begin.empty() && !begin.starts_with("SQLite format 3") &&
         (extension == ".nsys-rep" || extension == ".qdrep");
}

std::string last_line(const fs::path& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return shortened(printable(last), 200);
}

Trace read_exported(const fs::path& path, const std::string& nsys) {
  const std::string shown = printable(path.string()),
                    by_hand = fmt::format(
                        "run `nsys export --type sqlite {}` and give the .sqlite file", shown);
  const TemporaryFolder folder;
  const fs::path exported = folder.path / "report.sqlite", log = folder.path / "log";
  const int status = run_program({nsys, "export", "--type", "sqlite", "--force-overwrite", "true",
                                  "--output", exported.string(), fs::absolute(path).string()},
                                 log);
  if (status < 0)
    throw Error(fmt::format(
        "{}: is not exported yet, and {} cannot be run to do it; name it with --nsys, or {}", shown,
        printable(nsys), by_hand));
  std::error_code ec;
  if (status != 0 || !fs::exists(exported, ec))
    throw Error(fmt::format(
        "{}: {} export failed ({}); {}", shown, printable(nsys),
        last_line(log).empty() ? fmt::format("exit status {}", status) : last_line(log), by_hand));
  try {
    Trace trace = read_nsys(exported);
    trace.path = shown;
    return trace;
  } catch (const Error& e) {
    // The exported file is gone by the time that anybody reads this.
    std::string what = e.what();
    if (const std::string temporary = printable(exported.string()); what.starts_with(temporary))
      what.replace(0, temporary.size(), shown);
    throw Error(what);
  }
}

}  // namespace

Trace read_report(const fs::path& path, const std::string& nsys) {
  const std::string begin = beginning(path);
  if (may_be_json(begin)) return read_kineto(path);
  return needs_export(path, begin) ? read_exported(path, nsys) : read_nsys(path);
}

bool is_torch_trace(const fs::path& path) { return may_be_json(beginning(path)); }

}  // namespace gh

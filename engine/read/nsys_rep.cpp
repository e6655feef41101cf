#include "read/nsys_rep.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "read/nsys.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

void export_report(const fs::path& path, const std::string& nsys, const fs::path& exported,
                   const fs::path& log) {
  const std::string shown = printable(path.string());
  const std::string by_hand =
      fmt::format("run `nsys export --type sqlite {}` and give the .sqlite file", shown);
  const int status = run_program({nsys, "export", "--type", "sqlite", "--force-overwrite", "true",
                                  "--output", exported.string(), fs::absolute(path).string()},
                                 log);
  if (status < 0) {
    throw Error(
        fmt::format("{}: is not exported yet, and {} cannot be run to export it; give its path "
                    "with --nsys, or {}",
                    shown, printable(nsys), by_hand));
  }
  std::error_code ec;
  if (status == 0 && fs::exists(exported, ec)) return;
  const std::string said = last_line(read_text(log), 200);
  throw Error(fmt::format("{}: {} export failed ({}); {}", shown, printable(nsys),
                          said.empty() ? fmt::format("exit status {}", status) : said, by_hand));
}

}  // namespace

Trace read_nsys_rep(const fs::path& path, const std::string& nsys) {
  const std::string shown = printable(path.string());
  const TemporaryFolder folder;
  const fs::path exported = folder.path / "report.sqlite";
  export_report(path, nsys, exported, folder.path / "log");
  try {
    Trace trace = read_nsys(exported);
    trace.path = shown;
    return trace;
  } catch (const Error& e) {
    // The exported file is gone by the time anybody reads this, so name the report instead.
    std::string what = e.what();
    if (const std::string temporary = printable(exported.string()); what.starts_with(temporary)) {
      what.replace(0, temporary.size(), shown);
    }
    throw Error(what);
  }
}

}  // namespace gh

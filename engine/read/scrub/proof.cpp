#include "read/scrub/proof.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

#include "base/text.hpp"

namespace gh::scrubbing {

namespace fs = std::filesystem;

void fail_left(const fs::path& report, std::string_view where, const std::string& variable) {
  throw Error(fmt::format(
      "{}: some of what has to go{} would be left {}, so nothing was written; please report this",
      printable(report.string()),
      variable.empty() ? "" : " (the value of " + shortened(printable(variable), 60) + ")", where));
}

void search_bytes(const fs::path& written, const fs::path& report, const Secrets& secrets) {
  constexpr std::size_t chunk = 4 << 20;
  const auto fail_unreadable = [&] {
    throw Error(
        fmt::format("{}: what was written cannot be read again", printable(report.string())));
  };
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(written.c_str(), "rb"), gzclose);
  if (!file) fail_unreadable();
  const std::size_t overlap = secrets.longest();
  std::string bytes;
  for (int got = 1; got > 0;) {
    bytes.erase(0, bytes.size() - std::min(bytes.size(), overlap));
    const std::size_t kept = bytes.size();
    bytes.resize(kept + chunk);
    got = gzread(file.get(), bytes.data() + kept, chunk);
    if (got < 0) fail_unreadable();
    bytes.resize(kept + static_cast<std::size_t>(got));
    if (secrets.stand_in_bytes(bytes)) {
      fail_left(report, "in the bytes of the file", secrets.variable_in(bytes));
    }
  }
}

}  // namespace gh::scrubbing

#include "read/scrub.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "read/recognise.hpp"
#include "read/scrub/export_copy.hpp"
#include "read/scrub/trace_copy.hpp"

namespace gh {

namespace fs = std::filesystem;

Scrubbed scrub(const fs::path& report, const fs::path& out) {
  std::error_code ec;
  if (fs::exists(out, ec) && fs::equivalent(report, out, ec)) {
    throw Error(fmt::format("{}: is what is read; name another file", printable(out.string())));
  }
  if (fs::exists(out, ec) && !fs::is_regular_file(out, ec)) {
    throw Error(fmt::format("{}: is no file; name one", printable(out.string())));
  }
  if (out == "-") throw Error("-: names no file; name one");
  const bool is_trace = is_torch_trace(first_bytes_of(report));
  if (!is_trace && out.extension() == ".gz") {
    throw Error(
        fmt::format("{}: a database is not packed; leave out .gz", printable(out.string())));
  }

  NewFile file(out);
  scrubbing::Work work;
  if (is_trace) {
    scrubbing::copy_trace(report, file, out.extension() == ".gz", work);
  } else {
    scrubbing::copy_export(report, file.path(), work);
  }
  work.result.searched_for = work.secrets.size();
  work.result.bytes = fs::file_size(file.path(), ec);
  file.commit();
  return work.result;
}

}  // namespace gh

#include "read/scrub.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "read/recognise.hpp"
#include "read/scrub/export_copy.hpp"
#include "read/scrub/trace_copy.hpp"

namespace gh {

namespace fs = std::filesystem;

namespace {

// A name for something that is open elsewhere, such as /dev/stdout, even if that is a file:
// whatever is printed next would overwrite our output or be overwritten.
bool is_of_system(const fs::path& out) {
  const std::string whole = fs::absolute(out).lexically_normal().string();
  return (whole.starts_with("/dev/") && !whole.starts_with("/dev/shm/")) ||
         whole.starts_with("/proc/");
}

// A pipe that nobody writes to would be waited for.
void check_report(const fs::path& report) {
  std::error_code ec;
  const fs::file_status status = fs::status(report, ec);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    throw Error(
        fmt::format("{}: is not a regular file; give a report", printable(report.string())));
  }
}

void check_output(const fs::path& report, const fs::path& out) {
  std::error_code ec;
  if (fs::exists(out, ec) && fs::equivalent(report, out, ec)) {
    throw Error(
        fmt::format("{}: is the file being read; write to another one", printable(out.string())));
  }
  if (is_of_system(out) || (fs::exists(out, ec) && !fs::is_regular_file(out, ec))) {
    throw Error(fmt::format("{}: is not a file; give a file name", printable(out.string())));
  }
  if (out == "-") throw Error("-: is not a file; give a file name");
}

}  // namespace

Scrubbed scrub(const fs::path& report, const fs::path& out) {
  check_report(report);
  check_output(report, out);
  const bool is_trace = is_torch_trace(first_bytes_of(report));
  if (!is_trace && out.extension() == ".gz") {
    throw Error(
        fmt::format("{}: a database is not compressed; leave out .gz", printable(out.string())));
  }

  NewFile file(out);
  scrubbing::Work work(report);
  if (is_trace) {
    scrubbing::copy_trace(report, file, out.extension() == ".gz", work);
  } else {
    scrubbing::copy_export(report, file, work);
  }
  work.result.searched_for = work.secrets.size();
  const scrubbing::NotSought& not_sought = work.secrets.not_sought();
  work.result.not_searched_for.assign(not_sought.secrets.begin(), not_sought.secrets.end());
  work.result.others_not_searched_for = not_sought.others;
  std::error_code ec;
  work.result.bytes = fs::file_size(file.path(), ec);
  file.commit();
  return work.result;
}

}  // namespace gh

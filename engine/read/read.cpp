#include "read/read.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/text.hpp"
#include "read/kineto.hpp"
#include "read/measured.hpp"
#include "read/nsys.hpp"
#include "read/nsys_rep.hpp"
#include "read/recognise.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

struct InputFormat {
  bool (*recognises)(std::string_view first_bytes, const fs::path& path);
  Trace (*read)(const fs::path& path, const std::string& nsys);
};

// To add an input format, add a line here, a function in recognise.hpp that recognizes it, and an
// importer next to the others. The first line that recognizes a file reads it.
constexpr InputFormat formats[] = {
    // PyTorch profiler traces.
    {[](std::string_view first_bytes, const fs::path&) { return is_torch_trace(first_bytes); },
     [](const fs::path& path, const std::string&) { return read_kineto(path); }},
    // Nsight Systems reports that are not exported yet.
    {is_nsys_rep, read_nsys_rep},
    // SQLite exports of Nsight Systems. For any other file the importer says what is wrong with it.
    {[](std::string_view, const fs::path&) { return true; },
     [](const fs::path& path, const std::string&) { return read_nsys(path); }},
};

}  // namespace

Trace read_report(const fs::path& path, const std::string& nsys) {
  if (is_measured_path(path))
    throw Error(
        fmt::format("{}: contains the measured step of a report; give the report itself, and this "
                    "file is read too",
                    printable(path.string())));
  const std::string first_bytes = first_bytes_of(path);
  const InputFormat* format = formats;
  while (!format->recognises(first_bytes, path)) ++format;
  return format->read(path, nsys);
}

}  // namespace gh

#include "read/recognise.hpp"

#include <algorithm>
#include <fstream>

#include "base/error.hpp"
#include "read/event_stream.hpp"
#include "read/measured.hpp"
#include "read/nsys/schema.hpp"
#include "read/sqlite.hpp"

namespace gh {

namespace fs = std::filesystem;

std::string first_bytes_of(const fs::path& path) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return "";
  std::ifstream file(path, std::ios::binary);
  std::string bytes(1024, '\0');
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

bool is_recording(const fs::path& path) try {
  const std::string first_bytes = first_bytes_of(path);
  if (is_measured_path(path)) {
    std::string report = path.string();
    report.resize(report.rfind(".measured.json"));
    return measured_beside(report + ".sqlite").has_value();
  }
  if (is_nsys_rep(first_bytes, path)) return true;
  if (first_bytes.starts_with("<!doctype html>"))
    return first_bytes.find("<meta name=generator content=\"gh-advise ") != std::string::npos;
  if (is_torch_trace(first_bytes)) {
    EventStream events(path);
    std::string_view event;
    return events.next(event) && event.find("\"ph\"") != event.npos;  // its kind, as all have
  }
  const Database database(path);
  return std::any_of(nsys::signature().begin(), nsys::signature().end(),
                     [&](const std::string& table) { return database.has_table(table); });
} catch (const Error&) {
  return false;
}

bool is_nsys_rep(std::string_view first_bytes, const fs::path& path) {
  const std::string extension = path.extension().string();
  return !first_bytes.empty() && !first_bytes.starts_with("SQLite format 3") &&
         (extension == ".nsys-rep" || extension == ".qdrep");
}

}  // namespace gh

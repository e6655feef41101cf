#include "record/programs.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/patterns.hpp"
#include "base/schema_table.hpp"
#include "base/text.hpp"

namespace gh {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ec;
  return fs::exists(path, ec);
}

bool can_run(const fs::path& path) {
  std::error_code ec;
  return fs::is_regular_file(path, ec) && access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> program_on_path(const std::string& name) {
  if (name.find('/') != name.npos)
    return can_run(name) ? std::optional<fs::path>(name) : std::nullopt;
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path ? path : "", ":"))
    if (fs::path program = fs::path(folder) / name; can_run(program)) return program;
  return std::nullopt;
}

bool starts_python(const std::string& word) {
  static const Patterns starters = [] {
    const toml::table schema = schema_table("schemas/programs.toml");
    return Patterns(strings(schema["python_starters"]["match"]));
  }();
  return starters.match(fs::path(word).filename().string());
}

}  // namespace gh

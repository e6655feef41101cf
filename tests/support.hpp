// What test files share: a temporary directory, files in it, and databases written from SQL text.
#pragma once
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace support {

/// A directory of its own, gone with the object.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "gh-advise-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::filesystem::path write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs SQL on the database at `path`, which is made where there is none. A mistake in the SQL is
/// the test's: it throws.
inline std::filesystem::path run_sql(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* db = nullptr;
  char* message = nullptr;
  sqlite3_open(path.c_str(), &db);
  const int rc = sqlite3_exec(db, ("BEGIN;" + sql + ";COMMIT").c_str(), nullptr, nullptr, &message);
  const std::string why = message ? message : "";
  sqlite3_free(message);
  sqlite3_close(db);
  if (rc != SQLITE_OK) throw std::runtime_error("SQL of the test: " + why);
  return path;
}

/// The shipped recordings, unpacked, in order of name.
inline std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(GH_FIXTURES))
    if (entry.path().extension() == ".sqlite") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// The shipped PyTorch profiler traces, unpacked, in order of name.
inline std::vector<std::filesystem::path> torch_traces() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(GH_FIXTURES))
    if (entry.path().string().ends_with(".pt.trace.json")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace support

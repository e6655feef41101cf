// What all test files share: a temporary directory, files in it, databases written as SQL, the
// recordings, and text searches.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace support {

/// A separate directory, removed with the object.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Both return the path that they were given.
std::filesystem::path write_file(const std::filesystem::path& path, std::string_view bytes);
/// Runs SQL on the database at `path`, which is created if it does not exist. Throws on a mistake
/// in the SQL, which is the test's fault.
std::filesystem::path run_sql(const std::filesystem::path& path, const std::string& sql);

/// The names of its tables.
std::vector<std::string> tables_of(const std::filesystem::path& database);

std::string read_file(const std::filesystem::path& path);

/// A recorded report by name ("starved"), or by its whole file name if it is not an Nsight Systems
/// export ("good.pt.trace.json").
std::filesystem::path fixture(const std::string& name);
/// The Nsight Systems exports among them, in order of name: paths, and names ("starved"). Their
/// programs mark their steps; the other recordings' programs mark nothing.
std::vector<std::filesystem::path> recordings();
std::vector<std::filesystem::path> unmarked_recordings();
std::vector<std::string> recording_names();
/// The PyTorch profiler's traces among them, in order of name.
std::vector<std::filesystem::path> torch_traces();

/// Whether the program has sanitizers: then it is slow, reserves terabytes of addresses, and (with
/// ThreadSanitizer) has an additional thread.
#ifdef GH_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// One in twelve of a list of recordings if sanitizers make each take seconds: they run the same
/// code. Each test takes others, so that most of them are read by one. The release build uses all.
template <typename Recording>
std::vector<Recording> few_with_sanitizers(std::vector<Recording> all) {
  if (!sanitized || all.empty()) return all;
  const std::size_t apart = std::min<std::size_t>(12, all.size());
  std::vector<Recording> few;
  for (std::size_t i =
           std::hash<std::string_view>()(doctest::getContextOptions()->currentTest->m_name) % apart;
       i < all.size(); i += apart)
    few.push_back(std::move(all[i]));
  return few;
}

bool contains(std::string_view text, std::string_view part);
/// Whether one of the texts contains the part.
bool any_contains(const std::vector<std::string>& texts, std::string_view part);
std::vector<std::string> lines_of(const std::string& text);
/// The text with single spaces between words, so that where it wraps does not matter.
std::string on_one_line(std::string_view text);

/// A path as a word of a shell command.
std::string quoted(const std::filesystem::path& path);

/// The message of what `does()` throws; "" if it does not throw.
std::string error_of(const std::invocable auto& does) {
  try {
    does();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace support

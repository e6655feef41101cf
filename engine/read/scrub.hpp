// Copies a report without anything that identifies its owner: the environment, host and user names,
// command lines, captured output.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gh {

/// What was removed, in numbers; never the contents.
struct Scrubbed {
  std::map<std::string, std::int64_t> removed;  ///< by kind: "environment variables", "words of the
                                                ///< command line", "texts of captured output", ...
  std::int64_t changed = 0;                     ///< texts in which something was replaced
  std::vector<std::string> left_out;            ///< tables, or keys of a trace
  std::size_t searched_for =
      0;  ///< values and names that none of the file's texts contains any more
  /// Secret variables whose value is too short or too common a word to distinguish from the rest of
  /// the report: it may still be there.
  std::vector<std::string> not_searched_for;
  std::size_t others_not_searched_for =
      0;  ///< settings, short numbers and words that were not searched for either
  std::uintmax_t bytes = 0;  ///< of the new file
};

/// Writes a copy of a report (SQLite, or a PyTorch trace, compressed if `out` ends in .gz). Keeps
/// only what schemas/scrub.toml knows to be harmless. Then searches every text of the copy, in each
/// way it may be read, for every value and name removed; and also its bytes, in a database only for
/// values of at least 8 bytes. Anything found is removed with the words around it, and the copy
/// searched again. Throws Error, and leaves no file, if the report cannot be read or anything is
/// left.
Scrubbed scrub(const std::filesystem::path& report, const std::filesystem::path& out);

}  // namespace gh

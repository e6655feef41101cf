// A report without what says whose it is: the environment, names of hosts and users, command lines,
// captured output.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gh {

/// What was done, in numbers; never what was found.
struct Scrubbed {
  std::map<std::string, std::int64_t> removed;  ///< by kind: "environment variables", "words of the
                                                ///< command line", "texts of captured output", ...
  std::int64_t changed = 0;                     ///< texts in which something was replaced
  std::vector<std::string> left_out;            ///< tables, or keys of a trace
  std::size_t searched_for = 0;  ///< values and names that are in none of the file's texts any more
  /// Variables that say that they hold a secret, of which the value is too short or such a word
  /// that it could not be told from what the report is made of: it may still be there.
  std::vector<std::string> not_searched_for;
  std::size_t others_not_searched_for = 0;  ///< settings, short numbers and words, likewise
  std::uintmax_t bytes = 0;                 ///< of the new file
};

/// Writes a copy of a report (SQLite, or a PyTorch trace, packed where `out` ends in .gz) in which
/// only what schemas/scrub.toml knows to be harmless is kept, and searches it: every text of it, in
/// each way in which it may be read, for every value and name removed, and its bytes, of a database
/// for those of 8 bytes and more. What that finds is removed with its words, and the copy searched
/// again. Throws Error, and leaves no file, where the report cannot be read or anything is left.
Scrubbed scrub(const std::filesystem::path& report, const std::filesystem::path& out);

}  // namespace gh

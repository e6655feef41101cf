// What `record` and `try`, which run programs, have in common.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "base/spans.hpp"

namespace gh {

/// The value of an option that takes a time: "30s". Throws Error that names the option.
Ns duration_option(const char* option, const std::string& value);

/// The value of --delay: units, or a time.
struct Delay {
  std::optional<int> units;
  std::optional<Ns> ns;
};
Delay parsed_delay(const std::string& value);

/// Where a recording goes, without ending: `given`, which may have an ending or be a folder with a
/// slash at its end; otherwise `name`.
std::filesystem::path output_name(std::string given, const std::string& name);

/// The name of a new recording, which no other recorder takes as long as this lives: a hidden file,
/// .NAME.gh-advise, says so. The program that is recorded sees no file of that name before it ends.
class NewOutput {
 public:
  /// As output_name: `given`, or `name` with a number if only that exists. Throws Error if `given`
  /// exists. To `replace`, it may exist, but not as something else than a recording.
  NewOutput(const std::string& given, const std::string& name, bool replace);
  ~NewOutput();
  NewOutput(const NewOutput&) = delete;
  NewOutput& operator=(const NewOutput&) = delete;
  const std::filesystem::path& name() const { return name_; }

 private:
  bool reserve(const std::filesystem::path& name);
  std::filesystem::path name_, reserved_;
  int lock_ = -1;  // on reserved_
};

}  // namespace gh

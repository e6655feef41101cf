#include "cli/programs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/quantities.hpp"
#include "base/temporary.hpp"
#include "base/text.hpp"
#include "record/recording.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

constexpr int most_units = 1'000'000;

// Whether there is a recording of this name.
bool is_taken(const fs::path& name) {
  std::error_code ec;
  for (const char* ending :
       {".sqlite", ".json", ".json.gz", ".nsys-rep", ".html", ".measured.json"})
    if (fs::exists(name.string() + ending, ec)) return true;
  return !reports_of_ranks(name).empty();
}

}  // namespace

Ns duration_option(const char* option, const std::string& value) {
  const auto ns = parsed_duration(value);
  if (!ns)
    throw Error(
        fmt::format("{} {}: give a time above 0 with its unit, as in 30s (ns, us, ms, s, min, h)",
                    option, printable(value)));
  return *ns;
}

Delay parsed_delay(const std::string& value) {
  if (value.empty()) return {};
  if (value == "0s") return {std::nullopt, 0};
  if (value.find_first_not_of("0123456789") != value.npos)
    return {std::nullopt, duration_option("--delay", value)};
  if (value.size() > 7 || std::stoi(value) > most_units)
    throw Error(fmt::format("--delay {}: is more than {} units", printable(value), most_units));
  return {std::stoi(value), std::nullopt};
}

fs::path output_name(std::string given, const std::string& name) {
  if (given.empty() || given.ends_with('/')) return given + name;
  for (const std::string_view ending : {".sqlite", ".nsys-rep", ".json"})
    if (given.ends_with(ending)) given.resize(given.size() - ending.size());
  return given;
}

NewOutput::NewOutput(const std::string& given, const std::string& name, bool replace)
    : name_(output_name(given, name)) {
  if (replace) {
    refuse_unknown(name_.string() + ".html");
    return;
  }
  const fs::path first = name_;
  for (int number = 2; !reserve(name_); ++number) {
    if (!given.empty())
      throw Error(fmt::format("{}: a recording of this name exists; --force replaces it",
                              printable(name_.string())));
    name_ = fmt::format("{}-{}", first.string(), number);
  }
}

NewOutput::~NewOutput() {
  remove_temporary(reserved_);
  if (lock_ >= 0) close(lock_);
}

// Whether the name is free; it then is this program's. The lock on a hidden file decides between
// several programs that ask at once. One that was killed leaves the file, but no lock.
bool NewOutput::reserve(const fs::path& name) {
  Temporary& t = temporary();
  {
    const std::lock_guard guard(t.mutex);
    const fs::path file =
        fs::absolute(name.parent_path() / fmt::format(".{}.gh-advise", name.filename().string()));
    constexpr int how = O_WRONLY | O_CLOEXEC | O_NOFOLLOW;
    lock_ = open(file.c_str(), how | O_CREAT | O_EXCL, 0666);
    const bool is_new = lock_ >= 0;
    if (!is_new && errno == EEXIST) lock_ = open(file.c_str(), how);
    if (lock_ < 0) return !is_taken(name);  // what cannot be written is told later
    struct stat status {};
    // Some file systems have no locks: there a file that is left stays in the way.
    const bool locked = flock(lock_, LOCK_EX | LOCK_NB) == 0 || (is_new && errno != EWOULDBLOCK);
    const bool ours =
        locked && fstat(lock_, &status) == 0 && status.st_nlink > 0 && status.st_size == 0;
    if (!ours) {
      close(std::exchange(lock_, -1));
      return false;
    }
    reserved_ = file;
    t.add(reserved_);
  }
  if (!is_taken(name)) return true;
  remove_temporary(reserved_);
  close(std::exchange(lock_, -1));
  return false;
}

}  // namespace gh

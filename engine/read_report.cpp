#include "read_report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <vector>

#include "read_kineto.hpp"
#include "read_nsys.hpp"
#include "text.hpp"

extern char** environ;

namespace gh {
namespace {

namespace fs = std::filesystem;

// The first bytes of a file; "" of what is none.
std::string beginning(const fs::path& path) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return "";
  std::ifstream file(path, std::ios::binary);
  std::string head(256, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

// Whether a file begins as JSON does, or as what gzip packs.
bool may_be_json(std::string_view begin) {
  if (begin.starts_with("\x1f\x8b")) return true;
  begin.remove_prefix(std::min(begin.size(), begin.find_first_not_of(" \t\r\n")));
  return begin.starts_with('{') || begin.starts_with('[');
}

bool needs_export(const fs::path& path, std::string_view begin) {
  const std::string extension = path.extension().string();
  return !begin.empty() && !begin.starts_with("SQLite format 3") && (extension == ".nsys-rep" || extension == ".qdrep");
}

// A directory of its own, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code ec;
    const fs::path parent = fs::temp_directory_path(ec);
    std::string name = (parent / "gh-advise-XXXXXX").string();
    if (ec || !mkdtemp(name.data())) throw Error(fmt::format("{}: no temporary folder can be made there; set TMPDIR to one with room", ec ? "TMPDIR" : printable(parent.string())));
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  fs::path path;
};

// Runs a program, its output into a file. -1 where it cannot be started, with errno set; else its exit status.
int run(const std::vector<std::string>& words, const fs::path& output) {
  std::vector<char*> arguments;
  for (const std::string& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t child = 0;
  errno = posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (errno != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string last_line(const fs::path& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return shortened(printable(last), 200);
}

Trace read_exported(const fs::path& path, const std::string& nsys) {
  const std::string shown = printable(path.string()), by_hand = fmt::format("run `nsys export --type sqlite {}` and give the .sqlite file", shown);
  const TemporaryFolder folder;
  const fs::path exported = folder.path / "report.sqlite", log = folder.path / "log";
  const int status = run({nsys, "export", "--type", "sqlite", "--force-overwrite", "true", "--output", exported.string(), fs::absolute(path).string()}, log);
  if (status < 0) throw Error(fmt::format("{}: is not exported yet, and {} cannot be run to do it; name it with --nsys, or {}", shown, printable(nsys), by_hand));
  std::error_code ec;
  if (status != 0 || !fs::exists(exported, ec)) throw Error(fmt::format("{}: {} export failed ({}); {}", shown, printable(nsys), last_line(log).empty() ? fmt::format("exit status {}", status) : last_line(log), by_hand));
  try {
    Trace trace = read_nsys(exported);
    trace.path = shown;
    return trace;
  } catch (const Error& e) {
    // The exported file is gone by the time that anybody reads this.
    std::string what = e.what();
    if (const std::string temporary = printable(exported.string()); what.starts_with(temporary)) what.replace(0, temporary.size(), shown);
    throw Error(what);
  }
}

}  // namespace

Trace read_report(const fs::path& path, const std::string& nsys) {
  const std::string begin = beginning(path);
  if (may_be_json(begin)) return read_kineto(path);
  return needs_export(path, begin) ? read_exported(path, nsys) : read_nsys(path);
}

}  // namespace gh

// What is temporary, and goes when this program ends, also when a signal ends it: files and folders
// that are not yet, or never, in their place, and programs that it has started.
#pragma once
#include <filesystem>
#include <mutex>
#include <set>

namespace gh {

/// For main, before any thread is started: SIGINT, SIGTERM and SIGHUP end the program as ever, once
/// what is temporary is gone; a closed pipe and the limit on a file's size are errors of the write.
void clean_up_when_interrupted();

/// What has to go when a signal ends the program. Make it, put it in place or take it away while
/// you hold the mutex: the thread that ends the program never lets it go, so that nothing is made
/// or put in place any more.
struct Temporary {
  std::mutex mutex;
  std::set<std::filesystem::path> paths;
  std::set<int> children;  ///< leaders of process groups
};
Temporary& temporary();

/// What SQLite may put beside a file that it writes; goes with a temporary file.
std::filesystem::path journal_of(const std::filesystem::path& path);

/// A folder of its own below TMPDIR, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path path;
};

}  // namespace gh

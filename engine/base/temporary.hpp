// Cleans up when this program ends, even by a signal: temporary or half-written files and folders,
// and programs that it started.
#pragma once
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>

namespace gh {

/// Call in main before starting any thread. SIGINT, SIGTERM and SIGHUP still end the program, but
/// only after cleaning up. Writing to a closed pipe or beyond the file size limit becomes a write
/// error.
void clean_up_when_interrupted();

/// What to clean up when a signal ends the program. Hold the mutex while you create a temporary
/// file, move it into place or remove it. The thread that ends the program never releases the
/// mutex, so that nothing can be created or moved after cleaning up.
struct Temporary {
  std::mutex mutex;
  std::set<std::filesystem::path> paths;
  /// Tells of a new path whoever removes it if this program is killed.
  std::function<void(const std::filesystem::path&)> tell;
  std::set<int> children;  ///< leaders of process groups
  /// Ends other processes that were started. `by_terminal`: they got the signal too.
  std::function<void(int signal, bool by_terminal)> end_others;

  void add(const std::filesystem::path& path);  ///< to `paths`
  void remove_paths();                          ///< when the program ends
};
Temporary& temporary();

/// The file that SQLite may create next to one that it writes; removed together with a temporary
/// file.
std::filesystem::path journal_of(const std::filesystem::path& path);

/// Removes a path of `Temporary::paths`, and what stands below it. Does nothing if it is none, or
/// no more.
void remove_temporary(const std::filesystem::path& path);

/// A new folder, removed by the destructor, or when a signal ends this program.
class TemporaryFolder {
 public:
  /// Below TMPDIR. Both throw Error if it cannot be created.
  TemporaryFolder();
  /// Hidden beside a file that is to be written, so that it has the same room and moving into place
  /// is one step.
  explicit TemporaryFolder(const std::filesystem::path& beside);
  ~TemporaryFolder() { remove_temporary(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path path;
};

}  // namespace gh

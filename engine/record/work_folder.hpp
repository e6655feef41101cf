// Where a recording comes into being.
#pragma once
#include <filesystem>

namespace gh {

/// A new hidden folder beside a file that is to be written, so that it has the same room and moving
/// into place is one step. Removed by the destructor, or when a signal ends this program.
class WorkFolder {
 public:
  /// Throws Error if it cannot be created.
  explicit WorkFolder(const std::filesystem::path& beside);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  std::filesystem::path path;
};

}  // namespace gh

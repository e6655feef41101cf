#include "record/work_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include "base/error.hpp"
#include "base/temporary.hpp"
#include "base/text.hpp"

namespace gh {

namespace fs = std::filesystem;

WorkFolder::WorkFolder(const fs::path& beside) {
  const fs::path parent = fs::absolute(beside).parent_path();
  std::string name = (parent / ".gh-advise-XXXXXX").string();
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  if (!mkdtemp(name.data()))
    throw Error(fmt::format("{}: cannot create a folder there", printable(parent.string())));
  path = name;
  t.paths.insert(path);
}

WorkFolder::~WorkFolder() {
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  std::error_code ignored;
  fs::remove_all(path, ignored);
  t.paths.erase(path);
}

}  // namespace gh

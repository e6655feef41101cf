#include "rules/config_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.hpp"
#include "base/owner.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file_bytes = 1 << 20;  // thousands of suppressions
// Levels open at one place: brackets, and dots in a key. Real configurations have five.
constexpr std::size_t most_levels = 32;

Error too_large(const std::string& shown_path) {
  return Error(fmt::format("{}: is larger than {} MiB, too large for a configuration", shown_path,
                           largest_file_bytes >> 20));
}

// The last character of the string that begins at `at`; if it is not closed, the end of its line or
// of the text.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool several_lines = text.substr(at).starts_with(three);
  for (std::size_t i = at + (several_lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (!several_lines && (text[i] == quote || text[i] == '\n')) {
      return i;
    } else if (several_lines && text.substr(i).starts_with(three)) {
      i += 2;  // one or two quotes may precede the three that close it
      for (int more = 0; more < 2 && i + 1 < text.size() && text[i + 1] == quote; ++more) ++i;
      return i;
    }
  }
  return text.size();
}

// The checkouts of a CI job.
std::vector<fs::path> checkouts() {
  std::vector<fs::path> tops;
  for (const char* name : {"GITHUB_WORKSPACE", "CI_PROJECT_DIR"}) {
    const char* checkout = std::getenv(name);
    if (!checkout || !*checkout) continue;
    std::error_code ec;
    fs::path top = fs::canonical(checkout, ec);
    if (!ec && top != top.root_path()) tops.push_back(std::move(top));
  }
  return tops;
}

bool is_in_checkout(const fs::path& path) {
  std::error_code ec;
  const fs::path folder = fs::canonical(path.parent_path(), ec);
  const std::vector<fs::path> tops = checkouts();
  return !ec && std::any_of(tops.begin(), tops.end(), [&](const fs::path& top) {
    return std::mismatch(top.begin(), top.end(), folder.begin(), folder.end()).first == top.end();
  });
}

// Why not to trust the file; "" if there is no reason.
std::string doubt_about(const fs::path& path) {
  struct stat file {
  }, folder{};
  if (is_foreign_link(path)) return "is a link that another user created";
  if (stat(path.c_str(), &file) != 0 || stat(path.parent_path().c_str(), &folder) != 0)
    return "cannot be checked";
  if (!is_trusted(file.st_uid)) return fmt::format("belongs to another user ({})", file.st_uid);
  if (is_writable_by_others(file)) return "is writable by other users";
  if (!is_trusted(folder.st_uid))
    return fmt::format("is in a folder that belongs to another user ({})", folder.st_uid);
  // In sticky folders such as /tmp, only the folder's owner can replace another user's file.
  if ((folder.st_mode & S_ISVTX) != 0) return "";
  return is_writable_by_others(folder) ? "is in a folder that is writable by other users" : "";
}

// `path`: the configuration `config`, or something that it has run.
void check_owner_of(const fs::path& path, const fs::path& config) {
  const std::string doubt = doubt_about(path);
  if (doubt.empty() || is_in_checkout(path)) return;
  throw Error(
      fmt::format("{}: {}, so gh-advise does not use it or its rules by default: pass --config {} "
                  "to use it, or --config none to ignore it",
                  printable(path.string()), doubt, printable(config.string())));
}

}  // namespace

bool is_checkout(const fs::path& folder) {
  std::error_code ec;
  const fs::path top = fs::canonical(folder, ec);
  const std::vector<fs::path> tops = checkouts();
  return !ec && std::find(tops.begin(), tops.end(), top) != tops.end();
}

std::string configuration_text(const fs::path& path) {
  // A directory can be opened and reads as empty, which would count as a configuration without
  // settings.
  std::error_code ec;
  const std::string shown_path = printable(path.string());
  if (!fs::exists(path, ec) || fs::is_directory(path, ec))
    throw Error(fmt::format("{}: cannot be read; check that it exists and is a file", shown_path));
  if (const std::uintmax_t bytes = fs::file_size(path, ec); !ec && bytes > largest_file_bytes)
    throw too_large(shown_path);
  return read_text(path);
}

void check_nesting(std::string_view text, const std::string& shown_path) {
  if (text.size() > largest_file_bytes) throw too_large(shown_path);
  std::size_t open = 0, dots = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '"':
      case '\'': at = end_of_string(text, at); break;
      case '#': at = std::min(text.find('\n', at), text.size()); break;
      case '.': ++dots; break;
      case '[':
      case '{': ++open; break;
      case ']':
      case '}': open -= std::min<std::size_t>(open, 1); break;
      default: break;
    }
    if (at < text.size() && std::string_view("\n,=[]{}").find(text[at]) != std::string_view::npos)
      dots = 0;
    if (open + dots > most_levels)
      throw Error(fmt::format("{}:{}: more than {} levels of nesting", shown_path,
                              1 + std::count(text.begin(), text.begin() + at, '\n'), most_levels));
  }
}

void check_owner(const fs::path& config) { check_owner_of(config, config); }

void check_owner_of_rules(const fs::path& folder, const fs::path& config) {
  std::error_code ec;
  if (!fs::exists(folder, ec)) return;  // who reads it says so
  check_owner_of(folder, config);
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, ec);
  for (; !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    std::error_code gone;
    const bool is_folder = at->is_directory(gone) && !at->is_symlink(gone);
    if (is_folder || at->path().extension() == ".lua") check_owner_of(at->path(), config);
  }
}

}  // namespace gh

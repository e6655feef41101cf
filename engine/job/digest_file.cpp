// Reads and writes digest files: JSON, compressed with gzip.
#include <fmt/format.h>

#include "base/files.hpp"
#include "base/gzip.hpp"
#include "job/digest.hpp"
#include "job/digest_json.hpp"

namespace gh {
namespace {

constexpr std::size_t most_bytes = 64 << 20;  // real ones take less than a thirtieth of this

Error damaged(const std::filesystem::path& path, const std::string& why) {
  return Error(
      fmt::format("{}: is not an intact digest: {}; create it again with `gh-advise digest`",
                  printable(path.string()), printable(why)));
}

bool is_report(const std::string& bytes) {
  return bytes.starts_with("SQLite format 3") ||
         (bytes.starts_with("{") && bytes.find("\"traceEvents\"") != bytes.npos);
}

}  // namespace

std::string pack_digest(const Digest& digest) {
  std::string bytes;
  Packer packer([&](std::string_view more) { bytes += more; }, Packer::Level::best);
  packer.write(digest_json(digest));
  packer.finish();
  return bytes;
}

std::string unpack_digest(const std::filesystem::path& path) {
  const std::string bytes = read_text(path);
  if (is_report(bytes)) {
    throw Error(fmt::format("{}: is a report, not a digest; run `gh-advise digest` on it first",
                            printable(path.string())));
  }
  if (!bytes.starts_with("\x1f\x8b")) throw damaged(path, "it is not compressed with gzip");
  try {
    return unpacked(bytes, most_bytes);
  } catch (const Error& e) {
    throw damaged(path, e.what());
  }
}

Digest read_digest(const std::filesystem::path& path) {
  const std::string json = unpack_digest(path);
  try {
    Digest d = digest_from_json(json);
    d.path = printable(path.string());
    return d;
  } catch (const OtherVersion& e) {
    throw Error(
        fmt::format("{}: was made by {}, which measured differently from gh-advise {}; "
                    "create it again with `gh-advise digest`",
                    printable(path.string()), e.what(), GH_ADVISE_VERSION));
  } catch (const Error& e) {
    throw damaged(path, e.what());
  }
}

}  // namespace gh

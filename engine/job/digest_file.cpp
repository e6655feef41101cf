// Reads and writes digest files: JSON, compressed with gzip.
#include <fmt/format.h>
#include <zlib.h>

#include "base/files.hpp"
#include "job/digest.hpp"
#include "job/digest_json.hpp"

namespace gh {
namespace {

constexpr int gzip_window = 15 + 16;          // zlib's largest window, in gzip format
constexpr std::size_t most_bytes = 64 << 20;  // real ones take less than a thirtieth of this

Error damaged(const std::filesystem::path& path, const std::string& why) {
  return Error(
      fmt::format("{}: is not an intact digest: {}; create it again with `gh-advise digest`",
                  printable(path.string()), printable(why)));
}

// zlib writes no time or name, so that the same digest gives the same file.
std::string packed(std::string text) {
  z_stream z{};
  if (deflateInit2(&z, 9, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw Error("not enough memory to compress a digest");
  }
  std::string bytes(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(text.data());
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(bytes.data());
  z.avail_out = static_cast<uInt>(bytes.size());
  const int rc = deflate(&z, Z_FINISH);
  bytes.resize(z.total_out);
  deflateEnd(&z);
  if (rc != Z_STREAM_END) throw Error("a digest could not be compressed");
  return bytes;
}

std::string unpacked(std::string bytes, const std::filesystem::path& path) {
  z_stream z{};
  if (inflateInit2(&z, gzip_window) != Z_OK) {
    throw Error("not enough memory to decompress a digest");
  }
  std::string text(bytes.size() * 6, '\0');
  z.next_in = reinterpret_cast<Bytef*>(bytes.data());
  z.avail_in = static_cast<uInt>(bytes.size());
  int rc = Z_OK;
  while (rc == Z_OK && z.total_out < most_bytes) {
    if (z.total_out == text.size()) text.resize(text.size() * 2);
    z.next_out = reinterpret_cast<Bytef*>(text.data() + z.total_out);
    z.avail_out = static_cast<uInt>(text.size() - z.total_out);
    rc = inflate(&z, Z_NO_FLUSH);
  }
  text.resize(z.total_out);
  inflateEnd(&z);
  if (rc == Z_OK) throw damaged(path, "it is larger than any digest can be");
  if (rc != Z_STREAM_END) throw damaged(path, "it is cut off or was changed");
  return text;
}

bool is_report(const std::string& bytes) {
  return bytes.starts_with("SQLite format 3") ||
         (bytes.starts_with("{") && bytes.find("\"traceEvents\"") != bytes.npos);
}

}  // namespace

std::string pack_digest(const Digest& digest) { return packed(digest_json(digest)); }

std::string unpack_digest(const std::filesystem::path& path) {
  std::string bytes = read_text(path);
  if (is_report(bytes)) {
    throw Error(fmt::format("{}: is a report, not a digest; run `gh-advise digest` on it first",
                            printable(path.string())));
  }
  if (!bytes.starts_with("\x1f\x8b")) throw damaged(path, "it is not compressed with gzip");
  return unpacked(std::move(bytes), path);
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

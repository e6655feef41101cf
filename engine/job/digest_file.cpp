// The file of a digest: its JSON, packed by gzip.
#include <fmt/format.h>
#include <zlib.h>

#include "base/files.hpp"
#include "job/digest.hpp"
#include "job/digest_json.hpp"

namespace gh {
namespace {

constexpr int gzip_window = 15 + 16;          // zlib's largest window, in gzip's format
constexpr std::size_t most_bytes = 64 << 20;  // ours take less than a thirtieth of it

Error damaged(const std::filesystem::path& path, const std::string& why) {
  return Error(fmt::format("{}: is no intact digest: {}; make it anew with `gh-advise digest`",
                           printable(path.string()), printable(why)));
}

// zlib writes no time and no name, so that the same digest is the same file.
std::string packed(std::string text) {
  z_stream z{};
  if (deflateInit2(&z, 9, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw Error("there is no memory left to pack a digest");
  }
  std::string bytes(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(text.data());
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(bytes.data());
  z.avail_out = static_cast<uInt>(bytes.size());
  const int rc = deflate(&z, Z_FINISH);
  bytes.resize(z.total_out);
  deflateEnd(&z);
  if (rc != Z_STREAM_END) throw Error("a digest could not be packed");
  return bytes;
}

std::string unpacked(std::string bytes, const std::filesystem::path& path) {
  z_stream z{};
  if (inflateInit2(&z, gzip_window) != Z_OK) {
    throw Error("there is no memory left to unpack a digest");
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
  if (rc == Z_OK) throw damaged(path, "it is larger than any digest");
  if (rc != Z_STREAM_END) throw damaged(path, "its bytes are cut short or changed");
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
    throw Error(fmt::format("{}: is a report: digest it first with `gh-advise digest`",
                            printable(path.string())));
  }
  if (!bytes.starts_with("\x1f\x8b")) throw damaged(path, "it is not packed by gzip");
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
        fmt::format("{}: was made by another version, {}, which measured otherwise than gh-advise "
                    "{}; make it anew with `gh-advise digest`",
                    printable(path.string()), e.what(), GH_ADVISE_VERSION));
  } catch (const Error& e) {
    throw damaged(path, e.what());
  }
}

}  // namespace gh

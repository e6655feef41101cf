#include "base/gzip.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace gh {
namespace {

constexpr std::size_t chunk_bytes = 1 << 20;
// zlib's largest window, in gzip's format.
constexpr int window_bits = 15 + 16, usual_memory_level = 8;

}  // namespace

Packer::Packer(To to, Level level) : to_(std::move(to)), packed_(level != Level::plain) {
  if (packed_ &&
      deflateInit2(&stream_, level == Level::best ? 9 : Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                   window_bits, usual_memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("there is not enough memory to compress");
}

Packer::~Packer() {
  if (packed_) deflateEnd(&stream_);
}

void Packer::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() > chunk_bytes) flush(Z_NO_FLUSH);
}

void Packer::finish() { flush(Z_FINISH); }

void Packer::flush(int how) {
  if (packed_) {
    std::string out(std::min<std::size_t>(chunk_bytes, deflateBound(&stream_, buffer_.size())),
                    '\0');
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(buffer_.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out.data());
      stream_.avail_out = static_cast<uInt>(out.size());
      deflate(&stream_, how);
      to_(std::string_view(out).substr(0, out.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  } else {
    to_(buffer_);
  }
  buffer_.clear();
}

std::string unpacked(std::string_view bytes, std::size_t most_bytes) {
  z_stream z{};
  if (inflateInit2(&z, window_bits) != Z_OK)
    throw Error("there is not enough memory to decompress it");
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  std::string text(6 * bytes.size(), '\0');  // more than most JSON shrinks
  int state = Z_OK;
  while (state == Z_OK && z.total_out < most_bytes) {
    if (z.total_out == text.size()) text.resize(2 * text.size());
    z.next_out = reinterpret_cast<Bytef*>(text.data() + z.total_out);
    z.avail_out = static_cast<uInt>(text.size() - z.total_out);
    state = inflate(&z, Z_NO_FLUSH);
  }
  text.resize(z.total_out);
  inflateEnd(&z);
  if (state == Z_OK) throw Error("it is larger than any of its kind");
  if (state != Z_STREAM_END) throw Error("it is cut off or was changed");
  return text;
}

}  // namespace gh

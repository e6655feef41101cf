#include "read/scrub/packer.hpp"

#include "base/error.hpp"

namespace gh::scrubbing {
namespace {

constexpr std::size_t chunk_bytes = 1 << 20;
constexpr int gzip_window_bits = 15 + 16, usual_memory_level = 8;

}  // namespace

Packer::Packer(NewFile& file, bool packed) : file_(file), packed_(packed) {
  if (packed_ && deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window_bits,
                              usual_memory_level, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw Error("zlib could not be initialized");
  }
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
    std::string out(chunk_bytes, '\0');
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(buffer_.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out.data());
      stream_.avail_out = static_cast<uInt>(out.size());
      deflate(&stream_, how);
      file_.write(std::string_view(out).substr(0, out.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  } else {
    file_.write(buffer_);
  }
  buffer_.clear();
}

}  // namespace gh::scrubbing

// Compressing with gzip, and the other way around.
#pragma once
#include <zlib.h>

#include <functional>
#include <string>
#include <string_view>

namespace gh {

/// Hands text on, piece by piece, compressed or as it is. The same text gives the same bytes: no
/// time or name is written.
class Packer {
 public:
  using To = std::function<void(std::string_view bytes)>;
  enum class Level { plain, usual, best };
  /// Throws Error if there is no memory to compress with.
  Packer(To to, Level level);
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  void write(std::string_view text);
  /// Call this after the last text.
  void finish();

 private:
  void flush(int how);

  To to_;
  bool packed_;
  z_stream stream_{};
  std::string buffer_;
};

/// What was compressed. Throws Error, which says only what is wrong, if that is damaged, cut off,
/// or more than `most_bytes`.
std::string unpacked(std::string_view bytes, std::size_t most_bytes);

}  // namespace gh

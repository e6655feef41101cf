// Writes text to a file, plain or compressed with gzip.
#pragma once
#include <zlib.h>

#include <string>
#include <string_view>

#include "base/files.hpp"

namespace gh::scrubbing {

class Packer {
 public:
  /// Throws Error if zlib has no memory.
  Packer(NewFile& file, bool packed);
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  void write(std::string_view text);
  /// Call this after the last text.
  void finish();

 private:
  void flush(int how);

  NewFile& file_;
  bool packed_;
  z_stream stream_{};
  std::string buffer_;
};

}  // namespace gh::scrubbing

// Recognizes a file by its first bytes, because names and extensions mislead.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace gh {

/// The first bytes of a file, enough to recognize it; "" if it is not a file, is empty or cannot be
/// read.
std::string first_bytes_of(const std::filesystem::path& path);

/// Whether it begins like PyTorch's traces: JSON, plain or compressed with gzip.
bool is_torch_trace(std::string_view first_bytes);

/// Whether a file is surely a recording, or what gh-advise writes beside one: an export of Nsight
/// Systems, a trace of PyTorch with its events, a measured step, a page. Only such a file may be
/// replaced or removed unseen. Reads as much of it as that needs.
bool is_recording(const std::filesystem::path& path);

/// Whether it is a file of Nsight Systems itself (.nsys-rep, .qdrep). That format is not
/// documented, so the extension decides, unless the file is an SQLite database under such a name.
bool is_nsys_rep(std::string_view first_bytes, const std::filesystem::path& path);

}  // namespace gh

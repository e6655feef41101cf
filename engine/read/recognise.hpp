// What a file is, told by its first bytes: names and extensions mislead.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace gh {

/// The first bytes of a file, enough to recognise it by; "" where it is no file, empty or not to be
/// read.
std::string first_bytes_of(const std::filesystem::path& path);

/// Whether it begins as PyTorch's traces do: JSON, plain or packed with gzip.
bool is_torch_trace(std::string_view first_bytes);

/// Whether it is what Nsight Systems itself writes (.nsys-rep, .qdrep). That format is not
/// documented: the extension tells it, unless the file is an SQLite database under such a name.
bool is_nsys_rep(std::string_view first_bytes, const std::filesystem::path& path);

}  // namespace gh

// The importer of PyTorch profiler (Kineto) traces: Chrome JSON, plain or packed with gzip, as
// schemas/kineto.toml describes it.
#pragma once
#include <filesystem>

#include "trace/trace.hpp"

namespace gh {

/// Reads a trace as a stream, so that memory follows what the trace model keeps and not the text.
/// Operators and annotations become ranges, products with their shapes as emit_nvtx writes them;
/// events that make no sense (a wrong type, times beyond seventy years) are left out and counted in
/// Trace::problems. Times are made relative to the first event, as Perfetto shows them. Throws
/// Error where the file is cut off or damaged (naming the byte), no such trace, or of a GPU that is
/// not NVIDIA's.
Trace read_kineto(const std::filesystem::path& path);

}  // namespace gh

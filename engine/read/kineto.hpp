// Imports PyTorch profiler (Kineto) traces: Chrome JSON, plain or compressed with gzip, as
// described in schemas/kineto.toml.
#pragma once
#include <filesystem>

#include "trace/trace.hpp"

namespace gh {

/// Reads a trace as a stream, so that memory depends on what the trace model keeps, not on the
/// text. Operators and annotations become ranges; matrix products get their shapes as emit_nvtx
/// writes them. Invalid events (wrong type, times beyond seventy years) are skipped and counted in
/// Trace::problems. Times become relative to the first event, as Perfetto shows them. Throws Error
/// if the file is cut off or damaged (naming the byte), is not such a trace, or comes from a GPU
/// that is not NVIDIA's.
Trace read_kineto(const std::filesystem::path& path);

}  // namespace gh

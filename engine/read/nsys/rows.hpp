// The kinds of rows of which a report may contain many, and the function that reads each.
#pragma once
#include <span>

#include "read/nsys/part.hpp"
#include "read/nsys/table_reader.hpp"

namespace gh::nsys {

/// A [table.KIND] in schemas/nsys.toml.
struct RowKind {
  const char* name;
  void (*read)(const TablePart& from, Part& part);
};

/// All kinds, slowest first, so that the reading threads finish at about the same time.
std::span<const RowKind> row_kinds();

// gpu_work.cpp
void read_kernels(const TablePart& from, Part& part);
void read_copies(const TablePart& from, Part& part);
void read_sets(const TablePart& from, Part& part);
void read_graphs(const TablePart& from, Part& part);
void read_syncs(const TablePart& from, Part& part);
// host_calls.cpp
void read_calls(const TablePart& from, Part& part);
void read_os_calls(const TablePart& from, Part& part);
void read_file_accesses(const TablePart& from, Part& part);
void read_overhead(const TablePart& from, Part& part);
// host_watch.cpp: what the profiler saw of threads besides their calls
void read_switches(const TablePart& from, Part& part);
void read_stack_samples(const TablePart& from, Part& part);
void read_stack_frames(const TablePart& from, Part& part);
// ranges.cpp: NVTX ranges, and the Python frames stored among them
void read_ranges(const TablePart& from, Part& part);
// library_calls.cpp: calls of cuBLAS, cuDNN, MPI and UCX, and OpenACC and OpenMP regions, as ranges
void read_library_calls(const TablePart& from, Part& part);
void read_regions(const TablePart& from, Part& part);
// memory.cpp
void read_gpu_faults(const TablePart& from, Part& part);
void read_cpu_faults(const TablePart& from, Part& part);
void read_memory_use(const TablePart& from, Part& part);

}  // namespace gh::nsys

#include "read/nsys/rows.hpp"

namespace gh::nsys {

std::span<const RowKind> row_kinds() {
  static constexpr RowKind kinds[] = {
      {"call", read_calls},
      {"kernel", read_kernels},
      {"range", read_ranges},
      {"os_call", read_os_calls},
      {"memory_use", read_memory_use},
      {"copy", read_copies},
      {"set", read_sets},
      {"graph", read_graphs},
      {"sync", read_syncs},
      {"gpu_fault", read_gpu_faults},
      {"cpu_fault", read_cpu_faults},
      {"overhead", read_overhead},
      {"file_access", read_file_accesses},
      {"library_call", read_library_calls},
      {"region", read_regions},
      {"stack_frame", read_stack_frames},
      {"switch", read_switches},
      {"stack_sample", read_stack_samples},
  };
  return kinds;
}

}  // namespace gh::nsys

// Reads device memory allocations and frees, and unified memory page faults. Where the trace stores
// a device or a process, parts store the number of a stream of both.
#include "read/nsys/rows.hpp"

namespace gh::nsys {
namespace {

// The device of a process, ignoring its streams.
std::uint16_t device_number(Part& part, std::int64_t process, std::int64_t device) {
  return static_cast<std::uint16_t>(part.numbers->streams({process & process_mask, device, -1}));
}

}  // namespace

void read_gpu_faults(const TablePart& from, Part& part) {
  enum { start, end, device, process, address, count };
  TableReader rows(from, {"start", "end", "device", "process", "address", "count"}, part.problems,
                   &part.count);
  GpuFaults& faults = part.gpu_faults;
  while (rows.next()) {
    const Ns begins = rows.integer(start), ends = rows.integer(end);
    const std::int64_t owner = rows.integer(process), gpu = rows.integer(device);
    const std::int64_t faulted_at = rows.integer(address), pages = rows.integer(count);
    if (!rows.sound(begins, ends)) continue;
    faults.start.push_back(begins);
    faults.end.push_back(ends);
    faults.address.push_back(faulted_at);
    faults.count.push_back(pages);
    faults.device.push_back(device_number(part, owner, gpu));
  }
}

void read_cpu_faults(const TablePart& from, Part& part) {
  enum { start, address, function };
  TableReader rows(from, {"start", "address", "function"}, part.problems, &part.count);
  CpuFaults& faults = part.cpu_faults;
  while (rows.next()) {
    const Ns at = rows.integer(start);
    const std::int64_t faulted_at = rows.integer(address);
    const FileNameView name = rows.name(function);
    if (!rows.sound(at, at)) continue;
    faults.start.push_back(at);
    faults.address.push_back(faulted_at);
    faults.function.push_back(part.numbers->names(name));
  }
}

// CUDA gives out memory by the block, so each event is both.
void read_memory_use(const TablePart& from, Part& part) {
  constexpr std::int64_t freed = 1;  // memoryOperationType
  enum { start, device, process, bytes, kind, operation, correlation, address, pool, pool_bytes };
  TableReader rows(from,
                   {"start", "device", "process", "bytes", "kind", "operation", "correlation",
                    "address", "pool", "pool_bytes"},
                   part.problems, &part.count);
  MemoryUse& use = part.memory_use;
  Allocations& blocks = part.allocations;
  while (rows.next()) {
    const Ns at = rows.integer(start);
    const std::int64_t owner = rows.integer(process), gpu = rows.integer(device);
    const std::int64_t size = sane_bytes(rows.integer(bytes));
    const std::int64_t done = rows.integer(operation), memory = rows.integer(kind);
    const std::uint32_t call = small(rows.integer(correlation));
    const std::int64_t begins_at = rows.integer(address), in_pool = rows.integer(pool);
    const std::int64_t reserved = sane_bytes(rows.integer(pool_bytes));
    if (!rows.sound(at, at)) continue;
    use.start.push_back(at);
    use.bytes.push_back(done == freed ? -size : size);
    use.kind.push_back(memory_kind(memory));
    use.correlation.push_back(call);
    use.device.push_back(device_number(part, owner, gpu));
    if (begins_at == 0 || size == 0) continue;
    blocks.start.push_back(at);
    blocks.address.push_back(begins_at);
    blocks.bytes.push_back(use.bytes.back());
    blocks.in_use.push_back(-1);  // of a pool, recorded before it takes a block back
    blocks.reserved.push_back(in_pool ? reserved : -1);
    blocks.pool.push_back(in_pool);
    blocks.device.push_back(use.device.back());
    blocks.process.push_back(use.device.back());
    blocks.thread.push_back(no_index);
    blocks.kind.push_back(use.kind.back());
    blocks.correlation.push_back(call);
  }
}

}  // namespace gh::nsys

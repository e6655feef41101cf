#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/facts/functions.hpp"
#include "analysis/facts/sums.hpp"

namespace gh::fact {
namespace {

FactValue copied_per_step(const Analysis& a, CopyKind kind) {
  return per_step(a, sum_ops(a, is_copy(a, kind), bytes_of(a)));
}

FactValue bandwidth(const Analysis& a, CopyKind kind) {
  return per(1e9 * sum_ops(a, is_copy(a, kind), bytes_of(a)),
             sum_ops(a, is_copy(a, kind), length_of(a)), "there were no such copies");
}

}  // namespace

FactValue h2d_bytes_per_step(const Analysis& a) { return copied_per_step(a, CopyKind::h2d); }

FactValue d2h_bytes_per_step(const Analysis& a) { return copied_per_step(a, CopyKind::d2h); }

FactValue h2d_bytes_per_s(const Analysis& a) { return bandwidth(a, CopyKind::h2d); }

FactValue d2h_bytes_per_s(const Analysis& a) { return bandwidth(a, CopyKind::d2h); }

FactValue um_copies_per_step(const Analysis& a) {
  return per_step(a, sum_ops(a, is_migration(a), one));
}

FactValue um_bytes_per_step(const Analysis& a) {
  return per_step(a, sum_ops(a, is_migration(a), bytes_of(a)));
}

FactValue um_copy_ns_per_step(const Analysis& a) {
  return per_step(a, sum_ops(a, is_migration(a), length_of(a)));
}

FactValue um_share_of_memory_operations(const Analysis& a) {
  const auto moves_memory = [&a](Row op) {
    return a.trace.ops.kind[op] == OpKind::copy || a.trace.ops.kind[op] == OpKind::set;
  };
  return per(sum_ops(a, is_migration(a), length_of(a)), sum_ops(a, moves_memory, length_of(a)),
             "there were no memory operations");
}

// Thrashing: 64 KiB blocks that moved to one side, back and over again. A block often moves in
// several pieces (what faulted first, and what the driver predicted next), so direction changes are
// counted, not pieces.
FactValue um_thrashed(const Analysis& a) {
  struct Moves {
    int turns = 0;
    CopyKind last = CopyKind::none;
    double bytes = 0;
  };
  std::unordered_map<std::int64_t, Moves> blocks;
  double all = 0;
  bool addressed = false;
  for (const DeviceSteps& d : a.devices)
    for (const Row op : d.ops) {
      if (!is_unified(a.trace.ops.copy[op])) continue;
      addressed = addressed || a.trace.ops.address_of(op) != 0;
      Moves& m = blocks[a.trace.ops.address_of(op) >> 16];
      const CopyKind to =
          a.trace.ops.copy[op] == CopyKind::um_d2h ? CopyKind::um_d2h : CopyKind::um_h2d;
      m.turns += m.last != CopyKind::none && m.last != to;
      m.last = to;
      m.bytes += static_cast<double>(a.trace.ops.bytes[op]);
      all += static_cast<double>(a.trace.ops.bytes[op]);
    }
  if (!addressed)
    return Unknown{"there were no migrations, or the report does not contain their addresses"};
  double thrashed = 0;
  for (const auto& [block, m] : blocks)
    if (m.turns >= 2) thrashed += m.bytes;
  return thrashed / all;
}

FactValue gpu_faults_per_step(const Analysis& a) {
  const GpuFaults& faults = a.trace.gpu_faults;
  double n = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const Spans& window = a.account.devices[d].window;
    if (window.empty()) continue;
    for (Row f = 0; f < faults.size(); ++f)
      if (faults.device[f] == a.devices[d].device && faults.start[f] >= window.front().start &&
          faults.end[f] <= window.back().end)
        n += static_cast<double>(std::max<std::int64_t>(1, faults.count[f]));
  }
  return per_step(a, n);
}

// Includes what was allocated before the recording.
FactValue peak_memory(const Analysis& a) {
  const MemoryUse& use = a.trace.memory_use;
  std::map<std::uint16_t, std::int64_t> now;
  std::int64_t peak = 0;
  for (Row r = 0; r < use.size(); ++r) {
    if (use.kind[r] != MemoryKind::device && use.kind[r] != MemoryKind::managed) continue;
    if (std::none_of(a.devices.begin(), a.devices.end(),
                     [&](const DeviceSteps& d) { return d.device == use.device[r]; }))
      continue;
    // Below 0 if the allocation of freed memory was not seen.
    std::int64_t& used = now[use.device[r]];
    used = std::max<std::int64_t>(0, used + use.bytes[r]);
    peak = std::max(peak, used);
  }
  return static_cast<double>(peak);
}

}  // namespace gh::fact

#include "trace/trace.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.hpp"

namespace gh {
namespace {

// The name of an enumerator; the table lists one for each, in order.
template <std::size_t size, class E>
const char* pick(const std::array<const char*, size>& table, E value) {
  return table[static_cast<std::size_t>(value)];
}

}  // namespace

NameId Names::intern(std::string_view text) {
  // Some template kernels have names of several kilobytes, but never this long; a longer name is
  // damaged or malicious.
  static constexpr std::size_t longest = 1 << 14;
  std::string clean = printable(text.substr(0, longest));
  const auto [it, added] = ids_.emplace(std::move(clean), static_cast<NameId>(texts_.size()));
  if (added) texts_.push_back(&it->first);
  return it->second;
}

NameId Names::find(const std::string& text) const {
  const auto it = ids_.find(text);
  return it == ids_.end() ? 0 : it->second;
}

const char* name_of(OpKind k) { return pick(std::array{"kernel", "copy", "set", "graph"}, k); }

const char* name_of(CopyKind k) {
  return pick(
      std::array{"", "h2d", "d2h", "d2d", "h2h", "p2p", "um_h2d", "um_d2h", "um_d2d", "other"}, k);
}

const char* name_of(MemoryKind k) {
  return pick(std::array{"pageable", "pinned", "device", "array", "managed", "unknown"}, k);
}

const char* name_of(MigrationCause c) {
  return pick(std::array{"", "prefetch", "fault", "speculative", "eviction", "access_counter"}, c);
}

const char* name_of(Source s) {
  return pick(std::array{"kernels", "copies", "unified_copies", "calls", "ranges", "os_calls",
                         "gpu_faults", "cpu_faults", "memory_use", "samples", "graph_nodes",
                         "cpu_stretches", "host_samples", "python_lock"},
              s);
}

const char* shown_name_of(Source s) {
  return pick(std::array{"kernels", "memory copies", "unified memory migrations", "CUDA calls",
                         "ranges", "OS runtime calls", "GPU page faults", "CPU page faults",
                         "GPU memory use", "GPU metrics", "CUDA graphs traced per node",
                         "context switches", "CPU samples", "GIL tracing"},
              s);
}

std::size_t Trace::rows_of(Source s) const {
  const auto count = [&](auto wanted) {
    std::size_t n = 0;
    for (Row r = 0; r < ops.size(); ++r) n += wanted(r);
    return n;
  };
  switch (s) {
    case Source::kernels:
      return count(
          [&](Row r) { return ops.kind[r] == OpKind::kernel || ops.kind[r] == OpKind::graph; });
    case Source::copies:
      return count([&](Row r) { return ops.kind[r] == OpKind::copy && !is_unified(ops.copy[r]); });
    case Source::unified_copies: return count([&](Row r) { return is_unified(ops.copy[r]); });
    case Source::calls: return calls.size();
    case Source::ranges: return ranges.size();
    case Source::os_calls: return os_calls.size();
    case Source::gpu_faults: return gpu_faults.size();
    case Source::cpu_faults: return cpu_faults.size();
    case Source::memory_use: return memory_use.size();
    case Source::samples: return samples.size();
    case Source::cpu_stretches: return cpu_stretches.size();
    case Source::host_samples: return host_samples.size();
    case Source::python_lock: return python_lock.size();
    default: return 0;
  }
}

std::string Trace::thread_label(std::uint16_t thread) const {
  if (thread == no_index) return "";
  const Thread& t = threads[thread];
  return t.name.empty() ? fmt::format("thread {}", t.tid) : fmt::format("{} ({})", t.name, t.tid);
}

}  // namespace gh

// Imports kernels, copies, memsets, synchronizations, and GPU memory.
#include <charconv>
#include <cmath>

#include "read/kineto/importer.hpp"
#include "read/kineto/values.hpp"

namespace gh::kineto {
namespace {

constexpr std::int64_t most_ordinal = 100'000, most_bytes = std::int64_t{1} << 50;

bool is_device(const std::optional<std::int64_t>& id) {
  return id && *id >= 0 && *id <= most_ordinal;
}

MemoryKind memory_of(std::string_view word) {
  const ByText<MemoryKind>& memories = schema().copy_memories;
  const auto it = memories.find(word);
  return it == memories.end() ? MemoryKind::unknown : it->second;
}

// The direction in "Memcpy HtoD (Pinned -> Device)".
CopyKind direction_of(std::string_view name) {
  for (const auto& [word, direction] : schema().copy_directions) {
    if (name.find(word) != name.npos) return direction;
  }
  return CopyKind::other;
}

}  // namespace

bool Importer::put_op(Category c, const Event& e, Ns start, Ns end) {
  const auto device = integer(e[Argument::device].empty() ? e.pid : e[Argument::device]),
             stream_id = integer(e[Argument::stream].empty() ? e.tid : e[Argument::stream]);
  if (!is_device(device)) return false;
  Ops& o = trace_.ops;
  o.start.push_back(start);
  o.end.push_back(end);
  o.stream.push_back(stream(*device, stream_id.value_or(-1)));
  o.correlation.push_back(correlation_of(e));
  if (c == Category::kernel) {
    o.kind.push_back(OpKind::kernel);
    o.name.push_back(name(e.name));
    o.blocks.push_back(product_of(e[Argument::grid]));
    o.threads.push_back(
        static_cast<std::uint16_t>(std::min<std::uint32_t>(product_of(e[Argument::block]), 65535)));
    put_occupancy(e);
    put_resources(e);
    o.blocks_x.resize(o.size() - 1);
    o.blocks_x.push_back(first_of(e[Argument::grid]));
    put_group(e);
  } else {
    const bool is_copy = c == Category::copy;
    o.kind.push_back(is_copy ? OpKind::copy : OpKind::set);
    o.bytes.push_back(
        std::clamp<std::int64_t>(integer(e[Argument::bytes]).value_or(0), 0, most_bytes));
    o.copy.push_back(is_copy ? direction_of(e.name) : CopyKind::none);
    o.source.push_back(is_copy ? memory_of(between(e.name, "(", " ->")) : MemoryKind::unknown);
    o.target.push_back(
        memory_of(is_copy ? between(e.name, "-> ", ")") : between(e.name, "(", ")")));
  }
  complete_rows(o);
  return true;
}

// Reads what the profiler derives from a kernel's grid, registers and shared memory.
void Importer::put_occupancy(const Event& e) {
  Ops& o = trace_.ops;
  const auto percent = integer(e[Argument::occupancy]);
  const bool known = percent && *percent >= 0 && *percent <= 100;
  if (known) {
    o.occupancy.resize(o.size() - 1, no_occupancy);
    o.occupancy.push_back(static_cast<std::uint8_t>(*percent));
  }
  // Blocks divided by blocks per SM gives the number of SMs, more exactly for larger grids.
  double per_sm = 0;
  const std::string_view token = unquoted(e[Argument::blocks_per_sm]);
  std::from_chars(token.data(), token.data() + token.size(), per_sm);
  auto& [blocks, sms] = sms_[trace_.streams[o.stream.back()].device];
  if (per_sm > 0 && o.blocks.back() > blocks && o.blocks.back() / per_sm < 10'000) {
    blocks = o.blocks.back();
    sms = static_cast<int>(std::lround(blocks / per_sm));
  }
}

// The columns start with the first kernel that has values for them.
void Importer::put_resources(const Event& e) {
  constexpr std::int64_t most_registers = 255, most_shared_bytes = 1 << 30;
  Ops& o = trace_.ops;
  const auto registers = integer(e[Argument::registers]),
             shared = integer(e[Argument::shared_bytes]);
  if (!registers && o.registers.empty()) return;
  o.registers.resize(o.size() - 1);
  o.shared_bytes.resize(o.size() - 1);
  o.registers.push_back(static_cast<std::uint8_t>(
      std::clamp<std::int64_t>(registers.value_or(0), 0, most_registers)));
  o.shared_bytes.push_back(static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(shared.value_or(0), 0, most_shared_bytes)));
}

// Reads the process group of a collective.
void Importer::put_group(const Event& e) {
  constexpr std::int64_t most_ranks = 1 << 24;
  Ops& o = trace_.ops;
  const auto size = integer(e[Argument::group_size]);
  if (!size || *size <= 0 || *size > most_ranks) return;
  // In point-to-point communication only the sender and the receiver take part.
  const std::string_view what = unquoted(e[Argument::collective]);
  const bool to_one = what == "send" || what == "recv";
  const Group group{name(std::string(unquoted(e[Argument::group_name])) + " " +
                         std::string(unquoted(e[Argument::group_ranks]))),
                    to_one ? 2 : static_cast<std::uint32_t>(*size)};
  const auto [it, added] = groups_.try_emplace({group.name, group.ranks},
                                               static_cast<std::uint32_t>(trace_.groups.size()));
  if (added) trace_.groups.push_back(group);
  o.group.resize(o.size() - 1, no_group);
  o.group.push_back(it->second);
}

bool Importer::put_sync(const Event& e, Ns start, Ns end) {
  const auto device = integer(e[Argument::device]);
  if (!is_device(device)) return false;
  Syncs& s = trace_.syncs;
  s.start.push_back(start);
  s.end.push_back(end);
  s.correlation.push_back(correlation_of(e));
  s.stream.push_back(stream(*device, integer(e[Argument::stream]).value_or(-1)));
  return true;
}

bool Importer::put_memory(const Event& e, Ns start) {
  constexpr std::int64_t cuda = 1;  // other types are host memory
  const auto reserved = integer(e[Argument::reserved]),
             device = integer(e[Argument::memory_device]), kind = integer(e[Argument::memory_kind]);
  if (!kind) return false;
  if (*kind != cuda) return true;
  if (!reserved || !is_device(device) || *reserved < 0 || *reserved > most_bytes) return false;
  reserved_.push_back({*device, start, *reserved});
  put_allocation(e, start, reserved_.back());
  return true;
}

// Events of memory that ran out have no address, and those of some versions no bytes.
void Importer::put_allocation(const Event& e, Ns start, const Reserved& reserved) {
  const auto address = integer(e[Argument::address]), bytes = integer(e[Argument::bytes]),
             in_use = integer(e[Argument::allocated]);
  if (!address || *address == 0 || !bytes || *bytes == 0 || *bytes < -most_bytes ||
      *bytes > most_bytes) {
    return;
  }
  Allocations& a = trace_.allocations;
  a.by = Allocator::framework;
  a.start.push_back(start);
  a.address.push_back(*address);
  a.bytes.push_back(*bytes);
  a.in_use.push_back(in_use && *in_use >= 0 && *in_use <= most_bytes ? *in_use : -1);
  a.reserved.push_back(reserved.bytes);
  a.pool.push_back(0);
  allocation_devices_.push_back(reserved.device);
  a.process.push_back(0);
  a.thread.push_back(thread_of(e));
  a.kind.push_back(MemoryKind::device);
  a.correlation.push_back(0);
}

// Turns the memory that the allocator had reserved into what it took from CUDA and gave back.
void Importer::add_memory_use() {
  std::stable_sort(reserved_.begin(), reserved_.end(), [](const Reserved& a, const Reserved& b) {
    return std::tie(a.device, a.start) < std::tie(b.device, b.start);
  });
  for (std::size_t i = 0; i < reserved_.size(); ++i) {
    const Reserved& r = reserved_[i];
    const bool first = i == 0 || reserved_[i - 1].device != r.device;
    const std::int64_t change = r.bytes - (first ? 0 : reserved_[i - 1].bytes);
    if (change == 0) continue;
    MemoryUse& m = trace_.memory_use;
    m.start.push_back(r.start);
    m.bytes.push_back(change);
    m.device.push_back(device(r.device));
    m.kind.push_back(MemoryKind::device);
    m.correlation.push_back(0);
  }
  // Only now, so that GPUs that did work are numbered first.
  for (const std::int64_t id : allocation_devices_) trace_.allocations.device.push_back(device(id));
}

}  // namespace gh::kineto

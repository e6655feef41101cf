#include "analysis/tables/layer_memory.hpp"

#include <algorithm>

#include "analysis/structure/structure.hpp"

namespace gh {
namespace {

// Of all memory of a layer; sums of such stay within 64 bits.
constexpr std::int64_t most_bytes = std::int64_t{1} << 44;

void add_bytes(std::int64_t& sum, std::int64_t bytes) {
  sum = std::min(most_bytes, sum + std::min(most_bytes, bytes));
}

// What a moment of a program belongs to, for its memory.
MemoryPhase phase_of(const Analysis& a, const ProgramLayers& layers, OriginId id) {
  const Origin& o = layers.origin(id);
  if (o.pass == Pass::forward) return MemoryPhase::forward;
  if (o.pass == Pass::backward) return MemoryPhase::backward;
  for (LayerId l = o.layer; l != outside; l = layers[l].parent)
    if (a.classes.is_phase(Phase::optimizer, layers[l].name)) return MemoryPhase::optimizer;
  return MemoryPhase::other;
}

}  // namespace

LayerMemory layer_memory_of(const Analysis& a) {
  LayerMemory memory;
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    if (auto timeline = memory_timeline(a, d)) {
      memory.devices.emplace_back();
      memory.devices.back().timeline = std::move(*timeline);
    }
  if (memory.devices.empty()) return memory;
  const ProgramLayers& layers = a.structure().layers();
  memory.by_layer.resize(layers.all().size());
  // Only training has passes to tell apart.
  const bool has_passes = !a.program.is("training") ||
                          std::any_of(layers.origins().begin(), layers.origins().end(),
                                      [](const Origin& o) { return o.pass == Pass::backward; });
  for (DeviceMemory& m : memory.devices) {
    std::vector<BlockPhases> phases;
    for (const LiveBlock& b : m.timeline.blocks) {
      const OriginId allocated = layers.of_allocation(b.allocated_at, b.allocated_by),
                     freed = layers.of_allocation(b.freed_at, b.freed_by);
      const auto phase = [&](std::uint16_t thread, OriginId origin) {
        return thread == no_index || !has_passes ? MemoryPhase::unknown
                                                 : phase_of(a, layers, origin);
      };
      phases.push_back({phase(b.allocated_by, allocated), phase(b.freed_by, freed)});
      if (is_on_gpu(b.kind)) add_bytes(memory.by_layer[layers.origin(allocated).layer], b.bytes);
    }
    m.classes = classify(m.timeline, phases);
    m.room = room_of(m.timeline, m.classes);
    m.growth_bytes = growth_per_step(m.timeline);
    add_bytes(memory.by_layer[outside], m.timeline.before_bytes);
  }
  return memory;
}

}  // namespace gh

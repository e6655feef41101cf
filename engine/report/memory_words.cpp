#include "report/memory_words.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/phrases.hpp"

namespace gh {
namespace {

// Less is what CUDA itself needs for more code.
constexpr std::int64_t least_growth_told = 1 << 20;

std::string size_text(std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

std::string unused_text(const MemoryTimeline& m) {
  const std::int64_t unused = m.unused_bytes().value_or(0);
  std::string text;
  if (unused > 0)
    text = fmt::format(
        "Of what was reserved at the peak, {} ({}) were not in use: kept for later, or in pieces "
        "too small for what is asked for.",
        size_text(unused),
        percent(static_cast<double>(unused) / static_cast<double>(m.peak.reserved_bytes)));
  if (m.has_unused && m.most_unused.unused_bytes() > unused)
    text += fmt::format("{}At {} {} were reserved and not in use, more than at any other time.",
                        text.empty() ? "" : " ", seconds(m.most_unused.at),
                        size_text(m.most_unused.unused_bytes()));
  return text;
}

// How much larger than itself: "by at most 40 %", "to at most 13 times its size".
std::string growth_text(double growth) {
  return growth < 1 ? "by at most " + percent(growth)
                    : fmt::format("to at most {:.1f} times its size", 1 + growth);
}

std::string room_text(const MemoryRoom& room) {
  std::string text = fmt::format(
      "The batch could grow {}: what grows with it, activations and temporaries, takes {} at the "
      "peak, and the GPU has {} that are not reserved.",
      growth_text(room.growth), size_text(room.growing_bytes), size_text(room.free_bytes));
  if (percent(room.most_growth) != percent(room.growth))
    text += fmt::format(" With all that is reserved and not in use, {}.",
                        growth_text(room.most_growth));
  return text;
}

}  // namespace

MemoryClassWords words_of(MemoryClass c, Allocator allocator) {
  switch (c) {
    case MemoryClass::before:
      return {"from before the first step",
              allocator == Allocator::framework
                  ? "in use through all steps: parameters, the optimizer's state, buffers"
                  : "in use through all steps"};
    case MemoryClass::gradient: return {"gradients", "made in backward, and in use after it"};
    case MemoryClass::activation: return {"activations", "made in forward, freed in backward"};
    case MemoryClass::output:
      return {"outputs that are kept", "made in forward, and not freed by backward"};
    case MemoryClass::temporary: return {"temporaries", "made and freed within one part of a step"};
    case MemoryClass::optimizer:
      return {"state of the optimizer", "made by the optimizer, and kept"};
    case MemoryClass::kept:
      return {"kept from step to step", "made in a step, not by the optimizer"};
    case MemoryClass::other: return {"others", "made elsewhere in a step, such as its input"};
    default: return {"unknown", "what made it or freed it was not recorded"};
  }
}

std::vector<std::string> memory_sentences(const LayersMemory& memory, const Analysis& a) {
  const MemoryTimeline& m = memory.timeline;
  const UnitWords words = a.words();
  std::vector<std::string> said;
  if (memory.growth_bytes && *memory.growth_bytes >= least_growth_told)
    said.push_back(fmt::format(
        "What is in use when {} begins grows by at least {} {}: something is held on to.", words.a,
        size_text(*memory.growth_bytes), words.per));
  if (memory.room) said.push_back(room_text(*memory.room));
  if (const std::string unused = unused_text(m); !unused.empty()) said.push_back(unused);
  if (m.allocator == Allocator::cuda && a.program.runs_models())
    said.emplace_back(
        "These are blocks of CUDA: all that the framework's allocator holds counts as in use.");
  if (m.missed_bytes > 0)
    said.push_back(
        fmt::format("The recording lacks frees: its blocks come to {} more than the "
                    "allocator says was in use.",
                    size_text(m.missed_bytes)));
  return said;
}

}  // namespace gh

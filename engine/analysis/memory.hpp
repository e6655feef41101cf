// GPU memory over time, from the blocks that an allocator handed out and took back: how much was in
// use, what the blocks were that were in use at the peak, and how much more would fit.
//
// The allocator is PyTorch's, or CUDA itself (Allocations::by). To CUDA, all that a framework's
// allocator has reserved is in use: such a report shows pieces of 2 MiB and more, not tensors.
//
// Two steps, so that the caller can find out in between what the program was doing when it took and
// gave back each block:
//   memory_timeline  the course of the memory, and the blocks at its peak
//   classify         what these blocks were for
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// Whether memory of a kind takes room on the GPU: managed memory may.
inline bool is_on_gpu(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::array || kind == MemoryKind::managed;
}

/// The memory at one moment.
struct MemoryPoint {
  Ns at = 0;
  std::int64_t live_bytes = 0;  ///< in use: handed out, not yet taken back
  /// What the allocator has taken from the GPU, in use or not; negative if unknown. Of a pool of
  /// CUDA's, as of its last event: what it gives back at a synchronization is not recorded.
  std::int64_t reserved_bytes = -1;
  /// Reserved, not in use: cached for later blocks, or too fragmented for them. The report does not
  /// tell these apart.
  std::int64_t unused_bytes() const {
    return reserved_bytes < 0 ? 0 : std::max<std::int64_t>(0, reserved_bytes - live_bytes);
  }
};

/// A block that was in use at the peak.
struct LiveBlock {
  std::int64_t bytes = 0;
  MemoryKind kind = MemoryKind::device;
  Ns allocated_at = 0;  ///< CUDA's blocks: at or before 0 if before the recording
  Ns freed_at = open_end;
  std::uint16_t allocated_by = no_index, freed_by = no_index;  ///< threads; no_index if unknown
  bool is_whole = true;  ///< false: maybe a piece that a framework's allocator divides
};

struct StepMemory {
  std::int64_t number = 0;  ///< as in Step
  Ns begin = 0;             ///< when the host began it
  std::int64_t begin_bytes = 0, peak_bytes = 0;
};

/// On one device. Bytes are those of the GPU's memory, managed memory included, unless they say
/// otherwise.
struct MemoryTimeline {
  Allocator allocator = Allocator::cuda;
  std::uint16_t device = 0;       ///< index into Trace::devices
  std::int64_t device_bytes = 0;  ///< what the GPU has; 0 if unknown
  /// On the host, which allocates ahead of the GPU: from the begin of the first step to what it
  /// launches last in the last one.
  Span window;
  Ns steps_end = 0;  ///< when the GPU has done the last step

  MemoryPoint peak;  ///< the first moment of the window with the most in use
  /// In use at the peak, in order of allocation. Those of pinned memory, which is the host's, are
  /// here too, but in no sum.
  std::vector<LiveBlock> blocks;
  /// In use at the peak, known only as a sum: from before the recording.
  std::int64_t before_bytes = 0;
  /// How much more the blocks are than what the allocator says was in use at the peak: the
  /// recording lacks frees.
  std::int64_t missed_bytes = 0;
  /// The blocks at the peak by kind of memory, the host's included; the largest first.
  std::vector<std::pair<MemoryKind, std::int64_t>> kinds;

  /// Whether what is reserved differs from what is in use: always for a framework's allocator; for
  /// CUDA only where there are pools.
  bool has_unused = false;
  MemoryPoint most_unused;  ///< the first moment of the window with the most unused
  std::vector<StepMemory> steps;
  std::vector<MemoryPoint> curve;  ///< of the window, for drawing: each holds until the next

  /// At the peak; nothing where it is not known.
  std::optional<std::int64_t> unused_bytes() const {
    if (!has_unused || peak.reserved_bytes < 0) return std::nullopt;
    return peak.unused_bytes();
  }
};

/// Of the `device`-th analysed device; nothing if the report has no blocks of it. The peak is that
/// of whole moments: what is taken and given back at the same nanosecond was never in use. The
/// curve has at most `points` points: of each of points / 2 equal stretches, the moment with the
/// most in use, and the last. Linear in the number of events.
std::optional<MemoryTimeline> memory_timeline(const Analysis& analysis, std::size_t device,
                                              std::size_t points = 400);

/// The least by which the memory in use grew from the begin of one step to that of the next:
/// something leaks, or is collected for later. Nothing if it did not grow in every step, or there
/// are fewer than three.
std::optional<std::int64_t> growth_per_step(const MemoryTimeline& memory);

/// What a training program was doing at some moment.
enum class MemoryPhase : std::uint8_t {
  unknown,  ///< nothing tells
  other,    ///< none of the following
  forward,
  backward,
  optimizer,
};

/// When a block was handed out and when it was taken back; `freed` does not matter if it never was.
struct BlockPhases {
  MemoryPhase allocated = MemoryPhase::unknown, freed = MemoryPhase::unknown;
};

/// A block that may be a piece of a framework's allocator can only be of `before`, `temporary`,
/// `kept` and `unknown`: what is in it may come from any phase.
enum class MemoryClass : std::uint8_t {
  /// Allocated before the first analysed step, and in use until the GPU has done the last one:
  /// parameters, state of the optimizer, buffers. And all that is known only as a sum.
  before,
  /// Allocated in backward and freed outside of the backward that made it. Known where backward did
  /// not free it within the step; or where something else than backward ran at the peak.
  gradient,
  /// Allocated in forward, freed in backward of the same step.
  activation,
  /// Allocated in forward, and freed neither in it nor in the same step's backward: outputs that
  /// the program holds on to.
  output,
  /// Allocated and freed in the same phase of the same step, which also ran at the peak.
  temporary,
  /// Allocated in the optimizer, and in use from there until the GPU has done the last step, so
  /// through at least one whole step.
  optimizer,
  /// The same of what was allocated elsewhere in a step.
  kept,
  /// The phases are known, and it is none of these: an input, for example.
  other,
  /// The phases are not known; or the recording ends too soon to tell, because the block was
  /// allocated in the last step and not freed.
  unknown,
  count
};
const char* name_of(MemoryClass);
inline constexpr auto memory_class_count = static_cast<std::size_t>(MemoryClass::count);

struct MemoryClasses {
  std::vector<MemoryClass> of_block;  ///< parallel to the blocks
  /// At the peak, without pinned memory; `before` includes what is known only as a sum.
  std::array<std::int64_t, memory_class_count> bytes{};
  std::int64_t operator[](MemoryClass c) const { return bytes[static_cast<std::size_t>(c)]; }
};

/// `phases` is parallel to the blocks. Which phase ran at the peak follows from the blocks that
/// were allocated at that moment.
MemoryClasses classify(const MemoryTimeline& memory, const std::vector<BlockPhases>& phases);

/// How much larger a batch could be at most, if of what is in use at the peak the activations and
/// temporaries grow with the batch, and the rest does not.
struct MemoryRoom {
  std::int64_t growing_bytes = 0;  ///< activations and temporaries at the peak
  std::int64_t free_bytes = 0;     ///< the GPU's memory less what is reserved at the peak
  /// The same, and what is reserved without being in use. CUDA itself and other programs need some
  /// of both, which the report does not say.
  std::int64_t most_free_bytes = 0;
  /// What of itself the batch could grow by at most, 1 being twice the batch: into `free_bytes`,
  /// and into `most_free_bytes`.
  double growth = 0, most_growth = 0;
};

/// Nothing where the GPU's memory is unknown, or what is reserved, or no block is known to be an
/// activation.
std::optional<MemoryRoom> room_of(const MemoryTimeline& memory, const MemoryClasses& classes);

}  // namespace gh

#include "analysis/memory.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <unordered_map>

namespace gh {
namespace {

// Sums stay far from overflowing, whatever a report claims.
constexpr std::int64_t most_memory_bytes = std::int64_t{1} << 60;
std::int64_t limited_bytes(std::int64_t bytes) {
  return std::clamp(bytes, -most_memory_bytes, most_memory_bytes);
}

// Managed memory may be on either side, and is counted where it is meant to be used.
// The rows of one device, joined to blocks: which row took back what which other handed out.
class BlockRows {
 public:
  // What a row changes: bytes in use on the GPU, and those of them in pools.
  struct Change {
    std::int64_t live = 0, pooled = 0;
  };

  BlockRows(const Allocations& rows, std::uint16_t device) : rows_(rows) {
    for (Row r = 0; r < rows.size(); ++r)
      if (rows.device[r] == device && rows.bytes[r] != 0) of_device_.push_back(r);
    changes_.resize(of_device_.size());
    taken_back_.resize(of_device_.size(), no_row);
    for (std::size_t i = 0; i < of_device_.size();) i = join_run(i);
  }

  std::size_t size() const { return of_device_.size(); }
  Row row(std::size_t i) const { return of_device_[i]; }
  const Change& change(std::size_t i) const { return changes_[i]; }
  // What was taken back without having been handed out, so it had been before the recording.
  const Change& unseen() const { return unseen_; }

  // Calls take(row that handed out, row that took back or no_row), in order, with what was in use
  // right after a moment.
  template <class Take>
  void each_live_at(Ns at, Take take) const {
    for (std::size_t i = 0; i < size() && rows_.start[row(i)] <= at; ++i) {
      const Row back = taken_back_[i];
      if (rows_.bytes[row(i)] > 0 && (back == no_row || rows_.start[back] > at)) take(row(i), back);
    }
  }

 private:
  struct Key {
    std::uint16_t process;
    std::int64_t address;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      return std::hash<std::int64_t>()(k.address ^ (std::int64_t{k.process} << 48));
    }
  };

  Key key(std::size_t i) const { return {rows_.process[row(i)], rows_.address[row(i)]}; }

  // Rows of the same moment, call and address are in no order: the report says only that all of
  // them happened. Each is taken when it can happen. `seal` has put what was taken back first.
  std::size_t join_run(std::size_t first) {
    const Row r = row(first);
    std::size_t end = first, out = first;
    for (; end < size() && rows_.start[row(end)] == rows_.start[r] && key(end) == key(first) &&
           rows_.correlation[row(end)] == rows_.correlation[r];
         ++end)
      out += rows_.bytes[row(end)] < 0;
    std::size_t back = first, hand = out;
    while (back < out || hand < end) {
      const bool in_use = live_.contains(key(first));
      if (back < out && (in_use || hand == end))
        take_back(back++);
      else
        hand_out(hand++);
    }
    return end;
  }

  void hand_out(std::size_t i) {
    const auto [it, is_new] = live_.try_emplace(key(i), i);
    if (!is_new) {  // what was there was taken back without a word
      add(i, row(it->second), -1);
      taken_back_[it->second] = row(i);
      it->second = i;
    }
    add(i, row(i), 1);
  }

  void take_back(std::size_t i) {
    const auto it = live_.find(key(i));
    if (it == live_.end()) {
      add(i, row(i), 1);
      unseen_ = {limited_bytes(unseen_.live - changes_[i].live),
                 limited_bytes(unseen_.pooled - changes_[i].pooled)};
      return;
    }
    add(i, row(it->second), -1);
    taken_back_[it->second] = row(i);
    live_.erase(it);
  }

  // Adds a row's bytes, which are negative where it took back.
  void add(std::size_t i, Row r, int sign) {
    if (!is_on_gpu(rows_.kind[r])) return;
    const std::int64_t bytes = sign * limited_bytes(rows_.bytes[r]);
    changes_[i].live += bytes;
    if (rows_.pool[r] != 0) changes_[i].pooled += bytes;
  }

  const Allocations& rows_;
  std::vector<Row> of_device_;
  std::vector<Change> changes_;  // parallel
  std::vector<Row> taken_back_;  // parallel; only of rows that handed out
  std::unordered_map<Key, std::size_t, Hash> live_;
  Change unseen_;
};

// What was in use after each moment. A framework's allocator says how much that is; otherwise it is
// the sum of the blocks.
class MemoryCourse {
 public:
  MemoryCourse(const Allocations& rows, const BlockRows& blocks) : rows_(rows), blocks_(blocks) {
    now_.live_bytes = blocks.unseen().live;
    pooled_bytes_ = blocks.unseen().pooled;
    if (rows.by == Allocator::cuda) reserved_by_cuda();
    find_start();
  }

  bool has_pools() const { return !pools_.empty(); }

  // Calls take(point) with the state before all events and after each moment with some.
  template <class Take>
  void each(Take take) {
    now_.at = std::numeric_limits<Ns>::min();
    take(now_);
    for (std::size_t i = 0; i < blocks_.size();) {
      i = next_moment(i);
      take(now_);
    }
  }

 private:
  // A row that is alone at its moment, with what was in use after it, tells what had been before
  // all.
  void find_start() {
    std::int64_t changed = 0;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      changed = limited_bytes(changed + blocks_.change(i).live);
      const Ns at = at_of(i);
      const bool alone =
          (i == 0 || at_of(i - 1) != at) && (i + 1 == blocks_.size() || at_of(i + 1) != at);
      if (!alone || in_use(i) < 0) continue;
      now_.live_bytes = std::max<std::int64_t>(0, limited_bytes(in_use(i) - changed));
      return;
    }
  }

  std::size_t next_moment(std::size_t i) {
    now_.at = at_of(i);
    std::int64_t said = -1, reserved = -1;
    bool agrees = false;
    const std::size_t first = i;
    for (; i < blocks_.size() && at_of(i) == now_.at; ++i) {
      now_.live_bytes = limited_bytes(now_.live_bytes + blocks_.change(i).live);
      if (rows_.by == Allocator::cuda) add_pool(i);
    }
    for (std::size_t k = first; k < i && rows_.by == Allocator::framework; ++k) {
      if (agrees) break;  // the last of the moment, whose order is not known
      agrees = in_use(k) == now_.live_bytes;
      if (in_use(k) >= 0) said = in_use(k);
      if (rows_.reserved[blocks_.row(k)] >= 0) reserved = rows_.reserved[blocks_.row(k)];
    }
    if (said >= 0) now_.live_bytes = limited_bytes(said);
    if (reserved >= 0) now_.reserved_bytes = limited_bytes(reserved);
    if (rows_.by == Allocator::cuda) reserved_by_cuda();
    return i;
  }

  void add_pool(std::size_t i) {
    const Row r = blocks_.row(i);
    pooled_bytes_ = limited_bytes(pooled_bytes_ + blocks_.change(i).pooled);
    if (rows_.pool[r] == 0 || rows_.reserved[r] < 0) return;
    std::int64_t& size = pools_[{rows_.process[r], rows_.pool[r]}];
    const std::int64_t now = limited_bytes(rows_.reserved[r]);
    pools_bytes_ = limited_bytes(pools_bytes_ + now - size);
    size = now;
  }

  // Blocks outside of pools are reserved one by one.
  void reserved_by_cuda() {
    now_.reserved_bytes =
        limited_bytes(now_.live_bytes - pooled_bytes_ + std::max(pools_bytes_, pooled_bytes_));
  }

  Ns at_of(std::size_t i) const { return rows_.start[blocks_.row(i)]; }
  std::int64_t in_use(std::size_t i) const { return rows_.in_use[blocks_.row(i)]; }

  const Allocations& rows_;
  const BlockRows& blocks_;
  MemoryPoint now_;
  std::int64_t pooled_bytes_ = 0, pools_bytes_ = 0;
  std::map<std::pair<std::uint16_t, std::int64_t>, std::int64_t> pools_;  // size, by process, pool
};

// Fills in what follows from the course: the peak, the steps, the curve.
class MemoryWindow {
 public:
  MemoryWindow(MemoryTimeline& to, std::size_t points)
      : to_(to), stretches_(std::max<std::int64_t>(1, static_cast<std::int64_t>(points / 2))) {}

  void take(const MemoryPoint& point) {
    if (point.at > to_.window.end) return;
    while (step_ < to_.steps.size() && to_.steps[step_].begin < point.at) begin_step();
    if (point.at > to_.window.start) {
      open();
      add(point);
    }
    last_ = point;
  }

  void finish() {
    while (step_ < to_.steps.size()) begin_step();
    open();
    end_stretch();
  }

 private:
  void begin_step() {
    StepMemory& step = to_.steps[step_++];
    step.begin_bytes = step.peak_bytes = last_.live_bytes;
  }

  // What was in use when the window began.
  void open() {
    if (is_open_) return;
    is_open_ = true;
    last_.at = to_.window.start;
    to_.peak = to_.most_unused = highest_ = last_;
    add(last_);
  }

  void add(const MemoryPoint& point) {
    if (point.live_bytes > to_.peak.live_bytes) to_.peak = point;
    if (point.unused_bytes() > to_.most_unused.unused_bytes()) to_.most_unused = point;
    if (step_ > 0) {
      std::int64_t& peak = to_.steps[step_ - 1].peak_bytes;
      peak = std::max(peak, point.live_bytes);
    }
    const std::int64_t width = std::max<Ns>(1, to_.window.length() / stretches_ + 1);
    const std::int64_t stretch = (point.at - to_.window.start) / width;
    if (stretch != stretch_) {
      end_stretch();
      stretch_ = stretch;
      highest_ = point;
    }
    if (point.live_bytes > highest_.live_bytes) highest_ = point;
    latest_ = point;
  }

  void end_stretch() {
    to_.curve.push_back(highest_);
    if (latest_.at > highest_.at) to_.curve.push_back(latest_);
  }

  MemoryTimeline& to_;
  const std::int64_t stretches_;
  std::int64_t stretch_ = 0;
  std::size_t step_ = 0;  // the next one
  bool is_open_ = false;
  MemoryPoint last_, highest_, latest_;  // of all; of the stretch
};

void add_blocks(const Allocations& rows, const BlockRows& blocks, MemoryTimeline& memory) {
  std::array<std::int64_t, static_cast<std::size_t>(MemoryKind::unknown) + 1> by_kind{};
  std::int64_t sum = 0;
  blocks.each_live_at(memory.peak.at, [&](Row out, Row back) {
    LiveBlock block;
    block.bytes = limited_bytes(rows.bytes[out]);
    block.kind = rows.kind[out];
    block.allocated_at = rows.start[out];
    block.allocated_by = rows.thread[out];
    // What frameworks divide comes from cudaMalloc; what comes from a pool, they take as it is.
    block.is_whole = rows.by == Allocator::framework || rows.pool[out] != 0;
    if (back != no_row) {
      block.freed_at = rows.start[back];
      if (rows.bytes[back] < 0) block.freed_by = rows.thread[back];
    }
    std::int64_t& of_kind = by_kind[static_cast<std::size_t>(block.kind)];
    of_kind = limited_bytes(of_kind + block.bytes);
    if (is_on_gpu(block.kind)) sum = limited_bytes(sum + block.bytes);
    memory.blocks.push_back(block);
  });
  memory.before_bytes = std::max<std::int64_t>(0, memory.peak.live_bytes - sum);
  memory.missed_bytes = std::max<std::int64_t>(0, sum - memory.peak.live_bytes);
  for (std::size_t k = 0; k < by_kind.size(); ++k)
    if (by_kind[k] > 0) memory.kinds.emplace_back(static_cast<MemoryKind>(k), by_kind[k]);
  std::stable_sort(memory.kinds.begin(), memory.kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
}

// What the host launches in a step comes before what it allocates for the next.
Ns last_launch(const Trace& trace, const DeviceSteps& device) {
  const Step& step = device.steps.back();
  Ns last = step.host_start;
  for (const Row op : device.ops) {
    const Row call = trace.ops.call[op];
    const bool is_in_step =
        trace.ops.start[op] >= step.span.start && trace.ops.end[op] <= step.span.end;
    if (is_in_step && call != no_row) last = std::max(last, trace.calls.end[call]);
  }
  return last > step.host_start ? std::min(last, step.span.end) : step.span.end;
}

// The phase of a whole moment: that of all blocks then allocated, if they agree.
MemoryPhase phase_at_peak(const MemoryTimeline& memory, const std::vector<BlockPhases>& phases) {
  std::optional<MemoryPhase> found;
  for (std::size_t b = 0; b < memory.blocks.size() && b < phases.size(); ++b) {
    if (memory.blocks[b].allocated_at != memory.peak.at) continue;
    if (found && *found != phases[b].allocated) return MemoryPhase::unknown;
    found = phases[b].allocated;
  }
  return found.value_or(MemoryPhase::unknown);
}

// What a block was for that did not outlast the steps, if both its phases are known.
MemoryClass class_by_phases(const BlockPhases& phases, bool same_step, MemoryPhase at_peak) {
  const auto [made, freed] = phases;
  if (made == MemoryPhase::unknown || freed == MemoryPhase::unknown) return MemoryClass::unknown;
  if (made == freed && same_step) {
    if (at_peak == MemoryPhase::unknown) return MemoryClass::unknown;
    if (at_peak == made) return MemoryClass::temporary;
  }
  if (made == MemoryPhase::backward) return MemoryClass::gradient;
  if (made != MemoryPhase::forward) return MemoryClass::other;
  return freed == MemoryPhase::backward && same_step ? MemoryClass::activation
                                                     : MemoryClass::output;
}

MemoryClass class_of_piece(MemoryClass found) {
  if (found == MemoryClass::optimizer) return MemoryClass::kept;
  const bool holds =
      found == MemoryClass::before || found == MemoryClass::temporary || found == MemoryClass::kept;
  return holds ? found : MemoryClass::unknown;
}

}  // namespace

const char* name_of(MemoryClass c) {
  static constexpr std::array<const char*, memory_class_count> names{
      "before",    "gradient", "activation", "output", "temporary",
      "optimizer", "kept",     "other",      "unknown"};
  return names[static_cast<std::size_t>(c)];
}

std::optional<MemoryTimeline> memory_timeline(const Analysis& analysis, std::size_t device,
                                              std::size_t points) {
  const DeviceSteps& steps = analysis.devices[device];
  const Allocations& rows = analysis.trace.allocations;
  const BlockRows blocks(rows, steps.device);
  if (blocks.size() == 0 || steps.steps.empty()) return std::nullopt;

  MemoryTimeline memory;
  memory.allocator = rows.by;
  memory.device = steps.device;
  memory.device_bytes =
      std::max<std::int64_t>(0, analysis.trace.devices[steps.device].memory_bytes);
  const Ns begin = steps.steps.front().host_start;
  memory.window = {begin, std::max(begin, last_launch(analysis.trace, steps))};
  memory.steps_end = std::max(memory.window.end, steps.steps.back().span.end);
  for (const Step& step : steps.steps) memory.steps.push_back({step.number, step.host_start, 0, 0});

  MemoryCourse course(rows, blocks);
  MemoryWindow window(memory, points);
  course.each([&](const MemoryPoint& point) { window.take(point); });
  window.finish();
  memory.has_unused = rows.by == Allocator::framework || course.has_pools();
  add_blocks(rows, blocks, memory);
  return memory;
}

std::optional<std::int64_t> growth_per_step(const MemoryTimeline& memory) {
  if (memory.steps.size() < 3) return std::nullopt;
  std::optional<std::int64_t> least;
  for (std::size_t s = 1; s < memory.steps.size(); ++s) {
    const std::int64_t grown = memory.steps[s].begin_bytes - memory.steps[s - 1].begin_bytes;
    least = std::min(least.value_or(grown), grown);
  }
  return *least > 0 ? least : std::nullopt;
}

MemoryClasses classify(const MemoryTimeline& memory, const std::vector<BlockPhases>& phases) {
  const MemoryPhase at_peak = phase_at_peak(memory, phases);
  // 0 before the first step, 1 in it.
  const auto step_of = [&](Ns at) {
    return std::upper_bound(memory.steps.begin(), memory.steps.end(), at,
                            [](Ns t, const StepMemory& s) { return t < s.begin; }) -
           memory.steps.begin();
  };
  const auto last_step = static_cast<std::ptrdiff_t>(memory.steps.size());
  MemoryClasses classes;
  for (std::size_t b = 0; b < memory.blocks.size(); ++b) {
    const LiveBlock& block = memory.blocks[b];
    const BlockPhases of = b < phases.size() ? phases[b] : BlockPhases{};
    const std::ptrdiff_t made_in = step_of(block.allocated_at);
    MemoryClass found = MemoryClass::unknown;
    if (block.freed_at >= memory.steps_end && made_in < last_step)
      found = made_in == 0                             ? MemoryClass::before
              : of.allocated == MemoryPhase::optimizer ? MemoryClass::optimizer
                                                       : MemoryClass::kept;
    else if (block.freed_at != open_end)
      found = class_by_phases(
          of, block.freed_at < memory.steps_end && step_of(block.freed_at) == made_in, at_peak);
    if (!block.is_whole) found = class_of_piece(found);
    classes.of_block.push_back(found);
    if (!is_on_gpu(block.kind)) continue;
    std::int64_t& bytes = classes.bytes[static_cast<std::size_t>(found)];
    bytes = limited_bytes(bytes + block.bytes);
  }
  std::int64_t& before = classes.bytes[static_cast<std::size_t>(MemoryClass::before)];
  before = limited_bytes(before + memory.before_bytes);
  return classes;
}

std::optional<MemoryRoom> room_of(const MemoryTimeline& memory, const MemoryClasses& classes) {
  if (memory.device_bytes <= 0 || memory.peak.reserved_bytes < 0) return std::nullopt;
  if (classes[MemoryClass::activation] <= 0) return std::nullopt;
  MemoryRoom room;
  room.growing_bytes = classes[MemoryClass::activation] + classes[MemoryClass::temporary];
  room.free_bytes = std::max<std::int64_t>(0, memory.device_bytes - memory.peak.reserved_bytes);
  room.most_free_bytes =
      std::max<std::int64_t>(room.free_bytes, memory.device_bytes - memory.peak.live_bytes);
  const auto growing = static_cast<double>(room.growing_bytes);
  room.growth = static_cast<double>(room.free_bytes) / growing;
  room.most_growth = static_cast<double>(room.most_free_bytes) / growing;
  return room;
}

}  // namespace gh

// The result of reading part of a table: columns like the trace's, but with numbers (numbering.hpp)
// instead of names, threads, streams and devices.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "read/nsys/numbering.hpp"
#include "read/nsys/table_reader.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// Context switches, each moving one thread onto or off a CPU.
struct Switches {
  std::vector<Ns> start;
  std::vector<std::uint16_t> thread, cpu;
  std::vector<std::uint8_t> in;
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &Switches::start);
    list(is::thread, &Switches::thread);
    list(is::value, &Switches::cpu, &Switches::in);
  }
};

/// Samples of native stacks, and the frames of the stacks, each with its sample.
struct StackSamples {
  std::vector<Ns> start;
  std::vector<std::int64_t> id;
  std::vector<std::uint16_t> thread;
  std::size_t size() const { return start.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::time, &StackSamples::start);
    list(is::value, &StackSamples::id);
    list(is::thread, &StackSamples::thread);
  }
};
struct StackFrames {
  std::vector<std::int64_t> sample;
  std::vector<std::uint32_t> depth;  ///< 0: the innermost
  std::vector<NameId> symbol, module;
  std::size_t size() const { return sample.size(); }

  template <class List>
  static constexpr void columns(List list) {
    list(is::value, &StackFrames::sample, &StackFrames::depth);
    list(is::name, &StackFrames::symbol, &StackFrames::module);
  }
};

struct Part {
  Ops ops;
  Calls calls;
  Ranges ranges;
  Frames frames;
  OsCalls os_calls;
  Switches switches;
  StackSamples stack_samples;
  StackFrames stack_frames;
  HostSamples host_samples;  ///< from Python
  Syncs syncs;
  GpuFaults gpu_faults;
  CpuFaults cpu_faults;
  MemoryUse memory_use;
  Allocations allocations;  ///< device and process: the number of a stream
  std::vector<Span> overhead;
  std::size_t worker = 0;  ///< the worker whose Numbers these are
  Numbers* numbers = nullptr;
  RowCount count;
  std::vector<std::string> problems;
};

/// A positive 32-bit number; 0 for any other.
inline std::uint32_t small(std::int64_t v) {
  return v > 0 && v < std::int64_t{0xFFFFFFFF} ? static_cast<std::uint32_t>(v) : 0;
}

/// A number of bytes, limited so that sums do not overflow.
inline std::int64_t sane_bytes(std::int64_t bytes) {
  return std::clamp<std::int64_t>(bytes, 0, std::int64_t{1} << 50);
}

/// Translates CUPTI's memory kinds.
inline MemoryKind memory_kind(std::int64_t k) {
  static constexpr MemoryKind kinds[] = {
      MemoryKind::pageable, MemoryKind::pinned, MemoryKind::device, MemoryKind::array,
      MemoryKind::managed,  MemoryKind::device, MemoryKind::managed};
  return k >= 0 && k < 7 ? kinds[k] : MemoryKind::unknown;
}

inline std::uint16_t thread_number(std::int64_t thread, Numbers& numbers) {
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(numbers.threads(thread), no_index - 1));
}

/// Adds a named interval of a thread's time: a call, a range, a frame.
template <class Events>
void add_stretch(Events& events, Ns start, Ns end, const FileNameView& name, std::int64_t thread,
                 Numbers& numbers) {
  events.start.push_back(start);
  events.end.push_back(end);
  events.name.push_back(numbers.names(name));
  events.thread.push_back(thread_number(thread, numbers));
}

}  // namespace gh::nsys

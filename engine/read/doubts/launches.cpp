// Checks what was launched against the calls that launched it: they exist, and come first. Calls
// without their work are no contradiction: the profiler may lose some (trace/lost_work.hpp).
#include <algorithm>
#include <limits>
#include <unordered_set>

#include "read/doubts/checks.hpp"

namespace gh::doubts {
namespace {

// Apart from clock differences, no kernel starts before its launch.
constexpr Limit most_too_early{0.01};
// Libraries that the profiler cannot see into launch operations too. PyTorch's traces lack more
// calls.
constexpr Limit most_uncalled{0.05, 0.4};
// All of 300,000 kernels in 90 reports were launched by calls with these names.
constexpr Limit most_ill_called{0.05, 0.2};
// A library's internal wait may lack its call.
constexpr Limit most_unawaited{0.05, 0.5}, most_unawaited_time{0.5};
// If processes are recorded at different times, one may allocate before its recording begins.
constexpr Limit most_unallocated{0.5};
// Work launched before the recording may run before the first recorded call.
constexpr Ns most_head_start_ns = 50'000'000;

// The driver queues about 1,000 launches; further ones wait for room.
constexpr int most_queued = 2048;

// The first and last correlation of a process's calls, or of the operations that they launched.
// Correlations increase with time.
struct Numbers {
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max(), last = 0;
  Ns first_start = std::numeric_limits<Ns>::max();
  // When so many launches have followed that everything launched before the recording has run.
  Ns queue_full_at = std::numeric_limits<Ns>::max();
  int launches = 0;
  void add(std::uint32_t number) {
    if (number == 0) return;
    first = std::min(first, number);
    last = std::max(last, number);
  }
};

// An operation launched before the recording has no call; a later one must have one.
class Uncalled {
 public:
  explicit Uncalled(const Checks& checks)
      : t_(checks.trace),
        called_(t_.processes.size()),
        joined_(t_.processes.size()),
        joined_from_(t_.streams.size(), never) {
    const Calls& c = t_.calls;
    const std::vector<std::uint8_t> launches = begins_with(t_, {"cudaLaunch", "cuLaunch"});
    for (Row call = 0; call < c.size(); ++call) {
      Numbers& calls = called_[checks.process_of_call(call)];
      calls.add(c.correlation[call]);
      calls.first_start = std::min(calls.first_start, c.start[call]);
      if (launches[c.name[call]] && ++calls.launches == most_queued) {
        calls.queue_full_at = c.start[call];
      }
    }
    const Ops& o = t_.ops;
    for (Row op = 0; op < o.size(); ++op) {
      Ns& from = joined_from_[o.stream[op]];
      if (o.call[op] == no_row) continue;
      from = std::min(from, o.start[op]);
      joined_[t_.process_of(op)] = 1;
    }
  }

  bool operator()(Row op) const {
    const Ops& o = t_.ops;
    if (is_unified(o.copy[op]) || o.call[op] != no_row || t_.calls.size() == 0) return false;
    const Numbers& calls = called_[t_.process_of(op)];
    if (!joined_[t_.process_of(op)] && o.start[op] > calls.queue_full_at) return true;
    return o.correlation[op] == 0 || calls.last == 0 || o.correlation[op] > calls.first ||
           o.end[op] < calls.first_start - most_head_start_ns ||
           o.start[op] > joined_from_[o.stream[op]];  // a stream keeps launch order
  }

 private:
  static constexpr Ns never = std::numeric_limits<Ns>::max();
  const Trace& t_;
  std::vector<Numbers> called_;       // by process
  std::vector<std::uint8_t> joined_;  // by process: whether any operation has its call
  std::vector<Ns> joined_from_;       // by stream: when the first operation with a call started
};

// Kernels come from launch calls; some calls set or copy memory with a kernel.
void check_callers(Checks& checks) {
  const Trace& t = checks.trace;
  const std::vector<std::uint8_t> launches =
      begins_with(t, {"cudaLaunch", "cuLaunch", "cudaGraph", "cuGraph", "cudaMem", "cuMem", "hip"});
  checks.add(count_rows(t.ops.size(),
                        [&](Row op) {
                          return checks.is_kernel(op) && t.ops.call[op] != no_row &&
                                 !launches[t.calls.name[t.ops.call[op]]];
                        }),
             checks.kernels, most_ill_called,
             "kernels were launched by a call that cannot launch any", {Source::calls});
}

// The profiler writes a synchronization next to the call that waited.
void check_awaited(Checks& checks) {
  const Trace& t = checks.trace;
  const Syncs& s = t.syncs;
  if (t.calls.size() == 0) return;
  const Ns first = t.calls.start.front(), last = t.calls.start.back();
  const auto is_unawaited = [&](Row sync) {
    return s.call[sync] == no_row && s.start[sync] > first && s.start[sync] < last;
  };
  checks.add(count_rows(s.size(), is_unawaited), s.size(), most_unawaited,
             "synchronizations have no matching CUDA call");
  // A few may account for nearly all of the time.
  double all_ns = 0, unawaited_ns = 0;
  for (Row sync = 0; sync < s.size(); ++sync) {
    const auto ns = static_cast<double>(s.end[sync] - s.start[sync]);
    all_ns += ns;
    if (is_unawaited(sync)) unawaited_ns += ns;
  }
  checks.add_time(unawaited_ns, all_ns, most_unawaited_time,
                  "of synchronization have no matching CUDA call");
}

// Calls allocate and free memory. The profiler records both the calls and the memory, including
// memory from before the recording.
void check_allocations(Checks& checks) {
  const Calls& c = checks.trace.calls;
  const MemoryUse& m = checks.trace.memory_use;
  if (c.size() == 0 || m.size() == 0) return;
  // A process's first allocations may be recorded after another process's first call.
  constexpr Ns never = std::numeric_limits<Ns>::max();
  std::vector<Ns> first_call(checks.trace.processes.size(), never);
  for (Row call = 0; call < c.size(); ++call) {
    Ns& first = first_call[checks.process_of_call(call)];
    first = std::min(first, c.start[call]);
  }
  Ns all_called = c.start.front();
  for (const Ns first : first_call) {
    if (first != never) all_called = std::max(all_called, first);
  }
  const auto is_recorded = [&](Row use) {
    // Older allocations are recorded at time 0, even if other times were shifted.
    return m.correlation[use] != 0 && m.start[use] != 0 && m.start[use] > all_called &&
           m.start[use] < c.start.back();
  };
  std::unordered_set<std::uint32_t> wanted;
  for (Row use = 0; use < m.size(); ++use) {
    if (is_recorded(use)) wanted.insert(m.correlation[use]);
  }
  const std::size_t all = wanted.size();
  for (const std::uint32_t number : c.correlation) wanted.erase(number);
  checks.add(static_cast<std::int64_t>(wanted.size()), all, most_unallocated,
             "allocations have no matching CUDA call");
}

}  // namespace

void check_launches(Checks& checks) {
  const Ops& o = checks.trace.ops;
  const Calls& c = checks.trace.calls;
  checks.add_by_kind(most_too_early, "start before the call that launched them",
                     Checks::Unknown::calls_too, [&](Row op) {
                       return o.call[op] != no_row &&
                              o.start[op] < c.start[o.call[op]] - clocks_apart_ns;
                     });
  checks.add_by_kind(most_uncalled,
                     "were launched during the recording, but their launch is missing",
                     Checks::Unknown::nothing, Uncalled(checks));
  check_callers(checks);
  check_awaited(checks);
  check_allocations(checks);
}

}  // namespace gh::doubts

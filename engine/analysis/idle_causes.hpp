// Finds the causes of idle time.
//
// A pause of the GPU ends with an operation, and the cause is what the thread that launched it did
// meanwhile. The account skips operations from threads outside the main crew if the GPU still lacks
// work after them. A nanosecond goes to the first cause that claims it:
//   dependency       launched before the pause began, or a node of a graph under way
//   faults           before pages of unified memory move to the host: from the host's first page
//                    fault on, or from the pages before if it goes straight on to the next
//   input            within a range of the data loader
//   failed           in a CUDA call that returned an error
//   sync             in a call that waits for the GPU
//   allocation       in a call that allocates or frees memory
//   compilation      in a call that compiles, host work that ends in loading the result, and
//                    between calls within a range of a compiler
//   loading          in a call that loads code: a module, or a kernel at its first launch
//   launch           in any other call that is not unusually long, or between calls while
//                    another thread launched
//   sync             between calls after a wait, for as long as preparing a launch usually takes
//   launch           between calls, in a pause that is not unusually long
//   input, inferred  a longer pause between steps that looks like fetching a batch
//   unknown          any other pause between calls, and any other long call
//   launch_latency   launched, and on its way to the GPU
#pragma once
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "analysis/crews.hpp"
#include "analysis/host_threads.hpp"
#include "analysis/idle.hpp"
#include "analysis/launch_habits.hpp"
#include "analysis/steps.hpp"

namespace gh {

/// Sizes of large copies to the host: offloaded tensors rather than results.
using OffloadedSizes = std::unordered_set<std::int64_t>;
bool is_offload(const Trace& trace, Row op);

/// How long a thread had waited for the GPU when a call ended. If the operation before the pause is
/// a copy to the host, that copy may have waited instead of the call, as copies to pageable memory
/// do. `previous`: the operation before the pause.
Ns waited_ns(const Trace& trace, Row call, Row previous);

class IdleCauses {
 public:
  /// `failed`: the calls that returned an error, in order.
  IdleCauses(const Trace& trace, const NameClasses& names, const Crews& crews,
             const std::vector<Row>& failed);

  /// Where each thread's last pause was, since the next is close to it. Every worker has its own.
  struct Near {
    std::size_t range = 0, call = 0;
  };
  using Places = std::vector<Near>;  // by thread
  Places places() const { return Places(threads_.size()); }

  /// Splits a pause, of which span, `previous` and `next` are known, by its causes and appends the
  /// pieces to `out`. Pauses of a device come in order. `idle`: the parts of the pause, in order,
  /// in which the device did nothing. `steps` and `offloaded` belong to the device.
  void explain(Idle pause, std::span<const Span> idle, const std::vector<Step>& steps,
               const OffloadedSizes& offloaded, Places& places, std::vector<Idle>& out) const;

 private:
  friend class HostPause;
  Ns touches_pages_from(const Idle& pause) const;

  const Trace& trace_;
  const NameClasses& names_;
  const Crews& crews_;
  const std::vector<Row>& failed_;
  HostThreads threads_;
  LaunchHabits habits_;
  std::vector<std::size_t> devices_;  // by process: on how many it has streams
  bool takes_batches_;
};

}  // namespace gh

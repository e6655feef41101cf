// Gives idle time its causes.
//
// A pause of the GPU ends with an operation, and what the thread that launched it did meanwhile is
// the cause. The account passes over operations that threads beside the main ones launched, where
// the GPU goes on lacking work after them. A nanosecond goes to the first that claims it:
//   dependency       launched before the pause began, or a node of a graph under way
//   faults           before pages of unified memory go to the host: from its first page fault on,
//                    and from the pages before on where it goes on to the next
//   input            within a range of the data loader
//   failed           within a CUDA call that returned an error
//   sync             within one that waits for the GPU
//   allocation       within one that allocates or frees memory
//   compilation      within one that compiles, and host work that ends in loading its result
//   loading          within one that loads code: a module, or a kernel at its first launch
//   launch           within any other call that is not unusually long, or between calls while
//                    another thread launched
//   sync             between calls, after a wait, for as long as a launch usually takes to prepare
//   launch           between calls, for a pause that is not unusually long
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

/// How long a thread had waited for the GPU when a call ended. A copy to the host right before the
/// pause may have waited in the call's stead, as those to pageable memory do. `previous`: the
/// operation before the pause.
Ns waited_ns(const Trace& trace, Row call, Row previous);

class IdleCauses {
 public:
  /// `failed`: the calls that returned an error, in order.
  IdleCauses(const Trace& trace, const Classes& classes, const NameClasses& names,
             const Crews& crews, const std::vector<Row>& failed);

  /// Where each thread's last pause was: the next is not far. Every worker has its own.
  struct Near {
    std::size_t range = 0, call = 0;
  };
  using Places = std::vector<Near>;  // by thread
  Places places() const { return Places(threads_.size()); }

  /// Splits a pause, of which span, `previous` and `next` are known, by its causes and appends the
  /// pieces to `out`. Pauses of a device come in order. `idle`: the parts of it, in order, in which
  /// the device did nothing. `steps` and `offloaded` are the device's.
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
  std::vector<bool> one_device_;  // by process
  bool trains_;
};

}  // namespace gh

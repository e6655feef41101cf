// Where the host waits for the GPU in a call, and what for. Every such call has one purpose, so
// that no two rules claim it. Waits that no call shows: whatif/silences.hpp.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/detect/read_backs.hpp"
#include "analysis/detect/round_trips.hpp"
#include "trace/row_set.hpp"

namespace gh {

/// What a call waits for. A copy counts as large from more than 64 KiB on: up to that the driver
/// takes along what goes to the GPU (CUDA programming guide: what runs asynchronously to the host).
enum class WaitFor : std::uint8_t {
  work,        ///< nothing is read or sent: for what was launched before
  result,      ///< a copy to the host, of any size
  decision,    ///< one that decides what is launched next, or how much
  upload,      ///< a copy to the GPU, after which no kernel was launched
  pageable,    ///< a large copy, either way, which the host feeds through pageable memory
  managed,     ///< a result in managed memory, whose pages go to the host before its next launch
  migration,   ///< the same where more than 64 KiB go without having been asked for
  offload,     ///< a tensor that leaves the device and returns, or weights that are streamed in
  checkpoint,  ///< whatever is saved then
  memory,      ///< memory to be given back, for which everything launched before has to end
  unrecorded,  ///< what no call shows: find_waits has none (whatif/silences.hpp)
  count
};
const char* name_of(WaitFor);

/// Between the clocks of host and GPU, after the profiler has aligned them.
inline constexpr Ns clock_skew_ns = 5'000;
/// An asynchronous copy's call that takes no longer than this, or a spin, waited for nothing.
inline constexpr Ns waited_ns = 20'000;

/// Copies to the host up to this size are single values: a flag, a sum, a loss. What is larger may
/// be what the host works on next.
inline constexpr std::int64_t single_value_bytes = 64;
inline constexpr std::int64_t large_copy_bytes = (64 << 10) + 1;

struct Wait {
  Row call = no_row;
  WaitFor what = WaitFor::work;
  Row copy = no_row;  ///< that it waits for, or no_row
  /// The first of the calls that are one wait: no kernel was launched between them, so the others
  /// wait for little but a small copy of their own, and only without all of them does the host run
  /// ahead. The call itself if it is the first.
  Row first = no_row;
  Ns since = 0;  ///< when the host began to wait: the call's start, or the first of a spin's
};

/// The call that ends a spin on an event or a stream (`while (!event.query())`): the last of a
/// thread's calls in a row that ask the same, the only one whose answer was yes. Shorter spins than
/// waited_ns are none: an allocator asks for several events in a row.
class Spins {
 public:
  explicit Spins(const Analysis& analysis) : a_(analysis) {}
  /// A thread's next call. Whether it ends a spin.
  bool ends_with(Row call);
  /// When the spin began; after ends_with.
  Ns since() const { return since_; }

 private:
  const Analysis& a_;
  Row before_ = no_row;  // the last call, if its answer was no
  Ns since_ = 0;
};

/// Whether the call that launched a copy returned only when that was done: a synchronous one, or
/// one from or to pageable memory. The last piece of a copy from pageable memory may still be in
/// transit when the call returns.
bool waited_for_copy(const Trace& trace, CallClass kind, Row call, Row copy);

/// What the analyzed steps contain.
struct WaitsIn {
  const RowSet &ops, &calls;
  const ReadBacks& reads;
  const RoundTrips& trips;
  const RowSet& streamed;
};

/// The calls that wait, in order. Launches that wait for room in a full queue are none: the GPU has
/// work then.
std::vector<Wait> find_waits(const Analysis& analysis, const WaitsIn& steps);

}  // namespace gh

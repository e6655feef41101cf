// The rows of each kind within the analyzed steps: what rules select from.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/collectives.hpp"
#include "analysis/host_work.hpp"
#include "trace/row_set.hpp"

namespace gh {

/// Copies to the host for which it waited before it gave the GPU more to do within the step.
struct ReadBacks {
  RowSet copies;
  RowSet waits;     ///< the calls that waited: the copy's own, or a synchronization after it
  RowSet deciding;  ///< copies after which the GPU is given other work than in other steps
  /// All operations whose name, grid or size does not come equally often in every step; none where
  /// fewer than three steps can be compared, or fewer than two copies come a step.
  RowSet changing;
};

/// Found once for all rules; several may read at one time.
class RowsInSteps {
 public:
  /// The analysis has to outlive it.
  explicit RowsInSteps(const Analysis& analysis);
  RowSet ops;
  RowSet copies;                   ///< of these
  RowSet calls, ranges, os_calls;  ///< of the processes that are analyzed
  RowSet gpu_faults;
  RowSet idle;   ///< of every Idle, one device after the other
  RowSet steps;  ///< of every step, one device after the other; none where nothing repeats
  /// All operations of the analyzed devices, in and beside the steps, by stream.
  const std::vector<std::vector<Row>>& by_stream() const;
  /// By analyzed device: when page faults of unified memory were handled, or pages migrated.
  const std::vector<Spans>& stalls() const;
  /// What host threads did, in stretches of idle time.
  const HostWork& host_work() const;
  /// What collectives do.
  const CollectiveKinds& collectives() const;
  /// What the host read back and waited for.
  const ReadBacks& read_backs() const;
  /// By row of `idle`, what the host's stretch is (stretches.hpp), which `find` tells the first who
  /// asks.
  template <class Find>
  const std::vector<std::uint8_t>& stretches(Find find) const {
    std::call_once(stretches_found_, [&] { stretches_ = find(); });
    return stretches_;
  }

 private:
  const Analysis& analysis_;
  mutable std::once_flag by_stream_found_, stalls_found_, host_work_made_, read_backs_found_,
      stretches_found_, collectives_made_;
  mutable std::vector<std::vector<Row>> by_stream_;
  mutable std::vector<Spans> stalls_;
  mutable std::unique_ptr<const HostWork> host_work_;
  mutable ReadBacks read_backs_;
  mutable std::vector<std::uint8_t> stretches_;
  mutable std::unique_ptr<const CollectiveKinds> collectives_;
};

}  // namespace gh

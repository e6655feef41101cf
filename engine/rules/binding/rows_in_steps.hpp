// The rows of each kind within the analysed steps: what rules select from.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/host_work.hpp"
#include "trace/row_set.hpp"

namespace gh {

/// Found once for all rules; several may read at one time.
class RowsInSteps {
 public:
  /// The analysis has to outlive it.
  explicit RowsInSteps(const Analysis& analysis);
  RowSet ops;
  RowSet copies;                   ///< of these
  RowSet calls, ranges, os_calls;  ///< of the processes that are analysed
  RowSet gpu_faults;
  RowSet idle;   ///< of every Idle, one device after the other
  RowSet steps;  ///< of every step, one device after the other; none where nothing repeats
  /// All operations of the analysed devices, in and beside the steps, by stream.
  const std::vector<std::vector<Row>>& by_stream() const;
  /// By analysed device: when page faults of unified memory were handled, or pages migrated.
  const std::vector<Spans>& stalls() const;
  /// What host threads did, in stretches of idle time.
  const HostWork& host_work() const;

 private:
  const Analysis& analysis_;
  mutable std::once_flag by_stream_found_, stalls_found_, host_work_made_;
  mutable std::vector<std::vector<Row>> by_stream_;
  mutable std::vector<Spans> stalls_;
  mutable std::unique_ptr<const HostWork> host_work_;
};

}  // namespace gh

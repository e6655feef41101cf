// The rows of each kind within the analyzed steps, from which rules select.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/collectives.hpp"
#include "analysis/detect/read_backs.hpp"
#include "analysis/detect/round_trips.hpp"
#include "analysis/detect/waits.hpp"
#include "analysis/structure/structure.hpp"
#include "base/lazy.hpp"
#include "rules/binding/shared_selections.hpp"
#include "trace/row_set.hpp"

namespace gh {

/// Found once for all rules; several may read at once.
class RowsInSteps {
 public:
  /// The analysis has to outlive it.
  explicit RowsInSteps(const Analysis& analysis);
  RowSet ops;
  RowSet copies;                   ///< of these
  RowSet calls, ranges, os_calls;  ///< of the analyzed processes
  RowSet gpu_faults;
  RowSet idle;                  ///< every Idle, ordered by device
  RowSet steps;                 ///< every step, ordered by device; empty if nothing repeats
  SharedSelections selections;  ///< of all these, by filter
  /// All operations of the analyzed devices, inside and outside of the steps, by stream.
  const std::vector<std::vector<Row>>& by_stream() const;
  /// By analyzed device: when page faults of unified memory were handled, or pages migrated.
  const std::vector<Spans>& stalls() const;
  /// What host threads did during idle time.
  const HostWork& host_work() const { return analysis_.structure().host_work(); }
  /// What collectives do.
  const CollectiveKinds& collectives() const;
  /// By operation: the number, from 1, of the collective or message that it is a member of
  /// (meetings.hpp); 0 for all others. Empty if no two devices were recorded.
  const std::vector<Row>& meetings() const;
  /// The names of all such events of the trace, each once. They are few beside the rows: what no
  /// name passes needs no row.
  enum class Named : std::uint8_t { ops, calls, ranges, os_calls };
  const std::vector<NameId>& names_of(Named events) const;
  /// What the host read back and waited for.
  const ReadBacks& read_backs() const;
  /// Tensors that leave and come back, and weights that are streamed in, of the usual sizes.
  const RoundTrips& round_trips() const;
  const RowSet& streamed_uploads() const;
  /// The calls in which the host waits for the GPU, in order.
  const std::vector<Wait>& waits() const;
  /// By row of `idle`: the class of the host's stretch (stretches.hpp), which `find` computes on
  /// the first call.
  template <class Find>
  const std::vector<std::uint8_t>& stretches(Find find) const {
    return stretches_.get(
        [&] { return std::make_shared<const std::vector<std::uint8_t>>(find()); });
  }

 private:
  const Analysis& analysis_;
  std::array<Lazy<std::vector<NameId>>, 4> names_;  // by Named
  Lazy<std::vector<std::vector<Row>>> by_stream_;
  Lazy<std::vector<Spans>> stalls_;
  Lazy<std::vector<Row>> meetings_;
  Lazy<ReadBacks> read_backs_;
  Lazy<RoundTrips> round_trips_;
  Lazy<RowSet> streamed_uploads_;
  Lazy<std::vector<Wait>> waits_;
  Lazy<std::vector<std::uint8_t>> stretches_;
  Lazy<CollectiveKinds> collectives_;
};

}  // namespace gh

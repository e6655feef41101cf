// Finds the call that launched an operation, by process and correlation.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "trace/sort_rows.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Finds calls of a trace by process and correlation; the calls must be sorted. If several calls
/// share a correlation, it finds the first, which is the outermost.
///
/// Correlations are usually dense within a process, and then it uses an array. If they are sparse
/// in any process, it uses bisection there.
class CallIndex {
 public:
  /// The trace must outlive it.
  explicit CallIndex(const Trace& trace);

  /// The call, or no_row. `near` starts at 0 and remembers where the previous search ended.
  /// Consecutive launches usually have consecutive correlations, so the search starts there.
  Row find(std::uint16_t process, std::uint32_t correlation, std::size_t& near) const;

 private:
  /// The number of calls with a correlation, and the lowest and highest correlation.
  struct Extent {
    std::size_t calls = 0;
    std::uint32_t least = std::numeric_limits<std::uint32_t>::max(), most = 0;
    void add(const Extent& more);
  };
  struct Process : Extent {
    std::unique_ptr<Row[]> dense;  ///< by correlation, from `least` on; null if sparse
  };
  using Key = std::pair<std::uint16_t, std::uint32_t>;  ///< process, correlation

  void find_extents();
  bool make_arrays();
  void fill_arrays();
  std::uint16_t process_of(Row call) const {
    return trace_.threads[trace_.calls.thread[call]].process;
  }
  Key key_of(Row call) const { return {process_of(call), trace_.calls.correlation[call]}; }
  Row at(std::size_t i) const { return by_key_ ? by_key_[i] : static_cast<Row>(i); }

  const Trace& trace_;
  std::vector<Process> processes_;
  RowOrder by_key_;  ///< for all calls, if any process has no array
};

}  // namespace gh

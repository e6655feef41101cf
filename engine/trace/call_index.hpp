// Which call launched an operation: calls by process and correlation.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "trace/sort_rows.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Finds calls of a trace, whose calls have to be in order already, by process and correlation. Of
/// calls with the same one it finds the first, which is the outermost.
///
/// Correlations are mostly dense within a process: then an array serves. Where they are sparse in
/// any process, bisection serves there.
class CallIndex {
 public:
  /// The trace has to outlive it.
  explicit CallIndex(const Trace& trace);

  /// The call, or no_row. `near` is where the one before was found, from 0 on: what is launched one
  /// after the other has mostly correlations one after the other, so the search begins there.
  Row find(std::uint16_t process, std::uint32_t correlation, std::size_t& near) const;

 private:
  /// Of calls with a correlation: how many, and the least and the greatest.
  struct Extent {
    std::size_t calls = 0;
    std::uint32_t least = std::numeric_limits<std::uint32_t>::max(), most = 0;
    void add(const Extent& more);
  };
  struct Process : Extent {
    std::unique_ptr<Row[]> dense;  ///< by correlation, from `least` on; null where they are sparse
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
  RowOrder by_key_;  ///< of all calls, where a process has no array
};

}  // namespace gh

// Which host threads launch one work together: those that launch kernels on the same streams, as
// PyTorch's main thread and autograd's do. A thread that only uploads batches is in none, one that
// works on a stream of its own is a crew of its own.
#pragma once
#include <cstdint>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

class Crews {
 public:
  explicit Crews(const Trace& trace);

  /// The crew of a thread, named by one of its threads; no_index of one that launches no kernels.
  std::uint16_t of(std::uint16_t thread) const { return crew_[thread]; }
  std::uint16_t of_op(Row op) const;  ///< of the thread that launched it
  /// Whether a thread of the same process, but not of the device's main crew, launched an
  /// operation.
  bool is_beside(Row op) const;
  /// Whether two operations are known to be of two crews: neither then waits for the other unless
  /// something says so.
  bool are_apart(Row op, Row other) const;

 private:
  const Trace& trace_;
  std::vector<std::uint16_t> crew_;  // by thread
  std::vector<std::uint16_t> main_;  // by device
};

}  // namespace gh

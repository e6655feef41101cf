// Groups host threads that launch work together: those that launch kernels on the same streams, as
// PyTorch's main thread and autograd's do. A thread that only uploads batches is in no crew; one
// that uses a separate stream is a crew by itself.
#pragma once
#include <cstdint>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// Of a device's work, 0 to 1: what does less is no loop of its own.
inline constexpr double least_work_of_loop = 0.1;

class Crews {
 public:
  explicit Crews(const Trace& trace);

  /// The crew of a thread, named by one of its threads; no_index for one that launches no kernels.
  std::uint16_t of(std::uint16_t thread) const { return crew_[thread]; }
  std::uint16_t of_op(Row op) const;  ///< of the thread that launched it
  /// Whether an operation was launched by a thread of the same process that is not in the device's
  /// main crew.
  bool is_beside(Row op) const;
  /// Whether two operations are known to belong to two crews: then neither waits for the other
  /// unless the report shows it.
  bool are_apart(Row op, Row other) const;
  /// Whether there is more than one.
  bool are_several() const;
  /// Those that launched enough of some operations' work for a loop, that of most work first.
  std::vector<std::uint16_t> working(const std::vector<Row>& ops) const;

 private:
  const Trace& trace_;
  std::vector<std::uint16_t> crew_;  // by thread
  std::vector<std::uint16_t> main_;  // by device
};

}  // namespace gh

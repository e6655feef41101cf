// Groups host threads that launch work together: those that launch kernels on the same streams, as
// PyTorch's main thread and autograd's do. A thread that only uploads batches is in no crew; one
// that uses a separate stream is a crew by itself.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

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
  /// Those that launched a tenth or more of the work of some operations, that of most work first.
  std::vector<std::uint16_t> working(const std::vector<Row>& ops) const;
  /// The process of a crew.
  std::uint16_t process(std::uint16_t crew) const { return trace_.threads[crew].process; }
  /// Of some operations those that one of these crews launched, or none of them.
  std::vector<Row> of_any(const std::vector<Row>& ops, std::span<const std::uint16_t> crews) const;
  std::vector<Row> of_none(const std::vector<Row>& ops, std::span<const std::uint16_t> crews) const;

 private:
  const Trace& trace_;
  std::vector<std::uint16_t> crew_;  // by thread
  std::vector<std::uint16_t> main_;  // by device
};

}  // namespace gh

// What each collective of a report does, and how many bytes it moves.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

enum class CollectiveKind : std::uint8_t {
  none,  ///< of what is no collective
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  message,  ///< from one to one other
  other,
  count
};
const char* name_of(CollectiveKind);

/// Of a kind is what its operator or NCCL's range started, on the thread that launched it. The
/// kernel's name tells where there is none: NCCL runs an all-to-all as messages, and old versions
/// run everything in one kernel.
class CollectiveKinds {
 public:
  explicit CollectiveKinds(const Analysis& analysis);
  CollectiveKind kind(Row op) const {
    return kinds_.empty() ? CollectiveKind::none : static_cast<CollectiveKind>(kinds_[op]);
  }
  /// What one rank passes in, as the range around its launch tells; 0 where none does.
  std::int64_t bytes(Row op) const;

 private:
  const Trace& trace_;
  std::vector<std::uint8_t> kinds_;      // by operation; empty where nothing communicates
  std::vector<std::vector<Row>> sized_;  // by thread: ranges that tell a size, in order of start
};

}  // namespace gh

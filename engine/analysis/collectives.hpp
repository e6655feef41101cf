// What each collective of a report does, and how many bytes it moves.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

enum class CollectiveKind : std::uint8_t {
  none,  ///< not a collective
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  message,  ///< from one rank to one other
  other,
  count
};
const char* name_of(CollectiveKind);
/// What the name of its kernel says that a collective does; none if it says nothing.
CollectiveKind kind_of_kernel(std::string_view kernel);

/// The kind of a collective comes from the operator or NCCL range that was open on the thread that
/// launched it. Without such a range it comes from the kernel's name, which says less: NCCL runs an
/// all-to-all as messages, and old versions run everything in one kernel.
class CollectiveKinds {
 public:
  explicit CollectiveKinds(const Analysis& analysis);
  CollectiveKind kind(Row op) const {
    return kinds_.empty() ? CollectiveKind::none : static_cast<CollectiveKind>(kinds_[op]);
  }
  /// How much one rank passes in, according to the range around its launch; 0 where none says.
  std::int64_t bytes(Row op) const;

 private:
  const Trace& trace_;
  std::vector<std::uint8_t> kinds_;      // by operation; empty where nothing communicates
  std::vector<std::vector<Row>> sized_;  // by thread: ranges that give a size, in order of start
};

}  // namespace gh

// When the operations of a device were launched: steps are cut by what the host did.
#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// This many operations justify another thread.
inline constexpr std::size_t least_part = 1 << 16;

/// When an operation was launched. If its call is missing (cut reports, migrations), its own start
/// is used.
inline Ns launched_at(const Trace& trace, Row op) {
  const Row call = trace.ops.call[op];
  return call == no_row ? trace.ops.start[op]
                        : std::min(trace.calls.start[call], trace.ops.start[op]);
}

/// The launches of a device's operations, ready for queries about any span of time. Operations come
/// in order of start and were launched in nearly that order: the first and last launch of each
/// block of them show where to look.
class LaunchTimes {
 public:
  LaunchTimes(const Trace& trace, const std::vector<Row>& ops);

  /// Whether anything was launched in a stretch of time.
  bool any(Span s) const;
  /// How many operations were launched in it. The first call sorts all launches.
  std::size_t count(Span s) const;
  std::size_t size() const { return ops_.size(); }

 private:
  static constexpr std::size_t block = 64;
  struct Block {
    Ns first = std::numeric_limits<Ns>::max(), last = std::numeric_limits<Ns>::min();
    Ns first_from = 0;  // of this block and all after it
  };
  template <class Take>
  void each_in(std::size_t b, Take take) const {
    for (std::size_t i = b * block; i < std::min(ops_.size(), (b + 1) * block); ++i)
      take(launched_at(trace_, ops_[i]));
  }

  const Trace& trace_;
  const std::vector<Row>& ops_;
  std::vector<Block> blocks_;
  mutable std::vector<Ns> sorted_;  // filled when first needed
};

/// How much of a device's work had been launched by each of several host times, not counting
/// migrations of unified memory.
struct LaunchedUntil {
  struct At {
    std::size_t count = 0;
    Ns last_end = std::numeric_limits<Ns>::min();  ///< when the last of them ended
  };
  std::vector<At> at;                             ///< by time
  Ns first_end = std::numeric_limits<Ns>::min();  ///< end of what was launched first
};
LaunchedUntil launched_until(const Trace& trace, const std::vector<Row>& ops,
                             std::vector<Ns> times);

}  // namespace gh

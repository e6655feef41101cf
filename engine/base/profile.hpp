// Where the program's own time went: --profile. A phase is counted where a Timed lives; while
// nobody has asked, that costs one look at a flag.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace gh {

/// Begins to count. Phases that are under way are not counted.
void start_profile();

/// What was counted since start_profile, as lines for people: each phase, indented under the one
/// within which it ran, in order of first sight, with seconds on the clock, seconds of the
/// processor (of the thread that counted it), and the memory that the program held when it last
/// ended, and at most until then. Phases of several threads run side by side: their seconds add up
/// to more than those of the phase around them.
std::string render_profile();

/// Counts the time from its construction to its destruction to a phase, on the thread that made it.
class Timed {
 public:
  /// `phase` is a path, "read/CUPTI_ACTIVITY_KIND_KERNEL": a part is shown under what stands before
  /// the slash.
  explicit Timed(std::string phase);
  ~Timed();
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  std::string phase_;  // "" while nothing is counted
  std::chrono::steady_clock::time_point start_;
  std::int64_t cpu_ns_ = 0;
};

/// Counts the time of a function to a phase and returns what it returns.
template <class Work>
auto timed(std::string phase, Work work) {
  const Timed counted(std::move(phase));
  return work();
}

}  // namespace gh

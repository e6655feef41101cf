// --profile: where the program spent its own time. A Timed object counts its lifetime toward a
// phase. Without --profile it only checks a flag.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace gh {

/// Starts counting. Phases already running are not counted.
void start_profile();

/// A table of what was counted since start_profile. Phases appear in the order first seen, indented
/// below the phase around them, with wall-clock seconds, CPU seconds of the counting thread, the
/// memory in use when the phase last ended, and the peak until then. Phases on several threads
/// overlap, so their seconds can exceed those of the phase around them.
std::string render_profile();

/// Counts the time from its construction to its destruction toward a phase, on the thread that
/// created it.
class Timed {
 public:
  /// `phase` is a path such as "read/CUPTI_ACTIVITY_KIND_KERNEL": the part after the slash is
  /// listed below the part before it.
  explicit Timed(std::string phase);
  ~Timed();
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  std::string phase_;  // "" when not counting
  std::chrono::steady_clock::time_point start_;
  std::int64_t cpu_ns_ = 0;
};

/// Counts the time of a function toward a phase and returns its result.
template <class Work>
auto timed(std::string phase, Work work) {
  const Timed counted(std::move(phase));
  return work();
}

}  // namespace gh

// What launching usually takes the host in a recording, and which launches took far longer because
// they loaded code.
#pragma once
#include <vector>

#include "analysis/classes.hpp"
#include "analysis/host_threads.hpp"
#include "trace/trace.hpp"

namespace gh {

/// How many times as long as usual something takes that is something else. Launches that load code
/// take 15 times and more, hosts that do other work than launching ten and more; of eager
/// frameworks' pauses between calls one in a hundred is that long.
inline constexpr Ns something_else = 10;

class LaunchHabits {
 public:
  LaunchHabits(const Trace& trace, const NameClasses& names, const HostThreads& threads);

  /// The median launch of a kernel that was launched before.
  Ns call_ns() const { return call_ns_; }
  /// The median time from the end of a launch to the next of the thread.
  Ns pause_ns() const { return pause_ns_; }
  /// Whether a launch was the first of its kernel in the process, and took far longer than usual.
  bool loads_code(Row launch) const;

 private:
  void find_first_uses();
  void find_usual(const HostThreads& threads);

  const Trace& trace_;
  const NameClasses& names_;
  Ns call_ns_, pause_ns_;
  std::vector<Row> first_uses_;  ///< calls, ascending
};

}  // namespace gh

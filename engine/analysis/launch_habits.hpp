// What launching usually takes the host in a recording, and which launches took far longer because
// they loaded code.
#pragma once
#include <cstdint>
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

  /// Of a process, the median launch of a kernel that was launched before.
  Ns call_ns(std::uint16_t process) const { return usual_[process].call_ns; }
  /// The median time from the end of a launch to the next of the thread.
  Ns pause_ns(std::uint16_t process) const { return usual_[process].pause_ns; }
  /// Whether a launch was the first of its kernel in the process, and took far longer than usual.
  bool loads_code(Row launch) const;

 private:
  struct Usual {
    Ns call_ns, pause_ns;
  };
  void find_first_uses();
  void find_usual(const HostThreads& threads);

  const Trace& trace_;
  const NameClasses& names_;
  std::vector<Usual> usual_;     // by process
  std::vector<Row> first_uses_;  // calls, ascending
};

}  // namespace gh

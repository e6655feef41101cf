// How long launching usually takes the host in a recording, and which launches took far longer
// because they loaded code.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/classes.hpp"
#include "analysis/crews.hpp"
#include "analysis/host_threads.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Something that takes this many times as long as usual is not the usual thing. Launches that load
/// code take 15 times as long or more, and hosts that do work other than launching ten times or
/// more; only one in a hundred of an eager framework's pauses between calls is that long.
inline constexpr Ns something_else = 10;

class LaunchHabits {
 public:
  LaunchHabits(const Trace& trace, const NameClasses& names, const Crews& crews,
               const HostThreads& threads);

  /// For a thread's crew, the median launch of a kernel that had been launched before.
  Ns call_ns(std::uint16_t thread) const { return usual_[group_[thread]].call_ns; }
  /// The median time from the end of a launch to the next of the same thread.
  Ns pause_ns(std::uint16_t thread) const { return usual_[group_[thread]].pause_ns; }
  /// Whether a launch was the first of its kernel in the process and took far longer than usual.
  bool loads_code(Row launch) const;
  /// Whether the program made the code that a call loads. A module comes from a compiler. A library
  /// was made if the kernel that the thread launches next had been loaded like that before: what
  /// is shipped is loaded once. Nor was it made if the thread pauses like that without loading.
  bool loads_made_code(Row load) const;

 private:
  struct Usual {
    Ns call_ns, pause_ns;
  };
  void find_first_uses();
  void find_usual(const HostThreads& threads);
  void find_reloads(const HostThreads& threads);
  Ns gap_ns(const HostThreads& threads, Row call) const;
  Ns longest_gap_ns(const HostThreads& threads, Row launch) const;

  const Trace& trace_;
  const NameClasses& names_;
  std::vector<std::size_t>
      group_;                 // by thread: its crew, or the threads of its process that are in none
  std::vector<Usual> usual_;  // by group
  std::vector<Row> first_uses_;  // calls, ascending
  std::vector<Row> reloads_;     // of libraries that were made, ascending
};

}  // namespace gh

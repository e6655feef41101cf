// What a host thread did in a span of time, by its innermost name: a CUDA or operating-system call,
// an operator, a range, or a function in which it was sampled. Also what the profiler recorded in
// addition to calls: where the thread was sampled, whether it was on a CPU, who held Python's lock.
#pragma once
#include <vector>

#include "analysis/classes.hpp"
#include "analysis/host_threads.hpp"
#include "analysis/idle.hpp"
#include "analysis/structure/nesting.hpp"
#include "trace/trace.hpp"

namespace gh {

class HostWork {
 public:
  /// Ranges that last about as long as a step or longer, and during which GPU work was launched,
  /// say nothing about what else was done in them.
  /// `operators`: operators_of the trace.
  HostWork(const Trace& trace, const NameClasses& names, const Nesting& nesting,
           const std::vector<std::uint8_t>& operators, Ns step_ns);

  struct Doing {
    NameId name = 0;    ///< 0 if nothing shows it
    NameId within = 0;  ///< the range around it, if `name` is not one of the program's own ranges
  };
  /// What took at least half of a span: of the thread's time, else of a thread of its process that
  /// records much and does not wait. `thread`: no_index if it is unknown which thread launched the
  /// next GPU work.
  Doing during(std::uint16_t thread, std::uint16_t process, Span stretch) const;

  /// The same of idle time: the call that is its cause, if one is.
  Doing during(const Idle& idle, std::uint16_t process) const;

  /// The same, from the thread's own time alone.
  Doing own(std::uint16_t thread, Span stretch) const {
    return thread == no_index || stretch.length() <= 0 ? Doing{} : of_thread(thread, stretch);
  }

  /// Fewer samples do not show where time goes.
  static constexpr std::size_t least_samples = 3;

  /// A span of one thread's time.
  struct Stretch {
    std::uint16_t thread = 0;
    Span span;
  };
  /// What the profiler recorded in a set of stretches, summed up; 0 if it was not recorded.
  struct Seen {
    std::size_t samples = 0;
    NameId function = 0,
           module = 0;  ///< where the thread was sampled most; 0 if nothing shows it
    std::size_t in_function = 0, in_module = 0;  ///< number of samples there
    NameId line = 0;                             ///< line of the function with the most samples
    Ns scheduled_ns = 0;                         ///< of the stretches, with context switches traced
    Ns waited_ns = 0;                            ///< of that, off the CPU in a call that waits
    Ns held_off_ns = 0;              ///< of that, off the CPU outside of any recorded call
    Ns taken_ns = 0;                 ///< of that, while another recorded thread was on the same CPU
    std::uint16_t waker = no_index;  ///< the only thread at work before most of its waits ended
    Ns lock_ns = 0;                  ///< waiting for Python's lock
    std::uint16_t holder = no_index;  ///< who held it for most of that
  };
  Seen seen(const std::vector<Stretch>& stretches) const;

 private:
  struct Share {
    NameId name = 0;
    Ns ns = 0;
    Ns begun = 0;
  };
  void find_narrators(Ns step_ns);
  bool waits(NameId name) const;  // in an operating-system call
  Doing of_thread(std::uint16_t thread, Span stretch) const;
  struct Tally;
  void watch();
  NameId sampled_in(std::uint16_t thread, Span stretch) const;
  void see_samples(const Stretch& stretch, Tally& tally) const;
  void see_cpu(const Stretch& stretch, Tally& tally) const;
  void see_lock(const Stretch& stretch, Tally& tally) const;
  Ns in_calls(std::uint16_t thread, Span span) const;
  std::uint16_t at_work_before(std::uint16_t thread, Ns moment) const;
  std::vector<Share> ranges_in(std::uint16_t thread, Span stretch) const;
  bool is_operator(NameId name) const { return operators_[name] != 0; }

  const Trace& trace_;
  const NameClasses& names_;
  const HostThreads threads_;
  const Nesting& nesting_;
  const std::vector<std::uint8_t>& operators_;         // by name
  std::vector<bool> says_nothing_;                     // by range
  std::vector<std::vector<std::uint16_t>> narrators_;  // by process: threads with most ranges
  // By thread, in order of start; empty if nothing was recorded.
  std::vector<std::vector<Row>> samples_, on_cpu_, lock_waits_;
  std::vector<std::vector<Row>> lock_holds_;  // by process: only one thread holds it at a time
  std::vector<std::vector<Row>> on_;          // by CPU: threads' stretches on it, in order of start
};

}  // namespace gh

// What a host thread did in a stretch of time, by its innermost name: a call of CUDA or of the
// operating system that it was in, an operator, a range, a function that it was sampled in. And
// what the profiler saw of it beside its calls: where it was sampled, whether it was on a CPU, who
// held Python's lock.
#pragma once
#include <vector>

#include "analysis/classes.hpp"
#include "analysis/host_threads.hpp"
#include "trace/trace.hpp"

namespace gh {

class HostWork {
 public:
  /// Ranges that last nearly as long as a step, or longer, and in which the GPU was given work say
  /// nothing of what else was done in it.
  HostWork(const Trace& trace, const NameClasses& names, Ns step_ns);

  struct Doing {
    NameId name = 0;    ///< 0 where nothing tells
    NameId within = 0;  ///< the range around it, where it is no range of the program's own
  };
  /// What took at least half of a stretch: of a thread's time, else of another's in its process
  /// that tells much.
  /// `thread`: no_index where nobody knows which gave the GPU work next.
  Doing during(std::uint16_t thread, std::uint16_t process, Span stretch) const;

  /// The same of the thread's own time alone.
  Doing own(std::uint16_t thread, Span stretch) const {
    return thread == no_index || stretch.length() <= 0 ? Doing{} : of_thread(thread, stretch);
  }

  /// Fewer samples tell nothing of where time goes.
  static constexpr std::size_t least_samples = 3;

  /// A stretch of one thread's time.
  struct Stretch {
    std::uint16_t thread = 0;
    Span span;
  };
  /// What the profiler saw in stretches, summed up. What it did not record is 0.
  struct Seen {
    std::size_t samples = 0;
    NameId function = 0,
           module = 0;  ///< in which the thread was sampled most; 0 where nothing tells
    std::size_t in_function = 0, in_module = 0;  ///< of the samples
    NameId line = 0;                             ///< of the function, where most of these were
    Ns scheduled_ns = 0;             ///< of the stretches, in which switches were traced
    Ns waited_ns = 0;                ///< of that, off the CPU in a call that waits
    Ns held_off_ns = 0;              ///< of that, off the CPU in no recorded call
    Ns taken_ns = 0;                 ///< of that, while another recorded thread was on the same CPU
    std::uint16_t waker = no_index;  ///< who alone was at work before most of its waits ended
    Ns lock_ns = 0;                  ///< waiting for Python's lock
    std::uint16_t holder = no_index;  ///< who held it for most of that
  };
  Seen seen(const std::vector<Stretch>& stretches) const;

 private:
  struct RangesOfThread {
    std::vector<Row> rows;              // in order of start
    std::vector<std::uint32_t> around;  // by place: the place of the one around it, or no_row
  };
  struct Share {
    NameId name = 0;
    Ns ns = 0;
    Ns begun = 0;
  };
  void find_narrators();
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
  bool is_operator(NameId name) const;

  const Trace& trace_;
  const HostThreads threads_;
  std::vector<RangesOfThread> ranges_;                 // by thread
  std::vector<std::vector<std::uint16_t>> narrators_;  // by process: threads with most ranges
  // By thread, in order of start; empty where nothing was recorded.
  std::vector<std::vector<Row>> samples_, on_cpu_, lock_waits_;
  std::vector<std::vector<Row>> lock_holds_;  // by process: one holds it at a time
  std::vector<std::vector<Row>> on_;          // by CPU: stretches on it, in order of start
};

}  // namespace gh

// What a host thread did in a stretch of time, by its innermost name: a call of CUDA or of the
// operating system that it was in, an operator, a range.
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
  std::vector<Share> ranges_in(std::uint16_t thread, Span stretch) const;
  bool is_operator(NameId name) const;

  const Trace& trace_;
  const HostThreads threads_;
  std::vector<RangesOfThread> ranges_;                 // by thread
  std::vector<std::vector<std::uint16_t>> narrators_;  // by process: threads with most ranges
};

}  // namespace gh

// What the host threads did, by thread and in order, ready for queries about any span of time.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "analysis/classes.hpp"
#include "trace/trace.hpp"

namespace gh {

struct HostThread {
  Spans loader;  ///< ranges of the data loader, joined
  /// Ranges of a compiler, joined: of all threads of the process, since one waits while others
  /// compile for it; empty for a thread that has none.
  Spans compiler;
  /// CUDA calls in order of start; a nested call is replaced by the outer one.
  std::span<const Row> calls;
  std::vector<Row> os_calls;
};

class HostThreads {
 public:
  HostThreads(const Trace& trace, const NameClasses& names);
  const HostThread& operator[](std::uint16_t thread) const { return threads_[thread]; }
  std::size_t size() const { return threads_.size(); }

 private:
  void find_compiler(const Trace& trace, const NameClasses& names);
  void list_calls(const Calls& calls);

  std::vector<HostThread> threads_;
  std::unique_ptr<Row[]> calls_;  // ordered by thread
};

}  // namespace gh

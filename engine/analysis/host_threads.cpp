#include "analysis/host_threads.hpp"

#include <limits>
#include <utility>

#include "base/parallel.hpp"

namespace gh {
namespace {

constexpr std::size_t least_calls = 1 << 17;  // that justify another thread

// For one thread: how many calls it made, or where the next goes, and the one that ended last.
struct CallsSoFar {
  Row count = 0, last = no_row;
  Ns end = std::numeric_limits<Ns>::min();
  void take(Row call, Ns ended) {
    if (last == no_row || ended > end) {
      last = call;
      end = ended;
    }
  }
};

}  // namespace

HostThreads::HostThreads(const Trace& trace, const NameClasses& names)
    : threads_(trace.threads.size()) {
  std::vector<std::vector<Span>> loader(threads_.size());
  for (Row r = 0; r < trace.ranges.size(); ++r)
    if (names.is_phase(Phase::loader, trace.ranges.name[r]))
      loader[trace.ranges.thread[r]].push_back({trace.ranges.start[r], trace.ranges.end[r]});
  for (std::size_t t = 0; t < threads_.size(); ++t)
    threads_[t].loader = united(std::move(loader[t]));
  find_compiler(trace, names);
  list_calls(trace.calls);
  for (Row w = 0; w < trace.os_calls.size(); ++w)
    threads_[trace.os_calls.thread[w]].os_calls.push_back(w);
}

void HostThreads::find_compiler(const Trace& trace, const NameClasses& names) {
  std::vector<std::vector<Span>> spans(trace.processes.size());
  std::vector<bool> compiles(threads_.size());
  for (Row r = 0; r < trace.ranges.size(); ++r) {
    if (!names.is_phase(Phase::compilation, trace.ranges.name[r])) continue;
    const std::uint16_t thread = trace.ranges.thread[r];
    compiles[thread] = true;
    spans[trace.threads[thread].process].push_back({trace.ranges.start[r], trace.ranges.end[r]});
  }
  std::vector<Spans> joined;
  for (std::vector<Span>& of_process : spans) joined.push_back(united(std::move(of_process)));
  for (std::size_t t = 0; t < threads_.size(); ++t)
    if (compiles[t]) threads_[t].compiler = joined[trace.threads[t].process];
}

// Sorts calls by thread, in parts that run in parallel: count each part's calls per thread, add the
// counts of the earlier parts, then let each part put its calls in place.
void HostThreads::list_calls(const Calls& calls) {
  const std::size_t n = calls.size(), parts = parts_of(n, least_calls);
  std::vector<std::vector<CallsSoFar>> by_part(parts, std::vector<CallsSoFar>(threads_.size()));
  in_parts(n, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
    for (auto c = static_cast<Row>(begin); c < end; ++c) {
      CallsSoFar& t = by_part[part][calls.thread[c]];
      ++t.count;
      t.take(c, calls.end[c]);
    }
  });
  calls_ = std::make_unique_for_overwrite<Row[]>(n);
  Row at = 0;
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    const Row first = at;
    CallsSoFar before;
    for (auto& part : by_part) {
      before.count = at;
      const CallsSoFar own = std::exchange(part[thread], before);
      at += own.count;
      if (own.last != no_row) before.take(own.last, own.end);
    }
    threads_[thread].calls = {calls_.get() + first, calls_.get() + at};
  }
  in_parts(n, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
    for (auto c = static_cast<Row>(begin); c < end; ++c) {
      CallsSoFar& t = by_part[part][calls.thread[c]];
      t.take(c, calls.end[c]);
      calls_[t.count++] = t.last;
    }
  });
}

}  // namespace gh

#include "analysis/crews.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace gh {
namespace {

// Disjoint sets of threads: each thread points to another of its set, and one of them to itself.
class Sets {
 public:
  explicit Sets(std::size_t threads) : next_(threads, no_index) {}
  std::uint16_t find(std::uint16_t thread) {
    while (next_[thread] != thread) thread = next_[thread] = next_[next_[thread]];
    return thread;
  }
  void add(std::uint16_t thread) {
    if (next_[thread] == no_index) next_[thread] = thread;
  }
  bool holds(std::uint16_t thread) const { return next_[thread] != no_index; }
  void join(std::uint16_t a, std::uint16_t b) { next_[find(a)] = find(b); }

 private:
  std::vector<std::uint16_t> next_;  // no_index for threads that are in no set
};

struct Work {
  std::uint16_t thread = no_index;  // one of those that launch it
  Ns ns = 0;
};

// By stream, with the threads of each stream joined.
std::vector<Work> work_of_streams(const Trace& trace, Sets& threads) {
  const Ops& ops = trace.ops;
  std::vector<Work> work(trace.streams.size());
  for (Row op = 0; op < ops.size(); ++op) {
    const bool computes = ops.kind[op] == OpKind::kernel || ops.kind[op] == OpKind::graph;
    if (!computes || ops.call[op] == no_row) continue;
    const std::uint16_t thread = trace.calls.thread[ops.call[op]];
    Work& w = work[ops.stream[op]];
    w.ns += ops.end[op] - ops.start[op];
    if (w.thread == thread) continue;
    threads.add(thread);
    if (w.thread != no_index) threads.join(w.thread, thread);
    w.thread = thread;
  }
  return work;
}

}  // namespace

Crews::Crews(const Trace& trace)
    : trace_(trace), crew_(trace.threads.size(), no_index), main_(trace.devices.size(), no_index) {
  Sets threads(trace.threads.size());
  const std::vector<Work> streams = work_of_streams(trace, threads);
  for (std::uint16_t t = 0; t < crew_.size(); ++t)
    if (threads.holds(t)) crew_[t] = threads.find(t);

  std::map<std::pair<std::uint16_t, std::uint16_t>, Ns> took;  // by device and crew
  for (std::size_t s = 0; s < streams.size(); ++s)
    if (streams[s].thread != no_index)
      took[{trace.streams[s].device, crew_[streams[s].thread]}] += streams[s].ns;
  std::vector<Ns> most(main_.size(), -1);
  for (const auto& [key, ns] : took)
    if (const auto [device, crew] = key; ns > most[device]) {
      most[device] = ns;
      main_[device] = crew;
    }
}

std::uint16_t Crews::of_op(Row op) const {
  const Row call = trace_.ops.call[op];
  return call == no_row ? no_index : crew_[trace_.calls.thread[call]];
}

bool Crews::are_apart(Row op, Row other) const {
  const std::uint16_t a = of_op(op), b = of_op(other);
  return a != no_index && b != no_index && a != b;
}

bool Crews::are_several() const {
  std::uint16_t first = no_index;
  return std::any_of(crew_.begin(), crew_.end(), [&](std::uint16_t crew) {
    if (first == no_index) first = crew;
    return crew != no_index && crew != first;
  });
}

std::vector<std::uint16_t> Crews::working(const std::vector<Row>& ops) const {
  std::vector<double> took(crew_.size());
  double all_ns = 0;
  for (const Row op : ops) {
    const auto ns = static_cast<double>(trace_.span_of(op).length());
    all_ns += ns;
    if (const std::uint16_t crew = of_op(op); crew != no_index) took[crew] += ns;
  }
  std::vector<std::uint16_t> crews;
  for (std::uint16_t crew = 0; crew < took.size(); ++crew)
    if (took[crew] > 0 && took[crew] >= least_work_of_loop * all_ns) crews.push_back(crew);
  std::stable_sort(crews.begin(), crews.end(),
                   [&](std::uint16_t a, std::uint16_t b) { return took[a] > took[b]; });
  return crews;
}

bool Crews::is_beside(Row op) const {
  const Row call = trace_.ops.call[op];
  const std::uint16_t main = main_[trace_.device_of(op)];
  if (call == no_row || main == no_index) return false;
  const std::uint16_t thread = trace_.calls.thread[call];
  return crew_[thread] != main && trace_.threads[thread].process == trace_.threads[main].process;
}

}  // namespace gh

// What the profiler recorded about a thread in addition to its calls: stack samples, when it was on
// a CPU, who held Python's lock. Rows are grouped by thread, so that each span reads only its
// thread's rows.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/structure/host_work.hpp"

namespace gh {
namespace {

// A thread runs on its CPU within this time after another wakes it. A thread that stopped working
// longer before did not wake it.
constexpr Ns woken_within_ns = 50'000;

// How many waits to examine for who ended them: more add nothing.
constexpr std::size_t most_waits = 2000;

// The rows of a list that may touch a span; rows are in order of start and do not overlap.
template <class Events>
std::span<const Row> touching(const Events& events, const std::vector<Row>& rows, Span span) {
  const auto end = std::partition_point(rows.begin(), rows.end(),
                                        [&](Row r) { return events.start[r] < span.end; });
  auto first =
      std::partition_point(rows.begin(), end, [&](Row r) { return events.start[r] < span.start; });
  if (first != rows.begin()) --first;
  return std::span(rows).subspan(static_cast<std::size_t>(first - rows.begin()),
                                 static_cast<std::size_t>(end - first));
}

template <class Events>
Ns shared_ns(const Events& events, Row r, Span span) {
  return std::max<Ns>(0, std::min(events.end[r], span.end) - std::max(events.start[r], span.start));
}

template <class Key, class Count>
std::pair<Key, Count> most_of(const std::map<Key, Count>& counts, Key none) {
  std::pair<Key, Count> best{none, Count{}};
  for (const auto& [key, count] : counts)
    if (count > best.second) best = {key, count};
  return best;
}

}  // namespace

// Sums over spans of time, of which the largest entries are reported.
struct HostWork::Tally {
  Seen seen;
  struct Samples {
    std::size_t count = 0;
    std::map<NameId, std::size_t> functions, modules;
    std::map<NameId, std::map<NameId, std::size_t>> lines;  // by function
  };
  Samples python, native;
  std::map<std::uint16_t, std::size_t> wakers;
  std::size_t waits = 0;
  std::map<std::uint16_t, Ns> holders;
};

void HostWork::watch() {
  const std::vector<Thread>& threads = trace_.threads;
  samples_.resize(threads.size());
  on_cpu_.resize(threads.size());
  lock_waits_.resize(threads.size());
  lock_holds_.resize(trace_.processes.size());
  const HostSamples& samples = trace_.host_samples;
  for (Row r = 0; r < samples.size(); ++r) samples_[samples.thread[r]].push_back(r);
  const CpuStretches& on = trace_.cpu_stretches;
  for (Row r = 0; r < on.size(); ++r) on_cpu_[on.thread[r]].push_back(r);
  const PythonLock& lock = trace_.python_lock;
  for (Row r = 0; r < lock.size(); ++r) {
    const std::uint16_t thread = lock.thread[r];
    (lock.holds[r] != 0 ? lock_holds_[threads[thread].process] : lock_waits_[thread]).push_back(r);
  }
  if (on.size() > 0) on_.resize(std::size_t{*std::max_element(on.cpu.begin(), on.cpu.end())} + 1);
  for (Row r = 0; r < on.size(); ++r) on_[on.cpu[r]].push_back(r);
}

void HostWork::see_samples(const Stretch& stretch, Tally& tally) const {
  const HostSamples& samples = trace_.host_samples;
  const std::vector<Row>& rows = samples_[stretch.thread];
  auto row = std::partition_point(rows.begin(), rows.end(),
                                  [&](Row r) { return samples.start[r] < stretch.span.start; });
  for (; row != rows.end() && samples.start[*row] < stretch.span.end; ++row) {
    const NameId function = samples.function[*row], module = samples.module[*row];
    Tally::Samples& to = samples.is_python[*row] != 0 ? tally.python : tally.native;
    ++to.count;
    ++to.functions[function];
    ++to.modules[module];
    if (samples.line[*row] != 0) ++to.lines[function][samples.line[*row]];
  }
}

// How much of a span its thread spent in CUDA or operating-system calls.
Ns HostWork::in_calls(std::uint16_t thread, Span span) const {
  std::vector<Span> inside;
  const auto add = [&](const auto& events, const auto& rows) {
    auto row = std::partition_point(rows.begin(), rows.end(),
                                    [&](Row r) { return events.start[r] < span.start; });
    if (row != rows.begin()) --row;
    for (; row != rows.end() && events.start[*row] < span.end; ++row)
      if (shared_ns(events, *row, span) > 0)
        inside.push_back(
            {std::max(events.start[*row], span.start), std::min(events.end[*row], span.end)});
  };
  add(trace_.calls, threads_[thread].calls);
  add(trace_.os_calls, threads_[thread].os_calls);
  return total(united(std::move(inside)));
}

// The only other thread of the process that was on a CPU just before a moment; no_index if there
// were several.
std::uint16_t HostWork::at_work_before(std::uint16_t thread, Ns moment) const {
  const CpuStretches& on = trace_.cpu_stretches;
  std::uint16_t found = no_index;
  for (std::uint16_t other = 0; other < on_cpu_.size(); ++other) {
    if (other == thread || on_cpu_[other].empty() ||
        trace_.threads[other].process != trace_.threads[thread].process)
      continue;
    const auto rows = touching(on, on_cpu_[other], {moment - woken_within_ns, moment});
    if (std::none_of(rows.begin(), rows.end(),
                     [&](Row r) { return on.end[r] > moment - woken_within_ns; }))
      continue;
    if (found != no_index) return no_index;
    found = other;
  }
  return found;
}

void HostWork::see_cpu(const Stretch& stretch, Tally& tally) const {
  const CpuStretches& on = trace_.cpu_stretches;
  const std::vector<Row>& own = on_cpu_[stretch.thread];
  if (own.empty()) return;
  const Span known{std::max(on.start[own.front()], stretch.span.start),
                   std::min(on.end[own.back()], stretch.span.end)};
  if (known.length() <= 0) return;
  tally.seen.scheduled_ns += known.length();
  const std::span<const Row> rows = touching(on, own, stretch.span);
  for (const Row& row : rows) {
    const Row* next = &row + 1;  // the next of `own`, if there is one
    if (next == own.data() + own.size()) break;
    const Span off{std::max(on.end[row], stretch.span.start),
                   std::min(on.start[*next], stretch.span.end)};
    if (off.length() <= 0) continue;
    const Ns waited = in_calls(stretch.thread, off);
    const Ns held_off = off.length() - waited;
    tally.seen.waited_ns += waited;
    tally.seen.held_off_ns += held_off;
    Ns taken = 0;
    for (const Row other : touching(on, on_[on.cpu[row]], off))
      if (on.thread[other] != stretch.thread) taken += shared_ns(on, other, off);
    tally.seen.taken_ns += std::min(taken, held_off);
    if (waited <= held_off || off.end == stretch.span.end || tally.waits >= most_waits) continue;
    ++tally.waits;
    ++tally.wakers[at_work_before(stretch.thread, off.end)];
  }
}

void HostWork::see_lock(const Stretch& stretch, Tally& tally) const {
  const PythonLock& lock = trace_.python_lock;
  const std::vector<Row>& holds = lock_holds_[trace_.threads[stretch.thread].process];
  for (const Row wait : touching(lock, lock_waits_[stretch.thread], stretch.span)) {
    const Span span{std::max(lock.start[wait], stretch.span.start),
                    std::min(lock.end[wait], stretch.span.end)};
    if (span.length() <= 0) continue;
    tally.seen.lock_ns += span.length();
    for (const Row held : touching(lock, holds, span))
      if (lock.thread[held] != stretch.thread)
        tally.holders[lock.thread[held]] += shared_ns(lock, held, span);
  }
}

NameId HostWork::sampled_in(std::uint16_t thread, Span stretch) const {
  const Seen found = seen({{thread, stretch}});
  const bool most = 2 * found.in_function >= found.samples;
  return most && found.samples >= least_samples ? found.function : 0;
}

HostWork::Seen HostWork::seen(const std::vector<Stretch>& stretches) const {
  Tally tally;
  for (const Stretch& stretch : stretches) {
    if (stretch.thread >= trace_.threads.size() || stretch.span.length() <= 0) continue;
    see_samples(stretch, tally);
    see_cpu(stretch, tally);
    see_lock(stretch, tally);
  }
  Seen& seen = tally.seen;
  // Python stacks show what a program does; native ones, how.
  const Tally::Samples& samples = tally.python.count > 0 ? tally.python : tally.native;
  seen.samples = samples.count;
  std::tie(seen.function, seen.in_function) = most_of(samples.functions, NameId{0});
  std::tie(seen.module, seen.in_module) = most_of(samples.modules, NameId{0});
  if (const auto lines = samples.lines.find(seen.function); lines != samples.lines.end())
    seen.line = most_of(lines->second, NameId{0}).first;
  if (const auto [waker, count] = most_of(tally.wakers, no_index); 2 * count > tally.waits)
    seen.waker = waker;
  if (const auto [holder, ns] = most_of(tally.holders, no_index); 2 * ns > seen.lock_ns)
    seen.holder = holder;
  return seen;
}

}  // namespace gh

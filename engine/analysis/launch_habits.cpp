#include "analysis/launch_habits.hpp"

#include <algorithm>
#include <span>
#include <unordered_set>

namespace gh {
namespace {

// Used where there are too few launches to measure: what a launch, and the time until the next,
// take in eager frameworks.
constexpr Ns common_ns = 10'000;

// Longer pauses between calls have nothing to do with launching.
constexpr Ns longest_pause_ns = 1'000'000;

// Medians are taken over at most this many calls of a thread, spread evenly; a few calls show
// nothing.
constexpr std::size_t most_sampled = 4096, least_sampled = 16;

std::size_t stride_over(std::size_t n) { return std::max<std::size_t>(1, n / most_sampled); }

Ns median_or_common(std::vector<Ns>& values) {
  if (values.size() < least_sampled) return common_ns;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return std::max<Ns>(1, *middle);
}

}  // namespace

LaunchHabits::LaunchHabits(const Trace& trace, const NameClasses& names, const Crews& crews,
                           const HostThreads& threads)
    : trace_(trace), names_(names), group_(trace.threads.size()) {
  for (std::uint16_t t = 0; t < group_.size(); ++t)
    group_[t] = crews.of(t) != no_index ? crews.of(t) : group_.size() + trace.threads[t].process;
  find_first_uses();
  find_usual(threads);
}

void LaunchHabits::find_first_uses() {
  const Ops& ops = trace_.ops;
  std::unordered_set<std::uint64_t> used;  // process and name
  for (Row op = 0; op < ops.size(); ++op) {
    if (ops.kind[op] != OpKind::kernel || ops.call[op] == no_row) continue;
    const std::uint64_t key = std::uint64_t{trace_.process_of(op)} << 32 | ops.name[op];
    if (used.insert(key).second) first_uses_.push_back(ops.call[op]);
  }
  std::sort(first_uses_.begin(), first_uses_.end());
}

void LaunchHabits::find_usual(const HostThreads& threads) {
  const Calls& calls = trace_.calls;
  const std::size_t groups = group_.size() + trace_.processes.size();
  std::vector<std::vector<Ns>> lengths(groups), pauses(groups);
  for (std::uint16_t t = 0; t < trace_.threads.size(); ++t) {
    const std::span<const Row> own = threads[t].calls;
    const std::size_t stride = stride_over(own.size());
    for (std::size_t i = 1; i < own.size(); i += stride) {
      const Row call = own[i];
      if (names_.call[calls.name[call]] != CallClass::launch) continue;
      if (!std::binary_search(first_uses_.begin(), first_uses_.end(), call))
        lengths[group_[t]].push_back(calls.end[call] - calls.start[call]);
      // Measured from the launch before; other CUDA calls in between are part of it.
      std::size_t before = i - 1;
      while (before > 0 && !launches(names_.call[calls.name[own[before]]])) --before;
      const Ns pause = calls.start[call] - calls.end[own[before]];
      if (pause >= 0 && pause <= longest_pause_ns) pauses[group_[t]].push_back(pause);
    }
  }
  for (std::size_t g = 0; g < groups; ++g)
    usual_.push_back({median_or_common(lengths[g]), median_or_common(pauses[g])});
}

bool LaunchHabits::loads_code(Row launch) const {
  return trace_.calls.end[launch] - trace_.calls.start[launch] >=
             something_else * call_ns(trace_.calls.thread[launch]) &&
         std::binary_search(first_uses_.begin(), first_uses_.end(), launch);
}

}  // namespace gh

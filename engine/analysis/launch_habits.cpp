#include "analysis/launch_habits.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
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

// What a thread also does without loading a library takes at most this many times as long when it
// does load one (the rules tell compilation in steps from other work alike). Building attention for
// a new shape takes a hundred times as long as the pause before other launches.
constexpr Ns clearly_longer = 2;

bool loads_library(std::string_view call) {
  return call.starts_with("cuLibraryLoad") || call.starts_with("cudaLibraryLoad");
}

// A library that a thread loads, and the kernel that it launches next.
struct Load {
  Row launch, call;
};

// The loads of all threads, by launch.
std::vector<Load> loads_of_libraries(const Trace& trace, const NameClasses& names,
                                     const HostThreads& threads) {
  std::vector<Load> loads;
  for (std::uint16_t t = 0; t < trace.threads.size(); ++t) {
    std::size_t launched = loads.size();  // those from here on await their launch
    for (const Row call : threads[t].calls) {
      const NameId name = trace.calls.name[call];
      if (names.call[name] == CallClass::launch) {
        for (; launched < loads.size(); ++launched) loads[launched].launch = call;
      } else if (names.call[name] == CallClass::loading && loads_library(trace.names[name])) {
        loads.push_back({no_row, call});
      }
    }
    loads.resize(launched);
  }
  std::sort(loads.begin(), loads.end(),
            [](const Load& a, const Load& b) { return a.launch < b.launch; });
  return loads;
}

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
  find_reloads(threads);
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

void LaunchHabits::find_reloads(const HostThreads& threads) {
  const std::vector<Load> loads = loads_of_libraries(trace_, names_, threads);
  if (loads.size() < 2) return;
  const Ops& ops = trace_.ops;
  // By process, device and kernel: the loads, how many launches they came before, and the longest
  // time without a call before the other launches.
  struct Loaded {
    std::vector<Row> calls;
    std::size_t times = 0;
    Ns without_ns = 0;
  };
  std::map<std::tuple<std::uint16_t, std::uint16_t, NameId>, Loaded> of_kernel;
  const auto key_of = [&](Row op) {
    const Stream& stream = trace_.streams[ops.stream[op]];
    return std::tuple(stream.process, stream.device, ops.name[op]);
  };
  const auto before = [&](Row op) {
    return std::equal_range(loads.begin(), loads.end(), Load{ops.call[op], no_row},
                            [](const Load& a, const Load& b) { return a.launch < b.launch; });
  };
  const auto each_launched = [&](auto&& take) {
    for (Row op = 0; op < ops.size(); ++op)
      if (ops.kind[op] == OpKind::kernel && ops.call[op] != no_row) take(op);
  };
  each_launched([&](Row op) {
    const auto [from, to] = before(op);
    if (from == to) return;
    Loaded& loaded = of_kernel[key_of(op)];
    ++loaded.times;
    for (auto load = from; load != to; ++load) loaded.calls.push_back(load->call);
  });
  std::erase_if(of_kernel, [](const auto& entry) { return entry.second.times < 2; });
  if (of_kernel.empty()) return;
  each_launched([&](Row op) {
    const auto loaded = of_kernel.find(key_of(op));
    const auto [from, to] = before(op);
    if (loaded == of_kernel.end() || from != to) return;
    Ns& longest = loaded->second.without_ns;
    longest = std::max(longest, longest_gap_ns(threads, ops.call[op]));
  });
  for (const auto& [kernel, loaded] : of_kernel)
    for (const Row load : loaded.calls)
      if (gap_ns(threads, load) / clearly_longer > loaded.without_ns) reloads_.push_back(load);
  std::sort(reloads_.begin(), reloads_.end());
}

// How long the thread of a call had made none.
Ns LaunchHabits::gap_ns(const HostThreads& threads, Row call) const {
  const std::span<const Row> own = threads[trace_.calls.thread[call]].calls;
  const auto at = std::lower_bound(own.begin(), own.end(), call);
  return at == own.begin() ? 0 : trace_.calls.start[call] - trace_.calls.end[*std::prev(at)];
}

// The longest such time from the launch before to this one.
Ns LaunchHabits::longest_gap_ns(const HostThreads& threads, Row launch) const {
  const std::span<const Row> own = threads[trace_.calls.thread[launch]].calls;
  Ns longest = gap_ns(threads, launch);
  for (auto at = std::lower_bound(own.begin(), own.end(), launch);
       at != own.begin() && !launches(names_.call[trace_.calls.name[*std::prev(at)]]); --at)
    longest = std::max(longest, gap_ns(threads, *std::prev(at)));
  return longest;
}

bool LaunchHabits::loads_made_code(Row load) const {
  return trace_.names[trace_.calls.name[load]].starts_with("cuModuleLoad") ||
         std::binary_search(reloads_.begin(), reloads_.end(), load);
}

bool LaunchHabits::loads_code(Row launch) const {
  return trace_.calls.end[launch] - trace_.calls.start[launch] >=
             something_else * call_ns(trace_.calls.thread[launch]) &&
         std::binary_search(first_uses_.begin(), first_uses_.end(), launch);
}

}  // namespace gh

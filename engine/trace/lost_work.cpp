#include "trace/lost_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "base/profile.hpp"
#include "trace/trace.hpp"

namespace gh {
namespace {

// None of 170 reports lacks the kernel of a launch by chance, and one lacks 1 of 392 copies: a copy
// of no bytes has no row.
constexpr double most_by_chance = 0.01;
// Fewer are not a pattern.
constexpr std::size_t least_lost = 2, least_of = 10;

enum class Launches : std::uint8_t { nothing, kernel, graph, copy, begins_capture, ends_capture };

// By name, what a call of that name launches.
std::vector<Launches> launches_by_name(const Trace& t) {
  const auto begins = [](std::string_view name, std::initializer_list<std::string_view> with) {
    return std::any_of(with.begin(), with.end(),
                       [&](std::string_view beginning) { return name.starts_with(beginning); });
  };
  const auto of = [&](std::string_view name) {
    if (begins(name, {"cudaLaunchKernel", "cuLaunchKernel", "cudaLaunchCooperative",
                      "cuLaunchCooperative"}))
      return Launches::kernel;
    if (begins(name, {"cudaGraphLaunch", "cuGraphLaunch"})) return Launches::graph;
    if (begins(name, {"cudaMemcpy", "cuMemcpy"})) return Launches::copy;
    if (begins(name, {"cudaStreamBeginCapture", "cuStreamBeginCapture"}))
      return Launches::begins_capture;
    if (begins(name, {"cudaStreamEndCapture", "cuStreamEndCapture"})) return Launches::ends_capture;
    return Launches::nothing;
  };
  std::vector<Launches> launches(t.names.size());
  for (NameId n = 0; n < launches.size(); ++n) launches[n] = of(t.names[n]);
  return launches;
}

class Search {
 public:
  explicit Search(const Trace& trace)
      : t_(trace), launches_(launches_by_name(trace)), led_to_work_(trace.calls.size()) {
    for (const Row call : t_.ops.call)
      if (call != no_row) led_to_work_[call] = 1;
  }

  LostWork run() {
    const bool all_lost = t_.ops.size() == 0;
    if ((!all_lost && !t_.availability(Source::kernels).known()) || !any_without_work()) return {};
    mark_nested();
    find_captured();
    find_last();
    LostWork lost;
    add(Launches::kernel, "launches have no kernel", lost);
    add(Launches::graph, "graph launches have no kernel", lost);
    add(Launches::copy, "copy calls have no copy", lost);
    std::sort(lost.launched.begin(), lost.launched.end());
    return lost;
  }

 private:
  Launches launches(Row call) const { return launches_[t_.calls.name[call]]; }
  std::uint16_t process_of(Row call) const { return t_.threads[t_.calls.thread[call]].process; }

  bool any_without_work() const {
    for (Row call = 0; call < t_.calls.size(); ++call) {
      const Launches what = launches(call);
      if (!led_to_work_[call] && what >= Launches::kernel && what <= Launches::copy) return true;
    }
    return false;
  }

  // If driver functions are recorded too, a call made by another call counts together with it.
  void mark_nested() {
    const Calls& c = t_.calls;
    std::vector<std::vector<Row>> open(t_.threads.size());
    for (Row call = 0; call < c.size(); ++call) {
      std::vector<Row>& around = open[c.thread[call]];
      while (!around.empty() && c.end[around.back()] <= c.start[call]) around.pop_back();
      if (led_to_work_[call]) {
        // Those around one that is marked are marked too: calls may be nested thousands deep.
        for (auto outer = around.rbegin(); outer != around.rend() && !led_to_work_[*outer]; ++outer)
          led_to_work_[*outer] = 1;
      } else if (!around.empty()) {
        led_to_work_[call] = led_to_work_[around.back()];
      }
      around.push_back(call);
    }
  }

  // One thread may begin the capture and others launch into it: PyTorch captures the backward pass
  // from autograd's thread.
  void find_captured() {
    captured_.resize(t_.calls.size());
    std::vector<int> open(t_.processes.size());
    for (Row call = 0; call < t_.calls.size(); ++call) {
      int& depth = open[process_of(call)];
      if (launches(call) == Launches::ends_capture && depth > 0) --depth;
      captured_[call] = depth > 0;
      if (launches(call) == Launches::begins_capture) ++depth;
    }
  }

  // What was launched last may not have run when the recording ended.
  void find_last() {
    last_ran_.resize(t_.processes.size());
    const Ops& o = t_.ops;
    for (Row op = 0; op < o.size(); ++op) {
      last_end_ = std::max(last_end_, o.end[op]);
      if (o.call[op] == no_row) continue;
      std::uint32_t& last = last_ran_[t_.process_of(op)];
      last = std::max(last, o.correlation[op]);
    }
  }

  bool counts(Row call, Launches what) const {
    return launches(call) == what && !captured_[call] && t_.calls.result_of(call) == 0;
  }

  // If only launches led to nothing, the availability of kernels says so. A graph may hold no
  // kernel, and a copy no bytes: that is normal where no call of the same function led to anything.
  std::vector<Row> lost_of(Launches what) const {
    std::vector<std::uint8_t> may_be_lost(t_.names.size(), what == Launches::kernel);
    for (Row call = 0; call < t_.calls.size(); ++call)
      if (led_to_work_[call]) may_be_lost[t_.calls.name[call]] = 1;
    std::vector<Row> lost;
    for (Row call = 0; call < t_.calls.size(); ++call)
      if (counts(call, what) && !led_to_work_[call] && may_be_lost[t_.calls.name[call]] &&
          (t_.calls.correlation[call] < last_ran_[process_of(call)] ||
           t_.calls.start[call] > last_end_))
        lost.push_back(call);
    return lost;
  }

  // A kernel is never missing by chance, but a few graphs and copies are.
  void add(Launches what, const char* text, LostWork& lost) const {
    const std::vector<Row> calls = lost_of(what);
    std::size_t all = 0;
    for (Row call = 0; call < t_.calls.size(); ++call) all += counts(call, what);
    const double share =
        static_cast<double>(calls.size()) / static_cast<double>(std::max<std::size_t>(all, 1));
    const bool is_chance = share <= most_by_chance;
    if (calls.empty() || (is_chance && what != Launches::kernel)) return;
    for (const Row call : calls) lost.launched.push_back(t_.calls.start[call]);
    if (!lost.described.empty()) lost.described += ", ";
    lost.described += fmt::format("{} of {} {}", calls.size(), all, text);
    lost.many |= !is_chance && calls.size() >= least_lost && all >= least_of;
  }

  const Trace& t_;
  const std::vector<Launches> launches_;              // by name
  std::vector<std::uint8_t> led_to_work_, captured_;  // by call
  std::vector<std::uint32_t> last_ran_;  // by process: the last correlation of what ran
  Ns last_end_ = std::numeric_limits<Ns>::min();
};

}  // namespace

bool LostWork::any_in(Span host) const {
  const auto first = std::lower_bound(launched.begin(), launched.end(), host.start);
  return first != launched.end() && *first < host.end;
}

std::optional<Ns> LostWork::last_before(Ns at) const {
  const auto after = std::lower_bound(launched.begin(), launched.end(), at);
  return after == launched.begin() ? std::nullopt : std::optional(*(after - 1));
}

LostWork find_lost_work(const Trace& trace) {
  return timed("lost work", [&] { return Search(trace).run(); });
}

}  // namespace gh

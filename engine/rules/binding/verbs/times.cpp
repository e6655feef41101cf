// How long, and at the same time as what: the time that selections cover.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "analysis/steps.hpp"
#include "rules/binding/time_sets.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {

namespace {

// When kernels and whole graphs start, or anything else if none run.
std::vector<Ns> starts_of_work(const Context& c) {
  const Ops& ops = c.trace().ops;
  std::vector<Ns> starts;
  for (const bool kernels : {true, false}) {
    c.in_steps.ops.each([&](Row op) {
      const bool is_kernel = ops.kind[op] == OpKind::kernel || ops.kind[op] == OpKind::graph;
      if (is_kernel == kernels) starts.push_back(ops.start[op]);
    });
    if (!starts.empty()) break;
  }
  return starts;
}

int union_ns(lua_State* lua, const Context& c, const Rows& asked) {
  push_number(lua, total_time(c, asked));
  return 1;
}

int recorded_ns(lua_State* lua, const Context& c, const Rows& asked) {
  push_number(lua, static_cast<double>(recorded_time(c, asked)));
  return 1;
}

int own_ns(lua_State* lua, const Context& c, const Rows& asked) {
  const std::vector<Spans>& stalls = c.in_steps.stalls();
  const bool never_stalls = std::all_of(stalls.begin(), stalls.end(),
                                        [](const Spans& of_device) { return of_device.empty(); });
  if (never_stalls) return union_ns(lua, c, asked);
  double sum = 0;
  for (const auto& [slot, set] : time_of(c, asked)) {
    const Ns stalled = slot == no_slot ? 0 : overlap(set, stalls[slot]);
    sum += static_cast<double>(total(set) - stalled);
  }
  push_number(lua, sum);
  return 1;
}

int overlap_ns(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  push_number(lua, common_time(c, asked, other));
  return 1;
}

int exposed_ns(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  push_number(lua, exposed_time(c, asked, other));
  return 1;
}

int exposed(lua_State* lua, const Context& c, const Rows& asked, const Rows& other) {
  const double least_fraction = luaL_optnumber(lua, 3, 0.5);
  const TimeSets own = time_of(c, asked);
  const TimeSets others = asked.rows.empty() ? own : time_of(c, other, &own);
  const auto exposed_enough = [&](Row r) {
    const Span span = span_of(c, asked, r);
    const Ns covered = overlap(set_for(others, slot_of(c, asked, r)), span);
    return static_cast<double>(span.length() - covered) >=
           least_fraction * static_cast<double>(span.length());
  };
  push_rows(lua, {asked.kind, asked.rows.where(exposed_enough), asked.chains});
  return 1;
}

// The start of the program, which is the first of several equal parts of its work, and its end. On
// a device with steps each step is a part, and there is no end: the last step ends as the others
// do. Otherwise the start reaches until a quarter of the window has passed and a quarter of its
// kernels have begun. Time alone would put a few kernels after long loading into the last quarter,
// kernels alone the first pause between four of them into the second. The end comes when the last
// kernel has begun: nothing that the GPU has to compute waits for it.
class StartAndEnd {
 public:
  explicit StartAndEnd(const Context& c) {
    std::vector<Ns> work = starts_of_work(c);
    Ns quarter = c.window.start + c.window.length() / 4, last = c.window.end;
    if (!work.empty()) {
      const auto nth = work.begin() + static_cast<std::ptrdiff_t>((work.size() - 1) / 4);
      std::nth_element(work.begin(), nth, work.end());
      quarter = std::max(quarter, *nth + 1);
      last = *std::max_element(work.begin(), work.end());
    }
    constexpr std::size_t quarters = 4;
    for (const DeviceSteps& device : c.analysis.devices) {
      if (device.source == StepSource::none) {
        take(quarter, quarter, last, quarters);
      } else if (device.steps.size() > 1 && begins_with_first(device)) {
        const Step& second = device.steps[1];
        take(second.span.start, second.host_start, latest, device.steps.size());
      } else {  // a single step, like chosen ones, may be any of the program's
        take(earliest, earliest, latest, quarters);
      }
    }
  }

  bool hold(std::size_t slot, Ns at) const {
    const Middle& middle = slot == no_slot ? host_ : devices_[slot];
    return at < middle.start || at > middle.end;
  }
  /// How many parts the work has, with the first; the mean of the devices.
  double parts() const { return parts_ / static_cast<double>(devices_.size()); }

 private:
  // Whether the first judged step is the first that was recorded.
  static bool begins_with_first(const DeviceSteps& device) {
    return !device.selected && device.left_out == 0 && device.lost == 0;
  }
  static constexpr Ns earliest = std::numeric_limits<Ns>::min();
  static constexpr Ns latest = std::numeric_limits<Ns>::max();
  // What is neither start nor end.
  struct Middle {
    Ns start, end;
  };

  void take(Ns start, Ns host_start, Ns end, std::size_t parts) {
    devices_.push_back({start, end});
    host_ = {std::max(host_.start, host_start), std::max(host_.end, end)};
    parts_ += static_cast<double>(parts);
  }

  std::vector<Middle> devices_;  // by slot
  Middle host_{earliest, earliest};
  double parts_ = 0;
};

int at_start_or_end(lua_State* lua, const Context& c, const Rows& asked) {
  const StartAndEnd ends(c);
  double at_ends = 0, between = 0;
  asked.rows.each([&](Row r) {
    const Span span = span_of(c, asked, r);
    (ends.hold(slot_of(c, asked, r), span.start) ? at_ends : between) +=
        static_cast<double>(span.length());
  });
  // What recurs takes as much in the first part as in the others on average; the start and the end
  // have what is beyond that. The larger of the two decides.
  const double once = at_ends - between / (ends.parts() - 1);
  lua_pushboolean(lua, 2 * once > at_ends + between);
  return 1;
}

// In how many quarters of the work the rows begin.
std::ptrdiff_t quarters_of(const Context& c, const Rows& asked) {
  constexpr double least = 0.1;  // of all their time; less does not count
  const std::vector<Ns> work = starts_of_work(c);
  std::array<Ns, 4> ns{};
  asked.rows.each([&](Row r) {
    const Span span = span_of(c, asked, r);
    const auto done = static_cast<std::size_t>(
        std::lower_bound(work.begin(), work.end(), span.start) - work.begin());
    ns[std::min<std::size_t>(3, 4 * done / std::max<std::size_t>(1, work.size()))] += span.length();
  });
  const auto all = static_cast<double>(ns[0] + ns[1] + ns[2] + ns[3]);
  return std::count_if(ns.begin(), ns.end(), [&](Ns quarter) {
    return quarter > 0 && static_cast<double>(quarter) >= least * all;
  });
}

int quarters(lua_State* lua, const Context& c, const Rows& asked) {
  lua_pushinteger(lua, quarters_of(c, asked));
  return 1;
}

int throughout(lua_State* lua, const Context& c, const Rows& asked) {
  lua_pushboolean(lua, quarters_of(c, asked) >= 3);
  return 1;
}

constexpr Verb times_table[] = {
    {"selection:union_ns", verb<union_ns, Cost{.rows = 1}>},
    {"selection:recorded_ns", verb<recorded_ns, Cost{.rows = 1}>},
    {"selection:own_ns", verb<own_ns, Cost{.rows = 1, .gpu_faults = 1}>},
    {"selection:overlap_ns", verb<overlap_ns, Cost{.rows = 1}>},
    {"selection:exposed_ns", verb<exposed_ns, Cost{.rows = 1}>},
    {"selection:exposed", verb<exposed, Cost{.rows = 1}>},
    {"selection:at_start_or_end", verb<at_start_or_end, Cost{.rows = 1, .ops = 1}>},
    {"selection:quarters", verb<quarters, Cost{.rows = 1, .ops = 1}>},
    {"selection:throughout", verb<throughout, Cost{.rows = 1, .ops = 1}>},
};

}  // namespace

const Verbs times_verbs = times_table;

}  // namespace gh::binding

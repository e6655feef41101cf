// How kernels were launched, and how much of the device that fills: by launch shape, and over all
// kernels that run at the same time.
#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "analysis/residency.hpp"
#include "base/span_cursor.hpp"
#include "rules/binding/time_sets.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

constexpr std::size_t most_launch_shapes = 100'000;

LaunchShape shape_of(const Ops& ops, Row op) {
  return {ops.blocks[op], ops.threads[op], ops.registers_of(op), ops.shared_bytes_of(op)};
}

// Kernels of one name with the same launch shape.
struct LaunchedAlike {
  Row first = no_row;
  Ns ns = 0;
  std::vector<Row> rows;
};

using Alike =
    std::tuple<NameId, std::uint16_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

// The kernels of a selection by name, device and launch shape.
std::map<Alike, LaunchedAlike> launched_alike(lua_State* lua, const Context& c, const Rows& asked) {
  const Ops& ops = c.trace().ops;
  std::map<Alike, LaunchedAlike> found;
  asked.rows.each([&](Row op) {
    if (ops.kind[op] != OpKind::kernel) return;
    const LaunchShape shape = shape_of(ops, op);
    LaunchedAlike& alike = found[{ops.name[op], c.trace().device_of(op), shape.blocks,
                                  shape.threads, shape.registers, shape.shared_bytes}];
    if (found.size() > most_launch_shapes)
      lua_give_up(lua, fmt::format("there are more than {} launch shapes", most_launch_shapes));
    if (alike.first == no_row) alike.first = op;
    alike.ns += c.trace().span_of(op).length();
    alike.rows.push_back(op);
  });
  return found;
}

void push_alike(lua_State* lua, const Context& c, LaunchedAlike& alike) {
  const Trace& t = c.trace();
  const LaunchShape shape = shape_of(t.ops, alike.first);
  const Device& device = t.devices[t.device_of(alike.first)];
  lua_newtable(lua);
  set_text(lua, "name", t.names[t.ops.name[alike.first]]);
  set_number(lua, "blocks", shape.blocks);
  set_number(lua, "threads", shape.threads);
  set_number(lua, "count", static_cast<double>(alike.rows.size()));
  set_number(lua, "sum_ns", static_cast<double>(alike.ns));
  if (shape.registers > 0) {
    set_number(lua, "registers", shape.registers);
    set_number(lua, "shared_bytes", shape.shared_bytes);
  }
  const auto sm = c.analysis.classes.sm_limits(device);
  if (const auto held = sm ? residency_of(shape, *sm) : std::nullopt) {
    set_number(lua, "blocks_a_sm", held->blocks);
    set_number(lua, "occupancy", held->occupancy);
    set_text(lua, "limit", held->limit);
    if (device.sm_count > 0)
      set_number(lua, "waves",
                 shape.blocks / (static_cast<double>(held->blocks) * device.sm_count));
  }
  // A tenth takes at most the first, a tenth at least the second.
  std::vector<Ns> lengths;
  for (const Row op : alike.rows) lengths.push_back(t.span_of(op).length());
  const auto at = [&](std::size_t tenths) {
    const auto nth =
        lengths.begin() + static_cast<std::ptrdiff_t>(tenths * (lengths.size() - 1) / 10);
    std::nth_element(lengths.begin(), nth, lengths.end());
    return static_cast<double>(*nth);
  };
  set_number(lua, "short_ns", at(1));
  set_number(lua, "long_ns", at(9));
  set_rows(lua, "rows", {Kind::ops, RowSet(std::move(alike.rows))});
}

// How many lanes the currently running kernels keep busy, and whether one of them is in the
// selection.
class Running {
 public:
  struct Kernel {
    Ns end;
    std::int64_t lanes;
    bool asked;
    bool operator>(const Kernel& other) const {
      return std::tie(end, lanes, asked) > std::tie(other.end, other.lanes, other.asked);
    }
  };
  void add(const Kernel& kernel) {
    ends_.push(kernel);
    lanes_ += kernel.lanes;
    asked_ += kernel.asked;
  }
  void end_first() {
    lanes_ -= ends_.top().lanes;
    asked_ -= ends_.top().asked;
    ends_.pop();
  }
  bool none() const { return ends_.empty(); }
  Ns first_end() const { return ends_.top().end; }
  bool any_asked() const { return asked_ > 0; }
  std::int64_t lanes() const { return lanes_; }

 private:
  std::priority_queue<Kernel, std::vector<Kernel>, std::greater<>> ends_;
  std::int64_t lanes_ = 0;
  int asked_ = 0;
};

// Sums up, over time, how much of a device stays empty while a kernel of the selection runs.
class EmptySms {
 public:
  EmptySms(std::int64_t lanes, const Spans& counted) : lanes_(lanes), counted_(counted) {}
  /// What starts at `at`, in order of time.
  void add(Ns at, const Running::Kernel& kernel) {
    run_until(at);
    running_.add(kernel);
  }
  double finish() {
    while (!running_.none()) run_until(running_.first_end());
    return empty_;
  }

 private:
  void run_until(Ns at) {
    while (!running_.none() && running_.first_end() <= at) {
      count(running_.first_end());
      running_.end_first();
    }
    count(at);
  }
  void count(Ns until) {
    if (running_.any_asked() && running_.lanes() < lanes_) {
      const double share = 1 - static_cast<double>(running_.lanes()) / static_cast<double>(lanes_);
      empty_ += share * static_cast<double>(counted_.overlap({now_, std::max(now_, until)}));
    }
    now_ = std::max(now_, until);
  }
  std::int64_t lanes_;
  SpanCursor<Span> counted_;
  Ns now_ = 0;
  Running running_;
  double empty_ = 0;
};

int launch_shapes(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::ops) throw Error("'launch_shapes' needs a selection of operations");
  const std::size_t most = optional_count(lua, 2, 20, 1000);
  std::map<Alike, LaunchedAlike> found = launched_alike(lua, c, asked);
  std::vector<LaunchedAlike*> order;
  for (auto& [key, alike] : found) order.push_back(&alike);
  std::stable_sort(order.begin(), order.end(), [](const LaunchedAlike* a, const LaunchedAlike* b) {
    return std::pair(-a->ns, a->first) < std::pair(-b->ns, b->first);
  });
  order.resize(std::min(order.size(), most));
  NewList list(lua);
  for (LaunchedAlike* alike : order) {
    push_alike(lua, c, *alike);
    list.append();
  }
  return 1;
}

int usual(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::ops) throw Error("'usual' needs a selection of operations");
  const Trace& t = c.trace();
  RowBits apart(t.ops.size());
  for (auto& [key, alike] : launched_alike(lua, c, asked)) {
    std::vector<Ns> lengths;
    for (const Row op : alike.rows) lengths.push_back(t.span_of(op).length());
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    const auto count = static_cast<Ns>(lengths.size());
    for (const Row op : alike.rows)
      if (count > 2 && t.span_of(op).length() / count > *middle) apart.add(op);
  }
  push_rows(lua,
            {asked.kind, asked.rows.where([&](Row op) { return !apart.holds(op); }), asked.chains});
  return 1;
}

int empty_sm_ns(lua_State* lua, const Context& c, const Rows& asked, const Rows& full) {
  if (asked.kind != Kind::ops || full.kind != Kind::ops)
    throw Error("'empty_sm_ns' needs selections of operations");
  const Trace& t = c.trace();
  const RowBits wanted(asked.rows, t.ops.size()), filling(full.rows, t.ops.size());
  std::vector<Spans> counted;  // the steps, without the time in which the device waits for pages
  for (std::size_t slot = 0; slot < c.analysis.devices.size(); ++slot)
    counted.push_back(
        difference(c.analysis.account.devices[slot].window, c.in_steps.stalls()[slot]));
  std::vector<EmptySms> sums;
  std::vector<std::int64_t> lanes;
  for (std::size_t slot = 0; slot < c.analysis.devices.size(); ++slot) {
    const Device& device = t.devices[c.analysis.devices[slot].device];
    lanes.push_back(std::int64_t{device.sm_count} * lanes_of_an_sm);
    sums.emplace_back(lanes.back(), counted[slot]);
  }
  c.in_steps.ops.each([&](Row op) {
    const std::size_t slot = c.slot_of_stream[t.ops.stream[op]];
    const bool is_graph = t.ops.kind[op] == OpKind::graph;
    if (slot == no_slot || (t.ops.kind[op] != OpKind::kernel && !is_graph)) return;
    const bool fills = is_graph || filling.holds(op);
    sums[slot].add(
        t.ops.start[op],
        {t.ops.end[op], fills ? lanes[slot] : lanes_of(shape_of(t.ops, op)), wanted.holds(op)});
  });
  double sum = 0;
  for (EmptySms& of_device : sums) sum += of_device.finish();
  push_number(lua, sum);
  return 1;
}

constexpr Verb launches_table[] = {
    {"selection:launch_shapes", verb<launch_shapes, Cost{.rows = 1}>},
    {"selection:usual", verb<usual, Cost{.rows = 1}>},
    {"selection:empty_sm_ns", verb<empty_sm_ns, Cost{.ops = 1, .gpu_faults = 1}>},
};

}  // namespace

const Verbs launches_verbs = launches_table;

}  // namespace gh::binding

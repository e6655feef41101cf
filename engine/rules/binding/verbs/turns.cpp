// Devices and streams of which one works while the others wait for it: those of one process, and
// those that exchange messages.
#include <algorithm>
#include <map>
#include <numeric>

#include "analysis/meetings.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// When each device of the process computed, by slot; leaves out devices that it hardly uses.
std::map<std::size_t, Spans> busy_of(const Context& c, std::uint16_t process) {
  const Trace& t = c.trace();
  std::map<std::size_t, Spans> busy;
  Ns most = 0;
  for (std::size_t slot = 0; slot < c.analysis.devices.size(); ++slot) {
    if (c.analysis.devices[slot].process != process) continue;
    std::vector<Span> spans;
    c.analysis.each_op_in_steps(slot, [&](Row op) {
      if (t.ops.kind[op] != OpKind::copy && !c.analysis.is_collective(op))
        spans.push_back(t.span_of(op));
    });
    Spans all = united(std::move(spans));
    most = std::max(most, total(all));
    busy.emplace(slot, std::move(all));
  }
  std::erase_if(busy, [&](const auto& device) { return total(device.second) < most / 20; });
  return busy;
}

// When at least two of them computed.
Ns together_ns(const std::map<std::size_t, Spans>& busy) {
  std::vector<std::pair<Ns, int>> edges;
  for (const auto& [slot, spans] : busy)
    for (const Span& s : spans) {
      edges.emplace_back(s.start, 1);
      edges.emplace_back(s.end, -1);
    }
  std::sort(edges.begin(), edges.end());
  Ns sum = 0, since = 0;
  int open = 0;
  for (const auto& [at, change] : edges) {
    if (open >= 2) sum += at - since;
    since = at;
    open += change;
  }
  return sum;
}

// --- Streams

// A kernel that waits for one on another stream begins within this time after it.
constexpr Ns right_after_ns = 20'000;

// With more streams on one device, starting right after another kernel is no sign of waiting.
constexpr std::size_t most_streams_compared = 64;

// Two streams of a device, and how they took turns.
struct StreamPair {
  lua_Integer count = 0, events = 0;
  Ns wait_ns = 0;
};

// By stream: when it was made to wait for an event.
std::vector<std::vector<Ns>> event_waits(const Trace& t) {
  std::vector<std::uint8_t> is_wait(t.names.size());
  for (NameId id = 0; id < t.names.size(); ++id)
    is_wait[id] = t.names[id].find("StreamWaitEvent") != std::string::npos;
  std::vector<std::vector<Ns>> waits(t.streams.size());
  for (Row s = 0; s < t.syncs.size(); ++s)
    if (const Row call = t.syncs.call[s]; call != no_row && is_wait[t.calls.name[call]] != 0)
      waits[t.syncs.stream[s]].push_back(t.calls.start[call]);
  for (std::vector<Ns>& of_stream : waits) std::sort(of_stream.begin(), of_stream.end());
  return waits;
}

class StreamTurns {
 public:
  explicit StreamTurns(const Context& c)
      : c_(c), t_(c.trace()), told_(event_waits(t_)), last_(t_.streams.size(), no_row) {}

  void add(const DeviceSteps& device, std::size_t slot) {
    std::vector<std::uint32_t> streams;  // those of the device that have had a kernel
    c_.analysis.each_op_in_steps(slot, [&](Row y) {
      if (t_.ops.kind[y] != OpKind::kernel || c_.analysis.is_collective(y)) return;
      const std::uint32_t own = t_.ops.stream[y];
      const Row before = std::exchange(last_[own], y);
      if (before == no_row) {
        streams.push_back(own);
        return;
      }
      if (streams.size() > most_streams_compared) return;
      Row x = no_row;  // on another stream, the last one that ended before
      for (const std::uint32_t s : streams)
        if (s != own && t_.ops.end[last_[s]] <= t_.ops.start[y] &&
            (x == no_row || t_.ops.end[last_[s]] > t_.ops.end[x]))
          x = last_[s];
      if (x != no_row && t_.process_of(x) == t_.process_of(y)) judge(device, before, x, y);
    });
    for (const std::uint32_t s : streams) last_[s] = no_row;
  }

  const std::map<std::pair<std::uint32_t, std::uint32_t>, StreamPair>& pairs() const {
    return pairs_;
  }

 private:
  void judge(const DeviceSteps& device, Row before, Row x, Row y) {
    const Row call = t_.ops.call[y];
    if (call == no_row || t_.ops.in_graph[y] != 0) return;
    const Ns launched = t_.calls.start[call];
    const Ns ready = std::max({launched, t_.ops.end[before], t_.ops.start[x]});
    if (t_.ops.start[y] - t_.ops.end[x] > right_after_ns || ready >= t_.ops.end[x]) return;
    if (!fit_together(device, x, y)) return;
    const auto key = std::minmax(t_.ops.stream[x], t_.ops.stream[y]);
    StreamPair& pair = pairs_[{key.first, key.second}];
    ++pair.count;
    pair.wait_ns += t_.ops.end[x] - ready;
    const std::vector<Ns>& told = told_[t_.ops.stream[y]];
    const Row call_before = t_.ops.call[before];
    const Ns since = call_before == no_row ? t_.ops.start[before] : t_.calls.start[call_before];
    const auto at = std::upper_bound(told.begin(), told.end(), since);
    pair.events += at != told.end() && *at <= launched;
  }

  // Judged by their threads, against the smallest SMs; registers and shared memory are unknown.
  bool fit_together(const DeviceSteps& device, Row x, Row y) const {
    constexpr double threads_of_sm = 1536;
    const auto threads = [&](Row op) {
      return static_cast<double>(t_.ops.blocks[op]) * static_cast<double>(t_.ops.threads[op]);
    };
    return threads(x) + threads(y) <= threads_of_sm * t_.devices[device.device].sm_count;
  }

  const Context& c_;
  const Trace& t_;
  const std::vector<std::vector<Ns>> told_;
  std::vector<Row> last_;  // by stream
  std::map<std::pair<std::uint32_t, std::uint32_t>, StreamPair> pairs_;
};

// A stream's kernels within the steps, and their time.
std::pair<std::vector<Row>, Ns> kernels_of(const Context& c, std::uint32_t stream) {
  const Trace& t = c.trace();
  std::pair<std::vector<Row>, Ns> found{{}, 0};
  c.analysis.each_op_in_steps(c.slot_of_stream[stream], [&](Row op) {
    if (t.ops.stream[op] != stream || t.ops.kind[op] != OpKind::kernel) return;
    found.first.push_back(op);
    found.second += t.span_of(op).length();
  });
  return found;
}

}  // namespace

int stream_turns(lua_State* lua, const Context& c) {
  constexpr std::size_t most_pairs = 8;
  const Trace& t = c.trace();
  StreamTurns turns(c);
  for (std::size_t slot = 0; slot < c.analysis.devices.size(); ++slot)
    turns.add(c.analysis.devices[slot], slot);
  std::vector<std::pair<std::pair<std::uint32_t, std::uint32_t>, StreamPair>> pairs(
      turns.pairs().begin(), turns.pairs().end());
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return a.second.wait_ns > b.second.wait_ns;
  });
  if (pairs.size() > most_pairs) pairs.resize(most_pairs);
  NewList list(lua);
  for (const auto& [streams, pair] : pairs) {
    charge(lua, t.ops.size() / 8);
    auto a = kernels_of(c, streams.first), b = kernels_of(c, streams.second);
    if (b.second > a.second) std::swap(a, b);
    const StreamOrder x = t.streams[streams.first].order, y = t.streams[streams.second].order;
    lua_newtable(lua);
    set_flag(lua, "legacy",
             (x == StreamOrder::legacy && y == StreamOrder::blocking) ||
                 (y == StreamOrder::legacy && x == StreamOrder::blocking));
    set_integer(lua, "events", pair.events);
    set_integer(lua, "count", pair.count);
    set_number(lua, "wait_ns", static_cast<double>(pair.wait_ns));
    set_rows(lua, "first", {Kind::ops, RowSet(std::move(a.first))});
    set_rows(lua, "second", {Kind::ops, RowSet(std::move(b.first))});
    list.append();
  }
  return 1;
}

int devices_in_turn(lua_State* lua, const Context& c) {
  const Trace& t = c.trace();
  // Idle time during which another device works for this share of it counts as waiting for that
  // device.
  constexpr double nearly_all = 0.8;
  NewList list(lua);
  std::vector<std::uint16_t> processes;
  for (const DeviceSteps& d : c.analysis.devices)
    if (std::find(processes.begin(), processes.end(), d.process) == processes.end())
      processes.push_back(d.process);
  for (const std::uint16_t process : processes) {
    const std::map<std::size_t, Spans> busy = busy_of(c, process);
    if (busy.size() < 2) continue;
    Ns busy_ns = 0;
    for (const auto& [slot, spans] : busy) busy_ns += total(spans);
    RowBits idle(c.idle_until.back()), copies(t.ops.size());
    for (const auto& [slot, own] : busy) {
      std::vector<Span> raw;
      for (const auto& [other, spans] : busy)
        if (other != slot) raw.insert(raw.end(), spans.begin(), spans.end());
      const Spans others = united(std::move(raw));
      const std::size_t first = slot > 0 ? c.idle_until[slot - 1] : 0;
      for (std::size_t r = first; r < c.idle_until[slot]; ++r) {
        const Span span = c.idle_of(static_cast<Row>(r)).span;
        if (static_cast<double>(overlap(others, span)) >=
            nearly_all * static_cast<double>(span.length()))
          idle.add(static_cast<Row>(r));
      }
      c.analysis.each_op_in_steps(slot, [&](Row op) {
        if (t.ops.copy[op] == CopyKind::p2p) copies.add(op);
      });
    }
    lua_newtable(lua);
    set_integer(lua, "devices", static_cast<std::int64_t>(busy.size()));
    set_number(lua, "busy_ns", static_cast<double>(busy_ns));
    set_number(lua, "together_ns", static_cast<double>(together_ns(busy)));
    set_rows(lua, "idle", {Kind::idle, std::move(idle).set()});
    set_rows(lua, "copies", {Kind::ops, std::move(copies).set()});
    list.append();
  }
  return 1;
}

int waits(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::ops) throw Error("'waits' needs a selection of operations");
  const Trace& t = c.trace();
  struct Waited {
    std::vector<Span> waits;
    std::vector<Row> rows;
  };
  std::map<std::size_t, Waited> by_slot;
  std::vector<std::size_t> leads_to(
      c.analysis.devices.size());  // of devices that meet, to the first
  std::iota(leads_to.begin(), leads_to.end(), 0);
  const auto first_of = [&](std::size_t slot) {
    while (leads_to[slot] != slot) slot = leads_to[slot] = leads_to[leads_to[slot]];
    return slot;
  };
  if (!asked.rows.empty()) {
    const RowBits wanted(asked.rows, t.ops.size());
    for (const Meeting& members : meetings(c.analysis, 0, static_cast<Row>(t.ops.size()))) {
      Ns last = 0;
      for (const Row op : members) last = std::max(last, t.ops.start[op]);
      for (const Row op : members) {
        if (!wanted.holds(op)) continue;
        const std::size_t slot = c.slot_of_stream[t.ops.stream[op]],
                          met = c.slot_of_stream[t.ops.stream[members.front()]];
        if (slot != no_slot && met != no_slot) leads_to[first_of(slot)] = first_of(met);
        Waited& w = by_slot[slot];
        w.waits.push_back({t.ops.start[op], last});
        w.rows.push_back(op);
      }
    }
  }
  NewList list(lua);
  for (auto& [slot, w] : by_slot) {
    if (slot == no_slot) continue;
    std::vector<Span> raw;
    c.analysis.each_op_in_steps(slot, [&](Row op) {
      if (t.ops.kind[op] != OpKind::copy && !c.analysis.is_collective(op))
        raw.push_back(t.span_of(op));
    });
    const Spans waiting = united(std::move(w.waits)), computing = united(std::move(raw));
    std::sort(w.rows.begin(), w.rows.end());
    lua_newtable(lua);
    set_number(lua, "device", static_cast<double>(c.ordinal(slot)));
    set_number(lua, "wait_ns", static_cast<double>(total(waiting) - overlap(waiting, computing)));
    set_rows(lua, "rows", {Kind::ops, RowSet(std::move(w.rows))});
    const auto together =
        std::count_if(by_slot.begin(), by_slot.end(), [&, slot = slot](const auto& other) {
          return other.first != no_slot && first_of(other.first) == first_of(slot);
        });
    set_integer(lua, "together", together);
    list.append();
  }
  return 1;
}

}  // namespace gh::binding

#include "analysis/detect/turns.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/span_cursor.hpp"

namespace gh {
namespace {

// When each device of the process computed, by slot; leaves out devices that it hardly uses.
std::map<std::size_t, Spans> busy_of(const Analysis& a, std::uint16_t process) {
  const Trace& t = a.trace;
  std::map<std::size_t, Spans> busy;
  Ns most = 0;
  for (std::size_t slot = 0; slot < a.devices.size(); ++slot) {
    if (a.devices[slot].process != process) continue;
    std::vector<Span> spans;
    a.each_op_in_steps(slot, [&](Row op) {
      if (t.ops.kind[op] != OpKind::copy && !a.is_collective(op)) spans.push_back(t.span_of(op));
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

class StreamTurnsFinder {
 public:
  explicit StreamTurnsFinder(const Analysis& a)
      : a_(a), t_(a.trace), told_(event_waits(t_)), last_(t_.streams.size(), no_row) {}

  void add(const DeviceSteps& device, std::size_t slot) {
    std::vector<std::uint32_t> streams;  // those of the device that have had a kernel
    a_.each_op_in_steps(slot, [&](Row y) {
      if (t_.ops.kind[y] != OpKind::kernel || a_.is_collective(y)) return;
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

  const std::map<std::pair<std::uint32_t, std::uint32_t>, StreamTurns>& pairs() const {
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
    StreamTurns& pair = pairs_[{key.first, key.second}];
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

  const Analysis& a_;
  const Trace& t_;
  const std::vector<std::vector<Ns>> told_;
  std::vector<Row> last_;  // by stream
  std::map<std::pair<std::uint32_t, std::uint32_t>, StreamTurns> pairs_;
};

// A stream's kernels within the steps, and their time.
std::pair<std::vector<Row>, Ns> kernels_of(const Analysis& a, std::uint32_t stream) {
  const Trace& t = a.trace;
  std::pair<std::vector<Row>, Ns> found{{}, 0};
  for (std::size_t slot = 0; slot < a.devices.size(); ++slot) {
    if (a.devices[slot].device != t.streams[stream].device) continue;
    a.each_op_in_steps(slot, [&](Row op) {
      if (t.ops.stream[op] != stream || t.ops.kind[op] != OpKind::kernel) return;
      found.first.push_back(op);
      found.second += t.span_of(op).length();
    });
  }
  return found;
}

}  // namespace

std::vector<StreamTurns> find_stream_turns(const Analysis& a, std::size_t most) {
  StreamTurnsFinder finder(a);
  for (std::size_t slot = 0; slot < a.devices.size(); ++slot) finder.add(a.devices[slot], slot);
  std::vector<std::pair<std::pair<std::uint32_t, std::uint32_t>, StreamTurns>> pairs(
      finder.pairs().begin(), finder.pairs().end());
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& x, const auto& y) {
    return x.second.wait_ns > y.second.wait_ns;
  });
  if (pairs.size() > most) pairs.resize(most);
  std::vector<StreamTurns> found;
  for (auto& [streams, turns] : pairs) {
    auto first = kernels_of(a, streams.first), second = kernels_of(a, streams.second);
    if (second.second > first.second) std::swap(first, second);
    turns.first = std::move(first.first);
    turns.second = std::move(second.first);
    const StreamOrder x = a.trace.streams[streams.first].order,
                      y = a.trace.streams[streams.second].order;
    turns.legacy = (x == StreamOrder::legacy && y == StreamOrder::blocking) ||
                   (y == StreamOrder::legacy && x == StreamOrder::blocking);
    found.push_back(std::move(turns));
  }
  return found;
}

std::vector<DeviceTurns> find_device_turns(const Analysis& a) {
  // Idle time during which another device works for this share of it counts as waiting for that
  // device.
  constexpr double nearly_all = 0.8;
  std::vector<std::uint16_t> processes;
  std::vector<std::size_t> first_idle{0};  // by slot: its first row of idle time
  for (std::size_t slot = 0; slot < a.devices.size(); ++slot) {
    const std::uint16_t process = a.devices[slot].process;
    if (std::find(processes.begin(), processes.end(), process) == processes.end())
      processes.push_back(process);
    first_idle.push_back(first_idle.back() + a.account.devices[slot].idle.size());
  }
  std::vector<DeviceTurns> found;
  for (const std::uint16_t process : processes) {
    const std::map<std::size_t, Spans> busy = busy_of(a, process);
    if (busy.size() < 2) continue;
    DeviceTurns turns;
    RowBits waits(first_idle.back()), copies(a.trace.ops.size());
    std::vector<Span> raw;
    for (const auto& [slot, own] : busy) raw.insert(raw.end(), own.begin(), own.end());
    const Spans any = united(std::move(raw));
    for (const auto& [slot, own] : busy) {
      turns.busy_ns += total(own);
      // While a device is idle, what is busy are others.
      SpanCursor others(any);
      const auto& idle = a.account.devices[slot].idle;
      for (std::size_t i = 0; i < idle.size(); ++i)
        if (static_cast<double>(others.overlap(idle[i].span)) >=
            nearly_all * static_cast<double>(idle[i].span.length()))
          waits.add(static_cast<Row>(first_idle[slot] + i));
      a.each_op_in_steps(slot, [&](Row op) {
        if (a.trace.ops.copy[op] == CopyKind::p2p) copies.add(op);
      });
    }
    turns.devices = busy.size();
    turns.together_ns = together_ns(busy);
    turns.idle = std::move(waits).set();
    turns.copies = std::move(copies).set();
    found.push_back(std::move(turns));
  }
  return found;
}

}  // namespace gh

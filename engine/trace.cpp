#include "trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "parallel.hpp"
#include "profile.hpp"
#include "text.hpp"

namespace gh {
namespace {

// One name an enumerator, in its order.
template <std::size_t N, class E>
const char* pick(const std::array<const char*, N>& table, E value) { return table[static_cast<std::size_t>(value)]; }

template <class T>
void reorder(std::vector<T>& column, const std::vector<Row>& order) {
  if (column.empty()) return;
  std::vector<T> sorted;
  sorted.reserve(column.size());
  for (const Row row : order) sorted.push_back(column[row]);
  column.swap(sorted);
}

// Sorts the columns of one kind of event together, stably. `before(a, b)` compares rows. Reports are tables that are in order by themselves, one after the
// other: what is in order already is found, and merged.
template <class Before, class... Columns>
void sort_rows(std::size_t rows, Before before, Columns&... columns) {
  std::vector<std::size_t> runs{0};  // where each begins, and the end
  for (Row i = 1; i < rows; ++i)
    if (before(i, i - 1)) runs.push_back(i);
  if (runs.size() == 1) return;
  runs.push_back(rows);
  std::vector<Row> order(rows), merged(rows);
  std::iota(order.begin(), order.end(), 0);
  while (runs.size() > 2) {
    std::vector<std::size_t> longer{0};
    for (std::size_t i = 0; i + 1 < runs.size(); i += 2) {
      const std::size_t end = runs[std::min(i + 2, runs.size() - 1)];
      const auto at = [&](std::size_t n) { return order.begin() + static_cast<std::ptrdiff_t>(n); };
      std::merge(at(runs[i]), at(runs[i + 1]), at(runs[i + 1]), at(end), merged.begin() + static_cast<std::ptrdiff_t>(runs[i]), before);
      longer.push_back(end);
    }
    order.swap(merged), runs.swap(longer);
  }
  std::vector<Row>().swap(merged);
  const std::array<std::function<void()>, sizeof...(Columns)> reordered{[&] { reorder(columns, order); }...};
  in_parallel(reordered.size(), [&](std::size_t i, std::size_t) { reordered[i](); });
}

// Finds calls by process and correlation. Correlations are dense within a process, as a rule: then an array serves.
class CallIndex {
 public:
  explicit CallIndex(const Trace& trace) : by_process_(trace.processes.size()) {
    const Calls& calls = trace.calls;
    const auto process_of = [&](Row row) { return trace.threads[calls.thread[row]].process; };
    std::vector<std::size_t> counts(by_process_.size());
    for (Row row = 0; row < calls.size(); ++row) {
      if (calls.correlation[row] == 0) continue;
      Part& part = by_process_[process_of(row)];
      ++counts[process_of(row)];
      part.least = std::min(part.least, calls.correlation[row]);
      part.most = std::max(part.most, calls.correlation[row]);
    }
    for (std::size_t p = 0; p < by_process_.size(); ++p) {
      const std::size_t width = counts[p] ? by_process_[p].most - by_process_[p].least + std::size_t{1} : 0;
      if (width > 0 && width <= 8 * counts[p] + 1024) by_process_[p].dense.assign(width, no_row);
    }
    for (Row row = 0; row < calls.size(); ++row) {  // in order of start: of calls with the same correlation the outermost stays
      if (calls.correlation[row] == 0) continue;
      Part& part = by_process_[process_of(row)];
      if (part.dense.empty()) part.sparse.emplace(calls.correlation[row], row);
      else if (Row& slot = part.dense[calls.correlation[row] - part.least]; slot == no_row) slot = row;
    }
  }

  Row find(std::uint16_t process, std::uint32_t correlation) const {
    if (correlation == 0) return no_row;
    const Part& part = by_process_[process];
    if (correlation < part.least || correlation > part.most) return no_row;
    if (!part.dense.empty()) return part.dense[correlation - part.least];
    const auto it = part.sparse.find(correlation);
    return it == part.sparse.end() ? no_row : it->second;
  }

 private:
  struct Part {
    std::uint32_t least = std::numeric_limits<std::uint32_t>::max(), most = 0;
    std::vector<Row> dense;
    std::unordered_map<std::uint32_t, Row> sparse;
  };
  std::vector<Part> by_process_;
};

// Reading numbers names, threads and streams as they come, in whatever order that is. What happened at the same time is put in order
// by what it is, so that the order of rows in the file means nothing.
template <class Less>
std::vector<std::uint32_t> ranks(std::size_t n, Less less) {
  std::vector<std::uint32_t> order(n), rank(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), less);
  for (std::uint32_t i = 0; i < n; ++i) rank[order[i]] = i;
  return rank;
}

// A column of such numbers, read as their ranks.
template <class Number>
struct Ranked {
  const std::vector<Number>& column;
  const std::vector<std::uint32_t>& rank;
  std::uint32_t operator[](Row row) const { return rank[column[row]]; }
};
template <class Number>
Ranked(const std::vector<Number>&, const std::vector<std::uint32_t>&) -> Ranked<Number>;

// Earlier first, then the longer one, so that what encloses comes before what it encloses; then by `columns`.
template <class Events, class... Columns>
auto earlier(const Events& e, Columns... columns) {
  return [&e, columns...](Row a, Row b) {
    if (e.start[a] != e.start[b]) return e.start[a] < e.start[b];
    if (e.end[a] != e.end[b]) return e.end[a] > e.end[b];
    return std::tuple(columns[a]...) < std::tuple(columns[b]...);
  };
}

// The same for points in time.
template <class Events, class... Columns>
auto earlier_point(const Events& e, Columns... columns) {
  return [&e, columns...](Row a, Row b) {
    return e.start[a] != e.start[b] ? e.start[a] < e.start[b] : std::tuple(columns[a]...) < std::tuple(columns[b]...);
  };
}

// A column as it is, for the above.
template <class Value>
struct Plain {
  const std::vector<Value>& column;
  Value operator[](Row row) const { return column[row]; }
};
template <class Value>
Plain(const std::vector<Value>&) -> Plain<Value>;

}  // namespace

NameId Names::intern(std::string_view text) {
  // Kernel names of some templates run to kilobytes, never to this; a longer one is damage or malice.
  static constexpr std::size_t longest = 1 << 14;
  std::string clean = printable(text.substr(0, longest));
  const auto [it, added] = ids_.emplace(std::move(clean), static_cast<NameId>(texts_.size()));
  if (added) texts_.push_back(&it->first);
  return it->second;
}

const char* name_of(OpKind k) { return pick(std::array{"kernel", "copy", "set", "graph"}, k); }
const char* name_of(CopyKind k) { return pick(std::array{"", "h2d", "d2h", "d2d", "h2h", "p2p", "um_h2d", "um_d2h", "um_d2d", "other"}, k); }
const char* name_of(MemoryKind k) { return pick(std::array{"pageable", "pinned", "device", "array", "managed", "unknown"}, k); }
const char* name_of(MigrationCause c) { return pick(std::array{"", "prefetch", "fault", "speculative", "eviction", "access_counter"}, c); }
const char* name_of(Source s) {
  return pick(std::array{"kernels", "copies", "unified_copies", "calls", "ranges", "os_calls", "gpu_faults", "cpu_faults", "memory_use", "samples", "graph_nodes"}, s);
}

std::size_t Trace::rows_of(Source s) const {
  const auto count = [&](auto wanted) {
    std::size_t n = 0;
    for (Row r = 0; r < ops.size(); ++r) n += wanted(r);
    return n;
  };
  switch (s) {
    case Source::kernels: return count([&](Row r) { return ops.kind[r] == OpKind::kernel || ops.kind[r] == OpKind::graph; });
    case Source::copies: return count([&](Row r) { return ops.kind[r] == OpKind::copy && !is_unified(ops.copy[r]); });
    case Source::unified_copies: return count([&](Row r) { return is_unified(ops.copy[r]); });
    case Source::calls: return calls.size();
    case Source::ranges: return ranges.size();
    case Source::os_calls: return os_calls.size();
    case Source::gpu_faults: return gpu_faults.size();
    case Source::cpu_faults: return cpu_faults.size();
    case Source::memory_use: return memory_use.size();
    case Source::samples: return samples.size();
    default: return 0;
  }
}

std::string Trace::thread_label(std::uint16_t thread) const {
  if (thread == no_index) return "";
  const Thread& t = threads[thread];
  return t.name.empty() ? fmt::format("thread {}", t.tid) : fmt::format("{} ({})", t.name, t.tid);
}

void Trace::seal() {
  const Timed timed("read/sort");
  const auto name = ranks(names.size(), [&](std::uint32_t a, std::uint32_t b) { return names[a] < names[b]; });
  const auto process = ranks(processes.size(), [&](std::uint32_t a, std::uint32_t b) { return std::tie(processes[a].pid, processes[a].name) < std::tie(processes[b].pid, processes[b].name); });
  const auto device = ranks(devices.size(), [&](std::uint32_t a, std::uint32_t b) { return std::tie(devices[a].ordinal, devices[a].name) < std::tie(devices[b].ordinal, devices[b].name); });
  const auto thread = ranks(threads.size(), [&](std::uint32_t a, std::uint32_t b) { return std::tie(process[threads[a].process], threads[a].tid) < std::tie(process[threads[b].process], threads[b].tid); });
  const auto stream = ranks(streams.size(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(device[streams[a].device], process[streams[a].process], streams[a].id) < std::tie(device[streams[b].device], process[streams[b].process], streams[b].id);
  });
  sort_rows(calls.size(), earlier(calls, Ranked{calls.thread, thread}, Plain{calls.correlation}, Ranked{calls.name, name}), calls.start, calls.end, calls.name, calls.correlation, calls.thread);
  sort_rows(ranges.size(), earlier(ranges, Ranked{ranges.thread, thread}, Ranked{ranges.name, name}), ranges.start, ranges.end, ranges.name, ranges.thread, ranges.bytes);
  sort_rows(frames.size(), earlier(frames, Ranked{frames.thread, thread}, Ranked{frames.name, name}), frames.start, frames.end, frames.name, frames.thread);
  sort_rows(forwards.size(), earlier_point(forwards, Ranked{forwards.thread, thread}, Plain{forwards.forward_start}, Ranked{forwards.forward_thread, thread}), forwards.start, forwards.thread, forwards.forward_start, forwards.forward_thread);
  sort_rows(os_calls.size(), earlier(os_calls, Ranked{os_calls.thread, thread}, Ranked{os_calls.name, name}), os_calls.start, os_calls.end, os_calls.name, os_calls.thread);
  sort_rows(syncs.size(), earlier(syncs, Ranked{syncs.stream, stream}, Plain{syncs.correlation}), syncs.start, syncs.end, syncs.correlation, syncs.stream);
  sort_rows(gpu_faults.size(), earlier(gpu_faults, Ranked{gpu_faults.device, device}, Plain{gpu_faults.address}, Plain{gpu_faults.count}), gpu_faults.start, gpu_faults.end, gpu_faults.address, gpu_faults.count, gpu_faults.device);
  sort_rows(cpu_faults.size(), earlier_point(cpu_faults, Plain{cpu_faults.address}, Ranked{cpu_faults.function, name}), cpu_faults.start, cpu_faults.address, cpu_faults.function);
  sort_rows(memory_use.size(), earlier_point(memory_use, Ranked{memory_use.device, device}, Plain{memory_use.kind}, Plain{memory_use.bytes}), memory_use.start, memory_use.bytes, memory_use.device, memory_use.kind);
  sort_rows(samples.size(), earlier_point(samples, Ranked{samples.device, device}, Ranked{samples.metric, name}, Plain{samples.value}), samples.start, samples.period, samples.metric, samples.value, samples.device);
  sort_rows(ops.size(), earlier(ops, Ranked{ops.stream, stream}, Plain{ops.correlation}, Plain{ops.kind}, Plain{ops.copy}, Ranked{ops.name, name}, Plain{ops.address}, Plain{ops.bytes}, Plain{ops.cause}), ops.start, ops.end, ops.bytes,
            ops.stream, ops.name, ops.correlation, ops.blocks, ops.threads, ops.kind, ops.copy, ops.source, ops.target, ops.cause, ops.address, ops.in_graph, ops.occupancy);

  const CallIndex index(*this);
  ops.call.resize(ops.size());
  for (Row row = 0; row < ops.size(); ++row) ops.call[row] = index.find(process_of(row), ops.correlation[row]);
  syncs.call.resize(syncs.size());
  for (Row row = 0; row < syncs.size(); ++row) syncs.call[row] = index.find(streams[syncs.stream[row]].process, syncs.correlation[row]);

  capture_start = std::numeric_limits<Ns>::max(), capture_end = std::numeric_limits<Ns>::min();
  const auto extend = [this](const auto& events) {
    if (events.size() == 0) return;
    capture_start = std::min(capture_start, events.start.front());
    capture_end = std::max(capture_end, *std::max_element(events.end.begin(), events.end.end()));
  };
  extend(ops), extend(calls), extend(os_calls);
  for (Row row = 0; row < ranges.size(); ++row) {
    capture_start = std::min(capture_start, ranges.start[row]);
    capture_end = std::max(capture_end, ranges.end[row] == open_end ? ranges.start[row] : ranges.end[row]);
  }
  for (Ns& end : ranges.end)
    if (end == open_end) end = capture_end;
  if (capture_start > capture_end) capture_start = capture_end = 0;
}

}  // namespace gh

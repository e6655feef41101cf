#include "trace/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/parallel.hpp"
#include "base/profile.hpp"
#include "base/text.hpp"
#include "trace/sort_rows.hpp"

namespace gh {
namespace {

// One name an enumerator, in its order.
template <std::size_t N, class E>
const char* pick(const std::array<const char*, N>& table, E value) {
  return table[static_cast<std::size_t>(value)];
}

// Sorts the columns of one kind of event together, stably. `before(a, b)` compares rows.
template <class Before, class... Columns>
void sort_rows(std::size_t rows, Before before, Columns&... columns) {
  reorder(sorted_rows(rows, before), rows, columns...);
}

// Finds calls by process and correlation: of calls with the same one the outermost, which is the
// first. Correlations are dense within a process, as a rule: then an array serves, and otherwise
// bisection.
class CallIndex {
 public:
  explicit CallIndex(const Trace& trace) : trace_(trace), by_process_(trace.processes.size()) {
    const Calls& calls = trace.calls;
    std::vector<std::vector<Width>> by_worker(thread_count(),
                                              std::vector<Width>(by_process_.size()));
    in_chunks(calls.size(), rows_a_chunk,
              [&](std::size_t first, std::size_t end, std::size_t worker) {
                for (std::size_t row = first; row < end; ++row) {
                  if (calls.correlation[row] == 0) continue;
                  by_worker[worker][process_of(static_cast<Row>(row))].add(
                      {1, calls.correlation[row], calls.correlation[row]});
                }
              });
    bool sparse = false;
    for (std::size_t p = 0; p < by_process_.size(); ++p) {
      Part& part = by_process_[p];
      for (const std::vector<Width>& seen : by_worker) part.add(seen[p]);
      if (part.calls == 0) continue;
      const std::size_t width = part.most - part.least + std::size_t{1};
      if (width > 2 * part.calls + 1024) {
        sparse = true;
        continue;
      }
      part.dense = std::make_unique_for_overwrite<Row[]>(width);
      in_chunks(width, rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
        std::fill(part.dense.get() + first, part.dense.get() + end, no_row);
      });
    }
    in_chunks(calls.size(), rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
      for (std::size_t row = first; row < end; ++row) {
        const Part& part = by_process_[process_of(static_cast<Row>(row))];
        if (calls.correlation[row] == 0 || !part.dense) continue;
        const std::atomic_ref slot(part.dense[calls.correlation[row] - part.least]);
        for (Row known = no_row;
             row < known && !slot.compare_exchange_weak(known, static_cast<Row>(row),
                                                        std::memory_order_relaxed);) {
        }
      }
    });
    if (sparse)
      by_correlation_ =
          sorted_rows(calls.size(), [&](Row a, Row b) { return key_of(a) < key_of(b); });
  }

  // `near` is where the one before was found, and tells then where this one was: what is launched
  // one after the other runs so, as a rule.
  Row find(std::uint16_t process, std::uint32_t correlation, std::size_t& near) const {
    if (correlation == 0) return no_row;
    const Part& part = by_process_[process];
    if (correlation < part.least || correlation > part.most) return no_row;
    if (part.dense) return part.dense[correlation - part.least];
    constexpr std::size_t nearby = 256;
    const std::pair key(process, correlation);
    std::size_t first = 0, end = trace_.calls.size();
    if (near + nearby < end && key_of(at(near)) < key && key <= key_of(at(near + nearby))) {
      first = near;
      end = near + nearby + 1;
    }
    near = *std::ranges::lower_bound(std::views::iota(first, end), key, {},
                                     [&](std::size_t i) { return key_of(at(i)); });
    return near < trace_.calls.size() && key_of(at(near)) == key ? at(near) : no_row;
  }

 private:
  struct Width {  // of calls with a correlation
    std::size_t calls = 0;
    std::uint32_t least = std::numeric_limits<std::uint32_t>::max(), most = 0;
    void add(const Width& more) {
      calls += more.calls;
      least = std::min(least, more.least);
      most = std::max(most, more.most);
    }
  };
  struct Part : Width {
    std::unique_ptr<Row[]> dense;
  };
  std::uint16_t process_of(Row call) const {
    return trace_.threads[trace_.calls.thread[call]].process;
  }
  std::pair<std::uint16_t, std::uint32_t> key_of(Row call) const {
    return {process_of(call), trace_.calls.correlation[call]};
  }

  Row at(std::size_t i) const { return by_correlation_ ? by_correlation_[i] : static_cast<Row>(i); }

  const Trace& trace_;
  std::vector<Part> by_process_;
  RowOrder by_correlation_;  // of all calls, where a process has no array
};

// The greatest end of rows, `of` a row.
template <class Of>
Ns latest(std::size_t rows, Of of) {
  std::vector<Ns> by_worker(thread_count(), std::numeric_limits<Ns>::min());
  in_chunks(rows, rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t worker) {
    Ns most = by_worker[worker];
    for (std::size_t row = first; row < end; ++row) most = std::max(most, of(row));
    by_worker[worker] = most;
  });
  return *std::max_element(by_worker.begin(), by_worker.end());
}

// Reading numbers names, threads and streams as they come, in whatever order that is. What happened
// at the same time is put in order by what it is, so that the order of rows in the file means
// nothing.
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

// Earlier first, then the longer one, so that what encloses comes before what it encloses; then by
// `columns`.
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
    return e.start[a] != e.start[b] ? e.start[a] < e.start[b]
                                    : std::tuple(columns[a]...) < std::tuple(columns[b]...);
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

// Of operations likewise.
struct Addresses {
  const Ops& ops;
  std::int64_t operator[](Row row) const { return ops.address_of(row); }
};

}  // namespace

NameId Names::intern(std::string_view text) {
  // Kernel names of some templates run to kilobytes, never to this; a longer one is damage or
  // malice.
  static constexpr std::size_t longest = 1 << 14;
  std::string clean = printable(text.substr(0, longest));
  const auto [it, added] = ids_.emplace(std::move(clean), static_cast<NameId>(texts_.size()));
  if (added) texts_.push_back(&it->first);
  return it->second;
}

const char* name_of(OpKind k) { return pick(std::array{"kernel", "copy", "set", "graph"}, k); }
const char* name_of(CopyKind k) {
  return pick(
      std::array{"", "h2d", "d2h", "d2d", "h2h", "p2p", "um_h2d", "um_d2h", "um_d2d", "other"}, k);
}
const char* name_of(MemoryKind k) {
  return pick(std::array{"pageable", "pinned", "device", "array", "managed", "unknown"}, k);
}
const char* name_of(MigrationCause c) {
  return pick(std::array{"", "prefetch", "fault", "speculative", "eviction", "access_counter"}, c);
}
const char* name_of(Source s) {
  return pick(std::array{"kernels", "copies", "unified_copies", "calls", "ranges", "os_calls",
                         "gpu_faults", "cpu_faults", "memory_use", "samples", "graph_nodes"},
              s);
}

std::size_t Trace::rows_of(Source s) const {
  const auto count = [&](auto wanted) {
    std::size_t n = 0;
    for (Row r = 0; r < ops.size(); ++r) n += wanted(r);
    return n;
  };
  switch (s) {
    case Source::kernels:
      return count(
          [&](Row r) { return ops.kind[r] == OpKind::kernel || ops.kind[r] == OpKind::graph; });
    case Source::copies:
      return count([&](Row r) { return ops.kind[r] == OpKind::copy && !is_unified(ops.copy[r]); });
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
  const auto name =
      ranks(names.size(), [&](std::uint32_t a, std::uint32_t b) { return names[a] < names[b]; });
  const auto process = ranks(processes.size(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(processes[a].pid, processes[a].name) <
           std::tie(processes[b].pid, processes[b].name);
  });
  const auto device = ranks(devices.size(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(devices[a].ordinal, devices[a].name) <
           std::tie(devices[b].ordinal, devices[b].name);
  });
  const auto thread = ranks(threads.size(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(process[threads[a].process], threads[a].tid) <
           std::tie(process[threads[b].process], threads[b].tid);
  });
  const auto stream = ranks(streams.size(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(device[streams[a].device], process[streams[a].process], streams[a].id) <
           std::tie(device[streams[b].device], process[streams[b].process], streams[b].id);
  });
  sort_rows(calls.size(),
            earlier(calls, Ranked{calls.thread, thread}, Plain{calls.correlation},
                    Ranked{calls.name, name}),
            calls.start, calls.end, calls.name, calls.correlation, calls.thread);
  sort_rows(ranges.size(),
            earlier(ranges, Ranked{ranges.thread, thread}, Ranked{ranges.name, name}), ranges.start,
            ranges.end, ranges.name, ranges.thread, ranges.bytes);
  sort_rows(frames.size(),
            earlier(frames, Ranked{frames.thread, thread}, Ranked{frames.name, name}), frames.start,
            frames.end, frames.name, frames.thread);
  sort_rows(forwards.size(),
            earlier_point(forwards, Ranked{forwards.thread, thread}, Plain{forwards.forward_start},
                          Ranked{forwards.forward_thread, thread}),
            forwards.start, forwards.thread, forwards.forward_start, forwards.forward_thread);
  sort_rows(os_calls.size(),
            earlier(os_calls, Ranked{os_calls.thread, thread}, Ranked{os_calls.name, name}),
            os_calls.start, os_calls.end, os_calls.name, os_calls.thread);
  sort_rows(syncs.size(), earlier(syncs, Ranked{syncs.stream, stream}, Plain{syncs.correlation}),
            syncs.start, syncs.end, syncs.correlation, syncs.stream);
  sort_rows(gpu_faults.size(),
            earlier(gpu_faults, Ranked{gpu_faults.device, device}, Plain{gpu_faults.address},
                    Plain{gpu_faults.count}),
            gpu_faults.start, gpu_faults.end, gpu_faults.address, gpu_faults.count,
            gpu_faults.device);
  sort_rows(cpu_faults.size(),
            earlier_point(cpu_faults, Plain{cpu_faults.address}, Ranked{cpu_faults.function, name}),
            cpu_faults.start, cpu_faults.address, cpu_faults.function);
  sort_rows(memory_use.size(),
            earlier_point(memory_use, Ranked{memory_use.device, device}, Plain{memory_use.kind},
                          Plain{memory_use.bytes}),
            memory_use.start, memory_use.bytes, memory_use.device, memory_use.kind);
  sort_rows(samples.size(),
            earlier_point(samples, Ranked{samples.device, device}, Ranked{samples.metric, name},
                          Plain{samples.value}),
            samples.start, samples.period, samples.metric, samples.value, samples.device);
  sort_rows(ops.size(),
            earlier(ops, Ranked{ops.stream, stream}, Plain{ops.correlation}, Plain{ops.kind},
                    Plain{ops.copy}, Ranked{ops.name, name}, Addresses{ops}, Plain{ops.bytes},
                    Plain{ops.cause}),
            ops.start, ops.end, ops.bytes, ops.stream, ops.name, ops.correlation, ops.blocks,
            ops.threads, ops.kind, ops.copy, ops.source, ops.target, ops.cause, ops.address,
            ops.in_graph, ops.occupancy);

  const CallIndex index(*this);
  const auto join = [&](auto& events) {
    events.call.resize(events.size());
    in_chunks(events.size(), rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
      std::size_t near = 0;
      for (std::size_t row = first; row < end; ++row)
        events.call[row] =
            index.find(streams[events.stream[row]].process, events.correlation[row], near);
    });
  };
  join(ops);
  join(syncs);

  capture_start = std::numeric_limits<Ns>::max();
  capture_end = std::numeric_limits<Ns>::min();
  const auto extend = [this](const auto& events) {
    if (events.size() == 0) return;
    capture_start = std::min(capture_start, events.start.front());
    capture_end =
        std::max(capture_end, latest(events.size(), [&](std::size_t row) {
                   return events.end[row] == open_end ? events.start[row] : events.end[row];
                 }));
  };
  extend(ops);
  extend(calls);
  extend(os_calls);
  extend(ranges);
  for (Ns& end : ranges.end)
    if (end == open_end) end = capture_end;
  if (capture_start > capture_end) capture_start = capture_end = 0;
}

}  // namespace gh

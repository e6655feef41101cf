// Trace::seal: sorts every kind of event, joins operations to the calls that launched them, and
// finds the span of the recording.
#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/parallel.hpp"
#include "base/profile.hpp"
#include "trace/call_index.hpp"
#include "trace/sort_rows.hpp"
#include "trace/trace.hpp"

namespace gh {
namespace {

// At i: the position of thing i in sorted order.
template <class Less>
std::vector<std::uint32_t> places(std::size_t n, Less less) {
  std::vector<std::uint32_t> order(n), place(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), less);
  for (std::uint32_t i = 0; i < n; ++i) place[order[i]] = i;
  return place;
}

// Readers number names, threads and streams in the order in which the file lists them. Events at
// the same time are sorted by the things themselves, not by these numbers, so that the order of
// rows in the file does not matter.
struct Places {
  std::vector<std::uint32_t> name, process, device, thread, stream;

  explicit Places(const Trace& t) {
    name = places(t.names.size(),
                  [&](std::uint32_t a, std::uint32_t b) { return t.names[a] < t.names[b]; });
    process = places(t.processes.size(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(t.processes[a].pid, t.processes[a].name) <
             std::tie(t.processes[b].pid, t.processes[b].name);
    });
    device = places(t.devices.size(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(t.devices[a].ordinal, t.devices[a].name) <
             std::tie(t.devices[b].ordinal, t.devices[b].name);
    });
    thread = places(t.threads.size(), [&](std::uint32_t a, std::uint32_t b) {
      const Thread &x = t.threads[a], &y = t.threads[b];
      return std::tie(process[x.process], x.tid) < std::tie(process[y.process], y.tid);
    });
    stream = places(t.streams.size(), [&](std::uint32_t a, std::uint32_t b) {
      const Stream &x = t.streams[a], &y = t.streams[b];
      return std::tie(device[x.device], process[x.process], x.id) <
             std::tie(device[y.device], process[y.process], y.id);
    });
  }
};

// A column of such numbers, read as positions.
template <class Number>
struct Placed {
  const std::vector<Number>& column;
  const std::vector<std::uint32_t>& place;
  std::uint32_t operator[](Row row) const { return place[column[row]]; }
};
template <class Number>
Placed(const std::vector<Number>&, const std::vector<std::uint32_t>&) -> Placed<Number>;

// A column as it is.
template <class Value>
struct Plain {
  const std::vector<Value>& column;
  Value operator[](Row row) const { return column[row]; }
};
template <class Value>
Plain(const std::vector<Value>&) -> Plain<Value>;

// The addresses of operations, if there are any.
struct Addresses {
  const Ops& ops;
  std::int64_t operator[](Row row) const { return ops.address_of(row); }
};

// Earlier first, then longer first, so that an enclosing event comes before what it encloses; then
// by `columns`.
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
    if (e.start[a] != e.start[b]) return e.start[a] < e.start[b];
    return std::tuple(columns[a]...) < std::tuple(columns[b]...);
  };
}

// Sorts all columns of one kind of event by `before(a, b)`, stably.
template <class Before, class... Columns>
void sort_columns(std::size_t rows, Before before, Columns&... columns) {
  reorder(sorted_rows(rows, before), rows, columns...);
}

void sort(Ops& o, const Places& place) {
  sort_columns(
      o.size(),
      earlier(o, Placed{o.stream, place.stream}, Plain{o.correlation}, Plain{o.kind}, Plain{o.copy},
              Placed{o.name, place.name}, Addresses{o}, Plain{o.bytes}, Plain{o.cause}),
      o.start, o.end, o.bytes, o.stream, o.name, o.correlation, o.blocks, o.threads, o.kind, o.copy,
      o.source, o.target, o.cause, o.address, o.in_graph, o.occupancy, o.registers, o.shared_bytes,
      o.blocks_x, o.group);
}

void sort(Calls& c, const Places& place) {
  sort_columns(
      c.size(),
      earlier(c, Placed{c.thread, place.thread}, Plain{c.correlation}, Placed{c.name, place.name}),
      c.start, c.end, c.name, c.correlation, c.thread, c.result);
}

void sort(Ranges& r, const Places& place) {
  sort_columns(r.size(), earlier(r, Placed{r.thread, place.thread}, Placed{r.name, place.name}),
               r.start, r.end, r.name, r.thread, r.bytes, r.nest);
}

void sort(Frames& f, const Places& place) {
  sort_columns(f.size(), earlier(f, Placed{f.thread, place.thread}, Placed{f.name, place.name}),
               f.start, f.end, f.name, f.thread);
}

void sort(Forwards& f, const Places& place) {
  sort_columns(f.size(),
               earlier_point(f, Placed{f.thread, place.thread}, Plain{f.forward_start},
                             Placed{f.forward_thread, place.thread}),
               f.start, f.thread, f.forward_start, f.forward_thread);
}

void sort(OsCalls& c, const Places& place) {
  sort_columns(c.size(), earlier(c, Placed{c.thread, place.thread}, Placed{c.name, place.name}),
               c.start, c.end, c.name, c.thread);
}

void sort(CpuStretches& s, const Places& place) {
  sort_columns(s.size(), earlier(s, Placed{s.thread, place.thread}, Plain{s.cpu}), s.start, s.end,
               s.thread, s.cpu);
}

void sort(HostSamples& s, const Places& place) {
  sort_columns(s.size(),
               earlier_point(s, Placed{s.thread, place.thread}, Placed{s.line, place.name},
                             Placed{s.function, place.name}, Placed{s.module, place.name},
                             Plain{s.is_python}),
               s.start, s.thread, s.function, s.module, s.line, s.is_python);
}

void sort(PythonLock& l, const Places& place) {
  sort_columns(l.size(), earlier(l, Placed{l.thread, place.thread}, Plain{l.holds}), l.start, l.end,
               l.name, l.thread, l.holds);
}

void sort(Syncs& s, const Places& place) {
  sort_columns(s.size(), earlier(s, Placed{s.stream, place.stream}, Plain{s.correlation}), s.start,
               s.end, s.correlation, s.stream);
}

void sort(GpuFaults& f, const Places& place) {
  sort_columns(f.size(),
               earlier(f, Placed{f.device, place.device}, Plain{f.address}, Plain{f.count}),
               f.start, f.end, f.address, f.count, f.device);
}

void sort(CpuFaults& f, const Places& place) {
  sort_columns(f.size(), earlier_point(f, Plain{f.address}, Placed{f.function, place.name}),
               f.start, f.address, f.function);
}

void sort(MemoryUse& m, const Places& place) {
  sort_columns(m.size(),
               earlier_point(m, Placed{m.device, place.device}, Plain{m.kind}, Plain{m.bytes}),
               m.start, m.bytes, m.device, m.kind, m.correlation);
}

// Of what happened before the recording only the order of the calls is known.
void sort(Allocations& a, const Places& place) {
  sort_columns(a.size(),
               earlier_point(a, Placed{a.device, place.device}, Placed{a.process, place.process},
                             Plain{a.correlation}, Plain{a.address}, Plain{a.bytes},
                             Plain{a.in_use}, Plain{a.reserved}),
               a.start, a.address, a.bytes, a.in_use, a.reserved, a.pool, a.device, a.process,
               a.thread, a.kind, a.correlation);
}

void sort(Samples& s, const Places& place) {
  sort_columns(s.size(),
               earlier_point(s, Placed{s.device, place.device}, Placed{s.metric, place.name},
                             Plain{s.value}),
               s.start, s.period, s.metric, s.value, s.device);
}

template <class Events>
void join(Events& events, const CallIndex& calls, const std::vector<Stream>& streams) {
  events.call.resize(events.size());
  in_chunks(events.size(), rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
    std::size_t near = 0;
    for (std::size_t row = first; row < end; ++row)
      events.call[row] =
          calls.find(streams[events.stream[row]].process, events.correlation[row], near);
  });
}

// The threads whose calls allocated and freed.
void join(Allocations& a, const CallIndex& index, const Calls& calls) {
  std::size_t near = 0;
  for (Row row = 0; row < a.size(); ++row) {
    if (a.thread[row] != no_index || a.correlation[row] == 0) continue;
    const Row call = index.find(a.process[row], a.correlation[row], near);
    if (call != no_row) a.thread[row] = calls.thread[call];
  }
}

// The last end. A range that is still open counts from its start.
template <class Events>
Ns last_end(const Events& events) {
  std::vector<Ns> by_worker(thread_count(), std::numeric_limits<Ns>::min());
  in_chunks(
      events.size(), rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t worker) {
        Ns last = by_worker[worker];
        for (std::size_t row = first; row < end; ++row)
          last = std::max(last, events.end[row] == open_end ? events.start[row] : events.end[row]);
        by_worker[worker] = last;
      });
  return *std::max_element(by_worker.begin(), by_worker.end());
}

template <class Events>
void extend(Trace& t, const Events& events) {
  if (events.size() == 0) return;
  t.capture_start = std::min(t.capture_start, events.start.front());
  t.capture_end = std::max(t.capture_end, last_end(events));
}

}  // namespace

void Trace::seal() {
  const Timed timed("read/sort");
  const Places place(*this);
  sort(calls, place);
  sort(ranges, place);
  sort(frames, place);
  sort(forwards, place);
  sort(os_calls, place);
  sort(cpu_stretches, place);
  sort(host_samples, place);
  sort(python_lock, place);
  sort(syncs, place);
  sort(gpu_faults, place);
  sort(cpu_faults, place);
  sort(memory_use, place);
  sort(allocations, place);
  sort(samples, place);
  sort(ops, place);

  const CallIndex index(*this);
  join(ops, index, streams);
  join(syncs, index, streams);
  join(allocations, index, calls);

  capture_start = std::numeric_limits<Ns>::max();
  capture_end = std::numeric_limits<Ns>::min();
  extend(*this, ops);
  extend(*this, calls);
  extend(*this, os_calls);
  extend(*this, ranges);
  for (Ns& end : ranges.end)
    if (end == open_end) end = capture_end;
  for (Row s = 0; s < cpu_stretches.size(); ++s)
    if (cpu_stretches.end[s] == open_end)
      cpu_stretches.end[s] = std::max(cpu_stretches.start[s], capture_end);
  if (capture_start > capture_end) capture_start = capture_end = 0;
}

}  // namespace gh

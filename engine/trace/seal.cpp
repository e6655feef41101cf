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

// A value as it is compared: a number of a thing by the place of the thing.
template <Contents contents, class Value>
auto compared(Value value, const Places& place) {
  if constexpr (contents == is::name)
    return place.name[value];
  else if constexpr (contents == is::stream)
    return place.stream[value];
  else if constexpr (contents == is::device)
    return place.device[value];
  else if constexpr (contents == is::process)
    return place.process[value];
  else if constexpr (contents == is::thread)
    return place.thread[value];
  else if constexpr (contents == is::thread_or_none)
    return value == no_index ? no_row : place.thread[value];
  else
    return value;
}

// Of rows that start and end together: whether `a` comes first, by the first column in which they
// differ.
template <class Events>
bool comes_first(const Events& events, const Places& place, Row a, Row b) {
  int order = 0;
  each_column(
      [&](auto column, const auto& values) {
        if constexpr (column.contents != is::joined && column.contents != is::group_or_none) {
          if (order != 0 || values.empty()) return;
          const auto x = compared<column.contents>(values[a], place),
                     y = compared<column.contents>(values[b], place);
          order = x < y ? -1 : y < x ? 1 : 0;
        }
      },
      events);
  return order < 0;
}

// Earlier first, then longer first, so that an enclosing event comes before what it encloses.
template <class Events>
void sort(Events& e, const Places& place) {
  sort_rows(e, [&](Row a, Row b) {
    if (e.start[a] != e.start[b]) return e.start[a] < e.start[b];
    if constexpr (requires { e.end; })
      if (e.end[a] != e.end[b]) return e.end[a] > e.end[b];
    return comes_first(e, place, a, b);
  });
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
  each_table([&](auto& events) { sort(events, place); }, *this);

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

#include "rules/binding/rows_in_steps.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/meetings.hpp"
#include "base/span_cursor.hpp"

namespace gh {
namespace {

// The operations that touch the steps of their device, and that no other loop launches meanwhile.
RowSet ops_in_steps(const Analysis& a) {
  const Trace& t = a.trace;
  RowBits found(t.ops.size());
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    // If there are gaps between steps, an operation that takes no time belongs to none of them.
    const bool no_gaps = a.account.devices[d].window.size() == 1;
    a.each_op_in_steps(d, [&](Row op) {
      if (a.devices[d].other_crew_of(t, op) != no_index) return;
      if (no_gaps || t.ops.start[op] < t.ops.end[op]) found.add(op);
    });
  }
  return std::move(found).set();
}

RowSet found_steps(const Analysis& a) {
  RowBits found((static_cast<std::size_t>(a.step_count())));
  Row step = 0;
  for (const DeviceSteps& device : a.devices) {
    for (std::size_t k = 0; k < device.steps.size(); ++k, ++step) {
      if (device.source != StepSource::none) found.add(step);
    }
  }
  return std::move(found).set();
}

RowSet all_idle(const Analysis& a) {
  std::size_t rows = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d) rows += a.account.devices[d].idle.size();
  return RowSet::all(rows);
}

// By thread: whether it is of an analyzed process, and serves no other loop.
std::vector<std::uint8_t> threads_of_steps(const Analysis& a) {
  std::vector<std::uint8_t> threads = a.analysed_threads();
  for (const DeviceSteps& d : a.devices)
    for (std::size_t t = 0; t < d.other_crew.size(); ++t)
      if (d.other_crew[t] != no_index) threads[t] = 0;
  return threads;
}

// The rows of host events that touch `window`, on the threads of the steps.
template <class Events>
RowSet host_rows(const Analysis& a, const Events& events, Span window) {
  const std::vector<std::uint8_t> wanted = threads_of_steps(a);
  const auto end = static_cast<std::size_t>(
      std::lower_bound(events.start.begin(), events.start.end(), window.end) -
      events.start.begin());
  return RowSet::all(end).where(
      [&](Row r) { return events.end[r] > window.start && wanted[events.thread[r]] != 0; });
}

RowSet faults_in_steps(const Analysis& a) {
  const GpuFaults& faults = a.trace.gpu_faults;
  std::vector<std::optional<SpanCursor<Span>>> windows(a.trace.devices.size());
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    windows[a.devices[d].device].emplace(a.account.devices[d].window);
  return RowSet::all(faults.size()).where([&](Row r) {
    auto& window = windows[faults.device[r]];
    return window && window->overlap({faults.start[r], faults.end[r]}) > 0;
  });
}

}  // namespace

RowsInSteps::RowsInSteps(const Analysis& a) : analysis_(a) {
  const Trace& t = a.trace;
  const Span window = a.analysed_window();
  ops = ops_in_steps(a);
  steps = found_steps(a);
  idle = all_idle(a);
  copies = ops.where([&](Row op) { return t.ops.kind[op] == OpKind::copy; });
  calls = host_rows(a, t.calls, window);
  ranges = host_rows(a, t.ranges, window);
  os_calls = host_rows(a, t.os_calls, window);
  gpu_faults = faults_in_steps(a);
}

const std::vector<NameId>& RowsInSteps::names_of(Named events) const {
  return names_[static_cast<std::size_t>(events)].get([&] {
    const Trace& t = analysis_.trace;
    const std::vector<NameId>* const columns[] = {&t.ops.name, &t.calls.name, &t.ranges.name,
                                                  &t.os_calls.name};
    std::vector<std::uint8_t> seen(t.names.size());
    std::vector<NameId> names;
    for (const NameId name : *columns[static_cast<std::size_t>(events)])
      if (std::exchange(seen[name], std::uint8_t{1}) == 0) names.push_back(name);
    return std::make_shared<const std::vector<NameId>>(std::move(names));
  });
}

const std::vector<Spans>& RowsInSteps::stalls() const {
  return stalls_.get([this] {
    const Trace& t = analysis_.trace;
    std::vector<std::vector<Span>> of_device(t.devices.size());
    std::vector<Spans> found;
    for (Row r = 0; r < t.gpu_faults.size(); ++r) {
      of_device[t.gpu_faults.device[r]].push_back({t.gpu_faults.start[r], t.gpu_faults.end[r]});
    }
    for (const DeviceSteps& d : analysis_.devices) {
      for (const Row op : d.ops) {
        if (is_unified(t.ops.copy[op])) of_device[d.device].push_back(t.span_of(op));
      }
      found.push_back(united(std::move(of_device[d.device])));
    }
    return std::make_shared<const std::vector<Spans>>(std::move(found));
  });
}

const ReadBacks& RowsInSteps::read_backs() const {
  return read_backs_.get(
      [this] { return std::make_shared<const ReadBacks>(find_read_backs(analysis_, ops)); });
}

const RoundTrips& RowsInSteps::round_trips() const {
  return round_trips_.get([this] {
    return std::make_shared<const RoundTrips>(
        find_round_trips(analysis_, copies, least_trip_bytes));
  });
}

const RowSet& RowsInSteps::streamed_uploads() const {
  return streamed_uploads_.get([this] {
    return std::make_shared<const RowSet>(
        analysis_.has_steps()
            ? find_streamed_uploads(analysis_, least_trip_bytes, least_upload_bursts)
            : RowSet());
  });
}

const std::vector<Wait>& RowsInSteps::waits() const {
  return waits_.get([this] {
    return std::make_shared<const std::vector<Wait>>(
        find_waits(analysis_, {ops, calls, read_backs(), round_trips(), streamed_uploads()}));
  });
}

const CollectiveKinds& RowsInSteps::collectives() const {
  return collectives_.get([this] { return std::make_shared<const CollectiveKinds>(analysis_); });
}

const std::vector<Row>& RowsInSteps::meetings() const {
  return meetings_.get([this] {
    const std::size_t ops = analysis_.trace.ops.size();
    std::vector<Row> found(analysis_.devices.size() < 2 ? 0 : ops);
    Row number = 0;
    if (!found.empty())
      for (const Meeting& members : gh::meetings(analysis_, 0, static_cast<Row>(ops))) {
        ++number;
        for (const Row op : members) found[op] = number;
      }
    return std::make_shared<const std::vector<Row>>(std::move(found));
  });
}

const std::vector<std::vector<Row>>& RowsInSteps::by_stream() const {
  return by_stream_.get([this] {
    const std::vector<DeviceSteps>& devices = analysis_.devices;
    const auto& stream = analysis_.trace.ops.stream;
    std::vector<std::size_t> counts(analysis_.trace.streams.size());
    for (const DeviceSteps& d : devices) {
      for (const Row op : d.ops) ++counts[stream[op]];
    }
    std::vector<std::vector<Row>> found(counts.size());
    for (std::size_t s = 0; s < counts.size(); ++s) found[s].reserve(counts[s]);
    for (const DeviceSteps& d : devices) {
      for (const Row op : d.ops) found[stream[op]].push_back(op);
    }
    return std::make_shared<const std::vector<std::vector<Row>>>(std::move(found));
  });
}

}  // namespace gh

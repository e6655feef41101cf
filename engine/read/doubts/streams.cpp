// Checks that work on a stream runs one at a time and in launch order, and that a wait for the
// stream returns only after that work.
#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "read/doubts/checks.hpp"

namespace gh::doubts {
namespace {

constexpr Limit most_beside_two{0.02}, most_overtaken{0.02}, most_late{0.05};
// A wait may be for another stream.
constexpr Limit most_late_fetches{0.5};

// With programmatic dependent launch a kernel may start before the one before it has ended, so two
// at a time are fine. Such launches may overlap even more; they use separate functions, which take
// attributes.
void check_overlap(Checks& checks) {
  const Trace& t = checks.trace;
  const Ops& o = t.ops;
  const std::vector<std::uint8_t> may_overlap =
      begins_with(t, {"cudaLaunchKernelEx", "cuLaunchKernelEx"});
  struct Ends {
    Ns last = std::numeric_limits<Ns>::min() / 2, before = last;
  };
  std::vector<Ends> of_stream(t.streams.size());
  std::vector<std::uint8_t> overlaps(o.size());
  for (Row op = 0; op < o.size(); ++op) {
    if (!checks.is_ordered(op) || o.in_graph[op]) continue;
    Ends& ends = of_stream[o.stream[op]];
    const bool may = o.call[op] != no_row && may_overlap[t.calls.name[o.call[op]]];
    overlaps[op] = !may && o.start[op] < ends.before - clocks_apart_ns;
    ends.before = std::max(ends.before, std::min(ends.last, o.end[op]));
    ends.last = std::max(ends.last, o.end[op]);
  }
  checks.add_by_kind(most_beside_two, "start while two others on their stream still run",
                     Checks::Unknown::operations, [&](Row op) { return overlaps[op] != 0; });
}

void check_order(Checks& checks) {
  const Trace& t = checks.trace;
  const Ops& o = t.ops;
  const Calls& c = t.calls;
  std::vector<Ns> latest(t.streams.size(), std::numeric_limits<Ns>::min());
  std::vector<std::uint8_t> overtaken(o.size());
  for (Row op = 0; op < o.size(); ++op) {
    if (o.call[op] == no_row || !checks.is_ordered(op) || o.in_graph[op]) continue;
    Ns& launched = latest[o.stream[op]];
    overtaken[op] = c.end[o.call[op]] < launched;
    launched = std::max(launched, c.start[o.call[op]]);
  }
  checks.add_by_kind(most_overtaken, "run after work launched later on their stream",
                     Checks::Unknown::calls_too, [&](Row op) { return overtaken[op] != 0; });
}

// Waiting calls, grouped by what they wait for and sorted by start.
using Waits = std::vector<std::vector<Row>>;

// By stream. Synchronizations are sorted by the end of waiting.
Waits waits_for_streams(const Trace& t) {
  const std::vector<std::uint8_t> waits_for_stream =
      begins_with(t, {"cudaStreamSynchronize", "cuStreamSynchronize"});
  const Syncs& s = t.syncs;
  Waits waits(t.streams.size());
  for (Row w = 0; w < s.size(); ++w) {
    if (s.call[w] != no_row && waits_for_stream[t.calls.name[s.call[w]]]) {
      waits[s.stream[w]].push_back(s.call[w]);
    }
  }
  // Call rows are in order of their starts.
  for (std::vector<Row>& calls : waits) std::sort(calls.begin(), calls.end());
  return waits;
}

// By process, for processes that use one GPU.
Waits waits_for_devices(const Checks& checks) {
  const Trace& t = checks.trace;
  const std::vector<std::uint8_t> waits_for_device =
      begins_with(t, {"cudaDeviceSynchronize", "cuCtxSynchronize"});
  std::vector<std::set<std::uint16_t>> devices(t.processes.size());
  for (const Stream& stream : t.streams) devices[stream.process].insert(stream.device);
  Waits waits(t.processes.size());
  for (Row call = 0; call < t.calls.size(); ++call) {
    const std::uint16_t process = checks.process_of_call(call);
    if (waits_for_device[t.calls.name[call]] && devices[process].size() == 1) {
      waits[process].push_back(call);
    }
  }
  return waits;
}

// Without recorded synchronizations (PyTorch's traces), nothing says what a call waited for. But if
// a thread copies to the host and waits for a stream in its next call (.item(), .cpu()), it waits
// for that copy.
void check_fetches(Checks& checks) {
  const Trace& t = checks.trace;
  const Ops& o = t.ops;
  const Calls& c = t.calls;
  const std::vector<std::uint8_t> waits = begins_with(t, {"cudaStreamSynchronize"});
  std::vector<Row> last(t.threads.size(), no_row);
  std::vector<Row> wait_behind(c.size(), no_row);
  for (Row call = 0; call < c.size(); ++call) {
    Row& before = last[c.thread[call]];
    if (before != no_row && waits[c.name[call]]) wait_behind[before] = call;
    before = call;
  }
  std::int64_t fetches = 0, late = 0;
  for (Row op = 0; op < o.size(); ++op) {
    if (o.copy[op] != CopyKind::d2h || o.call[op] == no_row) continue;
    const Row wait = wait_behind[o.call[op]];
    if (wait == no_row) continue;
    ++fetches;
    late += o.end[op] > c.end[wait] + clocks_apart_ns;
  }
  checks.add(late, static_cast<std::size_t>(fetches), most_late_fetches,
             "copies to the host end after the next call, which waited for them",
             {Source::copies, Source::kernels, Source::calls});
}

// Waiting for a stream, or for the only GPU of a process, returns after everything launched before.
void check_waits(Checks& checks) {
  const Trace& t = checks.trace;
  const Ops& o = t.ops;
  const Calls& c = t.calls;
  const Waits of_stream = waits_for_streams(t), of_process = waits_for_devices(checks);
  const auto is_late = [&](Row op, const std::vector<Row>& waits) {
    const auto next =
        std::lower_bound(waits.begin(), waits.end(), c.end[o.call[op]],
                         [&](Row wait, Ns launched) { return c.start[wait] < launched; });
    return next != waits.end() && o.end[op] > c.end[*next] + clocks_apart_ns;
  };
  checks.add_by_kind(most_late, "end after the call that waited for them",
                     Checks::Unknown::calls_too, [&](Row op) {
                       if (o.call[op] == no_row || !checks.is_ordered(op)) return false;
                       return is_late(op, of_stream[o.stream[op]]) ||
                              is_late(op, of_process[t.process_of(op)]);
                     });
}

}  // namespace

void check_streams(Checks& checks) {
  check_overlap(checks);
  check_order(checks);
  check_waits(checks);
  if (checks.trace.syncs.size() == 0) check_fetches(checks);
}

}  // namespace gh::doubts

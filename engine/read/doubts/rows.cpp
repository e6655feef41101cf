// Checks each row: whether it has a name, takes time, appears once, and lies where it should.
#include <algorithm>

#include "read/doubts/checks.hpp"

namespace gh::doubts {
namespace {

// None of 97 nsys recordings has a row without a name. In PyTorch's, work of the profiler itself
// and of NCCL counts as calls.
constexpr Limit most_nameless{0.01}, most_calls_not_of_cuda{0.01, 0.15};
// The profiler's clock is finer than anything that runs, but rounded to microseconds something
// short may take no time. The shortest of 300,000 kernels took 576 ns, the shortest copy 320, the
// shortest call 45.
constexpr Ns least_work_ns = 100, least_call_ns = 10;
constexpr Limit most_timeless_work{0.02, 0.5}, most_timeless_calls{0.02, 0.95},
    most_timeless_os_calls{0.05}, most_timeless_ranges{0.1, 0.5}, most_too_short{0.02};
// A program may leave a range without text, but hardly most of them.
constexpr Limit most_nameless_ranges{0.5}, most_undirected{0.2};
constexpr Limit most_empty_copies{0.05}, most_twice{0.02}, most_placeless{0.02};
constexpr Limit most_at_once{0.02, 0.95};
// If programs take turns on a GPU, a few small copies wait for milliseconds.
constexpr Limit most_crawling{0.3}, most_flying{0.02};
// A program may create a stream for each task, but a task is hardly ever a single operation.
constexpr Limit most_alone{0.5};
constexpr std::int64_t least_alone = 1000;
// A program may mark what it does before and after using CUDA, but hardly only that.
constexpr Limit most_ranges_beside{0.98}, most_unended{0.5}, most_ended_before{0.05};
// The ranges of a thread that may be open when the recording ends: the program's, its epochs' ...
constexpr std::uint32_t most_open = 8;

bool is_of_host(MemoryKind m) { return m == MemoryKind::pageable || m == MemoryKind::pinned; }
bool is_of_gpu(MemoryKind m) { return m == MemoryKind::device || m == MemoryKind::array; }

// Whether a copy's direction contradicts its source or destination memory. Managed memory may be
// anywhere.
bool contradicts(const Trace& t, Row op) {
  const CopyKind kind = t.ops.copy[op];
  const bool from_host = kind == CopyKind::h2d || kind == CopyKind::h2h,
             to_host = kind == CopyKind::d2h || kind == CopyKind::h2h;
  if (kind == CopyKind::none || kind == CopyKind::other) return false;
  return (from_host ? is_of_gpu(t.ops.source[op]) : is_of_host(t.ops.source[op])) ||
         (to_host ? is_of_gpu(t.ops.target[op]) : is_of_host(t.ops.target[op]));
}

void check_names(Checks& checks) {
  const Trace& t = checks.trace;
  const Ops& o = t.ops;
  checks.add(
      count_rows(o.size(), [&](Row op) { return o.kind[op] == OpKind::kernel && o.name[op] == 0; }),
      checks.kernels, most_nameless, "kernels have no name");
  constexpr std::uint16_t most_threads = 1024;  // per block, on every GPU
  checks.add(count_rows(o.size(), [&](Row op) { return o.threads[op] > most_threads; }),
             checks.kernels, most_nameless,
             "kernels have more threads per block than any GPU can run");
  checks.add(count_rows(o.size(),
                        [&](Row op) {
                          return checks.is_copy(op) &&
                                 (o.copy[op] == CopyKind::none || o.copy[op] == CopyKind::other);
                        }),
             checks.copies, most_undirected, "copies have no direction");
  checks.add(count_rows(o.size(), [&](Row op) { return checks.is_copy(op) && contradicts(t, op); }),
             checks.copies, most_undirected,
             "copies have a direction that contradicts their source or destination");
  checks.add(count_rows(t.ranges.size(), [&](Row r) { return t.ranges.name[r] == 0; }),
             t.ranges.size(), most_nameless_ranges, "ranges have no name");
  const std::vector<std::uint8_t> is_cuda = begins_with(t, {"cu"});
  checks.add(count_rows(t.calls.size(), [&](Row c) { return !is_cuda[t.calls.name[c]]; }),
             t.calls.size(), most_calls_not_of_cuda,
             "CUDA calls have no name, or not that of a CUDA function");
}

template <class Stretches>
std::int64_t count_timeless(const Stretches& s) {
  return count_rows(s.size(), [&](Row row) { return s.start[row] == s.end[row]; });
}

bool is_too_short(Ns ns, Ns least_ns) { return ns > 0 && ns < least_ns; }

void check_lengths(Checks& checks) {
  const Trace& t = checks.trace;
  const Ops& o = t.ops;
  // A memset may take less than a microsecond.
  checks.add_by_kind(most_timeless_work, "take no time", Checks::Unknown::operations, [&](Row op) {
    return o.start[op] == o.end[op] && !(checks.by_torch && checks.is_set(op));
  });
  checks.add_by_kind(most_too_short, "are impossibly short", Checks::Unknown::operations,
                     [&](Row op) { return is_too_short(o.end[op] - o.start[op], least_work_ns); });
  const Calls& c = t.calls;
  checks.add(count_timeless(c), c.size(), most_timeless_calls, "CUDA calls take no time",
             {Source::calls});
  checks.add(count_rows(c.size(),
                        [&](Row call) {
                          return is_too_short(c.end[call] - c.start[call], least_call_ns);
                        }),
             c.size(), most_too_short, "CUDA calls are impossibly short", {Source::calls});
  // Nsight Systems writes "[Unknown]", without a length, for a call that it did not see begin.
  const NameId unseen = t.names.find("[Unknown]");
  checks.add(count_rows(t.os_calls.size(),
                        [&](Row call) {
                          return t.os_calls.start[call] == t.os_calls.end[call] &&
                                 (unseen == 0 || t.os_calls.name[call] != unseen);
                        }),
             t.os_calls.size(), most_timeless_os_calls, "OS runtime calls take no time",
             {Source::os_calls});
  checks.add(count_timeless(t.ranges), t.ranges.size(), most_timeless_ranges, "ranges take no time",
             {Source::ranges});
}

// The limits leave a wide margin: the slowest link is a hundred times faster than 10 MB/s, the
// fastest link to a host reaches half of 1 TB/s, and a GPU's own memory less than 20.
bool crawls(Ns ns, std::int64_t bytes) {
  constexpr double bytes_per_ns = 0.01;
  constexpr Ns start_ns = 100'000;  // starting a copy takes microseconds
  return ns > start_ns && static_cast<double>(bytes) < bytes_per_ns * static_cast<double>(ns);
}

bool flies(Ns ns, std::int64_t bytes, CopyKind kind) {
  const bool within_gpus =
      kind == CopyKind::d2d || kind == CopyKind::p2p || kind == CopyKind::um_d2d;
  const double bytes_per_ns = within_gpus ? 20'000 : 1'000;
  return ns > 0 && static_cast<double>(bytes) > bytes_per_ns * static_cast<double>(ns);
}

void check_bytes(Checks& checks) {
  const Ops& o = checks.trace.ops;
  const auto add = [&](auto is_one, std::size_t of, const std::string& what) {
    const auto count = [&](auto is_wrong) {
      return count_rows(of == 0 ? 0 : o.size(), [&](Row op) {
        return is_one(op) && is_wrong(o.end[op] - o.start[op], o.bytes[op], o.copy[op]);
      });
    };
    checks.add(count([](Ns, std::int64_t bytes, CopyKind) { return bytes == 0; }), of,
               most_empty_copies, what + " move no bytes");
    checks.add(count([](Ns ns, std::int64_t bytes, CopyKind) { return crawls(ns, bytes); }), of,
               most_crawling, what + " are slower than any link");
    checks.add(count(flies), of, most_flying, what + " are faster than any link");
  };
  add([&](Row op) { return checks.is_copy(op); }, checks.copies, "copies");
  add([&](Row op) { return checks.is_migration(op); }, checks.migrations,
      "unified memory migrations");
}

// If a stream column holds other numbers by mistake, each operation seems to have its own stream.
void check_alone(Checks& checks) {
  const Trace& t = checks.trace;
  std::vector<std::uint32_t> of_stream(t.streams.size());
  for (Row op = 0; op < t.ops.size(); ++op) of_stream[t.ops.stream[op]] += checks.is_ordered(op);
  const std::ptrdiff_t alone = std::count(of_stream.begin(), of_stream.end(), 1U);
  if (alone < least_alone) return;
  checks.add(alone, t.ops.size(), most_alone, "operations are the only one on their stream");
}

// Of two rows that are alike in time, thread and name: whether they are one that appears twice.
// Those without correlations that take no time are several that a clock of microseconds puts on the
// same one.
bool are_one(const Calls& c, Row a, Row b) {
  return c.correlation[a] == c.correlation[b] && (c.correlation[a] != 0 || c.start[a] < c.end[a]);
}
template <class Stretches>
bool are_one(const Stretches& s, Row a, Row) {
  return s.start[a] < s.end[a];
}

template <class Stretches>
std::int64_t count_twice(const Stretches& s) {
  return count_rows(s.size(), [&](Row b) {
    const Row a = b - 1;
    return b > 0 && s.start[a] == s.start[b] && s.end[a] == s.end[b] &&
           s.thread[a] == s.thread[b] && s.name[a] == s.name[b] && are_one(s, a, b);
  });
}

// Whether a call begins in the same nanosecond as the one before, of the same thread. PyTorch's
// older traces count in microseconds.
std::int64_t count_at_once(const Calls& c) {
  return count_rows(c.size(), [&](Row b) {
    return b > 0 && c.start[b - 1] == c.start[b] && c.thread[b - 1] == c.thread[b];
  });
}

void check_twice(Checks& checks) {
  const Trace& t = checks.trace;
  const Ops& o = t.ops;
  checks.add_by_kind(most_twice, "appear twice", Checks::Unknown::operations, [&](Row b) {
    const Row a = b - 1;
    return b > 0 && o.start[a] == o.start[b] && o.end[a] == o.end[b] && o.start[a] < o.end[a] &&
           o.stream[a] == o.stream[b] && o.name[a] == o.name[b] &&
           o.correlation[a] == o.correlation[b] && o.kind[a] == o.kind[b];
  });
  const std::int64_t at_once = count_at_once(t.calls);
  checks.add(at_once == 0 ? 0 : count_twice(t.calls), t.calls.size(), most_twice,
             "CUDA calls appear twice", {Source::calls});
  checks.add(at_once, t.calls.size(), most_at_once,
             "CUDA calls begin at the same time as another of their thread", {Source::calls});
  checks.add(count_twice(t.ranges), t.ranges.size(), most_twice, "ranges appear twice",
             {Source::ranges});
  checks.add(count_twice(t.os_calls), t.os_calls.size(), most_twice,
             "OS runtime calls appear twice", {Source::os_calls});
}

// A report that describes any GPU describes every GPU.
void check_places(Checks& checks) {
  const Trace& t = checks.trace;
  const auto is_unknown = [&](const Device& d) { return d.name.empty() && d.sm_count == 0; };
  if (std::all_of(t.devices.begin(), t.devices.end(), is_unknown)) return;
  checks.add_by_kind(most_placeless, "ran on a GPU that the report does not describe",
                     Checks::Unknown::nothing,
                     [&](Row op) { return is_unknown(t.devices[t.device_of(op)]); });
}

// How many ranges are still open when the recording ends, beyond those that each thread may have.
std::int64_t count_unended(const Trace& t) {
  std::vector<std::uint32_t> open(t.threads.size());
  std::int64_t unended = 0;
  for (Row row = 0; row < t.ranges.size(); ++row) {
    unended += t.ranges.end[row] >= t.capture_end && ++open[t.ranges.thread[row]] > most_open;
  }
  return unended;
}

// Ranges surround recorded events.
void check_times_of_ranges(Checks& checks) {
  const Trace& t = checks.trace;
  if (t.calls.size() == 0) return;
  Ns first = t.calls.start.front(), last = t.calls.end.back();
  if (t.os_calls.size() > 0) first = std::min(first, t.os_calls.start.front());
  if (t.ops.size() > 0) first = std::min(first, t.ops.start.front());
  for (const Ns end : t.ops.end) last = std::max(last, end);
  for (const Ns end : t.os_calls.end) last = std::max(last, end);
  const Ranges& r = t.ranges;
  checks.add(
      count_rows(r.size(), [&](Row row) { return r.end[row] < first || r.start[row] > last; }),
      r.size(), most_ranges_beside, "ranges lie outside the time of all other events",
      {Source::ranges});
  checks.add(count_unended(t), r.size(), most_unended,
             "ranges were still open when the recording ended");
  // Time 0 is the start of the recording, unless times were shifted during export. A range that
  // ended before it cannot have been recorded.
  const Ns begin = std::min<Ns>(0, first);
  checks.add(count_rows(r.size(), [&](Row row) { return r.end[row] < begin; }), r.size(),
             most_ended_before, "ranges ended before the recording began", {Source::ranges});
}

}  // namespace

void check_rows(Checks& checks) {
  check_names(checks);
  check_lengths(checks);
  check_bytes(checks);
  check_alone(checks);
  check_twice(checks);
  check_places(checks);
  check_times_of_ranges(checks);
}

}  // namespace gh::doubts

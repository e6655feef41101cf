// Rows by themselves: whether they have names, take time, come once, and where they lie.
#include <algorithm>

#include "read/doubts/checks.hpp"

namespace gh::doubts {
namespace {

// Of 97 recordings by nsys none has a row without a name; in PyTorch's, the profiler's own work and
// NCCL's count among the calls.
constexpr Limit most_nameless{0.01}, most_calls_not_of_cuda{0.01, 0.15};
// The profiler's clock is finer than anything that runs. In microseconds what is short takes none.
constexpr Limit most_timeless_work{0.02, 0.5}, most_timeless_calls{0.02, 0.95},
    most_timeless_os_calls{0.05}, most_timeless_ranges{0.1, 0.5};
// A program may leave a range without a text, but hardly most of them.
constexpr Limit most_nameless_ranges{0.5}, most_undirected{0.2};
constexpr Limit most_empty_copies{0.05}, most_twice{0.02}, most_placeless{0.02};
// A program may mark what it does before and after it uses CUDA, but hardly that alone.
constexpr Limit most_beside{0.9}, most_unended{0.5}, most_ended_before{0.05};

void check_names(Checks& checks) {
  const Trace& t = checks.trace;
  const Ops& o = t.ops;
  checks.add(
      count_rows(o.size(), [&](Row op) { return o.kind[op] == OpKind::kernel && o.name[op] == 0; }),
      checks.kernels, most_nameless, "kernels have no name");
  constexpr std::uint16_t most_threads = 1024;  // of a block, on every GPU
  checks.add(count_rows(o.size(), [&](Row op) { return o.threads[op] > most_threads; }),
             checks.kernels, most_nameless,
             "kernels have more threads in a block than a GPU can run");
  checks.add(count_rows(o.size(),
                        [&](Row op) {
                          return checks.is_copy(op) &&
                                 (o.copy[op] == CopyKind::none || o.copy[op] == CopyKind::other);
                        }),
             checks.copies, most_undirected, "copies do not say from where to where");
  checks.add(count_rows(t.ranges.size(), [&](Row r) { return t.ranges.name[r] == 0; }),
             t.ranges.size(), most_nameless_ranges, "ranges have no name");
  const std::vector<std::uint8_t> is_cuda = begins_with(t, {"cu"});
  checks.add(count_rows(t.calls.size(), [&](Row c) { return !is_cuda[t.calls.name[c]]; }),
             t.calls.size(), most_calls_not_of_cuda,
             "CUDA calls have no name, or one that no function of CUDA has");
}

template <class Stretches>
std::int64_t count_timeless(const Stretches& s) {
  return count_rows(s.size(), [&](Row row) { return s.start[row] == s.end[row]; });
}

void check_lengths(Checks& checks) {
  const Trace& t = checks.trace;
  const Ops& o = t.ops;
  // A memset is over within a microsecond.
  checks.add_by_kind(most_timeless_work, "take no time", Checks::Unknown::operations, [&](Row op) {
    return o.start[op] == o.end[op] && !(checks.by_torch && checks.is_set(op));
  });
  checks.add(count_timeless(t.calls), t.calls.size(), most_timeless_calls,
             "CUDA calls take no time", {Source::calls});
  checks.add(count_timeless(t.os_calls), t.os_calls.size(), most_timeless_os_calls,
             "calls of the operating system take no time", {Source::os_calls});
  checks.add(count_timeless(t.ranges), t.ranges.size(), most_timeless_ranges, "ranges take no time",
             {Source::ranges});
  checks.add(count_rows(o.size(), [&](Row op) { return checks.is_copy(op) && o.bytes[op] == 0; }),
             checks.copies, most_empty_copies, "copies move no bytes");
}

bool same_number(const Calls& c, Row a, Row b) { return c.correlation[a] == c.correlation[b]; }
template <class Stretches>
bool same_number(const Stretches&, Row, Row) {
  return true;  // they have none
}

template <class Stretches>
std::int64_t count_twice(const Stretches& s) {
  return count_rows(s.size(), [&](Row b) {
    const Row a = b - 1;
    return b > 0 && s.start[a] == s.start[b] && s.end[a] == s.end[b] &&
           s.thread[a] == s.thread[b] && s.name[a] == s.name[b] && same_number(s, a, b);
  });
}

void check_twice(Checks& checks) {
  const Trace& t = checks.trace;
  const Ops& o = t.ops;
  checks.add_by_kind(most_twice, "stand there twice", Checks::Unknown::operations, [&](Row b) {
    const Row a = b - 1;
    return b > 0 && o.start[a] == o.start[b] && o.end[a] == o.end[b] &&
           o.stream[a] == o.stream[b] && o.name[a] == o.name[b] &&
           o.correlation[a] == o.correlation[b] && o.kind[a] == o.kind[b];
  });
  checks.add(count_twice(t.calls), t.calls.size(), most_twice, "CUDA calls stand there twice",
             {Source::calls});
  checks.add(count_twice(t.ranges), t.ranges.size(), most_twice, "ranges stand there twice",
             {Source::ranges});
  checks.add(count_twice(t.os_calls), t.os_calls.size(), most_twice,
             "calls of the operating system stand there twice", {Source::os_calls});
}

// Where the report describes any GPU, it describes each.
void check_places(Checks& checks) {
  const Trace& t = checks.trace;
  const auto is_unknown = [&](const Device& d) { return d.name.empty() && d.sm_count == 0; };
  if (std::all_of(t.devices.begin(), t.devices.end(), is_unknown)) return;
  checks.add_by_kind(most_placeless, "ran on a GPU that the report does not describe",
                     Checks::Unknown::nothing,
                     [&](Row op) { return is_unknown(t.devices[t.device_of(op)]); });
}

// Ranges are put around what is recorded.
void check_times_of_ranges(Checks& checks) {
  const Trace& t = checks.trace;
  if (t.calls.size() == 0) return;
  Ns last = t.calls.end.back();
  for (const Ns end : t.ops.end) last = std::max(last, end);
  const Ns first = t.calls.start.front();
  const Ranges& r = t.ranges;
  checks.add(
      count_rows(r.size(), [&](Row row) { return r.end[row] < first || r.start[row] > last; }),
      r.size(), most_beside, "ranges lie before or after all that was recorded within them",
      {Source::ranges});
  checks.add(count_rows(r.size(), [&](Row row) { return r.end[row] >= t.capture_end; }), r.size(),
             most_unended, "ranges had not ended when the recording did", {});
  // Time 0 is when the recording began: what had ended by then is in none.
  checks.add(count_rows(r.size(), [&](Row row) { return r.end[row] < 0; }), r.size(),
             most_ended_before, "ranges ended before the recording began", {Source::ranges});
}

}  // namespace

void check_rows(Checks& checks) {
  check_names(checks);
  check_lengths(checks);
  check_twice(checks);
  check_places(checks);
  check_times_of_ranges(checks);
}

}  // namespace gh::doubts

// Checks what belongs to a GPU but to no call: unified memory migrations, page faults, samples.
#include <algorithm>
#include <limits>

#include "read/doubts/checks.hpp"

namespace gh::doubts {
namespace {

// The host may read results after all GPU work has ended, and a recording may begin long before the
// program uses its GPU.
constexpr Limit most_migrations_beside{0.9}, most_samples_beside{0.98};
// The shortest of 40,000 faults took 11 us.
constexpr Ns least_fault_ns = 1'000;
constexpr Limit most_short_faults{0.1}, most_unheard_of{0.1}, most_absurd{0.01};

struct Window {
  Ns start = std::numeric_limits<Ns>::max(), end = std::numeric_limits<Ns>::min();
  bool holds(Ns from, Ns to) const { return to >= start && from <= end; }
};

// From the first to the last call or operation.
Window used(const Checks& checks) {
  Window w;
  const auto add = [&](Ns start, Ns end) {
    w.start = std::min(w.start, start - clocks_apart_ns);
    w.end = std::max(w.end, end + clocks_apart_ns);
  };
  const Trace& t = checks.trace;
  for (Row call = 0; call < t.calls.size(); ++call) add(t.calls.start[call], t.calls.end[call]);
  for (Row op = 0; op < t.ops.size(); ++op) {
    if (checks.is_ordered(op)) add(t.ops.start[op], t.ops.end[op]);
  }
  return w;
}

// A fault on a GPU needs something running there.
std::int64_t count_faults_of_nobody(const Checks& checks) {
  const Trace& t = checks.trace;
  const GpuFaults& f = t.gpu_faults;
  std::vector<Ns> busy_until(t.devices.size(), std::numeric_limits<Ns>::min());
  std::int64_t of_nobody = 0;
  Row op = 0;
  for (Row fault = 0; fault < f.size(); ++fault) {
    for (; op < t.ops.size() && t.ops.start[op] <= f.start[fault] + clocks_apart_ns; ++op) {
      if (!checks.is_ordered(op)) continue;
      Ns& until = busy_until[t.device_of(op)];
      until = std::max(until, t.ops.end[op] + clocks_apart_ns);
    }
    of_nobody += busy_until[f.device[fault]] < f.start[fault];
  }
  return of_nobody;
}

void check_faults(Checks& checks) {
  const GpuFaults& f = checks.trace.gpu_faults;
  checks.add(
      count_rows(f.size(), [&](Row row) { return f.end[row] - f.start[row] < least_fault_ns; }),
      f.size(), most_short_faults, "GPU page faults are impossibly short", {Source::gpu_faults});
  checks.add(count_faults_of_nobody(checks), f.size(), most_unheard_of,
             "GPU page faults occur while nothing runs on the GPU", {Source::gpu_faults});
}

void check_migrations(Checks& checks, const Window& window) {
  const Ops& o = checks.trace.ops;
  checks.add(count_rows(o.size(),
                        [&](Row op) {
                          return checks.is_migration(op) && !window.holds(o.start[op], o.end[op]);
                        }),
             checks.migrations, most_migrations_beside,
             "unified memory migrations lie outside the time in which the GPU was used",
             {Source::unified_copies});
}

void check_samples(Checks& checks, const Window& window) {
  const Samples& s = checks.trace.samples;
  std::vector<std::uint8_t> is_share(checks.trace.names.size());
  for (NameId n = 0; n < is_share.size(); ++n) {
    is_share[n] = checks.trace.names[n].find('%') != std::string_view::npos;
  }
  constexpr double most_percent = 101;  // after rounding
  checks.add(count_rows(s.size(),
                        [&](Row row) {
                          return is_share[s.metric[row]] &&
                                 !(s.value[row] >= 0 && s.value[row] <= most_percent);
                        }),
             s.size(), most_absurd, "GPU metric samples are below 0 or above 100 %",
             {Source::samples});
  checks.add(
      count_rows(s.size(), [&](Row row) { return !window.holds(s.start[row], s.start[row]); }),
      s.size(), most_samples_beside,
      "GPU metric samples lie outside the time in which anything ran", {Source::samples});
}

}  // namespace

void check_devices(Checks& checks) {
  const Trace& t = checks.trace;
  if (t.calls.size() + t.ops.size() == 0) return;
  check_faults(checks);
  if (checks.migrations + t.samples.size() == 0) return;
  const Window window = used(checks);
  check_migrations(checks, window);
  check_samples(checks, window);
}

}  // namespace gh::doubts

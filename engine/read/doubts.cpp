#include "read/doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/parallel.hpp"
#include "base/profile.hpp"
#include "trace/sort_rows.hpp"

namespace gh {
namespace {

// What the clocks of the GPU and the host, which the profiler brings together, may be apart.
constexpr Ns clocks_apart_ns = 20'000;
// Work that was launched before the recording may run before the first call in it.
constexpr Ns most_head_start_ns = 50'000'000;
// Fewer rows than these are no pattern.
constexpr std::int64_t least_rows = 2, least_of = 10;

// How many rows of so many an expectation does not hold for.
template <class Wrong>
std::int64_t count(std::size_t rows, Wrong wrong) {
  std::atomic<std::int64_t> all = 0;
  in_chunks(rows, rows_a_chunk, [&](std::size_t first, std::size_t end, std::size_t) {
    std::int64_t here = 0;
    for (std::size_t row = first; row < end; ++row) here += wrong(static_cast<Row>(row));
    all += here;
  });
  return all;
}

// Which of a trace's names begin with one of these.
std::vector<std::uint8_t> named(const Trace& t, const std::vector<std::string_view>& beginnings) {
  std::vector<std::uint8_t> is(t.names.size());
  for (NameId n = 0; n < t.names.size(); ++n) {
    is[n] = std::any_of(beginnings.begin(), beginnings.end(),
                        [&](std::string_view begin) { return t.names[n].starts_with(begin); });
  }
  return is;
}

class Looker {
 public:
  Looker(const Trace& trace, Recorder recorder)
      : t_(trace),
        by_torch_(recorder == Recorder::torch),
        kernels_(count(trace.ops.size(), [&](Row op) { return is_kernel(op); })),
        copies_(count(trace.ops.size(), [&](Row op) { return is_copy(op); })) {}

  std::vector<Doubt> all() {
    names();
    lengths();
    launches();
    repeated_rows();
    nesting();
    streams();
    order();
    waits();
    places();
    threads();
    times_of_ranges();
    return std::move(doubts_);
  }

 private:
  void add(std::vector<Source> sources, double most, std::int64_t rows, std::size_t of,
           std::string what) {
    doubts_.push_back(
        {std::move(sources), rows, static_cast<std::int64_t>(of), most, std::move(what)});
  }
  bool is_kernel(Row op) const {
    return t_.ops.kind[op] == OpKind::kernel || t_.ops.kind[op] == OpKind::graph;
  }
  bool is_copy(Row op) const { return t_.ops.kind[op] == OpKind::copy && is_ordered(op); }
  // Migrations of unified memory belong to no call and no stream.
  bool is_ordered(Row op) const { return !is_unified(t_.ops.copy[op]); }

  // PyTorch's older traces count in microseconds: what was short takes no time in them.
  double for_torch(double torch, double nsys) const { return by_torch_ ? torch : nsys; }

  void names() {
    const Ops& o = t_.ops;
    const auto kernels = static_cast<std::size_t>(kernels_);
    add({Source::kernels, Source::graph_nodes}, 0.01,
        count(o.size(), [&](Row op) { return o.kind[op] == OpKind::kernel && o.name[op] == 0; }),
        kernels, "kernels have no name");
    constexpr std::uint16_t most_threads = 1024;  // of a block, on every GPU
    add({Source::kernels, Source::graph_nodes}, 0.01,
        count(o.size(), [&](Row op) { return o.threads[op] > most_threads; }), kernels,
        "kernels have more threads in a block than a GPU can run");
    const std::vector<std::uint8_t> is_cuda = named(t_, {"cu"});
    // PyTorch counts the profiler's own work and NCCL's among them.
    add({Source::calls}, for_torch(0.15, 0.01),
        count(t_.calls.size(), [&](Row c) { return !is_cuda[t_.calls.name[c]]; }), t_.calls.size(),
        "CUDA calls have no name, or one that no function of CUDA has");
  }

  void lengths() {
    const Ops& o = t_.ops;
    add_by_kind(for_torch(0.5, 0.02), "take no time",
                [&](Row op) { return o.start[op] == o.end[op]; });
    add({Source::calls}, for_torch(0.95, 0.02),
        count(t_.calls.size(), [&](Row c) { return t_.calls.start[c] == t_.calls.end[c]; }),
        t_.calls.size(), "CUDA calls take no time");
    add({Source::os_calls}, 0.05,
        count(t_.os_calls.size(),
              [&](Row c) { return t_.os_calls.start[c] == t_.os_calls.end[c]; }),
        t_.os_calls.size(), "calls of the operating system take no time");
    add({Source::ranges}, for_torch(0.5, 0.1),
        count(t_.ranges.size(), [&](Row r) { return t_.ranges.start[r] == t_.ranges.end[r]; }),
        t_.ranges.size(), "ranges take no time");
    add({Source::copies}, 0.05,
        count(o.size(), [&](Row op) { return is_copy(op) && o.bytes[op] == 0; }),
        static_cast<std::size_t>(copies_), "copies move no bytes");
  }

  void launches() {
    const Ops& o = t_.ops;
    const Calls& c = t_.calls;
    add_by_kind(0.01, "start before the call that launched them", [&](Row op) {
      return o.call[op] != no_row && o.start[op] < c.start[o.call[op]] - clocks_apart_ns;
    });
    add({Source::calls}, for_torch(0.4, 0.05), count_uncalled(), o.size(),
        "GPU operations have no call that launched them, though it lies within the recording");
    add_workless(
        {Source::kernels, Source::graph_nodes},
        {"cudaLaunchKernel", "cuLaunchKernel", "cudaLaunchCooperative", "cuLaunchCooperative"},
        "launches lead to no kernel");
    add_workless({Source::copies}, {"cudaMemcpy", "cuMemcpy"}, "calls that copy lead to no copy");
  }

  // The first and the last number of a process's calls, or of the operations that they led to.
  // Numbers rise with time.
  struct Numbers {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max(), last = 0;
    Ns first_start = std::numeric_limits<Ns>::max();
    void add(std::uint32_t number) {
      if (number == 0) return;
      first = std::min(first, number);
      last = std::max(last, number);
    }
  };

  // What was launched before the recording began has no call; what was launched later has one.
  std::int64_t count_uncalled() const {
    const Ops& o = t_.ops;
    const Calls& c = t_.calls;
    if (c.size() == 0) return 0;
    std::vector<Numbers> called(t_.processes.size());
    for (Row call = 0; call < c.size(); ++call) {
      Numbers& calls = called[t_.threads[c.thread[call]].process];
      calls.add(c.correlation[call]);
      calls.first_start = std::min(calls.first_start, c.start[call]);
    }
    return count(o.size(), [&](Row op) {
      if (!is_ordered(op) || o.call[op] != no_row) return false;
      const Numbers& calls = called[t_.process_of(op)];
      return o.correlation[op] == 0 || calls.last == 0 || o.correlation[op] > calls.first ||
             o.end[op] < calls.first_start - most_head_start_ns;
    });
  }

  // What a call of these names launched ran, unless the recording ended before.
  void add_workless(std::vector<Source> sources, const std::vector<std::string_view>& names,
                    const char* what) {
    const Ops& o = t_.ops;
    const Calls& c = t_.calls;
    const std::vector<std::uint8_t> wanted = named(t_, names);
    std::vector<Numbers> ran(t_.processes.size());
    std::vector<std::uint8_t> led_to_work(c.size());
    Ns last_end = std::numeric_limits<Ns>::min();
    for (Row op = 0; op < o.size(); ++op) {
      last_end = std::max(last_end, o.end[op]);
      if (o.call[op] == no_row) continue;
      led_to_work[o.call[op]] = 1;
      ran[t_.process_of(op)].add(o.correlation[op]);
    }
    std::vector<std::uint8_t> captures = capturing();
    const auto is_launch = [&](Row call) { return wanted[c.name[call]] != 0 && !captures[call]; };
    // Where functions of the driver are recorded too, one that another one calls counts with it.
    const auto led = [&](Row call) {
      const Row end = static_cast<Row>(std::min<std::size_t>(c.size(), std::size_t{call} + 4));
      for (Row near = call < 4 ? 0 : call - 4; near < end; ++near) {
        if (led_to_work[near] && c.thread[near] == c.thread[call] && c.start[near] <= c.end[call] &&
            c.start[call] <= c.end[near]) {
          return true;
        }
      }
      return false;
    };
    const std::int64_t workless = count(c.size(), [&](Row call) {
      if (!is_launch(call) || led(call)) return false;
      return c.correlation[call] < ran[t_.threads[c.thread[call]].process].last ||
             c.start[call] > last_end;
    });
    add(std::move(sources), 0.1, workless, static_cast<std::size_t>(count(c.size(), is_launch)),
        what);
  }

  // Calls while a graph was recorded: they launch nothing yet.
  std::vector<std::uint8_t> capturing() const {
    const Calls& c = t_.calls;
    const std::vector<std::uint8_t> begins = named(
                                        t_, {"cudaStreamBeginCapture", "cuStreamBeginCapture"}),
                                    ends =
                                        named(t_, {"cudaStreamEndCapture", "cuStreamEndCapture"});
    std::vector<std::uint8_t> is(c.size());
    std::vector<int> open(t_.threads.size());
    for (Row call = 0; call < c.size(); ++call) {
      int& depth = open[c.thread[call]];
      if (ends[c.name[call]] && depth > 0) --depth;
      is[call] = depth > 0;
      if (begins[c.name[call]]) ++depth;
    }
    return is;
  }

  void repeated_rows() {
    const Ops& o = t_.ops;
    add_by_kind(0.02, "stand there twice", [&](Row b) {
      const Row a = b - 1;
      return b > 0 && o.start[a] == o.start[b] && o.end[a] == o.end[b] &&
             o.stream[a] == o.stream[b] && o.name[a] == o.name[b] &&
             o.correlation[a] == o.correlation[b] && o.kind[a] == o.kind[b];
    });
    add({Source::calls}, 0.02, repeated(t_.calls), t_.calls.size(), "CUDA calls stand there twice");
    add({Source::ranges}, 0.02, repeated(t_.ranges), t_.ranges.size(), "ranges stand there twice");
    add({Source::os_calls}, 0.02, repeated(t_.os_calls), t_.os_calls.size(),
        "calls of the operating system stand there twice");
  }
  template <class Stretches>
  static std::int64_t repeated(const Stretches& s) {
    return count(s.size(), [&](Row b) {
      const Row a = b - 1;
      return b > 0 && s.start[a] == s.start[b] && s.end[a] == s.end[b] &&
             s.thread[a] == s.thread[b] && s.name[a] == s.name[b] && alike(s, a, b);
    });
  }

  static bool alike(const Calls& c, Row a, Row b) { return c.correlation[a] == c.correlation[b]; }
  template <class Stretches>
  static bool alike(const Stretches&, Row, Row) {
    return true;
  }

  // What a thread does, it does one in the other or one after the other.
  void nesting() {
    add_crossing({Source::calls}, t_.calls, t_.calls, "CUDA calls and others of their thread");
    add_crossing({Source::ranges}, t_.ranges, t_.ranges, "ranges and others of their thread");
    add_crossing({Source::os_calls}, t_.os_calls, t_.os_calls,
                 "calls of the operating system and others of their thread");
    add_crossing({Source::calls, Source::ranges}, t_.calls, t_.ranges, "CUDA calls and ranges");
    add_crossing({Source::calls, Source::os_calls}, t_.calls, t_.os_calls,
                 "CUDA calls and calls of the operating system");
    add_crossing({Source::ranges, Source::os_calls}, t_.os_calls, t_.ranges,
                 "calls of the operating system and ranges");
  }
  // Of a few long ranges only the ends can be crossed: the share is that of the fewer.
  template <class Inner, class Outer>
  void add_crossing(const std::vector<Source>& sources, const Inner& inner, const Outer& outer,
                    const char* which) {
    add(sources, 0.002, crossing(inner, outer),
        std::max<std::size_t>(least_of, std::min(inner.size(), outer.size())),
        fmt::format("{} overlap in part, as what one thread does cannot", which));
  }

  // A range that was started and ended by calls of their own nests in nothing.
  static bool nests(const Ranges& r, Row row) { return r.unnested[row] == 0; }
  template <class Stretches>
  static bool nests(const Stretches&, Row) {
    return true;
  }

  // How many of `inner` one of `outer` on the same thread begins or ends in.
  template <class Inner, class Outer>
  std::int64_t crossing(const Inner& inner, const Outer& outer) const {
    // The ends of those that are open, by thread.
    std::vector<std::vector<Ns>> open(t_.threads.size());
    std::int64_t crossed = 0;
    Row next = 0;
    const bool same = static_cast<const void*>(&inner) == static_cast<const void*>(&outer);
    for (Row i = 0; i < inner.size(); ++i) {
      const auto begin = [&](Row o) {
        if (!nests(outer, o)) return;
        std::vector<Ns>& ends = open[outer.thread[o]];
        while (!ends.empty() && ends.back() <= outer.start[o]) ends.pop_back();
        ends.push_back(outer.end[o]);
      };
      for (; next < outer.size() && outer.start[next] < inner.start[i] && (!same || next < i);
           ++next) {
        begin(next);
      }
      if (!nests(inner, i)) continue;
      std::vector<Ns>& ends = open[inner.thread[i]];
      while (!ends.empty() && ends.back() <= inner.start[i]) ends.pop_back();
      crossed += !ends.empty() && inner.end[i] > ends.back();
    }
    return crossed;
  }

  // Work on one stream comes one after the other.
  void streams() {
    const Ops& o = t_.ops;
    std::vector<Ns> last(t_.streams.size(), std::numeric_limits<Ns>::min() / 2);
    std::vector<std::uint8_t> overlaps(o.size());
    for (Row op = 0; op < o.size(); ++op) {
      if (!is_ordered(op) || o.in_graph[op]) continue;
      Ns& end = last[o.stream[op]];
      overlaps[op] = o.start[op] < end - clocks_apart_ns;
      end = std::max(end, o.end[op]);
    }
    add_by_kind(0.02, "begin while another one of their stream runs",
                [&](Row op) { return overlaps[op] != 0; });
  }

  // ... and in the order in which it was launched.
  void order() {
    const Ops& o = t_.ops;
    const Calls& c = t_.calls;
    std::vector<Ns> latest(t_.streams.size(), std::numeric_limits<Ns>::min());
    std::vector<std::uint8_t> overtaken(o.size());
    for (Row op = 0; op < o.size(); ++op) {
      if (o.call[op] == no_row || !is_ordered(op) || o.in_graph[op]) continue;
      Ns& launched = latest[o.stream[op]];
      overtaken[op] = c.end[o.call[op]] < launched;
      launched = std::max(launched, c.start[o.call[op]]);
    }
    add_by_kind(0.02, "run after what was launched later on their stream",
                [&](Row op) { return overtaken[op] != 0; });
  }

  // Where the report describes any GPU, it describes each.
  void places() {
    const auto is_unknown = [&](const Device& d) { return d.name.empty() && d.sm_count == 0; };
    if (std::all_of(t_.devices.begin(), t_.devices.end(), is_unknown)) return;
    add_by_kind(0.02, "ran on a GPU that the report does not describe",
                [&](Row op) { return is_unknown(t_.devices[t_.device_of(op)]); });
  }

  // Where the report names any thread, it names each. PyTorch names a few.
  void threads() {
    const auto is_nameless = [&](const Thread& thread) { return thread.name.empty(); };
    if (by_torch_ || std::all_of(t_.threads.begin(), t_.threads.end(), is_nameless)) return;
    add({Source::calls}, 0.02,
        count(t_.calls.size(), [&](Row c) { return is_nameless(t_.threads[t_.calls.thread[c]]); }),
        t_.calls.size(), "CUDA calls were made by threads that the report does not name");
  }

  // Ranges are put around what is recorded.
  void times_of_ranges() {
    if (t_.calls.size() == 0) return;
    Ns last = t_.calls.end.back();
    for (const Ns end : t_.ops.end) last = std::max(last, end);
    const Ns first = t_.calls.start.front();
    const Ranges& r = t_.ranges;
    add({Source::ranges}, 0.9,
        count(r.size(), [&](Row row) { return r.end[row] < first || r.start[row] > last; }),
        r.size(), "ranges lie before or after all that was recorded within them");
  }

  // Who waited for a stream, or for the only GPU of a process, saw all that was launched before.
  void waits() {
    const std::vector<std::vector<Row>> of_stream = waits_for_streams(),
                                        of_process = waits_for_devices();
    const Ops& o = t_.ops;
    const auto is_late = [&](Row op, const std::vector<Row>& waits) {
      const auto next =
          std::lower_bound(waits.begin(), waits.end(), t_.calls.end[o.call[op]],
                           [&](Row wait, Ns launched) { return t_.calls.start[wait] < launched; });
      return next != waits.end() && o.end[op] > t_.calls.end[*next] + clocks_apart_ns;
    };
    add_by_kind(0.05, "end after the call that waited for them", [&](Row op) {
      if (o.call[op] == no_row || !is_ordered(op)) return false;
      return is_late(op, of_stream[o.stream[op]]) || is_late(op, of_process[t_.process_of(op)]);
    });
  }

  std::vector<std::vector<Row>> waits_for_streams() const {
    const std::vector<std::uint8_t> wanted =
        named(t_, {"cudaStreamSynchronize", "cuStreamSynchronize"});
    const Syncs& s = t_.syncs;
    std::vector<std::vector<Row>> waits(t_.streams.size());
    for (Row w = 0; w < s.size(); ++w) {
      if (s.call[w] != no_row && wanted[t_.calls.name[s.call[w]]]) {
        waits[s.stream[w]].push_back(s.call[w]);
      }
    }
    return waits;
  }

  std::vector<std::vector<Row>> waits_for_devices() const {
    const std::vector<std::uint8_t> wanted =
        named(t_, {"cudaDeviceSynchronize", "cuCtxSynchronize"});
    std::vector<std::set<std::uint16_t>> devices(t_.processes.size());
    for (const Stream& stream : t_.streams) devices[stream.process].insert(stream.device);
    std::vector<std::vector<Row>> waits(t_.processes.size());
    for (Row call = 0; call < t_.calls.size(); ++call) {
      const std::uint16_t process = t_.threads[t_.calls.thread[call]].process;
      if (wanted[t_.calls.name[call]] && devices[process].size() == 1) {
        waits[process].push_back(call);
      }
    }
    return waits;
  }

  // The same of kernels and of copies, which stand in tables of their own. What a call launched may
  // be wrong as well as the call.
  template <class Wrong>
  void add_by_kind(double most, const char* what, Wrong wrong) {
    const auto add_of = [&](const std::vector<Source>& sources, std::int64_t of, const char* name,
                            auto is_one) {
      add(sources, most, count(t_.ops.size(), [&](Row op) { return is_one(op) && wrong(op); }),
          static_cast<std::size_t>(of), fmt::format("{} {}", name, what));
    };
    add_of({Source::kernels, Source::graph_nodes, Source::calls}, kernels_, "kernels",
           [&](Row op) { return is_kernel(op); });
    add_of({Source::copies, Source::calls}, copies_, "copies", [&](Row op) { return is_copy(op); });
  }

  const Trace& t_;
  const bool by_torch_;
  const std::int64_t kernels_, copies_;
  std::vector<Doubt> doubts_;
};

}  // namespace

std::vector<Doubt> doubts_of(const Trace& trace, Recorder recorder) {
  const Timed timed("read/doubts");
  return Looker(trace, recorder).all();
}

void settle(const std::vector<Doubt>& doubts, Trace& trace) {
  for (const Doubt& d : doubts) {
    if (d.count < least_rows || d.of < least_of ||
        static_cast<double>(d.count) <= d.most * static_cast<double>(d.of)) {
      continue;
    }
    const std::string why = fmt::format("{} of {} {}", d.count, d.of, d.what);
    bool told = false;
    for (const Source s : d.sources) {
      Availability& have = trace.availability(s);
      if (!have.known()) continue;
      have = {Collected::unknown, why, have.record_with};
      told = true;
    }
    if (told) trace.problems.push_back(why);
  }
}

}  // namespace gh

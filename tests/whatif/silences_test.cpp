// Silences of host threads: what is plain work, and what waits for something that no call shows.
#include "whatif/silences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analysis.hpp"
#include "read/nsys.hpp"
#include "rules/literal_trace.hpp"
#include "support/random.hpp"
#include "support/support.hpp"
#include "whatif/replay.hpp"

using namespace gh;

namespace {

constexpr Ns micro = 1'000, milli = 1'000'000;

// Streams from here on are on the second device.
constexpr std::size_t of_two = 7;

// Of one process: no call is known to wait, and no hand-over is supposed.
KnownOfSilences nothing_known() {
  KnownOfSilences known;
  known.begins.resize(1);
  known.waits = [](Row) { return false; };
  known.handed_over = [](Row) { return no_row; };
  return known;
}

// A trace of one process and two devices, to which threads and streams are added by number.
class Program {
 public:
  Program() {
    trace.devices.resize(2);
    trace.processes.push_back({1, "python3"});
  }
  Row call(std::uint16_t thread, Span when, const std::string& name) {
    while (trace.threads.size() <= thread)
      trace.threads.push_back({0, static_cast<std::int64_t>(trace.threads.size()), ""});
    trace.calls.start.push_back(when.start);
    trace.calls.end.push_back(when.end);
    trace.calls.name.push_back(trace.names.intern(name));
    trace.calls.thread.push_back(thread);
    trace.calls.correlation.push_back(++correlation_);
    return correlation_;
  }
  // Launched by a call that returns 5 us after `launched`.
  void op(std::uint32_t stream, Span when, const std::string& name, std::uint16_t thread,
          Ns launched) {
    call(thread, {launched, launched + 5 * micro}, "cudaLaunchKernel");
    while (trace.streams.size() <= stream)
      trace.streams.push_back({static_cast<std::uint16_t>(trace.streams.size() >= of_two ? 1 : 0),
                               0,
                               static_cast<std::int64_t>(trace.streams.size()),
                               {}});
    Ops& ops = trace.ops;
    ops.start.push_back(when.start);
    ops.end.push_back(when.end);
    ops.name.push_back(trace.names.intern(name));
    ops.stream.push_back(stream);
    ops.correlation.push_back(correlation_);
    ops.kind.push_back(OpKind::kernel);
    ops.copy.push_back(CopyKind::none);
    ops.bytes.push_back(0);
    ops.blocks.push_back(1024);
    ops.threads.push_back(256);
    ops.source.push_back(MemoryKind::unknown);
    ops.target.push_back(MemoryKind::unknown);
    ops.cause.push_back(MigrationCause::none);
    ops.in_graph.push_back(0);
  }

  Trace trace;

 private:
  std::uint32_t correlation_ = 0;
};

// What a real wait of a generated program is for.
enum class For { operation, operation_before, last_of_two, call };
constexpr For fors[] = {For::operation, For::operation_before, For::last_of_two, For::call};

struct Cell {
  Ns jitter = 0;  // standard deviation of each event, and of the delay of those who wait
  int repetitions = 0;
  bool loses = false;      // in one of the repetitions, an operation that is waited for
  double pace_varies = 0;  // of all threads together, from one repetition to the next
};

constexpr Ns unit = 80 * milli;
constexpr std::uint16_t first_waiting = 8;

// A program of independent threads: main launches 100 kernels on three streams, two more threads
// make 100 calls each with pauses of their own; a tenth of all pauses varies by 20 %. And threads
// that wait, one for each of `fors`.
struct Generated {
  Program program;
  KnownOfSilences known;

  Generated(std::uint64_t seed, Cell cell) : random_(seed), cell_(cell) {
    struct Pause {
      Ns ns;
      double varies;
    };
    std::vector<std::vector<Pause>> pauses(3);
    for (auto& of_thread : pauses)
      for (int i = 0; i < 100; ++i)
        of_thread.push_back({static_cast<Ns>((i % 3 > 0 ? 20 : 70) * micro +
                                             random_.below(i % 3 > 0 ? 30 : 1800) * micro),
                             random_.below(10) == 0 ? 0.2 : 0.0});
    std::vector<Ns> lengths, begins, delays;
    std::vector<double> variations;
    for (int i = 0; i < 5; ++i) {
      lengths.push_back(static_cast<Ns>(5 * milli + random_.below(15'000) * micro));
      variations.push_back(0.05 + 0.15 * unit_random());
      delays.push_back(static_cast<Ns>(20 * micro + random_.below(300) * micro));
      begins.push_back(static_cast<Ns>(1 * milli + random_.below(10'000) * micro));
    }
    const int lost =
        1 + static_cast<int>(random_.below(static_cast<std::size_t>(cell.repetitions - 2)));
    known.begins.resize(1);
    Ns kept_before = 0;
    for (int r = 0; r < cell.repetitions; ++r) {
      const Ns begin = r * unit;
      known.begins[0].push_back(begin);
      const double pace = 1 + cell_.pace_varies * (2 * unit_random() - 1);
      for (std::uint16_t thread = 0; thread < 3; ++thread) {
        Ns at = begin + 100 * micro + jittered();
        std::size_t i = 0;
        for (const Pause& pause : pauses[thread]) {
          at = std::max(
              at + 6 * micro,
              at + 6 * micro +
                  static_cast<Ns>(pace * static_cast<double>(varied(pause.ns, pause.varies))) +
                  jittered());
          if (thread == 0) {
            const auto stream = static_cast<std::uint32_t>(i % 3);
            program.op(stream, {at + 8 * micro, at + 30 * micro + std::abs(jittered())},
                       i == 0 ? "first" : "k" + std::to_string(i / 3 % 7), 0, at);
          } else {
            program.call(thread, {at, at + 5 * micro},
                         i == 0 ? "cudaFirst" : "cudaCall" + std::to_string(i % 7));
          }
          ++i;
        }
      }
      const auto length = [&](std::size_t i) { return varied(lengths[i], variations[i]); };
      const auto waits = [&](For what, Ns end, std::size_t i) {
        const auto thread = static_cast<std::uint16_t>(first_waiting + static_cast<int>(what));
        const Ns from = begin + 200 * micro + jittered();
        program.call(thread, {from - 5 * micro, from}, "cudaBefore");
        const Ns to = std::max(from, end) + delays[i] + std::abs(jittered());
        program.call(thread, {to, to + 5 * micro}, "cudaAfter");
      };
      const auto kernel = [&](std::uint32_t stream, Ns from, Ns ns, bool kept) {
        if (kept)
          program.op(stream, {from, from + ns}, fmt::format("big{}", stream), 4, from - 9 * micro);
        return from + ns;
      };
      waits(For::operation, kernel(5, begin + begins[0], length(0), !(cell.loses && r == lost)), 0);
      // Runs into the next repetition.
      const Ns late = kernel(6, begin + unit - 2 * milli, length(1), true);
      waits(For::operation_before, r > 0 ? kept_before : late - unit, 1);
      kept_before = late;
      const Ns one = kernel(7, begin + begins[2] + 2 * milli, length(2), true),
               other = kernel(8, begin + begins[2] + 2 * milli + lengths[2] - lengths[3], length(3),
                              true);
      waits(For::last_of_two, std::max(one, other), 2);
      const Ns done = begin + begins[4] + length(4);
      program.call(5, {begin + begins[4] - 5 * micro, begin + begins[4]}, "cudaLoad");
      program.call(5, {done - 5 * micro, done}, "cudaLoaded");
      waits(For::call, done, 4);
    }
    known.begins[0].push_back(cell.repetitions * unit);
    known.waits = [](Row) { return false; };
    known.handed_over = [](Row) { return no_row; };
    program.trace.seal();
  }

 private:
  double unit_random() { return static_cast<double>(random_.below(1 << 20)) / (1 << 20); }
  Ns varied(Ns ns, double by) {
    return static_cast<Ns>(static_cast<double>(ns) * (1 + by * (2 * unit_random() - 1)));
  }
  // Of twelve uniform numbers, nearly normal.
  Ns jittered() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += unit_random();
    return static_cast<Ns>(sum * static_cast<double>(cell_.jitter));
  }

  support::Random random_;
  const Cell cell_;
};

bool is_right(const Trace& t, const Silence& s, For what) {
  if (s.ends != SilenceEnd::waited) return false;
  std::size_t right = 0;
  for (const Silence::At& at : s.at) {
    if (at.cause == no_row) continue;
    const std::string& name =
        s.by_operation ? t.names[t.ops.name[at.cause]] : t.names[t.calls.name[at.cause]];
    switch (what) {
      case For::operation: right += name == "big5"; break;
      case For::operation_before: right += name == "big6"; break;
      case For::last_of_two: right += name == "big7" || name == "big8"; break;
      case For::call: right += name == "cudaLoaded"; break;
    }
  }
  return 2 * right > s.at.size();
}

struct Counted {
  std::size_t plain = 0, accepted = 0, undecided = 0;
  std::map<For, std::size_t> found;
  std::size_t programs = 0;
};

Counted count(Cell cell, std::size_t programs, std::uint64_t seed) {
  Counted c;
  for (std::size_t p = 0; p < programs; ++p) {
    const Generated made(seed + p, cell);
    ++c.programs;
    const Trace& t = made.program.trace;
    // What comes first in a repetition follows its begin.
    std::set<Row> begins;
    std::map<std::pair<std::uint16_t, Ns>, Row> first;
    for (Row r = 0; r < t.calls.size(); ++r)
      if (first.try_emplace({t.calls.thread[r], t.calls.start[r] / unit}, r).second)
        begins.insert(r);
    for (const Silence& s : find_silences(t, made.known)) {
      const std::string& name = t.names[t.calls.name[s.at.back().call]];
      if (s.thread < 3 && !begins.contains(s.at.back().call)) {
        ++c.plain;
        c.accepted += s.ends == SilenceEnd::waited;
        c.undecided += s.ends == SilenceEnd::may_wait;
      }
      if (name != "cudaAfter" || s.within_call) continue;
      const For what = fors[s.thread - first_waiting];
      c.found[what] += is_right(t, s, what);
    }
  }
  return c;
}

}  // namespace

TEST_CASE("silences: plain work is not taken for a wait, and waits that vary are found") {
  constexpr std::size_t programs = 40;
  for (const Ns jitter : {1 * micro, 5 * micro, 50 * micro})
    for (const int repetitions : {5, 8, 16})
      for (const bool loses : {false, true})
        for (const double pace_varies : {0.0, 0.05}) {
          const Counted c = count({jitter, repetitions, loses, pace_varies}, programs, 1000);
          std::string found;
          std::size_t all = 0;
          for (const auto& [what, right] : c.found) {
            found += fmt::format(" {}", right);
            all += right;
          }
          INFO(fmt::format(
              "{} ns, {} repetitions, loses {}, pace {}: {} of {} accepted, found of {}:{}", jitter,
              repetitions, loses, pace_varies, c.accepted, c.plain, programs, found));
          REQUIRE(c.plain > 3000);
          CHECK(50 * c.accepted <= c.plain);
          // Of five repetitions, none may contradict.
          const std::size_t kinds = loses && repetitions < 8 ? 3 : 4;
          CHECK(10 * all >= 9 * kinds * programs);
          // Jitter of 50 us hides what varies by 250 us in five repetitions.
          for (const auto& [what, right] : c.found)
            if (kinds == 4 || what != For::operation)
              CHECK(right * 100 >= programs * (jitter < 50 * micro || repetitions > 5 ? 90 : 85));
        }
}

TEST_CASE("silences: two threads that wait for the same do not wait for each other") {
  Program p;
  KnownOfSilences known = nothing_known();
  support::Random random(1);
  for (int r = 0; r < 8; ++r) {
    const Ns begin = r * unit,
             done = begin + 10 * milli + static_cast<Ns>(random.below(3000)) * micro;
    known.begins[0].push_back(begin);
    p.op(0, {begin + 30 * micro, done}, "product", 0, begin + 20 * micro);
    for (const std::uint16_t thread : {1, 2}) {
      const Ns wakes = done + thread * 40 * micro + static_cast<Ns>(random.below(6)) * micro;
      p.call(thread, {begin + 100 * micro, begin + 105 * micro}, "cudaBefore");
      p.call(thread, {wakes, wakes + 5 * micro}, "cudaAfter");
    }
  }
  known.begins[0].push_back(8 * unit);
  p.trace.seal();
  std::size_t waits = 0;
  for (const Silence& s : find_silences(p.trace, known)) {
    if (p.trace.names[p.trace.calls.name[s.at.front().call]] != "cudaAfter") continue;
    ++waits;
    CHECK(s.ends == SilenceEnd::waited);
    CHECK(s.by_operation);
    CHECK(s.what_for == "product");
    CHECK(s.after_ns == doctest::Approx(s.thread * 40 * micro).epsilon(0.1));
  }
  CHECK(waits == 2);
}

TEST_CASE("silences: work of its usual length follows no thread that is said to hand over") {
  for (const bool works : {true, false}) {
    CAPTURE(works);
    Program p;
    KnownOfSilences known;
    known.begins.resize(1);
    support::Random random(1);
    for (int r = 0; r < 8; ++r) {
      const Ns begin = r * unit,
               last = begin + 4 * milli + static_cast<Ns>(random.below(900)) * micro,
               resumes = works ? begin + 5 * milli : last + 300 * micro;
      known.begins[0].push_back(begin);
      for (int i = 0; i < 4; ++i)
        p.call(0, {last - 5 * micro - i * milli, last - i * milli}, "cudaLaunchKernel");
      p.call(1, {begin + 95 * micro, begin + 100 * micro}, "cudaBefore");
      p.call(1, {resumes, resumes + 5 * micro}, "cudaAfter");
    }
    known.begins[0].push_back(8 * unit);
    p.trace.seal();
    const Calls& calls = p.trace.calls;
    known.waits = [](Row) { return false; };
    known.handed_over = [&](Row call) {
      if (p.trace.names[calls.name[call]] != "cudaAfter") return no_row;
      while (calls.thread[call] != 0) --call;
      return call;
    };
    std::size_t judged = 0;
    for (const Silence& s : find_silences(p.trace, known)) {
      if (p.trace.names[calls.name[s.at.front().call]] != "cudaAfter") continue;
      ++judged;
      CHECK(s.is_no_handover == works);
      CHECK(s.ends == (works ? SilenceEnd::own_work : SilenceEnd::waited));
    }
    CHECK(judged == 1);
  }
}

TEST_CASE("silences: work that ends a repetition does not wait for what others launched before") {
  Program p;
  KnownOfSilences known = nothing_known();
  support::Random random(1);
  // Main makes batches of 50 to 60 ms, while another thread launches a kernel every 200 us.
  Ns at = 0;
  for (int r = 0; r <= 16; ++r) {
    known.begins[0].push_back(at - 10 * micro);
    p.op(0, {at + 30 * micro, at + 5 * milli}, "product", 0, at);
    at += 50 * milli + static_cast<Ns>(random.below(10'000)) * micro;
  }
  for (Ns beat = 0; beat < at; beat += 190 * micro + static_cast<Ns>(random.below(20)) * micro)
    p.op(1, {beat + 10 * micro, beat + 12 * micro}, "beat", 1, beat);
  p.trace.seal();
  std::size_t judged = 0;
  for (const Silence& s : find_silences(p.trace, known)) {
    judged += s.thread == 0;
    CHECK(s.ends != SilenceEnd::waited);
  }
  CHECK(judged == 1);
}

TEST_CASE("silences: a report with a thread for each call takes no longer than others") {
  Program p;
  KnownOfSilences known;
  known.begins = {{}};
  known.waits = [](Row) { return false; };
  known.handed_over = [](Row) { return no_row; };
  for (int r = 0; r <= 8; ++r) known.begins[0].push_back(r * unit);
  for (int c = 0; c < 40'000; ++c)
    p.call(static_cast<std::uint16_t>(c), {c * 16 * micro, c * 16 * micro + 5 * micro},
           "cudaMalloc");
  p.trace.seal();
  for (const Silence& s : find_silences(p.trace, known)) CHECK(s.ends != SilenceEnd::waited);
}

namespace {

// Steps in which main launches a product, reads a flag until it is done and then launches the next
// kernel; its call in between does not wait. The product of step i takes `lengths[i]` microseconds.
std::string spinning(const std::vector<int>& lengths) {
  std::string ranges, ops;
  int at = 0, step = 0;
  for (const int length : lengths) {
    const int done = at + 20 + length, next = done + 30 + step % 3;
    ranges += fmt::format("{{ {}, {}, 'step {}' }},", at, next + 1999, step++);
    ops += fmt::format(
        "{{ {}, {}, kernel = 'product', launched = {{ {}, {} }} }},"
        "{{ {}, {}, kernel = 'small', launched = {{ {}, {} }} }},",
        at + 20, done, at + 10, at + 15, next + 10, next + 60, next, next + 5);
    at = next + 2000;
  }
  return fmt::format("return {{ ranges = {{ {} }}, ops = {{ {} }} }}", ranges, ops);
}

struct Spinning {
  Analysis analysis;
  Replay replay;
  explicit Spinning(const std::string& literal)
      : analysis(trace_from_text(literal), Classes(), {}), replay(analysis) {}
  Changes faster() const {
    change::Scale c{{}, {0.1, 0.1, 0.1}};
    for (Row op = 0; op < analysis.trace.ops.size(); ++op)
      if (analysis.trace.names[analysis.trace.ops.name[op]] == "product") c.ops.push_back(op);
    return {c};
  }
};

const std::vector<int> vary{5000, 5900, 5300, 5700, 5100, 5500, 5800, 5200, 5600, 5400};

}  // namespace

TEST_CASE("silences: without what a silent thread waits for, the step is shorter") {
  const Spinning r(spinning(vary));
  REQUIRE(r.replay.reason() == "");
  CHECK(r.replay.profiled_step_ns({}) == r.replay.recorded_ns());
  CHECK(r.replay.recorded_ns() == doctest::Approx(7'500'000).epsilon(0.02));
  CHECK(r.replay.profiled_step_ns(r.faster()) == doctest::Approx(2'600'000).epsilon(0.03));
  CHECK(r.replay.step_ns(r.faster()) < 2'700'000);
  const std::vector<SilentWait> waits = r.replay.silences();
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].is_certain);
  CHECK(waits[0].what_for == "product");
  CHECK(waits[0].mean_ns == doctest::Approx(5'500'000).epsilon(0.05));
}

TEST_CASE("silences: where nothing tells work from waiting, both are replayed for the range") {
  const Spinning same(spinning(std::vector<int>(10, 5500)));
  REQUIRE(same.replay.reason() == "");
  CHECK(same.replay.profiled_step_ns({}) == same.replay.recorded_ns());
  // As recorded, main works meanwhile.
  CHECK(same.replay.step_ns(same.faster()) > 7'000'000);
  CHECK(same.replay.step_ns(same.faster(), Guess::most) > 7'000'000);
  CHECK(same.replay.step_ns(same.faster(), Guess::least) < 2'700'000);
  CHECK(same.replay.step_ns({}, Guess::least) > 7'000'000);
  const std::vector<SilentWait> waits = same.replay.silences();
  REQUIRE(waits.size() == 1);
  CHECK(!waits[0].is_certain);
}

TEST_CASE("silences: a thread in no call is woken by the one that waited for the GPU") {
  // The prefetcher uploads the next batch once the main thread has read the loss, and main takes
  // the batch once the prefetcher's wait for its upload is over.
  const Analysis a(read_nsys(support::fixture("wait-prefetcher-thread")), Classes(), {});
  const Replay replay(a);
  REQUIRE(replay.reason().empty());
  std::size_t found = 0;
  for (const SilentWait& s : replay.silences()) {
    CHECK(s.is_certain);
    CHECK(s.what_for.find("d2h") == std::string::npos);
    found += s.what_for.starts_with("cudaStreamSynchronize of python3");
  }
  CHECK(found == 2);
}

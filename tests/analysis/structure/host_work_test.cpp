// What a host thread did in a span of time, by its innermost name.
#include "analysis/structure/host_work.hpp"

#include <fmt/format.h>

#include <string>

#include "analysis/analysis.hpp"
#include "analysis/structure/structure.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"

using namespace gh;

namespace {

// For the main thread, in microseconds: "read within 'load the table'", "" if nothing shows it.
std::string doing(const std::string& trace, Ns from, Ns to, Ns step = 1'000'000,
                  bool thread_known = true) {
  const Analysis a(
      trace_from_text("return { ops = { { 0, 1, kernel = 'a', launched = { -5, -2 } } }, " + trace +
                      " }"),
      Classes(), {});
  const HostWork work(a.trace, a.names, a.structure().ranges(), a.structure().operators(), step);
  const HostWork::Doing found =
      work.during(thread_known ? a.trace.calls.thread[0] : no_index, 0, {1000 * from, 1000 * to});
  const auto& names = a.trace.names;
  return std::string(names[found.name]) +
         (found.within == 0 ? "" : " within " + std::string(names[found.within]));
}

// What the profiler recorded about a thread, the main one by default.
struct Watched {
  Watched(const std::string& trace, Ns from, Ns to)
      : a(trace_from_text("return { ops = { { 0, 1, kernel = 'a', launched = { -5, -2 } } }, " +
                          trace + " }"),
          Classes(), {}),
        seen(
            HostWork(a.trace, a.names, a.structure().ranges(), a.structure().operators(), 1'000'000)
                .seen({{a.trace.calls.thread[0], {1000 * from, 1000 * to}}})) {}
  std::string name(NameId id) const { return std::string(a.trace.names[id]); }
  std::string thread(std::uint16_t t) const { return t == no_index ? "" : a.trace.threads[t].name; }
  const Analysis a;
  const HostWork::Seen seen;
};

}  // namespace

TEST_CASE("host work: the innermost range that takes at least half names a span") {
  const std::string ranges = "ranges = { { 0, 900, 'epoch' }, { 100, 500, 'metrics' } }";
  CHECK(doing(ranges, 100, 400) == "metrics");
  CHECK(doing(ranges, 400, 800) == "epoch");
  CHECK(doing(ranges, 950, 990) == "");
}

TEST_CASE("host work: what another thread waits for is not what this one does") {
  const std::string other =
      "ranges = {{ {{ 0, 50, 'backward', thread = 'autograd' }} }}, os_calls = {{ {{ 60, 900, "
      "'{}', "
      "thread = 'autograd' }} }}";
  CHECK(doing(fmt::format(fmt::runtime(other), "pthread_cond_wait"), 100, 400) == "");
  CHECK(doing(fmt::format(fmt::runtime(other), "nanosleep"), 100, 400) == "");
  CHECK(doing(fmt::format(fmt::runtime(other), "fsync"), 100, 400) == "fsync");
}

TEST_CASE("host work: a range as long as a step in which work was launched says nothing") {
  const std::string range = "ranges = { { -10, 990, 'step 1' } }";
  CHECK(doing(range, 100, 400) == "");
  CHECK(doing(range, 100, 400, 2'000'000) == "step 1");
  // In a range without a launch, nothing else was done.
  CHECK(doing("ranges = { { 10, 990, 'simulate' } }", 100, 400) == "simulate");
}

TEST_CASE("host work: a call takes precedence, with the program's range around it") {
  const std::string around = "ranges = { { 50, 500, 'load the table' } }, ";
  CHECK(doing(around + "os_calls = { { 90, 420, 'read' } }", 100, 400) ==
        "read within load the table");
  CHECK(doing(around + "calls = { { 90, 420, 'cuModuleLoadData' } }", 100, 400) ==
        "cuModuleLoadData within load the table");
  // Many short calls of one name count together; others do not.
  std::string polls;
  for (int t = 100; t < 400; t += 10)
    polls += "{ " + std::to_string(t) + ", " + std::to_string(t + 8) + ", 'poll' }, ";
  CHECK(doing("os_calls = { " + polls + " }", 100, 400) == "poll");
  CHECK(doing("os_calls = { { 100, 180, 'poll' } }", 100, 400) == "");
}

TEST_CASE("host work: an operator is named with the program's range around it") {
  CHECK(doing("ranges = { { 50, 500, 'collate' }, { 90, 420, 'aten::stack' } }", 100, 400) ==
        "aten::stack within collate");
}

TEST_CASE("host work: if its thread did nothing with a name, another thread's work counts") {
  CHECK(doing("ranges = { { 50, 500, 'backward', thread = 'autograd' } }", 100, 400) == "backward");
  CHECK(doing("ranges = { { 50, 500, 'backward', thread = 'autograd', rank = 1 } }", 100, 400) ==
        "");
}

TEST_CASE(
    "host work: if it is unknown which thread launches next, any thread of the process counts") {
  const std::string ranges = "ranges = { { 0, 900, 'epoch' }, { 100, 500, 'metrics' } }";
  CHECK(doing(ranges, 100, 400, 1'000'000, false) == "metrics");
}

TEST_CASE("host work: without a range, the function with the most samples names a span") {
  const std::string samples =
      "host_samples = { { 110, 'sort (libfoo.so)' }, { 120, 'sort (libfoo.so)' }, { 130, 'add "
      "(libfoo.so)' }, { 600, 'other (libfoo.so)' } }";
  CHECK(doing(samples, 100, 400) == "sort (libfoo.so)");
  CHECK(doing(samples + ", ranges = { { 50, 500, 'metrics' } }", 100, 400) == "metrics");
  CHECK(doing(samples, 140, 400) == "");
}

TEST_CASE("host work: waiting for Python's lock takes precedence over the call in which it waits") {
  const std::string lock =
      "python_lock = { { 100, 380, thread = 'main' }, { 0, 380, thread = 'other', holds = true } }";
  CHECK(doing(lock + ", os_calls = { { 100, 380, 'pthread_cond_timedwait' } }", 100, 400) ==
        "Waiting for GIL");
  const Watched w(lock, 100, 400);
  CHECK(w.seen.lock_ns == 280'000);
  CHECK(w.thread(w.seen.holder) == "other");
  const Watched several(
      "python_lock = { { 100, 380 }, { 0, 160, thread = 'a', holds = true }, { 160, 380, thread = "
      "'b', holds = true }, { 0, 400, thread = 'of another process', rank = 1, holds = true } }",
      100, 400);
  CHECK(several.thread(several.seen.holder) == "b");
  // Holding it is not a wait.
  CHECK(doing("python_lock = { { 100, 380, holds = true } }", 100, 400) == "");
}

TEST_CASE("host work: Python stacks take precedence over native ones") {
  const Watched w(
      "host_samples = { { 110, 'tokenize (train.py)', module = 'train.py', line = 'train.py(40): "
      "tokenize', python = true }, { 115, 'tokenize (train.py)', module = 'train.py', line = "
      "'train.py(41): tokenize', python = true }, { 118, 'tokenize (train.py)', module = "
      "'train.py', line = 'train.py(41): tokenize', python = true }, { 120, 'f (libfoo.so)', "
      "module = 'libfoo.so' }, { 121, 'f (libfoo.so)', module "
      "= 'libfoo.so' }, { 122, 'f (libfoo.so)' }, { 123, 'f (libfoo.so)' } }",
      100, 400);
  CHECK(w.seen.samples == 3);
  CHECK(w.name(w.seen.function) == "tokenize (train.py)");
  CHECK(w.seen.in_function == 3);
  CHECK(w.name(w.seen.line) == "train.py(41): tokenize");
  // Not all Python code is in files: "<string>", "<frozen importlib._bootstrap>".
  const Watched frozen(
      "host_samples = { { 110, '_find_spec (<frozen importlib._bootstrap>)', module = '<frozen "
      "importlib._bootstrap>', python = true }, { 120, 'f (libfoo.so)', module = 'libfoo.so' }, { "
      "121, 'f (libfoo.so)', module = 'libfoo.so' } }",
      100, 400);
  CHECK(frozen.seen.samples == 1);
  CHECK(frozen.name(frozen.seen.module) == "<frozen importlib._bootstrap>");
}

TEST_CASE("host work: a thread off the CPU waits if it is in a call, otherwise it is held off") {
  const std::string on =
      "cpu_stretches = { { 0, 150, cpu = 1 }, { 350, 900, cpu = 1 }, { 150, 340, cpu = 1, thread = "
      "'other' } }";
  const Watched held(on, 100, 400);
  CHECK(held.seen.scheduled_ns == 300'000);
  CHECK(held.seen.held_off_ns == 200'000);
  CHECK(held.seen.taken_ns == 190'000);
  CHECK(held.seen.waited_ns == 0);
  const Watched waits(on + ", os_calls = { { 140, 352, 'pthread_cond_wait' } }", 100, 400);
  CHECK(waits.seen.held_off_ns == 0);
  CHECK(waits.seen.waited_ns == 200'000);
  CHECK(waits.thread(waits.seen.waker) == "other");
  // Unknown before a thread's first context switch and after its last.
  CHECK(Watched("cpu_stretches = { { 200, 300 } }", 100, 400).seen.scheduled_ns == 100'000);
  CHECK(Watched("", 100, 400).seen.scheduled_ns == 0);
}

TEST_CASE("host work: the waker is unknown if two threads were at work") {
  const std::string on =
      "cpu_stretches = { { 0, 150, cpu = 1 }, { 350, 900, cpu = 1 }, { 150, 340, cpu = 2, thread = "
      "'a' }, { 150, 340, cpu = 3, thread = 'b' } }, os_calls = { { 140, 352, 'sem_wait' } }";
  CHECK(Watched(on, 100, 400).seen.waker == no_index);
  CHECK(Watched(on, 100, 400).seen.taken_ns == 0);
}

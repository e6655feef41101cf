// What a host thread did in a stretch of time, by its innermost name.
#include "analysis/host_work.hpp"

#include <string>

#include "analysis/analysis.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"

using namespace gh;

namespace {

// Of the main thread, in microseconds: "read within 'load the table'", "" where nothing tells.
std::string doing(const std::string& trace, Ns from, Ns to, Ns step = 1'000'000,
                  bool thread_known = true) {
  const Analysis a(
      trace_from_text("return { ops = { { 0, 1, kernel = 'a', launched = { -5, -2 } } }, " + trace +
                      " }"),
      Classes(), {});
  const HostWork work(a.trace, a.names, step);
  const HostWork::Doing found =
      work.during(thread_known ? a.trace.calls.thread[0] : no_index, 0, {1000 * from, 1000 * to});
  const auto& names = a.trace.names;
  return std::string(names[found.name]) +
         (found.within == 0 ? "" : " within " + std::string(names[found.within]));
}

}  // namespace

TEST_CASE("host work: the innermost range that takes at least half names a stretch") {
  const std::string ranges = "ranges = { { 0, 900, 'epoch' }, { 100, 500, 'metrics' } }";
  CHECK(doing(ranges, 100, 400) == "metrics");
  CHECK(doing(ranges, 400, 800) == "epoch");
  CHECK(doing(ranges, 950, 990) == "");
}

TEST_CASE("host work: a range as long as a step in which work was launched says nothing") {
  const std::string range = "ranges = { { -10, 990, 'step 1' } }";
  CHECK(doing(range, 100, 400) == "");
  CHECK(doing(range, 100, 400, 2'000'000) == "step 1");
  // In one without a launch nothing else was done.
  CHECK(doing("ranges = { { 10, 990, 'simulate' } }", 100, 400) == "simulate");
}

TEST_CASE("host work: a call that it was in comes first, with the program's range around it") {
  const std::string around = "ranges = { { 50, 500, 'load the table' } }, ";
  CHECK(doing(around + "os_calls = { { 90, 420, 'read' } }", 100, 400) ==
        "read within load the table");
  CHECK(doing(around + "calls = { { 90, 420, 'cuModuleLoadData' } }", 100, 400) ==
        "cuModuleLoadData within load the table");
  // Many short ones of a name count together; others do not.
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

TEST_CASE("host work: where its thread did nothing that has a name, another's tells") {
  CHECK(doing("ranges = { { 50, 500, 'backward', thread = 'autograd' } }", 100, 400) == "backward");
  CHECK(doing("ranges = { { 50, 500, 'backward', thread = 'autograd', rank = 1 } }", 100, 400) ==
        "");
}

TEST_CASE("host work: where nobody knows which thread launches next, any of the process tells") {
  const std::string ranges = "ranges = { { 0, 900, 'epoch' }, { 100, 500, 'metrics' } }";
  CHECK(doing(ranges, 100, 400, 1'000'000, false) == "metrics");
}

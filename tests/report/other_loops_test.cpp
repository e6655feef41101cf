// The other loops of a program: each has a line, with the worst that was found there.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "report/phrases.hpp"
#include "rules/binding/rows_in_steps.hpp"
#include "rules/judged_loops.hpp"
#include "support/program.hpp"
#include "support/traces.hpp"

using namespace support;

namespace {

// Ten steps of a busy GPU, then a loop of twenty repetitions.
gh::Analysis two_loops(const std::string& in_loop) {
  return analysed(R"(
    local ops, calls = {}, {}
    for i = 0, 10 do
      local at = 1000 * i
      ops[#ops + 1] = { at + 10, at + 980, kernel = 'work', launched = { at, at + 5 } }
      calls[#calls + 1] = { at + 985, at + 990, 'cudaDeviceSynchronize' }
    end
    for i = 0, 19 do
      local at = 12000 + 500 * i
)" + in_loop + R"(
    end
    return { ops = ops, calls = calls })");
}

const std::string launches = R"(
      for k = 0, 9 do
        local from = at + 45 * k
        ops[#ops + 1] = { from + 20, from + 30, kernel = 'small' .. k,
                          launched = { from, from + 15 } }
      end)";
const std::string works = R"(
      ops[#ops + 1] = { at + 5, at + 250, kernel = 'score', launched = { at - 400, at - 395 } }
      ops[#ops + 1] = { at + 250, at + 498, kernel = 'rank', launched = { at - 390, at - 385 } })";

// Twelve steps of two kernels, with marks or without, while another thread or process repeats four
// kernels forty times.
gh::Analysis beside_steps(const std::string& other, bool marked = false) {
  return analysed("local other, marked = { " + other + " }, " + (marked ? "true" : "false") + R"(
    local ops, ranges = {}, {}
    for i = 0, 11 do
      local at = 1000 * i
      if marked then ranges[#ranges + 1] = { at, at + 990, 'step ' .. i } end
      ops[#ops + 1] = { at + 10, at + 600, kernel = 'work', launched = { at, at + 5 } }
      ops[#ops + 1] = { at + 600, at + 980, kernel = 'rest', launched = { at + 5, at + 8 } }
    end
    for i = 0, 39 do
      for k = 0, 3 do
        local from = 290 * i + 60 * k
        local op = { from + 20, from + 55, kernel = 'small' .. k, launched = { from, from + 15 } }
        for name, value in pairs(other) do op[name] = value end
        ops[#ops + 1] = op
      end
    end
    return { ops = ops, ranges = ranges })");
}

}  // namespace

TEST_CASE("other loops: each has its length, how busy the GPU is, and the worst found there") {
  const gh::Analysis a = two_loops(launches);
  gh::Report report;
  report.loops = gh::judged_loops(gh::own_rules(), a, {}, {}, {});
  REQUIRE(report.loops.size() == 1);
  const gh::JudgedLoop& loop = report.loops.front();
  CHECK(loop.name == "later iteration");
  CHECK(loop.place == gh::LoopPlace::after);
  CHECK(loop.steps >= 18);
  CHECK(loop.step_ns <= 500'000);
  CHECK(loop.busy_fraction < 0.5);
  REQUIRE(loop.finding.has_value());
  CHECK(loop.finding->severity != gh::Severity::note);
  const std::vector<std::string> texts = gh::loop_texts(a, report);
  REQUIRE(texts.size() == 1);
  CAPTURE(texts.front());
  CHECK(contains(texts.front(), "later iterations (19 judged, "));
  CHECK(contains(texts.front(), "each): " + loop.finding->title + " (saves "));
  CHECK(contains(texts.front(), "--unit 'later iteration' judges them."));
}

TEST_CASE("other loops: one that shares the GPU with the steps is judged beside them") {
  const gh::Analysis a = beside_steps("rank = 1, gpu = 0");
  REQUIRE(a.devices.size() == 1);
  const std::string shares = gh::different_units_text(a);
  CAPTURE(shares);
  CHECK(contains(shares, "Loops run on a GPU at the same time: 11 iterations ("));
  CHECK(contains(shares, " other iterations ("));
  gh::Report report;
  report.loops = gh::judged_loops(gh::own_rules(), a, {}, {}, {});
  REQUIRE(report.loops.size() == 1);
  const gh::JudgedLoop& loop = report.loops.front();
  CHECK(loop.name == "other iteration");
  CHECK(loop.place == gh::LoopPlace::beside);
  CHECK(loop.steps >= 38);
  CHECK(loop.step_ns < 300'000);
  const std::vector<std::string> texts = gh::loop_texts(a, report);
  CAPTURE(texts.front());
  CHECK(texts.front().starts_with("In the other iterations ("));
}

TEST_CASE("other loops: marks of one thread are not those of another, nor are its launches") {
  const gh::Analysis a = beside_steps("thread = 'server', stream = 9", true);
  REQUIRE(a.devices.size() == 1);
  CHECK(a.devices[0].source == gh::StepSource::ranges);
  CHECK(contains(gh::different_units_text(a), " iterations ("));
  const gh::RowsInSteps rows(a);
  CHECK(rows.ops.size() == 2 * a.devices[0].steps.size());
  CHECK(rows.calls.size() <= 2 * 12);
}

TEST_CASE("other loops: where nothing is wrong, the line says so") {
  const gh::Analysis a = two_loops(works);
  gh::Report report;
  report.loops = gh::judged_loops(gh::own_rules(), a, {}, {}, {});
  REQUIRE(report.loops.size() == 1);
  CHECK(report.loops.front().busy_fraction > 0.9);
  CHECK_FALSE(report.loops.front().finding.has_value());
  CHECK(contains(gh::loop_texts(a, report).front(), "no large problem was found; "));
}

TEST_CASE("other loops: a unit that was measured under another name is not taken for one") {
  gh::Trace trace = two_loops(launches).trace;
  trace.measured_step.ns = trace.measured_step.recorded_ns = 1'000'000;
  trace.measured_step.unit = "request";
  const gh::Analysis a(std::move(trace), gh::Classes(), {});
  CHECK(a.unit() == "request");
  const auto loops = gh::judged_loops(gh::own_rules(), a, {}, {}, {});
  REQUIRE(loops.size() == 1);
  CHECK(loops.front().name == "later iteration");
  CHECK(loops.front().step_ns <= 500'000);
}

TEST_CASE("other loops: whoever chooses what to judge gets only that") {
  const gh::Analysis a = two_loops(launches);
  gh::Selection selection;
  selection.unit = "iteration";
  CHECK(gh::judged_loops(gh::own_rules(), a, selection, {}, {}).empty());
}

TEST_CASE("other loops: a recorded one stands on the first screen, on the page and in JSON") {
  const Ran text = advise("unit-train-then-generate.sqlite");
  CAPTURE(text.out);
  CHECK(contains(text.out, "In the batches after the last step (39 judged, "));
  CHECK(contains(on_one_line(text.out),
                 "But there is one in the batches after the last step: --unit batch judges them."));
  CHECK(contains(on_one_line(text.out), "--unit batch judges them."));
  CHECK(contains(advise("unit-train-then-generate.sqlite --format html").out,
                 "In the batches after the last step (39 judged, "));
  const auto loop =
      report_of(advise("unit-train-then-generate.sqlite --format json"))["segments"].back()["loop"];
  CHECK(loop["unit"] == "batch");
  CHECK(loop["finding"]["rule"] == "launch-bound");
  // The same as --unit says.
  const auto alone =
      report_of(advise("unit-train-then-generate.sqlite --format json --unit batch"));
  CHECK(alone["steps"]["ns"] == loop["step_ns"]);
  CHECK(alone["findings"][0]["rule"] == loop["finding"]["rule"]);
  CHECK(alone["findings"][0]["fingerprint"].is_string());
}

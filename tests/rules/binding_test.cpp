// What a rule can ask of a trace: verbs on tiny traces whose answers one can count on one's
// fingers.
#include <doctest/doctest.h>

#include <string>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "rules/literal_trace.hpp"
#include "rules/rules.hpp"

using namespace gh;

namespace {

// The answer to a question, the body of a Lua function that gets `trace`, as text.
std::string answer(const std::string& trace, const std::string& question) {
  const Rule rule = load_rule(
      "return { id = 'asks', category = 'tests', title = 'Asks', since = '0.1', messages = { m = "
      "'m' }, doc = { what = 'a', why = 'b', fix = 'c', wrong = 'd' },\n"
      "evaluate = function(trace) local function ask() " +
          question + " end error('<' .. tostring(ask()) .. '>') end }",
      "asks.lua");
  const Analysis analysis(trace_from_text("return " + trace), Classes(), {});
  const Facts facts(analysis);
  const Report report = evaluate({rule}, analysis, facts, {});
  REQUIRE(report.failed.size() == 1);
  const std::string& error = report.failed[0].error;
  const std::size_t open = error.find('<'), close = error.rfind('>');
  REQUIRE_MESSAGE(open != error.npos, error);
  return error.substr(open + 1, close - open - 1);
}

// Five steps of 1 ms; `ops` in each.
std::string five_steps(const std::string& ops, const std::string& more = "") {
  return "{ repeats = { times = 6, every = 1000 }, ranges = { { 0, 990, 'step {n}' }" + more +
         " }, ops = { " + ops + " } }";
}

}  // namespace

TEST_CASE("binding: runs are uninterrupted, on one stream, and long enough") {
  const std::string trace =
      "{ ops = { { 0, 10, kernel = 'p' }, { 10, 20, kernel = 'p' }, { 20, 30, kernel = 'x' }, { "
      "30, 40, kernel = 'p' }, { 40, 50, kernel = 'p' }, { 45, 55, kernel = 'x', stream = 8 },"
      " { 50, 60, kernel = 'p' } } }";
  const std::string of = "local runs, inner = trace:runs { of = trace:ops { name = 'p' }, least = ";
  CHECK(answer(trace, of + "3 } return runs:count() .. ' ' .. inner:count() .. ' ' .. runs:sum "
                           "'duration_ns'") == "1 3 30000");
  CHECK(answer(trace, of + "2 } return runs:count() .. ' ' .. inner:count()") == "2 5");
  CHECK(answer(trace, of + "4 } return runs:count()") == "0");
  CHECK(answer(trace, "return pcall(trace.runs, trace, {})").starts_with("false"));
}

TEST_CASE("binding: trace:steps gives the steps, and none where the window stands in for them") {
  CHECK(answer(five_steps("{ 10, 900, kernel = 'k' }"),
               "local s = trace:steps() return s:count() .. ' ' .. s:top(1, 'number')[1].number "
               ".. ' ' .. s:median 'duration_ns'") == "5 6 1000000");
  CHECK(answer("{ ops = { { 10, 900, kernel = 'k' } } }", "return trace:steps():count()") == "0");
  // What happened in the longest.
  CHECK(answer(five_steps("{ 10, 900, kernel = 'k' }"),
               "return trace:ops { inside = trace:steps() }:count()") == "5");
}

TEST_CASE("binding: products are told by the shapes around their launch") {
  const auto trace = [](const std::string& range) {
    return five_steps(
        "{ 10, 400, kernel = 'nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT', launched = { 2, 4 "
        "} }, { 400, 900, kernel = 'nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNN', launched = { 20, 22 "
        "} }",
        range);
  };
  const std::string list =
      "local s = '' for _, p in ipairs(trace:ops():products()) do s = s .. p.m .. 'x' .. p.n .. "
      "'x' .. p.k .. ' ' .. tostring(p.aligned) .. ' ' .. tostring(p.odd) .. ' ' .. p.count .. ' "
      "' .. p.rows:count() .. ';' end return s";
  CHECK(answer(trace(", { 1, 10, 'aten::mm, sizes = [[64, 32], [32, 16]]' }, { 12, 30, "
                     "'aten::mm, sizes = [[64, 32], [32, 17]]' }"),
               list) == "64x17x32 false 17 5 5;64x16x32 true nil 5 5;");
  CHECK(answer(trace(", { 1, 10, 'aten::mm, sizes = [[63, 32], [32, 16]]' }, { 10, 15, "
                     "'aten::mm, sizes = [[8, 8], [8, 8]]' }"),
               list) == "63x16x32 nil nil 5 5;");
  CHECK(answer(trace(", { 1, 10, 'aten::mm, sizes = [[64, 32], [32, 16]]', thread = 'other' }"),
               list) == "");
  CHECK(answer(trace(", { 1, 10, 'forward' }"), list) == "");
  CHECK(answer(trace(""), "return pcall(trace:calls().products, trace:calls())")
            .starts_with("false"));
}

TEST_CASE("binding: phases are told by ranges") {
  const std::string trace = five_steps(
      "{ 10, 900, kernel = 'k' }",
      ", { 5, 100, 'Optimizer.step#AdamW.step' }, { 200, 300, 'save_checkpoint' }, { 300, 400, "
      "'validation' }, { 400, 500, 'gc.collect' }, { 500, 600, 'dataloader' }");
  for (const char* phase :
       {"optimizer", "checkpoint", "evaluation", "garbage_collection", "loader"}) {
    CAPTURE(phase);
    CHECK(answer(trace, "return trace:ranges { phase = '" + std::string(phase) +
                            "' }:where { name = '*' }:count()") == "5");
  }
  CHECK(answer(trace, "return trace:ranges { phase = { 'optimizer', 'loader' } }:count()") == "10");
  CHECK(answer(trace, "return select(2, pcall(trace.ranges, trace, { phase = 'optimiser' }))")
            .find("did you mean 'optimizer'") != std::string::npos);
}

TEST_CASE(
    "binding: operations belong to the range in which they were launched, wherever they ran") {
  const std::string trace =
      "{ ranges = { { 0, 50, 'a' } }, ops = { { 100, 200, kernel = 'x', launched = { 10, 15 } }, "
      "{ 200, 300, kernel = 'y', launched = { 60, 65 } },"
      " { 300, 400, kernel = 'z', launched = { 20, 25 }, thread = 'backward' }, { 400, 500, "
      "kernel = 'r', launched = { 30, 35 }, rank = 1 } } }";
  CHECK(
      answer(trace,
             "return trace:ops { launched_in = trace:ranges { name = 'a' } }:sum 'duration_ns'") ==
      "200000");  // x and z
}

TEST_CASE("binding: an operation's own time is without its waits for unified memory") {
  const std::string trace =
      "{ ops = { { 0, 100, kernel = 'k' }, { 20, 40, copy = 'um_h2d', bytes = 4096, cause = "
      "'fault', address = 4096 } }, gpu_faults = { { 10, 30 }, { 200, 300 } } }";
  CHECK(answer(trace, "return trace:ops { kind = 'kernel' }:own_ns()") ==
        "70000");  // faults and migrations overlap, and count once
}

TEST_CASE("binding: the exposed part of an operation is where nothing else ran") {
  const std::string trace =
      "{ ops = { { 0, 100, kernel = 'k' }, { 50, 150, copy = 'h2d', bytes = 1, stream = 8 }, { "
      "200, 300, copy = 'h2d', bytes = 2, stream = 8 } } }";
  const std::string copies =
      "local c, k = trace:ops { kind = 'copy' }, trace:ops { kind = 'kernel' } return "
      "c:exposed(k, ";
  CHECK(answer(trace, copies + "0.5):count()") == "2");
  CHECK(answer(trace, copies + "0.6):sum 'bytes'") == "2");
  CHECK(answer(trace, copies + "0):count()") == "2");
}

TEST_CASE("binding: the host ran dry from where it let the GPU idle until it got ahead again") {
  // Waits until 110, launches late twice; then two launches in time, of which the second waits
  // for the first.
  const std::string trace =
      "{ ops = { { 0, 100, kernel = 'a', launched = { -10, -5 } }, { 150, 160, kernel = 'b', "
      "launched = { 140, 145 } }, { 200, 210, kernel = 'c', launched = { 190, 195 } },"
      " { 215, 300, kernel = 'd', launched = { 196, 198 } }, { 350, 400, kernel = 'e', launched "
      "= { 340, 345 } } }, calls = { { 20, 110, 'cudaStreamSynchronize' } } }";
  const std::string idle = "local i = trace:idle ";
  CHECK(
      answer(trace, idle + "{ drained = true } return i:union_ns()") ==
      "70000");  // 120 to 150 and 160 to 200: no more than the 90 that it waited, less the 20 below
  CHECK(answer(trace, idle + "{ drained = false } return i:union_ns()") ==
        "75000");  // the wait itself, 210 to 215, and 300 to 350
  CHECK(answer(trace,
               idle + "{ cause = 'sync', name = 'cudaStreamSynchronize' } return i:union_ns()") ==
        "20000");  // with what a launch usually takes to prepare
  CHECK(answer(trace, "return trace:idle { cause = 'sync' }:evidence()[1].note") ==
        "cudaStreamSynchronize");
}

TEST_CASE("binding: metrics tell their mean, and how often all kept within bounds") {
  const std::string trace =
      "{ ops = { { 0, 100, kernel = 'k' } }, samples = { { 10, 'SMs Active', 80 }, { 10, 'Tensor "
      "Active', 5 }, { 20, 'SMs Active', 90 }, { 20, 'Tensor Active', 50 }, { 30, 'SMs Active', "
      "10 },"
      " { 30, 'Tensor Active', 0 }, { 40, 'SMs Active', 100 }, { 500, 'SMs Active', 0 } } }";
  CHECK(answer(trace,
               "local m = trace:metric 'SMs*' return m.count .. ' ' .. m.least .. ' ' .. m.most "
               ".. ' ' .. m.mean") == "4 10 100 70");
  CHECK(answer(trace,
               "return trace:sampled_fraction { { metric = 'SMs*', least = 60 }, { metric = "
               "'Tensor*', most = 10 } } == 1 / 3") == "true");
  CHECK(answer(trace, "return select(2, trace:metric 'DRAM*')") ==
        "no metric 'DRAM*' was sampled within the steps");
  CHECK(answer("{ ops = { { 0, 100, kernel = 'k' } }, not_collected = { 'samples' } }",
               "return select(3, trace:metric 'SMs*')") == "--record-them");
}

TEST_CASE("binding: collectives tell who came late") {
  // Rank 1 enters the first 40 us late and the second 10 us late; in the third it waits for rank
  // 0.
  const auto ranks = [](const std::string& more) {
    return "{ ops = { { 0, 100, kernel = 'ncclDevKernel_AllReduce' }, { 40, 100, kernel = "
           "'ncclDevKernel_AllReduce', rank = 1 }, { 200, 250, kernel = "
           "'ncclDevKernel_AllReduce' }, { 210, 250, kernel = 'ncclDevKernel_AllReduce', rank = "
           "1 },"
           " { 305, 350, kernel = 'ncclDevKernel_AllReduce' }, { 300, 350, kernel = "
           "'ncclDevKernel_AllReduce', rank = 1 }" +
           more + " } }";
  };
  CHECK(answer(
            ranks(""),
            "local l = trace:late_devices() return #l .. ' ' .. l[1].device .. ' ' .. l[1].late_ns "
            ".. ' ' .. l[1].count .. ' ' .. l[1].waited:count() .. ' ' .. l[2].late_ns") ==
        "2 1 50000 2 2 5000");
  // A rank that was recorded for longer has more; where one stands in the middle nobody can tell
  // which belongs to which.
  CHECK(answer(ranks(", { 400, 410, kernel = 'ncclDevKernel_AllReduce' }"),
               "local l = trace:late_devices() return #l .. ' ' .. l[1].device .. ' ' .. "
               "l[1].late_ns") == "2 1 50000");
  CHECK(answer(ranks(", { 260, 290, kernel = 'ncclDevKernel_AllReduce' }"),
               "return #trace:late_devices()") == "0");
  CHECK(answer("{ ops = { { 0, 100, kernel = 'ncclDevKernel_AllReduce' } } }",
               "return #trace:late_devices()") == "0");
}

TEST_CASE("binding: weights come layer by layer, batches with a loss after each") {
  std::string layers, batches;
  for (int i = 0; i < 5; ++i) {
    const auto at = [&](int offset) { return std::to_string(100 + 150 * i + offset); };
    const std::string upload = "{ " + at(0) + ", " + at(20) +
                               ", copy = 'h2d', bytes = 8388608 }, { " + at(20) + ", " + at(100) +
                               ", kernel = 'gemm' }, ";
    layers += upload;
    batches += upload + "{ " + at(100) + ", " + at(110) + ", kernel = 'nll_loss_forward' }, ";
  }
  CHECK(answer(five_steps(layers), "return trace:streamed_uploads():count()") == "25");
  CHECK(answer(five_steps(batches), "return trace:streamed_uploads():count()") == "0");
}

// What a rule can ask of a trace: verbs on tiny traces whose answers can be counted by hand.
#include "rules/binding.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "base/spans.hpp"
#include "rules/binding/shared_selections.hpp"
#include "rules/literal_trace.hpp"
#include "rules/rules.hpp"
#include "trace/row_set.hpp"

using namespace gh;

namespace {

// The answer to a question as text; the question is the body of a Lua function that gets `trace`.
std::string failure(const std::string& trace, const std::string& question, bool replayed = true) {
  const Rule rule = load_rule(
      "return { id = 'asks', category = 'tests', title = 'Asks', since = '0.1', messages = { m = "
      "'m' }, doc = { what = 'a', why = 'b', fix = 'c', wrong = 'd' },\n"
      "evaluate = function(trace) local function ask() " +
          question + " end error('<' .. tostring(ask()) .. '>') end }",
      "asks.lua");
  const Analysis analysis(trace_from_text("return " + trace), Classes(), {});
  const Facts facts(analysis);
  const Report report = evaluate({rule}, analysis, facts, {}, replayed);
  REQUIRE(report.failed.size() == 1);
  return report.failed[0].error;
}

std::string answer(const std::string& trace, const std::string& question, bool replayed = true) {
  const std::string error = failure(trace, question, replayed);
  const std::size_t open = error.find('<'), close = error.rfind('>');
  REQUIRE_MESSAGE(open != error.npos, error);
  return error.substr(open + 1, close - open - 1);
}

// Five steps of 1 ms, with `ops` in each.
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

TEST_CASE("binding: trace:steps gives the steps, and none if the window stands in for them") {
  CHECK(answer(five_steps("{ 10, 900, kernel = 'k' }"),
               "local s = trace:steps() return s:count() .. ' ' .. s:top(1, 'number')[1].number "
               ".. ' ' .. s:median 'duration_ns'") == "5 6 1000000");
  CHECK(answer("{ ops = { { 10, 900, kernel = 'k' } } }", "return trace:steps():count()") == "0");
  // What happened in the longest step.
  CHECK(answer(five_steps("{ 10, 900, kernel = 'k' }"),
               "return trace:ops { inside = trace:steps() }:count()") == "5");
}

TEST_CASE("binding: a range contains what lies in it and what was launched in it, or does not") {
  // Ranges a, with a kernel that runs long after it; b, with a wait; c, with nothing, in d.
  const std::string trace =
      "{ ranges = { { 0, 50, 'a' }, { 60, 120, 'b' }, { 130, 140, 'c' }, { 125, 150, 'd' } }, ops "
      "= { { 100, 200, kernel = 'k', launched = { 10, 15 } }, { 300, 400, kernel = 'r', launched = "
      "{ 62, 64 }, rank = 1 } }, calls = { { 70, 110, 'cudaStreamSynchronize' } } }";
  const auto names = [](const std::string& ranges) {
    return "local s = '' for _, g in ipairs(" + ranges +
           ":group 'name') do s = s .. g.key end return s";
  };
  const std::string ranges = "trace:ranges()";
  CHECK(answer(trace, names(ranges + ":containing(trace:ops())")) == "a");
  CHECK(answer(trace, names(ranges + ":without(trace:ops())")) == "bdc");
  CHECK(answer(trace, names(ranges + ":containing(trace:calls { class = 'sync' })")) == "b");
  // One in another, and none in itself.
  CHECK(answer(trace, names(ranges + ":containing(trace:ranges())")) == "d");
  CHECK(answer(trace, names(ranges + ":without(trace:ranges { name = 'd' })")) == "badc");
  CHECK(answer(trace, names("trace:ranges { name = 'x' }:without(trace:ops())")) == "");
  CHECK(answer(trace, "return select(2, pcall(trace:ops().without, trace:ops(), trace:ops()))")
            .find("selection:minus takes rows away") != std::string::npos);
  // What devices do lies in steps of the same device.
  const std::string steps = five_steps(
      "{ 10, 400, kernel = 'k' }, { 400, 800, kernel = 'n', gpu = 1, launched = { 5, 8 } }");
  CHECK(answer(steps,
               "return trace:steps():containing(trace:ops { name = 'n' }):count() .. ' ' .. "
               "trace:steps():without(trace:ops { name = 'n' }):count()") == "5 5");
}

TEST_CASE("binding: what takes no time lies inside where it is, not everywhere") {
  const std::string trace =
      "{ ranges = { { 0, 30, 'a' } }, ops = { { 10, 10, kernel = 'in' }, { 40, 40, kernel = "
      "'after' "
      "}, { 20, 40, kernel = 'beyond' } } }";
  CHECK(answer(trace,
               "local ops = trace:ops { inside = trace:ranges() } return ops:count() .. "
               "ops:group('name')[1].key") == "1in");
}

TEST_CASE("binding: rules that ask alike share what they find") {
  const SharedSelections shared;
  int found = 0;
  const auto find = [&] {
    ++found;
    return std::make_shared<const SharedSelections::Selection>(
        SharedSelections::Selection{RowSet({3}), 7});
  };
  CHECK(&shared.get("0\nname 1:a", find) == &shared.get("0\nname 1:a", find));
  CHECK(found == 1);
  CHECK(shared.get("0\nname 1:b", find).instructions == 7);
  CHECK(found == 2);
  // The same pattern of another field, a list that joins to the same text, and other rows.
  const std::string trace =
      "{ ops = { { 0, 10, kernel = 'ab' }, { 10, 20, kernel = 'a' }, { 20, 30, kernel = 'b' } }, "
      "ranges = { { 0, 30, 'a' } } }";
  CHECK(answer(trace,
               "return trace:ops { name = { 'a', 'b' } }:count() .. trace:ops { name = { "
               "'ab' } }:count() .. trace:ranges { name = 'a' }:count() .. trace:ops { name "
               "= 'a' }:count() .. trace:ops { kind = 'a' }:count()") == "21110");
}

TEST_CASE("binding: a row by its place, and the rows of top as selections") {
  const std::string trace =
      "{ ranges = { { 0, 50, 'a' }, { 60, 160, 'b' } }, ops = { { 0, 10, kernel = 'x', launched = "
      "{ 1, 2 } }, { 110, 200, kernel = 'y', launched = { 70, 71 } } } }";
  CHECK(answer(trace, "return trace:ops():at(2):top(1)[1].name") == "y");
  CHECK(answer(trace, "return trace:ops():at(-2):top(1)[1].name") == "x");
  for (const char* none : {"0", "3", "-3", "math.mininteger", "math.maxinteger"})
    CHECK(answer(trace, std::string("return trace:ops():at(") + none + "):count()") == "0");
  CHECK(answer(trace,
               "return trace:ops { launched_in = trace:ranges():top(1)[1].rows }:top(1)[1].name") ==
        "y");
  CHECK(answer(trace, "local r = trace:ranges():top(2) return r[2].rows:sum 'duration_ns'") ==
        "50000");
}

TEST_CASE("binding: a row of top has the fields that are documented of such rows") {
  const std::string trace = five_steps(
      "{ 10, 300, kernel = 'ncclDevKernel_AllReduce', group = 'dp [0, 1]', ranks = 2 }, { 300, "
      "400, copy = 'h2d', bytes = 8, from = 'pageable' }, { 700, 800, kernel = 'gemm' }",
      ", { 2, 5, 'forward' }");
  const std::pair<const char*, const char*> selections[] = {
      {"ops", "trace:ops()"},       {"calls", "trace:calls()"},
      {"ranges", "trace:ranges()"}, {"idle", "trace:idle()"},
      {"steps", "trace:steps()"},   {"chains", "trace:runs { of = trace:ops(), least = 1 }"}};
  for (const auto& [kind, selection] : selections) {
    std::string documented = " rows ";
    for (const FieldDoc& f : field_docs()) {
      const std::string rows = " " + std::string(f.rows) + ",";
      if (rows == " all," || rows.find(" " + std::string(kind) + ",") != std::string::npos)
        documented += std::string(f.name) + " ";
    }
    const std::string got = answer(
        trace, "local s = '' for _, row in ipairs(" + std::string(selection) +
                   ":top(1000)) do for k in pairs(row) do if not (' " + documented +
                   " '):glob('* ' .. k .. ' *') then s = s .. k .. ' ' end end end return s");
    CHECK_MESSAGE(got == "", kind, " also have ", got);
  }
}

TEST_CASE("binding: a misspelt verb is named, with what may have been meant") {
  const std::string trace = "{ ops = { { 0, 10, kernel = 'x' } } }";
  const auto error = [&](const std::string& code) {
    return answer(trace, "return select(2, pcall(function() return " + code + " end))");
  };
  CHECK(error("trace:opz()").ends_with("trace has no verb 'opz' (did you mean 'ops'?)"));
  CHECK(error("trace:ops():unionns()")
            .ends_with("selection has no verb 'unionns' (did you mean 'union_ns'?)"));
  CHECK(error("trace:quuxly()").ends_with("trace has no verb 'quuxly'"));
  CHECK(error("trace.ops ~= nil") == "true");
}

TEST_CASE("binding: products are recognized by the shapes around their launch") {
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

TEST_CASE("binding: shapes are those recorded with operators, the longest first") {
  const std::string trace = five_steps(
      "{ 10, 900, kernel = 'k' }",
      ", { 1, 10, 'aten::bmm, sizes = [[64, 1, 8], [], [3]], strides = [[8, 8, 1], [], [1]]' }"
      ", { 12, 50, 'aten::mm, sizes = [[2, 4], [4, 2]]' }, { 60, 900, 'aten::mm' }");
  CHECK(answer(trace,
               "local s = '' for _, o in ipairs(trace:ranges { name = 'aten::*' }:shapes()) do s = "
               "s .. o.name .. ' ' .. o.count .. ' ' .. o.sum_ns .. ' ' .. #o.sizes .. ' ' .. "
               "table.concat(o.sizes[1], 'x') .. ' ' .. #o.sizes[2] .. ';' end return s") ==
        "aten::mm 5 190000 2 2x4 2;aten::bmm 5 45000 3 64x1x8 0;");
  CHECK(answer(trace, "return #trace:ops():shapes()") == "0");
}

TEST_CASE("binding: what OS calls do is asked of the table") {
  const std::string trace = five_steps(
      "{ 10, 900, kernel = 'k' } }, os_calls = { { 20, 30, "
      "'poll' }, { 40, 50, 'pthread_join' }, { 60, 70, 'pread64' }");
  const auto count = [&](const std::string& does) {
    return answer(trace, "return trace:os_calls { does = " + does + " }:count()");
  };
  CHECK(count("'wait'") == "5");
  CHECK(count("{ 'wait', 'sleep' }") == "10");
  CHECK(count("'read'") == "5");
  CHECK(count("'wake'") == "0");
  CHECK(answer(trace, "return trace:calls { does = 'wait' }:count()") == "0");
  // Of idle time: what the host does in it.
  const std::string pauses = five_steps(
      "{ 10, 400, kernel = 'k', launched = { 5, 8 } }, { 710, 900, kernel = 'k', launched = { 705, "
      "708 } } }, os_calls = { { 401, 704, 'poll' }");
  const auto idle_ns = [&](const std::string& does) {
    return std::stod(answer(pauses, "return trace:idle { does = '" + does + "' }:union_ns()"));
  };
  CHECK(idle_ns("wait") > 5 * 290'000);
  CHECK(idle_ns("wait_thread") == 0);
  CHECK(answer(trace, "return select(2, pcall(trace.os_calls, trace, { does = 'sleeps' }))")
            .find("did you mean 'sleep'") != std::string::npos);
}

TEST_CASE("binding: phases are recognized by ranges") {
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

TEST_CASE("binding: threads by name, and those of loaders") {
  const std::string trace = five_steps(
      "{ 10, 100, kernel = 'k', launched = { 1, 5 }, thread = 'main' }, { 200, 300, kernel = 'k', "
      "launched = { 150, 160 }, thread = 'pt_data_pin' }");
  CHECK(answer(trace, "return trace:threads 'm*n'") == "1");
  CHECK(answer(trace, "return trace:threads { phase = 'loader' }") == "1");
  CHECK(answer(trace, "return select(2, pcall(trace.threads, trace, { phase = 'optimizer' }))")
            .find("loader") != std::string::npos);
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

TEST_CASE("binding: an operation's own time excludes its waits for unified memory") {
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
  CHECK(answer(trace, copies + "nil):count()") == "2");  // a half
  CHECK(answer(trace, copies + "0.6):sum 'bytes'") == "2");
  CHECK(answer(trace, copies + "0):count()") == "2");
}

TEST_CASE("binding: drained time lasts from the GPU going idle until the host got ahead again") {
  // Waits until 110, launches late twice; then launches twice in time, where the second waits for
  // the first.
  const std::string trace =
      "{ ops = { { 0, 100, kernel = 'a', launched = { -10, -5 } }, { 150, 160, kernel = 'b', "
      "launched = { 140, 145 } }, { 200, 210, kernel = 'c', launched = { 190, 195 } },"
      " { 215, 300, kernel = 'd', launched = { 196, 198 } }, { 350, 400, kernel = 'e', launched "
      "= { 340, 345 } } }, calls = { { 20, 110, 'cudaStreamSynchronize' } } }";
  const std::string idle = "local i = trace:idle ";
  CHECK(answer(trace, idle + "{ drained = true } return i:recorded_ns()") ==
        "70000");  // 120 to 150 and 160 to 200: at most the 90 that it waited, less the 20 below
  CHECK(answer(trace, idle + "{ drained = false } return i:recorded_ns()") ==
        "85000");  // from the first launch on, the wait itself, 210 to 215, and 300 to 350
  CHECK(
      answer(trace,
             idle + "{ cause = 'sync', name = 'cudaStreamSynchronize' } return i:recorded_ns()") ==
      "20000");  // including the usual time to prepare a launch
  CHECK(answer(trace, "return trace:idle { cause = 'sync' }:evidence()[1].note") ==
        "cudaStreamSynchronize");
}

TEST_CASE("binding: metrics have a mean, and a share of moments within bounds") {
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
               "return select(3, trace:metric 'SMs*')") == "`--record-them`");
}

TEST_CASE("binding: collectives show which rank came late") {
  // Rank 1 enters the first 40 us late and the second 10 us late; in the third it waits for rank 0.
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
  // A rank that was recorded for longer has more; if one of these is in the middle, they cannot be
  // matched.
  CHECK(answer(ranks(", { 400, 410, kernel = 'ncclDevKernel_AllReduce' }"),
               "local l = trace:late_devices() return #l .. ' ' .. l[1].device .. ' ' .. "
               "l[1].late_ns") == "2 1 50000");
  CHECK(answer(ranks(", { 260, 290, kernel = 'ncclDevKernel_AllReduce' }"),
               "return #trace:late_devices()") == "0");
  CHECK(answer("{ ops = { { 0, 100, kernel = 'ncclDevKernel_AllReduce' } } }",
               "return #trace:late_devices()") == "0");
}

TEST_CASE("binding: collectives have a kind, a group and ranks") {
  const std::string trace =
      "{ ops = { { 0, 10, kernel = 'gemm' }, { 10, 20, kernel = 'ncclDevKernel_AllReduce', stream "
      "= 8, group = 'dp [0, 1]', ranks = 2 }, { 30, 40, kernel = 'ncclDevKernel_AllGather', stream "
      "= 8 } } }";
  CHECK(answer(trace, "return trace:ops { collective = 'all-*' }:count()") == "2");
  CHECK(answer(trace, "return trace:ops { collective = 'all-reduce', group = 'dp*' }:count()") ==
        "1");
  CHECK(answer(trace, "return trace:ops { group = 'dp*' }:median 'ranks'") == "2");
}

TEST_CASE("binding: gradients of all backward passes except the last are early") {
  // Two losses, each with a reduction after it; the optimizer, if any, between them.
  const auto steps = [](const std::string& between) {
    return five_steps(
        "{ 10, 100, kernel = 'nll_loss_forward' }, { 100, 200, kernel = "
        "'ncclDevKernel_AllReduce', stream = 8 }, { 200, 220, copy = 'd2d', bytes = 8 }, { 220, "
        "230, copy = 'd2d', bytes = 8 }" +
        between +
        ", { 400, 500, kernel = 'nll_loss_forward' }, { 500, 600, kernel = "
        "'ncclDevKernel_AllReduce', stream = 8 }");
  };
  const std::string ask =
      "local g = trace:reduced_gradients() return g.phases .. ' ' .. g.early:count() .. ' ' .. "
      "g.last:count() .. ' ' .. g.copies:count()";
  CHECK(answer(steps(""), ask) == "2 5 5 10");
  CHECK(answer(steps(", { 300, 310, kernel = 'multi_tensor_apply_kernel<FusedAdam>' }"), ask) ==
        "0 0 0 0");
  // A reduction of the forward pass on the same stream is not a gradient.
  CHECK(answer(steps(", { 2, 5, kernel = 'ncclDevKernel_AllReduce', stream = 8 }"), ask)
            .starts_with("0 0"));
}

TEST_CASE("binding: weights are gathered block by block, late ones after the block before") {
  const auto steps = [](int second) {
    const auto gather = [](int from) {
      return "{ " + std::to_string(from) + ", " + std::to_string(from + 50) +
             ", kernel = 'ncclDevKernel_AllGather', stream = 8 }";
    };
    return five_steps(
        gather(20) + ", { 80, 180, kernel = 'gemm' }, " + gather(second) +
        ", { 300, 400, kernel = 'gemm' }, { 400, 410, kernel = 'nll_loss_forward' }, " +
        gather(420) +
        ", { 480, 600, kernel = 'gemm' }, { 600, 650, kernel = "
        "'ncclDevKernel_ReduceScatter', stream = 9 }");
  };
  const std::string ask =
      "local w = trace:gathered_weights() return w.steps .. ' ' .. w.all:count() .. ' ' .. "
      "w.late:count() .. ' ' .. w.again:count() .. ' ' .. w.scattered:count()";
  CHECK(answer(steps(190), ask) == "5 15 10 5 5");
  CHECK(answer(steps(75), ask) == "5 15 5 5 5");
}

TEST_CASE("binding: broadcasts before a loss, and the copies right after them") {
  const std::string trace = five_steps(
      "{ 10, 20, kernel = 'ncclDevKernel_Broadcast', stream = 8 }, { 30, 32, copy = 'd2d' }, { 34, "
      "36, copy = 'd2d' }, { 40, 90, kernel = 'gemm' }, { 90, 92, copy = 'd2d' }, { 95, 99, kernel "
      "= 'nll_loss_forward' }, { 100, 110, kernel = 'ncclDevKernel_Broadcast', stream = 8 }");
  CHECK(answer(trace,
               "local b, c = trace:broadcast_buffers() return b:count() > 0 and "
               "c:count() == 2 * b:count() and b:overlap_ns(b) == b:count() * 10000") == "true");
}

TEST_CASE("binding: devices of one process take turns, or work together") {
  const auto two = [](int second, const char* whose) {
    return five_steps("{ 10, 400, kernel = 'gemm' }, { 400, 405, copy = 'p2p' }, { " +
                      std::to_string(second) + ", " + std::to_string(second + 400) +
                      ", kernel = 'gemm', " + whose + " = 1, launched = { 5, 8 } }");
  };
  const std::string ask =
      "local d = trace:devices_in_turn()[1] return d.devices .. ' ' .. d.together_ns .. ' ' .. "
      "d.copies:count()";
  CHECK(answer(two(500, "gpu"), ask) == "2 0 5");
  CHECK(answer(two(10, "gpu"), "return trace:devices_in_turn()[1].together_ns > 1500000") ==
        "true");
  CHECK(answer(two(500, "rank"), "return #trace:devices_in_turn()") == "0");
}

TEST_CASE("binding: streams that take turns, and what orders them") {
  const auto streams = [](const std::string& order, int blocks) {
    std::string ops;
    for (int i = 0; i < 6; ++i) {
      const int at = 100 + 100 * i;
      ops += "{ " + std::to_string(at) + ", " + std::to_string(at + 99) + ", kernel = 'k" +
             std::to_string(i % 2) + "', stream = " + std::to_string(i % 2 == 0 ? 7 : 9) +
             ", order = '" + (i % 2 == 0 ? "legacy" : order) +
             "', blocks = " + std::to_string(blocks) + ", launched = { " + std::to_string(10 + i) +
             ", " + std::to_string(10 + i) + ".5 } },";
    }
    return five_steps(ops);
  };
  const std::string ask =
      "local t = trace:stream_turns()[1] return t.count .. ' ' .. tostring(t.legacy) .. ' ' .. "
      "t.events";
  CHECK(answer(streams("blocking", 40), ask).ends_with(" true 0"));
  CHECK(answer(streams("apart", 40), ask).ends_with(" false 0"));
  CHECK(answer(streams("blocking", 800), "return #trace:stream_turns()") == "0");
}

TEST_CASE("binding: members of a message wait for the one that comes last") {
  const std::string trace =
      "{ ops = { { 0, 10, kernel = 'gemm' }, { 10, 100, kernel = 'ncclDevKernel_SendRecv', stream "
      "= 8 }, { 0, 90, kernel = 'gemm', rank = 1 }, { 90, 100, kernel = 'ncclDevKernel_SendRecv', "
      "stream = 8, rank = 1 } } }";
  CHECK(answer(trace,
               "local w = trace:ops { class = 'collective' }:waits() return #w .. ' ' .. "
               "w[1].wait_ns .. ' ' .. w[2].wait_ns") == "2 80000 0");
  CHECK(answer(trace,
               "local c = trace:ops { class = 'collective' } local last = c:last { 'meeting' } "
               "return last:count() .. ' ' .. last:sum 'start_ns' .. ' ' .. c:ahead_of(last, { "
               "'meeting' }):sum 'duration_ns'") == "1 90000 80000");
  // Two pairs that never meet are not a group of four devices.
  std::string pairs;
  for (const int rank : {0, 1, 2, 3})
    pairs += fmt::format("{{ {}, {}, kernel = 'ncclDevKernel_SendRecv', rank = {} }}, ",
                         rank < 2 ? 10 : 210, rank < 2 ? 100 : 300, rank);
  CHECK(answer("{ ops = { " + pairs + "} }",
               "local w = trace:ops { class = 'collective' }:waits() return #w .. ' ' .. "
               "w[1].together .. ' ' .. w[4].together") == "4 2 2");
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

TEST_CASE("binding: residency is data that goes to the host and back too soon for a change") {
  // To change 4 MiB takes 84 us at 50 GB/s. In the first `pause` us of each round nothing is
  // copied.
  const auto rounds = [](int pause, const std::string& more = "") {
    const auto at = [&](int us) { return std::to_string(us + pause); };
    return "{ repeats = { times = 7, every = 1000 }, ranges = { { 0, 990, 'step {n}' } }, ops = { "
           "{ " +
           at(0) + ", " + at(100) + ", copy = 'h2d', bytes = 4194304 }, { " + at(110) + ", " +
           at(600) + ", kernel = 'k' }, { " + at(610) + ", 980, copy = 'd2h', bytes = 4194304 }" +
           more + " } }";
  };
  const std::string question =
      "local untouched, touched, gap = trace:residency() return untouched:count() .. ' ' .. "
      "touched:count() .. ' ' .. gap";
  // Six steps, and so five rounds: the first and last copies are like the others.
  CHECK(answer(rounds(10), question) == "12 0 30000");
  CHECK(answer(rounds(100), question) == "0 12 0");
  // Time in other copies is not the host's.
  CHECK(
      answer(rounds(100, ", { 10, 95, copy = 'h2d', bytes = 99 }"), question).starts_with("12 0"));
  CHECK(answer(rounds(10), "return trace:residency { min_bytes = 5e6 }:count()") == "0");
  // On several streams they are pieces of something larger.
  CHECK(answer(rounds(10, ", { 300, 310, copy = 'h2d', bytes = 4194304, stream = 9 }"), question)
            .starts_with("0 0"));
}

TEST_CASE("binding: relayed copies go from one device through the host to another") {
  const std::string question =
      "local down, up = trace:relayed() return down:count() .. ' ' .. up:count()";
  const auto copies = [](const std::string& more) {
    return "{ ops = { { 0, 10, copy = 'd2h', bytes = 4e6 }, { 20, 30, copy = 'h2d', bytes = 4e6, "
           "gpu = 1 }, { 40, 50, copy = 'd2h', bytes = 4e6 }" +
           more + " } }";
  };
  CHECK(answer(copies(""), question) == "1 1");
  CHECK(answer(copies(", { 60, 70, copy = 'h2d', bytes = 4e6, gpu = 1 }"), question) == "2 2");
  CHECK(answer(copies(", { 60, 70, copy = 'h2d', bytes = 4e6 }"), question) == "0 0");  // its own
}

TEST_CASE("binding: repeated finds sequences that occur again and mostly differ") {
  const auto kernels = [](const std::string& names, int at, int blocks, const char* thread) {
    std::string ops;
    for (const char name : names) {
      const std::string start = std::to_string(at);
      ops += "{ " + start + ", " + std::to_string(at + 5) + ", kernel = '" + name +
             "', blocks = " + std::to_string(blocks) + ", launched = { " + start + ", " +
             std::to_string(at + 1) + " }, thread = '" + thread + "' }, ";
      at += 10;
    }
    return ops;
  };
  const auto found = [&](const std::string& first, const std::string& later, int blocks = 8) {
    return answer(
        "{ ops = { " + kernels(first, 0, 8, "one") + kernels(later, 1000, blocks, "two") + " } }",
        "return trace:repeated { within = trace:ops { thread = 'two*' }, of = trace:ops "
        "{ thread = 'one*' }, least = 4 }:count()");
  };
  CHECK(found("abcd", "xabcdy") == "4");
  CHECK(found("abcdefg", "xabcdyefgz") == "4");  // three are too few
  CHECK(found("abcdef", "abcdef") == "6");
  CHECK(found("abcd", "xabcdy", 9) == "0");  // other shapes
  CHECK(found("abcd", "xabdcy") == "0");     // another order
  CHECK(found("aaaaa", "aaaaa") == "0");     // all the same
  CHECK(answer("{ ops = { { 0, 10, kernel = 'k' } } }", "return pcall(trace.repeated, trace, {})")
            .starts_with("false"));
}

TEST_CASE("binding: the first operations of a step are those of its first micro-batch") {
  const std::string trace =
      "{ repeats = { times = 3, every = 100 }, ranges = { { 0, 99, 'step {n}' } }, ops = { "
      "{ 5, 10, kernel = 'a' }, { 10, 20, kernel = 'k', blocks = 1 }, { 30, 40, kernel = 'k', "
      "blocks = 2 }, { 50, 60, kernel = 'k', blocks = 3 }, { 70, 80, kernel = 'k', blocks = 4 } } "
      "}";
  const std::string first = "local s = trace:ops { name = 'k' }:first_of_steps";
  CHECK(answer(trace, first + "(0.5) return s:count() .. ' ' .. s:sum 'blocks'") == "4 6");
  CHECK(answer(trace, first + "(0) return s:count()") == "0");
  CHECK(answer(trace, first + "(1) return s:count()") == "8");
}

TEST_CASE("binding: what was recorded about the launching thread, in numbers and in words") {
  const std::string trace =
      "{ repeats = { times = 6, every = 1000 }, ranges = { { 0, 990, 'step {n}' } }, ops = { { "
      "600, 900, kernel = 'k', launched = { 590, 595 }, thread = 'main' } }";
  const std::string lock =
      ", python_lock = { { 50, 550, thread = 'main' }, { 0, 590, thread = 'loader', holds = true } "
      "} }";
  CHECK(answer(trace + lock,
               "local w = trace:idle():thread_work() return w.holder:glob '*loader*' and w.lock_ns "
               "> w.total_ns / 2 and w.samples == 0 and not w.waker") == "true");
  CHECK(answer(trace + lock, "return trace:idle():host()")
            .find(" of that time the launching thread waited for Python's global lock, held by ") !=
        std::string::npos);
  CHECK(answer(trace + " }", "return trace:idle():thread_work()") == "nil");
  CHECK(answer(trace + " }", "return trace:idle():host()").empty());
}

TEST_CASE("binding: rows know their process, if their report is of several") {
  const std::string trace =
      "{ ops = { { 0, 10, kernel = 'k' }, { 0, 10, kernel = 'k', rank = 1 }, { 20, 30, kernel = "
      "'k', rank = 1 } } }";
  CHECK(answer(trace, "return #trace:ops():group 'process'") == "2");
  CHECK(answer(trace, "return trace:ops():alike(trace:ops(), { 'process' }, 2):count()") == "2");
}

TEST_CASE("binding: a gather's grid shows how many rows it fetches") {
  const std::string trace =
      "{ ops = { { 0, 10, kernel = 'k', blocks = 12, blocks_x = 4 }, { 10, 20, copy = 'h2d' } } }";
  CHECK(answer(trace, "return trace:ops():where { kind = 'kernel' }:median 'blocks_x'") == "4");
}

TEST_CASE("binding: growth separates what takes longer and longer from what varies") {
  const auto copies = [](auto bytes) {
    std::string ops;
    for (int i = 0; i < 160; ++i) {
      ops += "{ " + std::to_string(10 * i) + ", " + std::to_string(10 * i + 5) +
             ", copy = 'd2d', bytes = " + std::to_string(bytes(i)) + " },";
    }
    return "{ ops = { " + ops + " } }";
  };
  const std::string question = "local g = trace:ops():growth 'bytes' return g.rising";
  CHECK(answer(copies([](int i) { return 1000 + i; }), question) == "1");
  CHECK(std::stod(answer(copies([](int i) { return 1000 + i % 50; }), question)) > 0.85);
  CHECK(std::stod(answer(copies([](int i) { return 1000 + ((i * i * i + 5 * i) * 31 >> 3) % 101; }),
                         question)) < 0.7);
  CHECK(answer(copies([](int) { return 7; }), question) == "0");
  CHECK(std::stod(answer(copies([](int i) { return i < 80 ? 7 : 8; }), question)) < 0.1);
  CHECK(answer("{ ops = { { 0, 10, kernel = 'k' } } }", "return trace:ops():growth 'bytes'") ==
        "nil");
}

TEST_CASE("binding: data joined before attention was stored if nothing can have computed it") {
  // x: a concatenation of 20 us, a: attention, s: a memset, p: another kernel of 10 us.
  const auto kept = [](const std::string& order) {
    std::string ops;
    int at = 0;
    for (const char kind : order) {
      const int ends = at + (kind == 'x' ? 20 : 10);
      const std::string what = kind == 's' ? "set = true" : std::string("kernel = '") + kind + "'";
      ops += "{ " + std::to_string(at) + ", " + std::to_string(ends) + ", " + what + " }, ";
      at = ends;
    }
    return answer("{ ops = { " + ops + " } }",
                  "local kept, rest = trace:ops { name = 'x' }:kept_for(trace:ops { name = 'a' }) "
                  "return kept:count() .. ' ' .. rest // 1000");
  };
  CHECK(kept("pxxapxxa") == "4 20");
  CHECK(kept("pxxsapxxa") == "4 30");  // memsets are skipped
  CHECK(kept("ppppxxappppxxa") == "4 80");
  CHECK(kept("pppppxxapppppxxa") == "0 100");  // these may have computed it
  CHECK(kept("xxpaxxpa") == "0 100");
  CHECK(kept("xxxaxxxa") == "0 120");
  CHECK(kept("xxaxa") == "0 20");
  CHECK(kept("pxxapxxapxx") == "6 30");  // the last reader comes after the end
  CHECK(kept("papa") == "0 20");
}

TEST_CASE("binding: operators are the innermost ranges around launches, shorter than a step") {
  CHECK(answer(five_steps("{ 10, 400, kernel = 'a', launched = { 2, 4 } }, { 400, 500, kernel = "
                          "'b', launched = { 20, 22 } }, { 500, 900, kernel = 'c', launched = { "
                          "40, 42 } }",
                          ", { 1, 30, 'outer' }, { 1, 8, 'inner' }"),
               "local s = '' for _, o in ipairs(trace:ops():operators()) do s = s .. o.name .. ' ' "
               ".. o.count .. ';' end return s") == "inner 5;outer 5;");
}

TEST_CASE("binding: an operation's thread is the one that launched it") {
  const std::string trace =
      "{ ops = { { 10, 20, kernel = 'a', launched = { 2, 4 }, thread = 'one' }, { 30, 40, kernel = "
      "'b', launched = { 22, 24 }, thread = 'two' } } }";
  CHECK(answer(trace, "return trace:ops { thread = 'two*' }:top(1)[1].name") == "b");
  CHECK(answer(trace, "return #trace:ops():group 'thread'") == "2");
}

TEST_CASE("binding: a read-back is a result that the host waits for before it launches again") {
  const std::string kernels =
      "{ 10, 100, kernel = 'a', launched = { 5, 8 } }, { 101, 103, copy = 'd2h', bytes = 4, "
      "launched = { 20, 25 } }, { 300, 900, kernel = 'b', launched = { 290, 295 } }";
  const std::string ask =
      "local copies, waits, deciding = trace:read_backs() return copies:count() .. ' ' .. "
      "waits:count() .. ' ' .. deciding:count()";
  const auto with = [&](const std::string& calls) {
    return "{ repeats = { times = 6, every = 1000 }, ranges = { { 0, 990, 'step {n}' } }, ops = "
           "{ " +
           kernels + " }, calls = { " + calls + " } }";
  };
  CHECK(answer(with("{ 30, 110, 'cudaStreamSynchronize' }"), ask) == "5 5 0");
  CHECK(answer(with(""), ask) == "0 0 0");                                     // nothing waits
  CHECK(answer(with("{ 30, 60, 'cudaStreamSynchronize' }"), ask) == "0 0 0");  // for something else
  CHECK(answer(with("{ 930, 950, 'cudaStreamSynchronize' }"), ask) == "0 0 0");  // after the step
}

TEST_CASE("binding: waits of the host by purpose and class of call") {
  const std::string trace =
      "{ repeats = { times = 6, every = 1000 }, ranges = { { 0, 990, 'step {n}' } }, ops = { { 10, "
      "100, kernel = 'a', launched = { 5, 8 } }, { 101, 103, copy = 'd2h', bytes = 4, launched = { "
      "20, 25 } }, { 300, 900, kernel = 'b', launched = { 290, 295 } } }, calls = { { 30, 110, "
      "'cudaStreamSynchronize' }, { 310, 905, 'cudaDeviceSynchronize' } } }";
  const auto counts = [&](const std::string& asked) {
    return answer(trace, "local calls, copies = trace:host_waits" + asked +
                             " return calls:count() .. ' ' .. copies:count()");
  };
  CHECK(counts("()") == "11 5");
  CHECK(counts("{ on = { 'result' } }") == "5 5");
  CHECK(counts("{ on = { 'work' }, class = { 'sync' } }") == "6 0");
  CHECK(counts("{ class = { 'copy' } }") == "0 0");
  CHECK(support::contains(failure(trace, "trace:host_waits { on = { 'results' } }"),
                          "no wait is for 'results' (did you mean 'result'?)"));
}

TEST_CASE("binding: what changes save, by replaying them") {
  // The host waits for 900 of each 1000 us, and then needs 100 us until the next kernel is there.
  const std::string trace =
      "{ repeats = { times = 6, every = 1000 }, ranges = { { 0, 990, 'step {n}' } }, ops = { { "
      "100, "
      "900, kernel = 'a', launched = { 90, 95 } } }, calls = { { 100, 905, "
      "'cudaStreamSynchronize' } } }";
  const std::string ask =
      "local saved = trace:saves_ns { { unblock = trace:host_waits() } } return saved and "
      "string.format('%.2f', saved / trace:total_ns())";
  CHECK(answer(trace, ask) == "0.20");
  CHECK(answer(trace, ask, false) == "nil");  // without a replay nobody knows
}

TEST_CASE("binding: operations inside a loop and after it") {
  const std::string trace =
      "{ ops = { { 0, 1, kernel = 'x' }, { 5, 6, kernel = 'y' }, { 10, 11, kernel = 'x' }, { 15, "
      "16, kernel = 'y' }, { 20, 21, kernel = 'x' }, { 25, 26, kernel = 'y' }, { 500, 501, kernel "
      "= "
      "'x' } } }";
  const std::string ask = "return trace:ops { name = 'y' }:amid(trace:ops { name = 'x' }):count()";
  CHECK(answer(trace, ask) == "2");  // the last x is too far away to be part of the loop
  CHECK(answer(trace, "return pcall(trace:ops().amid, trace:ops(), trace:calls())")
            .starts_with("false"));
}

TEST_CASE("binding: a stretch of the host has exactly one class") {
  const auto stretch = [&](const std::string& more) {
    return answer(
        "{ repeats = { times = 6, every = 10000 }, ops = { { 20, 2000, kernel = 'a', launched = { "
        "5, 10 } }, { 6020, 9990, kernel = 'b', launched = { 6010, 6015 } } }, ranges = { { 0, "
        "9900, "
        "'step {n}' } " +
            more + " }",
        "local g = trace:idle { cause = 'unknown' }:group('stretch') return #g > 0 and g[1].key");
  };
  CHECK(stretch("}") == "works");  // waiting calls were recorded, and it is in none
  CHECK(stretch("}, not_collected = { 'os_calls' }") == "unnamed");
  CHECK(stretch(", { 2000, 6000, 'metrics' } }, not_collected = { 'os_calls' }") == "works");
  CHECK(stretch(", { 2000, 6000, 'save_checkpoint' } }") == "phase");
  CHECK(stretch(", { 2000, 6015, 'aten::mul_' } }") == "launching");
  CHECK(stretch("}, os_calls = { { 2010, 6000, 'poll' } }") == "waits");
  CHECK(stretch("}, python_lock = { { 2010, 6000 } }") == "lock");
  const std::string off = "}, cpu_stretches = { { 0, 2100 }, { 6000, 9990 }";
  CHECK(stretch(off + " }") == "unnamed");  // it may wait in a way that was not recorded
  CHECK(stretch(off + ", { 2100, 6000, thread = 'other' } }") == "preempted");
  CHECK(stretch("}, calls = { { 2000, 2400, 'cuLibraryGetModule' }, { 5600, 6000, "
                "'cuLibraryGetModule' } }") == "compiler");
}

TEST_CASE("binding: what the host did for most of its idle time has a name") {
  const std::string trace = five_steps(
      "{ 10, 100, kernel = 'a', launched = { 5, 8 } }, { 900, 980, "
      "kernel = 'b', launched = { 890, 895 } }",
      ", { 100, 700, 'make data' }, { 200, 690, 'aten::randn' }");
  CHECK(answer(trace,
               "local name, within = trace:idle { cause = 'unknown' }:doing(0.5) return "
               "name .. ' ' .. within") == "aten::randn make data");
  CHECK(answer(trace, "return trace:idle { cause = 'unknown' }:doing(1.1)") == "nil");
}

// --- Patterns

namespace {

// One letter an operation of 10 us on one stream; 's' is a memset.
std::string letters(const std::string& order, int at = 0) {
  std::string ops;
  for (const char kind : order) {
    const std::string what = kind == 's' ? "set = true" : fmt::format("kernel = '{}'", kind);
    ops += fmt::format("{{ {}, {}, {} }}, ", at, at + 10, what);
    at += 10;
  }
  return ops;
}

std::string trace_of(const std::string& order) { return "{ ops = { " + letters(order) + " } }"; }

// Five steps that each have these operations.
std::string steps_of(const std::string& order) {
  const std::size_t every = 10 * order.size() + 40;
  return fmt::format(
      "{{ repeats = {{ times = 6, every = {} }}, ranges = {{ {{ 0, {}, 'step {{n}}' }} }}, ops = "
      "{{ "
      "{} }} }}",
      every, every - 1, letters(order, 30));
}

const std::string by_letter =
    "local function ops(name) return trace:ops { name = name } end local a, b, c = ops 'a', ops "
    "'b', ops 'c' ";

}  // namespace

TEST_CASE("binding: a sequence is matched run by run") {
  const auto found = [](const std::string& order, const std::string& sequence) {
    return answer(trace_of(order),
                  by_letter + "local m = trace:match { " + sequence +
                      " } local s = m.count .. ':' for _, of in ipairs(m) do s = s "
                      ".. ' ' .. of:count() end return s");
  };
  CHECK(found("abxaabx", "a, b") == "2: 3 2");
  CHECK(found("abxaxb", "a, b") == "1: 1 1");
  CHECK(found("abxaabxaaab", "{ of = a, least = 2, most = 2 }, b") == "1: 2 1");  // not the three
  CHECK(found("acbxab", "a, { of = c, least = 0 }, b") == "2: 2 1 2");
  CHECK(found("aababa", "a, b, a") == "1: 2 1 1");  // no operation is in two
  CHECK(found("abxaab", "a, b, 'end'") == "1: 2 1 0");
  CHECK(found("asbxab", "a, b, skip = trace:ops { kind = 'set' }") == "2: 2 2");
  CHECK(found("axxbxab", "a, b, skip = 'others'") == "2: 2 2");
  CHECK(found("xyz", "a, b") == "0: 0 0");
  CHECK(answer(trace_of("xaabx"), by_letter + "local s = trace:match { a, b }.sequences return "
                                              "s:sum 'duration_ns' .. ' ' .. s:ops():count()") ==
        "30000 1");
}

TEST_CASE("binding: sequences are those of a stream, a device or a thread") {
  // Launched a, b, c; c runs on another stream between a and b.
  const std::string trace =
      "{ ops = { { 0, 10, kernel = 'a', launched = { 0, 1 } }, { 12, 20, kernel = 'c', stream = 8, "
      "launched = { 4, 5 } }, { 30, 40, kernel = 'b', launched = { 2, 3 } } } }";
  const auto count = [&](const std::string& sequence) {
    return answer(trace, by_letter + "return trace:match { " + sequence + " }.count");
  };
  CHECK(count("a, b") == "1");
  CHECK(count("a, b, by = 'device'") == "0");
  CHECK(count("a, c, b, by = 'device'") == "1");
  CHECK(count("a, b, c, by = 'thread'") == "1");
}

TEST_CASE("binding: what a sequence cannot be is refused") {
  const auto refused = [](const std::string& sequence) {
    return answer(trace_of("ab"), by_letter + "local ok, why = pcall(function() trace:match { " +
                                      sequence + " } end) return why");
  };
  CHECK(refused("").find("at least one operation") != std::string::npos);
  CHECK(refused("{ of = a, least = 0 }").find("at least one operation") != std::string::npos);
  CHECK(refused("a, 'end', b").find("comes after \"end\"") != std::string::npos);
  CHECK(refused("a, by = 'rank'").find("\"thread\"") != std::string::npos);
  CHECK(refused("a, skip = 'all'").find("\"others\"") != std::string::npos);
  CHECK(refused("trace:calls()").find("operations") != std::string::npos);
  CHECK(refused("a, of = b").find("'of'") != std::string::npos);
}

TEST_CASE("binding: rows are alike, or pair, by their fields") {
  const std::string trace =
      "{ ops = { { 0, 5, kernel = 'a', blocks = 1 }, { 10, 15, kernel = 'a', blocks = 1 }, { 20, "
      "25, kernel = 'a', blocks = 2 }, { 30, 35, kernel = 'b', blocks = 1 }, { 40, 45, kernel = "
      "'b', blocks = 3 } } }";
  const auto says = [&](const std::string& question) {
    return answer(trace, by_letter + question);
  };
  CHECK(says("return a:alike(b, { 'blocks' }):count()") == "2");
  CHECK(says("return a:alike(a, { 'blocks' }, 2):count()") == "2");
  CHECK(says("return a:alike(b, { 'name', 'blocks' }):count()") == "0");
  // One b has the same number of blocks: the first a gets it.
  CHECK(says("local own, others = a:pair(b, { 'blocks' }) return own:count() .. ' ' .. "
             "others:count() .. ' ' .. own:sum 'start_ns'") == "1 1 0");
  CHECK(says("local own, others = a:pair(b, {}) return own:count() .. ' ' .. others:count()") ==
        "2 2");
  CHECK(says("return (select(2, pcall(function() a:pair(trace:calls(), { 'name' }) end)))")
            .find("different kinds") != std::string::npos);
}

TEST_CASE("binding: marks divide each step into phases") {
  const auto says = [](const std::string& marks) {
    return answer(steps_of("xaxbxbx"),
                  by_letter + "local p = trace:ops { name = 'x' }:phases(" + marks +
                      ") local s = p.before:count() .. ':' for _, of in ipairs(p) do s = s .. ' ' "
                      ".. of:count() end return s");
  };
  CHECK(says("b") == "10: 5 5");
  CHECK(says("b, 1") == "10: 10");
  CHECK(says("c") == "0: 0");  // no step has such a mark
}

TEST_CASE("binding: gaps lie between operations that are alike") {
  const auto says = [](const std::string& question) {
    return answer(steps_of("axxabxa"), by_letter + "return a:gaps" + question);
  };
  CHECK(says(" { 'step' }:count()") == "10");
  CHECK(says(" {}:count()") == "14");
  CHECK(says(" { 'step' }:sum 'duration_ns'") == "200000");
  CHECK(says(" { 'step' }:sum 'op_ns'") == "100000");
  CHECK(says(" { 'step' }:ops():count()") == "10");
  // The first lasts beyond the second.
  CHECK(answer("{ ops = { { 0, 50, kernel = 'a' }, { 10, 20, kernel = 'a', stream = 8 }, { 60, 70, "
               "kernel = 'a' } } }",
               by_letter + "return a:gaps {}:sum 'duration_ns'") == "10000");
}

TEST_CASE("binding: a rule keeps the rows that pass its own test") {
  const std::string trace =
      "{ ops = { { 0, 10, kernel = 'a', blocks = 4 }, { 20, 40, kernel = 'a', blocks = 1 }, { 5, "
      "30, kernel = 'b', stream = 8 } } }";
  const auto says = [&](const std::string& question) {
    return answer(trace, by_letter + question);
  };
  CHECK(says("return a:keep({ 'blocks' }, function(r) return r.blocks > 1 end):sum 'start_ns'") ==
        "0");
  CHECK(says("return a:keep({ 'duration_ns', beside = b }, function(r) return 2 * r.beside == "
             "r.duration_ns end):count()") == "2");
  CHECK(says("local names = '' a:keep({ 'name', 'class' }, function(r) names = names .. r.name .. "
             "tostring(r.missing) end) return names") == "anilanil");
  CHECK(says("return (select(2, pcall(function() a:keep({ 'blocks' }, function() error 'mine' end) "
             "end)))")
            .find("mine") != std::string::npos);
  // Rows with equal values of the fields have the same number, of those without a value none.
  CHECK(says("local n = '' a:plus(b):keep({ same = { 'name', 'stream' }, none = { 'ranks' } }, "
             "function(r) n = n .. r.same .. tostring(r.none) end) return n") == "1nil2nil1nil");
  CHECK(says("return (select(2, pcall(function() a:keep({ beside = 1 }, print) end)))")
            .find("must be a selection") != std::string::npos);
}

TEST_CASE("binding: rows at the start or end are those whose time hardly recurs") {
  // Whether these uploads are: rows of "{ start, end }" in microseconds.
  const auto at_ends = [](const std::string& kernels, const std::vector<Span>& uploads) {
    std::string trace = "{ ops = { " + kernels;
    for (const Span& us : uploads)
      trace += fmt::format("{{ {}, {}, copy = 'h2d', stream = 8 }}, ", us.start, us.end);
    return answer(trace + "} }", "return trace:ops { kind = 'copy' }:at_start_or_end()");
  };
  std::string twelve;  // kernels of 1 ms that nothing repeats
  for (int i = 0; i < 12; ++i)
    twelve += fmt::format("{{ {}, {}, kernel = '{}' }}, ", 1000 * i, 1000 * (i + 1),
                          static_cast<char>('a' + i));
  const Span early{500, 800};
  CHECK(at_ends(twelve, {early, {1500, 1800}}) == "true");
  CHECK(at_ends(twelve, {{7000, 7100}, {8000, 8100}, {10'900, 11'000}}) == "false");
  CHECK(at_ends(twelve, {early, {3500, 3800}, {6500, 6800}, {9500, 9800}}) == "false");
  CHECK(at_ends(twelve, {{5000, 5100}}) == "false");  // once, but neither start nor end
  // Of 300 us early and 300 us later 100 us recur in each quarter, of 180 us later 60 us.
  CHECK(at_ends(twelve, {early, {4000, 4100}, {6000, 6100}, {9500, 9600}}) == "false");
  CHECK(at_ends(twelve, {early, {4000, 4060}, {6000, 6060}, {9500, 9560}}) == "false");
  CHECK(at_ends(twelve, {early, {4000, 4050}, {6000, 6050}, {9500, 9560}}) == "true");
  CHECK(at_ends(twelve, {{11'100, 11'200}}) == "true");  // after the last kernel has begun
  CHECK(at_ends(twelve, {early, {11'100, 11'400}, {6000, 6400}}) == "false");
  CHECK(at_ends(twelve, {}) == "false");

  // Loading is the start, however long it takes; and so is what comes early, however few kernels
  // there are.
  const std::string late =
      "{ 0, 10, kernel = 'a' }, { 9000, 9500, kernel = 'b' }, { 9500, 9800, kernel = 'c' }, "
      "{ 9800, 9900, kernel = 'd' }, { 9900, 9950, kernel = 'e' }, ";
  CHECK(at_ends(late, {{5000, 6000}}) == "true");
  CHECK(at_ends("{ 0, 100, kernel = 'a' }, { 2000, 5000, kernel = 'b' }, { 5000, 9000, kernel = "
                "'c' }, ",
                {{500, 1000}}) == "true");

  // With steps the start is the first of them, on the host until the second begins there. A single
  // step may be any of them.
  const auto in_steps = [](const std::string& more, int steps = 5) {
    std::string ops, ranges;
    for (int i = 0; i <= steps; ++i) {
      ops += fmt::format("{{ {0}, {1}, kernel = 'k', launched = {{ {2}, {3} }} }}, ", 1000 * i + 20,
                         1000 * i + 990, 1000 * i + 5, 1000 * i + 10);
      ranges += fmt::format("{{ {}, {}, 'step {}' }}, ", 1000 * i, 1000 * i + 950, i);
    }
    const auto found = answer("{ ranges = { " + ranges + "}, ops = { " + ops + "} }",
                              "return trace:steps():count()");
    CHECK(found == std::to_string(steps));
    return answer("{ ranges = { " + ranges + "}, calls = { " + more + " }, ops = { " + ops + "} }",
                  "return trace:calls { class = 'sync' }:at_start_or_end()");
  };
  const auto wait = [](int at, int until) {
    return fmt::format("{{ {}, {}, 'cudaDeviceSynchronize' }}, ", at, until);
  };
  CHECK(in_steps(wait(1100, 1400)) == "true");
  CHECK(in_steps(wait(2100, 2400)) == "false");
  CHECK(in_steps(wait(5100, 5400)) == "false");  // the last step ends as the others do
  CHECK(in_steps(wait(1100, 1400) + wait(3100, 3200)) == "true");
  CHECK(in_steps(wait(1100, 1400) + wait(2100, 2400)) == "false");
  CHECK(in_steps(wait(1100, 1400), 1) == "false");
}

TEST_CASE("binding: quarters count, and say no more of which they are") {
  std::string kernels;
  for (int i = 0; i < 12; ++i)
    kernels += fmt::format("{{ {}, {}, kernel = '{}' }}, ", 1000 * i, 1000 * (i + 1),
                           static_cast<char>('a' + i));
  const auto asked = [&](const std::string& uploads) {
    return answer("{ ops = { " + kernels + uploads + " } }",
                  "local rows = trace:ops { kind = 'copy' } return rows:quarters() .. ' ' .. "
                  "tostring(rows:throughout())");
  };
  CHECK(asked("{ 7000, 7100, copy = 'h2d' }, { 9500, 9600, copy = 'h2d' }") == "2 false");
  CHECK(asked("{ 500, 600, copy = 'h2d' }, { 7000, 7100, copy = 'h2d' }, { 9500, 9600, copy = "
              "'h2d' }") == "3 true");
}

// The text of a report, as people see it.
#include <algorithm>

#include "base/text.hpp"
#include "report/phrases.hpp"
#include "support/program.hpp"
#include "support/traces.hpp"

using namespace support;

TEST_CASE("text: the verdict comes first: what is wrong, what it costs, what to do first") {
  const std::string text = on_one_line(advise("starved.sqlite").out);
  CHECK(text.starts_with(
      "starved.sqlite The GPU waits for the data loader. That costs about "
      "113.2 ms of each 160.2 ms step (71 %). Fix first: Load batches in worker processes; a step "
      "then takes about 47.0 ms (3.4x faster), and about 32.1 ms (5.0x) with all 3 fixes. "));
  // A note is no trouble, and if nothing can be judged that is the verdict.
  CHECK(contains(on_one_line(advise("compile.sqlite").out),
                 " No large problem was found. The GPU is busy for 98 % "));
  CHECK(contains(on_one_line(advise("good.sqlite --select precision-headroom").out),
                 " No large problem was found. The GPU is busy for "));
  CHECK(on_one_line(advise("compile-graphs.sqlite --select unfused-softmax").out)
            .starts_with("compile-graphs.sqlite This report cannot be judged: "));
  // Where the first problem cannot be forecast, the plan is one of the others.
  CHECK(contains(on_one_line(advise("data-dependent-sync.sqlite").out),
                 "; fixes 2 and 4 below take a batch to about "));
}

TEST_CASE("text: -q is the verdict and the plan, -v all the rest") {
  const std::string quiet = advise("starved.sqlite -q").out, brief = advise("starved.sqlite").out,
                    full = advise("starved.sqlite -v").out;
  CHECK(contains(on_one_line(quiet), "Fix first: "));
  CHECK(contains(quiet, "The fixes, one after the other\n"));
  CHECK(!contains(quiet, "Where a step goes"));
  CHECK(contains(brief, "Where a step goes"));
  CHECK(contains(brief, "[data-loader-starvation]"));
  for (const char* only_full :
       {"   evidence  ", "   why       ", "What a step waits for",
        "Checked and clean: ", "Not checked: ", "--unit chooses among: 'training step', window."}) {
    CHECK(!contains(brief, only_full));
    CHECK(contains(full, only_full));
  }
}

TEST_CASE(
    "text: a device says which steps are not judged, and why it has not the first one's levels") {
  CHECK(contains(on_one_line(advise("good.sqlite").out),
                 ", 5 of 6 training steps from NVTX ranges 'step #' "));
  // Two ranks with loops of their own.
  gh::Analysis a = analysed(R"(
    local ops = {}
    for step = 0, 11 do
      for k = 0, 7 do
        for rank = 0, 1 do
          local at, name = 1000 * step + 100 * k, k < 2 and 'both' or 'k' .. rank
          ops[#ops + 1] = { at + 10, at + 90, kernel = name .. k, rank = rank,
                            launched = { at, at + 5 } }
        end
      end
    end
    return { ops = ops })");
  REQUIRE(a.devices.size() == 2);
  CHECK_FALSE(contains(gh::device_text(a, a.devices[1]), "unlike"));
  a.devices[1].levels.push_back({"layer", 4});
  CHECK(contains(gh::device_text(a, a.devices[1]),
                 "; unlike device 0, with which it has 25 % of its operations in common"));
}

TEST_CASE("text: what is longer than the screen ends with the verdict again") {
  const auto verdicts = [](const std::string& lines) {
    const std::string text =
        on_one_line(advise("starved.sqlite", {"COLUMNS=160 LINES=" + lines}).out);
    return std::pair(text.find("Fix first: "), text.rfind("Fix first: "));
  };
  const auto fits = verdicts("200"), scrolls = verdicts("20");
  CHECK(fits.first == fits.second);
  CHECK(scrolls.first != scrolls.second);
}

TEST_CASE(
    "text: the plan has a line a fix, before the findings, and forecasts nothing where the replay "
    "does not fit") {
  const std::string starved = advise("starved.sqlite").out,
                    unlike = advise("um-umtouch-lora.sqlite").out;
  CHECK(contains(starved, "The fixes, one after the other\n   1. "));
  CHECK(starved.find("The fixes, one") < starved.find("1. error"));
  CHECK(contains(starved, " 160.2 ms →  47.0 ms   3.4x\n"));
  CHECK(
      contains(starved, "All 3 fixes: 32.1 ms, 5.0x faster; expect to measure 26.4 ms to 40.1 ms"));
  CHECK(contains(unlike, "The fixes, one after the other, at most\n"));
  CHECK(
      contains(unlike, "This is no forecast: the replayed steps differ from the average by 3.6 %"));
  CHECK(contains(on_one_line(unlike), " then takes no less than "));
  CHECK(!contains(unlike, "xpect to measure"));
  // If the report has all ranks, their waits for each other are forecast.
  CHECK(contains(advise("ddp-straggler.sqlite").out, "The fixes, one after the other\n"));
  // Stalls of single steps are a part of what stands for all.
  CHECK(contains(advise("checkpoint-stall.sqlite -v").out, "12.6 ms with this fix alone"));
}

TEST_CASE(
    "text: without steps every format speaks of the window, and of no step that a fix leaves") {
  const TempDir dir;
  std::filesystem::copy_file(GH_FIXTURES "/starved.sqlite", dir / "start.sqlite");
  run_sql(dir / "start.sqlite",
          "DELETE FROM NVTX_EVENTS; DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start > (SELECT "
          "MIN(start) + 60000000 FROM CUPTI_ACTIVITY_KIND_KERNEL)");
  const auto printed = [&](const std::string& format) {
    return advise("start.sqlite --measured-step 16.5ms " + format, {"COLUMNS=160", dir / ""}).out;
  };
  const std::string text = printed("-v"), page = printed("--format html"),
                    markdown = printed("--format markdown");
  CHECK(contains(text, ": the whole window, "));
  CHECK(contains(text, "What the window waits for"));
  CHECK(contains(text, "The fixes, one after the other, at most\n"));
  CHECK(contains(text, "This is no forecast: replaying the unchanged window is 3.0 % off"));
  CHECK(contains(text, "no less than "));
  CHECK(!contains(text, "xpect to measure"));
  CHECK(contains(text, "\n   window    "));
  CHECK(contains(page, "Length of the window"));
  CHECK(contains(page, "The window: "));
  CHECK(!contains(page, "Length of the step"));
  for (const std::string& format : {text, page, markdown}) {
    CHECK(contains(on_one_line(format), " is not used: no repetition was found"));
    CHECK(!contains(format, "with this fix alone, between 16"));
    CHECK(!contains(format, " a step ("));
  }
}

TEST_CASE("text: what waits for the GPU cost, each with its place") {
  const std::string brief = on_one_line(advise("syncs-pageable.sqlite").out);
  CHECK(contains(brief, "What waits for the GPU cost a step, each alone"));
  CHECK(contains(brief, "x cudaStreamSynchronize for a result of 2 B, in optimizer"));
  // What costs next to nothing is not said at first, and in full only if a digit shows it.
  CHECK_FALSE(contains(brief, "0.20 x"));
  CHECK_FALSE(contains(on_one_line(advise("good.sqlite").out), "waits for the GPU cost"));
  CHECK(contains(on_one_line(advise("good.sqlite -v").out), "waits for the GPU cost"));
  const std::string page = advise("syncs-pageable.sqlite --format html").out;
  CHECK(contains(page, "<section id=\"waits\""));
  CHECK(contains(page, "for a result of 2 B, in optimizer"));
}

TEST_CASE("text: no line is longer than the terminal is wide, and none ends in spaces" *
          slow_with_sanitizers) {
  for (const char* name :
       {"starved", "offload", "lora", "um-umtouch-full", "compile-graphs", "ddp", "eager"})
    for (const char* command : {"", "-v ", "facts "})
      for (const std::size_t width : {60, 80, 120}) {
        std::size_t longest = 0;
        for (const std::string& line : lines_of(advise(std::string(command) + name + ".sqlite",
                                                       {"COLUMNS=" + std::to_string(width)})
                                                    .out)) {
          const std::size_t text = line.find_first_not_of(' ');
          const bool one_word =
              text != line.npos && line.find(' ', text) == line.npos;  // it cannot be broken
          CHECK_MESSAGE((gh::display_width(line) <= width || one_word), name, " at ", width, ": ",
                        line);
          CHECK_MESSAGE((line.empty() || line.back() != ' '), name, ": ", line);
          longest = std::max(longest, gh::display_width(line));
        }
        CHECK(longest + 20 > std::min<std::size_t>(width, 110));  // and the width is used
      }
}

TEST_CASE("text: a number and its unit stay on one line" * slow_with_sanitizers) {
  for (const char* name : {"starved", "offload", "lora", "um-umtouch-full", "eager"})
    for (const std::size_t width : {60, 73, 80, 87, 100})
      for (const std::string& line :
           lines_of(advise(std::string(name) + ".sqlite -v", {"COLUMNS=" + std::to_string(width)})
                        .out)) {
        const std::string word = line.substr(std::min(line.find_first_not_of(' '), line.size()));
        CHECK_MESSAGE((!word.starts_with("% ") && !word.starts_with("%)") &&
                       !word.starts_with("ms ") && !word.starts_with("us ")),
                      name, " at ", width, ": ", line);
      }
}

TEST_CASE("text: it says where time went before what to fix") {
  const std::string text = advise("starved.sqlite").out;
  REQUIRE(contains(text, "Where a step goes (mean)\n  idle: input "));
  CHECK(text.find("Where a step goes") <
        text.find("1. error: The GPU waits for the data loader (saves about"));
  CHECK(contains(advise("starved.sqlite --range backward").out, "stretches from "));
  CHECK(contains(advise("ddp.sqlite").out, "Where a step goes (mean over devices)"));
  // In a terminal that has no UTF-8 bars are drawn with #.
  CHECK(contains(on_terminal("starved.sqlite", {"LC_ALL=C"}).out, "71 %  ####"));
  CHECK(contains(on_terminal("starved.sqlite").out, "71 %  ███"));
}

TEST_CASE(
    "text: a clean report says what was checked, and what could not be and how to record it") {
  const std::string clean = advise("good.sqlite -v").out;
  CHECK(contains(clean, "Checked and clean: "));
  CHECK(contains(clean, "Not checked: clock-throttle, tensor-idle: needs GPU metrics"));
  CHECK(contains(advise("good.sqlite").out, " could not be checked. -v names them"));
  CHECK(contains(advise("good.sqlite --select memory").out, "Nothing to fix was found."));
  const std::string graphs = advise("compile-graphs.sqlite -v --select unfused-softmax").out;
  CHECK(contains(graphs, "This report cannot be judged: "));
  CHECK(!contains(graphs, "Checked and clean"));
  CHECK(contains(graphs, "Not checked: unfused-softmax: "));
  CHECK(contains(graphs, "nsys profile --cuda-graph-trace=node"));
}

// The texts as a user sees them. After a change that is meant, look at each with your own eyes,
// then
//   GH_UPDATE_GOLDEN=1 build/release/tests/engine_tests -tc='text: golden*'
// writes them anew; the difference goes into the commit.
TEST_CASE("text: golden outputs are what is printed") {
  for (const std::string arguments :
       {"starved", "starved -v", "good", "offload", "um-umtouch-full", "compile-graphs", "eager"}) {
    const std::size_t space = arguments.find(' ');
    const std::string name = arguments.substr(0, space),
                      options = space == arguments.npos ? "" : arguments.substr(space);
    const Ran ran = advise(name + ".sqlite" + options, {"COLUMNS=100"});
    CHECK(ran.status == 0);
    CHECK(ran.err == "");
    const std::filesystem::path golden =
        std::filesystem::path(GH_SOURCE_DIR "/tests/report/golden") /
        (name + (options.empty() ? ".txt" : "-verbose.txt"));
    if (std::getenv("GH_UPDATE_GOLDEN")) write_file(golden, ran.out);
    if (std::filesystem::exists(golden) && read_file(golden) == ran.out) continue;
    const TempDir dir;
    write_file(dir / "printed", ran.out);
    FAIL_CHECK(shell("diff -uN '" + golden.string() + "' " + quoted(dir / "printed")).out);
  }
}

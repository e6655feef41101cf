// The text of a report, as people see it.
#include <algorithm>

#include "base/text.hpp"
#include "support/program.hpp"

using namespace support;

TEST_CASE(
    "text: the plan stands before the findings, and nothing is forecast where the replay does not "
    "fit") {
  const std::string starved = advise("starved.sqlite").out,
                    unlike = advise("alloc-churn.sqlite").out;
  CHECK(contains(starved, "What the fixes are worth together\n"));
  CHECK(starved.find("What the fixes") < starved.find("1. error"));
  CHECK(contains(starved, " now → "));
  CHECK(contains(starved, " after 1 and 2 → "));
  CHECK(contains(unlike, "What the fixes are worth together, at most\n"));
  CHECK(contains(unlike, "No forecast: the replayed steps differ from the average by 2.5 %"));
  CHECK(contains(unlike, "no less than "));
  CHECK(!contains(unlike, "once measured"));
  // Where the report has all ranks, their waits for each other are forecast.
  CHECK(contains(advise("ddp-straggler.sqlite").out, "What the fixes are worth together\n"));
  // Stalls of single steps are a part of what stands for all.
  CHECK(contains(advise("checkpoint-stall.sqlite").out, "12.6 ms with this fix alone"));
}

TEST_CASE(
    "text: without steps every format speaks of the window, and of no step that a fix leaves") {
  const TempDir dir;
  std::filesystem::copy_file(GH_FIXTURES "/starved.sqlite", dir / "start.sqlite");
  run_sql(dir / "start.sqlite",
          "DELETE FROM NVTX_EVENTS; DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start > (SELECT "
          "MIN(start) + 60000000 FROM CUPTI_ACTIVITY_KIND_KERNEL)");
  const auto printed = [&](const std::string& format) {
    return advise("start.sqlite --measured-step 16.5ms --format " + format, {"", dir / ""}).out;
  };
  const std::string text = printed("text"), page = printed("html"), markdown = printed("markdown");
  CHECK(contains(text, " window ("));
  CHECK(contains(text, "What the window waits for"));
  CHECK(contains(text, "What the fixes are worth together, at most\n"));
  CHECK(contains(text, "No forecast: replaying the unchanged window is 3.0 % off"));
  CHECK(contains(text, "no less than "));
  CHECK(!contains(text, "once measured"));
  CHECK(contains(text, "\n   window    "));
  CHECK(contains(markdown, " of the window ("));
  CHECK(contains(page, "Length of the window"));
  CHECK(contains(page, "The window: "));
  CHECK(!contains(page, "Length of the step"));
  for (const std::string& format : {text, page, markdown}) {
    CHECK(contains(
        format,
        "The measured step of 16.5 ms (--measured-step) is not used: nothing was found that "
        "repeats"));
    CHECK(!contains(format, "with this fix alone, between 16"));
    CHECK(!contains(format, " a step ("));
  }
}

TEST_CASE("text: no line is longer than the terminal is wide, and none ends in spaces" *
          slow_with_sanitizers) {
  for (const char* name :
       {"starved", "offload", "lora", "um-umtouch-full", "compile-graphs", "ddp", "eager"})
    for (const char* command : {"", "facts "})
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
      for (const std::string& line : lines_of(
               advise(std::string(name) + ".sqlite", {"COLUMNS=" + std::to_string(width)}).out)) {
        const std::string word = line.substr(std::min(line.find_first_not_of(' '), line.size()));
        CHECK_MESSAGE((!word.starts_with("% ") && !word.starts_with("%)") &&
                       !word.starts_with("ms ") && !word.starts_with("us ")),
                      name, " at ", width, ": ", line);
      }
}

TEST_CASE(
    "text: it says where time went before what to fix, and what a finding is worth in its first "
    "line") {
  const std::string text = advise("starved.sqlite").out;
  REQUIRE(contains(text, "Where a step goes (mean)\n  idle: input "));
  CHECK(text.find("Where a step goes") <
        text.find("1. error: The GPU waits for the data loader, worth at most "));
  CHECK(contains(advise("starved.sqlite --range backward").out, "stretches of "));
  CHECK(contains(advise("ddp.sqlite").out, "Where a step goes (mean over devices)"));
  // In a terminal that has no UTF-8 bars are drawn with #.
  CHECK(contains(on_terminal("starved.sqlite", {"LC_ALL=C"}).out, "71 %  ####"));
  CHECK(contains(on_terminal("starved.sqlite").out, "71 %  ███"));
}

TEST_CASE(
    "text: a clean report says what was checked, and what could not be and how to record it") {
  const std::string clean = advise("good.sqlite").out;
  CHECK(contains(clean, "Checked and clean: "));
  CHECK(contains(clean, "Not checked: clock-throttle, tensor-idle: needs GPU metrics"));
  CHECK(contains(advise("good.sqlite --select memory").out,
                 "Nothing was found by the rules that could look."));
  const std::string graphs = advise("compile-graphs.sqlite --select unfused-softmax").out;
  CHECK(!contains(graphs, "Nothing was found"));  // nobody looked
  CHECK(!contains(graphs, "Checked and clean"));
  CHECK(contains(graphs, "Not checked: unfused-softmax: "));
  CHECK(contains(graphs, "nsys profile --cuda-graph-trace=node"));
}

// The texts as a user sees them. After a change that is meant, look at each with your own eyes,
// then
//   GH_UPDATE_GOLDEN=1 build/release/tests/engine_tests -tc='text: golden*'
// writes them anew; the difference goes into the commit.
TEST_CASE("text: golden outputs are what is printed") {
  for (const char* name :
       {"starved", "good", "offload", "um-umtouch-full", "compile-graphs", "eager"}) {
    const Ran ran = advise(std::string(name) + ".sqlite", {"COLUMNS=100"});
    CHECK(ran.status == 0);
    CHECK(ran.err == "");
    const std::filesystem::path golden =
        std::filesystem::path(GH_SOURCE_DIR "/tests/report/golden") / (name + std::string(".txt"));
    if (std::getenv("GH_UPDATE_GOLDEN")) write_file(golden, ran.out);
    if (std::filesystem::exists(golden) && read_file(golden) == ran.out) continue;
    const TempDir dir;
    write_file(dir / "printed", ran.out);
    FAIL_CHECK(shell("diff -uN '" + golden.string() + "' " + quoted(dir / "printed")).out);
  }
}

// What a window without steps shows may be the program's start or end, or its problem: whole
// programs, and all rules.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "analysis/steps.hpp"
#include "rules/rules.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

// For the traces below: kernels that follow each other at once, in an order that nothing repeats
// (a linear congruential generator chooses), of 260 to 350 us, and are launched in time.
const std::string irregular = R"(
  local MiB, ops, calls, at, seed = 1048576, {}, {}, 0, 1
  local function chosen(below)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed // 65536 % below
  end
  local function run(names)
    local time = 260 + chosen(90)
    ops[#ops + 1] = { at, at + time, kernel = names[1 + chosen(#names)], blocks = 4096,
                      launched = { at - 40, at - 35 } }
    at = at + time
  end
)";

// Photons are traced through a tree. It is built on the GPU in one go; later the host sorts the
// hits of each batch before it sends the next.
const std::string photons = irregular + R"(
  local build, trace = { "keys", "scan", "nodes", "refit", "emit" }, { "hit", "scatter", "absorb" }
  for _ = 1, 300 do run(build) end
  for _ = 1, 60 do
    for _ = 0, chosen(4) do run(trace) end
    calls[#calls + 1] = { at + 5, at + 25, "cudaStreamSynchronize" }
    ops[#ops + 1] = { at + 10, at + 20, copy = "d2h", bytes = 32768, to = "pinned",
                      launched = { at + 1, at + 4 } }
    at = at + 2500 + chosen(500)
  end
  return { ops = ops, calls = calls }
)";

// An assistant is loaded: the host prepares weights and uploads each from pageable memory, and a
// kernel lays it out. Then it works without a pause, and at last the host saves its answer.
const std::string assistant = irregular + R"(
  local lay_out = { "transpose", "pack", "cast", "split", "copy" }
  local work = { "norm", "project", "attend", "gate", "mix", "choose", "rotate" }
  for _ = 1, 40 do
    at = at + 900 + chosen(200)
    ops[#ops + 1] = { at + 10, at + 1510, copy = "h2d", bytes = 8 * MiB, from = "pageable",
                      launched = { at + 1, at + 1500 } }
    at = at + 1520
    run(lay_out)
  end
  for _ = 1, 600 do run(work) end
  ops[#ops + 1] = { at + 20000, at + 20100, copy = "d2h", bytes = 65536, to = "pinned" }
  return { ops = ops, calls = calls }
)";

Report advice(const std::string& trace) {
  const Analysis analysis = analysed(trace);
  const Facts facts(analysis);
  CHECK(analysis.devices.at(0).source == StepSource::none);
  return evaluate(own_rules(), analysis, facts, {});
}

// What is found at `least` this severity: " host-bound launch-bound".
std::string rules_of(const Report& report, Severity least) {
  std::set<std::string> rules;
  for (const Finding& f : report.findings)
    if (f.severity >= least) rules.insert(f.rule);
  std::string text;
  for (const std::string& rule : rules) text += " " + rule;
  return text;
}

}  // namespace

TEST_CASE("start or end: a problem that comes late is told by its share") {
  const Report report = advice(photons);
  CHECK(rules_of(report, Severity::error) == " host-bound");
}

TEST_CASE("start or end: what only loads and saves is a note, however long it takes") {
  const Report report = advice(assistant);
  CHECK(rules_of(report, Severity::warning) == "");
  const std::string noted = rules_of(report, Severity::note);
  CHECK_MESSAGE(contains(noted, " host-bound"), noted);
  CHECK_MESSAGE(contains(noted, " pageable-memcpy"), noted);
}

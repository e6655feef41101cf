// Rule tests: cases in ID.test.lua next to ID.lua.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// How many cases passed and failed, and what to print.
struct RuleTestResult {
  int passed = 0, failed = 0;
  std::string output;
  std::vector<std::string> notes;  ///< about verbs that rules should no longer use
};

struct RuleTestOptions {
  std::filesystem::path fixtures;
  std::string filter = "*";  ///< a glob: only cases with a matching name or rule id
  bool update = false;       ///< write new snapshots instead of comparing with them
  /// Processor time for all cases of one file, of which the first always runs: ten times what a
  /// single rule may take. A real rule's cases take about ten milliseconds.
  std::int64_t cpu_ns = 100'000'000'000;
};

/// Runs every *.test.lua below a directory. A test file returns a list of cases:
///
///   { name = "fires when ...",
///     trace = { ... } (see literal_trace.hpp) or fixture = "starved",
///     options = { share = 0.1 },
///     expect = "clean" | "not checked" | "snapshot" |
///              { { severity = "error", subject = "...", title = "*glob*", message = "*glob*",
///                  confidence = "high", advice = "*glob of the first*", worth = { 0.6, 0.8 } },
///                ... } }
///
/// Strict: every finding of the rule has to be expected, in order; `worth` bounds the recoverable
/// share. "snapshot" compares everything that the rule reports to the case in ID.snapshot. Fixtures
/// are the *.sqlite of `fixtures`. Savings are replayed on these; on literal traces, in which every
/// step would be host-bound, only with `replay = true`.
///
/// Throws Error if there is nothing to run.
RuleTestResult run_rule_tests(const std::filesystem::path& directory,
                              const RuleTestOptions& options);

/// Calls take(name of the case, trace) with each literal trace of a test file.
void each_literal_trace(const std::string& test_source,
                        const std::function<void(const std::string&, Trace)>& take);

/// The trace of the first case of a test file that expects findings: an existing fixture if a case
/// runs on one, otherwise a literal trace. Nothing if there is none. For documentation.
std::optional<Trace> first_firing_trace(const std::string& test_source,
                                        const std::filesystem::path& fixtures);

}  // namespace gh

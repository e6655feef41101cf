// Tests of rules: cases in ID.test.lua beside ID.lua.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "trace/trace.hpp"

namespace gh {

/// How many cases passed and failed, and what to print.
struct RuleTestResult {
  int passed = 0, failed = 0;
  std::string output;
};

struct RuleTestOptions {
  std::filesystem::path fixtures;
  std::string filter = "*";  ///< a glob: only cases whose name, or rule's id, it matches
  bool update = false;       ///< write snapshots anew instead of comparing with them
  /// Processor time for the cases of one file together, of which the first runs in any event: ten
  /// times what a single rule may take. Those of a rule take some ten milliseconds.
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
/// fraction. "snapshot" holds all that the rule says to what ID.snapshot has for the case. Fixtures
/// are the *.sqlite of `fixtures`. On these what findings are worth is replayed; on literal traces,
/// in which the host would bound every step, only with `replay = true`.
///
/// Throws Error where there is nothing to run.
RuleTestResult run_rule_tests(const std::filesystem::path& directory,
                              const RuleTestOptions& options);

/// Calls take(name of the case, trace) with each literal trace of a test file.
void each_literal_trace(const std::string& test_source,
                        const std::function<void(const std::string&, Trace)>& take);

/// The first case of a test file that expects findings: where it runs on a fixture that is there,
/// that one, otherwise on a literal trace. Nothing where there is none. For documentation.
std::optional<Trace> first_firing_trace(const std::string& test_source,
                                        const std::filesystem::path& fixtures);

}  // namespace gh

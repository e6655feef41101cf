// Tests of rules: cases in ID.test.lua beside ID.lua.
#pragma once
#include <filesystem>
#include <string>

namespace gh {

/// How many cases passed and failed, and what to print.
struct RuleTestResult {
  int passed = 0, failed = 0;
  std::string output;
};

/// Runs every *.test.lua below a directory. A test file returns a list of cases:
///
///   { name = "fires when ...", trace = { ... } (see trace_literal.hpp) or fixture = "starved", options = { share = 0.1 },
///     expect = "clean" | "not checked" | { { severity = "error", subject = "...", message = "*glob*", confidence = "high", worth = { 0.6, 0.8 } }, ... } }
///
/// Strict: every finding of the rule has to be expected, in order; `worth` bounds the recoverable fraction. Fixtures are the *.sqlite
/// of `fixtures`. Throws Error where there is nothing to run.
RuleTestResult run_rule_tests(const std::filesystem::path& directory, const std::filesystem::path& fixtures);

}  // namespace gh

// The program on top of the engine. Each command is a file of its own, named like it: what it takes
// and what it does. A new one is such a file, a line here, and a line in main.cpp's table.
#pragma once
#include <functional>

#include "cli/parser.hpp"

namespace gh {

/// Exit statuses.
inline constexpr int done = 0, threshold_met = 1, could_not = 2;

/// A command as the command line knows it, and what it does once that has been parsed: `run`
/// returns the exit status, or throws Error.
struct Command {
  Parser parser;
  std::function<int()> run;
};

Command add_check(CLI::App& app);
Command add_baseline(CLI::App& app);
Command add_gate(CLI::App& app);
Command add_digest(CLI::App& app);
Command add_fleet(CLI::App& app);
Command add_slurm(CLI::App& app);
Command add_diff(CLI::App& app);
Command add_facts(CLI::App& app);
Command add_rules(CLI::App& app);
Command add_explain(CLI::App& app);
Command add_test(CLI::App& app);
Command add_new_rule(CLI::App& app);
Command add_docs(CLI::App& app);
Command add_scrub(CLI::App& app);
Command add_config(CLI::App& app);
Command add_completion(CLI::App& app);
Command add_manual(CLI::App& app);

}  // namespace gh

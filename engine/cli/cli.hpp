// The program on top of the engine. Each command has its own file, named after it, with what it
// takes and what it does. A new command is such a file, a line here, and a line in main.cpp.
#pragma once
#include <functional>

#include "cli/parser.hpp"

namespace gh {

/// Exit statuses; the first three are those of a Verdict. `closed_pipe`: what shells report of a
/// program that SIGPIPE ended.
inline constexpr int done = 0, threshold_met = 1, could_not = 2, closed_pipe = 141;

/// A command on the command line, and what it does: `run` returns the exit status, or throws Error.
struct Command {
  Parser parser;
  std::function<int()> run;
};

Command add_record(CommandLine& line);
Command add_try(CommandLine& line);
Command add_verify(CommandLine& line);
Command add_calibration(CommandLine& line);
Command add_check(CommandLine& line);
Command add_demo(CommandLine& line);
Command add_serve(CommandLine& line);
Command add_baseline(CommandLine& line);
Command add_gate(CommandLine& line);
Command add_digest(CommandLine& line);
Command add_fleet(CommandLine& line);
Command add_slurm(CommandLine& line);
Command add_diff(CommandLine& line);
Command add_facts(CommandLine& line);
Command add_top(CommandLine& line);
Command add_layers(CommandLine& line);
Command add_rules(CommandLine& line);
Command add_explain(CommandLine& line);
Command add_test(CommandLine& line);
Command add_new_rule(CommandLine& line);
Command add_docs(CommandLine& line);
Command add_scrub(CommandLine& line);
Command add_mcp(CommandLine& line);
Command add_config(CommandLine& line);
Command add_completion(CommandLine& line);
Command add_manual(CommandLine& line);
Command add_help(CommandLine& line);
Command add_version(CommandLine& line);

}  // namespace gh

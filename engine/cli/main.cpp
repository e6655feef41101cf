// gh-advise: the table of its commands.
#include <malloc.h>

#include "base/files.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"

namespace {

int run(int argc, char** argv) {
  gh::CommandLine line;
  const gh::Command commands[] = {
      gh::add_record(line),       // record a program, ...
      gh::add_check(line),        // ... and advise on reports
      gh::add_demo(line),         // the same of a report inside the program,
      gh::add_serve(line),        // or in a browser
      gh::add_try(line),          // try fixes,
      gh::add_verify(line),       // see what a fix brought,
      gh::add_calibration(line),  // and what all forecasts were worth
      gh::add_baseline(line),     // keep measurements of the base branch ...
      gh::add_gate(line),         // ... and judge a change by them
      gh::add_digest(line),       // keep what matters of one rank ...
      gh::add_fleet(line),        // ... and advise on all ranks of a job
      gh::add_slurm(line),        // both as Slurm jobs
      gh::add_diff(line),         // what changed between two reports
      gh::add_facts(line),        // what was measured
      gh::add_top(line),          // what takes the time
      gh::add_layers(line),       // what each layer takes
      gh::add_rules(line),        // the rules,
      gh::add_explain(line),      // what one of them does,
      gh::add_test(line),         // tests of a team's rules,
      gh::add_new_rule(line),     // and one to start from
      gh::add_docs(line),         // the documentation as Markdown
      gh::add_scrub(line),        // a copy of a report that can be shared
      gh::add_mcp(line),          // answers to agents
      gh::add_config(line),       // the configuration in effect
      gh::add_completion(line),   // for shells
      gh::add_manual(line),       // for man
      gh::add_help(line),         // of the program or a command
      gh::add_version(line),      // of the program and its libraries
  };
  if (!line.parse({argv + 1, argv + argc})) return gh::done;
  for (const gh::Command& command : commands)
    if (command.parser.given()) return command.run();
  return gh::could_not;
}

}  // namespace

int main(int argc, char** argv) {
  gh::hold_standard_streams();
  gh::clean_up_when_interrupted();
  // Selections of millions of rows come and go. Memory of such a size goes back to the system when
  // it is freed; otherwise the heap only grows. A lower threshold costs page faults: with 128 KiB,
  // a peak of 70 MB took 90,000 of them.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  try {
    return run(argc, argv);
  } catch (const gh::ClosedPipe&) {
    return gh::closed_pipe;
  } catch (const std::exception& e) {
    gh::print_message(e.what());
    return gh::could_not;
  }
}

// gh-advise: the table of its commands.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <malloc.h>

#include <cstdio>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/cli.hpp"
#include "cli/parse.hpp"

namespace {

int run(int argc, char** argv) {
  CLI::App app;
  gh::describe_program(app);
  const gh::Command commands[] = {
      gh::add_check(app),       // advise on reports
      gh::add_baseline(app),    // keep what captures come to ...
      gh::add_gate(app),        // ... and judge others by it
      gh::add_digest(app),      // keep what one rank of a job comes to ...
      gh::add_fleet(app),       // ... and bring all ranks together
      gh::add_slurm(app),       // both as Slurm jobs
      gh::add_diff(app),        // what changed between two reports
      gh::add_facts(app),       // what was measured
      gh::add_rules(app),       // the rules,
      gh::add_explain(app),     // what one of them does,
      gh::add_test(app),        // tests of a team's own,
      gh::add_new_rule(app),    // and one to start from
      gh::add_docs(app),        // the documentation as Markdown
      gh::add_scrub(app),       // a copy of a report that can be shared
      gh::add_config(app),      // the configuration in effect
      gh::add_completion(app),  // for shells
      gh::add_manual(app),      // for man
  };
  if (!gh::parse(app, {argv + 1, argv + argc})) return gh::done;
  for (const gh::Command& command : commands)
    if (command.parser.given()) return command.run();
  return gh::could_not;
}

}  // namespace

int main(int argc, char** argv) {
  gh::clean_up_when_interrupted();
  // Selections of millions of rows come and go. With this threshold the memory that they held goes
  // back to the system; otherwise the heap only grows.
  mallopt(M_MMAP_THRESHOLD, 1 << 17);
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "gh-advise: {}\n", gh::printable(e.what()));
    return gh::could_not;
  }
}

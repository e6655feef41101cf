// gh-advise completion, gh-advise manual: what is drawn from the command line's own description.

#include "cli/cli.hpp"
#include "cli/command_line.hpp"
#include "cli/output.hpp"

namespace gh {

Command add_completion(CLI::App& app) {
  Parser command(app, "completion",
                 "Print what a shell sources to complete commands, options and rules");
  const auto shell = std::make_shared<std::string>();
  command.option("SHELL", *shell, "bash, zsh or fish").required().one_of(shells);
  return {command, [&app, shell] {
            write(completion(app, *shell, own_rules()), to_stdout);
            return done;
          }};
}

Command add_manual(CLI::App& app) {
  Parser command(app, "manual", "Print the manual page, as in: gh-advise manual | man -l -");
  return {command, [&app] {
            write(manual_page(app), to_stdout);
            return done;
          }};
}

}  // namespace gh

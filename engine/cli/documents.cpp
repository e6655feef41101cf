// gh-advise completion, gh-advise manual: what is drawn from the command line's own description.
#include <CLI/CLI.hpp>

#include "cli/cli.hpp"
#include "cli/command_line.hpp"
#include "cli/output.hpp"

namespace gh {

Command add_completion(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "completion", "Print what a shell sources to complete commands, options and rules");
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->transform(CLI::IsMember(shells));
  return {command, [&app, shell] {
            write(completion(app, *shell, own_rules()), to_stdout);
            return done;
          }};
}

Command add_manual(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("manual", "Print the manual page, as in: gh-advise manual | man -l -");
  return {command, [&app] {
            write(manual_page(app), to_stdout);
            return done;
          }};
}

}  // namespace gh

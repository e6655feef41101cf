// gh-advise help: the help of the program, or of one command.
#include <memory>

#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/version.hpp"

namespace gh {

Command add_help(CommandLine& line) {
  Parser command(line, "help", "Print the help of the program or of a command");
  const auto of = std::make_shared<std::string>();
  command.option("COMMAND", *of, "The command");
  return {command, [&line, of] {
            write(line.help(*of), to_stdout);
            return done;
          }};
}

Command add_version(CommandLine& line) {
  Parser command(line, "version", "Print the version of the program and of its libraries");
  return {command, [] {
            write(version_text(), to_stdout);
            return done;
          }};
}

}  // namespace gh

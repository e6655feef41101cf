// From the words of a command line to the command and its options.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gh {

/// Gives the program its name, its version flag and what its help says around the commands.
void describe_program(CLI::App& app);

/// Parses `arguments`, the program's name left out, once all commands have been added. Words that
/// begin with a report are taken for `check`. False where the user asked for the help or the
/// version, which is printed. Throws Error that says what is wrong and suggests what was meant.
bool parse(CLI::App& app, std::vector<std::string> arguments);

}  // namespace gh

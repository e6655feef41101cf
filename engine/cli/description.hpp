// The command line as data: what the manual page and the completions are drawn from, so that they
// never lag behind it.
#pragma once
#include <string>
#include <vector>

#include "cli/parser.hpp"

namespace gh {

/// What stands behind an option, or where an argument does.
struct Value {
  /// `text`: nothing to complete. `list`: several words, separated by commas. `rules`: the same of
  /// rules, and categories too.
  enum class Kind { none, flag, text, words, list, rule, rules, file, folder };
  Kind kind = Kind::none;
  std::vector<std::string> words;
};

/// An option, or an argument that has a place.
struct Argument {
  std::vector<std::string> names;  ///< "-o", "--output"; none of a positional one
  std::string type;                ///< "FILE"; the name of a positional one
  std::string doc;
  Value value;
  bool several = false;
};

struct Description {
  std::string name, doc;
  std::vector<Argument> options, positionals;
  /// What stands where an argument does.
  Value value() const { return positionals.empty() ? Value{} : positionals.front().value; }
};

/// The program itself: its own options.
Description describe(const CommandLine& line);

/// All commands.
std::vector<Description> describe_commands(const CommandLine& line);

/// What the program's help ends with, line by line.
std::vector<std::string> help_footer(const CommandLine& line);

}  // namespace gh

// The command line: the program, its commands, and how a command says what it takes. CLI11 does the
// work, but its header costs six seconds in each file that includes it, so commands include this.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gh {

/// An option or argument of a command, to be described further.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  Option exactly(int values);                            ///< not more and not fewer
  Option one_of(const std::vector<std::string>& words);  ///< nothing else is taken
  Option between(int least, int most);

 private:
  CLI::Option* option_;
};

/// The program's command line.
class CommandLine {
 public:
  CommandLine();  ///< with its name, its help and --version, and no command yet
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Parses `arguments`, without the program's name, once all commands have been added. Arguments
  /// that begin with a report go to `check`. Returns false if the user asked for help or the
  /// version, which it prints. Throws Error that says what is wrong and suggests a correction.
  bool parse(std::vector<std::string> arguments);

  /// The help of a command, or of the program if that is "". Throws Error if there is no such
  /// command.
  std::string help(const std::string& command) const;

  /// For Parser, and for what describes the commands; nobody else needs CLI11.
  CLI::App& app() const { return *app_; }

 private:
  friend class Parser;
  std::map<std::string, std::vector<std::string>*> programs_;  // by command: what it runs
  std::unique_ptr<CLI::App> app_;
};

/// A command of the program, while it is described and after it was parsed.
class Parser {
 public:
  Parser(CommandLine& line, const std::string& name, const std::string& help);

  /// An option ("--config FILE", "-o,--output FILE") or an argument ("REPORT"), and where its value
  /// goes. "--rules DIR..." may be given several times, "--select RULE,..." also with several
  /// values in one word. For texts, numbers, and lists and optional ones of them: parser.cpp says
  /// which.
  template <class Value>
  Option option(const std::string& spec, Value& value, const std::string& help);
  /// A program to run, with its arguments: all words after --, as they are.
  void program(std::vector<std::string>& words, const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);

  /// Whether this is the command that the user gave.
  bool given() const;

 private:
  CommandLine& line_;
  CLI::App* command_;
};

}  // namespace gh

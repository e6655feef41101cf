#include "cli/parser.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/version.hpp"

namespace gh {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(c->get_name());
  return names;
}

// CLI11 takes a word in brackets, "[a,b]", for a list. A word of the command line is one value,
// whatever a file may be called: this mark, which no word can begin with, is put before such a word
// and taken off again before anything looks at the value.
constexpr char one_word = '\0';

// Words in brackets, and all that stand after --, which goes: CLI11 forgets it once a command has
// its arguments.
void mark_words(std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin(); word != words.end(); ++word)
    if (word > dashes || word->starts_with('[')) word->insert(word->begin(), one_word);
  if (dashes != words.end()) words.erase(dashes);
}

CLI::Option* unmarked(CLI::Option* option) {
  return option->transform(
      [](const std::string& word) { return word.starts_with(one_word) ? word.substr(1) : word; });
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Throws where the first word looks like a misspelt command rather than a report.
void refuse_misspelt_command(const std::string& word, const std::vector<std::string>& commands) {
  std::error_code ec;
  const bool like_a_command =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos &&
      word.front() != '-';
  const std::string hint = did_you_mean(word, commands);
  if (like_a_command && !hint.empty() && !std::filesystem::exists(word, ec))
    throw Error(fmt::format("'{}' is neither a command nor a file{}", word, hint));
}

// "--baseline=$UNSET": CLI11 would take the next word for its value.
void refuse_empty_values(const std::vector<std::string>& arguments) {
  for (const std::string& word : arguments) {
    if (word == "--") return;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      throw Error(
          fmt::format("{}: is empty; give a value, or leave the option out", printable(word)));
  }
}

// Whether some command has this option, and it takes the next word: "--color", not "--color=never".
bool takes_a_word(const CLI::App& app, const std::string& word) {
  const std::vector<const CLI::App*> commands =
      app.get_subcommands([](const CLI::App*) { return true; });
  return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
    const CLI::Option* option = command->get_option_no_throw(word);
    return option && option->get_items_expected_max() > 0;
  });
}

// "--color never diff A B": the command goes before the options that stand before it.
void move_command_to_front(std::vector<std::string>& words, const CLI::App& app,
                           const std::vector<std::string>& commands) {
  std::size_t i = 0;
  while (i < words.size() && words[i].size() > 1 && words[i].front() == '-' && words[i] != "--")
    i += takes_a_word(app, words[i]) ? 2 : 1;
  if (i < words.size() && contains(commands, words[i]))
    std::rotate(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i),
                words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
}

// What CLI11 could not parse, in one line with a suggestion.
[[noreturn]] void explain(const CLI::App& app, const CLI::ParseError& error, bool has_command,
                          bool takes_program) {
  const auto parsed = app.get_subcommands();
  const CLI::App& command = parsed.empty() ? app : *parsed.front();
  const std::string help =
      fmt::format("see `gh-advise {}--help`", parsed.empty() ? "" : command.get_name() + " ");
  for (const std::string& extra : app.remaining(true)) {
    if (!extra.starts_with("-")) continue;
    const std::string name = extra.substr(0, extra.find('='));
    std::vector<std::string> known = option_names(command);
    if (!has_command) known.push_back("--version");
    throw Error(fmt::format("{} has no option '{}'{}; {}", command.get_name(), printable(name),
                            did_you_mean(name, known),
                            takes_program ? "a program's own options go after --" : help));
  }
  std::string what = parsed.empty() ? "name a report, or a command" : error.what();
  std::erase(what, one_word);
  throw Error(fmt::format("{}; {}", printable(what), help));
}

// Takes an ending off, if it is there.
bool cut_off(std::string& text, std::string_view ending) {
  if (!text.ends_with(ending)) return false;
  text.resize(text.size() - ending.size());
  return true;
}

}  // namespace

CommandLine::CommandLine() : app_(std::make_unique<CLI::App>()) {
  app_->description(
      "Finds what slows down a GPU program, from its Nsight Systems report or PyTorch "
      "profiler trace: what to fix first, what that saves, and where the proof is.");
  app_->name("gh-advise");
  app_->set_version_flag("-V,--version", std::string("gh-advise ") + GH_ADVISE_VERSION);
  app_->require_subcommand(1);
  app_->footer(
      "`gh-advise REPORT...` is short for `gh-advise check REPORT...`.\n"
      "Exit status: 0 if all went well; 1 if --fail-on is met, gate finds a regression or a rule "
      "test fails; 2 if the job could not be done or gate cannot tell; 141 if the reader of a pipe "
      "is gone.");
}

CommandLine::~CommandLine() = default;

bool CommandLine::parse(std::vector<std::string> arguments) {
  CLI::App& app = *app_;
  const std::vector<std::string> commands = command_names(app);
  move_command_to_front(arguments, app, commands);
  const bool has_command =
      !arguments.empty() && (contains(commands, arguments.front()) ||
                             contains({"--help", "-h", "--version", "-V"}, arguments.front()));
  if (!arguments.empty() && !has_command) {
    refuse_misspelt_command(arguments.front(), commands);
    arguments.insert(arguments.begin(), "check");
  }
  refuse_empty_values(arguments);
  // Words of a program that is run are not for CLI11.
  const auto runs = programs_.find(arguments.empty() ? "" : arguments.front());
  std::vector<std::string> program;
  if (const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
      runs != programs_.end() && dashes != arguments.end()) {
    program.assign(std::next(dashes), arguments.end());
    arguments.erase(dashes, arguments.end());
  }
  mark_words(arguments);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last first
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const auto parsed = app.get_subcommands();
    write_to_stdout(help(parsed.empty() ? "" : parsed.front()->get_name()));
    return false;
  } catch (const CLI::CallForVersion&) {
    write_to_stdout(version_text());
    return false;
  } catch (const CLI::ParseError& error) {
    explain(app, error, has_command, runs != programs_.end());
  }
  if (runs != programs_.end()) {
    runs->second->insert(runs->second->end(), program.begin(), program.end());
    if (runs->second->empty())
      throw Error(fmt::format("name the program: gh-advise {} -- python train.py", runs->first));
  }
  return true;
}

std::string CommandLine::help(const std::string& command) const {
  if (command.empty())  // not app_->help(), which is that of the command given: of `help`
    return app_->get_formatter()->make_help(app_.get(), app_->get_name(),
                                            CLI::AppFormatMode::Normal);
  const std::vector<std::string> commands = command_names(*app_);
  if (!contains(commands, command))
    throw Error(fmt::format("there is no command '{}'{}; `gh-advise help` lists them",
                            printable(command), did_you_mean(command, commands)));
  return app_->get_subcommand(command)->help("gh-advise");
}

Option Option::required() { return Option(option_->required()); }
Option Option::exactly(int values) { return Option(option_->expected(values)); }
Option Option::one_of(const std::vector<std::string>& words) {
  return Option(option_->check(CLI::IsMember(words)));
}
Option Option::between(int least, int most) {
  return Option(option_->check(CLI::Range(least, most)));
}

Parser::Parser(CommandLine& line, const std::string& name, const std::string& help)
    : line_(line), command_(line.app().add_subcommand(name, help)) {}

template <class Value>
Option Parser::option(const std::string& spec, Value& value, const std::string& help) {
  const std::size_t space = spec.find(' ');
  CLI::Option* option = unmarked(command_->add_option(spec.substr(0, space), value, help));
  if (space == std::string::npos) return Option(option);
  std::string type = spec.substr(space + 1);
  const bool several = cut_off(type, "...");
  if (several) option->allow_extra_args(false);
  if (several && cut_off(type, ",")) option->delimiter(',');
  return Option(option->type_name(type));
}
using Text = const std::string&;
template Option Parser::option(Text, std::string&, Text);
template Option Parser::option(Text, std::vector<std::string>&, Text);
template Option Parser::option(Text, std::optional<std::string>&, Text);
template Option Parser::option(Text, std::optional<int>&, Text);
template Option Parser::option(Text, std::optional<std::int64_t>&, Text);
template Option Parser::option(Text, std::int64_t&, Text);
template Option Parser::option(Text, int&, Text);
template Option Parser::option(Text, unsigned&, Text);

void Parser::program(std::vector<std::string>& words, const std::string& help) {
  command_->add_option("PROGRAM", words, help);
  line_.programs_[command_->get_name()] = &words;
}
void Parser::flag(const std::string& name, bool& value, const std::string& help) {
  command_->add_flag(name, value, help);
}

bool Parser::given() const { return command_->parsed(); }

}  // namespace gh

#include "cli/description.hpp"

#include <CLI/CLI.hpp>

#include "analysis/facts/table.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

std::vector<std::string> commands_beside(const CLI::App& command) {
  std::vector<std::string> names;
  if (const CLI::App* program = command.get_parent())
    for (const CLI::App* c : program->get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(c->get_name());
  return names;
}

// But for those of the account, which the report's causes make.
std::vector<std::string> fact_names() {
  std::vector<std::string> names{"account"};
  for (const Fact& fact : fact_table()) names.push_back(fact.name);
  return names;
}

Value value_of(const CLI::Option& option, const CLI::App& command) {
  using Kind = Value::Kind;
  if (option.get_items_expected_max() == 0) return {Kind::flag, {}};
  const std::string type = option.get_type_name();
  if (const std::size_t brace = type.find('{'); brace != std::string::npos)
    return {Kind::words,
            CLI::detail::split(type.substr(brace + 1, type.find('}') - brace - 1), ',')};
  if (type == "SEVERITY") return {Kind::words, {"error", "warning", "note"}};
  const std::string name = option.get_positional() ? option.get_name() : type;
  if (name == "RULE") return {option.get_positional() ? Kind::rule : Kind::rules, {}};
  if (name == "FACT") return {Kind::list, fact_names()};
  if (name == "COMMAND") return {Kind::words, commands_beside(command)};
  if (name == "DIR") return {Kind::folder, {}};
  if (name == "NAME") return {Kind::text, {}};
  if (option.get_positional() || name.ends_with("FILE") || name == "PATH") return {Kind::file, {}};
  return {Kind::text, {}};
}

// What a person calls it: "TEXT:{text,json}" of --format is FORMAT.
std::string type_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name();
  const std::string type = option.get_type_name(), name = type.substr(0, type.find(":{"));
  if (name == "INT" || name == "UINT" || name == "FLOAT") return "N";
  if (name != "TEXT" || option.get_lnames().empty()) return name;
  return in_upper_case(option.get_lnames().front());
}

Description describe(const CLI::App& app) {
  Description command{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    Argument a{{},
               type_of(*option),
               option->get_description(),
               value_of(*option, app),
               option->get_items_expected_max() > 1};
    for (const std::string& name : option->get_snames()) a.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) a.names.push_back("--" + name);
    (option->get_positional() ? command.positionals : command.options).push_back(std::move(a));
  }
  return command;
}

}  // namespace

Description describe(const CommandLine& line) { return describe(line.app()); }

std::vector<Description> describe_commands(const CommandLine& line) {
  std::vector<Description> commands;
  for (const CLI::App* command : line.app().get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(describe(*command));
  return commands;
}

std::vector<std::string> help_footer(const CommandLine& line) {
  return CLI::detail::split(line.app().get_footer(), '\n');
}

}  // namespace gh

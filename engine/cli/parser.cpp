#include "cli/parser.hpp"

#include <CLI/CLI.hpp>

namespace gh {

Option Option::required() { return Option(option_->required()); }
Option Option::exactly(int values) { return Option(option_->expected(values)); }
Option Option::type(const std::string& name) { return Option(option_->type_name(name)); }
Option Option::repeatable() { return Option(option_->allow_extra_args(false)); }
Option Option::separated_by(char separator) { return Option(option_->delimiter(separator)); }
Option Option::one_of(const std::vector<std::string>& words) {
  return Option(option_->transform(CLI::IsMember(words)));
}
Option Option::between(int least, int most) {
  return Option(option_->check(CLI::Range(least, most)));
}

Parser::Parser(CLI::App& program, const std::string& name, const std::string& help)
    : command_(program.add_subcommand(name, help)) {}

Option Parser::option(const std::string& names, std::string& value, const std::string& help) {
  return Option(command_->add_option(names, value, help));
}
Option Parser::option(const std::string& names, std::vector<std::string>& values,
                      const std::string& help) {
  return Option(command_->add_option(names, values, help));
}
Option Parser::option(const std::string& names, std::optional<std::string>& value,
                      const std::string& help) {
  return Option(command_->add_option(names, value, help));
}
Option Parser::option(const std::string& names, std::optional<int>& value,
                      const std::string& help) {
  return Option(command_->add_option(names, value, help));
}
Option Parser::option(const std::string& names, std::optional<std::int64_t>& value,
                      const std::string& help) {
  return Option(command_->add_option(names, value, help));
}
Option Parser::option(const std::string& names, std::int64_t& value, const std::string& help) {
  return Option(command_->add_option(names, value, help));
}
Option Parser::option(const std::string& names, unsigned& value, const std::string& help) {
  return Option(command_->add_option(names, value, help));
}
void Parser::flag(const std::string& name, bool& value, const std::string& help) {
  command_->add_flag(name, value, help);
}

bool Parser::given() const { return command_->parsed(); }

}  // namespace gh

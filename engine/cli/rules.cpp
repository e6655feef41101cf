// gh-advise rules: the rules as a table.

#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/settings.hpp"

namespace gh {
namespace {

struct RulesCommand {
  OutputOptions output;
  RuleOptions rule;
};

int list_rules(const RulesCommand& o) {
  const Settings settings(o.rule);
  const std::vector<Rule> rules = settings.rules(o.rule);
  write_outputs(o.output.parsed(format_names(rules_formats), {}), rules_formats, rules);
  return done;
}

}  // namespace

Command add_rules(CommandLine& line) {
  Parser command(line, "rules", "List the rules");
  const auto o = std::make_shared<RulesCommand>();
  o->output.add(command, format_names(rules_formats));
  o->rule.add(command);
  return {command, [o] { return list_rules(*o); }};
}

}  // namespace gh

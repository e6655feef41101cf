// gh-advise explain: what a rule does, why it matters, how to fix it, when it is wrong.
#include <fmt/format.h>

#include <memory>

#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/settings.hpp"

namespace gh {
namespace {

struct ExplainCommand {
  std::string id;
  StyleOptions style;
  RuleOptions rule;
};

int explain(const ExplainCommand& o) {
  const Settings settings(o.rule);
  std::vector<std::string> ids;
  for (const Rule& rule : settings.all_rules) {
    ids.push_back(rule.id);
    if (rule.id != o.id) continue;
    write(render_explanation(rule, o.style.style(stdout_is_terminal())), to_stdout);
    return done;
  }
  throw Error(fmt::format("there is no rule '{}'{}; `gh-advise rules` lists them", printable(o.id),
                          did_you_mean(o.id, ids)));
}

}  // namespace

Command add_explain(CommandLine& line) {
  Parser command(line, "explain", "Print a rule's documentation");
  const auto o = std::make_shared<ExplainCommand>();
  command.option("RULE", o->id, "The rule's id").required();
  o->style.add_color(command);
  o->rule.add_sources(command);
  return {command, [o] { return explain(*o); }};
}

}  // namespace gh

// gh-advise rules: the rules as a table.

#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/settings.hpp"

namespace gh {
namespace {

const Formats formats{"text", "json"};

struct Options {
  OutputOptions output;
  RuleOptions rule;
};

int list_rules(const Options& o) {
  const Settings settings(o.rule);
  const std::vector<Rule> rules = settings.rules(o.rule);
  write_outputs(o.output.parsed(formats, {}), [&](const Output& output) {
    return output.format == "json" ? render_rules_json(rules)
                                   : render_rules_text(rules, style_of(output));
  });
  return done;
}

}  // namespace

Command add_rules(CLI::App& app) {
  Parser command(app, "rules", "List the rules");
  const auto o = std::make_shared<Options>();
  o->output.add(command, formats);
  o->rule.add_choice(command);
  o->rule.add_sources(command);
  return {command, [o] { return list_rules(*o); }};
}

}  // namespace gh

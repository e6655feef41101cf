// gh-advise config: the configuration in effect.

#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/settings.hpp"
#include "report/docs.hpp"

namespace gh {

Command add_config(CommandLine& line) {
  Parser command(line, "config",
                 "Print the configuration in effect, and where each value comes from");
  const auto o = std::make_shared<RuleOptions>();
  o->add_sources(command);
  return {command, [o] {
            const Settings settings(*o);
            write(render_config(settings.config, settings.all_rules), to_stdout);
            return done;
          }};
}

}  // namespace gh

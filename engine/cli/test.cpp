// gh-advise test: the tests of a team's rules.

#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/settings.hpp"
#include "rules/rule_test.hpp"

namespace gh {
namespace {

struct TestCommand {
  std::string folder, fixtures, filter = "*";
  bool update = false;
};

int test(const TestCommand& o) {
  RuleTestOptions how;
  how.fixtures = o.fixtures.empty() ? fixtures_beside_program() : std::filesystem::path(o.fixtures);
  how.filter = o.filter;
  how.update = o.update;
  const RuleTestResult result = run_rule_tests(o.folder, how);
  write(result.output, to_stdout);
  return result.failed > 0 ? threshold_met : done;
}

}  // namespace

Command add_test(CommandLine& line) {
  Parser command(line, "test", "Run the tests of the rules in a folder");
  const auto o = std::make_shared<TestCommand>();
  command.option("DIR", o->folder, "A folder with *.test.lua beside the rules").required();
  command
      .option("--filter", o->filter, "Only cases, or rules, whose name matches (* and ? allowed)")
      .type("NAME");
  command.flag("--update", o->update, "Write the snapshots anew that cases expect");
  command
      .option("--fixtures", o->fixtures,
              "Where the reports lie that cases name (default: fixtures/ beside the program)")
      .type("DIR");
  return {command, [o] { return test(*o); }};
}

}  // namespace gh

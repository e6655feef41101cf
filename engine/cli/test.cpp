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
  for (const std::string& note : result.notes) print_note(note);
  write(result.output, to_stdout);
  return result.failed > 0 ? threshold_met : done;
}

}  // namespace

Command add_test(CommandLine& line) {
  Parser command(line, "test", "Run the tests of the rules in a folder");
  const auto o = std::make_shared<TestCommand>();
  command.option("DIR", o->folder, "A folder with rules and their *.test.lua").required();
  command.option("--filter NAME", o->filter,
                 "Only cases or rules with this name (* and ? allowed)");
  command.flag("--update", o->update, "Rewrite the snapshots that cases expect");
  command.option(
      "--fixtures DIR", o->fixtures,
      "The folder of the reports that cases name (default: fixtures/ next to the program)");
  return {command, [o] { return test(*o); }};
}

}  // namespace gh

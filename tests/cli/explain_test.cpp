// What the program tells of its rules and of itself.
#include <set>

#include "support/program.hpp"

using namespace support;

TEST_CASE("explain: rules are listed and documented, and version and help are told") {
  const Ran rules = advise("rules");
  CHECK(rules.status == 0);
  CHECK(contains(rules.out, "\nmemory\n  alloc-churn"));
  CHECK(contains(rules.out,
                 "  host-sync                        3.0 %    19      8   3.2 %  The host waits"));
  const auto listed = json_of(advise("rules --format json"));
  for (const auto& rule : listed["rules"]) {
    const std::string id = rule["id"];
    CHECK(contains(rules.out, id));
    const Ran doc = advise("explain " + id);
    CHECK(contains(on_one_line(doc.out), "\"At most\" marks a ceiling, not a forecast"));
    CHECK(doc.status == 0);
    CHECK(doc.out.starts_with(id + ": "));
    for (const char* part : {"\nWhat it does\n  ", "\nWhy it matters\n  ", "\nHow to fix it\n  ",
                             "\nWhen it is wrong\n  ", "\nSeverity\n  ", "\nWhat it saves\n  "})
      CHECK_MESSAGE(contains(doc.out, part), id, part);
    for (const auto& option : rule["options"])
      CHECK_MESSAGE(contains(doc.out, "  " + option["name"].get<std::string>() + " = "),
                    option.dump());
  }
  const std::string loader = advise("explain data-loader-starvation").out;
  CHECK(contains(loader, "under [rule.data-loader-starvation]\n  "));
  CHECK(contains(loader, "\n  note_share = 0.02  (fraction)\n    "));

  CHECK(advise("--version").out.starts_with("gh-advise " GH_ADVISE_VERSION "\nfor "));
  const Ran help = advise("--help");
  CHECK(help.status == 0);
  CHECK(advise("-h").out == help.out);
  for (const char* command : {"check", "facts", "rules", "explain", "test"}) {
    CHECK(contains(help.out, std::string("\n  ") + command + " "));
    CHECK(contains(advise(std::string(command) + " --help").out,
                   std::string("Usage: gh-advise ") + command + " "));
  }
  const std::string check = advise("check --help").out;
  for (const char* option : {"--format", "--output", "--select", "--ignore", "--rules", "--config",
                             "--steps", "--range", "--device", "--rank", "--fail-on"})
    CHECK_MESSAGE(contains(check, option), option);
  CHECK(advise("starved.sqlite --help").out == check);
}

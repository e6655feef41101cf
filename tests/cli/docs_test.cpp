// `gh-advise docs`.
#include "report/docs.hpp"

#include "rules/binding.hpp"
#include "rules/config.hpp"
#include "support/program.hpp"

using namespace support;

TEST_CASE("docs: each rule has a page with what it says, and everything else has one" *
          slow_with_sanitizers) {
  const TempDir dir;
  CHECK(advise("docs --out " + quoted(dir / "docs")).status == 0);
  const std::string index = read_file(dir / "docs/index.md"),
                    api = read_file(dir / "docs/writing-rules.md"),
                    facts = read_file(dir / "docs/facts.md");
  for (const gh::Rule& rule : gh::own_rules()) {
    CAPTURE(rule.id);
    CHECK(contains(index, "rules/" + rule.id + ".md"));
    const std::string page = read_file(dir / ("docs/rules/" + rule.id + ".md"));
    for (const char* part :
         {"## What it does", "## Why it matters", "## How to fix it", "## When it is wrong"})
      CHECK_MESSAGE(contains(page, part), part);
    const std::size_t example = page.find("## What it says");
    REQUIRE(example != std::string::npos);
    CHECK(contains(page.substr(example), rule.id));  // a finding of its own
    for (const auto& [name, option] : rule.options)
      CHECK_MESSAGE(contains(page, "| `" + name + "` | "), name);
  }
  for (const gh::ApiEntry& e : gh::api_entries()) CHECK_MESSAGE(contains(api, e.name), e.name);
  CHECK(contains(facts, "| `mfu.upper_bound_fraction` | fraction |"));
  for (const gh::ConfigKey& k : gh::config_keys())
    CHECK_MESSAGE(
        contains(read_file(dir / "docs/configuration.md"), std::string("`") + k.name + "`"),
        k.name);
  CHECK(contains(read_file(dir / "docs/json-schemas.md"), "\"schema_version\""));
}

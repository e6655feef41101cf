// Texts that the program fills in.
#include "base/templates.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "base/embedded.hpp"

TEST_CASE("templates: marks stand for what is given, or for a file of the program's") {
  const std::string rule = gh::filled("new_rule.lua", {{"id", "{{category}}"}, {"category", "io"}});
  CHECK(rule.find("id = \"{{category}}\",\n") != rule.npos);  // what is filled in has no marks
  CHECK(rule.find("category = \"io\",\n") != rule.npos);
  CHECK_THROWS_AS(gh::filled("new_rule.lua", {{"id", "a"}}), std::out_of_range);
  CHECK(gh::filled("json-schemas.md", {}).find(gh::embedded_file("schemas/top.schema.json")) !=
        std::string::npos);
}

// JSON of facts, held to schemas/facts.schema.json.
#include "support/program.hpp"
#include "support/schema.hpp"

using namespace support;
using Json = nlohmann::ordered_json;

TEST_CASE("JSON: facts keep to their schema, known ones and unknown ones") {
  std::vector<Json> all;
  for (const char* name : {"starved", "um-umtouch-full", "compile-graphs", "ddp"})
    all.push_back(json_of(advise(std::string("facts --format json ") + name + ".sqlite")));
  Json without_reason = all[0];
  bool any = false;
  for (Json& fact : without_reason["facts"]) any = any || fact.erase("unknown") > 0;
  REQUIRE(any);
  all.push_back(without_reason);
  const auto verdict = verdicts("schemas/facts.schema.json", all);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) CHECK(verdict[i] == "valid");
  CHECK(verdict.back() != "valid");
}

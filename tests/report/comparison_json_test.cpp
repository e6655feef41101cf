// The JSON of comparisons and of baselines.
#include "support/program.hpp"
#include "support/schema.hpp"

using namespace support;
using Json = nlohmann::ordered_json;

TEST_CASE("comparison JSON: comparisons and baselines keep to their schemas" *
          slow_with_sanitizers) {
  const TempDir dir;
  CHECK(advise("baseline ddp.sqlite -o " + quoted(dir / "b.json")).status == 0);
  CHECK(verdict("schemas/baseline.schema.json", Json::parse(read_file(dir / "b.json"))) == "valid");
  std::vector<Json> comparisons;
  for (const char* pair :
       {"starved.sqlite --baseline good.sqlite", "good.sqlite --baseline offload.sqlite",
        "um.sqlite --baseline good.sqlite"})
    comparisons.push_back(json_of(advise(std::string("gate ") + pair + " --format json")));
  for (const std::string& v : verdicts("schemas/comparison.schema.json", comparisons))
    CHECK(v == "valid");
}

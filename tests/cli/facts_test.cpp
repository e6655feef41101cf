// `gh-advise facts`.
#include <map>

#include "support/program.hpp"

using namespace support;

TEST_CASE("facts: each has a value, a unit and documentation") {
  const Ran text = advise("facts starved.sqlite");
  CHECK(text.status == 0);
  const auto facts = json_of(advise("facts starved.sqlite --format json"))["facts"];
  std::map<std::string, nlohmann::ordered_json> by_name;
  for (const auto& fact : facts) {
    by_name[fact["name"]] = fact;
    const bool zero = fact["value"] == 0 && fact["name"].get<std::string>().starts_with(
                                                "account.");  // left out of the text
    CHECK_MESSAGE(contains(text.out, "\n" + fact["name"].get<std::string>() + " ") != zero,
                  fact.dump());
  }
  CHECK(by_name.size() == facts.size());
  CHECK(by_name["steps.count"]["value"] == 11);
  CHECK(by_name["step.mean_ns"]["unit"] == "ns");
  CHECK(by_name["step.mean_ns"]["value"] ==
        json_of(advise("starved.sqlite --format json"))["window_ns"].get<std::int64_t>() / 11);
  CHECK(by_name["um.gpu_faults_per_step"]["value"] == nullptr);
  CHECK(by_name["device.name"]["value"] == "NVIDIA H200");
  CHECK(contains(text.out, "unknown (not recorded)"));
  CHECK(json_of(advise("facts starved.sqlite --format json --steps 2:3"))["facts"] != facts);
  error_line("facts starved.sqlite good.sqlite");
}

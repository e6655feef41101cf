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
        report_of(advise("starved.sqlite --format json"))["window_ns"].get<std::int64_t>() / 11);
  CHECK(by_name["um.gpu_faults_per_step"]["value"] == nullptr);
  CHECK(by_name["device.name"]["value"] == "NVIDIA H200");
  CHECK(contains(text.out, "unknown (not recorded)"));
  CHECK(json_of(advise("facts starved.sqlite --format json --steps 2:3"))["facts"] != facts);
  error_line("facts starved.sqlite good.sqlite");
}

TEST_CASE("facts: --only chooses names, beginnings and patterns") {
  const auto names = [](const std::string& only) {
    std::vector<std::string> names;
    const auto document = json_of(advise("facts starved.sqlite --format json --only " + only));
    for (const auto& fact : document["facts"]) names.push_back(fact["name"]);
    return names;
  };
  CHECK(names("step.mean_ns,device.count") ==
        std::vector<std::string>{"device.count", "step.mean_ns"});
  CHECK(names("'*.median_ns'") == std::vector<std::string>{"step.median_ns"});
  const std::vector<std::string> idle = names("account.idle");
  CHECK(idle.size() > 10);
  for (const std::string& name : idle) CHECK(name.starts_with("account.idle."));
  CHECK(names("account.idle.") == idle);
  CHECK(names("'account.idle.*' --only account.idle.input_ns") == idle);

  // What was asked for is shown, also where it is nothing.
  const Ran text = advise("facts starved.sqlite --only account.um_stall_ns");
  CHECK(text.status == 0);
  CHECK(contains(text.out, "\naccount.um_stall_ns "));
  CHECK(contains(text.out, "starved.sqlite\n"));

  CHECK(contains(error_line("facts starved.sqlite --only step.mean_n"),
                 "there is no fact 'step.mean_n' (did you mean 'step.mean_ns'?)"));
  CHECK(
      contains(error_line("facts starved.sqlite --only step.mean_ns,x*"), "there is no fact 'x*'"));
}

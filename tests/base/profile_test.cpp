// --profile.
#include <algorithm>

#include "support/program.hpp"

using namespace support;

TEST_CASE("profile: --profile adds where time and memory went to the usual output") {
  const Ran plain = advise("starved.sqlite --format json"),
            profiled = advise("starved.sqlite --format json --profile");
  CHECK((plain.out == profiled.out));
  CHECK(plain.err.empty());
  std::vector<std::string> phases;
  for (const std::string& line : lines_of(profiled.err))
    phases.push_back(line.substr(0, line.find(' ', line.find_first_not_of(' '))));
  for (const char* phase : {"read", "  CUPTI_ACTIVITY_KIND_KERNEL", "  sort", "names", "steps",
                            "account", "replay", "rules", "  launch-bound", "render", "all"}) {
    CAPTURE(phase);
    CHECK(std::count(phases.begin(), phases.end(), phase) == 1);
  }
}

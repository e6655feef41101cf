// Running on several threads must not change the output.
#include "support/program.hpp"

using namespace support;

TEST_CASE("threads: the output does not depend on the number of threads") {
  for (const char* report :
       {"starved.sqlite", "ddp.sqlite", "um.sqlite", "eager-autogradnvtx.sqlite",
        "good.pt.trace.json", "ddp.rank0.pt.trace.json ddp.rank1.pt.trace.json"}) {
    CAPTURE(report);
    const Ran one = advise(std::string(report) + " --format json --threads 1"),
              many = advise(std::string(report) + " --format json --threads 7");
    CHECK(one.status == 0);
    CHECK_MESSAGE(many.status == 0, many.err);
    CHECK((one.out == many.out));
  }
  CHECK(advise("starved.sqlite --threads 0").status == 2);
}

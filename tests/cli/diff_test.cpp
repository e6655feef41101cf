// `gh-advise diff`.
#include "support/program.hpp"

using namespace support;
using Json = nlohmann::ordered_json;

TEST_CASE("diff: what changed is shown, the costliest first, and nothing is judged") {
  const Ran ran = advise("diff good.sqlite loopopt.sqlite");
  CHECK(ran.status == 0);
  CHECK(contains(ran.out, "47.4 ms -> 49.7 ms, +5.0 %"));
  CHECK(contains(ran.out, "compute: pointwise      18.5 ms ->    21.9 ms     +3.41 ms"));
  CHECK(contains(ran.out,
                 "What the step waits for, where that changed (mean)\n  compute: pointwise "));
  CHECK(contains(ran.out, "  new      warning unfused-optimizer: "));
  CHECK(contains(ran.out, "  same     warning unfused-norm: "));
  CHECK(contains(
      ran.out,
      "      -1.74 ms  1.74 ms -> 0 ns in 17 -> 0 of\n                multi_tensor_apply_kernel<"));
  CHECK(contains(ran.out, "kernels.per_step                            775 ->         1213"));
  const Json json = json_of(advise("diff good.sqlite loopopt.sqlite --format json"));
  double last = 1e300;
  for (const Json& k : json["kernels"]) {
    const double change = std::abs(k["ns_after"].get<double>() - k["ns_before"].get<double>());
    CHECK(change <= last);
    last = change;
  }
  CHECK(advise("diff good.sqlite um.sqlite").status == 0);
  CHECK(contains(advise("diff good.sqlite um.sqlite").out,
                 "What cannot be compared\n  - another program"));
  CHECK(advise("diff good.sqlite missing.sqlite").status == 2);
  CHECK(contains(advise("diff good.sqlite").err, "REPORT"));
}

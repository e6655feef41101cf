// Kernels that wait for their first page of unified memory, where faults were not recorded.
#include "trace/first_pages.hpp"

#include <algorithm>

#include "rules/literal_trace.hpp"
#include "support/support.hpp"

TEST_CASE("first pages: the waits of several devices come in order of time") {
  // The kernel that begins first has its page last.
  const gh::Trace t = gh::trace_from_text(R"(return { not_collected = { "gpu_faults" }, ops = {
    { 100, 900, kernel = "a" },
    { 200, 900, kernel = "b", gpu = 1 },
    { 300, 310, copy = "um_h2d", cause = "fault", bytes = 4096, gpu = 1 },
    { 700, 710, copy = "um_h2d", cause = "fault", bytes = 4096 } } })");
  REQUIRE(t.gpu_faults.size() == 2);
  CHECK(t.gpu_faults.start[0] == 100'000);
  CHECK(t.gpu_faults.end[0] == 700'000);
  CHECK(t.gpu_faults.start[1] == 200'000);
  CHECK(t.gpu_faults.end[1] == 300'000);
  CHECK(t.gpu_faults.device[0] != t.gpu_faults.device[1]);
}

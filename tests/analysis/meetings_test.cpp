// Which collectives of several devices are the same.
#include "analysis/meetings.hpp"

#include <string>

#include "rules/literal_trace.hpp"
#include "support/support.hpp"

using namespace gh;

namespace {

// An operation of a literal trace, in microseconds.
std::string op(int from, int to, int rank, const char* name = "ncclDevKernel_AllReduce",
               int stream = 8) {
  return "{ " + std::to_string(from) + ", " + std::to_string(to) + ", kernel = '" + name +
         "', stream = " + std::to_string(stream) + ", rank = " + std::to_string(rank) + " }, ";
}

Trace trace_of(const std::string& ops) {
  return trace_from_text("return { ops = { " + ops + " } }");
}

// When the members of each meeting start, in microseconds: "100 140, 300 310".
std::string met(Trace trace) {
  const Analysis a(std::move(trace), Classes(), {});
  std::string text;
  for (const Meeting& members : meetings(a, 0, static_cast<Row>(a.trace.ops.size()))) {
    text += text.empty() ? "" : ", ";
    for (const Row row : members)
      text += (row == members.front() ? "" : " ") + std::to_string(a.trace.ops.start[row] / 1000);
  }
  return text;
}

}  // namespace

TEST_CASE("meetings: the i-th collective of a name on one device is the i-th on the others") {
  const std::string both = op(100, 200, 0) + op(140, 202, 1) + op(300, 350, 0) + op(310, 351, 1);
  CHECK(met(trace_of(both)) == "100 140, 300 310");
  CHECK(met(trace_of(both + op(500, 600, 0, "product") + op(510, 590, 1, "product"))) ==
        "100 140, 300 310");
  CHECK(met(trace_of(op(100, 200, 0) + op(300, 350, 0))) == "");  // one rank alone
}

TEST_CASE("meetings: collectives that one device runs before the others' first are left out") {
  std::string ops = op(10, 20, 0);
  for (const int at : {100, 230, 290, 610, 800}) ops += op(at, at + 50, 0) + op(at + 5, at + 51, 1);
  CHECK(met(trace_of(ops)) == "100 105, 230 235, 290 295, 610 615, 800 805");
}

TEST_CASE("meetings: streams that do not run together belong to different groups") {
  // Ranks 0 and 1 are one pair, 2 and 3 another.
  const std::string pairs = op(100, 200, 0) + op(140, 202, 1) + op(600, 700, 2) + op(640, 702, 3);
  CHECK(met(trace_of(pairs)) == "100 140, 600 640");
}

TEST_CASE("meetings: a group with ranks outside the report is left out") {
  Trace t = trace_of(op(100, 200, 0) + op(140, 202, 1));
  t.ops.group = {0, 0};
  t.groups = {{0, 2}};
  CHECK(met(t) == "100 140");
  t.groups = {{0, 8}};
  CHECK(met(t) == "");
  t.groups = {{0, 2}, {t.names.intern("1 [0, 2]"), 2}};
  t.ops.group = {0, 1};
  CHECK(met(t) == "");
}

TEST_CASE("meetings: a message sent before the receiver started waited for nobody") {
  const char* message = "ncclDevKernel_SendRecv";
  CHECK(met(trace_of(op(100, 110, 0, message) + op(150, 160, 1, message) +
                     op(300, 500, 0, message) + op(480, 501, 1, message))) == "300 480");
}

TEST_CASE("meetings: ranks with unaligned clocks do not meet") {
  Trace t = trace_of(op(100, 200, 0) + op(140, 202, 1));
  t.clocks_aligned = false;
  CHECK(met(t) == "");
}

// Which ranges a thread is in, and whose ranges describe a thread without any.
#include "analysis/structure/nesting.hpp"

#include "support/traces.hpp"

using namespace gh;

TEST_CASE("nesting: at each moment they match a search over all ranges") {
  Trace t;
  t.processes.emplace_back();
  t.threads.resize(2);
  std::uint64_t state = 7;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<Ns>((state >> 33) % below);
  };
  for (int i = 0; i < 300; ++i) {
    const Ns start = random(1000);
    t.ranges.start.push_back(start);
    t.ranges.end.push_back(start + 1 + random(100));
    t.ranges.name.push_back(t.names.intern("r" + std::to_string(random(20))));
    t.ranges.thread.push_back(static_cast<std::uint16_t>(random(2)));
    t.ranges.bytes.push_back(0);
    t.ranges.nest.push_back(0);
  }
  t.seal();
  const Nesting nesting(t.ranges, t.threads.size());
  OpenInOrder open(nesting, t.ranges, t.threads.size());
  for (Ns at = 0; at < 1100; at += 3)
    for (std::uint16_t thread = 0; thread < 2; ++thread) {
      std::vector<Row> expected;
      for (Row r = 0; r < t.ranges.size(); ++r)
        if (t.ranges.thread[r] == thread && t.ranges.start[r] <= at && t.ranges.end[r] > at)
          expected.insert(expected.begin(), r);
      std::vector<Row> at_once, in_order;
      const auto to = [](std::vector<Row>& rows) {
        return [&rows](Row r) {
          rows.push_back(r);
          return false;
        };
      };
      nesting.first_open(thread, at, to(at_once));
      open.first_open(thread, at, to(in_order));
      CHECK(at_once == expected);
      CHECK(in_order == expected);
    }
}

TEST_CASE("nesting: a launch that its own thread does not explain is in a range of its caller") {
  const Trace t = trace_from_text(
      "return { ranges = { { 0, 100, 'outer' }, { 50, 60, 'own', thread = 'other' } }, calls = { { "
      "10, 11, 'a', thread = 'other' }, { 55, 56, 'b', thread = 'other' }, { 70, 71, 'c', thread = "
      "'other' }, { 110, 111, 'd', thread = 'other' } } }");
  const Nesting nesting(t.ranges, t.threads.size());
  const std::uint16_t other = t.ranges.thread[1], caller = t.ranges.thread[0];
  std::vector<std::uint16_t> callers(t.threads.size());
  for (std::uint16_t thread = 0; thread < callers.size(); ++thread) callers[thread] = thread;
  const auto around_each = [&] {
    OpenInOrder open(nesting, t.ranges, t.threads.size());
    std::vector<Row> rows;
    for (Row c = 0; c < t.calls.size(); ++c)
      rows.push_back(open.first_around(t.calls, c, callers, [](Row) { return true; }));
    return rows;
  };
  CHECK(around_each() == std::vector<Row>{no_row, 1, no_row, no_row});
  callers[other] = caller;
  CHECK(around_each() == std::vector<Row>{0, 1, 0, no_row});
}

TEST_CASE("nesting: operators are recognized by name") {
  for (const char* name : {"aten::mm", "AddmmBackward0", "aten::mm, sizes = [[2, 3]]",
                           "torch::autograd::AccumulateGrad", "MmBackward0, seq = 5"})
    CHECK_MESSAGE(is_operator_name(name), name);
  for (const char* name : {"forward", "Backward", "step 3", "ProfilerStep#4", "backward 2"})
    CHECK_MESSAGE(!is_operator_name(name), name);
  CHECK(operator_of("aten::mm, sizes = [[2, 3]]") == "aten::mm");
}

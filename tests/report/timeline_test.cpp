// What the timelines of a page draw.
#include "report/timeline.hpp"

#include <cmath>
#include <map>

#include "analysis/ranks.hpp"
#include "support/traces.hpp"

using namespace support;
using gh::Activity;
using gh::Ns;

namespace {

// Steps of 5 ms: 1 ms of a GEMM, then 400 kernels of 1 us that begin 2 us apart.
std::string many_small() {
  std::string ops = "{ 0, 1000, kernel = 'sm90_gemm_bf16', launched = { -20, -15 } }";
  for (int i = 0; i < 400; ++i)
    ops += ", { " + std::to_string(1000 + 2 * i) + ", " + std::to_string(1001 + 2 * i) +
           ", kernel = 'vectorized_elementwise_kernel', launched = { " + std::to_string(2 * i) +
           ", " + std::to_string(2 * i + 1) + " } }";
  return "return { repeats = { times = 4, every = 5000 }, ranges = { { -100, 4000, 'step {n}' } }, "
         "ops = { " +
         ops + " } }";
}

}  // namespace

TEST_CASE("timeline: the overview's parts hold as much of each activity as the account") {
  for (const char* name : {"starved", "offload", "um", "ddp-straggler"}) {
    INFO(name);
    const gh::Analysis a = analysed(recorded(name));
    const gh::Overview o = gh::overview_of(a, 12'000, 400);
    REQUIRE(o.devices.size() == a.devices.size());
    std::map<Activity, double> drawn, accounted;
    for (std::size_t d = 0; d < o.devices.size(); ++d) {
      for (const auto& part : o.devices[d].parts) {
        double all = 0;
        for (std::size_t i = 0; i < part.size(); ++i) {
          drawn[static_cast<Activity>(i)] += part[i] * static_cast<double>(o.span.length()) /
                                             static_cast<double>(o.devices[d].parts.size());
          all += part[i];
        }
        CHECK(all < 1.0001);
      }
      for (std::size_t c = 0; c < a.account.causes.size(); ++c)
        accounted[gh::activity_of(a.account.causes[c])] +=
            static_cast<double>(a.account.devices[d].step_ns.total_ns(c));
    }
    for (const auto& [activity, ns] : accounted) {
      INFO(name << ", " << gh::label_of(activity) << ": " << drawn[activity] / 1e6 << " ms drawn, "
                << ns / 1e6 << " ms accounted");
      // Devices begin and end their steps at other moments than the window of all.
      CHECK(std::abs(drawn[activity] - ns) <= 0.02 * static_cast<double>(a.total_ns()));
    }
  }
}

TEST_CASE("timeline: a view draws what is long by itself and counts what is short") {
  const gh::Analysis a(gh::trace_from_text(many_small()), gh::Classes(), {});
  gh::Evidence e;
  e.span = {6'200'000, 6'400'000};
  e.device = 0;
  const gh::View few = gh::view_of(a, e, 200), many = gh::view_of(a, e, 10'000);
  for (const gh::View* v : {&few, &many}) {
    CHECK(v->evidence == e.span);
    CHECK(v->detail.start <= e.span.start);
    CHECK(v->span.start <= v->detail.start);
    CHECK(v->span.end >= v->detail.end);
    bool streams = false;
    for (const gh::Lane& l : v->lanes) {
      if (!l.label.starts_with("stream")) continue;
      streams = true;
      std::size_t count = 0;
      Ns busy = 0, before = 0;
      for (const gh::Piece& p : l.pieces) {
        CHECK(p.span.start >= before);
        before = p.span.start;
        count += p.count;
        busy += p.busy_ns;
        if (p.count == 1 && p.span.length() == 1'000'000) CHECK(p.activity == Activity::products);
      }
      // Nothing is lost, however few pieces there are: each step has one GEMM and 400 kernels of 1
      // us.
      std::size_t expected = 0;
      Ns expected_busy = 0;
      for (gh::Row op = 0; op < a.trace.ops.size(); ++op)
        if (a.trace.ops.start[op] < v->span.end && a.trace.ops.end[op] > v->span.start) {
          ++expected;
          expected_busy += a.trace.ops.end[op] - a.trace.ops.start[op];
        }
      CHECK(count == expected);
      CHECK(busy == expected_busy);
    }
    CHECK(streams);
  }
  const auto pieces = [](const gh::View& v) {
    std::size_t n = 0;
    for (const gh::Lane& l : v.lanes) n += l.pieces.size();
    return n;
  };
  CHECK(pieces(few) <= 200);
  CHECK(pieces(many) > pieces(few));
}

TEST_CASE("timeline: the view of an idle stretch has the thread that let it happen") {
  const gh::Analysis a = analysed(recorded("starved"));
  gh::Evidence e;
  for (const gh::Idle& i : a.account.devices.front().idle)
    if (i.span.length() > e.span.length()) e.span = i.span;
  e.device = 0;
  const gh::View v = gh::view_of(a, e, 2'000);
  std::string lanes;
  bool idle = false;
  for (const gh::Lane& l : v.lanes) {
    lanes += l.label + '|';
    for (const gh::Piece& p : l.pieces)
      idle = idle || (p.activity == Activity::idle_input && p.span == e.span);
  }
  INFO(lanes);
  CHECK(lanes.starts_with("steps|ranges of "));
  CHECK(lanes.find("|CUDA calls of ") != lanes.npos);
  CHECK(lanes.find("|stream 7|") != lanes.npos);
  CHECK(idle);
}

TEST_CASE("timeline: threads of one name and number are told apart by the device's process") {
  gh::Trace t = gh::trace_from_text(
      "return { repeats = { times = 3, every = 1000 }, ranges = { { -30, 900, 'step {n}' } }, ops "
      "= { { 0, 600, kernel = 'a', launched = { -20, -15 } } } }");
  gh::Trace second = t;
  const gh::Analysis a(gh::join_ranks({std::move(t), std::move(second)}, gh::Classes()),
                       gh::Classes(), {});
  REQUIRE(a.trace.threads.size() > 1);
  gh::Evidence e;
  e.span = {1'000'000, 1'500'000};
  e.device = a.trace.devices[a.devices.back().device].ordinal;
  e.thread = a.trace.thread_label(0);
  const auto same =
      std::count_if(a.trace.threads.begin(), a.trace.threads.end(),
                    [&](const gh::Thread& x) { return x.tid == a.trace.threads.front().tid; });
  REQUIRE(same > 1);
  // The second rank's ranges are drawn, not the first's; they are one thread's, so that a level
  // holds one range at a time.
  const gh::View v = gh::view_of(a, e, 1'000);
  std::size_t ranges = 0;
  for (const gh::Lane& l : v.lanes) ranges += l.label.starts_with("ranges of");
  CHECK(ranges == 1);
}

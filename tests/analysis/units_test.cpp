// What repeats in a program: at which level, how often, and what it is called.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/launch_sequence.hpp"
#include "read/read.hpp"
#include "support/random.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

// Writes a program down as it runs: one thread launches, and one stream executes. Those of several
// ranks are recorded together.
class Program {
 public:
  explicit Program(int rank = 0) : Program(rank, rank) {}
  Program(int rank, int gpu) : rank_(rank), gpu_(gpu) {}
  double now_us() const { return now_; }
  double busy_us() const { return busy_; }
  /// Of the launches that follow, the profiler loses about one in `n`, with their calls.
  void lose_one_in(std::size_t n, std::uint64_t seed) {
    lose_ = n;
    random_ = Random(seed);
  }
  Program& kernel(const std::string& name, int blocks = 128, double us = 40) {
    return operation(fmt::format("kernel = '{}', blocks = {}", name, blocks), us);
  }
  Program& copy(const std::string& direction, std::int64_t bytes = 4096, double us = 10) {
    return operation(fmt::format("copy = '{}', bytes = {}", direction, bytes), us);
  }
  Program& graph(double us = 200) { return operation("graph = true", us); }
  Program& call(const std::string& name, double us = 5) {
    text_ += fmt::format("c({}, {}, '{}')\n", now_, now_ + us, name);
    now_ += us;
    return *this;
  }
  Program& host(double us) {
    now_ += us;
    return *this;
  }
  Program& range(const std::string& name, const std::function<void()>& body) {
    const double from = now_;
    body();
    text_ += fmt::format("r({}, {}, '{}')\n", from, now_, name);
    return *this;
  }
  Program& times(int n, const std::function<void(int)>& body) {
    for (int i = 0; i < n; ++i) body(i);
    return *this;
  }

  /// Both leave a collective when the last of them has come to it and `us` are over.
  static void meet(Program& a, Program& b, double us = 60) {
    const double done = std::max({a.now_ + 2, a.done_, b.now_ + 2, b.done_}) + us;
    for (Program* p : {&a, &b})
      p->operation("kernel = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL', blocks = 16",
                   done - std::max(p->now_ + 2, p->done_));
  }

  static std::vector<DeviceSteps> units_of_ranks(const std::vector<const Program*>& ranks,
                                                 const std::string& unit = "") {
    std::string text = R"(
      local ops, calls, ranges, what, rank, gpu = {}, {}, {}, {}, 0, 0
      local function o(from, to, which, launched)
        local op = { from, to, launched = { launched, launched + 2 }, rank = rank, gpu = gpu }
        for name, value in pairs(what[which]) do op[name] = value end
        ops[#ops + 1] = op
      end
      local function c(from, to, name) calls[#calls + 1] = { from, to, name, rank = rank } end
      local function r(from, to, name) ranges[#ranges + 1] = { from, to, name, rank = rank } end
    )";
    for (const Program* p : ranks)
      text += fmt::format("rank, gpu = {}, {}\nwhat = {{ {} }}\n{}", p->rank_, p->gpu_,
                          fmt::join(p->what_, ", "), p->text_);
    const Trace trace =
        trace_from_text(text + "return { ops = ops, calls = calls, ranges = ranges }");
    const Classes classes;
    Selection selection;
    selection.unit = unit;
    const NameClasses names(trace, classes);
    return find_steps(trace, classes, names, program_of(trace, classes, names), selection);
  }

  DeviceSteps units(const std::string& unit = "") const {
    const std::vector<DeviceSteps> devices = units_of_ranks({this}, unit);
    REQUIRE(devices.size() == 1);
    return devices.front();
  }

 private:
  Program& operation(const std::string& what, double us) {
    const double start = std::max(now_ + 2, done_);
    done_ = start + us;
    busy_ += us;
    const auto which = std::find(what_.begin(), what_.end(), "{" + what + "}") - what_.begin();
    if (which == std::ssize(what_)) what_.push_back("{" + what + "}");
    if (lose_ == 0 || random_.below(lose_) != 0)
      text_ += fmt::format("o({},{},{},{})\n", start, done_, which + 1, now_);
    now_ += 2;
    return *this;
  }

  int rank_, gpu_;
  std::size_t lose_ = 0;
  Random random_{1};
  double now_ = 10, done_ = 0, busy_ = 0;
  std::vector<std::string> what_;  // each operation that differs
  std::string text_;               // Lua
};

// "12 iterations of 3 layers".
std::string told(const DeviceSteps& d) {
  if (d.source == StepSource::none) return "window";
  std::string text;
  for (const UnitLevel& level : d.levels)
    text += (text.empty() ? "" : " of ") + plural(level.count, level.name);
  return text;
}

const std::string torch = "void at::native::vectorized_elementwise_kernel<4>";
const std::string gemm = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n";
const std::string adam = "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>";
const std::string embedding = "void at::native::vectorized_gather_kernel<16, long>";

void layer(Program& p, int sign) {
  for (int k = 0; k < 4; ++k) p.kernel(torch, 1000 * sign + k);
  p.kernel(gemm, 300 * sign).kernel(gemm, 310 * sign);
}

// Forward and backward through a model with some layers, from its input to its loss.
void pass(Program& p, int layers) {
  p.copy("h2d", 65536).kernel(embedding, 77);
  for (int l = 0; l < layers; ++l) layer(p, 1);
  p.kernel("void (anonymous namespace)::cunn_SoftMaxForward<nll_loss>", 51);
  for (int l = 0; l < layers; ++l) layer(p, 2);
}

}  // namespace

TEST_CASE("units: launches that take turns are iterations, however few") {
  Program p;
  p.times(50, [&](int) { p.copy("h2d").kernel("solve").copy("d2h").host(20); });
  CHECK(told(p.units()) == "50 iterations");
  Program graphs;
  graphs.times(30, [&](int) { graphs.graph().host(50); });
  CHECK(told(graphs.units()) == "30 iterations");
}

TEST_CASE("units: one kernel over and over is no loop, but with waits in between it is") {
  Program p;
  p.times(50, [&](int) { p.kernel("axpy"); });
  CHECK(told(p.units()) == "window");
  Program waits;
  waits.times(50, [&](int) { waits.kernel("axpy").call("cudaDeviceSynchronize"); });
  CHECK(told(waits.units()) == "50 iterations");
}

TEST_CASE("units: a loop in which nothing occurs just once is found") {
  Program p;
  p.times(40, [&](int) {
    p.kernel("a").kernel("b").kernel("a").kernel("c").kernel("b").kernel("c").host(30);
  });
  CHECK(told(p.units()).ends_with("iterations"));
  CHECK(p.units().steps.size() >= 38);
}

TEST_CASE("units: launches in random order are no loop, however many") {
  std::uint32_t state = 7;
  const auto random = [&](std::uint32_t below) {
    state = state * 1664525 + 1013904223;
    return static_cast<int>((state >> 10) % below);
  };
  Program p;
  p.times(1200, [&](int) { p.kernel("k" + std::to_string(random(30)), 1 + random(100), 5); });
  CHECK(told(p.units()) == "window");
}

TEST_CASE("units: work before and after a loop is not part of it") {
  Program p;
  p.times(30, [&](int i) { p.copy("h2d", 1000000 + 1000 * i); }).kernel("fill");
  p.times(40, [&](int) { p.kernel("flux").kernel("limit").copy("d2h", 4).host(30); });
  p.kernel("norm").copy("d2h", 99);
  CHECK(told(p.units()) == "40 iterations");
}

TEST_CASE("units: a loop whose passes depend on the data is found") {
  Program p;
  p.times(20, [&](int step) {
    p.copy("h2d", 8192).kernel("assemble").kernel("boundary");
    p.times(8 + 5 * step % 7, [&](int) { p.kernel("spmv").kernel("dot").copy("d2h", 8); });
    p.kernel("advance").host(40);
  });
  // Its steps or the solver's passes, which are most of the work: both are loops.
  const DeviceSteps d = p.units();
  CHECK(d.source == StepSource::kernels);
  CHECK(d.steps.size() >= 18);
}

TEST_CASE("units: products are alike even if the library chooses their kernels by size") {
  Program p;
  p.times(24, [&](int i) {
    p.copy("h2d", 1000 * (i * 7 % 11 + 1)).kernel(torch, 10 + i * 7 % 11);
    for (int l = 0; l < 6; ++l)
      p.kernel(
          fmt::format("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize{}x64x64", 64 << i % 3),
          20 + i * 7 % 11);
    p.kernel(adam, 320).host(100);
  });
  CHECK(told(p.units()).starts_with("24 training steps"));
}

TEST_CASE("units: steps are found even if every tenth logs") {
  Program p;
  p.times(60, [&](int i) {
    p.copy("h2d", 65536);
    for (int k = 0; k < 12; ++k) p.kernel("layer_" + std::to_string(k));
    if (i % 10 == 9) p.kernel("mean").copy("d2h", 4);
    p.host(30);
  });
  CHECK(told(p.units()) == "60 iterations");
}

TEST_CASE(
    "units: a training step has an optimizer, its micro-batches an input, its layers neither") {
  Program p;
  p.times(4, [&](int) {
    for (int m = 0; m < 3; ++m) pass(p, 4);
    p.kernel(adam, 320).kernel(adam, 97).host(300);
  });
  CHECK(told(p.units()) == "4 training steps of 3 micro-batches of 4 layers");
  CHECK(told(p.units("micro-batches")) == "12 micro-batches of 4 layers");
  CHECK_THROWS_WITH_AS(p.units("epoch"),
                       "--unit 'epoch': nothing with that name repeats; these repeat: micro-batch, "
                       "training step",
                       Error);
  CHECK_THROWS_WITH_AS(p.units("layer"),
                       "--unit 'layer': layers lie within each training step and cannot be judged "
                       "by themselves; see gh-advise layers",
                       Error);
}

TEST_CASE("units: a pass within a training step has one name, inside of the step and by itself") {
  // Neither an embedding nor a loss tells the passes: their input does, or the update that follows.
  for (const bool input : {true, false}) {
    CAPTURE(input);
    const int steps = input ? 6 : 2, passes = input ? 4 : 8;
    Program p;
    p.times(steps, [&](int) {
      p.times(passes, [&](int) {
        if (input) p.copy("h2d", 65536);
        p.kernel("encode", 7);
        p.times(3, [&](int) { layer(p, 1); });
        p.kernel("compare", 8).call("cudaStreamSynchronize");
        p.times(3, [&](int) { layer(p, 2); });
      });
      p.times(30, [&](int k) { p.kernel(adam, 40 + k, 100); }).host(300);
    });
    CHECK(
        told(p.units()).starts_with(fmt::format("{} training steps of {} micro-", steps, passes)));
    CHECK(told(p.units("micro-batch")).starts_with(fmt::format("{} micro-", steps * passes)));
  }
}

TEST_CASE("units: evaluation in between does not turn training steps into epochs") {
  Program p;
  p.times(20, [&](int i) {
    pass(p, 2);
    p.kernel(adam, 320).host(200);
    if (i % 5 == 4)
      for (int b = 0; b < 4; ++b) {
        p.copy("h2d", 32768).kernel(embedding, 78);
        for (int l = 0; l < 2; ++l) layer(p, 3);
        p.copy("d2h", 512);
      }
  });
  CHECK(told(p.units()).starts_with("20 training steps"));
}

TEST_CASE("units: a validation as long as the steps between, of kernels of its own, is no unit") {
  Program p;
  p.times(48, [&](int i) {
    pass(p, 2);
    p.kernel(adam, 320).host(200);
    if (i % 8 != 7) return;
    for (int b = 0; b < 8; ++b) {
      p.copy("h2d", 65536).kernel(embedding, 77);
      for (int l = 0; l < 2; ++l) layer(p, 1);
      for (int k = 0; k < 4; ++k) p.kernel(fmt::format("only_here_{}", k), 80, 20);
      p.copy("d2h", 512);
    }
    p.kernel("mean_of_validation", 1).copy("d2h", 4);
  });
  CAPTURE(told(p.units()));
  CHECK(told(p.units()).starts_with("48 training steps"));
}

TEST_CASE("units: a loop that a compilation interrupts is told from its longer part") {
  Program p;
  Random random(3);
  const auto compile = [&](int tries) {
    p.times(tries, [&](int) {
      p.kernel("tuned", static_cast<int>(1 + random.below(40)), 30).call("cuStreamSynchronize", 40);
    });
  };
  compile(100);
  p.times(16, [&](int) { p.graph(500); });
  compile(700);
  p.times(80, [&](int i) {
    p.graph(500);
    if (i % 16 == 15) p.kernel("loss", 64).copy("d2h", 4).call("cuStreamSynchronize", 60);
  });
  const DeviceSteps steps = p.units();
  CAPTURE(told(steps));
  REQUIRE(steps.source == StepSource::kernels);
  CHECK(steps.steps.size() >= 75);
  CHECK(steps.steps.size() <= 80);
}

TEST_CASE("units: a single pass through a model's layers has no steps") {
  Program p;
  p.copy("h2d", 65536).kernel(embedding, 77);
  for (int l = 0; l < 12; ++l) layer(p, 1);
  p.kernel(gemm, 999).kernel(torch, 998).copy("d2h", 4);
  CHECK(told(p.units()) == "window");
}

TEST_CASE("units: layers that fetch weights are not steps if ranges name their modules") {
  for (const bool named : {true, false}) {
    Program p;
    p.kernel(embedding, 77);
    for (int l = 0; l < 12; ++l) {
      const auto weights_and_layer = [&] {
        p.copy("h2d", 1 << 24).copy("h2d", 1 << 23);
        layer(p, 1);
      };
      if (named)
        p.range(fmt::format("FSDP::pre_forward (encoder.block.{}.attention.0)", l),
                weights_and_layer);
      else
        weights_and_layer();
    }
    CHECK(told(p.units()) == (named ? "window" : "12 batches"));
  }
}

TEST_CASE("units: launches before the recording keep their place") {
  // The host runs ahead: the first steps on the device were launched before the recording began.
  std::string ops;
  for (int step = 0; step < 8; ++step)
    for (int k = 0; k < 6; ++k) {
      const int start = 1000 * step + 150 * k + 100;
      ops += fmt::format("{{ {}, {}, kernel = 'k{}'", start, start + 140, k);
      ops += step < 2 ? ", launched = false },"
                      : fmt::format(", launched = {{ {}, {} }} }},", 20 * (6 * step + k - 12) + 10,
                                    20 * (6 * step + k - 12) + 15);
    }
  const Trace trace = trace_from_text("return { ops = {" + ops + "} }");
  const Classes classes;
  std::vector<Row> rows;
  for (Row op = 0; op < trace.ops.size(); ++op) rows.push_back(op);
  const LaunchSequence sequence(trace, classes, NameClasses(trace, classes), rows);
  REQUIRE(sequence.size() == 48);
  for (std::size_t i = 0; i < sequence.size(); ++i) CHECK(sequence.op(i) == rows[i]);
}

TEST_CASE("units: ranges say what a unit is called") {
  for (const auto& [range, unit] : {std::pair{"frame {}", "frame"},
                                    {"decode token {}", "token"},
                                    {"denoise {}", "denoising step"},
                                    {"request {}", "request"},
                                    {"iteration {}", "iteration"},
                                    {"step {}", "step"}}) {
    CAPTURE(range);
    Program p;
    p.times(12, [&](int i) {
      p.range(fmt::format(fmt::runtime(range), i), [&] { p.kernel("a").kernel("b").host(20); });
    });
    const DeviceSteps d = p.units();
    CHECK(d.source == StepSource::ranges);
    REQUIRE_FALSE(d.levels.empty());
    CHECK(d.levels.front().name == unit);
    CHECK(d.levels.front().count == 12);
  }
}

TEST_CASE("units: steps from ranges with an optimizer are training steps, with their layers") {
  Program p;
  p.times(6, [&](int i) {
    p.range(fmt::format("step {}", i), [&] {
      pass(p, 8);
      p.kernel(adam, 320).host(100);
    });
  });
  CHECK(told(p.units()) == "6 training steps of 8 layers");
}

TEST_CASE("units: frames are recognized by their kernels") {
  Program p;
  p.times(30, [&](int) {
    p.copy("h2d", 1 << 20)
        .kernel("yuv_to_rgb")
        .kernel("blur")
        .kernel("sharpen")
        .copy("d2h", 1 << 20);
    p.host(100);
  });
  CHECK(told(p.units()) == "30 frames");
}

TEST_CASE("units: a loop shorter than a millisecond stays part of its window") {
  Program p;
  p.times(3, [&](int) { p.kernel("a", 1, 2).kernel("b", 1, 2).copy("d2h", 4, 1); });
  p.host(5000).kernel("c", 1, 2);
  const DeviceSteps d = p.units();
  CHECK(d.source == StepSource::none);
  CHECK(contains(d.described, "too little repeats (3 iterations, "));
}

TEST_CASE("units: steps that have less and less to do are not start-up") {
  Program p;
  p.times(60, [&](int i) {
    p.kernel("eliminate_row", 600 - 10 * i, 600 - 10 * i).kernel("eliminate_rest", 9).host(5);
  });
  CHECK(p.units().left_out == 0);
}

// --- The unit leaves nothing of its loop out

TEST_CASE("units: layers that gather their weights and hold updates are no steps") {
  Program p;
  p.times(8, [&](int) {
    p.copy("h2d", 65536).kernel(embedding, 77);
    p.times(12, [&](int) { layer(p.kernel("ncclDevKernel_AllGather", 9), 1); });
    p.kernel("void (anonymous namespace)::cunn_SoftMaxForward<nll_loss>", 51);
    p.kernel("norm", 5).kernel(adam, 40, 400).kernel(adam, 41, 400).host(100);
  });
  CHECK(told(p.units()).starts_with("8 training steps"));
}

TEST_CASE("units: the inner loops of a read are no iterations") {
  Program p;
  p.times(10, [&](int) {
    p.copy("h2d").kernel("hash", 8, 60).kernel("fill", 8, 30);
    p.times(2, [&](int) {
      p.kernel("histogram").kernel("scan");
      p.times(4, [&](int) { p.kernel("upsweep", 4, 8).kernel("downsweep", 4, 8); });
    });
    p.kernel("compare", 8, 80).copy("d2h").host(50);
  });
  CHECK(told(p.units()) == "10 iterations");
}

TEST_CASE("units: a whole inner loop is the unit, whatever holds it") {
  Program p;
  p.times(5, [&](int) {
    p.times(40, [&](int) { p.copy("h2d").kernel("tile").copy("d2h"); });
    p.call("cudaDeviceSynchronize").host(4000);
  });
  CHECK(told(p.units()) == "200 iterations");
}

TEST_CASE("units: two updates of eight micro-batches each are two steps") {
  Program p;
  p.times(2, [&](int) {
    p.times(8, [&](int) { pass(p, 3); });
    p.times(19, [&](int k) { p.kernel(adam, 40 + k, 100); });
    p.host(100);
  });
  CHECK(told(p.units()).starts_with("2 training steps of 8 micro-batches"));
}

TEST_CASE("units: two images are a loop of two, because the work around their calls recurs") {
  Program p;
  const auto once = [&](const std::string& name, int kernels) {
    p.times(kernels, [&](int k) { p.kernel(name + std::to_string(k), 64, 400); });
  };
  p.times(2, [&](int) {
    once("encode", 12);
    p.times(25, [&](int) { p.kernel("attend").kernel("mix").kernel("step"); });
    once("decode", 12);
    p.copy("d2h", 1 << 20).host(500);
  });
  CHECK(told(p.units()) == "2 iterations");
}

TEST_CASE("units: a loop that holds little of the work is a part of the window") {
  Program p;
  p.times(300, [&](int k) { p.kernel("encode" + std::to_string(k), 64, 400); });
  p.times(15, [&](int) { p.copy("h2d").kernel("find").kernel("mask").copy("d2h").host(20); });
  CHECK(told(p.units()) == "window");
}

TEST_CASE("units: steps that save now and then stay steps, however long that takes") {
  Program p;
  p.times(30, [&](int i) {
    pass(p, 2);
    p.kernel(adam, 40, 100).kernel(adam, 41, 100);
    if (i % 10 == 9) p.times(10, [&](int) { p.copy("d2h", 1 << 24, 3600); });
    p.host(100);
  });
  CHECK(told(p.units()).starts_with("30 training steps"));
}

TEST_CASE("units: of a sweep of sizes the largest is judged") {
  Program p;
  p.times(12, [&](int i) {
    p.copy("h2d", 4096 << i, 10 << i)
        .kernel("add", 1 << i, 20 << i)
        .copy("d2h", 4096 << i, 10 << i);
    p.call("cudaDeviceSynchronize").host(40);
  });
  const DeviceSteps d = p.units();
  CHECK(d.steps.size() == 1);
  CHECK(contains(d.described, "which grow: the largest of 11"));
  CHECK(d.steps.front().span.length() > 80'000'000);
  // A slow first step is no sweep.
  Program warm;
  warm.times(12, [&](int i) {
    warm.copy("h2d").kernel("add", 8, i == 11 ? 4000 : 200).copy("d2h").host(40);
  });
  CHECK(warm.units().steps.size() >= 11);
}

// --- Marks are evidence and no proof

TEST_CASE("units: marks whose steps hold little of the work mark no unit") {
  Program p;
  p.range("batch 0", [&] { p.kernel("load", 1, 20); });
  p.range("batch 1", [&] { p.kernel("load", 1, 20); });
  p.range("batch 2", [&] { p.kernel("load", 1, 20); });
  p.times(200, [&](int k) { p.kernel("train" + std::to_string(k), 64, 400); });
  CHECK(told(p.units()) == "window");
}

TEST_CASE("units: two marked steps that differ are no unit") {
  Program p;
  for (const int kernels : {20, 250, 60})
    p.range(fmt::format("process batch {}", kernels), [&] {
      p.times(kernels, [&](int k) { p.kernel("work" + std::to_string(k % 97), kernels + k, 100); });
    });
  CHECK(told(p.units()) == "window");
}

TEST_CASE("units: ranges that number layers mark no steps") {
  Program p;
  p.range("Model_Forward", [&] {
    p.kernel(embedding, 77);
    for (int l = 0; l < 4; ++l)
      p.range(fmt::format("TransformerLayer_{}", l), [&] { layer(p, 1); });
    p.kernel(gemm, 500);
  });
  CHECK(told(p.units()) == "window");
}

TEST_CASE("units: --unit window judges the window of a program that repeats") {
  Program p;
  p.times(50, [&](int) { p.copy("h2d").kernel("solve").copy("d2h").host(20); });
  CHECK(told(p.units()) == "50 iterations");
  CHECK(told(p.units("window")) == "window");
}

// Loops of random lengths and contents: the unit is the step, whatever lies within and around.
TEST_CASE("units: loops nested three deep, of random lengths, are found") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const int steps = 4 + static_cast<int>(random.below(8)),
              layers = 2 + static_cast<int>(random.below(6)),
              heads = 1 + static_cast<int>(random.below(3)),
              log_every = 3 + static_cast<int>(random.below(5)),
              save_every = random.below(2) == 0 ? 1000 : 4 + static_cast<int>(random.below(4));
    const bool varies = random.below(2) == 0, starts = random.below(2) == 0;
    Program p;
    if (starts) p.times(20, [&](int k) { p.kernel("first_use" + std::to_string(k), 3, 50); });
    const auto part = [&](const std::string& name, int kernels) {
      p.times(kernels, [&](int k) {
        const int grid = 64 + k + (varies ? static_cast<int>(random.below(64)) : 0);
        p.kernel(name + std::to_string(k), grid, 10 + static_cast<double>(random.below(30)));
      });
    };
    p.times(steps, [&](int i) {
      p.copy("h2d", 65536).host(static_cast<double>(random.below(200)));
      part("begin", 6);
      p.times(layers, [&](int) {
        part("layer", 3);
        p.times(heads, [&](int) { part("head", 2); });
      });
      part("end", 6);
      if (i % log_every == 0) p.copy("d2h", 4, 2);
      if (i % save_every == save_every - 1) p.times(10, [&](int) { p.copy("d2h", 1 << 22, 200); });
    });
    const DeviceSteps d = p.units();
    REQUIRE(d.source == StepSource::kernels);
    CHECK(d.levels.front().count == steps);
  }
}

// A training loop: its steps, of micro-batches, of layers; how long a step takes, and what is told.
struct Training {
  int steps, micro_batches, layers;
  Program program;
  void run() {
    program.times(steps, [&](int) {
      program.times(micro_batches, [&](int) { pass(program, layers); });
      program.times(12, [&](int k) { program.kernel(adam, 320 + k); }).host(300);
    });
  }
};

double mean_ms(const DeviceSteps& d) {
  double ns = 0;
  for (const Ns length : d.lengths()) ns += static_cast<double>(length);
  return ns / 1e6 / static_cast<double>(d.steps.size());
}

TEST_CASE("units: launches that the profiler lost without a trace change neither levels nor unit") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Training whole{
        .steps = 8 + static_cast<int>(random.below(6)),
        .micro_batches = random.below(2) == 0 ? 1 : 2 + static_cast<int>(random.below(2)),
        .layers = 3 + static_cast<int>(random.below(3)),
        .program = Program()};
    Training lossy = whole;
    lossy.program.lose_one_in(20, seed);
    whole.run();
    lossy.run();
    const DeviceSteps a = whole.program.units(), b = lossy.program.units();
    CAPTURE(told(a));
    CAPTURE(told(b));
    CHECK(a.levels.front().name == "training step");
    CHECK(a.levels.front().count == whole.steps);
    CHECK(b.levels == a.levels);
    REQUIRE_FALSE(b.steps.empty());
    CHECK(mean_ms(b) == doctest::Approx(mean_ms(a)).epsilon(0.02));
  }
}

TEST_CASE("units: steps between which the launch that tells them was lost are two") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Program whole, lossy;
    lossy.lose_one_in(20, seed);
    // One kernel comes once in a step: it is lost in two of forty.
    for (Program* p : {&whole, &lossy})
      p->times(40, [&](int) {
        p->times(2, [&](int) { p->copy("h2d", 65536); });
        for (int l = 0; l < 6; ++l) layer(*p, 1);
        p->kernel("loss", 51);
        for (int l = 0; l < 6; ++l) layer(*p, 2);
        p->times(8, [&](int) { p->kernel("update", 320); }).host(100);
      });
    const DeviceSteps a = whole.units(), b = lossy.units();
    CAPTURE(told(a));
    CAPTURE(told(b));
    REQUIRE_FALSE(b.steps.empty());
    REQUIRE(a.levels.front().count == 40);
    CHECK(std::abs(b.levels.front().count - 40) <= 2);
    CHECK(mean_ms(b) == doctest::Approx(mean_ms(a)).epsilon(0.02));
  }
}

TEST_CASE("units: a validation that only one rank runs changes no unit") {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const int steps = 8 + static_cast<int>(random.below(16)),
              layers = 2 + static_cast<int>(random.below(6)),
              every = 2 + static_cast<int>(random.below(6)),
              batches = 1 + static_cast<int>(random.below(static_cast<std::size_t>(every)));
    const bool gradients_meet = random.below(2) == 0, others_wait = random.below(2) == 0;
    Program first(0), second(1);
    const auto meet = [&](bool do_meet) {
      if (do_meet) Program::meet(first, second);
    };
    for (int i = 0; i < steps; ++i) {
      for (Program* p : {&first, &second}) pass(*p, layers);
      meet(gradients_meet);
      for (Program* p : {&first, &second}) p->kernel(adam, 320).kernel(adam, 97).host(300);
      if (i % every != every - 1) continue;
      first.times(batches, [&](int) {
        first.copy("h2d", 32768).kernel(embedding, 78);
        for (int l = 0; l < layers; ++l) layer(first, 3);
        first.copy("d2h", 512);
      });
      meet(others_wait);
    }
    const auto ranks = Program::units_of_ranks({&first, &second});
    REQUIRE(ranks.size() == 2);
    for (const DeviceSteps& d : ranks) {
      CAPTURE(told(d));
      REQUIRE_FALSE(d.levels.empty());
      CHECK(d.levels.front().name == "training step");
      CHECK(d.levels.front().count == steps);
      CHECK(d.levels == ranks.front().levels);
    }
  }
}

TEST_CASE("units: processes that share a GPU repeat each its own loop, at its own rate") {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const int steps = 8 + static_cast<int>(random.below(16)),
              layers = 2 + static_cast<int>(random.below(5)),
              fewer = 1 + static_cast<int>(random.below(3));
    const auto some = [&](std::size_t n) { return static_cast<double>(random.below(n)); };
    Program trains(0, 0), serves(1, 0);
    trains.times(steps, [&](int) {
      pass(trains, layers);
      trains.kernel(adam, 320).kernel(adam, 97).host(200 + some(100));
    });
    // So many tokens to a step, about, that they do not seem to take turns.
    const double each_us = trains.now_us() / steps / (fewer + 0.3 + some(40) / 100);
    int tokens = 0;
    for (; serves.now_us() < trains.now_us(); ++tokens) {
      const double next_us = serves.now_us() + each_us * (0.8 + some(40) / 100);
      serves.copy("h2d", 512).kernel(embedding, 78, 10 + some(20));
      serves.times(fewer, [&](int) { layer(serves, 3); });
      serves.copy("d2h", 8).host(std::max(0.0, next_us - serves.now_us()));
    }
    const auto devices = Program::units_of_ranks({&trains, &serves});
    REQUIRE(devices.size() == 1);
    const bool first_is_slower = trains.busy_us() > serves.busy_us();
    CAPTURE(told(devices[0]));
    CHECK(devices[0].levels.front().count == (first_is_slower ? steps : tokens));
    CHECK(devices[0].process == (first_is_slower ? 0 : 1));
    CHECK(devices[0].other_crews().size() == 1);
  }
}

TEST_CASE("units: a process that prepares a batch for each step takes part in it") {
  for (const int ahead : {0, 1, 3}) {
    CAPTURE(ahead);
    Random random(5);
    Program prepares(0, 0), trains(1, 0);
    std::vector<double> ready;
    prepares.times(30, [&](int) {
      prepares.copy("h2d", 65536).kernel("augment", 80, 150).kernel("mix", 81, 50).copy("d2d", 512);
      if (static_cast<int>(ready.size()) >= ahead)  // the queue is full
        prepares.host(1500 + static_cast<double>(random.below(300)));
      ready.push_back(prepares.now_us());
    });
    for (const double at : ready) {
      trains.host(std::max(0.0, at - trains.now_us()));
      pass(trains, 2);
      trains.kernel(adam, 320).kernel(adam, 97);
    }
    const auto devices = Program::units_of_ranks({&prepares, &trains});
    REQUIRE(devices.size() == 1);
    CAPTURE(told(devices[0]));
    CHECK(devices[0].other_crews().empty());
    CHECK(std::abs(devices[0].levels.front().count - 30) <= 1);
  }
}

TEST_CASE("units: loops as long as the data says are found, whatever their kernels are called") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const int steps = 6 + static_cast<int>(random.below(20)),
              shortest = 1 + static_cast<int>(random.below(4)),
              longer = 1 + static_cast<int>(random.below(6));
    const auto some = [&](std::size_t n) { return static_cast<double>(random.below(n)); };
    Program p;
    const auto part = [&](const std::string& name, int kernels) {
      p.times(kernels, [&](int k) { p.kernel(name + std::to_string(k), 64 + k, 10 + some(30)); });
    };
    p.times(steps, [&](int) {
      p.copy("h2d", 65536).host(some(200));
      part("x", 6);
      const int passes =
          shortest + static_cast<int>(random.below(static_cast<std::size_t>(longer)));
      p.times(passes, [&](int) { part("y", 3); });
      part("z", 6);
    });
    const DeviceSteps d = p.units();
    CAPTURE(told(d));
    REQUIRE(d.source == StepSource::kernels);
    CHECK(d.levels.front().count == steps);
  }
}

TEST_CASE("units: recordings repeat as often without their ranges") {
  for (const auto& path : few_with_sanitizers(recordings())) {
    CAPTURE(path);
    // Its layers are all that it runs: without ranges nothing tells where a step of twelve begins.
    if (path.stem() == "layers-cuda") continue;
    Trace trace = read_report(path);
    const Classes classes;
    const NameClasses names(trace, classes);
    const ProgramKind program = program_of(trace, classes, names);
    const auto marked = find_steps(trace, classes, names, program, {});
    trace.ranges = {};
    const auto bare = find_steps(trace, classes, names, program, {});
    REQUIRE(marked.size() == bare.size());
    for (std::size_t d = 0; d < bare.size(); ++d) {
      CAPTURE(marked[d].described);
      REQUIRE_FALSE(bare[d].levels.empty());
      // n ranges give n - 1 steps.
      CHECK(std::abs(bare[d].levels.front().count - marked[d].levels.front().count) <= 1);
    }
  }
}

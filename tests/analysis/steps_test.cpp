// Steps: where they are cut, from ranges and from kernels, and what a selection keeps of them.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/analysis.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

std::vector<DeviceSteps> steps_of(const Trace& trace, const Selection& selection = {}) {
  const Classes classes;
  const NameClasses names(trace, classes);
  return find_steps(trace, classes, names, program_of(trace, classes, names), selection);
}

std::vector<DeviceSteps> steps_of(const std::string& lua, const Selection& selection = {}) {
  return steps_of(trace_from_text(lua), selection);
}

// The only device of a trace.
DeviceSteps only(const std::string& lua, const Selection& selection = {}) {
  std::vector<DeviceSteps> devices = steps_of(lua, selection);
  REQUIRE(devices.size() == 1);
  return devices.front();
}

std::vector<std::int64_t> numbers(const DeviceSteps& d) {
  std::vector<std::int64_t> n;
  for (const Step& s : d.steps) n.push_back(s.number);
  return n;
}

Ns median_step(const DeviceSteps& d) {
  std::vector<Ns> lengths;
  for (const Step& s : d.steps) lengths.push_back(s.span.length());
  return median(lengths);
}

// Six rounds of 1 ms with a kernel of 0.7 ms, and a range with a given name around each launch.
std::string rounds(const std::string& range, int times = 6) {
  return "return { repeats = { times = " + std::to_string(times) +
         ", every = 1000 }, ranges = { { 0, 900, '" + range +
         "' } }, ops = { { 100, 800, kernel = 'gemm' } } }";
}

}  // namespace

TEST_CASE("steps: n ranges give n - 1 steps, from GPU end to GPU end") {
  const DeviceSteps d = only(rounds("step {n}"));
  CHECK(d.source == StepSource::ranges);
  CHECK(support::contains(d.described, "step #"));
  REQUIRE(d.steps.size() == 5);
  for (std::size_t k = 0; k < 5; ++k) {
    CHECK(d.steps[k].span == Span{static_cast<Ns>(k) * 1'000'000 + 800'000,
                                  static_cast<Ns>(k) * 1'000'000 + 1'800'000});
    CHECK(d.steps[k].number == static_cast<std::int64_t>(k) + 2);  // the first range bounds step 2
  }
  CHECK(d.left_out == 0);
}

TEST_CASE(
    "steps: if the host runs ahead, steps follow what its ranges launched, not when they were "
    "open") {
  // Each range takes 0.1 ms on the host and launches a kernel of 1 ms that runs long after.
  const DeviceSteps d = only(R"(return {
    ranges = { { 0, 100, "step 1" }, { 100, 200, "step 2" }, { 200, 300, "step 3" } },
    ops = { { 20, 1000, kernel = "gemm", launched = { 10, 15 } }, { 1000, 2000, kernel = "gemm", launched = { 110, 115 } }, { 2000, 3500, kernel = "gemm", launched = { 210, 215 } } } })");
  REQUIRE(d.steps.size() == 2);
  CHECK(d.steps[0].span == Span{1'000'000, 2'000'000});
  CHECK(d.steps[1].span == Span{2'000'000, 3'500'000});
  CHECK(d.steps[0].host_start == 100'000);
  CHECK(numbers(d) == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("steps: numbered ranges with a usual name mark the steps") {
  for (const char* name : {"step {n}", "iteration {n}", "train_step {n}", "Step: {n}",
                           "global_step={n}", "batch {n}", "iter {n}"}) {
    CAPTURE(name);
    const DeviceSteps d = only(rounds(name));
    CHECK(d.source == StepSource::ranges);
    CHECK(d.steps.size() == 5);
  }
}

TEST_CASE("steps: ProfilerStep# of the PyTorch profiler marks the steps") {
  const std::vector<DeviceSteps> devices = steps_of(trace_from_text(
      R"(return { repeats = { times = 4, every = 100 }, ranges = { { 0, 90, "ProfilerStep#{n}" } }, ops = { { 20, 80, kernel = "a" } } })"));
  CHECK(devices[0].source == StepSource::ranges);
  CHECK(numbers(devices[0]) == std::vector<std::int64_t>{2, 3, 4});
}

TEST_CASE("steps: ranges with a usual name mark the steps even without numbers") {
  for (const char* name : {"train_step", "training_step", "training step", "step", "iteration",
                           "[pl][profile]run_training_batch"}) {
    CAPTURE(name);
    const DeviceSteps d = only(rounds(name));
    CHECK(d.source == StepSource::ranges);
    CHECK(numbers(d) ==
          std::vector<std::int64_t>{1, 2, 3, 4,
                                    5});  // counted from 0; the first range bounds the first step
  }
}

TEST_CASE("steps: sequence numbers from emit_nvtx are not step numbers") {
  const DeviceSteps d = only(R"(return {
    ranges = { { 0, 90, "training_step, op_id = 12" }, { 100, 190, "training_step, op_id = 57" }, { 200, 290, "training_step, op_id = 91" } },
    ops = { { 20, 80, kernel = "a" }, { 120, 180, kernel = "a" }, { 220, 280, kernel = "a" } } })");
  CHECK(d.source == StepSource::ranges);
  CHECK(numbers(d) == std::vector<std::int64_t>{1, 2});
  // Operators are not steps, although their numbers rise.
  CHECK(only(rounds("aten::mm, op_id = #, sizes = [[8, 8], [8, 8]]")).source == StepSource::none);
}

TEST_CASE("steps: the optimizer's ranges mark the end of a step") {
  const DeviceSteps d = only(
      R"(return { repeats = { times = 4, every = 1000 }, ranges = { { 600, 700, "Optimizer.step:AdamW.step" }, { 800, 900, "optimizer.step" } },
    ops = { { 100, 500, kernel = "gemm" }, { 650, 880, kernel = "adam", launched = { 610, 620 } } } })");
  CHECK(d.source == StepSource::ranges);
  REQUIRE(d.steps.size() == 3);
  CHECK(d.steps[0].span == Span{880'000, 1'880'000});
  CHECK(d.steps[2].span == Span{2'880'000, 3'880'000});
}

TEST_CASE("steps: a loader's range marks the start of a step") {
  Trace trace = trace_from_text(
      R"(return { repeats = { times = 4, every = 1000 }, ranges = { { 0, 50, "loader" } }, ops = { { 100, 800, kernel = "gemm" } } })");
  for (NameId& name : trace.ranges.name)
    name = trace.names.intern("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  const std::vector<DeviceSteps> devices = steps_of(trace);
  REQUIRE(devices[0].steps.size() ==
          2);  // nothing on the GPU ends before the first range, so its step has no beginning
  CHECK(devices[0].source == StepSource::ranges);
  CHECK(devices[0].steps[0].span.length() == 1'000'000);
}

TEST_CASE("steps: warm-up, epochs and layers count up but are not steps") {
  for (const char* name : {"warmup {n}", "warm-up step {n}", "epoch {n}", "Epoch: {n}", "layer {n}",
                           "layers.{n}", "block {n}", "validation step {n}", "eval {n}"}) {
    CAPTURE(name);
    const DeviceSteps d = only(rounds(name));
    CHECK(d.source == StepSource::none);
    CHECK(d.steps.size() == 1);
  }
}

TEST_CASE("steps: steps win over the epochs around them and the phases in them") {
  const DeviceSteps d = only(
      R"(return { repeats = { times = 6, every = 1000 }, ranges = { { 0, 900, "step {n}" }, { 10, 400, "forward" }, { 400, 800, "backward" }, { 0, 500, "phase #" } },
    ops = { { 100, 800, kernel = "gemm" } } })");
  CHECK(support::contains(d.described, "step #"));
  CHECK(d.steps.size() == 5);
}

TEST_CASE("steps: numbered ranges mark the steps whatever their name") {
  CHECK(only(rounds("update {n}")).source == StepSource::ranges);
  CHECK(only(rounds("update {n}", 2)).source == StepSource::none);  // two do not prove a count
}

TEST_CASE("steps: nested and overlapping ranges of one name are not steps") {
  CHECK(
      only(
          R"(return { ranges = { { 0, 400, "step 1" }, { 100, 300, "step 2" }, { 150, 250, "step 3" } }, ops = { { 120, 280, kernel = "a" } } })")
          .source == StepSource::none);
}

TEST_CASE("steps: ranges that launch nothing are not steps") {
  const DeviceSteps d = only(
      R"(return { repeats = { times = 6, every = 1000 }, ranges = { { 0, 20, "step {n}" } }, ops = { { 100, 800, kernel = "gemm" } } })");
  CHECK(d.source == StepSource::none);
}

TEST_CASE("steps: slow steps at the start are left out") {
  const std::string slow =
      R"(return { ranges = { { 0, 90, "step 1" }, { 100, 1900, "step 2" }, { 2000, 2090, "step 3" }, { 2100, 2190, "step 4" }, { 2200, 2290, "step 5" }, { 2300, 2390, "step 6" }, { 2400, 2490, "step 7" } },
    ops = { { 20, 80, kernel = "a" }, { 120, 1880, kernel = "a" }, { 2020, 2080, kernel = "a" }, { 2120, 2180, kernel = "a" }, { 2220, 2280, kernel = "a" }, { 2320, 2380, kernel = "a" }, { 2420, 2480, kernel = "a" } } })";
  const DeviceSteps d = only(slow);
  CHECK(d.left_out == 1);
  CHECK(numbers(d) == std::vector<std::int64_t>{3, 4, 5, 6, 7});
  Selection all;  // they are kept if asked for
  all.steps = std::pair<std::int64_t, std::int64_t>{2, 7};
  CHECK(only(slow, all).steps.size() == 6);
  CHECK(only(slow, all).left_out == 0);
}

TEST_CASE("steps: steps from kernels are as long as steps from ranges") {
  for (const char* name : {"good", "starved", "eager"}) {
    CAPTURE(name);
    const support::TempDir dir;
    const auto copy = dir / "copy.sqlite";
    std::filesystem::copy_file(std::filesystem::path(GH_FIXTURES) / (std::string(name) + ".sqlite"),
                               copy);
    std::filesystem::permissions(copy, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    support::run_sql(copy, "delete from NVTX_EVENTS");
    const auto with = steps_of(recorded(name)), without = steps_of(read_nsys(copy));
    REQUIRE(with.size() == 1);
    REQUIRE(without.size() == 1);
    CHECK(with[0].source == StepSource::ranges);
    CHECK(without[0].source == StepSource::kernels);
    const double ratio =
        static_cast<double>(median_step(without[0])) / static_cast<double>(median_step(with[0]));
    CAPTURE(ratio);
    CHECK(ratio > 0.97);
    CHECK(ratio < 1.03);
  }
}

TEST_CASE("steps: without steps the whole window is analyzed, and without work nothing") {
  const DeviceSteps d = only(
      R"(return { ops = { { 100, 200, kernel = "a" }, { 150, 400, kernel = "b", stream = 8 } } })");
  CHECK(d.source == StepSource::none);
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].span == Span{90'000, 400'000});  // the first was launched 10 us before
  CHECK(steps_of("return {}").empty());
}

TEST_CASE("steps: --steps selects steps by their number") {
  Selection s;
  s.steps = std::pair<std::int64_t, std::int64_t>{3, 4};
  CHECK(numbers(only(rounds("step {n}"), s)) == std::vector<std::int64_t>{3, 4});
  s.steps = std::pair<std::int64_t, std::int64_t>{0, 2};
  CHECK(numbers(only(rounds("step {n}"), s)) == std::vector<std::int64_t>{2});
  s.steps = std::pair<std::int64_t, std::int64_t>{70, 80};
  const std::string error = error_of([&] { only(rounds("step {n}"), s); });
  CHECK(support::contains(error, "--steps 70:80"));
  CHECK(support::contains(error, "2:6"));
  CHECK(support::contains(error_of([&] { only(rounds("epoch {n}"), s); }),
                          "nothing in the report repeats"));
}

TEST_CASE("steps: --range selects what was launched inside a range") {
  const std::string trace =
      R"(return { repeats = { times = 3, every = 1000 }, ranges = { { 0, 900, "step {n}" }, { 100, 400, "forward" }, { 420, 800, "backward" } },
    ops = { { 20, 60, kernel = "c" }, { 120, 380, kernel = "a" }, { 440, 880, kernel = "b" } } })";
  Selection s;
  s.range = "for*";
  const DeviceSteps d = only(trace, s);
  CHECK(d.source == StepSource::selected_range);
  REQUIRE(d.steps.size() == 3);
  CHECK(d.steps[0].span.start >= 100'000);
  CHECK(d.steps[0].span.end == 380'000);
  CHECK(d.steps[2].span.end == 2'380'000);
  CHECK(support::contains(d.described, "for*"));
  // Nothing ran before the first range, so its step begins with itself, even if one operation is
  // all there is.
  const DeviceSteps lone = only(
      R"(return { repeats = { times = 2, every = 1000 }, ranges = { { 100, 400, "forward" } }, ops = { { 120, 380, kernel = "a" } } })",
      s);
  REQUIRE(lone.steps.size() == 2);
  CHECK(lone.steps[0].span == Span{100'000, 380'000});
  s.range = "bakward";
  CHECK(support::contains(error_of([&] { only(trace, s); }), "--range 'bakward'"));
}

TEST_CASE("steps: the number that counts up is found after one that does not") {
  CHECK(numbers(only(rounds("epoch 3 step {n}"))) == std::vector<std::int64_t>{2, 3, 4, 5, 6});
  CHECK(numbers(only(rounds("rank0 iter {n} of 600"))) == std::vector<std::int64_t>{2, 3, 4, 5, 6});
}

TEST_CASE("steps: a device that hardly works next to training devices is left out") {
  const std::string more = ", { 100, 101, set = true, rank = 1 }";
  const auto trace = [](const std::string& other) {
    return trace_from_text(
        "return { repeats = { times = 5, every = 1000 }, ranges = { { 0, 900, 'step {n}' } }, "
        "ops = { { 20, 880, kernel = 'a' }" +
        other + " } }");
  };
  const Analysis a(trace(more), Classes(), {});
  REQUIRE(a.devices.size() == 1);
  CHECK(a.unused_devices.size() == 1);
  CHECK(a.total_ns() == Analysis(trace(""), Classes(), {}).total_ns());
  CHECK(Analysis(trace(", { 100, 700, kernel = 'b', rank = 1 }"), Classes(), {}).devices.size() ==
        2);  // this one works
}

TEST_CASE("steps: of few steps only an extreme one is taken for start-up") {
  const auto steps = [](const std::string& first_end) {
    return only(
        "return { ranges = { { 0, 10, 'step 0' }, { 100, 110, 'step 1' }, { 20000, 20010, 'step "
        "2' }, { 21000, 21010, 'step 3' }, { 22000, 22010, 'step 4' } },"
        " ops = { { 20, 100, kernel = 'a', launched = { 5, 6 } }, { 120, " +
        first_end +
        ", kernel = 'a', launched = { 105, 106 } }, { 20015, 21000, kernel = 'a', launched = { "
        "20005, 20006 } },"
        " { 21015, 22000, kernel = 'a', launched = { 21005, 21006 } }, { 22015, 23000, kernel = "
        "'a', launched = { 22005, 22006 } } } }");
  };
  CHECK(steps("20000").left_out == 1);
  CHECK(steps("20000").steps.size() == 3);
}

TEST_CASE("steps: a step that the recording begins or ends in does not count") {
  const auto last = [](const std::string& range_end, const std::string& more = "") {
    return numbers(only(
        "return { ranges = { { 0, 900, 'step 1' }, { 1000, 1900, 'step 2' }, { 2000, " + range_end +
        ", 'step 3' } }, ops = { { 100, 800, kernel = 'a' }, { 1100, 1800, kernel "
        "= 'a' }, { 2100, 2300, kernel = 'a' } }" +
        more + " }"));
  };
  const std::vector<std::int64_t> with{2, 3}, without{2};
  CHECK(last("2600") == with);
  CHECK(last("9000") == without);
  // A later start shows that the recording went on; a later end alone does not.
  CHECK(last("9000", ", os_calls = { { 8000, 8500, 'read' } }") == with);
  CHECK(last("9000", ", os_calls = { { 2200, 8500, 'read' } }") == without);
  CHECK(last("9000", ", calls = { { 2310, 8500, 'cudaDeviceSynchronize' } }") == with);
  // Another process does not show it.
  CHECK(numbers(steps_of("return { ranges = { { 0, 900, 'step 1' }, { 1000, 1900, 'step 2' }, { "
                         "2000, 9000, 'step 3' } }, ops = { { 100, 800, kernel = 'a' }, { 1100, "
                         "1800, kernel = 'a' }, { 2100, 2300, kernel = 'a' }, { 8500, 8900, kernel "
                         "= 'a', rank = 1 } } }")
                    .front()) == without);
  // Marks at the start of a step begin it.
  const auto first = [](const std::string& begin) {
    return only("return { ranges = { { " + begin +
                ", 950, 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__' }, { 2000, "
                "2100, 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__' }, { 4000, "
                "4100, 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__' } }, ops = { "
                "{ 1000, 1100, kernel = 'a' }, { 1200, 1900, kernel = 'a' }, { 2200, 3900, kernel "
                "= 'a' }, { 4200, 5000, kernel = 'a' } } }")
        .steps.size();
  };
  CHECK(first("0") == 2);
  CHECK(first("-9000") == 1);
}

TEST_CASE("steps: a recording that ends within its only step has no steps") {
  CHECK(only("return { ranges = { { 0, 900, 'step 1' }, { 1000, 9000, 'step 2' } }, ops = { { 100, "
             "800, kernel = 'a' }, { 1100, 1300, kernel = 'a' } } }")
            .source == StepSource::none);
}

TEST_CASE("steps: --device and --rank select devices") {
  const Trace trace = recorded("ddp");
  const auto both = steps_of(trace);
  REQUIRE(both.size() == 2);
  CHECK(both[0].process != both[1].process);
  Selection s;
  s.device = 1;
  const auto device = steps_of(trace, s);
  REQUIRE(device.size() == 1);
  CHECK(trace.devices[device[0].device].ordinal == 1);
  CHECK(device[0].steps.size() == both[1].steps.size());
  s.device = 5;
  std::string error = error_of([&] { steps_of(trace, s); });
  CHECK(support::contains(error, "--device 5"));
  CHECK(support::contains(error, "0, 1"));
  s = {};
  s.rank = 1;
  const auto rank = steps_of(trace, s);
  REQUIRE(rank.size() == 1);
  CHECK(rank[0].process == both[1].process);
  s.rank = 2;
  error = error_of([&] { steps_of(trace, s); });
  CHECK(support::contains(error, "--rank 2"));
  CHECK(support::contains(error, "2 ranks"));
  s.rank = -1;
  CHECK(support::contains(error_of([&] { steps_of(trace, s); }), "--rank -1"));
}

TEST_CASE("steps: steps of every recording are in order and disjoint") {
  for (const auto& path : support::few_with_sanitizers(support::recordings())) {
    CAPTURE(path.string());
    const auto devices = steps_of(read_nsys(path));
    CHECK_FALSE(devices.empty());
    for (const DeviceSteps& d : devices) {
      CHECK(d.source == StepSource::ranges);
      CHECK_FALSE(d.steps.empty());
      for (std::size_t k = 0; k < d.steps.size(); ++k) {
        CHECK(d.steps[k].span.length() > 0);
        if (k > 0) CHECK(d.steps[k].span.start >= d.steps[k - 1].span.end);
        if (k > 0) CHECK(d.steps[k].number > d.steps[k - 1].number);
      }
    }
  }
}

// Steps of 1 ms on two ranks: of twelve kernels each, from the first step of a rank to its last.
// `second`: Lua for what rank 1 runs as the k-th kernel of a step, and when.
std::string two_ranks(const std::string& first_to_last, const std::string& second = "'k' .. k",
                      int later_us = 0) {
  return R"(
    local from = {)" +
         first_to_last + R"(}
    local ops, later = {}, )" +
         std::to_string(later_us) + R"(
    for step = 0, 11 do
      for k = 0, 11 do
        local at = 1000 * step + 80 * k
        if step >= from[1] and step <= from[2] then
          ops[#ops + 1] = { at + 10, at + 70, kernel = 'k' .. k, launched = { at, at + 5 } }
        end
        if step >= from[3] and step <= from[4] then
          ops[#ops + 1] = { at + 10 + later, at + 70 + later, kernel = )" +
         second + R"(, rank = 1, launched = { at + later, at + 5 + later } }
        end
      end
    end
    return { ops = ops })";
}

// It does the same, but its launches come in another order each time.
const char* const in_any_order = "'r' .. (k + 1) * (step + 1) % 13";

TEST_CASE("steps: a device without steps of its own takes those of the job") {
  const auto devices = steps_of(two_ranks("0, 11, 0, 11", in_any_order));
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].steps.size() >= 11);
  CHECK(devices[1].steps.size() >= 11);
  CHECK(devices[1].source == StepSource::kernels);
}

TEST_CASE("steps: --unit with the name of what is judged anyway changes nothing, on any device") {
  const std::string trace = two_ranks("0, 11, 0, 11", in_any_order);
  const auto judged = steps_of(trace);
  Selection selection;
  selection.unit = judged.front().levels.front().name;
  const auto asked = steps_of(trace, selection);
  REQUIRE(asked.size() == 2);
  for (std::size_t d = 0; d < 2; ++d) {
    CHECK(asked[d].described == judged[d].described);
    CHECK(asked[d].levels == judged[d].levels);
    CHECK(numbers(asked[d]) == numbers(judged[d]));
    CHECK(asked[d].lengths() == judged[d].lengths());
  }
  // The second shows nothing by itself, and lists what the first one does.
  const Analysis a(trace_from_text(trace), Classes(), {});
  CHECK(units_of(a.trace, a.classes, a.names, a.program, {a.devices[1], a.devices[0]}) ==
        std::vector<std::string>{"iteration", "window"});
}

TEST_CASE("steps: devices that run their steps together are judged on the same ones") {
  const auto bounds = [](const std::string& trace) {
    std::vector<std::pair<Ns, Ns>> of_devices;
    for (const DeviceSteps& d : steps_of(trace))
      of_devices.emplace_back(d.steps.front().span.end / 1'000'000,
                              d.steps.back().span.end / 1'000'000);
    return of_devices;
  };
  // Rank 1 has one step less at either end, and each of its steps is 20 us late.
  const auto cut = bounds(two_ranks("0, 11, 1, 10", "'k' .. k", 20));
  REQUIRE(cut.size() == 2);
  CHECK(cut[0] == cut[1]);
  // More than a quarter of the steps is not dropped.
  const auto few = bounds(two_ranks("0, 11, 5, 11"));
  CHECK(few[0].first < few[1].first - 2);
  // Stages of a pipeline do not run their steps at the same time: nothing is dropped.
  const auto stages = bounds(two_ranks("0, 11, 0, 11", "'k' .. k", 480));
  CHECK(stages[0] == bounds(two_ranks("0, 11, 0, 11"))[0]);
}

TEST_CASE("steps: devices that run the same kernels have one tree of levels") {
  // Rank 1 does the same, but in another order each time, so that no layers show.
  const Analysis a = analysed(R"(
    local step = { 'void at::native::vectorized_gather_kernel<16, long>' }
    local function layers(grid)
      for l = 1, 4 do
        for k = 1, 3 do step[#step + 1] = 'void at::native::elementwise_kernel<' .. grid + k .. '>' end
        step[#step + 1] = 'sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_' .. grid
        step[#step + 1] = 'sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_' .. grid
      end
    end
    layers(10)
    step[#step + 1] = 'void (anonymous namespace)::cunn_SoftMaxForward<nll_loss>'
    layers(20)
    step[#step + 1] = 'void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>'
    local ops = {}
    for n = 0, 7 do
      for k = 0, #step - 1 do
        local at = 2000 * n + 40 * k
        ops[#ops + 1] = { at + 5, at + 35, kernel = step[k + 1], launched = { at, at + 4 } }
        ops[#ops + 1] = { at + 5, at + 35, kernel = step[k * (n + 2) % #step + 1], rank = 1,
                          launched = { at, at + 4 } }
      end
    end
    return { ops = ops })");
  REQUIRE(a.devices.size() == 2);
  REQUIRE(a.devices[0].levels.size() == 2);
  CHECK(a.devices[0].levels[1].name == "layer");
  CHECK(a.devices[1].levels == a.devices[0].levels);
  CHECK(a.repeats() ==
        fmt::format("{} training steps of 4 layers on 2 devices", a.devices[0].steps.size()));
}

// What groups of operations take: each nanosecond of each step once, exactly as the account has it.
#include "analysis/tables/work_sums.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analysis/structure/program_layers.hpp"
#include "read/read.hpp"
#include "support/traces.hpp"

using gh::WorkSum;
using support::analysed;

namespace {

std::vector<std::filesystem::path> every_recording() {
  std::vector<std::filesystem::path> all = support::recordings();
  for (const auto& more : {support::unmarked_recordings(), support::torch_traces()})
    all.insert(all.end(), more.begin(), more.end());
  return support::few_with_sanitizers(all);
}

std::int64_t launched_in_steps(const gh::Analysis& a) {
  std::int64_t count = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    a.each_op_in_steps(d, [&](gh::Row) { ++count; });
  return count;
}

// Whether groups together take what the account says: in total, by cause and by device.
void check_exact(const gh::Analysis& a, const std::vector<WorkSum>& sums) {
  WorkSum all;
  for (const WorkSum& sum : sums) {
    gh::Ns by_cause = 0, by_device = 0;
    bool negative = sum.busy_ns < 0 || sum.idle_ns < 0;
    for (const gh::Ns ns : sum.by_cause) {
      by_cause += ns;
      negative = negative || ns < 0;
    }
    for (const gh::Ns ns : sum.by_device) by_device += ns;
    CHECK(by_cause == sum.total_ns());
    CHECK(by_device == sum.total_ns());
    CHECK_FALSE(negative);
    all += sum;
  }
  CHECK(all.total_ns() == a.total_ns());
  all.by_cause.resize(a.account.causes.size());
  for (std::size_t c = 0; c < a.account.causes.size(); ++c) {
    CAPTURE(a.account.causes[c]);
    CHECK(all.by_cause[c] == a.account.total_ns(a.account.causes[c]));
  }
  all.by_device.resize(a.devices.size());
  gh::Ns busy = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    gh::Ns steps = 0;
    for (const gh::Step& step : a.devices[d].steps) steps += step.span.length();
    CHECK(all.by_device[d] == steps);
    busy += a.account.devices[d].busy_ns;
  }
  CHECK(all.busy_ns == busy);
  CHECK(all.launches == launched_in_steps(a));
}

// The sums of a literal trace, with one group for each kernel name; copies, memsets and what
// nobody launched are in the first.
class ByKernel {
 public:
  explicit ByKernel(const std::string& literal) : a_(analysed("return " + literal)) {
    sums_ =
        gh::sum_work(a_, a_.trace.names.size(), [&](gh::Row op) { return a_.trace.ops.name[op]; });
    check_exact(a_, sums_);
  }
  const WorkSum& operator[](const std::string& kernel) const {
    return sums_.at(kernel.empty() ? 0 : a_.trace.names.find(kernel));
  }
  // Of one kernel and one cause, in microseconds.
  double us(const std::string& kernel, const std::string& cause) const {
    const WorkSum& sum = (*this)[kernel];
    gh::Ns ns = 0;
    for (std::size_t c = 0; c < sum.by_cause.size(); ++c)
      if (a_.account.causes[c].starts_with(cause)) ns += sum.by_cause[c];
    return static_cast<double>(ns) / 1000;
  }
  std::string bound_by(const std::string& kernel) const {
    return (*this)[kernel].bound_by(a_.account);
  }
  const gh::Analysis& analysis() const { return a_; }

 private:
  gh::Analysis a_;
  std::vector<WorkSum> sums_;
};

}  // namespace

TEST_CASE("work sums: on every recording, layers add up to the account, to the nanosecond") {
  for (const auto& path : every_recording()) {
    CAPTURE(path.filename().string());
    const gh::Analysis a = analysed(gh::read_report(path));
    const gh::ProgramLayers layers(a);
    check_exact(
        a, gh::sum_work(a, layers.origins().size(), [&](gh::Row op) { return layers.of_op(op); }));
  }
}

TEST_CASE("work sums: groups add up to the account however work is grouped") {
  for (const char* name : {"um", "ddp", "offload", "cu-low-sm-fill-lookalike", "compile-graphs"}) {
    CAPTURE(name);
    const gh::Analysis a = analysed(support::recorded(name));
    for (const std::uint32_t groups : {1u, 7u, 1000u}) {
      CAPTURE(groups);
      check_exact(a, gh::sum_work(a, groups, [&](gh::Row op) { return op % groups; }));
    }
  }
}

TEST_CASE("work sums: of a selection of steps, too") {
  gh::Selection few;
  few.steps = std::pair<std::int64_t, std::int64_t>{2, 3};
  const gh::Analysis a(support::recorded("starved"), gh::Classes(), few);
  REQUIRE(a.step_count() == 2);
  check_exact(a, gh::sum_work(a, 3, [](gh::Row op) { return op % 3; }));
}

TEST_CASE("work sums: of kernels side by side, the first has the time") {
  const ByKernel k(
      "{ ops = { { 0, 300, kernel = 'a' }, { 100, 500, kernel = 'b', stream = 8 } } }");
  CHECK(k["a"].busy_ns == 300'000);
  CHECK(k["b"].busy_ns == 200'000);
  // What runs side by side counts in full here.
  CHECK(k["a"].device_ns == 300'000);
  CHECK(k["b"].device_ns == 400'000);
  CHECK(k["a"].launches == 1);
}

TEST_CASE("work sums: compute precedes a collective, which precedes a copy") {
  const ByKernel k(R"({ ops = {
    { 0, 500, copy = 'h2d', bytes = 1e6, stream = 9 },
    { 0, 400, kernel = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL', stream = 8 },
    { 0, 300, kernel = 'nvjet_tst_gemm' } } })");
  CHECK(k["nvjet_tst_gemm"].busy_ns == 300'000);
  CHECK(k.us("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "communication_exposed") == 100);
  CHECK(k["ncclDevKernel_AllReduce_Sum_f32_RING_LL"].total_ns() == 100'000);
  CHECK(k.us("", "copy_exposed") == 100);
}

TEST_CASE("work sums: a stall of unified memory belongs to the kernel that waits") {
  const ByKernel k(
      R"({ ops = { { 0, 200, kernel = 'waits' }, { 50, 90, copy = 'um_h2d', bytes = 65536 },
      { 300, 320, copy = 'um_h2d', bytes = 65536 }, { 400, 500, kernel = 'last' } },
    gpu_faults = { { 100, 150 }, { 450, 470 } } })");
  CHECK(k.us("waits", "um_stall") == 90);
  CHECK(k["waits"].busy_ns == 200'000);
  // Pages also move while nobody waits for them.
  CHECK(k.us("", "um_stall") == 20);
  CHECK(k.us("last", "um_stall") == 20);
}

TEST_CASE("work sums: a page fault stalls its own GPU only") {
  const ByKernel k(
      "{ ops = { { 0, 200, kernel = 'a' }, { 0, 200, kernel = 'b', rank = 1 } }, gpu_faults = { { "
      "100, 150 } } }");
  CHECK(k.us("a", "um_stall") == 50);
  CHECK(k.us("b", "um_stall") == 0);
}

TEST_CASE("work sums: an idle GPU waits for its next operation") {
  const ByKernel k(
      R"({ ops = { { 0, 100, kernel = 'a', launched = false }, { 400, 500, kernel = 'b' },
      { 500, 600, kernel = 'c' } } })");
  CHECK(k["b"].idle_ns == 300'000);
  CHECK(k["b"].busy_ns == 100'000);
  CHECK(k["b"].total_ns() == 400'000);
  CHECK(k.us("b", "idle.") == 300);
  CHECK(k["a"].idle_ns == 0);
  CHECK(k["c"].idle_ns == 0);
}

TEST_CASE("work sums: each device has its part") {
  const ByKernel k(
      "{ ops = { { 0, 300, kernel = 'a', launched = false }, "
      "{ 0, 200, kernel = 'a', rank = 1, launched = false }, "
      "{ 200, 300, kernel = 'b', rank = 1 } } }");
  CHECK(k["a"].by_device == std::vector<gh::Ns>{300'000, 200'000});
  CHECK(k["b"].by_device == std::vector<gh::Ns>{0, 100'000});
}

TEST_CASE("work sums: shapes tell operations and bytes of the group that runs the product") {
  const std::string shaped = "'aten::mm, sizes = [[4096, 4096], [4096, 4096]]'",
                    gemm = "kernel = 'sm90_xmma_gemm_bf16bf16_bf16f32_nn', ";
  const ByKernel k(
      "{ ranges = { { 0, 20, " + shaped + " } }, ops = { { 30, 430, " + gemm +
      "launched = { 5, 10 } }, { 430, 480, set = true, bytes = 1e6, launched = { 25, 28 "
      "} }, { 480, 500, kernel = 'other', launched = { 29, 30 } } } }");
  const WorkSum& product = k["sm90_xmma_gemm_bf16bf16_bf16f32_nn"];
  CHECK(product.flops == 2.0 * 4096 * 4096 * 4096);
  CHECK(product.bytes == 3.0 * 4096 * 4096 * 2);
  CHECK(product.product_ns == 400'000);
  CHECK(product.told_ns == 400'000);
  CHECK_FALSE(product.more_flops());
  CHECK(product.tells_size());
  CHECK(product.attained() > 0.1);
  CHECK(product.attained() <= 1);
  CHECK(k[""].bytes == 1e6);
  CHECK(k[""].flops == 0);
  CHECK_FALSE(k[""].more_flops());
  CHECK(k["other"].attained() < 0);
  CHECK_FALSE(k["other"].tells_size());
}

TEST_CASE("work sums: where shapes of some products are unknown, there are more operations") {
  const std::string gemm = "kernel = 'sm90_xmma_gemm_bf16bf16_bf16f32_nn', ";
  const ByKernel k(
      "{ ranges = { { 0, 20, 'aten::mm, sizes = [[4096, 4096], [4096, 4096]]' } }, ops = { { 30, "
      "130, " +
      gemm + "launched = { 5, 10 } }, { 130, 430, " + gemm + "launched = { 25, 28 } } } }");
  const WorkSum& both = k["sm90_xmma_gemm_bf16bf16_bf16f32_nn"];
  CHECK(both.flops == 2.0 * 4096 * 4096 * 4096);
  CHECK(both.more_flops());
  CHECK_FALSE(both.tells_size());  // of a quarter of its time
  // Copies of known size tell nothing about products.
  const gh::Analysis a = analysed("return { ops = { { 0, 100, " + gemm +
                                  "}, { 100, 900, set = true, bytes = 1e9 } } }");
  CHECK(gh::sum_work(a, 1, [](gh::Row) { return 0u; })[0].more_flops());
}

TEST_CASE("work sums: what a group is bound by is what takes most of its time") {
  const ByKernel k(R"({ ops = { { 0, 100, kernel = 'sm90_xmma_gemm_bf16bf16_bf16f32_nn' },
    { 100, 150, kernel = 'void at::native::vectorized_elementwise_kernel<4>' },
    { 150, 200, kernel = 'my_kernel' }, { 200, 300, copy = 'h2d', bytes = 1e6 },
    { 300, 400, kernel = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL' },
    { 900, 1000, kernel = 'waited_for', launched = { 10, 15 } } } })");
  CHECK(k.bound_by("sm90_xmma_gemm_bf16bf16_bf16f32_nn") == "compute");
  CHECK(k.bound_by("void at::native::vectorized_elementwise_kernel<4>") == "memory");
  CHECK(k.bound_by("my_kernel") == "custom kernels");
  CHECK(k.bound_by("") == "the link");
  CHECK(k.bound_by("ncclDevKernel_AllReduce_Sum_f32_RING_LL") == "the network");
  CHECK(k.bound_by("waited_for") == "waiting for other work");
  CHECK(WorkSum().bound_by(k.analysis().account).empty());
}

TEST_CASE("work sums: products of few rows are bound by memory") {
  const auto bound_by = [](const std::string& rows) {
    return ByKernel("{ ranges = { { 0, 20, 'aten::mm, sizes = [[" + rows +
                    ", 8192], [8192, 8192]]' } }, ops = { { 30, 130, kernel = "
                    "'sm90_xmma_gemm_bf16bf16_bf16f32_nn', launched = { 5, 10 } } } }")
        .bound_by("sm90_xmma_gemm_bf16bf16_bf16f32_nn");
  };
  CHECK(bound_by("1") == "memory");
  CHECK(bound_by("8192") == "compute");
}

TEST_CASE("work sums: a trace of nothing takes nothing") {
  const gh::Analysis a = analysed("return {}");
  const std::vector<WorkSum> sums = gh::sum_work(a, 0, [](gh::Row) { return 0u; });
  REQUIRE(sums.size() == 1);
  CHECK(sums[0].total_ns() == 0);
  CHECK(sums[0].launches == 0);
  CHECK(sums[0].attained() < 0);
}

// What limits a unit, what the device needs for kernels of known size, and operations of
// convolutions.
#include "analysis/structure/roofline.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "analysis/facts.hpp"
#include "analysis/flops.hpp"
#include "read/read.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

Analysis literal(const std::string& text) {
  return Analysis(trace_from_text("return " + text), Classes(), {});
}

std::string text_fact(const Analysis& a, const char* name) {
  return std::get<std::string>(Facts(a).value(name));
}

double number_fact(const Analysis& a, const char* name) {
  return std::get<double>(Facts(a).value(name));
}

}  // namespace

TEST_CASE("roofline: the operations of a convolution follow from shapes and arguments") {
  // ResNet's first: 64 filters of 3 x 7 x 7 over 224 x 224 with stride 2 make 112 x 112.
  const double first = 2.0 * 32 * 64 * 112 * 112 * 3 * 7 * 7;
  const std::string sizes = "sizes = [[32, 3, 224, 224], [64, 3, 7, 7], [], [], []]";
  CHECK(convolution_flops("aten::cudnn_convolution, " + sizes +
                          R"(, concrete = ["", "", "[3, 3]", "[2, 2]", "[1, 1]", "1"])") == first);
  CHECK_FALSE(convolution_flops("aten::cudnn_convolution, " + sizes));
  CHECK(convolution_flops("aten::cudnn_convolution, " + sizes, 32.0 * 64 * 112 * 112) == first);
  const std::string backward =
      "aten::convolution_backward, sizes = [[32, 64, 112, 112], [32, 3, 224, 224], [64, 3, 7, 7]]";
  CHECK(convolution_flops(backward) == 2 * first);
  CHECK(convolution_flops(backward +
                          R"(, concrete = ["", "", "", "", "[2, 2]", "[3, 3]", "[1, 1]", )"
                          R"("False", "[0, 0]", "1", "[False, True, False]"])") == first);
  CHECK_FALSE(convolution_flops(
      backward + R"(, concrete = ["", "", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "True"])"));
  // Groups: each filter sees its part of the channels.
  CHECK(
      convolution_flops("aten::cudnn_convolution, sizes = [[1, 64, 8, 8], [64, 1, 3, 3]], concrete "
                        R"(= ["", "", "[1, 1]", "[1, 1]", "[1, 1]", "64"])") == 2.0 * 64 * 64 * 9);
  CHECK_FALSE(convolution_flops("aten::conv2d, " + sizes));
}

TEST_CASE("roofline: backward shows how large the result of forward was") {
  const Analysis a = literal(
      "{ ranges = { { 0, 10, 'aten::cudnn_convolution, sizes = [[32, 3, 224, 224], [64, 3, 7, 7]]' "
      "}, "
      "{ 20, 30, 'aten::convolution_backward, sizes = [[32, 64, 112, 112], [32, 3, 224, 224], [64, "
      "3, "
      "7, 7]]' } }, ops = { { 5, 100, kernel = 'sm80_xmma_fprop_implicit_gemm_f16f16_f16f32' } } "
      "}");
  const ProductFlops counted = product_flops(a);
  CHECK(counted.convolutions_untold == 0);
  CHECK(counted.flops == 3 * 2.0 * 32 * 64 * 112 * 112 * 3 * 7 * 7);
}

TEST_CASE("roofline: a convolution without sizes leaves utilization unknown rather than 0") {
  const Analysis a = literal(
      "{ ranges = { { 0, 10, 'aten::cudnn_convolution, sizes = [[32, 3, 224, 224], [64, 3, 7, 7]]' "
      "}, "
      "{ 20, 30, 'aten::mm, sizes = [[8, 8], [8, 8]]' } }, ops = { { 5, 100, kernel = "
      "'sm80_xmma_fprop_implicit_gemm_f16f16_f16f32' } } }");
  CHECK(product_flops(a).convolutions_untold == 1);
  CHECK_FALSE(mfu_of(a));
  CHECK(std::holds_alternative<Unknown>(Facts(a).value("mfu.fraction")));
}

TEST_CASE("roofline: a product with few rows is memory-bound, one with many compute-bound") {
  const auto of = [](const char* sizes) {
    return literal(
        fmt::format("{{ ranges = {{ {{ 0, 20, 'aten::mm, sizes = {}' }} }}, ops = {{ {{ 30, "
                    "130, kernel = 'nvjet_sm90_tst_64x8_64x16_2x4_h_bz_TNT', launched = "
                    "{{ 5, 10 }} }} }} }}",
                    sizes));
  };
  // 4096 x 32768 weights of 2 bytes in 100 us: 2.7 of 4.08 TB/s.
  const Analysis few = of("[[1, 4096], [4096, 32768]]");
  CHECK(roofline_of(few).by_memory_ns == 100'000);
  CHECK(number_fact(few, "roofline.efficiency_fraction") == doctest::Approx(0.657).epsilon(0.01));
  CHECK(text_fact(few, "unit.bound_by") == "memory");
  // 4096^3 in 100 us: 1.37e14 operations of 7.97e14 a second and 1e-4 s.
  const Analysis many = of("[[4096, 2048], [2048, 4096]]");
  CHECK(roofline_of(many).by_memory_ns == 0);
  CHECK(number_fact(many, "roofline.efficiency_fraction") == doctest::Approx(0.862).epsilon(0.01));
  CHECK(text_fact(many, "unit.bound_by") == "compute");
  CHECK(number_fact(many, "roofline.known_fraction") == 1);
}

TEST_CASE("roofline: each kind of time has its own bound") {
  const auto by = [](const std::string& ops) {
    return text_fact(literal("{ ops = { " + ops + " } }"), "unit.bound_by");
  };
  CHECK(by("{ 0, 100, kernel = 'void at::native::vectorized_elementwise_kernel<4>(int)' }") ==
        "memory");
  CHECK(by("{ 0, 100, copy = 'h2d', bytes = 1e6 }") == "the link");
  CHECK(by("{ 0, 100, kernel = 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL' }") == "the network");
  CHECK(by("{ 0, 100, kernel = 'my_solver' }") == "custom kernels");
  CHECK(by("{ 0, 100, graph = true }") == "graphs");
}

TEST_CASE(
    "roofline: products of unknown size compute, but may read weights where they are tokens") {
  const auto by = [](const std::string& range) {
    return text_fact(
        literal("{ ranges = { { 0, 120, '" + range +
                "' } }, ops = { { 10, 110, kernel = 'sm90_xmma_gemm_bf16bf16_bf16f32', "
                "launched = { 1, 5 } }, { 110, 111, kernel = 'void "
                "at::native::vectorized_elementwise_kernel<4>(int)' } } }"),
        "unit.bound_by");
  };
  CHECK(by("forward") == "compute");
  CHECK(by("decode_token 1") == "products");
}

TEST_CASE("roofline: utilization is unknown where most products have no sizes") {
  const auto mfu = [](int unknown_us) {
    return mfu_of(literal(
        fmt::format("{{ ranges = {{ {{ 4, 20, 'aten::mm, sizes = [[4096, 2048], [2048, 4096]]' }} "
                    "}}, ops = {{ {{ 2, 3, kernel = 'a', launched = {{ 1, 2 }} }}, "
                    "{{ 30, 130, kernel = 'sm90_xmma_gemm_bf16bf16_bf16f32', launched = {{ 5, 10 "
                    "}} }}, {{ 130, {}, kernel = 'sm90_xmma_gemm_bf16bf16_bf16f32', "
                    "launched = {{ 21, 22 }} }} }} }}",
                    130 + unknown_us)));
  };
  CHECK(mfu(90));
  CHECK_FALSE(mfu(110));
}

TEST_CASE("roofline: recordings have the bound that their programs were written to show") {
  CHECK(text_fact(analysed(recorded("fp32")), "unit.bound_by") == "compute");
  CHECK(text_fact(analysed(recorded("eager")), "unit.bound_by") == "memory");
  CHECK(text_fact(analysed(recorded("offload")), "unit.bound_by") == "the link");
  CHECK(text_fact(analysed(recorded("launchbound")), "unit.bound_by") == "launching");
  CHECK(text_fact(analysed(recorded("starved")), "unit.bound_by") == "the host");
  CHECK(text_fact(analysed(recorded("um")), "unit.bound_by") == "unified memory");
}

TEST_CASE("roofline: utilization is compared to the usual, for transformer training") {
  const Analysis good = analysed(read_report(fixture("good.pt.trace.json")));
  CHECK(text_fact(good, "mfu.verdict").starts_with("within the usual"));
  CHECK(number_fact(good, "roofline.efficiency_fraction") > 0.8);
  const Analysis eager = analysed(recorded("eager-autogradnvtx"));
  CHECK(text_fact(eager, "mfu.verdict").starts_with("below the usual"));
  CHECK(contains(text_fact(eager, "mfu.verdict"), "memory"));
  CHECK(std::holds_alternative<Unknown>(Facts(analysed(recorded("tiles"))).value("mfu.verdict")));
}

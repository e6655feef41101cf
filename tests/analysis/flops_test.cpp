// Operations from shapes in ranges, and the utilization that follows from them.
#include "analysis/flops.hpp"

#include <doctest/doctest.h>

#include "analysis/facts.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

double fact(const Analysis& a, const char* name) { return std::get<double>(Facts(a).value(name)); }

}  // namespace

TEST_CASE("flops: the operations of a product follow from its shapes") {
  CHECK(flops_of_range("aten::mm, seq = 1, op_id = 2, sizes = [[8192, 2048], [2048, 5632]], "
                       "input_op_ids = [(1,0), (2,0)]") == 2.0 * 8192 * 2048 * 5632);
  CHECK(flops_of_range("aten::bmm, op_id = 2, sizes = [[256, 1024, 64], [256, 64, 128]]") ==
        2.0 * 256 * 1024 * 64 * 128);
  CHECK(flops_of_range(
            "aten::addmm, op_id = 2, sizes = [[4096], [32, 1024], [1024, 4096], [], []]") ==
        2.0 * 32 * 1024 * 4096);
  CHECK(flops_of_range("aten::_scaled_dot_product_flash_attention, sizes = [[8, 32, 1024, 64], "
                       "[8, 32, 512, 64], [8, 32, 512, 64]]") == 4.0 * 8 * 32 * 1024 * 64 * 512);
  CHECK(flops_of_range("aten::_scaled_dot_product_flash_attention_backward, sizes = [[8, 32, "
                       "1024, 64], [8, 32, 1024, 64], [8, 32, 512, 64]]") ==
        10.0 * 8 * 32 * 1024 * 64 * 512);
  // Operators that wrap a product, that have no shapes, or that are no product.
  for (const char* name : {"aten::linear, sizes = [[8, 1024, 2048], [2048, 2048], []]", "aten::mm",
                           "aten::mm, sizes = [[8192, 2048]]", "aten::mm, sizes = [[2], [2]]",
                           "aten::add, sizes = [[2, 2], [2, 2]]", "step 3", "aten::mm, sizes = ["})
    CHECK_FALSE(flops_of_range(name));
}

TEST_CASE("flops: alignment follows from strides exactly, from sizes in part") {
  const auto aligned = [](const char* name, int bytes = 2) {
    return is_aligned(product_of_range(name).value(), bytes);
  };
  CHECK(aligned("aten::mm, sizes = [[8192, 768], [768, 50304]]") == true);
  CHECK(aligned("aten::mm, sizes = [[8192, 768], [768, 50257]]") == false);  // rows of the result
  CHECK(aligned("aten::mm, sizes = [[8191, 768], [768, 4096]]") == std::nullopt);
  CHECK(aligned("aten::mm, sizes = [[8192, 767], [767, 4096]]") ==
        std::nullopt);  // may be a gradient of weights, or an odd hidden size
  CHECK(aligned("aten::mm, sizes = [[8192, 767], [767, 4096]], strides = [[767, 1], [4096, 1]]") ==
        false);
  CHECK(aligned("aten::mm, sizes = [[768, 8191], [8191, 4096]], strides = [[1, 768], [4096, 1]]") ==
        true);
  CHECK(aligned("aten::mm, sizes = [[8192, 768], [768, 4096]], strides = [[769, 1], [1, 768]]") ==
        false);  // a slice of a wider matrix
  CHECK(aligned("aten::addmm, sizes = [[8], [64, 64], [64, 8], [], []], strides = [[1], [64, 1], "
                "[1, 64], [], []]") == true);
  CHECK(aligned("aten::addmm, sizes = [[8], [64, 64], [64, 8], [], []]", 1) ==
        false);  // FP8 needs 16
  CHECK(aligned("aten::mm, sizes = [[64, 64], [64, 4]]", 4) == true);
  CHECK(aligned("aten::bmm, sizes = [[3, 64, 64], [3, 64, 64]], strides = [[4097, 64, 1], [4096, "
                "64, 1]]") == false);
  CHECK(aligned("aten::mm, sizes = [[8192, 768], [768, 1]]") == std::nullopt);  // with a vector
  CHECK_FALSE(
      product_of_range("aten::_scaled_dot_product_flash_attention, sizes = [[8, 32, 1024, 64], "
                       "[8, 32, 512, 64], [8, 32, 512, 64]]"));
  double odd = 0;
  is_aligned(product_of_range(
                 "aten::mm, sizes = [[50257, 8192], [8192, 768]], strides = [[1, 50257], [768, 1]]")
                 .value(),
             2, &odd);
  CHECK(odd == 50257);
}

TEST_CASE("flops: the utilization of a recording with shapes lies below its bound") {
  const Analysis a = analysed(recorded("eager-autogradnvtx"));
  // 6 layers of hidden size 2048 (4 square products, 3 of the MLP with 5632), 8 x 1024 tokens,
  // forward and twice backward, without attention and the head.
  const double linear = 3 * 2.0 * 8192 * 6 * (4.0 * 2048 * 2048 + 3.0 * 2048 * 5632);
  CHECK(fact(a, "gemm.flops_per_step") > linear);
  CHECK(fact(a, "gemm.flops_per_step") < 2 * linear);
  CHECK(fact(a, "mfu.fraction") < fact(a, "mfu.upper_bound_fraction"));
  CHECK(fact(a, "mfu.fraction") > 0.1);
}

TEST_CASE("flops: without shapes there is an upper bound, and it is called one") {
  const Analysis a = analysed(recorded("fp32"));
  CHECK(std::holds_alternative<Unknown>(Facts(a).value("mfu.fraction")));
  CHECK(fact(a, "mfu.upper_bound_fraction") <
        0.15);  // CUDA cores have a fifteenth of the tensor cores' rate
  CHECK(fact(analysed(recorded("compile")), "mfu.upper_bound_fraction") > 0.7);
}

TEST_CASE("flops: SM fill shows how much of the GPU a grid fills") {
  const Analysis a(trace_from_text("return { ops = { { 0, 100, kernel = 'a', blocks = 66, launched "
                                   "= false }, { 100, 200, kernel = 'b', "
                                   "blocks = 1000 }, { 300, 400, kernel = 'c', blocks = 132 } } }"),
                   Classes(), {});
  CHECK(fact(a, "kernels.sm_fill_fraction") == doctest::Approx(2.5 / 3));
  CHECK(fact(a, "sm.efficiency_fraction") == doctest::Approx(2.5 / 4));
  CHECK(fact(analysed(recorded("gpumetrics")), "sm.efficiency_fraction") ==
        fact(analysed(recorded("gpumetrics")), "samples.sm_active_fraction"));
}

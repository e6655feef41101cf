#include "analysis/kernel_class.hpp"

#include <algorithm>

namespace gh {
namespace {

constexpr auto known_classes = static_cast<std::size_t>(KernelClass::own);

// In the order of KernelClass. Kernels that only move data are limited by memory: each element is
// read and written once, with a handful of operations.
constexpr std::array<KernelTraits, known_classes + 1> class_traits{{
    {"collective", "", Limit::network},
    {"attention_fused", "fused attention", Limit::compute, true, Precision::half},
    {"gemm_fp8", "GEMM, FP8", Limit::compute, true, Precision::eight_bits},
    {"gemm_int8", "GEMM, INT8", Limit::compute, true, Precision::eight_bits},
    {"gemm_unknown", "GEMM, unknown precision", Limit::compute, true},
    {"softmax_loss", "loss", Limit::memory},
    {"softmax", "", Limit::memory},
    {"norm", "", Limit::memory},
    {"optimizer", "", Limit::memory},
    {"pointwise", "", Limit::memory},
    {"reduction", "", Limit::memory},
    {"embedding", "", Limit::memory},
    {"gemm_tf32", "GEMM, TF32", Limit::compute, true, Precision::tf32},
    {"gemm_cuda_core", "GEMM on CUDA cores", Limit::compute, true, Precision::fp32},
    {"gemm_half", "GEMM, half precision", Limit::compute, true, Precision::half},
    {"gemv", "GEMV", Limit::memory},
    {"other", ""},
    {"", ""},
}};

}  // namespace

const char* name_of(Limit limit) {
  static constexpr std::array<const char*, static_cast<std::size_t>(Limit::count)> names{
      "compute",        "memory",   "launching",      "the link",
      "the network",    "the host", "unified memory", "waiting for other work",
      "custom kernels", "graphs"};
  return names[static_cast<std::size_t>(limit)];
}

const KernelTraits& traits_of(KernelClass c) {
  return class_traits[std::min(static_cast<std::size_t>(c), known_classes)];
}

KernelClass kernel_class_named(std::string_view name) {
  const auto known = std::find_if(class_traits.begin(), class_traits.end() - 1,
                                  [&](const KernelTraits& t) { return t.name == name; });
  return static_cast<KernelClass>(known - class_traits.begin());
}

bool is_product(std::string_view class_name) {
  const KernelClass c = kernel_class_named(class_name);
  return c == KernelClass::own ? class_name.starts_with("gemm_") : traits_of(c).is_product;
}

}  // namespace gh

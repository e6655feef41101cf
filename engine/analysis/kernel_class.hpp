// Classes of kernels that the program itself knows, and what is known about each.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gh {

/// What a kernel does (schemas/kernels.toml says which names mean it), in the order of the
/// account's causes. Classes that only a table names, such as a team's, follow from `own` on.
enum class KernelClass : std::uint8_t {
  collective,
  attention_fused,
  gemm_fp8,
  gemm_int8,
  gemm_unknown,
  softmax_loss,
  softmax,
  norm,
  optimizer,
  pointwise,
  reduction,
  embedding,
  gemm_tf32,
  gemm_cuda_core,
  gemm_half,
  gemv,
  other,
  own,
  none = 255  ///< not a kernel
};

/// What limits work, or what a pause waits for.
enum class Limit : std::uint8_t {
  compute,
  memory,
  launching,
  link,
  network,
  host,
  unified_memory,
  other_work,
  custom_kernels,
  graphs,
  count
};
const char* name_of(Limit);

/// The type in which a product multiplies, which decides the peak that it can reach.
enum class Precision : std::uint8_t { none, fp32, tf32, half, eight_bits };

struct KernelTraits {
  std::string_view name;
  std::string_view label;  ///< for people; "": the name, without underscores
  Limit limit = Limit::custom_kernels;
  bool is_product = false;  ///< a matrix product, or attention, which consists of them
  Precision precision = Precision::none;  ///< of a product, if its name tells
};

/// Of a class that only a table names: what holds for all of these.
const KernelTraits& traits_of(KernelClass c);
/// `own` if the program does not know it.
KernelClass kernel_class_named(std::string_view name);
/// Whether kernels of this class are products: a team's are if the name begins with "gemm_".
bool is_product(std::string_view class_name);

}  // namespace gh

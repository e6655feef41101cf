// A cause of the account: what its name stands for. Accounts of other runs (baselines, digests)
// hold only names.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/idle.hpp"
#include "analysis/kernel_class.hpp"

namespace gh {

struct Cause {
  enum class Of : std::uint8_t {
    um_stall,
    kernels,  ///< of one class
    graph,
    device_copy,
    communication,
    copy,
    idle,
    unknown  ///< of a newer version's account
  };
  Of of = Of::unknown;
  KernelClass kernels =
      KernelClass::none;                ///< of Of::kernels; `own` for any that only a table names
  bool products = false;                ///< of Of::kernels: whether they are products
  IdleCause idle = IdleCause::unknown;  ///< of Of::idle

  Cause(Of kind) : of(kind) {}
  Cause(IdleCause c) : of(Of::idle), idle(c) {}
  Cause(KernelClass c) : of(Of::kernels), kernels(c), products(traits_of(c).is_product) {}
  /// As the account and JSON name it: "compute.gemm_half", "idle.sync".
  Cause(std::string_view name);
  Cause(const std::string& name) : Cause(std::string_view(name)) {}

  /// Whether its name begins with "compute.".
  bool computes() const { return of == Of::kernels || of == Of::graph || of == Of::device_copy; }
  bool is_idle() const { return of == Of::idle; }
  bool operator==(const Cause&) const = default;
};

/// Names in the account: "idle.sync", "compute.gemm_half".
std::string cause_name(Cause::Of kind);  ///< of neither kernels nor idle time
std::string cause_name(IdleCause c);
std::string cause_name(std::string_view kernel_class);
Limit limit_of(const Cause& cause);
/// "compute.gemm_half" -> "compute: GEMM, half precision"
std::string cause_label(std::string_view name);

}  // namespace gh

// What a bar or a timeline draws time as.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/cause.hpp"

namespace gh {

/// What a piece of a timeline is drawn as. The first ones are what an account's causes come to, in
/// the order in which a bar stacks them.
enum class Activity : std::uint8_t {
  products,
  attention,
  kernels,
  communication,
  copy,
  stall,
  idle_input,
  idle_sync,
  idle_launch,
  idle_other,
  step,
  range,
  call,
  call_launch,
  call_sync,
  call_allocation,
  os_call,
  fault,
  count
};
inline constexpr std::size_t account_activities = 10;
inline constexpr std::size_t activity_count = static_cast<std::size_t>(Activity::count);

const char* name_of(Activity);   ///< "idle-input": a class of the page's style sheet
std::string label_of(Activity);  ///< "idle: input", for people

/// Of a cause of the account: "compute.gemm_half" is drawn as products.
Activity activity_of(const Cause& cause);
/// Of the kernels of a class; collectives are communication.
Activity activity_of_kernels(const std::string& kernel_class);

}  // namespace gh

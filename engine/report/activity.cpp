#include "report/activity.hpp"

#include <array>

namespace gh {
namespace {

struct Look {
  const char* name;
  const char* label;
};

// In the order of Activity.
constexpr std::array<Look, activity_count> looks{{
    {"products", "matrix products"},
    {"attention", "fused attention"},
    {"kernels", "other GPU work"},
    {"communication", "exposed communication"},
    {"copy", "exposed copies"},
    {"stall", "unified-memory stall"},
    {"idle-input", "idle: input"},
    {"idle-sync", "idle: sync"},
    {"idle-launch", "idle: launch"},
    {"idle-other", "idle: other"},
    {"step", "step"},
    {"range", "range"},
    {"call", "CUDA call"},
    {"call-launch", "CUDA call that launches"},
    {"call-sync", "CUDA call that waits"},
    {"call-allocation", "CUDA call that allocates"},
    {"os-call", "operating-system call"},
    {"fault", "page fault"},
}};

}  // namespace

const char* name_of(Activity a) { return looks[static_cast<std::size_t>(a)].name; }
const char* label_of(Activity a) { return looks[static_cast<std::size_t>(a)].label; }

Activity activity_of(const Cause& cause) {
  switch (cause.of) {
    case Cause::Of::kernels:
      return cause == KernelClass::attention_fused          ? Activity::attention
             : cause.products || cause == KernelClass::gemv ? Activity::products
                                                            : Activity::kernels;
    case Cause::Of::graph:
    case Cause::Of::device_copy: return Activity::kernels;
    case Cause::Of::communication: return Activity::communication;
    case Cause::Of::copy: return Activity::copy;
    case Cause::Of::um_stall: return Activity::stall;
    default: break;
  }
  switch (cause.idle) {
    case IdleCause::input: return Activity::idle_input;
    case IdleCause::sync: return Activity::idle_sync;
    case IdleCause::launch:
    case IdleCause::launch_latency: return Activity::idle_launch;
    default: return Activity::idle_other;
  }
}

Activity activity_of_kernels(const std::string& kernel_class) {
  const Cause cause(cause_name(kernel_class));
  return cause == KernelClass::collective ? Activity::communication : activity_of(cause);
}

}  // namespace gh

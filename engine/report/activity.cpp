#include "report/activity.hpp"

#include <array>

#include "analysis/account.hpp"

namespace gh {
namespace {

struct Look {
  const char* name;
  std::string label;
};

// Of the only cause that is drawn so.
template <class Kind>
std::string of_cause(Kind kind) {
  return cause_label(cause_name(kind));
}

const Look& look_of(Activity a) {
  // In the order of Activity.
  static const std::array<Look, activity_count> looks{{
      {"products", "matrix products"},
      {"attention", "fused attention"},
      {"kernels", "other GPU work"},
      {"communication", of_cause(Cause::Of::communication)},
      {"copy", of_cause(Cause::Of::copy)},
      {"stall", of_cause(Cause::Of::um_stall)},
      {"idle-input", of_cause(IdleCause::input)},
      {"idle-sync", of_cause(IdleCause::sync)},
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
  return looks[static_cast<std::size_t>(a)];
}

}  // namespace

const char* name_of(Activity a) { return look_of(a).name; }
std::string label_of(Activity a) { return look_of(a).label; }

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

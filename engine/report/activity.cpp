#include "report/activity.hpp"

#include <array>

#include "analysis/account.hpp"

namespace gh {
namespace {

struct Look {
  const char* name;
  const char* label;
  bool is_cause = false;  // `label` is the id of the only cause that is drawn so
};

// In the order of Activity.
constexpr std::array<Look, activity_count> looks{{
    {"products", "matrix products"},
    {"attention", "fused attention"},
    {"kernels", "other GPU work"},
    {"communication", "communication_exposed", true},
    {"copy", "copy_exposed", true},
    {"stall", "um_stall", true},
    {"idle-input", "idle.input", true},
    {"idle-sync", "idle.sync", true},
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
std::string label_of(Activity a) {
  const Look& look = looks[static_cast<std::size_t>(a)];
  return look.is_cause ? cause_label(look.label) : look.label;
}

Activity activity_of(const std::string& cause) {
  if (cause.starts_with("compute.gem")) return Activity::products;
  if (cause == "compute.attention_fused") return Activity::attention;
  if (cause.starts_with("compute.")) return Activity::kernels;
  if (cause == "communication_exposed") return Activity::communication;
  if (cause == "copy_exposed") return Activity::copy;
  if (cause == "um_stall") return Activity::stall;
  if (cause == "idle.input") return Activity::idle_input;
  if (cause == "idle.sync") return Activity::idle_sync;
  if (cause == "idle.launch" || cause == "idle.launch_latency") return Activity::idle_launch;
  return Activity::idle_other;
}

Activity activity_of_kernels(const std::string& kernel_class) {
  return kernel_class == "collective" ? Activity::communication
                                      : activity_of("compute." + kernel_class);
}

}  // namespace gh

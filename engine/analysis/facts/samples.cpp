#include "analysis/facts/functions.hpp"
#include "analysis/metrics.hpp"

namespace gh::fact {
namespace {

FactValue activity(const Analysis& a, const char* name) {
  if (const auto sampled = sampled_activity(a, name)) return *sampled;
  if (const auto unaligned = unaligned_activity(a, name)) return *unaligned;
  const Availability& have = a.trace.availability(Source::samples);
  return Unknown{have.known() ? "this metric was not sampled within the steps" : have.reason};
}

FactValue value(const Analysis& a, const char* name) {
  if (const auto sampled = sampled_value(a, name)) return *sampled;
  return Unknown{"it was not sampled within the steps; pass DCGM samples with --dcgm"};
}

}  // namespace

FactValue sampled_power(const Analysis& a) { return value(a, "power"); }

FactValue sampled_power_limit(const Analysis& a) { return value(a, "power_limit"); }

FactValue sampled_sm_active(const Analysis& a) { return activity(a, "sm_active"); }

FactValue sampled_sm_occupancy(const Analysis& a) { return activity(a, "sm_occupancy"); }

FactValue sampled_tensor_active(const Analysis& a) { return activity(a, "tensor_active"); }

FactValue sampled_dram_active(const Analysis& a) { return activity(a, "dram_active"); }

FactValue sampled_dram_read(const Analysis& a) { return activity(a, "dram_read"); }

FactValue sampled_time_base(const Analysis& a) {
  if (!a.trace.monitor.time_base.empty()) return a.trace.monitor.time_base;
  if (a.trace.samples.size() > 0) return "aligned: the report's own samples";
  return Unknown{a.trace.availability(Source::samples).reason};
}

}  // namespace gh::fact

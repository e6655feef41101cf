#include "analysis/facts/functions.hpp"
#include "analysis/facts/sums.hpp"

namespace gh::fact {
namespace {

FactValue known(double v, const char* why_not) {
  return v > 0 ? FactValue(v) : FactValue(Unknown{why_not});
}

}  // namespace

FactValue device_count(const Analysis& a) { return static_cast<double>(a.devices.size()); }

FactValue device_processes(const Analysis& a) {
  return static_cast<double>(a.processes_on_a_device);
}

FactValue device_name(const Analysis&, const Device& d) {
  if (d.name.empty()) return Unknown{"the report does not name the GPU"};
  return d.name;
}

FactValue compute_capability(const Analysis&, const Device& d) {
  return known(d.compute_major + d.compute_minor / 10.0, "the report does not say");
}

FactValue sm_count(const Analysis&, const Device& d) {
  return known(d.sm_count, "the report does not say");
}

FactValue copy_engines(const Analysis&, const Device& d) {
  return known(d.copy_engines, "the report does not say");
}

FactValue clock_hz(const Analysis&, const Device& d) {
  return known(d.clock_hz, "the report does not say");
}

FactValue memory_bytes(const Analysis&, const Device& d) {
  return known(static_cast<double>(d.memory_bytes), "the report does not say");
}

FactValue tensor_cores(const Analysis& a, const Device& d) {
  const GpuPeaks p = a.classes.peaks(d);
  if (!p.known && d.compute_major <= 0) return Unknown{"this GPU is unknown"};
  return p.has_tensor_cores ? 1.0 : 0.0;
}

FactValue fp32_flops(const Analysis& a, const Device& d) {
  return known(a.classes.peaks(d).fp32, "schemas/gpus.toml does not list this GPU");
}

FactValue tf32_flops(const Analysis& a, const Device& d) {
  return known(a.classes.peaks(d).tf32,
               "this GPU has no TF32, or is not listed in schemas/gpus.toml");
}

FactValue half_flops(const Analysis& a, const Device& d) {
  return known(a.classes.peaks(d).half, "this GPU has none, or is not listed in schemas/gpus.toml");
}

FactValue tf32_speedup(const Analysis& a, const Device& d) {
  const GpuPeaks p = a.classes.peaks(d);
  return per(p.tf32 * a.classes.attainable().tf32,
             p.fp32 * a.classes.attainable().fp32 * (p.tf32 > 0),
             "this GPU has no TF32, or is not listed in schemas/gpus.toml");
}

FactValue half_speedup(const Analysis& a, const Device& d) {
  const GpuPeaks p = a.classes.peaks(d);
  return per(p.half * a.classes.attainable().half,
             p.fp32 * a.classes.attainable().fp32 * (p.half > 0),
             "this GPU has no tensor cores, or is not listed in schemas/gpus.toml");
}

FactValue link_bytes_per_s(const Analysis& a, const Device& d) {
  return known(a.classes.peaks(d).host_link_bytes_per_s,
               "schemas/gpus.toml does not list this GPU");
}

FactValue memory_bytes_per_s(const Analysis& a, const Device& d) {
  return known(a.classes.peaks(d).memory_bytes_per_s * a.classes.attainable().memory,
               "neither the report nor schemas/gpus.toml gives it");
}

FactValue coherent(const Analysis& a, const Device& d) {
  return a.classes.peaks(d).coherent ? 1.0 : 0.0;
}

}  // namespace gh::fact

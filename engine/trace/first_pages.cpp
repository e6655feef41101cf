#include "trace/first_pages.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/spans.hpp"
#include "trace/sort_rows.hpp"
#include "trace/trace.hpp"

namespace gh {
namespace {

// None of those 165 kernels waited longer for its first page; one that does computes meanwhile.
constexpr Ns longest_wait_ns = 700'000;

struct OfDevice {
  Row alone = no_row;  ///< a kernel that runs by itself and has not got a page
  Ns busy_until = 0;
};

}  // namespace

void add_waits_for_first_pages(Trace& trace) {
  GpuFaults& faults = trace.gpu_faults;
  if (trace.availability(Source::gpu_faults).known() || faults.size() > 0) return;
  const Ops& ops = trace.ops;
  std::vector<OfDevice> devices(trace.devices.size());
  for (Row op = 0; op < ops.size(); ++op) {
    const std::uint16_t number = trace.device_of(op);
    OfDevice& device = devices[number];
    if (ops.kind[op] == OpKind::kernel || ops.kind[op] == OpKind::graph) {
      device.alone = ops.start[op] >= device.busy_until ? op : no_row;
      device.busy_until = std::max(device.busy_until, ops.end[op]);
    } else if (ops.copy[op] == CopyKind::um_h2d && ops.cause[op] == MigrationCause::fault) {
      const Row kernel = std::exchange(device.alone, no_row);
      if (kernel == no_row || ops.start[op] >= ops.end[kernel] ||
          ops.start[op] - ops.start[kernel] > longest_wait_ns)
        continue;
      faults.start.push_back(ops.start[kernel]);
      faults.end.push_back(ops.start[op]);
      faults.address.push_back(ops.address_of(op));
      faults.count.push_back(1);
      faults.device.push_back(number);
    }
  }
  // They came in the order of their pages, of all devices.
  sort_rows(faults, [&](Row a, Row b) { return faults.start[a] < faults.start[b]; });
}

}  // namespace gh

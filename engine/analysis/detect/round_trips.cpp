#include "analysis/detect/round_trips.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace gh {
namespace {

// Whether the uploads of one step, in order, are micro-batches of gradient accumulation rather than
// layers: nearly every one of them is followed by a loss.
bool are_micro_batches(const Analysis& a, const DeviceSteps& device,
                       const std::vector<Row>& uploads) {
  const Ops& ops = a.trace.ops;
  const std::vector<Row>& all = device.ops;
  auto next = std::lower_bound(all.begin(), all.end(), ops.start[uploads.front()],
                               [&](Row op, Ns at) { return ops.start[op] < at; });
  std::size_t bursts = 0, with_loss = 0;
  for (const Row upload : uploads) {
    bool computed = false, loss = false;  // since the last upload
    for (; next != all.end() && ops.start[*next] < ops.start[upload]; ++next) {
      if (ops.kind[*next] != OpKind::kernel) continue;
      computed = true;
      loss = loss || a.class_of(*next) == KernelClass::softmax_loss;
    }
    bursts += computed;
    with_loss += loss;
  }
  return 4 * with_loss >= 3 * bursts && bursts > 0;
}

// The uploads of one step. A burst is uploads with no kernel in between: the tensors of one layer,
// or of one batch.
struct Uploads {
  std::vector<Row> rows;
  std::size_t bursts = 0;
};

// Uploads of at least this many bytes. `at` continues from step to step: steps come in order.
Uploads uploads_in(const Ops& ops, const DeviceSteps& device, Span step, std::int64_t min_bytes,
                   std::size_t& at) {
  Uploads uploads;
  bool computed = true;  // since the last upload
  while (at < device.ops.size() && ops.start[device.ops[at]] < step.start) ++at;
  for (; at < device.ops.size() && ops.start[device.ops[at]] < step.end; ++at) {
    const Row op = device.ops[at];
    if (ops.kind[op] == OpKind::kernel) computed = true;
    if (ops.copy[op] != CopyKind::h2d || ops.bytes[op] < min_bytes) continue;
    uploads.bursts += computed;
    computed = false;
    uploads.rows.push_back(op);
  }
  return uploads;
}

}  // namespace

RoundTrips find_round_trips(const Analysis& a, const RowSet& copies, std::int64_t least_bytes) {
  const Ops& ops = a.trace.ops;
  RowBits found(ops.size());
  std::int64_t pairs = 0;
  std::map<std::pair<std::uint16_t, std::int64_t>, std::vector<Row>> away;  // by device and size
  copies.each([&](Row op) {
    if (ops.bytes[op] < least_bytes || ops.end[op] == ops.start[op]) return;
    auto& candidates = away[{a.trace.device_of(op), ops.bytes[op]}];
    if (ops.copy[op] == CopyKind::d2h) candidates.push_back(op);
    if (ops.copy[op] != CopyKind::h2d || candidates.empty()) return;
    if (ops.end[candidates.back()] > ops.start[op]) return;
    found.add(candidates.back());
    found.add(op);
    candidates.pop_back();
    ++pairs;
  });
  return {std::move(found).set(), pairs};
}

RowSet find_streamed_uploads(const Analysis& a, std::int64_t least_bytes,
                             std::size_t least_bursts) {
  const Ops& ops = a.trace.ops;
  RowBits found(ops.size());
  for (const DeviceSteps& device : a.devices) {
    std::size_t at = 0;
    for (const Step& step : device.steps) {
      const Uploads uploads = uploads_in(ops, device, step.span, least_bytes, at);
      if (uploads.rows.empty() || uploads.bursts < least_bursts) continue;
      if (are_micro_batches(a, device, uploads.rows)) continue;
      for (const Row op : uploads.rows) found.add(op);
    }
  }
  return std::move(found).set();
}

}  // namespace gh

// Copies back and forth: tensors that leave the device and return, weights that are fetched layer
// by layer, data that could stay on the device, data on its way to another device, results that the
// host waits for.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "rules/binding/round_trips.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// The minimum size of copies that the rule gave, if any.
std::int64_t min_bytes(const std::optional<LuaTable>& asked) {
  if (!asked) return least_trip_bytes;
  return static_cast<std::int64_t>(asked->count("min_bytes", least_trip_bytes, boundless));
}

// Whether the uploads of one step, in order, are micro-batches of gradient accumulation rather than
// layers: nearly every one of them is followed by a loss.
bool are_micro_batches(const Context& c, const std::vector<Row>& uploads) {
  const Ops& ops = c.trace().ops;
  const std::size_t slot = c.slot_of_device[c.trace().device_of(uploads.front())];
  const std::vector<Row>& all = c.analysis.devices[slot].ops;
  auto next = std::lower_bound(all.begin(), all.end(), ops.start[uploads.front()],
                               [&](Row op, Ns at) { return ops.start[op] < at; });
  std::size_t bursts = 0, with_loss = 0;
  for (const Row upload : uploads) {
    bool computed = false, loss = false;  // since the last upload
    for (; next != all.end() && ops.start[*next] < ops.start[upload]; ++next) {
      if (ops.kind[*next] != OpKind::kernel) continue;
      computed = true;
      loss = loss || c.analysis.class_of(*next) == KernelClass::softmax_loss;
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

RoundTrips find_round_trips(const Context& c, std::int64_t least_bytes) {
  const Ops& ops = c.trace().ops;
  RoundTrips found{RowBits(ops.size())};
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<Row>> away;  // by device and size
  c.in_steps.copies.each([&](Row op) {
    if (ops.bytes[op] < least_bytes || ops.end[op] == ops.start[op]) return;
    auto& candidates = away[{c.slot_of_stream[ops.stream[op]], ops.bytes[op]}];
    if (ops.copy[op] == CopyKind::d2h) candidates.push_back(op);
    if (ops.copy[op] != CopyKind::h2d || candidates.empty()) return;
    if (ops.end[candidates.back()] > ops.start[op]) return;
    found.copies.add(candidates.back());
    found.copies.add(op);
    candidates.pop_back();
    ++found.pairs;
  });
  return found;
}

RowBits find_streamed_uploads(const Context& c, std::int64_t least_bytes,
                              std::size_t least_bursts) {
  const Ops& ops = c.trace().ops;
  RowBits found(ops.size());
  for (const DeviceSteps& device : c.analysis.devices) {
    std::size_t at = 0;
    for (const Step& step : device.steps) {
      const Uploads uploads = uploads_in(ops, device, step.span, least_bytes, at);
      if (uploads.rows.empty() || uploads.bursts < least_bursts) continue;
      if (are_micro_batches(c, uploads.rows)) continue;
      for (const Row op : uploads.rows) found.add(op);
    }
  }
  return found;
}

namespace {

int round_trips(lua_State* lua, const Context& c) {
  RoundTrips found =
      find_round_trips(c, min_bytes(named_arguments(lua, 2, "round_trips", {"min_bytes"})));
  push_rows(lua, {Kind::ops, std::move(found.copies).set()});
  lua_pushinteger(lua, found.pairs);
  return 2;
}

int streamed_uploads(lua_State* lua, const Context& c) {
  const auto asked = named_arguments(lua, 2, "streamed_uploads", {"min_bytes", "min_per_step"});
  const std::size_t least_bursts =
      asked ? asked->count("min_per_step", least_upload_bursts, boundless) : least_upload_bursts;
  push_rows(lua, {Kind::ops, find_streamed_uploads(c, min_bytes(asked), least_bursts).set()});
  return 1;
}

int read_backs(lua_State* lua, const Context& c) {
  const ReadBacks& found = c.in_steps.read_backs();
  push_rows(lua, {Kind::ops, found.copies});
  push_rows(lua, {Kind::calls, found.waits});
  push_rows(lua, {Kind::ops, found.deciding});
  push_rows(lua, {Kind::ops, found.changing});
  return 4;
}

constexpr Verb copies_table[] = {
    {"trace:round_trips", verb<round_trips, Cost{.ops = 64, .copies = 1}>},
    {"trace:streamed_uploads", verb<streamed_uploads, Cost{.ops = 4}>},
    {"trace:read_backs", verb<read_backs, Cost{.ops = 4, .calls = 4}>},
};

}  // namespace

const Verbs copies_verbs = copies_table;

}  // namespace gh::binding

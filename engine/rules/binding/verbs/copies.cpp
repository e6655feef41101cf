// Copies that come and go: tensors that leave the device and return, weights that are fetched layer
// by layer.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

constexpr std::size_t least_bytes = 1 << 20;  // of copies that matter, unless a rule says otherwise

// Of copies, as the rule says among the named arguments.
std::int64_t min_bytes(const std::optional<LuaTable>& asked) {
  if (!asked) return least_bytes;
  return static_cast<std::int64_t>(asked->count("min_bytes", least_bytes, boundless));
}

// Whether uploads of one step, in order, are the micro-batches of gradient accumulation rather than
// layers: a loss is computed after nearly every one of them.
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
      loss = loss || c.analysis.kernel_class(*next) == "softmax_loss";
    }
    bursts += computed;
    with_loss += loss;
  }
  return 4 * with_loss >= 3 * bursts && bursts > 0;
}

// The uploads of one step. A burst is uploads with no kernel between them: the tensors of one
// layer, or of one batch.
struct Uploads {
  std::vector<Row> rows;
  std::size_t bursts = 0;
};

// Those of at least so many bytes. `at` goes on from step to step: steps come in order.
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

int round_trips(lua_State* lua, const Context& c) {
  const Ops& ops = c.trace().ops;
  const std::int64_t least = min_bytes(named_arguments(lua, 2, "round_trips", {"min_bytes"}));
  RowBits found(ops.size());
  lua_Integer pairs = 0;
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<Row>> away;  // by device and size
  c.in_steps.copies.each([&](Row op) {
    if (ops.bytes[op] < least || ops.end[op] == ops.start[op]) return;
    auto& candidates = away[{c.slot_of_stream[ops.stream[op]], ops.bytes[op]}];
    if (ops.copy[op] == CopyKind::d2h) candidates.push_back(op);
    if (ops.copy[op] != CopyKind::h2d || candidates.empty()) return;
    if (ops.end[candidates.back()] > ops.start[op]) return;
    found.add(candidates.back());
    found.add(op);
    candidates.pop_back();
    ++pairs;
  });
  push_rows(lua, {Kind::ops, std::move(found).set()});
  lua_pushinteger(lua, pairs);
  return 2;
}

int streamed_uploads(lua_State* lua, const Context& c) {
  const Ops& ops = c.trace().ops;
  const auto asked = named_arguments(lua, 2, "streamed_uploads", {"min_bytes", "min_per_step"});
  const std::int64_t least = min_bytes(asked);
  const std::size_t min_bursts = asked ? asked->count("min_per_step", 4, boundless) : 4;
  RowBits found(ops.size());
  for (const DeviceSteps& device : c.analysis.devices) {
    std::size_t at = 0;
    for (const Step& step : device.steps) {
      const Uploads uploads = uploads_in(ops, device, step.span, least, at);
      if (uploads.rows.empty() || uploads.bursts < min_bursts) continue;
      if (are_micro_batches(c, uploads.rows)) continue;
      for (const Row op : uploads.rows) found.add(op);
    }
  }
  push_rows(lua, {Kind::ops, std::move(found).set()});
  return 1;
}

}  // namespace gh::binding

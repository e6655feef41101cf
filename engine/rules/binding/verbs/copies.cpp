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

// How long a device has copied to or from the host so far: copies come in order of start.
struct Copying {
  Ns until = 0, ns = 0;
  void add(Span copy) {
    ns += std::max<Ns>(0, copy.end - std::max(copy.start, until));
    until = std::max(until, copy.end);
  }
  /// From `then` to `start`, if nothing has begun since then: the time without any copy.
  Ns idle_since(const Copying& then, Ns start) const {
    return std::max<Ns>(0, start - then.until - (ns - then.ns) + std::max<Ns>(0, until - start));
  }
};

// Copies of one size between the host and one device.
struct Commuters {
  std::vector<Row> first;       // uploads before the first download
  std::vector<Row> down, rows;  // downloads not uploaded again yet; result
  std::size_t downs = 0;        // of the last round
  std::set<std::uint32_t> up_streams, down_streams;
  Copying then;  // right after the last of `down`
  bool going_up = false;
  std::vector<Ns> gaps;  // one per round
};

// For a size that a process copies: from which devices, and to which.
struct Ways {
  std::set<std::size_t> from, to;
  std::vector<Row> down;  // not uploaded yet
  bool mixed() const {
    return std::any_of(from.begin(), from.end(), [&](std::size_t d) { return to.contains(d); });
  }
};

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

int residency(lua_State* lua, const Context& c) {
  // To change a byte, the host reads and writes it: a socket with all its cores moves 100 GB/s.
  constexpr Ns bytes_a_ns = 50;
  constexpr std::size_t least_turns = 5;
  const Ops& ops = c.trace().ops;
  const std::int64_t least = min_bytes(named_arguments(lua, 2, "residency", {"min_bytes"}));
  std::vector<Copying> copying(c.analysis.devices.size());
  std::map<std::pair<std::size_t, std::int64_t>, Commuters> found;  // by device and size
  c.in_steps.copies.each([&](Row op) {
    const std::size_t slot = c.slot_of_stream[ops.stream[op]];
    const bool up = ops.copy[op] == CopyKind::h2d;
    if (slot == no_slot || (!up && ops.copy[op] != CopyKind::d2h)) return;
    const Copying before = copying[slot];
    copying[slot].add(c.trace().span_of(op));
    if (ops.bytes[op] < least || ops.start[op] == ops.end[op]) return;
    Commuters& same = found[{slot, ops.bytes[op]}];
    (up ? same.up_streams : same.down_streams).insert(ops.stream[op]);
    if (!up) {
      if (same.going_up) {
        same.down.clear();
        same.downs = 0;
      }
      ++same.downs;
      same.going_up = false;
      same.down.push_back(op);
      same.then = copying[slot];
    } else if (!same.down.empty()) {
      if (!same.going_up) same.gaps.push_back(before.idle_since(same.then, ops.start[op]));
      same.going_up = true;
      same.rows.push_back(same.down.back());
      same.rows.push_back(op);
      same.down.pop_back();
    } else if (same.downs == 0) {
      same.first.push_back(op);
    }
  });
  RowBits untouched(ops.size()), touched(ops.size());
  Ns longest = 0;
  for (auto& [key, same] : found) {
    // Pieces of something larger than the device keeps are copied on several streams in turn.
    const bool pieces = same.up_streams.size() > 1 || same.down_streams.size() > 1;
    if (same.gaps.size() < least_turns || pieces) continue;
    // With a round in each step, steps begin and end within a round: the download before the first
    // step and the upload after the last are outside of the steps or not recorded.
    const std::size_t steps = c.analysis.devices[key.first].steps.size();
    if (steps > 0 && same.gaps.size() + 1 >= steps && !same.going_up) {
      if (same.first.size() <= same.downs)
        same.rows.insert(same.rows.end(), same.first.begin(), same.first.end());
      same.rows.insert(same.rows.end(), same.down.begin(), same.down.end());
    }
    const Ns gap = gh::median(std::move(same.gaps));
    const bool too_short = gap < key.second / bytes_a_ns;
    if (too_short) longest = std::max(longest, gap);
    for (const Row op : same.rows) (too_short ? untouched : touched).add(op);
  }
  push_rows(lua, {Kind::ops, std::move(untouched).set()});
  push_rows(lua, {Kind::ops, std::move(touched).set()});
  push_number(lua, static_cast<double>(longest));
  return 3;
}

int relayed(lua_State* lua, const Context& c) {
  const Trace& t = c.trace();
  const Ops& ops = t.ops;
  const std::int64_t least = min_bytes(named_arguments(lua, 2, "relayed", {"min_bytes"}));
  std::map<std::pair<std::uint16_t, std::int64_t>, Ways> sizes;  // by process and size
  const auto ways = [&](Row op) -> Ways* {
    const bool crosses = ops.copy[op] == CopyKind::h2d || ops.copy[op] == CopyKind::d2h;
    if (!crosses || ops.bytes[op] < least) return nullptr;
    return &sizes[{t.process_of(op), ops.bytes[op]}];
  };
  c.in_steps.copies.each([&](Row op) {
    if (Ways* size = ways(op)) {
      (ops.copy[op] == CopyKind::h2d ? size->to : size->from).insert(t.device_of(op));
    }
  });
  RowBits downloads(ops.size()), uploads(ops.size());
  c.in_steps.copies.each([&](Row op) {
    Ways* size = ways(op);
    if (!size || size->mixed()) return;
    if (ops.copy[op] == CopyKind::d2h) {
      size->down.push_back(op);
    } else if (!size->down.empty() && ops.end[size->down.back()] <= ops.start[op]) {
      downloads.add(size->down.back());
      uploads.add(op);
      size->down.clear();  // older ones went nowhere
    }
  });
  push_rows(lua, {Kind::ops, std::move(downloads).set()});
  push_rows(lua, {Kind::ops, std::move(uploads).set()});
  return 2;
}

}  // namespace gh::binding

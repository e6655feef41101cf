// What ranks that train together send each other: gradients to reduce, weights to gather.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// Identifies a collective across phases: its kernel and its size.
using Signature = std::pair<NameId, std::int64_t>;

struct Message {
  Row op;
  Signature signature;
};

// From one loss to the next: a backward pass, and the forward pass of the next micro-batch.
struct Phase {
  std::vector<Message> reduced;
  std::vector<Row> copies;  // within the device, after the phase's first reduction, in order
};

// Calls take(step, first op, end) with positions in the device's operations.
template <class Take>
void each_step(const Trace& t, const DeviceSteps& device, Take take) {
  std::size_t at = 0;
  for (const Step& step : device.steps) {
    while (at < device.ops.size() && t.ops.start[device.ops[at]] < step.span.start) ++at;
    std::size_t end = at;
    while (end < device.ops.size() && t.ops.start[device.ops[end]] < step.span.end) ++end;
    take(at, end);
    at = end;
  }
}

// --- Gradients

class GradientPhases {
 public:
  explicit GradientPhases(const Context& c)
      : a_(c.analysis), t_(c.trace()), collectives_(c.in_steps.collectives()) {}

  // The backward phases of one step; none if an optimizer runs between two of them. A reduction
  // before a loss is not a gradient, and neither is anything else on its stream.
  std::vector<Phase> of(const std::vector<Row>& ops, std::size_t from, std::size_t to) const {
    std::set<std::pair<NameId, std::uint32_t>> before_loss;  // name and stream
    std::vector<Phase> phases;
    bool updated = false;                 // since the last phase began
    std::map<std::uint32_t, Row> copied;  // by stream: the last copy, if nothing came after it
    for (std::size_t i = from; i < to; ++i) {
      const Row op = ops[i];
      const KernelClass kind = a_.class_of(op);
      const Row before = std::exchange(copied.try_emplace(t_.ops.stream[op], no_row).first->second,
                                       t_.ops.copy[op] == CopyKind::d2d ? op : no_row);
      if (kind == KernelClass::softmax_loss) {
        if (phases.empty() || !phases.back().reduced.empty()) {
          if (updated) return {};
          phases.emplace_back();
        }
      } else if (kind == KernelClass::optimizer) {
        updated = updated || (!phases.empty() && !phases.back().reduced.empty());
      } else if (const CollectiveKind what = collectives_.kind(op);
                 what == CollectiveKind::all_reduce || what == CollectiveKind::reduce_scatter) {
        if (phases.empty())
          before_loss.emplace(t_.ops.name[op], t_.ops.stream[op]);
        else
          phases.back().reduced.push_back({op, signature(op)});
      } else if (t_.ops.copy[op] == CopyKind::d2d && before != no_row && !phases.empty() &&
                 !phases.back().reduced.empty()) {
        std::vector<Row>& copies = phases.back().copies;
        if (copies.empty() || copies.back() != before) copies.push_back(before);
        copies.push_back(op);
      }
    }
    for (Phase& phase : phases)
      std::erase_if(phase.reduced, [&](const Message& m) {
        return before_loss.count({t_.ops.name[m.op], t_.ops.stream[m.op]}) > 0;
      });
    std::erase_if(phases, [](const Phase& phase) { return phase.reduced.empty(); });
    return phases;
  }

  // Whether all phases reduce the same; after the last one there may be more: a norm, a loss.
  static bool are_alike(const std::vector<Phase>& phases) {
    const std::vector<Message>& first = phases.front().reduced;
    return std::all_of(phases.begin(), phases.end(), [&](const Phase& phase) {
      const bool is_last = &phase == &phases.back();
      if (phase.reduced.size() < first.size()) return false;
      if (!is_last && phase.reduced.size() != first.size()) return false;
      return std::equal(
          first.begin(), first.end(), phase.reduced.begin(),
          [](const Message& a, const Message& b) { return a.signature == b.signature; });
    });
  }

  // Copies from the reduced buffers to gradients come in one run, at least one for each buffer,
  // with the same total number of bytes if that is known.
  bool are_of_buffers(const Phase& phase) const {
    if (phase.copies.size() < phase.reduced.size()) return false;
    double reduced = 0, copied = 0;
    for (const Message& m : phase.reduced) {
      if (m.signature.second <= 0) return true;
      reduced += static_cast<double>(m.signature.second);
    }
    for (const Row op : phase.copies) copied += static_cast<double>(t_.ops.bytes[op]);
    return copied > 0.8 * reduced && copied < 1.25 * reduced;
  }

 private:
  // Without sizes, uses the number of blocks, which distinguishes an empty message from a bucket.
  Signature signature(Row op) const {
    const std::int64_t bytes = collectives_.bytes(op);
    return {t_.ops.name[op], bytes > 0 ? bytes : -static_cast<std::int64_t>(t_.ops.blocks[op])};
  }

  const Analysis& a_;
  const Trace& t_;
  const CollectiveKinds& collectives_;
};

// --- Weights

// All-gathers of one name on one stream in one step.
struct Gathers {
  std::vector<Row> forward, backward;  // before and after the first reduce-scatter or loss
  bool before_others = true;           // at least two came before anything was scattered
};

struct FoundWeights {
  RowBits all, late, held_up, again, scattered;
  double bytes = 0;  // of the weights gathered before backward, including other ranks' parts
  lua_Integer steps = 0;
};

class WeightGathers {
 public:
  WeightGathers(const Context& c, FoundWeights& found)
      : a_(c.analysis), t_(c.trace()), collectives_(c.in_steps.collectives()), found_(found) {}

  // Weights are gathered block by block before anything is reduced, and gradients are scattered
  // only in backward. Activations of tensor parallelism alternate between gathering and scattering.
  void add(const std::vector<Row>& ops, std::size_t from, std::size_t to) {
    std::map<std::pair<NameId, std::uint32_t>, Gathers> lanes;
    std::vector<Row> scattered;
    bool backward = false;
    for (std::size_t i = from; i < to; ++i) {
      const Row op = ops[i];
      if (a_.class_of(op) == KernelClass::softmax_loss) backward = true;
      switch (collectives_.kind(op)) {
        case CollectiveKind::all_gather: {
          Gathers& lane = lanes[{t_.ops.name[op], t_.ops.stream[op]}];
          (backward || !scattered.empty() ? lane.backward : lane.forward).push_back(op);
          break;
        }
        case CollectiveKind::reduce_scatter:
          if (scattered.empty())
            for (auto& [key, lane] : lanes) lane.before_others = lane.forward.size() >= 2;
          scattered.push_back(op);
          break;
        default: break;
      }
    }
    if (scattered.empty()) return;
    bool any = false;
    for (const auto& [key, lane] : lanes) {
      if (!lane.before_others || lane.forward.size() < 2) continue;
      any = true;
      add_lane(lane, ops, from, to);
    }
    if (!any) return;
    ++found_.steps;
    for (const Row op : scattered) found_.scattered.add(op);
  }

 private:
  void add_lane(const Gathers& lane, const std::vector<Row>& ops, std::size_t from,
                std::size_t to) {
    for (const Row op : lane.forward) found_.all.add(op);
    for (const Row op : lane.backward) found_.all.add(op);
    std::map<std::int64_t, int> held;  // by bytes: how many were gathered and not yet again
    for (const Row op : lane.forward) {
      const std::int64_t bytes = collectives_.bytes(op);
      ++held[bytes];
      found_.bytes += static_cast<double>(bytes) * ranks_of(op);
    }
    for (const Row op : lane.backward) {
      const std::int64_t bytes = collectives_.bytes(op);
      if (held[bytes] > 0) {  // without sizes, they are matched by count
        --held[bytes];
        found_.again.add(op);
      }
    }
    std::vector<Row> all = lane.forward;
    all.insert(all.end(), lane.backward.begin(), lane.backward.end());
    for (std::size_t i = 1; i < all.size(); ++i)
      if (is_late(all[i - 1], all[i], ops, from, to)) found_.late.add(all[i]);
  }

  // Whether a gather could have overlapped the work before it: it began only when that had ended,
  // the previous gather had finished long before, and no optimizer ran in between.
  bool is_late(Row before, Row op, const std::vector<Row>& ops, std::size_t from, std::size_t to) {
    const Ns done = t_.ops.end[before], start = t_.ops.start[op];
    const auto at =
        std::lower_bound(ops.begin() + static_cast<std::ptrdiff_t>(from),
                         ops.begin() + static_cast<std::ptrdiff_t>(to), op, [&](Row x, Row y) {
                           return std::pair(t_.ops.start[x], x) < std::pair(t_.ops.start[y], y);
                         });
    Ns computed = 0;  // time between the two in which anything but communication ran
    std::vector<Row> scattered;
    for (auto it = at; it != ops.begin() + static_cast<std::ptrdiff_t>(from);) {
      --it;
      if (t_.ops.start[*it] < t_.ops.start[before]) break;
      const KernelClass kind = a_.class_of(*it);
      if (kind == KernelClass::optimizer) return false;
      if (collectives_.kind(*it) == CollectiveKind::reduce_scatter) scattered.push_back(*it);
      if (kind != KernelClass::collective && t_.ops.end[*it] > done)
        computed += t_.ops.end[*it] - std::max(done, t_.ops.start[*it]);
    }
    const bool late = 2 * computed >= t_.ops.end[op] - start && start > done;
    if (late)
      for (const Row s : scattered) found_.held_up.add(s);
    return late;
  }

  // How many ranks hold a part each: as given by the report, or else as many as it contains.
  double ranks_of(Row op) const {
    const Group* group = t_.group_of(op);
    return group ? static_cast<double>(group->ranks) : static_cast<double>(a_.devices.size());
  }

  const Analysis& a_;
  const Trace& t_;
  const CollectiveKinds& collectives_;
  FoundWeights& found_;
};

// --- Buffers

// Broadcasts of a step before its loss, and the copies on the device directly after them: these
// unpack what was packed into one message.
void add_buffers(const Context& c, const std::vector<Row>& ops, std::size_t from, std::size_t to,
                 RowBits& broadcasts, RowBits& copies) {
  const Trace& t = c.trace();
  const CollectiveKinds& collectives = c.in_steps.collectives();
  std::vector<Row> sent, unpacked;
  bool after = false;
  for (std::size_t i = from; i < to; ++i) {
    const Row op = ops[i];
    const KernelClass kind = c.analysis.class_of(op);
    if (kind == KernelClass::softmax_loss) {
      for (const Row b : sent) broadcasts.add(b);
      for (const Row u : unpacked) copies.add(u);
      return;
    }
    if (collectives.kind(op) == CollectiveKind::broadcast) {
      sent.push_back(op);
      after = true;
    } else if (t.ops.copy[op] == CopyKind::d2d && after) {
      unpacked.push_back(op);
    } else if (kind != KernelClass::collective) {
      after = false;
    }
  }
}

}  // namespace

int broadcast_buffers(lua_State* lua, const Context& c) {
  const Trace& t = c.trace();
  RowBits broadcasts(t.ops.size()), copies(t.ops.size());
  for (const DeviceSteps& device : c.analysis.devices)
    each_step(t, device, [&](std::size_t from, std::size_t to) {
      add_buffers(c, device.ops, from, to, broadcasts, copies);
    });
  push_rows(lua, {Kind::ops, std::move(broadcasts).set()});
  push_rows(lua, {Kind::ops, std::move(copies).set()});
  return 2;
}

int reduced_gradients(lua_State* lua, const Context& c) {
  const Trace& t = c.trace();
  const GradientPhases phases_of(c);
  RowBits early(t.ops.size()), last(t.ops.size()), copies(t.ops.size());
  std::map<std::size_t, lua_Integer> steps;  // by number of phases
  double bytes = 0;
  for (const DeviceSteps& device : c.analysis.devices) {
    each_step(t, device, [&](std::size_t from, std::size_t to) {
      const std::vector<Phase> phases = phases_of.of(device.ops, from, to);
      ++steps[phases.size()];
      if (phases.size() < 2 || !GradientPhases::are_alike(phases)) return;
      for (const Phase& phase : phases) {
        const bool is_last = &phase == &phases.back();
        for (const Message& m : phase.reduced) {
          (is_last ? last : early).add(m.op);
          if (!is_last && m.signature.second > 0) bytes += static_cast<double>(m.signature.second);
        }
        if (!is_last && phases_of.are_of_buffers(phase))
          for (const Row op : phase.copies) copies.add(op);
      }
    });
  }
  // The usual number.
  std::size_t phases = 0;
  lua_Integer most = 0;
  for (const auto& [count, of_steps] : steps)
    if (of_steps > most) std::tie(phases, most) = std::pair(count, of_steps);
  lua_newtable(lua);
  set_integer(lua, "phases", static_cast<std::int64_t>(phases));
  set_number(lua, "bytes", bytes);
  set_rows(lua, "early", {Kind::ops, std::move(early).set()});
  set_rows(lua, "last", {Kind::ops, std::move(last).set()});
  set_rows(lua, "copies", {Kind::ops, std::move(copies).set()});
  return 1;
}

int gathered_weights(lua_State* lua, const Context& c) {
  const Trace& t = c.trace();
  const std::size_t all = t.ops.size();
  FoundWeights found{RowBits(all), RowBits(all), RowBits(all), RowBits(all), RowBits(all)};
  WeightGathers gathers(c, found);
  for (const DeviceSteps& device : c.analysis.devices)
    each_step(t, device,
              [&](std::size_t from, std::size_t to) { gathers.add(device.ops, from, to); });
  lua_newtable(lua);
  set_integer(lua, "steps", found.steps);
  set_number(lua, "bytes", found.steps == 0 ? 0 : found.bytes / static_cast<double>(found.steps));
  set_rows(lua, "all", {Kind::ops, std::move(found.all).set()});
  set_rows(lua, "late", {Kind::ops, std::move(found.late).set()});
  set_rows(lua, "held_up", {Kind::ops, std::move(found.held_up).set()});
  set_rows(lua, "again", {Kind::ops, std::move(found.again).set()});
  set_rows(lua, "scattered", {Kind::ops, std::move(found.scattered).set()});
  return 1;
}

}  // namespace gh::binding

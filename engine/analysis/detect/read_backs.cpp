#include "analysis/detect/read_backs.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/host_threads.hpp"
#include "analysis/structure/structure.hpp"

namespace gh {
namespace {

// Where the clocks of host and GPU differ, a wait may seem to end before the work that it waited
// for.
constexpr Ns skew_ns = 5'000;

// Comparisons between steps need at least this many.
constexpr std::size_t least_steps = 3;

// How many operations after a read-back to look at: what the read-back decides comes soon.
constexpr std::size_t most_after = 16;

// What a kernel or copy is launched with, as far as the report shows it.
using Shape = std::tuple<NameId, std::uint32_t, std::int64_t, OpKind, CopyKind>;

struct ShapeHash {
  std::size_t operator()(const Shape& s) const {
    const auto& [name, blocks, bytes, kind, copy] = s;
    std::size_t hash = name;
    for (const auto part : {static_cast<std::size_t>(blocks), static_cast<std::size_t>(bytes),
                            static_cast<std::size_t>(kind), static_cast<std::size_t>(copy)})
      hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
    return hash;
  }
};

Shape shape_of(const Ops& ops, Row op) {
  return {ops.name[op], ops.blocks[op], ops.bytes[op], ops.kind[op], ops.copy[op]};
}

// Adds those of a device's operations to `changing` whose shapes do not occur equally often in
// three of four steps.
void find_changing(const Analysis& a, const DeviceSteps& device, RowBits& changing) {
  const Ops& ops = a.trace.ops;
  struct Seen {
    std::size_t count = 0;                     // in the current step
    std::size_t step = 0;                      // the current step, counted from 1
    std::map<std::size_t, std::size_t> steps;  // in how many steps it came that often
    bool changes = false;
  };
  std::unordered_map<Shape, Seen, ShapeHash> shapes;
  const auto close = [](Seen& seen) {
    if (seen.count > 0) ++seen.steps[seen.count];
    seen.count = 0;
  };
  const auto each = [&](auto take) {
    auto op = device.ops.begin();
    for (std::size_t k = 0; k < device.steps.size(); ++k) {
      const Span span = device.steps[k].span;
      while (op != device.ops.end() && ops.start[*op] < span.start) ++op;
      for (; op != device.ops.end() && ops.start[*op] < span.end; ++op)
        if (!is_unified(ops.copy[*op])) take(k + 1, *op);
    }
  };
  each([&](std::size_t step, Row op) {
    Seen& seen = shapes[shape_of(ops, op)];
    if (seen.step != step) {
      close(seen);
      seen.step = step;
    }
    ++seen.count;
  });
  bool any = false;
  for (auto& [shape, seen] : shapes) {
    close(seen);
    std::size_t most = 0;
    for (const auto& [count, steps] : seen.steps) most = std::max(most, steps);
    seen.changes = 4 * most < 3 * device.steps.size();
    any = any || seen.changes;
  }
  if (!any) return;
  each([&](std::size_t, Row op) {
    if (shapes.find(shape_of(ops, op))->second.changes) changing.add(op);
  });
}

class ReadBackFinder {
 public:
  ReadBackFinder(const Analysis& a, const RowSet& ops)
      : a_(a),
        t_(a.trace),
        threads_(t_, a.names),
        launched_(t_.calls.size(), no_row),
        copies_(t_.ops.size()),
        waits_(t_.calls.size()),
        deciding_(t_.ops.size()),
        changing_(t_.ops.size()) {
    ops.each([&](Row op) {
      if (const Row call = t_.ops.call[op]; call != no_row) launched_[call] = op;
    });
  }

  ReadBacks find() {
    of_threads(false);
    ReadBacks found;
    found.copies = RowBits(copies_).set();
    found.sized = sized(found.copies);
    // One per step is a logged loss, which decides nothing: most programs end here.
    if (found.copies.size() >= 2 * static_cast<std::size_t>(a_.step_count())) compare();
    found.waits = std::move(waits_).set();
    found.deciding = std::move(deciding_).set();
    found.changing = std::move(changing_).set();
    return found;
  }

 private:
  // A memset between the two clears what the kernel counts in.
  RowSet sized(const RowSet& copies) const {
    std::vector<std::int8_t> selects(t_.names.size(), -1);  // by name; -1: not asked yet
    const auto does_select = [&](Row op) {
      if (t_.ops.kind[op] != OpKind::kernel) return false;
      std::int8_t& answer = selects[t_.ops.name[op]];
      if (answer < 0) answer = a_.classes.selects(t_.names[t_.ops.name[op]]) ? 1 : 0;
      return answer == 1;
    };
    RowBits found(t_.ops.size());
    for (const DeviceSteps& device : a_.devices) {
      std::vector<Row> copy(t_.streams.size(), no_row);  // the last thing on a stream, if a copy
      std::vector<std::uint8_t> after(t_.streams.size());
      for (const Row op : device.ops) {
        const std::uint32_t stream = t_.ops.stream[op];
        if (t_.ops.kind[op] == OpKind::set) continue;
        const bool select = does_select(op);
        if (copies_.holds(op) && after[stream] != 0) found.add(op);
        if (select && copy[stream] != no_row) found.add(copy[stream]);
        copy[stream] = copies_.holds(op) ? op : no_row;
        if (!copies_.holds(op)) after[stream] = select;
      }
    }
    std::vector<std::int8_t> asks(t_.names.size(), -1);  // by name, as above
    copies.each([&](Row op) {
      const Row in =
          a_.structure().ranges().first_on_own_thread(t_.calls, t_.ops.call[op], [&](Row range) {
            const NameId name = t_.ranges.name[range];
            if (asks[name] < 0) asks[name] = a_.classes.asks_for_size(t_.names[name]) ? 1 : 0;
            return asks[name] == 1;
          });
      if (in != no_row) found.add(op);
    });
    return std::move(found).set();
  }

  void compare() {
    bool compared = false;
    for (const DeviceSteps& device : a_.devices) {
      if (device.source == StepSource::none || device.steps.size() < least_steps) continue;
      find_changing(a_, device, changing_);
      compared = true;
    }
    if (compared) of_threads(true);
  }

  void of_threads(bool compared) {
    for (std::uint16_t thread = 0; thread < threads_.size(); ++thread) of_thread(thread, compared);
  }

  CallClass call_class(Row call) const { return a_.names.call[t_.calls.name[call]]; }

  // What is known so far about a thread's launches in one step.
  struct InStep {
    const Step* step = nullptr;
    std::size_t before = 0, changed_before = 0;  // launched before the first read-back
    Row copy = no_row;                           // the last read-back, not yet judged
    std::size_t after = 0, changed_after = 0;    // launched since then
    bool any = false;
  };

  void of_thread(std::uint16_t thread, bool compared) {
    const auto& calls = threads_[thread].calls;
    Row copied = no_row;               // a copy to the host that the thread has not waited for yet
    Row read = no_row, wait = no_row;  // one that it has waited for
    InStep now;
    for (const Row c : calls) {
      const CallClass kind = call_class(c);
      const Row op = launched_[c];
      if (op != no_row) {
        const Step* step = step_of(op);
        if (step != now.step) {
          judge(now);
          now = {step};
        }
        if (read != no_row && step != nullptr && step_of(read) == step) {
          copies_.add(read);
          waits_.add(wait);
          judge(now);
          now.copy = read;
          now.any = true;
          now.after = now.changed_after = 0;
        }
        read = wait = no_row;
        const bool changes = compared && changing_.holds(op);
        const bool result = t_.ops.copy[op] == CopyKind::d2h;
        if (!now.any) {
          ++now.before;
          now.changed_before += changes;
        } else if (!result && now.after < most_after) {
          ++now.after;
          now.changed_after += changes;
        }
        copied = t_.ops.copy[op] == CopyKind::d2h ? op : no_row;
      }
      // The copy's own call may have waited, or the first synchronization after it.
      const bool waits = op == no_row ? kind == CallClass::sync : copied == op;
      if (copied != no_row && waits && t_.calls.end[c] + skew_ns >= t_.ops.end[copied]) {
        read = copied;
        wait = c;
        copied = no_row;
      }
    }
    judge(now);
  }

  // A read-back decided what came next (not counting results that are copied down) if that changes
  // from step to step although the beginning of the step does not: batches of varying length change
  // all of it.
  void judge(InStep& now) {
    if (now.copy != no_row && 4 * now.changed_after >= now.after && now.changed_after > 0 &&
        10 * now.changed_before <= now.before && now.before > 0)
      deciding_.add(now.copy);
    now.copy = no_row;
  }

  const Step* step_of(Row op) const {
    for (const DeviceSteps& device : a_.devices) {
      if (device.device != t_.streams[t_.ops.stream[op]].device) continue;
      const auto after =
          std::partition_point(device.steps.begin(), device.steps.end(),
                               [&](const Step& s) { return s.span.start <= t_.ops.start[op]; });
      if (after == device.steps.begin()) return nullptr;
      const Step& step = *std::prev(after);
      return t_.ops.start[op] < step.span.end ? &step : nullptr;
    }
    return nullptr;
  }

  const Analysis& a_;
  const Trace& t_;
  const HostThreads threads_;
  std::vector<Row> launched_;  // by call: the last operation that it launched
  RowBits copies_, waits_, deciding_, changing_;
};

}  // namespace

ReadBacks find_read_backs(const Analysis& analysis, const RowSet& ops) {
  return ReadBackFinder(analysis, ops).find();
}

}  // namespace gh

#include "rules/binding/stretches.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/detect/round_trips.hpp"

namespace gh::binding {
namespace {

// Anything shorter may be the preparation of a launch: an eager framework takes 5 to 50 us from one
// to the next.
constexpr Ns compiler_ns = 200'000;
// A thread that needs Python's lock waits in pieces of the switch interval, 5 ms.
constexpr Ns lock_piece_ns = 6'000'000;
// The share of its wait during which another thread of the process runs.
constexpr double lock_beside = 0.8;

class StretchFinder {
 public:
  explicit StretchFinder(const Context& c)
      : c_(c),
        a_(c.analysis),
        t_(c.trace()),
        trips_(c.in_steps.round_trips().copies, t_.ops.size()),
        streamed_(c.in_steps.streamed_uploads(), t_.ops.size()),
        reads_(c.in_steps.read_backs().copies, t_.ops.size()) {
    const bool model = runs_model();
    has_trips_ = model && c.in_steps.round_trips().pairs >= 2 * a_.step_count();
    if (has_trips_)
      find_round_trips(a_, c.in_steps.copies, 1).copies.each([&](Row op) {
        trip_bytes_.insert(t_.ops.bytes[op]);
      });
    for (Row r = 0; r < t_.ranges.size(); ++r) {
      const auto phases = a_.names.phases[t_.ranges.name[r]];
      for (const Phase p : {Phase::checkpoint, Phase::evaluation, Phase::garbage_collection})
        if ((phases >> static_cast<unsigned>(p) & 1) != 0)
          phases_.push_back({t_.ranges.start[r], t_.ranges.end[r]});
    }
    phases_ = united(std::move(phases_));
    find_os_calls();
    find_launching_operators();
  }

  std::vector<std::uint8_t> find() {
    std::vector<std::uint8_t> found;
    for (std::size_t slot = 0; slot < a_.devices.size(); ++slot) {
      const IdleList& idle = a_.account.devices[slot].idle;
      const Spans made = compiled(slot);
      const Ns usual = longest_without_compiler(slot, made);
      const bool optimizes = has_cpu_optimizer(slot);
      for (const Idle& i : idle) {
        const bool known = i.cause == IdleCause::unknown;
        if (!known && !(i.cause == IdleCause::input && i.inferred)) {
          found.push_back(static_cast<std::uint8_t>(Stretch::none));
          continue;
        }
        Stretch stretch = Stretch::none;
        if (known || waits_for_lock(i)) stretch = of(i, made, usual, optimizes);
        found.push_back(static_cast<std::uint8_t>(stretch));
      }
    }
    return found;
  }

 private:
  Stretch of(const Idle& i, const Spans& made, Ns usual, bool optimizes) {
    if (optimizes && travels(i.previous) && travels(i.next)) return Stretch::optimizer;
    if (beside(i, streamed_) || (has_trips_ && beside(i, trips_))) return Stretch::offload;
    if (2 * overlap(phases_, i.span) >= i.span.length() && i.span.length() > 0)
      return Stretch::phase;
    if (i.span.length() >= std::max(compiler_ns, 2 * usual) &&
        overlap(made, i.span) == i.span.length())
      return Stretch::compiler;
    if (waits_for_lock(i)) return Stretch::lock;
    const HostWork& work = c_.in_steps.host_work();
    // What another thread marks, such as the one that waits for backward, is not what this one
    // does.
    const NameId doing = work.own(i.thread, i.span).name;
    if (doing != 0 &&
        (a_.names.does(OsCallDoes::wait, doing) || a_.names.does(OsCallDoes::sleep, doing)))
      return Stretch::waits;
    bool runs = false;
    if (i.thread != no_index && t_.cpu_stretches.size() > 0) {
      const HostWork::Seen seen = work.seen({{i.thread, i.span}});
      runs = 2 * seen.scheduled_ns >= i.span.length();
      if (runs && 2 * seen.waited_ns >= seen.scheduled_ns) return Stretch::waits;
      // Off the CPU outside of any known call: preempted by others, or waiting in a way that was
      // not recorded.
      if (runs && 2 * seen.held_off_ns >= seen.scheduled_ns) {
        const bool taken =
            t_.availability(Source::os_calls).known() && 2 * seen.taken_ns >= seen.held_off_ns;
        return taken ? Stretch::preempted : Stretch::unnamed;
      }
    }
    // Between two collectives, a library copies what it received.
    if (i.previous != no_row && a_.is_collective(i.previous)) return Stretch::unnamed;
    if (doing != 0) return launches_work(doing) ? Stretch::launching : Stretch::works;
    if (runs) return Stretch::works;
    // The host had waited for a result and launched GPU work again: in between it worked.
    if (holds(reads_, i.previous) && i.next != no_row) return Stretch::works;
    // If waiting calls were recorded and it is in none, it computes, unless it touches pages.
    if (i.thread != no_index && t_.availability(Source::os_calls).known() &&
        !migrates(i.previous) && !migrates(i.next))
      return Stretch::works;
    return Stretch::unnamed;
  }

  // --- Tensors that move back and forth

  bool runs_model() const {
    std::vector<std::int8_t> asked(t_.names.size(), -1);
    bool found = false;
    c_.in_steps.ops.each([&](Row op) {
      if (found) return;
      if (t_.ops.kind[op] == OpKind::graph) found = true;
      if (t_.ops.kind[op] != OpKind::kernel) return;
      std::int8_t& answer = asked[t_.ops.name[op]];
      if (answer < 0) answer = a_.classes.is_product(a_.class_of(op)) ? 1 : 0;
      found = answer == 1;
    });
    return found;
  }

  // Gradients are copied to the host, and after the last one the host works until the first
  // parameter is copied back; no optimizer runs on the device. An offloaded activation comes back
  // after kernels.
  bool has_cpu_optimizer(std::size_t slot) const {
    if (!has_trips_ || !a_.program.is("training")) return false;
    bool turned = false;
    // The last or the first may be small, such as a norm's.
    for (const Idle& i : a_.account.devices[slot].idle)
      turned = turned || (i.cause == IdleCause::unknown && travels(i.previous) && travels(i.next) &&
                          beside(i, trips_) && t_.ops.copy[i.previous] == CopyKind::d2h &&
                          t_.ops.copy[i.next] == CopyKind::h2d);
    if (!turned) return false;
    bool optimizes = false;
    a_.each_op_in_steps(
        slot, [&](Row op) { optimizes = optimizes || a_.class_of(op) == KernelClass::optimizer; });
    return !optimizes;
  }

  // For the first step, the download is outside of the steps: tensors are recognized by size.
  bool travels(Row op) const {
    if (op == no_row) return false;
    const CopyKind copy = t_.ops.copy[op];
    return (copy == CopyKind::d2h || copy == CopyKind::h2d) &&
           trip_bytes_.contains(t_.ops.bytes[op]);
  }

  bool migrates(Row op) const { return op != no_row && is_unified(t_.ops.copy[op]); }

  static bool holds(const RowBits& ops, Row op) { return op != no_row && ops.holds(op); }
  static bool beside(const Idle& i, const RowBits& ops) {
    return holds(ops, i.previous) || holds(ops, i.next);
  }

  // --- Compilation

  bool makes_code(const Idle& i) const {
    if (i.cause == IdleCause::compilation) return true;
    return i.cause == IdleCause::loading && i.call != no_row &&
           a_.names.call[t_.calls.name[i.call]] != CallClass::launch;
  }

  // For each step, from the first call that compiles or loads code to the last.
  Spans compiled(std::size_t slot) const {
    const DeviceSteps& device = a_.devices[slot];
    if (device.source == StepSource::none) return {};
    std::vector<Span> spans(device.steps.size(), Span{0, 0});
    for (const Idle& i : a_.account.devices[slot].idle) {
      if (!makes_code(i)) continue;
      const Step* step = c_.step_at(slot, i.span.start);
      if (!step) continue;
      Span& span = spans[static_cast<std::size_t>(step - device.steps.data())];
      if (span.end == 0) span = i.span;
      span.end = std::max(span.end, i.span.end);
    }
    std::erase_if(spans, [](const Span& s) { return s.end == 0; });
    return united(std::move(spans));
  }

  // The longest part of the steps without compilation: how long a step takes without it.
  Ns longest_without_compiler(std::size_t slot, const Spans& made) const {
    if (made.empty()) return 0;
    Ns longest = 0;
    for (const Idle& i : a_.account.devices[slot].idle) {
      if (i.cause != IdleCause::unknown) continue;
      const Step* step = c_.step_at(slot, i.span.start);
      if (step && overlap(made, step->span) == 0) longest = std::max(longest, i.span.length());
    }
    return longest;
  }

  // --- Python's lock

  void find_os_calls() {
    lock_calls_.resize(t_.threads.size());
    on_cpu_.resize(t_.threads.size());
    lock_waits_.resize(t_.threads.size());
    const PythonLock& lock = t_.python_lock;
    for (Row r = 0; r < lock.size(); ++r)
      if (lock.holds[r] == 0) lock_waits_[lock.thread[r]].push_back({lock.start[r], lock.end[r]});
    for (Spans& waits : lock_waits_) waits = united(std::move(waits));
    if (!a_.program.is("python")) return;
    const bool switches = t_.cpu_stretches.size() > 0;
    if (!switches) {
      wakes_.resize(t_.threads.size());
      in_call_.resize(t_.threads.size());
    }
    const OsCallDoes waits = switches ? OsCallDoes::wait_lock : OsCallDoes::poll_lock;
    const OsCalls& os = t_.os_calls;
    for (Row r = 0; r < os.size(); ++r) {
      const Span span{os.start[r], os.end[r]};
      if (a_.names.does(waits, os.name[r]) && span.length() <= lock_piece_ns)
        lock_calls_[os.thread[r]].push_back(span);
      if (switches) continue;
      if (a_.names.does(OsCallDoes::wake, os.name[r])) wakes_[os.thread[r]].push_back(os.start[r]);
      in_call_[os.thread[r]].push_back(span);
    }
    for (Spans& calls : lock_calls_) calls = united(std::move(calls));
    for (Spans& calls : in_call_) calls = united(std::move(calls));
    for (std::vector<Ns>& times : wakes_) std::sort(times.begin(), times.end());
    const CpuStretches& on = t_.cpu_stretches;
    for (Row r = 0; r < on.size(); ++r) on_cpu_[on.thread[r]].push_back({on.start[r], on.end[r]});
    for (Spans& of_thread : on_cpu_) of_thread = united(std::move(of_thread));
  }

  bool waits_for_lock(const Idle& i) const {
    if (i.thread == no_index || i.span.length() <= 0) return false;
    if (2 * overlap(lock_waits_[i.thread], i.span) >= i.span.length()) return true;
    if (2 * overlap(lock_calls_[i.thread], i.span) < i.span.length()) return false;
    // Which thread holds the lock is not recorded: look for one of the process that runs
    // throughout.
    for (std::uint16_t other = 0; other < on_cpu_.size(); ++other) {
      if (other == i.thread || t_.threads[other].process != t_.threads[i.thread].process) continue;
      if (static_cast<double>(ran(other, i.span)) >=
          lock_beside * static_cast<double>(i.span.length()))
        return true;
    }
    return false;
  }

  // How long a thread was on a CPU. Without context switches: how long it was in no call, if it
  // then woke another thread, as a thread does that releases the lock; threads that wait or sleep
  // are in a call.
  Ns ran(std::uint16_t thread, Span span) const {
    if (wakes_.empty()) return overlap(on_cpu_[thread], span);
    const std::vector<Ns>& times = wakes_[thread];
    const auto wake = std::lower_bound(times.begin(), times.end(), span.start);
    if (wake == times.end() || *wake > span.end) return 0;
    return span.length() - overlap(in_call_[thread], span);
  }

  // Finds the names of ranges in which calls launched GPU work.
  void find_launching_operators() {
    const Ranges& ranges = t_.ranges;
    const Calls& calls = t_.calls;
    launches_.assign(t_.names.size(), false);
    OpenInOrder open(a_.structure().ranges(), ranges, t_.threads.size());
    std::vector<bool> known(ranges.size());
    for (Row c = 0; c < calls.size(); ++c) {
      if (!gh::launches(a_.names.call[calls.name[c]])) continue;
      // Those around a range that is known to launch are known as well.
      open.first_open(calls.thread[c], calls.start[c], [&](Row r) {
        if (known[r]) return true;
        known[r] = true;
        launches_[ranges.name[r]] = launches_[ranges.name[r]] || ranges.nest[r] != 0;
        return false;
      });
    }
  }

  bool launches_work(NameId name) const {
    return launches_[name] && a_.structure().operators()[name] != 0;
  }

  const Context& c_;
  const Analysis& a_;
  const Trace& t_;
  const RowBits trips_;
  std::set<std::int64_t> trip_bytes_;  // of all round trips, including small ones
  const RowBits streamed_;
  const RowBits reads_;
  bool has_trips_ = false;
  Spans phases_;
  std::vector<bool> launches_;                           // by name of a range
  std::vector<Spans> lock_waits_, lock_calls_, on_cpu_;  // by thread
  // By thread, if no context switches were recorded.
  std::vector<Spans> in_call_;
  std::vector<std::vector<Ns>> wakes_;
};

}  // namespace

const char* name_of(Stretch stretch) {
  switch (stretch) {
    case Stretch::none: return "";
    case Stretch::offload: return "offload";
    case Stretch::phase: return "phase";
    case Stretch::optimizer: return "optimizer";
    case Stretch::compiler: return "compiler";
    case Stretch::lock: return "lock";
    case Stretch::preempted: return "preempted";
    case Stretch::waits: return "waits";
    case Stretch::launching: return "launching";
    case Stretch::works: return "works";
    case Stretch::unnamed: return "unnamed";
  }
  return "";
}

const std::vector<std::uint8_t>& stretches(const Context& c) {
  return c.in_steps.stretches([&] { return StretchFinder(c).find(); });
}

}  // namespace gh::binding

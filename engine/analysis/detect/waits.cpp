#include "analysis/detect/waits.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/host_threads.hpp"

namespace gh {
namespace {

constexpr std::array names{"work",    "result",     "decision", "upload",    "pageable",
                           "offload", "checkpoint", "memory",   "unrecorded"};  // by WaitFor

bool is_pageable(const Ops& ops, Row copy) {
  return ops.source[copy] == MemoryKind::pageable || ops.target[copy] == MemoryKind::pageable;
}

// Goes through a thread's calls in order. A wait is for the copy that the thread launched last, if
// it has not launched kernels after one whose own call waited already.
class WaitFinder {
 public:
  WaitFinder(const Analysis& analysis, const WaitsIn& steps)
      : a_(analysis),
        t_(analysis.trace),
        calls_(steps.calls, t_.calls.size()),
        offloaded_(t_.ops.size()),
        deciding_(steps.reads.deciding.plus(steps.reads.sized), t_.ops.size()),
        launched_(t_.calls.size(), no_row) {
    // Two of each in a step: less is data that comes and goes.
    const bool trips = steps.trips.pairs >= 2 * a_.step_count();
    offloaded_ =
        RowBits(trips ? steps.streamed.plus(steps.trips.copies) : steps.streamed, t_.ops.size());
    steps.ops.each([&](Row op) {
      if (const Row call = t_.ops.call[op]; call != no_row) launched_[call] = op;
    });
    for (Row r = 0; r < t_.ranges.size(); ++r)
      if (a_.names.is_phase(Phase::checkpoint, t_.ranges.name[r]))
        saving_.push_back({t_.ranges.start[r], t_.ranges.end[r]});
    saving_ = united(std::move(saving_));
    find_trims();
  }

  std::vector<Wait> find() {
    const HostThreads threads(t_, a_.names);
    for (std::uint16_t thread = 0; thread < threads.size(); ++thread)
      of_thread(threads[thread].calls);
    std::sort(found_.begin(), found_.end(),
              [](const Wait& a, const Wait& b) { return a.call < b.call; });
    return std::move(found_);
  }

 private:
  void of_thread(std::span<const Row> calls) {
    Row copied = no_row;      // the last copy to or from the host
    bool done = false;        // whether its own call waited for it
    std::size_t unnamed = 0;  // since the last launch: waits for work, the last of what was found
    drained_ = {};
    Spins spins(a_);
    for (const Row call : calls) {
      if (!calls_.holds(call)) continue;
      const bool spun = spins.ends_with(call);
      const CallClass kind = a_.names.call[t_.calls.name[call]];
      const Row op = launched_[call];
      if (op != no_row) {
        // Who waits before it moves a tensor away or back waits for that.
        if (offloaded_.holds(op))
          for (std::size_t i = found_.size() - unnamed; i < found_.size(); ++i)
            found_[i].what = WaitFor::offload;
        unnamed = 0;
        if (crosses_link(t_.ops.copy[op]) && !is_unified(t_.ops.copy[op])) {
          done = waited_for_copy(t_, kind, call, op) &&
                 (drained_.call != no_row || !is_taken_along(kind, op));
          // A result is read whatever is sent after it.
          if (done || copied == no_row || t_.ops.copy[copied] != CopyKind::d2h ||
              t_.ops.copy[op] == CopyKind::d2h)
            copied = op;
          if (done) add(call, purpose_of(op), op);
        } else {
          if (done) copied = no_row;
          done = false;
          if (t_.ops.kind[op] == OpKind::kernel || t_.ops.kind[op] == OpKind::graph) drained_ = {};
          if (kind == CallClass::copy_sync && t_.ops.end[op] <= t_.calls.end[call] + clock_skew_ns)
            add(call, WaitFor::work, no_row);
        }
      } else if (kind == CallClass::sync || kind == CallClass::copy_sync || spun) {
        const WaitFor what = copied == no_row ? WaitFor::work : purpose_of(copied);
        add(call, what, copied);
        if (done) found_.back().first = found_[found_.size() - 2].first;
        if (spun) found_.back().since = spins.since();
        if (found_.back().what == WaitFor::work) ++unnamed;
        copied = no_row;
        done = false;
      } else if (a_.classes.waits_implicitly(t_.names[t_.calls.name[call]])) {
        add(call, WaitFor::memory, no_row);
        unnamed = 0;
      }
    }
  }

  // A pool that keeps nothing gives its memory back to the system whenever the host waits.
  void find_trims() {
    const bool pooled = std::any_of(t_.calls.name.begin(), t_.calls.name.end(), [&](NameId name) {
      return t_.names[name].find("FreeAsync") != std::string::npos;
    });
    if (!pooled) return;
    trims_.resize(t_.threads.size());
    for (Row c = 0; c < t_.os_calls.size(); ++c)
      if (t_.names[t_.os_calls.name[c]] == "ioctl")
        trims_[t_.os_calls.thread[c]].push_back({t_.os_calls.start[c], t_.os_calls.end[c]});
    for (Spans& of_thread : trims_) of_thread = united(std::move(of_thread));
  }

  void add(Row call, WaitFor what, Row copy) {
    const Span span{t_.calls.start[call], t_.calls.end[call]};
    if (!trims_.empty() && overlap(trims_[t_.calls.thread[call]], span) > 0) what = WaitFor::memory;
    if (span.length() > 0 && overlap(saving_, span) == span.length()) what = WaitFor::checkpoint;
    const bool small = copy == no_row || t_.ops.bytes[copy] < large_copy_bytes;
    Wait wait{call, what, copy, call, span.start};
    if (drained_.call != no_row && small && is_plain(what)) {
      wait.what = drained_.what;
      wait.first = drained_.first;
    }
    if (is_plain(wait.what)) drained_ = wait;
    found_.push_back(wait);
  }

  // Little that goes to the GPU from pageable memory the driver takes along: the call may last as
  // long as the copy, but does not wait for the stream. The replay takes it for a wait where it
  // did, so it goes with one before it.
  bool is_taken_along(CallClass kind, Row copy) const {
    return kind == CallClass::copy && t_.ops.copy[copy] == CopyKind::h2d &&
           t_.ops.bytes[copy] < large_copy_bytes;
  }

  static bool is_plain(WaitFor what) {
    return what == WaitFor::work || what == WaitFor::result || what == WaitFor::decision ||
           what == WaitFor::upload;
  }

  WaitFor purpose_of(Row copy) const {
    if (offloaded_.holds(copy)) return WaitFor::offload;
    const bool down = t_.ops.copy[copy] == CopyKind::d2h;
    if (down && deciding_.holds(copy)) return WaitFor::decision;
    if (t_.ops.bytes[copy] >= large_copy_bytes && is_pageable(t_.ops, copy))
      return WaitFor::pageable;
    return down ? WaitFor::result : WaitFor::upload;
  }

  const Analysis& a_;
  const Trace& t_;
  const RowBits calls_;
  RowBits offloaded_;
  const RowBits deciding_;
  std::vector<Row> launched_;  // by call: the last operation that it launched
  Spans saving_;               // when something is saved
  std::vector<Spans> trims_;   // by thread; empty without pools
  Wait drained_;               // the last wait, with no kernel since
  std::vector<Wait> found_;
};

}  // namespace

bool Spins::ends_with(Row call) {
  const Calls& calls = a_.trace.calls;
  const bool goes_on = before_ != no_row && calls.name[before_] == calls.name[call];
  if (!goes_on) since_ = calls.start[call];
  const std::uint16_t result = calls.result_of(call);
  const bool asks = a_.names.call[calls.name[call]] == CallClass::event && result != 0 &&
                    a_.classes.is_expected(a_.trace.names[calls.name[call]], result);
  before_ = asks ? call : no_row;
  return goes_on && result == 0 && calls.end[call] - since_ > waited_ns;
}

const char* name_of(WaitFor what) { return names[static_cast<std::size_t>(what)]; }

bool waited_for_copy(const Trace& t, CallClass kind, Row call, Row copy) {
  const bool down = t.ops.copy[copy] == CopyKind::d2h,
             large = t.ops.bytes[copy] >= large_copy_bytes;
  const Ns end = t.calls.end[call];
  const bool lasted = end - t.calls.start[call] > waited_ns, pageable = is_pageable(t.ops, copy);
  if (pageable && lasted && t.ops.start[copy] < end) return true;
  // The driver copies through its own pinned buffer, so that the call returns only when the stream
  // has come to the copy.
  const bool staged = pageable && (down || large);
  return (kind == CallClass::copy_sync || lasted || staged) &&
         t.ops.end[copy] <= end + clock_skew_ns;
}

std::vector<Wait> find_waits(const Analysis& analysis, const WaitsIn& steps) {
  return WaitFinder(analysis, steps).find();
}

}  // namespace gh

#include "analysis/detect/waits.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "analysis/host_threads.hpp"

namespace gh {
namespace {

constexpr std::array names{"work",      "result",  "decision",   "upload", "pageable",  "managed",
                           "migration", "offload", "checkpoint", "memory", "unrecorded"};
static_assert(names.size() == static_cast<std::size_t>(WaitFor::count));

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
        // Two of each in a step: less is data that comes and goes.
        offloaded_(steps.trips.pairs >= 2 * a_.step_count()
                       ? steps.streamed.plus(steps.trips.copies)
                       : steps.streamed,
                   t_.ops.size()),
        deciding_(steps.reads.deciding.plus(steps.reads.sized), t_.ops.size()),
        launched_(t_.calls.size(), no_row) {
    steps.ops.each([&](Row op) {
      if (const Row call = t_.ops.call[op]; call != no_row) launched_[call] = op;
    });
    for (Row r = 0; r < t_.ranges.size(); ++r)
      if (a_.names.is_phase(Phase::checkpoint, t_.ranges.name[r]))
        saving_.push_back({t_.ranges.start[r], t_.ranges.end[r]});
    saving_ = united(std::move(saving_));
    find_trims();
    find_pages();
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
  static constexpr std::size_t none = std::string::npos;

  void of_thread(std::span<const Row> calls) {
    Row copied = no_row;            // the last copy to or from the host
    std::size_t copy_wait = none;   // into what was found: where its own call waited for it
    std::vector<std::size_t> work;  // the same: waits for work since the last launch
    joined_ = none;
    Spins spins(a_);
    // Who launches nothing, such as a watchdog, holds nothing up.
    const bool launches = std::any_of(calls.begin(), calls.end(),
                                      [&](Row call) { return launched_[call] != no_row; });
    for (const Row call : calls) {
      if (!calls_.holds(call)) continue;
      const bool spun = spins.ends_with(call) && launches;
      const CallClass kind = a_.names.call[t_.calls.name[call]];
      const Row op = launched_[call];
      if (op != no_row) {
        // Who waits before it moves a tensor away or back waits for that.
        if (offloaded_.holds(op))
          for (const std::size_t i : work) found_[i].what = WaitFor::offload;
        before_launch(work, t_.calls.start[call]);
        work.clear();
        if (crosses_link(t_.ops.copy[op]) && !is_unified(t_.ops.copy[op])) {
          const bool waited =
              waited_for_copy(t_, kind, call, op) && (joined_ != none || !is_taken_along(kind, op));
          // A result is read whatever is sent after it, until it was waited for.
          const bool reads =
              copied != no_row && copy_wait == none && t_.ops.copy[copied] == CopyKind::d2h;
          if (waited || !reads || t_.ops.copy[op] == CopyKind::d2h) copied = op;
          copy_wait = waited ? add(call, purpose_of(op), op, call) : none;
        } else {
          const bool works = t_.ops.kind[op] == OpKind::kernel || t_.ops.kind[op] == OpKind::graph;
          // What waits then waits for more than an upload.
          if (copy_wait != none ||
              (works && copied != no_row && t_.ops.copy[copied] == CopyKind::h2d))
            copied = no_row;
          copy_wait = none;
          if (works) joined_ = none;
        }
      } else if (kind == CallClass::sync || kind == CallClass::copy_sync || spun) {
        WaitFor what = copied == no_row ? WaitFor::work : purpose_of(copied);
        if (kind == CallClass::sync && trims(call)) what = WaitFor::memory;
        const std::size_t found =
            add(call, what, copied, copy_wait == none ? call : found_[copy_wait].first);
        if (spun) found_[found].since = spins.since();
        if (found_[found].what == WaitFor::work) work.push_back(found);
        copied = no_row;
        copy_wait = none;
      } else if (a_.names.waits[t_.calls.name[call]] != 0) {
        add(call, WaitFor::memory, no_row, call);
      }
    }
    before_launch(work, t_.capture_end);
  }

  // Who waits for work and then touches pages that kernels wrote has waited for a result.
  void before_launch(const std::vector<std::size_t>& waits, Ns launch) {
    for (const std::size_t i : waits) {
      Wait& wait = found_[i];
      const Pages& pages = pages_[t_.threads[t_.calls.thread[wait.call]].process];
      const auto [moved, bytes] = pages.within({t_.calls.start[wait.call], launch});
      if (moved && wait.what == WaitFor::work)
        wait.what = bytes < large_copy_bytes ? WaitFor::managed : WaitFor::migration;
    }
  }

  // Pages of managed memory that went to the host, in order; not those that had to make room. What
  // the program prefetches is a copy, however large.
  struct Pages {
    std::vector<Ns> start;
    std::vector<std::int64_t> sum{0};  // of bytes that nobody asked for, up to each of them

    // Whether any went, and how many bytes.
    std::pair<bool, std::int64_t> within(Span span) const {
      const auto at = [&](Ns ns) {
        return static_cast<std::size_t>(std::lower_bound(start.begin(), start.end(), ns) -
                                        start.begin());
      };
      const std::size_t from = at(span.start), to = at(span.end);
      return {from < to, from < to ? sum[to] - sum[from] : 0};
    }
  };
  void find_pages() {
    pages_.resize(t_.processes.size());
    for (Row op = 0; op < t_.ops.size(); ++op) {
      if (t_.ops.copy[op] != CopyKind::um_d2h || t_.ops.cause[op] == MigrationCause::eviction)
        continue;
      Pages& pages = pages_[t_.streams[t_.ops.stream[op]].process];
      pages.start.push_back(t_.ops.start[op]);
      const bool asked = t_.ops.cause[op] == MigrationCause::prefetch;
      pages.sum.push_back(pages.sum.back() + (asked ? 0 : t_.ops.bytes[op]));
    }
  }

  // A pool that keeps nothing gives its memory back to the system whenever the host waits.
  void find_trims() {
    std::vector<std::int8_t> pools(t_.names.size(), -1);  // by name; -1: not asked yet
    const bool pooled = std::any_of(t_.calls.name.begin(), t_.calls.name.end(), [&](NameId name) {
      if (pools[name] < 0) pools[name] = t_.names[name].find("FreeAsync") != std::string::npos;
      return pools[name] == 1;
    });
    if (!pooled) return;
    trims_.resize(t_.threads.size());
    for (Row c = 0; c < t_.os_calls.size(); ++c)
      if (t_.names[t_.os_calls.name[c]] == "ioctl")
        trims_[t_.os_calls.thread[c]].push_back({t_.os_calls.start[c], t_.os_calls.end[c]});
    for (Spans& of_thread : trims_) of_thread = united(std::move(of_thread));
  }
  bool trims(Row call) const {
    return !trims_.empty() &&
           overlap(trims_[t_.calls.thread[call]], {t_.calls.start[call], t_.calls.end[call]}) > 0;
  }

  // Adds a call that waits, and returns where. After a wait without a kernel since, a small one is
  // part of that: a decision makes it one, whatever was waited for first.
  std::size_t add(Row call, WaitFor what, Row copy, Row first) {
    const Span span{t_.calls.start[call], t_.calls.end[call]};
    if (span.length() > 0 && overlap(saving_, span) == span.length()) what = WaitFor::checkpoint;
    const bool small = copy == no_row || t_.ops.bytes[copy] < large_copy_bytes;
    const std::size_t at = found_.size();
    found_.push_back({call, what, copy, first, span.start});
    if (!is_plain(what) || !small) return at;
    if (joined_ == none) {
      joined_ = at;
      return at;
    }
    found_[at].first = found_[joined_].first;
    if (what != WaitFor::decision) {
      found_[at].what = found_[joined_].what;
      return at;
    }
    for (std::size_t i = joined_; i < at; ++i)
      if (found_[i].first == found_[at].first) found_[i].what = what;
    return at;
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
  const RowBits calls_, offloaded_, deciding_;
  std::vector<Row> launched_;  // by call: the last operation that it launched
  Spans saving_;               // when something is saved
  std::vector<Spans> trims_;   // by thread; empty without pools
  std::vector<Pages> pages_;   // by process
  std::size_t joined_ = none;  // the first of the waits that are one, with no kernel since
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

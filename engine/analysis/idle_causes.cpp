#include "analysis/idle_causes.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>
#include <span>
#include <string>

#include "analysis/loader_threads.hpp"
#include "trace/clocks.hpp"

namespace gh {
namespace {

// Smaller copies from the device are losses and metrics; larger ones are tensors that the host goes
// on to work with.
constexpr std::int64_t offload_bytes = 1 << 20;

// Host time between two calls above which a thread does not launch back to back, however slow it
// usually is. An eager framework takes 5 to 50 us from one launch to the next, rarely 300.
constexpr Ns back_to_back_ns = 1'000'000;

// What is sent to the device after a pause of the host: nothing, data, or data of a size that was
// copied from the device before.
enum class Uploads { nothing, data, offloaded };

// While a process uses one of its devices the others are idle, and what its host does cuts the idle
// time of each of them. Machines have at most 16 devices; a process with more of them could fill
// any memory with the pieces, so a pause of its devices is cut a few times only.
constexpr std::size_t most_devices_cut_often = 16;
constexpr std::int64_t few_cuts = 16;

// Evidence that the host fetched input where no range says so: none, an upload afterwards, or what
// the host did.
enum class Evidence { none, upload, host };

// Whether there are batches to fetch: a kernel computes a loss or an optimizer's update, or a
// loader has a thread.
bool takes_batches(const Trace& trace, const NameClasses& names) {
  // Names that no kernel has are in the first class, collectives.
  return std::any_of(names.kernel.begin(), names.kernel.end(),
                     [](KernelClass c) {
                       return c == KernelClass::optimizer || c == KernelClass::softmax_loss;
                     }) ||
         std::any_of(trace.threads.begin(), trace.threads.end(),
                     [](const Thread& t) { return is_loader_thread(t.name); });
}

// std::partition_point, searching outwards from a place where the result is likely to be, which it
// then updates: queries in order of time need no search through millions.
template <class Item, class Before>
std::size_t partition_near(std::span<const Item> items, std::size_t& near, Before before) {
  std::size_t low = 0, high = items.size();
  near = std::min(near, high);
  for (std::size_t width = 1;; width *= 4) {  // outwards, until it lies between low and high
    const std::size_t left = near - std::min(near, width),
                      right = std::min(items.size(), near + width);
    const bool from = left == 0 || before(items[left - 1]),
               to = right == items.size() || !before(items[right]);
    if (from) low = left;
    if (to) high = right;
    if (from && to) break;
  }
  const auto at = [&](std::size_t i) { return items.begin() + static_cast<std::ptrdiff_t>(i); };
  return near = static_cast<std::size_t>(std::partition_point(at(low), at(high), before) -
                                         items.begin());
}

Uploads sent_after(const Trace& trace, const Idle& pause, const OffloadedSizes& offloaded) {
  const bool upload = trace.ops.copy[pause.next] == CopyKind::h2d;
  if ((pause.previous != no_row && is_offload(trace, pause.previous)) ||
      (upload && offloaded.contains(trace.ops.bytes[pause.next])))
    return Uploads::offloaded;
  return upload ? Uploads::data : Uploads::nothing;
}

// By process: on how many devices its streams are.
std::vector<std::size_t> devices_of_processes(const Trace& trace) {
  std::vector<std::set<std::uint16_t>> devices(trace.processes.size());
  for (const Stream& s : trace.streams) devices[s.process].insert(s.device);
  std::vector<std::size_t> count;
  for (const std::set<std::uint16_t>& of_process : devices) count.push_back(of_process.size());
  return count;
}

}  // namespace

// A pause of the GPU that the host caused, processed in order of time.
class HostPause {
 public:
  HostPause(const IdleCauses& causes, const Idle& pause, std::span<const Span> idle, Row launch,
            Uploads next, const std::vector<Step>& steps, IdleCauses::Near& near,
            std::vector<Idle>& out)
      : trace_(causes.trace_),
        names_(causes.names_),
        crews_(causes.crews_),
        failed_(causes.failed_),
        habits_(causes.habits_),
        devices_(causes.devices_),
        takes_batches_(causes.takes_batches_),
        process_(causes.trace_.threads[pause.thread].process),
        thread_(causes.threads_[pause.thread]),
        pause_(pause),
        idle_(idle),
        launched_(std::clamp(trace_.calls.end[launch], pause.span.start, pause.span.end)),
        next_(next),
        steps_(steps),
        out_(out) {
    const Ns start = pause.span.start;
    range_ = thread_.loader.begin() + static_cast<std::ptrdiff_t>(partition_near(
                                          std::span(thread_.loader), near.range,
                                          [&](const Span& s) { return s.end <= start; }));
    call_ = thread_.calls.begin() +
            static_cast<std::ptrdiff_t>(partition_near(
                thread_.calls, near.call, [&](Row c) { return trace_.calls.end[c] < start; }));
    if (devices_[process_] > most_devices_cut_often) cuts_left_ = few_cuts;
    synced_ = first_sync();
  }

  void split() {
    Ns at = pause_.span.start;
    while (at < launched_ && cuts_left_-- > 0) {
      while (range_ != thread_.loader.end() && range_->end <= at) ++range_;
      while (call_ != thread_.calls.end() && trace_.calls.end[*call_] <= at) ++call_;
      const Ns to_range =
          range_ == thread_.loader.end() ? launched_ : std::min(range_->start, launched_);
      const Ns to_call =
          call_ == thread_.calls.end() ? to_range : std::min(trace_.calls.start[*call_], to_range);
      if (to_range <= at)
        at = in_loader_range(at);
      else if (to_call <= at)
        at = in_call(at, to_range);
      else
        at = between_calls(at, to_call);
    }
    if (at < launched_) add(at, launched_, IdleCause::unknown);
    on_its_way();
  }

 private:
  // The causes. Each claims part of the pause from `at` on and returns where that ends.

  Ns in_loader_range(Ns at) { return add(at, std::min(range_->end, launched_), IdleCause::input); }

  Ns in_call(Ns at, Ns until) {
    const IdleCause cause = cause_of(*call_);
    return add(at, std::min(trace_.calls.end[*call_], until), cause, *call_);
  }

  IdleCause cause_of(Row call) const {
    if (std::binary_search(failed_.begin(), failed_.end(), call)) return IdleCause::failed;
    const Ns length = trace_.calls.end[call] - trace_.calls.start[call];
    const bool usual = length < something_else * habits_.call_ns(pause_.thread);
    switch (call_class(call)) {
      case CallClass::sync:
        if (!waits_for_nothing(call_)) return IdleCause::sync;
        if (gives_back_memory()) return IdleCause::allocation;
        return usual ? IdleCause::launch : IdleCause::unknown;
      case CallClass::copy_sync: return IdleCause::sync;
      case CallClass::allocation: return IdleCause::allocation;
      case CallClass::compilation: return IdleCause::compilation;
      case CallClass::loading: return IdleCause::loading;
      case CallClass::function: return usual ? IdleCause::launch : IdleCause::loading;
      case CallClass::launch:
        return habits_.loads_code(call) ? IdleCause::loading : IdleCause::launch;
      case CallClass::other: return usual ? IdleCause::launch : IdleCause::unknown;
      default: return IdleCause::launch;
    }
  }

  // The process's only device had gone idle before the call and resumed after it, so the call's
  // time is its own work. The exception is a call that waits for the operation right before it and
  // just came late.
  bool waits_for_nothing(std::span<const Row>::iterator call) const {
    const bool for_last = pause_.previous != no_row && call != thread_.calls.begin() &&
                          trace_.ops.call[pause_.previous] == *std::prev(call);
    return !for_last && devices_[process_] < 2 && trace_.calls.start[*call] >= pause_.span.start &&
           trace_.calls.end[*call] <= pause_.span.end;
  }

  // Memory freed in stream order goes from its pool back to the system at the next synchronization.
  bool gives_back_memory() const {
    return call_ != thread_.calls.begin() && call_class(*std::prev(call_)) == CallClass::allocation;
  }

  // Other threads of the process may have launched meanwhile, as backward does: only time in which
  // none did is a pause of the host. Occasional launches of another crew do not count as launching.
  Ns between_calls(Ns at, Ns until) {
    const Ns own_ns = usual_pause_ns(pause_.thread);
    Ns usual_ns = own_ns;  // of the slower one, where one thread hands over to another
    if (until - at > back_to_back_ns) {
      const auto& calls = trace_.calls;
      Ns beside_until = at - own_ns - 1;
      for (auto i = static_cast<Row>(std::lower_bound(calls.start.begin(), calls.start.end(), at) -
                                     calls.start.begin());
           i < calls.size() && calls.start[i] < until && cuts_left_-- > 0; ++i) {
        if (calls.thread[i] == pause_.thread ||
            trace_.threads[calls.thread[i]].process != process_ || !launches(call_class(i)))
          continue;
        if (!is_beside(i)) {
          usual_ns = std::max(own_ns, usual_pause_ns(calls.thread[i]));
        } else {
          const bool goes_on = calls.start[i] - beside_until <= own_ns;
          beside_until = std::max(beside_until, calls.end[i]);
          if (!goes_on) continue;
        }
        at = without_calls(at, calls.start[i], usual_ns);
        at = add(at, std::min(calls.end[i], until), IdleCause::launch);
      }
    }
    return without_calls(at, until, usual_ns);
  }

  // Whether the call is from another crew, or from a thread in no crew that only copies.
  bool is_beside(Row call) const {
    const std::uint16_t crew = crews_.of(trace_.calls.thread[call]);
    if (crew != no_index) return crew != crews_.of(pause_.thread);
    const CallClass kind = call_class(call);
    return kind == CallClass::copy || kind == CallClass::copy_sync;
  }

  // `usual_ns`: what the thread that resumes usually takes from one launch to the next.
  Ns without_calls(Ns at, Ns until, Ns usual_ns) {
    if (until <= at) return at;
    at = refilling(at, until);
    if (until - at <= usual_ns) return add(at, until, IdleCause::launch);
    if (makes_code(until)) return add(at, until, IdleCause::compilation, *call_);
    at = compiling(at, until);
    if (until - at <= back_to_back_ns) return add(at, until, IdleCause::unknown);
    return fetching_input(at, until);
  }

  // Up to the end of the last range of a compiler.
  Ns compiling(Ns at, Ns until) {
    const Spans& compiler = thread_.compiler;
    auto span = std::partition_point(compiler.begin(), compiler.end(),
                                     [&](const Span& s) { return s.end <= at; });
    for (; span != compiler.end() && span->start < until && cuts_left_-- > 0; ++span) {
      at = add(at, std::max(at, span->start), IdleCause::unknown);
      at = add(at, std::min(span->end, until), IdleCause::compilation);
    }
    return at;
  }

  // The usual time between two launches of a thread, with an upper limit.
  Ns usual_pause_ns(std::uint16_t thread) const {
    return std::min(back_to_back_ns, something_else * habits_.pause_ns(thread));
  }

  // The GPU had gone idle during a wait: the time that the host needs to prepare the next launch is
  // part of the wait's cost, up to the length of the wait.
  Ns refilling(Ns at, Ns until) {
    if (synced_ == no_row || at < trace_.calls.end[synced_]) return at;
    const Ns waited = waited_ns(trace_, synced_, pause_.previous);
    // Where clocks differ, the wait may seem to end before the GPU had gone idle.
    const Ns ended = std::max(trace_.calls.end[synced_], pause_.span.start);
    const Ns refill = ended + std::min(waited, habits_.pause_ns(pause_.thread));
    return add(at, std::min(until, std::max(at, refill)), IdleCause::sync, synced_);
  }

  // Whether the call that begins at `at` loads code that the program made: then what the host did
  // before was to make it.
  bool makes_code(Ns at) const {
    return call_ != thread_.calls.end() && trace_.calls.start[*call_] == at &&
           habits_.loads_made_code(*call_);
  }

  Ns fetching_input(Ns at, Ns until) {
    const Evidence evidence = input_evidence({at, until});
    if (evidence == Evidence::none) return add(at, until, IdleCause::unknown);
    std::size_t piece = out_.size();
    add(at, until, IdleCause::input);
    for (; piece < out_.size(); ++piece) {
      out_[piece].inferred = true;
      out_[piece].by_upload = evidence == Evidence::upload;
    }
    return until;
  }

  void on_its_way() { add(launched_, pause_.span.end, IdleCause::launch_latency); }

  Ns add(Ns from, Ns to, IdleCause cause, Row call = no_row) {
    if (from >= to) return from;
    while (!idle_.empty() && idle_.front().end <= from) idle_ = idle_.subspan(1);
    for (const Span& idle : idle_) {
      if (idle.start >= to) break;
      Idle& piece = out_.emplace_back(pause_);
      piece.span = {std::max(from, idle.start), std::min(to, idle.end)};
      piece.cause = cause;
      piece.call = call;
    }
    return to;
  }

  // The thread's first wait for the GPU that ended inside the pause, or before it by no more than
  // the clocks of GPU and host may differ.
  Row first_sync() const {
    if (call_ != thread_.calls.begin() && pause_.previous != no_row) {
      const Row before = *std::prev(call_);
      if (is_wait(before) && trace_.calls.end[before] >= pause_.span.start - clocks_apart_ns &&
          trace_.calls.start[before] < trace_.ops.end[pause_.previous])
        return before;
    }
    std::int64_t looks = cuts_left_;
    for (auto c = call_;
         c != thread_.calls.end() && trace_.calls.end[*c] < pause_.span.end && looks > 0;
         ++c, --looks)
      if (is_wait(*c) && !(call_class(*c) == CallClass::sync && waits_for_nothing(c))) return *c;
    return no_row;
  }

  bool is_wait(Row call) const {
    const CallClass kind = call_class(call);
    return kind == CallClass::sync || kind == CallClass::copy_sync;
  }

  // Without loader ranges: a long pause between the last launch of a step and the first of the next
  // is input if data is uploaded after it, or if the thread read files or waited for other threads
  // or processes in it. It is something else if the thread wrote more than it read (a log, a
  // checkpoint) or worked on what it had copied from the device.
  Evidence input_evidence(Span pause) const {
    // Without batches, a server pauses in the same way when it waits for requests, or for one token
    // before the next.
    if (!takes_batches_ || next_ == Uploads::offloaded || named_otherwise(pause) ||
        loader_is_marked())
      return Evidence::none;
    // The host may have run ahead: its pause began with its last call, when the GPU still worked.
    if (const Row last = last_call_before(pause.start); last != no_row)
      pause.start = trace_.calls.end[last];
    if (!between_steps(pause)) return Evidence::none;
    return os_call_evidence(pause);
  }

  // The last call that ended by then, of the thread or of one that it takes turns with: autograd's
  // thread calls nothing during the forward pass.
  Row last_call_before(Ns at) const {
    const auto& calls = trace_.calls;
    const auto later = std::partition_point(thread_.calls.begin(), thread_.calls.end(),
                                            [&](Row c) { return calls.end[c] <= at; });
    const Row own = later == thread_.calls.begin() ? no_row : *std::prev(later);
    const std::uint16_t crew = crews_.of(pause_.thread);
    if (crew == no_index) return own;
    auto i = static_cast<Row>(std::lower_bound(calls.start.begin(), calls.start.end(), at) -
                              calls.start.begin());
    for (const Row first = own == no_row ? 0 : own + 1; i > first; --i)
      if (calls.end[i - 1] <= at && crews_.of(calls.thread[i - 1]) == crew) return i - 1;
    return own;
  }

  // Whether most of the pause is covered by a range of the thread that ends before it launches
  // again. Such a range says what the host did, and that is not loading. The step's own range
  // continues.
  bool named_otherwise(Span pause) const {
    const Ranges& r = trace_.ranges;
    const auto first = static_cast<Row>(
        std::lower_bound(r.start.begin(), r.start.end(), pause.start - pause.length()) -
        r.start.begin());
    for (Row i = first; i < r.size() && r.start[i] < pause.end; ++i)
      if (r.thread[i] == pause_.thread && !names_.is_phase(Phase::loader, r.name[i]) &&
          r.end[i] <= pause.end + back_to_back_ns &&
          2 * (std::min(r.end[i], pause.end) - std::max(r.start[i], pause.start)) >= pause.length())
        return true;
    return false;
  }

  // Where ranges mark the loader in most steps, they show when input is fetched.
  bool loader_is_marked() const {
    const Spans& marked = thread_.loader;
    const auto before = [](const Span& s, Ns at) { return s.start < at; };
    const auto inside =
        std::lower_bound(marked.begin(), marked.end(), steps_.back().span.end, before) -
        std::lower_bound(marked.begin(), marked.end(), steps_.front().host_start, before);
    return 2 * static_cast<std::size_t>(inside) >= steps_.size();
  }

  bool between_steps(Span pause) const {
    const auto step = std::partition_point(steps_.begin(), steps_.end(), [&](const Step& s) {
      return s.host_start < pause.start - back_to_back_ns;
    });
    return step != steps_.end() && step->host_start <= pause.end + back_to_back_ns;
  }

  Evidence os_call_evidence(Span pause) const {
    const OsCalls& os = trace_.os_calls;
    Ns waited = 0;
    int reads = 0, writes = 0;
    auto w = std::partition_point(thread_.os_calls.begin(), thread_.os_calls.end(),
                                  [&](Row c) { return os.start[c] < pause.start; });
    for (; w != thread_.os_calls.end() && os.start[*w] < pause.end; ++w) {
      const NameId name = os.name[*w];
      if (names_.does(OsCallDoes::wait, name)) waited += os.end[*w] - os.start[*w];
      reads += names_.does(OsCallDoes::read, name);
      writes += names_.does(OsCallDoes::write, name);
    }
    if (writes > reads) return Evidence::none;
    if (reads > 0 || 2 * waited >= pause.length()) return Evidence::host;
    return next_ == Uploads::data ? Evidence::upload : Evidence::none;
  }

  CallClass call_class(Row call) const { return names_.call[trace_.calls.name[call]]; }

  const Trace& trace_;
  const NameClasses& names_;
  const Crews& crews_;
  const std::vector<Row>& failed_;
  const LaunchHabits& habits_;
  const std::vector<std::size_t>& devices_;
  const bool takes_batches_;
  const std::uint16_t process_;
  const HostThread& thread_;  // that launched the operation which ended the pause
  Idle pause_;
  std::span<const Span> idle_;  // the remaining parts of the pause in which the GPU did nothing
  const Ns launched_;   // when the call that launched it ended, if that was within the pause
  const Uploads next_;  // what it sends to the device
  const std::vector<Step>& steps_;
  std::vector<Idle>& out_;
  Spans::const_iterator range_;          // the first loader range that has not ended
  std::span<const Row>::iterator call_;  // the first call that has not ended
  Row synced_ = no_row;                  // the first wait for the GPU
  std::int64_t cuts_left_ = std::numeric_limits<std::int64_t>::max();
};

bool is_offload(const Trace& trace, Row op) {
  return trace.ops.copy[op] == CopyKind::d2h && trace.ops.bytes[op] >= offload_bytes;
}

Ns waited_ns(const Trace& trace, Row call, Row previous) {
  const Calls& calls = trace.calls;
  Ns from = calls.start[call];
  if (previous != no_row && trace.ops.copy[previous] == CopyKind::d2h)
    if (const Row copy = trace.ops.call[previous];
        copy != no_row && calls.thread[copy] == calls.thread[call])
      from = std::min(from, calls.start[copy]);
  return calls.end[call] - from;
}

IdleCauses::IdleCauses(const Trace& trace, const NameClasses& names, const Crews& crews,
                       const std::vector<Row>& failed)
    : trace_(trace),
      names_(names),
      crews_(crews),
      failed_(failed),
      threads_(trace, names),
      habits_(trace, names, crews, threads_),
      devices_(devices_of_processes(trace)),
      takes_batches_(takes_batches(trace, names)) {}

// For a pause that ends with pages moving to the host: when the host began to touch them; otherwise
// the pause's end. Reports give no length for a fault itself.
Ns IdleCauses::touches_pages_from(const Idle& pause) const {
  const auto brings_pages = [&](Row op) {
    return op != no_row && trace_.ops.copy[op] == CopyKind::um_d2h;
  };
  const std::vector<Ns>& faults = trace_.cpu_faults.start;
  Ns from = pause.span.end;
  if (!brings_pages(pause.next)) return from;
  auto fault = std::lower_bound(faults.begin(), faults.end(), pause.span.end);
  while (fault != faults.begin() && *std::prev(fault) >= pause.span.start &&
         (from == pause.span.end || from - *std::prev(fault) <= back_to_back_ns))
    from = *--fault;
  const bool goes_on = from < pause.span.end && brings_pages(pause.previous) &&
                       from - pause.span.start <= back_to_back_ns;
  return goes_on ? pause.span.start : from;
}

void IdleCauses::explain(Idle pause, std::span<const Span> idle, const std::vector<Step>& steps,
                         const OffloadedSizes& offloaded, Places& places,
                         std::vector<Idle>& out) const {
  const Row launch = pause.next == no_row ? no_row : trace_.ops.call[pause.next];
  const Span all = pause.span;
  // Takes the parts of the pause that lie within a span, with the cause that was set.
  const auto within = [&](Span span) {
    for (const Span& part : idle) {
      pause.span = {std::max(part.start, span.start), std::min(part.end, span.end)};
      if (pause.span.length() > 0) out.push_back(pause);
    }
  };
  if (launch == no_row) {
    // Nodes of a graph are not launched one by one once the graph runs: they wait for each other.
    if (pause.next != no_row && trace_.ops.in_graph[pause.next])
      pause.cause = IdleCause::dependency;
    const Ns touched = touches_pages_from(pause);
    within({all.start, touched});
    pause.cause = IdleCause::faults;
    return within({touched, all.end});
  }
  pause.thread = trace_.calls.thread[launch];
  if (trace_.calls.end[launch] <= pause.span.start) {
    pause.cause = IdleCause::dependency;
    return within(all);
  }
  HostPause(*this, pause, idle, launch, sent_after(trace_, pause, offloaded), steps,
            places[pause.thread], out)
      .split();
}

}  // namespace gh

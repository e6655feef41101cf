#include "account.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_set>

namespace gh {
namespace {

constexpr std::array idle_names{"input", "sync", "launch", "allocation", "compilation", "dependency", "unknown"};

// Smaller copies from the device are losses and metrics, larger ones tensors on which the host goes on working.
constexpr std::int64_t offload_bytes = 1 << 20;

// Host time between two calls up to which the thread counts as launching back to back. An eager framework takes 5 to 50 us from
// one launch to the next, seldom 300; a pause of a millisecond is something else.
constexpr Ns back_to_back_ns = 1'000'000;

// Adds stretches of time to the steps that they lie in. Stretches come in order, and so do steps.
class StepSums {
 public:
  StepSums(const std::vector<Step>& steps, std::vector<std::vector<Ns>>& sums) : steps_(steps), sums_(sums) {}
  void add(Span s, std::size_t cause) {
    while (at_ < steps_.size() && steps_[at_].span.end <= s.start) ++at_;
    for (std::size_t k = at_; k < steps_.size() && steps_[k].span.start < s.end; ++k)
      sums_[k][cause] += std::min(s.end, steps_[k].span.end) - std::max(s.start, steps_[k].span.start);
  }

 private:
  const std::vector<Step>& steps_;
  std::vector<std::vector<Ns>>& sums_;
  std::size_t at_ = 0;
};

// Which of several causes at work at one time claims it: the one with the lowest rank whose latest end has not passed.
class Sweep {
 public:
  // `claim(span, rank)` is called with every stretch of time in order, rank `idle` where nothing was at work.
  static constexpr std::size_t idle = std::numeric_limits<std::size_t>::max();

  explicit Sweep(Ns start) : now_(start) {}

  template <class Claim>
  void begin(Span s, std::size_t rank, Claim claim) {
    advance(s.start, claim);
    if (s.end <= now_) return;
    const auto it = std::find_if(active_.begin(), active_.end(), [&](const Active& a) { return a.rank >= rank; });
    if (it != active_.end() && it->rank == rank) it->end = std::max(it->end, s.end);
    else active_.insert(it, {rank, s.end});
  }

  template <class Claim>
  void advance(Ns to, Claim claim) {
    while (now_ < to) {
      while (!active_.empty() && active_.front().end <= now_) active_.erase(active_.begin());
      const Ns until = active_.empty() ? to : std::min(to, active_.front().end);
      claim(Span{now_, until}, active_.empty() ? idle : active_.front().rank);
      now_ = until;
    }
  }

 private:
  struct Active { std::size_t rank; Ns end; };
  std::vector<Active> active_;  // by rank; seldom more than two
  Ns now_;
};

// What is sent to the device after a pause of the host: nothing, data, or (of a size) what had come down from it before.
enum class Uploads { nothing, data, what_came_down };

// Whether there is a loss or an optimizer among the kernels.
bool trains(const Trace& trace, const Classes& classes, const NameClasses& names) {
  const std::vector<std::string>& known = classes.kernel_classes();
  for (Row op = 0; op < trace.ops.size(); ++op)
    if (trace.ops.kind[op] == OpKind::kernel)
      if (const std::string& c = known[names.kernel[trace.ops.name[op]]]; c == "optimizer" || c == "softmax_loss") return true;
  return false;
}

// std::partition_point, looked for around a place where it is likely to be, which is then moved there: what is asked in order of time needs no search
// through millions.
template <class Item, class Before>
typename std::vector<Item>::const_iterator partition_near(const std::vector<Item>& items, std::size_t& near, Before before) {
  std::size_t low = 0, high = items.size();
  near = std::min(near, high);
  for (std::size_t width = 1;; width *= 4) {  // outwards, until it lies between low and high
    const std::size_t left = near - std::min(near, width), right = std::min(items.size(), near + width);
    const bool from = left == 0 || before(items[left - 1]), to = right == items.size() || !before(items[right]);
    if (from) low = left;
    if (to) high = right;
    if (from && to) break;
  }
  const auto at = [&](std::size_t i) { return items.begin() + static_cast<std::ptrdiff_t>(i); };
  const auto found = std::partition_point(at(low), at(high), before);
  near = static_cast<std::size_t>(found - items.begin());
  return found;
}

// What the host threads of a process did, ready to be asked about any stretch of time.
class Host {
 public:
  Host(const Trace& trace, const Classes& classes, const NameClasses& names) : trace_(trace), names_(names), threads_(trace.threads.size()), trains_(trains(trace, classes, names)) {
    std::vector<std::vector<Span>> loader(threads_.size());
    for (Row r = 0; r < trace.ranges.size(); ++r)
      if (names.is_phase(Phase::loader, trace.ranges.name[r])) {
        loader[trace.ranges.thread[r]].push_back({trace.ranges.start[r], trace.ranges.end[r]});
      }
    for (std::size_t t = 0; t < threads_.size(); ++t) threads_[t].loader = united(std::move(loader[t]));
    std::vector<std::size_t> calls(threads_.size());
    for (const std::uint16_t thread : trace.calls.thread) ++calls[thread];
    for (std::size_t t = 0; t < threads_.size(); ++t) threads_[t].calls.reserve(calls[t]);  // growing would hold them twice
    for (Row c = 0; c < trace.calls.size(); ++c) {
      Thread& t = threads_[trace.calls.thread[c]];
      if (trace.calls.end[c] <= t.calls_end) continue;  // nested in the call before
      t.calls.push_back(c);
      t.calls_end = trace.calls.end[c];
      if (call_class(c) == CallClass::sync || call_class(c) == CallClass::copy_sync) t.syncs.push_back(c);
    }
    for (Row w = 0; w < trace.os_calls.size(); ++w) threads_[trace.os_calls.thread[w]].os_calls.push_back(w);
  }

  CallClass call_class(Row call) const { return names_.call[trace_.calls.name[call]]; }

  // Splits a pause of the GPU, which ended with an operation that `launch` launched, by what the launching thread did.
  void explain(const Span gap, const Row launch, const std::vector<Step>& steps, const Uploads next, std::vector<Idle>& out, const Idle& like) {
    const std::uint16_t thread = trace_.calls.thread[launch];
    Thread& t = threads_[thread];
    const Ns launched = std::clamp(trace_.calls.end[launch], gap.start, gap.end);
    const Row synced = sync_in(t, gap);
    const bool drained = like.drained || synced != no_row;
    const auto add = [&](Span s, IdleCause cause, bool inferred = false, Row in_call = no_row) {
      if (s.start >= s.end) return;
      Idle piece = like;
      piece.span = s, piece.cause = cause, piece.inferred = inferred, piece.drained = drained;
      if (cause == IdleCause::sync || cause == IdleCause::allocation || cause == IdleCause::compilation) piece.call = in_call;
      out.push_back(piece);
    };
    const Span host{gap.start, launched};
    Ns at = host.start;
    // In time order: loader ranges first, then calls, then what lies between calls.
    auto range = partition_near(t.loader, t.near_range, [&](const Span& s) { return s.end <= host.start; });
    auto call = partition_near(t.calls, t.near_call, [&](Row c) { return trace_.calls.end[c] <= host.start; });
    while (at < host.end) {
      while (range != t.loader.end() && range->end <= at) ++range;
      while (call != t.calls.end() && trace_.calls.end[*call] <= at) ++call;
      const Ns to_range = range == t.loader.end() ? host.end : std::min(range->start, host.end);
      if (to_range <= at) {
        const Ns to = std::min(range->end, host.end);
        add({at, to}, IdleCause::input);
        at = to;
        continue;
      }
      const Ns to_call = call == t.calls.end() ? to_range : std::min(trace_.calls.start[*call], to_range);
      if (to_call <= at) {
        const Ns to = std::min(trace_.calls.end[*call], to_range);
        add({at, to}, cause_of(*call), false, *call);
        at = to;
        continue;
      }
      between_calls({at, to_call}, thread, synced, steps, next, add, out);
      at = to_call;
    }
    add({launched, gap.end}, IdleCause::launch);  // launched, and on its way to the GPU
  }

 private:
  struct Thread {
    Spans loader;
    std::vector<Row> calls;     // not nested in another, in order
    Ns calls_end = std::numeric_limits<Ns>::min();
    std::vector<Row> syncs;
    std::vector<Row> os_calls;
    std::size_t near_range = 0, near_call = 0, near_sync = 0;  // where the last pause was: the next is not far
  };

  IdleCause cause_of(Row call) const {
    switch (call_class(call)) {
      case CallClass::sync: case CallClass::copy_sync: return IdleCause::sync;
      case CallClass::allocation: return IdleCause::allocation;
      case CallClass::compilation: return IdleCause::compilation;
      default: return IdleCause::launch;
    }
  }

  // The thread's first wait for the GPU that ended inside the pause.
  Row sync_in(Thread& t, Span gap) const {
    const auto it = partition_near(t.syncs, t.near_sync, [&](Row c) { return trace_.calls.end[c] < gap.start; });
    return it != t.syncs.end() && trace_.calls.end[*it] < gap.end ? *it : no_row;
  }

  // Host time outside CUDA calls while the GPU idles.
  template <class Add>
  void between_calls(Span piece, std::uint16_t thread, Row synced, const std::vector<Step>& steps, Uploads next, Add& add, std::vector<Idle>& out) const {
    // Other threads of the process may have launched meanwhile, as backward does: only time in which none did is a pause.
    const std::uint16_t process = trace_.threads[thread].process;
    Ns at = piece.start;
    const auto pause = [&](Ns until) {
      if (until <= at) return;
      if (synced != no_row && at >= trace_.calls.end[synced]) {  // a wait had let the GPU run dry: what the host needs to refill it is the wait's cost
        const Ns cost = std::min(until, std::max(at, trace_.calls.end[synced] + back_to_back_ns));
        add({at, cost}, IdleCause::sync, false, synced);
        at = cost;
      }
      if (until - at <= back_to_back_ns) add({at, until}, IdleCause::launch);
      else if (const Evidence e = input_evidence({at, until}, thread, steps, next); e != Evidence::none) {
        add({at, until}, IdleCause::input, true);
        if (at < until) out.back().by_upload = e == Evidence::upload;
      }
      else add({at, until}, IdleCause::unknown);
      at = until;
    };
    if (piece.length() > back_to_back_ns) {
      const auto& calls = trace_.calls;
      for (auto i = static_cast<Row>(std::lower_bound(calls.start.begin(), calls.start.end(), piece.start) - calls.start.begin()); i < calls.size() && calls.start[i] < piece.end; ++i) {
        if (calls.thread[i] == thread || trace_.threads[calls.thread[i]].process != process || !launches(call_class(i))) continue;
        pause(calls.start[i]);
        const Ns to = std::min(calls.end[i], piece.end);
        if (to > at) add({at, to}, IdleCause::launch), at = to;
      }
    }
    pause(piece.end);
  }

  // Without loader ranges: a long pause between the last launch of a step and the first of the next, after which data goes up, or in
  // which the thread read files or waited for other threads or processes. One in which it wrote more than it read (a log, a
  // checkpoint), or worked on what it had fetched from the device, is something else.
  enum class Evidence { none, upload, host };
  Evidence input_evidence(Span pause, std::uint16_t thread, const std::vector<Step>& steps, Uploads next) const {
    // Without training there are no batches: a server that waits for requests, or for one token before the next, pauses likewise.
    if (!trains_ || next == Uploads::what_came_down || named_otherwise(pause, thread)) return Evidence::none;
    // Where ranges mark the loader in most steps, they tell when input is fetched.
    const Spans& marked = threads_[thread].loader;
    const auto begin = [](const Span& s, Ns at) { return s.start < at; };
    const auto inside = std::lower_bound(marked.begin(), marked.end(), steps.back().span.end, begin) - std::lower_bound(marked.begin(), marked.end(), steps.front().host_start, begin);
    if (2 * static_cast<std::size_t>(inside) >= steps.size()) return Evidence::none;
    // The host may have run ahead: its pause began with its last call, when the GPU still worked.
    const Thread& t = threads_[thread];
    const auto last = std::partition_point(t.calls.begin(), t.calls.end(), [&](Row c) { return trace_.calls.end[c] <= pause.start; });
    if (last != t.calls.begin()) pause.start = trace_.calls.end[*std::prev(last)];
    const auto step = std::partition_point(steps.begin(), steps.end(), [&](const Step& s) { return s.host_start < pause.start - back_to_back_ns; });
    const bool between_steps = step != steps.end() && step->host_start <= pause.end + back_to_back_ns;
    if (!between_steps) return Evidence::none;
    Ns waited = 0;
    int reads = 0, writes = 0;
    auto w = std::partition_point(t.os_calls.begin(), t.os_calls.end(), [&](Row c) { return trace_.os_calls.start[c] < pause.start; });
    const auto any_of = [](const std::string& name, std::initializer_list<const char*> starts) { return std::any_of(starts.begin(), starts.end(), [&](const char* s) { return name.starts_with(s); }); };
    for (; w != t.os_calls.end() && trace_.os_calls.start[*w] < pause.end; ++w) {
      const std::string& name = trace_.names[trace_.os_calls.name[*w]];
      if (any_of(name, {"poll", "sem_", "pthread_cond_timedwait", "pthread_cond_wait", "recv", "futex", "select", "epoll_wait"})) waited += trace_.os_calls.end[*w] - trace_.os_calls.start[*w];
      reads += any_of(name, {"read", "pread", "open", "fread", "file access"});
      writes += any_of(name, {"write", "pwrite", "fwrite", "fsync", "send"});
    }
    if (writes > reads) return Evidence::none;
    if (reads > 0 || 2 * waited >= pause.length()) return Evidence::host;
    return next == Uploads::data ? Evidence::upload : Evidence::none;
  }

  // Whether a range of the thread that is over when it launches again covers most of the pause: it then says what the host did, and that
  // is not loading. The step's own range goes on.
  bool named_otherwise(Span pause, std::uint16_t thread) const {
    const Ranges& r = trace_.ranges;
    const auto first = static_cast<Row>(std::lower_bound(r.start.begin(), r.start.end(), pause.start - pause.length()) - r.start.begin());
    for (Row i = first; i < r.size() && r.start[i] < pause.end; ++i)
      if (r.thread[i] == thread && !names_.is_phase(Phase::loader, r.name[i]) && r.end[i] <= pause.end + back_to_back_ns &&
          2 * (std::min(r.end[i], pause.end) - std::max(r.start[i], pause.start)) >= pause.length()) return true;
    return false;
  }

  const Trace& trace_;
  const NameClasses& names_;
  std::vector<Thread> threads_;
  bool trains_;
};

bool crosses_link(CopyKind k) { return k == CopyKind::h2d || k == CopyKind::d2h || k == CopyKind::p2p || k == CopyKind::h2h || k == CopyKind::other; }

}  // namespace

const char* name_of(IdleCause c) { return idle_names[static_cast<std::size_t>(c)]; }

Ns Account::total_ns(const std::string& cause) const {
  const auto it = std::find(causes.begin(), causes.end(), cause);
  if (it == causes.end()) return 0;
  Ns sum = 0;
  for (const DeviceAccount& d : devices)
    for (const auto& step : d.step_ns) sum += step[static_cast<std::size_t>(it - causes.begin())];
  return sum;
}

Ns Account::total_ns() const {
  Ns sum = 0;
  for (const DeviceAccount& d : devices) sum += total(d.window);
  return sum;
}

Account make_account(const Trace& trace, const Classes& classes, const NameClasses& names, const std::vector<DeviceSteps>& devices) {
  const std::vector<std::string>& kernel_classes = classes.kernel_classes();
  const std::size_t n = kernel_classes.size();
  const auto collective = static_cast<std::size_t>(std::find(kernel_classes.begin(), kernel_classes.end(), "collective") - kernel_classes.begin());
  // In order of precedence: the stall, kernels by class (collectives aside), graphs, device copies, collectives, link copies.
  Account account;
  account.causes.push_back("um_stall");
  for (const std::string& c : kernel_classes)
    if (c != "collective") account.causes.push_back("compute." + c);
  const std::size_t graph = n, device_copy = n + 1, exposed_collective = n + 2, link_copy = n + 3, first_idle = n + 4;
  account.causes.insert(account.causes.end(), {"compute.graph", "compute.device_copy", "communication_exposed", "copy_exposed"});
  for (const char* c : idle_names) account.causes.push_back(std::string("idle.") + c);
  const auto cause_of = [&](Row op) {
    switch (trace.ops.kind[op]) {
      case OpKind::kernel: {
        const std::size_t c = names.kernel[trace.ops.name[op]];
        return c == collective ? exposed_collective : c < collective ? c + 1 : c;
      }
      case OpKind::graph: return graph;
      case OpKind::set: return device_copy;
      default:
        // What the program prefetched is a copy like any other: no kernel waits for its pages.
        if (is_unified(trace.ops.copy[op])) return trace.ops.cause[op] == MigrationCause::prefetch ? link_copy : std::size_t{0};
        return crosses_link(trace.ops.copy[op]) ? link_copy : device_copy;
    }
  };

  Host host(trace, classes, names);
  for (const DeviceSteps& device : devices) {
    std::vector<Span> all;
    for (const Step& s : device.steps) all.push_back(s.span);
    DeviceAccount& d = account.devices.emplace_back();
    d.window = united(std::move(all));
    d.step_ns.assign(device.steps.size(), std::vector<Ns>(account.causes.size()));
    if (d.window.empty()) continue;

    StepSums sums(device.steps, d.step_ns);
    std::vector<Span> pauses;
    const auto claim = [&](Span s, std::size_t cause) {
      if (cause != Sweep::idle) sums.add(s, cause);
      else if (!pauses.empty() && pauses.back().end == s.start) pauses.back().end = s.end;
      else pauses.push_back(s);
    };
    Sweep sweep(d.window.front().start);
    Row fault = 0;
    const auto faults_until = [&](Ns time) {
      for (; fault < trace.gpu_faults.size() && trace.gpu_faults.start[fault] <= time; ++fault)
        if (trace.gpu_faults.device[fault] == device.device) sweep.begin({trace.gpu_faults.start[fault], trace.gpu_faults.end[fault]}, 0, claim);
    };
    for (const Row op : device.ops) {
      if (trace.ops.start[op] >= d.window.back().end) break;
      faults_until(trace.ops.start[op]);
      sweep.begin(trace.span_of(op), cause_of(op), claim);
    }
    faults_until(d.window.back().end);
    sweep.advance(d.window.back().end, claim);
    const Spans rest = d.window.size() == 1 ? std::move(pauses) : intersection(pauses, d.window);
    d.busy = difference(d.window, rest);

    std::unordered_set<std::int64_t> came_down;  // sizes of what was fetched from the device: offloaded tensors rather than results
    for (const Row op : device.ops)
      if (trace.ops.copy[op] == CopyKind::d2h && trace.ops.bytes[op] >= offload_bytes) came_down.insert(trace.ops.bytes[op]);

    // Every pause lies between two operations of the device; the later one's launch tells what the host did.
    d.idle.reserve(3 * rest.size());  // what is not used of it is never touched, and costs nothing
    std::size_t next = 0;
    Row previous = no_row;
    for (const Span gap : rest) {
      for (; next < device.ops.size() && trace.ops.start[device.ops[next]] < gap.end; ++next)
        if (previous == no_row || trace.ops.end[device.ops[next]] >= trace.ops.end[previous]) previous = device.ops[next];
      Idle idle{.span = gap, .previous = previous, .next = next < device.ops.size() ? device.ops[next] : no_row};
      const Row launch = idle.next == no_row ? no_row : trace.ops.call[idle.next];
      if (launch == no_row) {
        // Nodes of a graph have no launch of their own once the graph is under way: one waits for the other.
        if (idle.next != no_row && trace.ops.in_graph[idle.next]) idle.cause = IdleCause::dependency;
        d.idle.push_back(idle);
        continue;
      }
      idle.thread = trace.calls.thread[launch];
      if (trace.calls.end[launch] <= gap.start) {
        idle.cause = IdleCause::dependency;  // launched in time: the GPU, or another stream, kept it waiting
        d.idle.push_back(idle);
        continue;
      }
      const bool upload = trace.ops.copy[idle.next] == CopyKind::h2d, large_before = idle.previous != no_row && trace.ops.copy[idle.previous] == CopyKind::d2h && trace.ops.bytes[idle.previous] >= offload_bytes;
      const Uploads next_data = large_before || (upload && came_down.contains(trace.ops.bytes[idle.next])) ? Uploads::what_came_down : upload ? Uploads::data : Uploads::nothing;
      // Until a launch comes well before its turn the GPU is fed from hand to mouth.
      idle.drained = !d.idle.empty() && d.idle.back().drained && d.idle.back().thread == idle.thread;
      host.explain(gap, launch, device.steps, next_data, d.idle, idle);
    }
    // An upload after a pause proves little where only a few steps have such a pause: the host did something else then.
    std::vector<bool> pauses_in(device.steps.size());
    for (const Idle& idle : d.idle)
      if (idle.by_upload) {
        const auto step = std::partition_point(device.steps.begin(), device.steps.end(), [&](const Step& s) { return s.span.end <= idle.span.start; }) - device.steps.begin();
        if (static_cast<std::size_t>(step) < pauses_in.size()) pauses_in[static_cast<std::size_t>(step)] = true;
      }
    if (2 * static_cast<std::size_t>(std::count(pauses_in.begin(), pauses_in.end(), true)) < pauses_in.size())
      for (Idle& idle : d.idle)
        if (idle.by_upload) idle.cause = IdleCause::unknown, idle.inferred = idle.by_upload = false;
    StepSums idle_sums(device.steps, d.step_ns);
    for (const Idle& idle : d.idle) idle_sums.add(idle.span, first_idle + static_cast<std::size_t>(idle.cause)), account.idle_causes.push_back(idle.cause);
  }
  return account;
}

}  // namespace gh

#include "analysis/account.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/parallel.hpp"

namespace gh {
namespace {

constexpr std::array idle_names{"input",       "sync",       "launch", "allocation",
                                "compilation", "dependency", "unknown"};

// Smaller copies from the device are losses and metrics, larger ones tensors on which the host goes
// on working.
constexpr std::int64_t offload_bytes = 1 << 20;

// Host time between two calls up to which the thread counts as launching back to back. An eager
// framework takes 5 to 50 us from one launch to the next, seldom 300; a pause of a millisecond is
// something else.
constexpr Ns back_to_back_ns = 1'000'000;

// Finds the steps that stretches of time lie in. Stretches come in order, and so do steps.
class StepCursor {
 public:
  StepCursor(const std::vector<Step>& steps, std::size_t from) : steps_(steps), at_(from) {}
  // `add(step, ns)` is called with every step and what of the stretch is its.
  template <class Add>
  void add(Span s, Add add) {
    while (at_ < steps_.size() && steps_[at_].span.end <= s.start) ++at_;
    for (std::size_t k = at_; k < steps_.size() && steps_[k].span.start < s.end; ++k)
      add(k, std::min(s.end, steps_[k].span.end) - std::max(s.start, steps_[k].span.start));
  }

 private:
  const std::vector<Step>& steps_;
  std::size_t at_;
};

// Which of several causes at work at one time claims it: the one with the lowest rank whose latest
// end has not passed.
class Sweep {
 public:
  // `claim(span, rank)` is called with every stretch of time in order, rank `idle` where nothing
  // was at work.
  static constexpr std::size_t idle = std::numeric_limits<std::size_t>::max();

  explicit Sweep(Ns start) : now_(start) {}

  template <class Claim>
  void begin(Span s, std::size_t rank, Claim claim) {
    advance(s.start, claim);
    if (s.end <= now_) return;
    const auto it = std::find_if(active_.begin(), active_.end(),
                                 [&](const Active& a) { return a.rank >= rank; });
    if (it != active_.end() && it->rank == rank)
      it->end = std::max(it->end, s.end);
    else
      active_.insert(it, {rank, s.end});
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
  struct Active {
    std::size_t rank;
    Ns end;
  };
  std::vector<Active> active_;  // by rank; seldom more than two
  Ns now_;
};

// What is sent to the device after a pause of the host: nothing, data, or (of a size) what had come
// down from it before.
enum class Uploads { nothing, data, what_came_down };

// Whether there is a loss or an optimizer among the kernels.
bool trains(const Classes& classes, const NameClasses& names) {
  const std::vector<std::string>& known = classes.kernel_classes();
  std::vector<std::uint8_t> tells(known.size());
  for (std::size_t c = 0; c < known.size(); ++c)
    tells[c] = known[c] == "optimizer" || known[c] == "softmax_loss";
  return std::any_of(names.kernel.begin(), names.kernel.end(), [&](std::uint8_t c) {
    return tells[c] != 0;
  });  // what no kernel bears is of the first class, collectives
}

// std::partition_point, looked for around a place where it is likely to be, which is then moved
// there: what is asked in order of time needs no search through millions.
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

// What the host threads of a process did, ready to be asked about any stretch of time.
class Host {
 public:
  Host(const Trace& trace, const Classes& classes, const NameClasses& names)
      : trace_(trace),
        names_(names),
        threads_(trace.threads.size()),
        trains_(trains(classes, names)) {
    std::vector<std::vector<Span>> loader(threads_.size());
    for (Row r = 0; r < trace.ranges.size(); ++r)
      if (names.is_phase(Phase::loader, trace.ranges.name[r])) {
        loader[trace.ranges.thread[r]].push_back({trace.ranges.start[r], trace.ranges.end[r]});
      }
    for (std::size_t t = 0; t < threads_.size(); ++t)
      threads_[t].loader = united(std::move(loader[t]));
    list_calls();
    for (Row w = 0; w < trace.os_calls.size(); ++w)
      threads_[trace.os_calls.thread[w]].os_calls.push_back(w);
  }

  // Where each thread's last pause was: the next is not far. Whoever asks has his own.
  struct Near {
    std::size_t range = 0, call = 0;
  };
  using Places = std::vector<Near>;  // by thread
  Places places() const { return Places(threads_.size()); }

  CallClass call_class(Row call) const { return names_.call[trace_.calls.name[call]]; }

  // Splits a pause of the GPU, which ended with an operation that `launch` launched, by what the
  // launching thread did.
  void explain(const Span gap, const Row launch, const std::vector<Step>& steps, const Uploads next,
               Places& places, std::vector<Idle>& out, const Idle& like) const {
    const std::uint16_t thread = trace_.calls.thread[launch];
    const Thread& t = threads_[thread];
    const Ns launched = std::clamp(trace_.calls.end[launch], gap.start, gap.end);
    // In time order: loader ranges first, then calls, then what lies between calls.
    auto range = t.loader.begin() + static_cast<std::ptrdiff_t>(partition_near(
                                        std::span(t.loader), places[thread].range,
                                        [&](const Span& s) { return s.end <= gap.start; }));
    auto call = t.calls.begin() + static_cast<std::ptrdiff_t>(partition_near(
                                      t.calls, places[thread].call,
                                      [&](Row c) { return trace_.calls.end[c] < gap.start; }));
    const Row synced = sync_in(call, t, gap);
    const bool drained = like.drained || synced != no_row;
    const auto add = [&](Span s, IdleCause cause, bool inferred = false, Row in_call = no_row) {
      if (s.start >= s.end) return;
      Idle piece = like;
      piece.span = s;
      piece.cause = cause;
      piece.inferred = inferred;
      piece.drained = drained;
      if (cause == IdleCause::sync || cause == IdleCause::allocation ||
          cause == IdleCause::compilation)
        piece.call = in_call;
      out.push_back(piece);
    };
    const Span host{gap.start, launched};
    Ns at = host.start;
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
      const Ns to_call =
          call == t.calls.end() ? to_range : std::min(trace_.calls.start[*call], to_range);
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
  using RowList = std::span<const Row>;
  struct Thread {
    Spans loader;
    RowList calls;  // in order; where one is nested in another the other stands for it
    std::vector<Row> os_calls;
  };

  // Puts the calls of each thread together, parts of them at a time.
  void list_calls() {
    constexpr std::size_t least = 1 << 17;
    struct Listed {  // of a thread: its calls, and the one that ended last
      Row count = 0, last = no_row;
      Ns end = std::numeric_limits<Ns>::min();
      void take(Row call, Ns ended) {
        if (last == no_row || ended > end) {
          last = call;
          end = ended;
        }
      }
    };
    const auto& calls = trace_.calls;
    const std::size_t n = calls.size(), parts = parts_of(n, least);
    std::vector<std::vector<Listed>> listed(parts, std::vector<Listed>(threads_.size()));
    in_parts(n, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
      for (auto c = static_cast<Row>(begin); c < end; ++c) {
        Listed& t = listed[part][calls.thread[c]];
        ++t.count;
        t.take(c, calls.end[c]);
      }
    });
    calls_ = std::make_unique_for_overwrite<Row[]>(n);
    Row at = 0;
    for (std::size_t thread = 0; thread < threads_.size();
         ++thread) {  // what a part has becomes what the parts before have, and where its calls go
      const Row first = at;
      Listed before;
      for (auto& part : listed) {
        before.count = at;
        const Listed own = std::exchange(part[thread], before);
        at += own.count;
        if (own.last != no_row) before.take(own.last, own.end);
      }
      threads_[thread].calls = {calls_.get() + first, calls_.get() + at};
    }
    in_parts(n, parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
      for (auto c = static_cast<Row>(begin); c < end; ++c) {
        Listed& t = listed[part][calls.thread[c]];
        t.take(c, calls.end[c]);
        calls_[t.count++] = t.last;
      }
    });
  }

  IdleCause cause_of(Row call) const {
    switch (call_class(call)) {
      case CallClass::sync:
      case CallClass::copy_sync: return IdleCause::sync;
      case CallClass::allocation: return IdleCause::allocation;
      case CallClass::compilation: return IdleCause::compilation;
      default: return IdleCause::launch;
    }
  }

  // The thread's first wait for the GPU that ended inside the pause; `call` is its first call that
  // did.
  Row sync_in(RowList::iterator call, const Thread& t, Span gap) const {
    for (; call != t.calls.end() && trace_.calls.end[*call] < gap.end; ++call)
      if (const CallClass c = call_class(*call); c == CallClass::sync || c == CallClass::copy_sync)
        return *call;
    return no_row;
  }

  // Host time outside CUDA calls while the GPU idles.
  template <class Add>
  void between_calls(Span piece, std::uint16_t thread, Row synced, const std::vector<Step>& steps,
                     Uploads next, Add& add, std::vector<Idle>& out) const {
    // Other threads of the process may have launched meanwhile, as backward does: only time in
    // which none did is a pause.
    const std::uint16_t process = trace_.threads[thread].process;
    Ns at = piece.start;
    const auto pause = [&](Ns until) {
      if (until <= at) return;
      if (synced != no_row &&
          at >= trace_.calls.end[synced]) {  // a wait had let the GPU run dry: what the host needs
                                             // to refill it is the wait's cost
        const Ns cost = std::min(until, std::max(at, trace_.calls.end[synced] + back_to_back_ns));
        add({at, cost}, IdleCause::sync, false, synced);
        at = cost;
      }
      if (until - at <= back_to_back_ns)
        add({at, until}, IdleCause::launch);
      else if (const Evidence e = input_evidence({at, until}, thread, steps, next);
               e != Evidence::none) {
        add({at, until}, IdleCause::input, true);
        if (at < until) out.back().by_upload = e == Evidence::upload;
      } else
        add({at, until}, IdleCause::unknown);
      at = until;
    };
    if (piece.length() > back_to_back_ns) {
      const auto& calls = trace_.calls;
      for (auto i = static_cast<Row>(
               std::lower_bound(calls.start.begin(), calls.start.end(), piece.start) -
               calls.start.begin());
           i < calls.size() && calls.start[i] < piece.end; ++i) {
        if (calls.thread[i] == thread || trace_.threads[calls.thread[i]].process != process ||
            !launches(call_class(i)))
          continue;
        pause(calls.start[i]);
        const Ns to = std::min(calls.end[i], piece.end);
        if (to > at) {
          add({at, to}, IdleCause::launch);
          at = to;
        }
      }
    }
    pause(piece.end);
  }

  // Without loader ranges: a long pause between the last launch of a step and the first of the
  // next, after which data goes up, or in which the thread read files or waited for other threads
  // or processes. One in which it wrote more than it read (a log, a checkpoint), or worked on what
  // it had fetched from the device, is something else.
  enum class Evidence { none, upload, host };
  Evidence input_evidence(Span pause, std::uint16_t thread, const std::vector<Step>& steps,
                          Uploads next) const {
    // Without training there are no batches: a server that waits for requests, or for one token
    // before the next, pauses likewise.
    if (!trains_ || next == Uploads::what_came_down || named_otherwise(pause, thread))
      return Evidence::none;
    // Where ranges mark the loader in most steps, they tell when input is fetched.
    const Spans& marked = threads_[thread].loader;
    const auto begin = [](const Span& s, Ns at) { return s.start < at; };
    const auto inside =
        std::lower_bound(marked.begin(), marked.end(), steps.back().span.end, begin) -
        std::lower_bound(marked.begin(), marked.end(), steps.front().host_start, begin);
    if (2 * static_cast<std::size_t>(inside) >= steps.size()) return Evidence::none;
    // The host may have run ahead: its pause began with its last call, when the GPU still worked.
    const Thread& t = threads_[thread];
    const auto last = std::partition_point(
        t.calls.begin(), t.calls.end(), [&](Row c) { return trace_.calls.end[c] <= pause.start; });
    if (last != t.calls.begin()) pause.start = trace_.calls.end[*std::prev(last)];
    const auto step = std::partition_point(steps.begin(), steps.end(), [&](const Step& s) {
      return s.host_start < pause.start - back_to_back_ns;
    });
    const bool between_steps =
        step != steps.end() && step->host_start <= pause.end + back_to_back_ns;
    if (!between_steps) return Evidence::none;
    Ns waited = 0;
    int reads = 0, writes = 0;
    auto w = std::partition_point(t.os_calls.begin(), t.os_calls.end(),
                                  [&](Row c) { return trace_.os_calls.start[c] < pause.start; });
    const auto any_of = [](const std::string& name, std::initializer_list<const char*> starts) {
      return std::any_of(starts.begin(), starts.end(),
                         [&](const char* s) { return name.starts_with(s); });
    };
    for (; w != t.os_calls.end() && trace_.os_calls.start[*w] < pause.end; ++w) {
      const std::string& name = trace_.names[trace_.os_calls.name[*w]];
      if (any_of(name, {"poll", "sem_", "pthread_cond_timedwait", "pthread_cond_wait", "recv",
                        "futex", "select", "epoll_wait"}))
        waited += trace_.os_calls.end[*w] - trace_.os_calls.start[*w];
      reads += any_of(name, {"read", "pread", "open", "fread", "file access"});
      writes += any_of(name, {"write", "pwrite", "fwrite", "fsync", "send"});
    }
    if (writes > reads) return Evidence::none;
    if (reads > 0 || 2 * waited >= pause.length()) return Evidence::host;
    return next == Uploads::data ? Evidence::upload : Evidence::none;
  }

  // Whether a range of the thread that is over when it launches again covers most of the pause: it
  // then says what the host did, and that is not loading. The step's own range goes on.
  bool named_otherwise(Span pause, std::uint16_t thread) const {
    const Ranges& r = trace_.ranges;
    const auto first = static_cast<Row>(
        std::lower_bound(r.start.begin(), r.start.end(), pause.start - pause.length()) -
        r.start.begin());
    for (Row i = first; i < r.size() && r.start[i] < pause.end; ++i)
      if (r.thread[i] == thread && !names_.is_phase(Phase::loader, r.name[i]) &&
          r.end[i] <= pause.end + back_to_back_ns &&
          2 * (std::min(r.end[i], pause.end) - std::max(r.start[i], pause.start)) >= pause.length())
        return true;
    return false;
  }

  const Trace& trace_;
  const NameClasses& names_;
  std::vector<Thread> threads_;
  std::unique_ptr<Row[]> calls_;  // of one thread after the other
  bool trains_;
};

bool crosses_link(CopyKind k) {
  return k == CopyKind::h2d || k == CopyKind::d2h || k == CopyKind::p2p || k == CopyKind::h2h ||
         k == CopyKind::other;
}

bool offloads(const Trace& trace, Row op) {
  return trace.ops.copy[op] == CopyKind::d2h && trace.ops.bytes[op] >= offload_bytes;
}

// A part of a device's time. What began before it had ended by its start, until which the device
// was at work: no pause reaches across.
struct Chunk {
  std::size_t device = 0;
  Span span;
  std::size_t first_op = 0;  // place among the device's operations of the first that may lie in it
  Row first_fault = 0;
  Row previous = no_row;  // of the operations before, the one that ended last
};

// What is known of a device before its time is gone through.
struct Work {
  std::vector<Chunk> chunks;
  std::unordered_set<std::int64_t> came_down;  // sizes of what was fetched from the device:
                                               // offloaded tensors rather than results
};

Work work_of(const Trace& trace, const std::vector<DeviceSteps>& devices, std::size_t d,
             Span window, std::size_t size) {
  const std::vector<Row>& ops = devices[d].ops;
  struct Part {
    Row last = no_row;
    std::unordered_set<std::int64_t> came_down;
  };
  std::vector<Part> parts((ops.size() + size - 1) / size);
  const auto later = [&](Row a, Row b) {
    return a != no_row && trace.ops.end[a] > trace.ops.end[b] ? a : b;
  };
  in_parallel(parts.size(), [&](std::size_t p, std::size_t) {
    for (std::size_t i = p * size; i < std::min(ops.size(), (p + 1) * size); ++i) {
      parts[p].last = later(parts[p].last, ops[i]);
      if (offloads(trace, ops[i])) parts[p].came_down.insert(trace.ops.bytes[ops[i]]);
    }
  });
  Work work{.chunks = {{.device = d, .span = window}}, .came_down = {}};
  Chunk next{.device = d, .span = window};
  Ns faults_end = window.start;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    work.came_down.merge(parts[p].came_down);
    next.first_op += size;
    next.previous = later(next.previous, parts[p].last);
    const Span last = trace.span_of(next.previous);
    for (; next.first_fault < trace.gpu_faults.size() &&
           trace.gpu_faults.start[next.first_fault] < last.end;
         ++next.first_fault)
      if (trace.gpu_faults.device[next.first_fault] == devices[d].device)
        faults_end = std::max(faults_end, trace.gpu_faults.end[next.first_fault]);
    Chunk& before = work.chunks.back();
    // The next chunk passes over what began before the cut: not over more than a part of it.
    const std::size_t beyond = next.first_op + size;
    if (last.end <= window.start) {
      before.first_op = next.first_op;
      before.previous = next.previous;
    } else if (last.end > before.span.start && last.end < window.end && last.length() > 0 &&
               faults_end <= last.end &&
               (beyond >= ops.size() || trace.ops.start[ops[beyond]] >= last.end)) {
      before.span.end = next.span.start = last.end;
      work.chunks.push_back(next);
    }
  }
  return work;
}

// What became of a chunk.
struct Worked {
  std::size_t first_step = 0;
  std::vector<Ns> step_ns;  // a row of causes for each step that the chunk touches
  std::vector<Idle> idle;
  std::vector<std::size_t> uploads;  // steps in which an upload alone says that a pause was input
  Ns idle_ns = 0, longest_idle_ns = 0;
  std::size_t at = 0, at_causes = 0;  // where its idle stretches and their causes go
};

}  // namespace

const char* name_of(IdleCause c) { return idle_names[static_cast<std::size_t>(c)]; }

std::size_t IdleList::grow(std::size_t n) {
  while (blocks_.size() * block < size_ + n)
    blocks_.emplace_back(std::allocator<Idle>().allocate(block));
  return std::exchange(size_, size_ + n);
}

void IdleList::put(std::size_t at, std::span<const Idle> idle) {
  while (!idle.empty()) {
    const std::size_t n = std::min(idle.size(), block - at % block);
    std::uninitialized_copy_n(idle.begin(), n, blocks_[at / block].get() + at % block);
    at += n;
    idle = idle.subspan(n);
  }
}

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

Account make_account(const Trace& trace, const Classes& classes, const NameClasses& names,
                     const std::vector<DeviceSteps>& devices, std::size_t chunk_size) {
  const std::vector<std::string>& kernel_classes = classes.kernel_classes();
  const std::size_t n = kernel_classes.size();
  const auto collective = static_cast<std::size_t>(
      std::find(kernel_classes.begin(), kernel_classes.end(), "collective") -
      kernel_classes.begin());
  // In order of precedence: the stall, kernels by class (collectives aside), graphs, device copies,
  // collectives, link copies.
  Account account;
  account.causes.push_back("um_stall");
  for (const std::string& c : kernel_classes)
    if (c != "collective") account.causes.push_back("compute." + c);
  const std::size_t graph = n, device_copy = n + 1, exposed_collective = n + 2, link_copy = n + 3,
                    first_idle = n + 4;
  account.causes.insert(account.causes.end(), {"compute.graph", "compute.device_copy",
                                               "communication_exposed", "copy_exposed"});
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
        if (is_unified(trace.ops.copy[op]))
          return trace.ops.cause[op] == MigrationCause::prefetch ? link_copy : std::size_t{0};
        return crosses_link(trace.ops.copy[op]) ? link_copy : device_copy;
    }
  };

  const Host host(trace, classes, names);
  std::vector<Work> work(devices.size());
  std::vector<Chunk> chunks;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::vector<Span> all;
    for (const Step& s : devices[i].steps) all.push_back(s.span);
    DeviceAccount& d = account.devices.emplace_back();
    d.window = united(std::move(all));
    d.busy_ns = total(d.window);
    d.step_ns.assign(devices[i].steps.size(), std::vector<Ns>(account.causes.size()));
    if (d.window.empty()) continue;
    work[i] = work_of(trace, devices, i, {d.window.front().start, d.window.back().end}, chunk_size);
    chunks.insert(chunks.end(), work[i].chunks.begin(), work[i].chunks.end());
  }

  const auto go_through = [&](const Chunk& chunk, Host::Places& places, Worked& out) {
    const DeviceSteps& device = devices[chunk.device];
    const Spans& window = account.devices[chunk.device].window;
    const auto step_at = [&](Ns time) {
      return static_cast<std::size_t>(
          std::partition_point(device.steps.begin(), device.steps.end(),
                               [&](const Step& s) { return s.span.end <= time; }) -
          device.steps.begin());
    };
    out.first_step = step_at(chunk.span.start);
    out.step_ns.assign(
        (std::min(step_at(chunk.span.end - 1) + 1, device.steps.size()) - out.first_step) *
            account.causes.size(),
        0);
    out.idle.clear();
    out.uploads.clear();
    out.idle_ns = out.longest_idle_ns = 0;
    const auto add = [&](StepCursor& cursor, Span s, std::size_t cause) {
      cursor.add(s, [&](std::size_t step, Ns ns) {
        out.step_ns[(step - out.first_step) * account.causes.size() + cause] += ns;
      });
    };
    StepCursor busy(device.steps, out.first_step), idle_in(device.steps, out.first_step);

    // Every pause lies between two operations of the device; the later one's launch tells what the
    // host did.
    std::size_t next = chunk.first_op;
    Row previous = chunk.previous;
    const auto explain = [&](const Span gap) {
      for (; next < device.ops.size() && trace.ops.start[device.ops[next]] < gap.end; ++next)
        if (previous == no_row || trace.ops.end[device.ops[next]] >= trace.ops.end[previous])
          previous = device.ops[next];
      Idle idle{.span = gap,
                .previous = previous,
                .next = next < device.ops.size() ? device.ops[next] : no_row};
      const Row launch = idle.next == no_row ? no_row : trace.ops.call[idle.next];
      if (launch == no_row) {
        // Nodes of a graph have no launch of their own once the graph is under way: one waits for
        // the other.
        if (idle.next != no_row && trace.ops.in_graph[idle.next])
          idle.cause = IdleCause::dependency;
        out.idle.push_back(idle);
        return;
      }
      idle.thread = trace.calls.thread[launch];
      if (trace.calls.end[launch] <= gap.start) {
        idle.cause =
            IdleCause::dependency;  // launched in time: the GPU, or another stream, kept it waiting
        out.idle.push_back(idle);
        return;
      }
      const bool upload = trace.ops.copy[idle.next] == CopyKind::h2d,
                 large_before = idle.previous != no_row && offloads(trace, idle.previous);
      const Uploads next_data =
          large_before ||
                  (upload && work[chunk.device].came_down.contains(trace.ops.bytes[idle.next]))
              ? Uploads::what_came_down
          : upload ? Uploads::data
                   : Uploads::nothing;
      // Until a launch comes well before its turn the GPU is fed from hand to mouth.
      idle.drained =
          !out.idle.empty() && out.idle.back().drained && out.idle.back().thread == idle.thread;
      host.explain(gap, launch, device.steps, next_data, places, out.idle, idle);
    };
    auto in_window = std::partition_point(window.begin(), window.end(),
                                          [&](const Span& s) { return s.end <= chunk.span.start; });
    const auto end_pause = [&](const Span pause) {
      while (in_window != window.end() && in_window->end <= pause.start) ++in_window;
      for (auto w = in_window; w != window.end() && w->start < pause.end; ++w) {
        const Span gap{std::max(pause.start, w->start), std::min(pause.end, w->end)};
        out.idle_ns += gap.length();
        out.longest_idle_ns = std::max(out.longest_idle_ns, gap.length());
        const std::size_t first = out.idle.size();
        explain(gap);
        for (std::size_t i = first; i < out.idle.size(); ++i) {
          const Idle& idle = out.idle[i];
          add(idle_in, idle.span, first_idle + static_cast<std::size_t>(idle.cause));
          if (idle.by_upload) out.uploads.push_back(step_at(idle.span.start));
        }
      }
    };

    Span pause;
    const auto claim = [&](Span s, std::size_t cause) {
      if (cause != Sweep::idle)
        add(busy, s, cause);
      else if (pause.length() > 0 && pause.end == s.start)
        pause.end = s.end;
      else {
        if (pause.length() > 0) end_pause(pause);
        pause = s;
      }
    };
    Sweep sweep(chunk.span.start);
    Row fault = chunk.first_fault;
    const auto faults_until = [&](Ns time) {
      for (; fault < trace.gpu_faults.size() && trace.gpu_faults.start[fault] <= time; ++fault)
        if (trace.gpu_faults.device[fault] == device.device)
          sweep.begin({trace.gpu_faults.start[fault], trace.gpu_faults.end[fault]}, 0, claim);
    };
    for (std::size_t i = chunk.first_op;
         i < device.ops.size() && trace.ops.start[device.ops[i]] < chunk.span.end; ++i) {
      faults_until(trace.ops.start[device.ops[i]]);
      sweep.begin(trace.span_of(device.ops[i]), cause_of(device.ops[i]), claim);
    }
    faults_until(chunk.span.end - 1);
    sweep.advance(chunk.span.end, claim);
    if (pause.length() > 0) end_pause(pause);
  };

  // A few chunks at a time: what becomes of them fits into caches, and is put where it stays before
  // the next are gone through.
  std::vector<Host::Places> places(std::min<std::size_t>(thread_count(), chunks.size()),
                                   host.places());
  std::vector<Worked> worked(std::min<std::size_t>(2 * thread_count(), chunks.size()));
  std::vector<std::vector<bool>> uploads(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) uploads[i].resize(devices[i].steps.size());
  std::size_t all_ops = 0;
  for (const DeviceSteps& d : devices) all_ops += d.ops.size();
  account.idle_causes.reserve(
      3 * all_ops);  // what is not used of it is never touched, and costs nothing
  Idle last;         // of the chunk before
  for (std::size_t first = 0; first < chunks.size(); first += worked.size()) {
    const std::size_t n = std::min(worked.size(), chunks.size() - first),
                      idle_before = account.idle_causes.size();
    in_parallel(n, [&](std::size_t i, std::size_t worker) {
      go_through(chunks[first + i], places[worker], worked[i]);
    });
    std::size_t idle = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t device = chunks[first + i].device;
      DeviceAccount& d = account.devices[device];
      Worked& w = worked[i];
      for (std::size_t k = 0; k < w.step_ns.size(); ++k)
        d.step_ns[w.first_step + k / account.causes.size()][k % account.causes.size()] +=
            w.step_ns[k];
      for (const std::size_t step : w.uploads)
        if (step < uploads[device].size()) uploads[device][step] = true;
      d.busy_ns -= w.idle_ns;
      d.longest_idle_ns = std::max(d.longest_idle_ns, w.longest_idle_ns);
      // The thread may have let the GPU run dry in the chunk before.
      if (d.idle.empty()) last = {};
      for (Idle& piece : w.idle) {
        if (!last.drained || piece.drained || piece.thread != last.thread ||
            piece.cause == IdleCause::dependency)
          break;
        piece.drained = true;
      }
      if (!w.idle.empty()) last = w.idle.back();
      w.at = d.idle.grow(w.idle.size());
      w.at_causes = idle_before + idle;
      idle += w.idle.size();
    }
    account.idle_causes.resize(idle_before + idle);
    in_parallel(n, [&](std::size_t i, std::size_t) {
      const Worked& w = worked[i];
      account.devices[chunks[first + i].device].idle.put(w.at, w.idle);
      std::transform(w.idle.begin(), w.idle.end(),
                     account.idle_causes.begin() + static_cast<std::ptrdiff_t>(w.at_causes),
                     [](const Idle& piece) { return piece.cause; });
    });
  }

  // An upload after a pause proves little where only a few steps have such a pause: the host did
  // something else then.
  std::size_t idle_before = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    DeviceAccount& d = account.devices[i];
    const auto with_upload =
        static_cast<std::size_t>(std::count(uploads[i].begin(), uploads[i].end(), true));
    if (with_upload > 0 && 2 * with_upload < uploads[i].size()) {
      StepCursor cursor(devices[i].steps, 0);
      for (std::size_t k = 0; k < d.idle.size(); ++k) {
        Idle& idle = d.idle[k];
        if (!idle.by_upload) continue;
        idle.cause = account.idle_causes[idle_before + k] = IdleCause::unknown;
        idle.inferred = idle.by_upload = false;
        cursor.add(idle.span, [&](std::size_t step, Ns ns) {
          d.step_ns[step][first_idle + static_cast<std::size_t>(IdleCause::input)] -= ns;
          d.step_ns[step][first_idle + static_cast<std::size_t>(IdleCause::unknown)] += ns;
        });
      }
    }
    idle_before += d.idle.size();
  }
  return account;
}

std::string cause_label(const std::string& cause) {
  static const std::map<std::string, std::string> special{
      {"um_stall", "unified-memory stall"},
      {"communication_exposed", "exposed communication"},
      {"copy_exposed", "exposed copy"},
      {"compute.gemm_half", "compute: GEMM, half precision"},
      {"compute.gemm_cuda_core", "compute: GEMM on CUDA cores"},
      {"compute.gemm_tf32", "compute: GEMM, TF32"},
      {"compute.gemm_fp8", "compute: GEMM, FP8"},
      {"compute.gemm_int8", "compute: GEMM, INT8"},
      {"compute.gemm_unknown", "compute: GEMM, tier unknown"},
      {"compute.attention_fused", "compute: fused attention"},
      {"compute.softmax_loss", "compute: loss"},
      {"compute.graph", "compute: whole CUDA graphs"},
      {"compute.device_copy", "compute: copies on the device"},
      {"compute.gemv", "compute: GEMV"}};
  if (const auto it = special.find(cause); it != special.end()) return it->second;
  std::string label = cause;
  std::replace(label.begin(), label.end(), '_', ' ');
  const std::size_t dot = label.find('.');
  return dot == std::string::npos ? label : label.substr(0, dot) + ": " + label.substr(dot + 1);
}

}  // namespace gh

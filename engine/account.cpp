#include "account.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace gh {
namespace {

constexpr std::array idle_names{"input", "sync", "launch", "allocation", "compilation", "dependency", "unknown"};

// Host time between two calls up to which the thread counts as launching back to back. An eager framework takes 5 to 50 us from
// one launch to the next, seldom 300; a pause of a millisecond is something else.
constexpr Ns back_to_back_ns = 1'000'000;

// The part of a set that lies in each step.
std::vector<Ns> by_step(const Spans& set, const std::vector<Step>& steps) {
  std::vector<Ns> ns(steps.size());
  std::size_t i = 0;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    while (i < set.size() && set[i].end <= steps[k].span.start) ++i;
    for (std::size_t j = i; j < set.size() && set[j].start < steps[k].span.end; ++j)
      ns[k] += std::min(set[j].end, steps[k].span.end) - std::max(set[j].start, steps[k].span.start);
  }
  return ns;
}

// What the host threads of a process did, ready to be asked about any stretch of time.
class Host {
 public:
  Host(const Trace& trace, const NameClasses& names) : trace_(trace), names_(names), threads_(trace.threads.size()), process_ranges_(trace.processes.size()) {
    std::vector<std::vector<Span>> loader(threads_.size());
    for (Row r = 0; r < trace.ranges.size(); ++r)
      if (names.loader[trace.ranges.name[r]]) {
        loader[trace.ranges.thread[r]].push_back({trace.ranges.start[r], trace.ranges.end[r]});
        process_ranges_[trace.threads[trace.ranges.thread[r]].process] = true;
      }
    for (std::size_t t = 0; t < threads_.size(); ++t) threads_[t].loader = united(std::move(loader[t]));
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
  void explain(const Span gap, const Row launch, const std::vector<Step>& steps, const bool next_is_upload, std::vector<Idle>& out, const Idle& like) const {
    const std::uint16_t thread = trace_.calls.thread[launch];
    const Thread& t = threads_[thread];
    const Ns launched = std::clamp(trace_.calls.end[launch], gap.start, gap.end);
    const auto add = [&](Span s, IdleCause cause, bool inferred = false) {
      if (s.start >= s.end) return;
      Idle piece = like;
      piece.span = s, piece.cause = cause, piece.inferred = inferred;
      out.push_back(piece);
    };
    const Span host{gap.start, launched};
    const Ns synced = last_sync_end(t, gap);
    Ns at = host.start;
    // In time order: loader ranges first, then calls, then what lies between calls.
    auto range = std::partition_point(t.loader.begin(), t.loader.end(), [&](const Span& s) { return s.end <= host.start; });
    auto call = std::partition_point(t.calls.begin(), t.calls.end(), [&](Row c) { return trace_.calls.end[c] <= host.start; });
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
        add({at, to}, cause_of(*call));
        at = to;
        continue;
      }
      between_calls({at, to_call}, thread, synced, steps, next_is_upload, add);
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
  };

  IdleCause cause_of(Row call) const {
    switch (call_class(call)) {
      case CallClass::sync: case CallClass::copy_sync: return IdleCause::sync;
      case CallClass::allocation: return IdleCause::allocation;
      case CallClass::compilation: return IdleCause::compilation;
      default: return IdleCause::launch;
    }
  }

  // When the thread's last wait for the GPU that ended inside the pause did so, or the earliest of times.
  Ns last_sync_end(const Thread& t, Span gap) const {
    auto it = std::partition_point(t.syncs.begin(), t.syncs.end(), [&](Row c) { return trace_.calls.end[c] < gap.start; });
    return it != t.syncs.end() && trace_.calls.end[*it] < gap.end ? trace_.calls.end[*it] : std::numeric_limits<Ns>::min();
  }

  // Host time outside CUDA calls while the GPU idles.
  template <class Add>
  void between_calls(Span piece, std::uint16_t thread, Ns synced, const std::vector<Step>& steps, bool next_is_upload, Add& add) const {
    // Other threads of the process may have launched meanwhile, as backward does: only time in which none did is a pause.
    const std::uint16_t process = trace_.threads[thread].process;
    Ns at = piece.start;
    const auto pause = [&](Ns until) {
      if (until <= at) return;
      if (synced != std::numeric_limits<Ns>::min() && at >= synced) {  // a wait had let the GPU run dry: what the host needs to refill it is the wait's cost
        const Ns cost = std::min(until, std::max(at, synced + back_to_back_ns));
        add({at, cost}, IdleCause::sync);
        at = cost;
      }
      if (until - at <= back_to_back_ns) add({at, until}, IdleCause::launch);
      else if (fetches_input({at, until}, thread, process, steps, next_is_upload)) add({at, until}, IdleCause::input, true);
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

  // Without loader ranges: a long pause between the last launch of a step and the first of the next, in which the thread read files
  // or waited for other threads or processes, or after which the first thing sent is data.
  bool fetches_input(Span pause, std::uint16_t thread, std::uint16_t process, const std::vector<Step>& steps, bool next_is_upload) const {
    if (process_ranges_[process]) return false;  // ranges tell when input is fetched: this was not
    const auto step = std::partition_point(steps.begin(), steps.end(), [&](const Step& s) { return s.host_start < pause.start - back_to_back_ns; });
    const bool between_steps = step != steps.end() && step->host_start <= pause.end + back_to_back_ns;
    if (!between_steps) return false;
    if (next_is_upload) return true;
    const Thread& t = threads_[thread];
    Ns waited = 0;
    auto w = std::partition_point(t.os_calls.begin(), t.os_calls.end(), [&](Row c) { return trace_.os_calls.start[c] < pause.start; });
    bool read_files = false;
    for (; w != t.os_calls.end() && trace_.os_calls.start[*w] < pause.end; ++w) {
      const std::string& name = trace_.names[trace_.os_calls.name[*w]];
      for (const char* wait : {"poll", "sem_timedwait", "sem_wait", "pthread_cond_timedwait", "pthread_cond_wait", "recv", "futex", "select", "epoll_wait"})
        if (name.starts_with(wait)) waited += trace_.os_calls.end[*w] - trace_.os_calls.start[*w];
      read_files = read_files || name.starts_with("read") || name.starts_with("open") || name.starts_with("pread") || name == "file access";
    }
    return read_files || 2 * waited >= pause.length();
  }

  const Trace& trace_;
  const NameClasses& names_;
  std::vector<Thread> threads_;
  std::vector<bool> process_ranges_;  // whether a process marks its loader with ranges
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
  // Layers in order of precedence: the stall, kernels by class (collectives aside), graphs, device copies, collectives, link copies.
  Account account;
  account.causes.push_back("um_stall");
  for (const std::string& c : kernel_classes) account.causes.push_back(c == "collective" ? "communication_exposed" : "compute." + c);
  account.causes.insert(account.causes.end(), {"compute.graph", "compute.device_copy", "copy_exposed"});
  const std::size_t graph = n + 1, device_copy = n + 2, link_copy = n + 3, first_idle = n + 4;
  for (const char* c : idle_names) account.causes.push_back(std::string("idle.") + c);
  std::vector<std::size_t> order{0};
  for (std::size_t c = 0; c < n; ++c)
    if (c != collective) order.push_back(c + 1);
  order.insert(order.end(), {graph, device_copy, collective + 1, link_copy});

  const Host host(trace, names);
  for (const DeviceSteps& device : devices) {
    std::vector<Span> all;
    for (const Step& s : device.steps) all.push_back(s.span);
    DeviceAccount& d = account.devices.emplace_back();
    d.window = united(std::move(all));
    d.step_ns.assign(device.steps.size(), std::vector<Ns>(account.causes.size()));
    if (d.window.empty()) continue;
    const Span hull{d.window.front().start, d.window.back().end};

    std::vector<std::vector<Span>> layers(account.causes.size());
    for (Row f = 0; f < trace.gpu_faults.size(); ++f)
      if (trace.gpu_faults.device[f] == device.device) layers[0].push_back({trace.gpu_faults.start[f], trace.gpu_faults.end[f]});
    for (const Row op : device.ops) {
      if (trace.ops.end[op] <= hull.start || trace.ops.start[op] >= hull.end) continue;
      std::size_t layer = 0;
      switch (trace.ops.kind[op]) {
        case OpKind::kernel: layer = names.kernel[trace.ops.name[op]] + std::size_t{1}; break;
        case OpKind::graph: layer = graph; break;
        case OpKind::set: layer = device_copy; break;
        case OpKind::copy: layer = is_unified(trace.ops.copy[op]) ? 0 : crosses_link(trace.ops.copy[op]) ? link_copy : device_copy; break;
      }
      layers[layer].push_back(trace.span_of(op));
    }
    Spans rest = d.window;
    for (const std::size_t layer : order) {
      if (layers[layer].empty()) continue;
      const Spans set = united(std::move(layers[layer]));
      const Spans claimed = intersection(rest, set);
      const std::vector<Ns> ns = by_step(claimed, device.steps);
      for (std::size_t k = 0; k < ns.size(); ++k) d.step_ns[k][layer] += ns[k];
      rest = difference(rest, set);
    }
    d.busy = difference(d.window, rest);

    // Every pause lies between two operations of the device; the later one's launch tells what the host did.
    std::size_t next = 0;
    Row previous = no_row;
    for (const Span gap : rest) {
      for (; next < device.ops.size() && trace.ops.start[device.ops[next]] < gap.end; ++next)
        if (previous == no_row || trace.ops.end[device.ops[next]] >= trace.ops.end[previous]) previous = device.ops[next];
      Idle idle{gap, IdleCause::unknown, false, previous, next < device.ops.size() ? device.ops[next] : no_row, no_index};
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
      const bool upload = trace.ops.copy[idle.next] == CopyKind::h2d;
      host.explain(gap, launch, device.steps, upload, d.idle, idle);
    }
    std::array<std::vector<Span>, idle_names.size()> causes;
    for (const Idle& idle : d.idle) causes[static_cast<std::size_t>(idle.cause)].push_back(idle.span);
    for (std::size_t c = 0; c < causes.size(); ++c) {
      const std::vector<Ns> ns = by_step(united(std::move(causes[c])), device.steps);
      for (std::size_t k = 0; k < ns.size(); ++k) d.step_ns[k][first_idle + c] += ns[k];
    }
  }
  return account;
}

}  // namespace gh

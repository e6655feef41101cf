#include "analysis/tables/work_sums.hpp"

#include <algorithm>

#include "analysis/causes.hpp"
#include "analysis/structure/roofline.hpp"
#include "base/span_cursor.hpp"

namespace gh {
namespace {

// Products with shapes for less than this of their time leave FLOPs untold.
constexpr double nearly_all = 0.98;

// The operations that run on a device at a moment, the one that gets the time first: of the first
// cause, what began first.
class Running {
 public:
  static constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

  explicit Running(Ns start) : now_(start) {}

  // Calls claim(span, cause, group) for what ran until `to`, in order.
  template <class Claim>
  void advance(Ns to, Claim claim) {
    while (now_ < to) {
      Lane *first = nullptr, *owner = nullptr;
      for (Lane& lane : lanes_) {
        if (!lane.runs(now_)) continue;
        if (!first) first = &lane;
        // A stall has no launch of its own: it belongs to the kernel that waits.
        if (lane.front().group == nobody) continue;
        owner = &lane;
        break;
      }
      if (!first) {
        now_ = to;
        return;
      }
      const Ns until = std::min({to, first->front().end, owner ? owner->front().end : to});
      claim(Span{now_, until}, first->cause, owner ? owner->front().group : nobody);
      now_ = until;
    }
  }
  void begin(Ns end, std::size_t cause, std::uint32_t group) {
    auto lane =
        std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& l) { return l.cause >= cause; });
    if (lane == lanes_.end() || lane->cause != cause) {
      lane = lanes_.insert(lane, Lane());
      lane->cause = cause;
    }
    lane->add({end, group});
  }

 private:
  struct One {
    Ns end;
    std::uint32_t group;
  };
  // What runs of one cause, in order of start.
  struct Lane {
    std::size_t cause = 0;
    std::vector<One> all;
    std::size_t at = 0;

    const One& front() const { return all[at]; }
    bool runs(Ns now) {
      while (at < all.size() && all[at].end <= now) ++at;
      constexpr std::size_t many = 4096;
      if (at == all.size() || (at > many && 2 * at > all.size())) {
        all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at));
        at = 0;
      }
      return !all.empty();
    }
    void add(One one) { all.push_back(one); }
  };
  std::vector<Lane> lanes_;  // by cause; a program has few
  Ns now_;
};

class WorkSummer {
 public:
  WorkSummer(const Analysis& a, std::size_t groups,
             const std::function<std::uint32_t(Row)>& group_of)
      : a_(a), t_(a.trace), causes_(t_, a.classes, a.names), group_of_(group_of), sums_(groups) {}

  std::vector<WorkSum> sums() {
    for (std::size_t d = 0; d < a_.devices.size(); ++d) {
      count_work(d);
      share_busy_time(d);
      share_idle_time(d);
    }
    for (const KnownWork& w : a_.known_work()) add_known(w);
    return std::move(sums_);
  }

 private:
  WorkSum& sum_of(std::uint32_t group) {
    WorkSum& sum = sums_[group == Running::nobody ? 0 : group];
    if (sum.by_cause.empty()) {
      sum.by_cause.resize(causes_.count());
      sum.by_device.resize(a_.devices.size());
    }
    return sum;
  }

  void count_work(std::size_t device) {
    a_.each_op_in_steps(device, [&](Row op) {
      WorkSum& sum = sum_of(group_of_(op));
      const Ns ns = t_.ops.end[op] - t_.ops.start[op];
      ++sum.launches;
      sum.device_ns += ns;
      if (t_.ops.kind[op] == OpKind::kernel &&
          a_.classes.is_product(a_.names.kernel[t_.ops.name[op]]))
        sum.product_ns += ns;
    });
  }

  void share_busy_time(std::size_t device) {
    const DeviceSteps& steps = a_.devices[device];
    const Spans& window = a_.account.devices[device].window;
    if (window.empty()) return;
    const GpuFaults& faults = t_.gpu_faults;
    Running running(window.front().start);
    SpanCursor in_window(window);
    const auto claim = [&](Span s, std::size_t cause, std::uint32_t group) {
      const Ns ns = in_window.overlap(s);
      if (ns == 0) return;
      WorkSum& sum = sum_of(group);
      sum.busy_ns += ns;
      sum.by_cause[cause] += ns;
      sum.by_device[device] += ns;
    };
    Row fault = 0;
    const auto faults_until = [&](Ns at) {
      for (; fault < faults.size() && faults.start[fault] <= at; ++fault)
        if (faults.device[fault] == steps.device) {
          running.advance(faults.start[fault], claim);
          running.begin(faults.end[fault], Causes::um_stall, Running::nobody);
        }
    };
    for (const Row op : steps.ops) {
      if (t_.ops.start[op] >= window.back().end) break;
      faults_until(t_.ops.start[op]);
      running.advance(t_.ops.start[op], claim);
      const bool stalls = causes_.of(op) == Causes::um_stall;
      running.begin(t_.ops.end[op], causes_.of(op), stalls ? Running::nobody : group_of_(op));
    }
    faults_until(window.back().end - 1);
    running.advance(window.back().end, claim);
  }

  void share_idle_time(std::size_t device) {
    for (const Idle& idle : a_.account.devices[device].idle) {
      WorkSum& sum = sum_of(idle.next == no_row ? Running::nobody : group_of_(idle.next));
      const Ns ns = idle.span.length();
      sum.idle_ns += ns;
      sum.by_cause[causes_.of(idle.cause)] += ns;
      sum.by_device[device] += ns;
    }
  }

  void add_known(const KnownWork& w) {
    WorkSum& sum = sum_of(group_of_(w.op));
    sum.flops += w.flops;
    sum.bytes += w.bytes;
    if (w.flops > 0) sum.told_ns += w.ns;
    if (w.least_ns < 0) return;
    sum.known_ns += w.ns;
    sum.least_ns += w.least_ns;
    if (w.by_memory && w.flops > 0) sum.by_memory_ns += w.ns;
  }

  const Analysis& a_;
  const Trace& t_;
  const Causes causes_;
  const std::function<std::uint32_t(Row)>& group_of_;
  std::vector<WorkSum> sums_;
};

void add_to(std::vector<Ns>& to, const std::vector<Ns>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

}  // namespace

WorkSum& WorkSum::operator+=(const WorkSum& o) {
  add_to(by_cause, o.by_cause);
  add_to(by_device, o.by_device);
  busy_ns += o.busy_ns;
  idle_ns += o.idle_ns;
  device_ns += o.device_ns;
  launches += o.launches;
  flops += o.flops;
  bytes += o.bytes;
  known_ns += o.known_ns;
  least_ns += o.least_ns;
  by_memory_ns += o.by_memory_ns;
  product_ns += o.product_ns;
  told_ns += o.told_ns;
  return *this;
}

std::string WorkSum::bound_by(const Account& account) const {
  std::array<double, static_cast<std::size_t>(Limit::count)> ns{};
  const auto of = [&](Limit limit) -> double& { return ns[static_cast<std::size_t>(limit)]; };
  for (std::size_t c = 0; c < by_cause.size(); ++c)
    of(limit_of(account.kinds[c])) += static_cast<double>(by_cause[c]);
  // Products with few rows read their weights and do little with them.
  const double moved = std::min(of(Limit::compute), by_memory_ns);
  of(Limit::compute) -= moved;
  of(Limit::memory) += moved;
  const auto most = std::max_element(ns.begin(), ns.end());
  return *most > 0 ? name_of(static_cast<Limit>(most - ns.begin())) : "";
}

bool WorkSum::more_flops() const { return told_ns < nearly_all * static_cast<double>(product_ns); }

std::vector<WorkSum> sum_work(const Analysis& analysis, std::size_t groups,
                              const std::function<std::uint32_t(Row)>& group_of) {
  return WorkSummer(analysis, std::max<std::size_t>(groups, 1), group_of).sums();
}

}  // namespace gh

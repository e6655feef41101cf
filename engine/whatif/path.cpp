#include "whatif/path.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/structure/structure.hpp"
#include "analysis/tables/labels.hpp"
#include "base/text.hpp"
#include "whatif/graph.hpp"

namespace gh {
namespace {

// Between two operations of a stream; waiting for an event of another stream takes as long.
constexpr Ns usual_gap_ns = 5'000;

// By PathItem::Kind.
constexpr std::array kind_names{"compute",    "copy", "communication", "launch_latency", "gap",
                                "dependency", "call", "host",          "unrecorded",     "rest"};

class Walk {
 public:
  explicit Walk(const ReplayGraph& g)
      : g_(g),
        t_(g.analysis.trace),
        ranges_(g.analysis.structure().ranges()),
        longest_ns_(2 * g.analysis.recorded_step_ns()),
        times_(g.times(g.recorded)),
        device_of_(g.analysis.slots()),
        arriving_(g.nodes() - first_meeting_node(), no_row) {
    for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op)
      if (const Node arrived = g.start_node(op); arrived != g.op_node(op))
        arriving_[arrived - first_meeting_node()] = op;
  }

  Path back() {
    Path path;
    path.scale = g_.steps.scale;
    parts_ = &path.parts;
    Node node = find_ends(path);
    const Ns end = g_.steps.measured[device_].end;
    while (node != origin && at_ > start_) node = past(node);
    take(PathItem::Kind::unrecorded, "", start_);
    path.total_ns = end - start_;
    for (auto& [key, item] : items_) path.items.push_back(std::move(item));
    std::stable_sort(path.items.begin(), path.items.end(),
                     [](const PathItem& a, const PathItem& b) { return a.ns > b.ns; });
    return path;
  }

 private:
  // Takes the measured time of the device on which it ends last, and finds the operation that ends
  // last there.
  Node find_ends(Path& path) {
    const std::vector<Span>& measured = g_.steps.measured;
    for (std::size_t d = 0; d < measured.size(); ++d)
      if (!g_.steps.device_ops[d].empty() && (at_ == 0 || measured[d].end > at_)) {
        device_ = d;
        start_ = measured[d].start;
        at_ = measured[d].end;
      }
    if (at_ == 0) return origin;
    path.periods = g_.steps.periods(device_);
    const auto [first, count] = g_.steps.device_steps[device_];
    const std::vector<Step>& steps = g_.analysis.devices[device_].steps;
    for (std::size_t k = first + count - static_cast<std::size_t>(path.periods); k < first + count;
         ++k)
      begins_.push_back(std::max(start_, steps[k].span.start));
    Node last = origin;
    for (const Row op : g_.steps.device_ops[device_])
      if (const Node n = g_.op_node(op); last == origin || times_[n] > times_[last]) last = n;
    // What comes after it: of a window the host's work, of steps that of threads beside those whose
    // work makes a step.
    take(g_.steps.whole ? PathItem::Kind::host : PathItem::Kind::dependency, "", times_[last]);
    return last;
  }

  // The edge that determined when a node came.
  std::size_t binding(Node n) const {
    std::size_t best = 0;
    const auto comes = [&](std::size_t i) {
      return times_[g_.recorded.from[n][i]] + g_.recorded.weight[n][i];
    };
    for (std::size_t i = 1; i < g_.recorded.from[n].size(); ++i)
      if (g_.recorded.has(n, i) && (!g_.recorded.has(n, best) || comes(i) > comes(best))) best = i;
    return best;
  }

  Node past(Node n) {
    if (n >= first_meeting_node()) return past_meeting(n);
    return n >= g_.first_op_node() ? past_op(n) : past_call(n);
  }

  // Takes an operation's length, then goes to what it waited for: other members to arrive, or its
  // own start.
  Node past_op(Node n) {
    const Row op = g_.steps.ops.first + (n - g_.first_op_node());
    device_ = device_of_[t_.device_of(op)];
    take_op(op, times_[n] - g_.recorded.length[n]);
    return g_.start_node(op) == n ? past_start(n, op) : g_.recorded.from[n][edge::met];
  }

  // A meeting came with the last member to arrive, which may be on another device.
  Node past_meeting(Node n) {
    const Row op = arriving_[n - first_meeting_node()];
    if (op == no_row) return g_.recorded.from[n][binding(n)];
    device_ = device_of_[t_.device_of(op)];
    return past_start(n, op);
  }

  // What an operation waited for before it started.
  Node past_start(Node n, Row op) {
    const std::size_t place = binding(n);
    const Node before = g_.recorded.from[n][place];
    if (before == origin) return origin;
    if (place == edge::launch) {
      const Row call = call_of(before);
      take(PathItem::Kind::launch_latency, "", times_[g_.end_node(call)]);
      take_part(PathPart::Of::call, call, times_[before]);
      take(PathItem::Kind::call, t_.names[t_.calls.name[call]], times_[before]);
    } else if (at_ - times_[before] <= usual_gap_ns) {
      take(PathItem::Kind::gap, "", times_[before]);
    } else {
      take(PathItem::Kind::dependency, what(op), times_[before]);
    }
    return before;
  }

  void take_op(Row op, Ns from) {
    const std::string name = what(op);
    take_part(PathPart::Of::operation, op, from);
    if (g_.analysis.is_collective(op))
      take(PathItem::Kind::communication, g_.start_node(op) == g_.op_node(op) ? "other_ranks" : "",
           from);
    else
      take(crosses_link(t_.ops.copy[op]) ? PathItem::Kind::copy : PathItem::Kind::compute, name,
           from);
  }

  // The class of a kernel or the direction of a copy.
  std::string what(Row op) const {
    if (t_.ops.kind[op] == OpKind::graph) return "graph";
    if (crosses_link(t_.ops.copy[op])) return name_of(t_.ops.copy[op]);
    const std::string& kernel = g_.analysis.kernel_class(op);
    return kernel.empty() ? "device_copy" : kernel;
  }

  // A call's own time, what it woke up from, or what its thread did before it.
  Node past_call(Node n) {
    const Row call = call_of(n);
    const std::size_t place = binding(n);
    const Node before = g_.recorded.from[n][place];
    const Ns from = before == origin ? start_ : times_[before];
    if (n == g_.end_node(call)) {
      take_part(PathPart::Of::call, call, from);
      take(PathItem::Kind::call, t_.names[t_.calls.name[call]], from);
    } else {
      take_host(t_.calls.thread[call], from);
    }
    return before;
  }

  void take_host(std::uint16_t thread, Ns from) {
    from = std::max(from, start_);
    if (from >= at_) return;
    take_part(PathPart::Of::host, thread, from);
    const Ranges& r = t_.ranges;
    // Ranges that need not nest may be of anything; those within a step are of a part of it.
    const auto tells = [&](Row row) {
      return r.nest[row] != 0 || r.end[row] - r.start[row] <= longest_ns_;
    };
    ranges_.split(thread, {from, at_}, tells, [&](Span part, Row row) {
      const NameId name = row == no_row ? NameId{0} : r.name[row];
      const auto [label, is_new] = labels_.try_emplace(name);
      if (is_new) label->second = without_numbers(t_.names[name]);
      take(PathItem::Kind::host, label->second, part.start);
    });
  }

  // Records what takes the next part of the path.
  void take_part(PathPart::Of of, std::uint32_t row, Ns from) {
    from = std::max(from, start_);
    if (from < at_) parts_->push_back({of, row, {from, at_}});
  }

  // Adds the path's time from `from` to the current position of the walk.
  void take(PathItem::Kind kind, const std::string& name, Ns from) {
    from = std::max(from, start_);
    if (from >= at_) return;
    PathItem& item = items_[{kind, name}];
    item.kind = kind;
    item.name = name;
    item.ns += at_ - from;
    item.by_step.resize(begins_.size());
    for (Ns end = at_; end > from;) {
      std::size_t step = begins_.size() - 1;
      while (step > 0 && begins_[step] >= end) --step;
      const Ns begin = std::max(from, begins_[step]);
      item.by_step[step] += end - begin;
      end = begin;
    }
    item.by_device.resize(g_.analysis.devices.size());
    if (device_ < item.by_device.size()) item.by_device[device_] += at_ - from;
    ++item.stretches;
    if (at_ - from > item.longest.length()) item.longest = {from, at_};
    at_ = from;
  }

  Row call_of(Node n) const { return g_.steps.calls.first + (n - 1) / 2; }
  Node first_meeting_node() const { return g_.first_op_node() + g_.steps.ops.count; }

  const ReplayGraph& g_;
  const Trace& t_;
  const Nesting& ranges_;
  const Ns longest_ns_;
  const std::vector<Ns> times_;
  const std::vector<std::size_t>
      device_of_;              // index among the analyzed devices, by device of the trace
  std::vector<Row> arriving_;  // by node of meetings: the operation that arrives there
  std::vector<PathPart>* parts_ = nullptr;
  Ns at_ = 0, start_ = 0;
  std::vector<Ns> begins_;  // of the path's steps
  std::size_t device_ = 0;  // the device at whose work, or whose host's work, the walk is
  std::unordered_map<NameId, std::string> labels_;  // of ranges
  std::map<std::pair<PathItem::Kind, std::string>, PathItem> items_;
};

bool is_gpu(PathItem::Kind k) { return k <= PathItem::Kind::communication; }

}  // namespace

double Path::step_ns(const PathItem& item) const {
  return (is_gpu(item.kind) ? gpu_of_step : host_of_step) * static_cast<double>(item.ns);
}

double Path::step_ns() const {
  double sum = 0;
  for (const PathItem& item : items) sum += step_ns(item);
  return sum;
}

void Path::bring_to(Ns unprofiled_step_ns) {
  gpu_of_step = host_of_step = scale / static_cast<double>(periods);
  double gpu_ns = 0;
  for (const PathItem& item : items)
    if (is_gpu(item.kind)) gpu_ns += step_ns(item);
  const double recorded_ns = step_ns(), left_ns = static_cast<double>(unprofiled_step_ns) - gpu_ns;
  if (recorded_ns <= 0) return;
  if (left_ns > 0 && recorded_ns > gpu_ns)
    host_of_step *= left_ns / (recorded_ns - gpu_ns);
  else
    gpu_of_step = host_of_step *= static_cast<double>(unprofiled_step_ns) / recorded_ns;
}

const char* name_of(PathItem::Kind k) { return kind_names[static_cast<std::size_t>(k)]; }

std::optional<PathItem::Kind> path_kind_named(std::string_view name) {
  const auto it = std::find(kind_names.begin(), kind_names.end(), name);
  if (it == kind_names.end()) return std::nullopt;
  return static_cast<PathItem::Kind>(it - kind_names.begin());
}

Path find_path(const ReplayGraph& graph) { return Walk(graph).back(); }

}  // namespace gh

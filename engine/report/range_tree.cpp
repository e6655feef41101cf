#include "report/range_tree.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "analysis/crews.hpp"
#include "analysis/open_ranges.hpp"
#include "whatif/path.hpp"

namespace gh {
namespace {

// Beyond these a report's ranges are not told apart any further: what lies deeper, and new names,
// count as part of the range around them.
constexpr std::uint32_t most_depth = 48;
constexpr std::size_t most_nodes_built = 200'000;
// Of the step, or of its GPU work, that a node has at least.
constexpr double least_node_share = 0.0005;

class RangeTreeMaker {
 public:
  explicit RangeTreeMaker(const Analysis& a)
      : a_(a),
        t_(a.trace),
        window_(a.analysed_window()),
        is_operator_(operators_of(t_)),
        narrators_(narrators_of(t_, Crews(t_), is_operator_)),
        is_analysed_(t_.processes.size()),
        open_(t_.threads.size()),
        label_of_range_(t_.names.size(), no_label),
        label_of_frame_(t_.frames.size() > 0 ? t_.names.size() : 0, no_label) {
    for (const DeviceSteps& d : a.devices)
      if (d.process < is_analysed_.size()) is_analysed_[d.process] = 1;
  }

  RangeTree made(std::size_t most_nodes) {
    if (t_.ranges.size() == 0 && t_.frames.size() == 0) return {};
    const std::vector<Ns> launched = launched_by_calls();
    go_through(launched);
    // Parents come first, so each node is complete when it is added to its parent.
    for (std::size_t i = nodes_.size(); i-- > 0;)
      if (nodes_[i].parent != RangeNode::no_parent)
        nodes_[nodes_[i].parent].device += nodes_[i].device;
    return listed_tree(most_nodes);
  }

 private:
  static constexpr std::uint32_t no_label = std::numeric_limits<std::uint32_t>::max();
  struct Built {
    std::uint32_t parent = RangeNode::no_parent, depth = 0, label = 0;
    RangeNode::Of of = RangeNode::Of::range;
    std::int64_t count = 0;
    Ns host = 0, device = 0;
  };
  struct Open {
    Ns end = 0;
    std::uint32_t node = 0;
  };

  // By call: the time of the GPU work within the steps that it launched.
  std::vector<Ns> launched_by_calls() {
    std::vector<Ns> launched(t_.calls.size());
    for (std::size_t d = 0; d < a_.devices.size(); ++d)
      a_.each_op_in_steps(d, [&](Row op) {
        const Ns ns = t_.ops.end[op] - t_.ops.start[op];
        device_ns_ += ns;
        if (t_.ops.call[op] != no_row) launched[t_.ops.call[op]] += ns;
      });
    return launched;
  }

  // Frames, ranges and calls in the order in which they began: of those that began at once, what
  // may hold the others comes first.
  void go_through(const std::vector<Ns>& launched) {
    const Ranges& r = t_.ranges;
    const Frames& f = t_.frames;
    const Calls& c = t_.calls;
    Row range = 0, frame = 0;
    const auto open_until = [&](Ns at) {
      while (true) {
        const Ns next_range = range < r.size() ? r.start[range] : open_end,
                 next_frame = frame < f.size() ? f.start[frame] : open_end;
        if (std::min(next_range, next_frame) > at || (range == r.size() && frame == f.size()))
          return;
        if (next_frame <= next_range) {
          add(f.thread[frame], {f.start[frame], f.end[frame]}, RangeNode::Of::frame, f.name[frame]);
          ++frame;
        } else {
          add(r.thread[range], {r.start[range], r.end[range]},
              is_operator_[r.name[range]] ? RangeNode::Of::op : RangeNode::Of::range,
              r.name[range]);
          ++range;
        }
      }
    };
    for (Row call = 0; call < c.size(); ++call) {
      if (launched[call] == 0) continue;
      open_until(c.start[call]);
      if (const std::uint32_t node = innermost(c.thread[call], c.start[call]);
          node != RangeNode::no_parent)
        nodes_[node].device += launched[call];
    }
    open_until(window_.end - 1);
  }

  void add(std::uint16_t thread, Span span, RangeNode::Of of, NameId name) {
    if (span.end <= span.start || span.end <= window_.start || span.start >= window_.end ||
        !is_analysed_[t_.threads[thread].process])
      return;
    const std::uint32_t around = innermost(thread, span.start), node = child(around, of, name);
    if (node == around) return;
    nodes_[node].host += std::min(span.end, window_.end) - std::max(span.start, window_.start);
    ++nodes_[node].count;
    open_[thread].push_back({span.end, node});
  }

  // The node in which a thread is: backward's is in the ranges of the thread that called it.
  std::uint32_t innermost(std::uint16_t thread, Ns at) {
    for (const std::uint16_t whose : {thread, narrators_[thread]}) {
      std::vector<Open>& open = open_[whose];
      // Ranges of two NVTX domains may overlap in part: one that has ended may lie below one that
      // has not.
      std::erase_if(open, [&](const Open& o) { return o.end <= at; });
      if (!open.empty()) return open.back().node;
    }
    return RangeNode::no_parent;
  }

  // The node of that name within another, or that one where no more are told apart.
  std::uint32_t child(std::uint32_t around, RangeNode::Of of, NameId name) {
    const std::uint32_t depth = around == RangeNode::no_parent ? 0 : nodes_[around].depth + 1;
    if (depth >= most_depth) return around;
    const std::uint32_t label = label_of(of, name);
    const std::uint64_t key = std::uint64_t{around} << 32 | label;
    if (const auto it = children_.find(key); it != children_.end()) return it->second;
    if (nodes_.size() >= most_nodes_built) return around;
    Built built;
    built.parent = around;
    built.depth = depth;
    built.label = label;
    built.of = of;
    nodes_.push_back(built);
    return children_.emplace(key, static_cast<std::uint32_t>(nodes_.size() - 1)).first->second;
  }

  std::uint32_t label_of(RangeNode::Of of, NameId name) {
    std::uint32_t& label = (of == RangeNode::Of::frame ? label_of_frame_ : label_of_range_)[name];
    if (label != no_label) return label;
    const std::string& full = t_.names[name];
    // The numbers of a frame are those of its lines, but for those of modules.
    const bool keeps_numbers = of == RangeNode::Of::frame && !full.starts_with("nn.Module: ");
    const std::string text = of == RangeNode::Of::op ? std::string(operator_of(full))
                             : keeps_numbers         ? full
                                                     : without_numbers(full);
    const auto [it, is_new] = label_ids_.emplace(text, static_cast<std::uint32_t>(labels_.size()));
    if (is_new) labels_.push_back(text);
    return label = it->second;
  }

  // The costliest nodes, with all that is around them, depth first.
  RangeTree listed_tree(std::size_t most_nodes) const {
    const auto steps = static_cast<double>(std::max<std::int64_t>(a_.step_count(), 1));
    const auto all_host = static_cast<double>(std::max<Ns>(a_.total_ns(), 1)),
               all_device = static_cast<double>(std::max<Ns>(device_ns_, 1));
    std::vector<double> share(nodes_.size());
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      share[i] = std::max({share[i], static_cast<double>(nodes_[i].host) / all_host,
                           static_cast<double>(nodes_[i].device) / all_device});
      if (nodes_[i].parent != RangeNode::no_parent)
        share[nodes_[i].parent] = std::max(share[nodes_[i].parent], share[i]);
    }
    std::vector<std::uint32_t> costliest(nodes_.size());
    std::iota(costliest.begin(), costliest.end(), 0);
    std::stable_sort(costliest.begin(), costliest.end(),
                     [&](std::uint32_t x, std::uint32_t y) { return share[x] > share[y]; });
    std::vector<std::uint8_t> kept(nodes_.size());
    std::size_t count = 0;
    for (const std::uint32_t i : costliest)
      if (count < most_nodes && share[i] >= least_node_share) {
        kept[i] = 1;
        ++count;
      }

    RangeTree tree;
    tree.left_out = nodes_.size() - count;
    tree.step_ns = static_cast<double>(a_.total_ns()) / steps;
    tree.device_ns = static_cast<double>(device_ns_) / steps;
    std::vector<std::vector<std::uint32_t>> children(nodes_.size() + 1);  // the last: of no parent
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
      if (kept[i])
        children[nodes_[i].parent == RangeNode::no_parent ? nodes_.size() : nodes_[i].parent]
            .push_back(i);
    // Nodes to list, the next one last, each with its parent's place.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> next;
    const auto push = [&](std::size_t of, std::uint32_t place) {
      for (auto it = children[of].rbegin(); it != children[of].rend(); ++it)
        next.emplace_back(*it, place);
    };
    push(nodes_.size(), RangeNode::no_parent);
    while (!next.empty()) {
      const auto [i, parent] = next.back();
      next.pop_back();
      const Built& b = nodes_[i];
      tree.nodes.push_back(
          {parent, b.depth, b.of, labels_[b.label], static_cast<double>(b.count) / steps,
           static_cast<double>(b.host) / steps, static_cast<double>(b.device) / steps});
      push(i, static_cast<std::uint32_t>(tree.nodes.size() - 1));
    }
    return tree;
  }

  const Analysis& a_;
  const Trace& t_;
  const Span window_;
  const std::vector<std::uint8_t> is_operator_;                 // by name
  const std::vector<std::uint16_t> narrators_;                  // by thread
  std::vector<std::uint8_t> is_analysed_;                       // by process
  std::vector<std::vector<Open>> open_;                         // by thread
  std::vector<std::uint32_t> label_of_range_, label_of_frame_;  // by name
  std::unordered_map<std::string, std::uint32_t> label_ids_;
  std::vector<std::string> labels_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // by parent and label
  std::vector<Built> nodes_;
  Ns device_ns_ = 0;
};

}  // namespace

RangeTree range_tree_of(const Analysis& a, std::size_t most_nodes) {
  if (a.total_ns() == 0) return {};
  return RangeTreeMaker(a).made(most_nodes);
}

}  // namespace gh

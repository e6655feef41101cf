// The steps of a trace without ranges that tell: what repeats in the sequence of launches, at the
// level that people tune by. Inside lie layers and micro-batches, outside epochs and every tenth
// step that logs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/host_steps.hpp"
#include "analysis/launch_sequence.hpp"
#include "analysis/periods.hpp"

namespace gh {
namespace {

// What a stretch of launches holds.
struct Content {
  bool optimizer = false, product = false, loss_or_embedding = false;
  bool input = false;       // comes from the host
  bool meets_host = false;  // a copy from or to it, a wait for the device, a graph
  // Nothing of what a step of a model has and its layers have not.
  bool is_inside() const { return !optimizer && !loss_or_embedding && !meets_host; }
};

class UnitSearch {
 public:
  UnitSearch(const Trace& trace, const Classes& classes, const NameClasses& names,
             const std::vector<Row>& device_ops)
      : trace_(trace), classes_(classes), names_(names), seq_(trace, names, device_ops) {}

  std::optional<HostSteps> steps() {
    std::vector<Period> levels = find_periods(seq_);
    std::erase_if(levels, [&](const Period& p) { return is_weak(p); });
    drop_smaller(levels);
    std::vector<Period> layers;
    if (is_model())
      for (const Period& p : levels)
        if (is_layer(p)) layers.push_back(p);
    std::erase_if(levels, [&](const Period& p) { return is_model() && is_layer(p); });
    if (levels.empty()) return std::nullopt;
    const Period& unit = levels[chosen(levels)];
    HostSteps steps{.source = StepSource::kernels,
                    .described = "what repeats in the launches",
                    .begins = {},
                    .levels = levels_of(unit)};
    steps.cut_off = static_cast<std::int64_t>(unit.seen - std::min(unit.seen, unit.count()));
    for (std::size_t k = 0; k < unit.count(); ++k)
      steps.begins.push_back({seq_.begun(unit.begin_of(k)), static_cast<std::int64_t>(k)});
    const std::size_t end = unit.cuts.back();
    steps.end = end < seq_.size() ? seq_.begun(end) : seq_.begun(end - 1) + 1;
    return steps;
  }

 private:
  // One entry that comes again and again, at any distance, proves little.
  static bool is_weak(const Period& p) {
    return p.regular_fraction < 0.25 || (p.kinds < 2 && p.regular_fraction < 0.6) ||
           (p.kinds < 8 && p.regular_fraction < 0.4);
  }

  // Start-up has loops too: the one in which the device works most is meant.
  static void drop_smaller(std::vector<Period>& levels) {
    double most = 0;
    for (const Period& p : levels) most = std::max(most, p.busy_ns);
    std::erase_if(levels, [&](const Period& p) { return 2 * p.busy_ns < most; });
  }

  // Which level people tune by: the outermost that is more than the next one in a row.
  std::size_t chosen(const std::vector<Period>& levels) const {
    std::size_t unit = 0;
    for (std::size_t inner = 1; inner < levels.size(); ++inner)
      if (is_loop_of_its_own(levels[inner], levels[unit])) unit = inner;
    return unit;
  }

  // Whether an inner level is the unit already: what is around it is less than one of it (every
  // tenth step logs), or it trains and what is around it does not (epochs).
  bool is_loop_of_its_own(const Period& inner, const Period& outer) const {
    const double each = static_cast<double>(inner.count()) / static_cast<double>(outer.count());
    if (each < 1.5) return inner.kinds > outer.kinds;
    // Of three streams that take turns each brings kinds of its own.
    if (static_cast<double>(inner.kinds) * each < static_cast<double>(outer.kinds)) return false;
    const Content within = content(inner), around = content(outer);
    if (around.optimizer && !within.optimizer) return false;
    if (is_model() && within.is_inside()) return false;
    const double added = static_cast<double>(outer.length()) -
                         std::round(each) * static_cast<double>(inner.length());
    const double added_ns = outer.busy_ns / static_cast<double>(outer.count()) -
                            each * inner.busy_ns / static_cast<double>(inner.count());
    if (within.optimizer && within.product) return true;
    return 2 * added < static_cast<double>(inner.length()) ||
           4 * added_ns < inner.busy_ns / static_cast<double>(inner.count());
  }

  // A layer of a model has nothing of what a step has: input, embedding, loss, optimizer, a graph,
  // a wait; and no layers inside. Something comes before the first and after the last.
  bool is_layer(const Period& p) const {
    if (50 * (p.cuts.back() - p.cuts.front()) > 49 * seq_.size()) return false;
    if (!content(p).is_inside()) return false;
    const auto inner = repeat_within(seq_, p.begin_of(p.typical), p.end_of(p.typical));
    return !inner || inner->share < 0.75;
  }

  bool is_model() const {
    for (std::size_t i = 0; i < seq_.size(); ++i)
      if (seq_.is(i, OpKind::kernel) &&
          trace_.names[trace_.ops.name[seq_.op(i)]].find("at::native") != std::string::npos)
        return true;
    return false;
  }

  Content content(const Period& p) const {
    return content(p.begin_of(p.typical), p.end_of(p.typical));
  }

  Content content(std::size_t from, std::size_t to) const {
    Content c;
    for (std::size_t i = from; i < to; ++i) {
      const Row op = seq_.op(i);
      if (seq_.waits(i) || seq_.is(i, OpKind::graph)) {
        c.meets_host = true;
      } else if (op == no_row) {
        continue;  // takes or returns memory
      } else if (seq_.is(i, OpKind::kernel)) {
        const std::string& k = classes_.kernel_classes()[names_.kernel[trace_.ops.name[op]]];
        c.optimizer = c.optimizer || k == "optimizer";
        c.loss_or_embedding = c.loss_or_embedding || k == "softmax_loss" || k == "embedding";
        c.product =
            c.product || k.starts_with("gem") || k.starts_with("conv") || k == "attention_fused";
      } else if (trace_.ops.copy[op] == CopyKind::h2d || trace_.ops.copy[op] == CopyKind::d2h) {
        c.meets_host = true;
        c.input = c.input || trace_.ops.copy[op] == CopyKind::h2d;
      }
    }
    return c;
  }

  std::vector<UnitLevel> levels_of(const Period& unit) const {
    const Content c = content(unit);
    std::vector<UnitLevel> levels{{c.optimizer ? "training step" : "iteration",
                                   static_cast<std::int64_t>(std::max(unit.seen, unit.count()))}};
    std::size_t from = unit.begin_of(unit.typical), to = unit.end_of(unit.typical);
    while (const auto inner = repeat_within(seq_, from, to)) {
      from = inner->begin;
      to = from + inner->length;
      const Content in = content(from, to);
      const bool batch = c.optimizer && (in.loss_or_embedding || in.input);
      if (!batch && !(is_model() && in.product)) break;
      levels.push_back({batch ? "micro-batch" : "layer", static_cast<std::int64_t>(inner->count)});
      if (!batch) break;
    }
    return levels;
  }

  const Trace& trace_;
  const Classes& classes_;
  const NameClasses& names_;
  const LaunchSequence seq_;
};

}  // namespace

std::optional<HostSteps> steps_from_launches(const Trace& trace, const Classes& classes,
                                             const NameClasses& names,
                                             const std::vector<Row>& device_ops) {
  return UnitSearch(trace, classes, names, device_ops).steps();
}

}  // namespace gh

// Finds the steps of a trace without ranges that mark them: repetitions in the sequence of
// launches, at the level that people tune by. Layers and micro-batches lie inside a step; epochs
// and every tenth step that logs lie around it.
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/host_steps.hpp"
#include "analysis/inner_repeat.hpp"
#include "analysis/launch_sequence.hpp"
#include "analysis/periods.hpp"
#include "analysis/unit_names.hpp"

namespace gh {
namespace {
// Start-up has loops too: keep the loop in which the device works most.
void drop_smaller(std::vector<Period>& levels) {
  double most = 0;
  for (const Period& p : levels) most = std::max(most, p.busy_ns);
  std::erase_if(levels, [&](const Period& p) { return 2 * p.busy_ns < most; });
}

struct FoundUnit {
  Period period;
  std::size_t micro_batches = 0;  // that feed one update, where these were found and the unit not
  const Period* micro_batch = nullptr;  // the level of these
};

class UnitSearch {
 public:
  UnitSearch(const Trace& trace, const UnitNames& names, const LaunchSequence& sequence,
             std::uint16_t process)
      : trace_(trace), names_(names), seq_(sequence) {
    if (names_.may_be_layers()) find_modules(process);
  }

  // Levels that may be the unit, outermost first.
  std::vector<Period> levels() const {
    std::vector<Period> levels = find_periods(seq_);
    drop_smaller(levels);
    std::erase_if(levels, [&](const Period& p) { return is_layer(p); });
    return levels;
  }

  // The level that people tune by. Two repetitions are enough only where three of nothing serve:
  // the recording holds two updates of many micro-batches each, or two images with most of their
  // work around the loop.
  std::optional<FoundUnit> unit(const std::vector<Period>& levels) const {
    const Period* chosen = levels.empty() ? nullptr : &levels[chosen_of(levels)];
    if (chosen && !(chosen->is_nearly_whole() && holds_half(*chosen))) chosen = nullptr;
    if (chosen) {
      if (std::optional<Period> sizes = cut_by_size(seq_, *chosen))
        return FoundUnit{std::move(*sizes)};
      return closed_by_updates(*chosen).value_or(FoundUnit{*chosen});
    }
    if (std::optional<Period> twice = find_twice(seq_)) return FoundUnit{std::move(*twice)};
    return std::nullopt;
  }

 private:
  // The outermost level that is more than a sequence of the next one.
  std::size_t chosen_of(const std::vector<Period>& levels) const {
    std::size_t unit = 0;
    for (std::size_t inner = 1; inner < levels.size(); ++inner)
      if (is_loop_of_its_own(levels[inner], levels[unit])) unit = inner;
    return unit;
  }

  // Whether the loop takes half of the device's work or of the recording's time.
  bool holds_half(const Period& p) const {
    double busy_ns = 0;
    for (std::size_t i = 0; i < seq_.size(); ++i) busy_ns += static_cast<double>(seq_.busy_ns(i));
    const auto ns = [&](std::size_t from, std::size_t to) {
      return static_cast<double>(seq_.begun(std::min(to, seq_.size() - 1)) - seq_.begun(from));
    };
    const double least = least_of_loop(p.count());
    return p.busy_ns >= least * busy_ns ||
           ns(p.cuts.front(), p.cuts.back()) >= least * ns(0, seq_.size());
  }

  // Where as many repetitions each feed one update of the model, the update closes the unit.
  std::optional<FoundUnit> closed_by_updates(const Period& p) const {
    if (content(p).optimizer) return std::nullopt;
    // The last update may follow the last repetition.
    std::size_t last = std::min(seq_.size(), p.cuts.back() + p.length());
    while (last > p.cuts.back() && !names_.content(last - 1, last).optimizer) --last;
    const auto end_of = [&](std::size_t k) { return k + 1 < p.count() ? p.end_of(k) : last; };
    std::vector<std::size_t> ends;  // the repetitions that hold the optimizer's work
    for (std::size_t k = 0; k < p.count(); ++k)
      if (names_.content(p.begin_of(k), end_of(k)).optimizer) ends.push_back(k);
    if (ends.size() < 2 || ends[1] - ends[0] < 2) return std::nullopt;
    const std::size_t each = ends[1] - ends[0];
    for (std::size_t n = 1; n < ends.size(); ++n)
      if (ends[n] - ends[n - 1] != each) return std::nullopt;
    std::vector<std::size_t> cuts;
    if (ends.front() + 1 >= each) cuts.push_back(p.begin_of(ends.front() + 1 - each));
    for (const std::size_t k : ends) cuts.push_back(end_of(k));
    if (cuts.size() < 3) return std::nullopt;
    return FoundUnit{period_at(seq_, std::move(cuts)), each, &p};
  }

  // Whether an inner level leaves work out that the outer one holds: most of what the inner one
  // leaves out recurs in the outer one.
  static bool leaves_work_out(const Period& inner, const Period& outer) {
    if (inner.leaves_little_out()) return false;
    return outer.leaves_little_out() ||
           2 * (1 - outer.recurring_busy_fraction) < 1 - inner.recurring_busy_fraction;
  }

  // Whether each repetition of the inner level trains: it holds what a step has, and as many
  // updates as each other. What the outer one adds updates nothing then, as a validation does.
  bool is_training_step(const Period& inner, const UnitContent& within,
                        const UnitContent& around) const {
    constexpr double about = 0.1;  // one of them may be cut off
    if (!within.optimizer || !within.product) return false;
    if ((around.loss_or_embedding && !within.loss_or_embedding) || (around.input && !within.input))
      return false;
    const auto updates = [&](std::size_t from, std::size_t to) {
      return static_cast<double>(names_.updates(from, to));
    };
    const double each = updates(inner.begin_of(inner.typical), inner.end_of(inner.typical)),
                 all = updates(inner.cuts.front(), inner.cuts.back());
    return std::abs(all - each * static_cast<double>(inner.count())) <= about * all;
  }

  UnitContent content(const Period& p) const {
    return names_.content(p.begin_of(p.typical), p.end_of(p.typical));
  }

  // Whether an inner level is already the unit: the level around it adds less than one of it (every
  // tenth step logs), or the inner one trains and the outer one does not (epochs).
  bool is_loop_of_its_own(const Period& inner, const Period& outer) const {
    const double each = static_cast<double>(inner.count()) / static_cast<double>(outer.count());
    if (each < 1.5)
      return std::tuple(inner.kinds, inner.regular_fraction) >
             std::tuple(outer.kinds, outer.regular_fraction);
    // Each of three streams that take turns adds kinds of its own.
    if (static_cast<double>(inner.kinds) * each < static_cast<double>(outer.kinds)) return false;
    const UnitContent within = content(inner), around = content(outer);
    const bool is_step = is_training_step(inner, within, around);
    if (!is_step && leaves_work_out(inner, outer)) return false;
    if (around.optimizer && !within.optimizer) return false;
    if (names_.may_be_layers() && within.is_inside()) return false;
    // Layers take in nothing of their own, although the program is not known to run a model.
    if (within.is_inside() && within.product && around.input) return false;
    if (inner.is_whole()) return true;
    if (is_step && (inner.regular_fraction >= 0.75 || inner.leaves_little_out())) return true;
    const double added = static_cast<double>(outer.length()) -
                         std::round(each) * static_cast<double>(inner.length());
    const double added_ns = outer.typical_ns - std::round(each) * inner.typical_ns;
    return 2 * added < static_cast<double>(inner.length()) || 4 * added_ns < inner.typical_ns;
  }

  // A layer of a model has nothing of what a step has (input, embedding, loss, optimizer, a graph,
  // a wait) and contains no layers. Something comes before the first and after the last. Ranges
  // that name a module by its index also mark layers.
  bool is_layer(const Period& p) const {
    if (!names_.may_be_layers()) return false;
    if (are_modules(p)) return true;
    if (50 * (p.cuts.back() - p.cuts.front()) > 49 * seq_.size() || !content(p).is_inside())
      return false;
    return !holds_layers(seq_, p.begin_of(p.typical), p.end_of(p.typical));
  }

  // Whether each repetition begins with a different module, "blocks.3", rather than all with the
  // same.
  bool are_modules(const Period& p) const {
    std::size_t told = 0, other = 0;
    std::uint32_t before = 0;
    for (std::size_t k = 0, m = 0; k < p.count(); ++k) {
      while (m < modules_.size() && modules_[m].at < seq_.begun(p.begin_of(k))) ++m;
      if (m == modules_.size() || modules_[m].at > seq_.begun(p.end_of(k) - 1)) continue;
      told += before != 0;
      other += before != 0 && modules_[m].number != before;
      before = modules_[m].number;
    }
    return told >= 3 && 10 * other >= 8 * told;
  }

  // Ranges that name a module of a list, with the list's outermost index: "encoder.block.14".
  void find_modules(std::uint16_t process) {
    static const re2::RE2 indexed("([A-Za-z_][A-Za-z_.]*\\.\\d+)(?:\\D|$)");
    std::unordered_map<NameId, std::uint32_t> known;  // the module's number; 0 for other ranges
    std::unordered_map<std::string, std::uint32_t> numbers;
    for (Row r = 0; r < trace_.ranges.size(); ++r) {
      if (trace_.threads[trace_.ranges.thread[r]].process != process) continue;
      const auto [it, added] = known.try_emplace(trace_.ranges.name[r], 0);
      std::string module;
      if (added && re2::RE2::PartialMatch(trace_.names[it->first], indexed, &module))
        it->second = numbers.try_emplace(module, static_cast<std::uint32_t>(numbers.size() + 1))
                         .first->second;
      if (it->second != 0) modules_.push_back({trace_.ranges.start[r], it->second});
    }
  }

  struct Module {
    Ns at = 0;
    std::uint32_t number = 0;
  };

  const Trace& trace_;
  const UnitNames& names_;
  const LaunchSequence& seq_;
  std::vector<Module> modules_;  // in order
};

HostSteps steps_of(const Period& unit, const LaunchSequence& sequence) {
  HostSteps steps{
      .source = StepSource::kernels, .described = "repeated launches", .begins = {}, .levels = {}};
  for (std::size_t k = 0; k < unit.count(); ++k)
    steps.begins.push_back({sequence.begun(unit.begin_of(k)), static_cast<std::int64_t>(k)});
  const std::size_t end = unit.cuts.back();
  steps.end = end < sequence.size() ? sequence.begun(end) : sequence.begun(end - 1) + 1;
  steps.cut_off = static_cast<std::int64_t>(unit.seen - std::min(unit.seen, unit.count()));
  return steps;
}

class UnitChoice {
 public:
  UnitChoice(const UnitNames& names, const LaunchSequence& sequence)
      : names_(names), seq_(sequence) {}

  // The steps of a level, with the repetitions in each.
  HostSteps steps(const Period& unit, std::size_t micro_batches = 0) const {
    const std::size_t from = unit.begin_of(unit.typical), to = unit.end_of(unit.typical);
    HostSteps steps = steps_of(unit, seq_);
    if (micro_batches > 0) {
      steps.levels = names_.levels_within(from, from + (to - from) / micro_batches);
      steps.levels.insert(steps.levels.begin(),
                          {"micro-batch", static_cast<std::int64_t>(micro_batches)});
    } else {
      steps.levels = names_.levels_within(unit);
    }
    steps.levels.insert(steps.levels.begin(),
                        {names_.name_of(from, to, ""),
                         static_cast<std::int64_t>(std::max(unit.seen, unit.count()))});
    return steps;
  }

  // The steps of each level that has a name, and of those inside of the unit or of one within it.
  // `micro_batch`: the level that updates close.
  std::vector<HostSteps> all(const std::vector<Period>& levels, std::size_t units,
                             const Period* micro_batch) const {
    std::vector<HostSteps> found;
    for (const Period& level : levels) {
      std::string name =
          &level == micro_batch ? "micro-batch" : name_of(level, &level != &levels.front());
      if (name.empty()) continue;
      found.push_back(steps(level));
      found.back().levels.front().name = std::move(name);
    }
    for (const Period& level : levels)
      if (level.count() >= units)
        if (std::optional<HostSteps> inner = inside(level)) found.push_back(std::move(*inner));
    return found;
  }

 private:
  // The name of the layers within a model's passes; "" for the layers of a training step, which run
  // forward and backward, so that no layer is one contiguous span.
  std::string name_of(const Period& level, bool is_inner) const {
    const std::size_t from = level.begin_of(level.typical), to = level.end_of(level.typical);
    const bool is_layer =
        is_inner && names_.may_be_layers() && names_.content(from, to).is_inside();
    if (!is_layer) return names_.name_of(from, to, "");
    return names_.trains() ? "" : "layer";
  }

  // The inner repetition has to fill most of the level around it: layers do so in a token, but not
  // in a training step, where they run forward and backward.
  std::optional<HostSteps> inside(const Period& level) const {
    constexpr double least_share = 0.75;
    const std::size_t from = level.begin_of(level.typical), to = level.end_of(level.typical);
    const auto inner = repeat_within(seq_, from, to);
    const std::vector<UnitLevel> levels = names_.levels_within(from, to);
    if (!inner || levels.empty() || inner->share < least_share) return std::nullopt;
    const auto beginning = once_in_each(*inner);
    if (!beginning) return std::nullopt;
    Period period;
    for (std::size_t i = level.cuts.front(); i < level.cuts.back(); ++i)
      if (seq_.exact().at[i] == *beginning) period.cuts.push_back(i);
    period.cuts.push_back(level.cuts.back());
    period.typical = period.count() / 2;
    HostSteps found = steps_of(period, seq_);
    found.levels.assign(levels.begin(), levels.end());
    found.levels.front().count = static_cast<std::int64_t>(period.count());
    return found;
  }

  // The first token that occurs once in each inner repetition; nothing if there is none.
  std::optional<LaunchSequence::Token> once_in_each(const InnerRepeat& inner) const {
    const auto& tokens = seq_.exact().at;
    std::map<LaunchSequence::Token, std::size_t> times;
    for (std::size_t i = inner.begin; i < inner.begin + inner.length; ++i) ++times[tokens[i]];
    for (std::size_t i = inner.begin; i < inner.begin + inner.length; ++i)
      if (times[tokens[i]] == 1) return tokens[i];
    return std::nullopt;
  }

  const UnitNames& names_;
  const LaunchSequence& seq_;
};

}  // namespace

std::optional<HostSteps> steps_from_launches(const Trace& trace, const Classes& classes,
                                             const NameClasses& names, const ProgramKind& program,
                                             const DeviceSteps& device) {
  const LaunchSequence sequence(trace, classes, names, device.ops);
  const UnitNames unit_names(trace, classes, names, program, sequence);
  const UnitSearch search(trace, unit_names, sequence, device.process);
  const std::vector<Period> levels = search.levels();
  const std::optional<FoundUnit> unit = search.unit(levels);
  if (!unit) return std::nullopt;
  return UnitChoice(unit_names, sequence).steps(unit->period, unit->micro_batches);
}

std::vector<HostSteps> levels_from_launches(const Trace& trace, const Classes& classes,
                                            const NameClasses& names, const ProgramKind& program,
                                            const DeviceSteps& device) {
  const LaunchSequence sequence(trace, classes, names, device.ops);
  const UnitNames unit_names(trace, classes, names, program, sequence);
  const UnitSearch search(trace, unit_names, sequence, device.process);
  const std::vector<Period> levels = search.levels();
  const std::optional<FoundUnit> unit = search.unit(levels);
  return UnitChoice(unit_names, sequence)
      .all(levels, unit ? unit->period.count() : 0, unit ? unit->micro_batch : nullptr);
}

}  // namespace gh

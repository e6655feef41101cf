#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/host_steps.hpp"
#include "analysis/launch_times.hpp"
#include "base/unit_words.hpp"

namespace gh {
namespace {

using At = Classes::StepPattern::At;

// A range's name with its number replaced, and the number: "step 12" -> "step #", 12.
struct CountedName {
  std::string pattern;
  std::optional<std::int64_t> number;
};

CountedName counted(std::string name) {
  name.resize(without_arguments(name).size());
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  // "epoch 1 step 7" counts steps, whatever number comes first.
  static const re2::RE2 noun(
      "(?i)(?:step|iter|iteration|batch|token|frame|tile|request)[ _:=#./-]*(\\d)");
  static const re2::RE2 total(" *(of|/) *\\d+$");
  RE2::Replace(&name, total, "");  // "step 7 of 600"
  re2::StringPiece number;
  const auto from = RE2::PartialMatch(name, noun, &number)
                        ? name.begin() + (number.data() - name.data())
                        : std::find_if(name.begin(), name.end(), digit);
  if (from == name.end()) return {name, std::nullopt};
  const auto to = std::find_if_not(from, name.end(), digit);
  if (to - from > 15) return {name, std::nullopt};
  const std::string before(name.begin(), from);  // "ProfilerStep#12" has a # already
  return {before + (before.ends_with('#') ? "" : "#") + std::string(to, name.end()),
          std::stoll(std::string(from, to))};
}

// What a name says about its ranges, looked up once for each distinct name rather than for each
// range.
class StepNames {
 public:
  struct StepName : CountedName {
    std::size_t priority = 0;
  };

  /// `unit`: what the ranges must be called, instead of being steps.
  StepNames(const Trace& trace, const Classes& classes, std::string unit)
      : trace_(trace), classes_(classes), unit_(std::move(unit)), no_step_(trace.names.size()) {}

  // Nothing if ranges of this name are not steps.
  const StepName* find(NameId id) {
    if (no_step_[id]) return nullptr;
    if (const auto it = steps_.find(id); it != steps_.end()) return &it->second;
    const std::string& name = trace_.names[id];
    if (std::optional<StepName> step = look_up(name))
      return &steps_.emplace(id, std::move(*step)).first->second;
    no_step_[id] = 1;
    return nullptr;
  }

 private:
  std::optional<StepName> look_up(const std::string& name) const {
    const std::vector<std::size_t> lists = classes_.steps_called(name);
    const std::size_t listed = classes_.steps().size();
    const std::size_t priority = lists.empty() ? listed : lists.front();
    if (!unit_.empty()) {
      StepName step{counted(name), priority};
      return is_called(classes_.unit_of_range(step.pattern), unit_) ? std::optional(step)
                                                                    : std::nullopt;
    }
    if (!lists.empty() && lists.back() == listed) return std::nullopt;
    if (priority < listed) return StepName{counted(name), priority};
    // A name in no list may still count steps, but only if it ends in its number: "update 7", not
    // "aten::mm, op_id = 7, sizes = ...".
    if (name.size() >= 64) return std::nullopt;
    StepName step{counted(name), priority};
    return step.number && step.pattern.ends_with('#') ? std::optional(step) : std::nullopt;
  }

  const Trace& trace_;
  const Classes& classes_;
  const std::string unit_;
  std::map<NameId, StepName> steps_;
  std::vector<std::uint8_t> no_step_;  // by name
};

// Ranges with one name (apart from numbers) on one thread.
struct RangeGroup {
  std::string pattern;
  // Position in schemas/ranges.toml; past its end for names that merely count.
  std::size_t priority = 0;
  std::vector<Row> rows;
  std::vector<std::int64_t> numbers;  // empty if they do not count
};

std::vector<RangeGroup> grouped(const Trace& trace, const Classes& classes,
                                const DeviceSteps& device, const std::string& unit) {
  StepNames names(trace, classes, unit);
  std::map<std::pair<std::string, std::uint16_t>, RangeGroup> by_name_and_thread;
  for (Row r = 0; r < trace.ranges.size(); ++r) {
    const std::uint16_t thread = trace.ranges.thread[r];
    if (trace.threads[thread].process != device.process) continue;
    if (!device.other_crew.empty() && device.other_crew[thread] != no_index) continue;
    const auto* name = names.find(trace.ranges.name[r]);
    if (!name) continue;
    RangeGroup& group = by_name_and_thread[{name->pattern, thread}];
    group.priority = name->priority;
    group.rows.push_back(r);
    if (name->number) group.numbers.push_back(*name->number);
  }
  std::vector<RangeGroup> groups;
  for (auto& [key, group] : by_name_and_thread) {
    group.pattern = key.first;
    const bool counts =
        group.numbers.size() == group.rows.size() &&
        std::is_sorted(group.numbers.begin(), group.numbers.end(), std::less_equal<>());
    if (!counts) group.numbers.clear();
    groups.push_back(std::move(group));
  }
  return groups;
}

// Decides whether ranges of a group are steps.
class StepTest {
 public:
  StepTest(const Trace& trace, const Classes& classes, const std::vector<Row>& ops)
      : trace_(trace), classes_(classes), launches_(trace, ops) {}

  bool follow_each_other(const RangeGroup& group) const {
    return group.rows.size() >= 2 && disjoint(group.rows);
  }

  bool are_steps(const RangeGroup& group) const {
    const bool listed = group.priority < classes_.steps().size();
    const bool counts = !group.numbers.empty();
    if (!follow_each_other(group)) return false;
    if (!listed && !(counts && group.rows.size() >= 3)) return false;
    // Steps that launch nothing are not steps; marks between steps need not launch.
    const bool whole = !listed || classes_.steps()[group.priority].at == At::whole;
    if (whole && 10 * launching(group.rows) < 9 * group.rows.size()) return false;
    return listed || covers_most(group.rows);
  }

 private:
  bool disjoint(const std::vector<Row>& rows) const {
    for (std::size_t i = 1; i < rows.size(); ++i)
      if (trace_.ranges.start[rows[i]] < trace_.ranges.end[rows[i - 1]]) return false;
    return true;
  }

  // How many ranges have something launched inside, whether or not the profiler lost it.
  std::size_t launching(const std::vector<Row>& rows) const {
    return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&](Row r) {
      const Span span{trace_.ranges.start[r], trace_.ranges.end[r]};
      return launches_.any(span) || trace_.lost.any_in(span);
    }));
  }

  // A range with an unknown name has to cover what the process launched, or else it is just a
  // phase.
  bool covers_most(const std::vector<Row>& rows) const {
    const Span all{trace_.ranges.start[rows.front()], trace_.ranges.end[rows.back()]};
    return 2 * launches_.count(all) >= launches_.size();
  }

  const Trace& trace_;
  const Classes& classes_;
  LaunchTimes launches_;
};

// Whether a process recorded anything that began at `from` or later, or was still running then. For
// ranges and OS calls only the start counts: if cut off, they keep their whole length.
bool recorded_from(const Trace& t, std::uint16_t process, Ns from) {
  const auto begins = [&](const auto& table) {
    for (Row r = table.size(); r-- > 0 && table.start[r] >= from;)
      if (t.threads[table.thread[r]].process == process) return true;
    return false;
  };
  if (begins(t.ranges) || begins(t.os_calls)) return true;
  for (Row op = t.ops.size(); op-- > 0;)
    if (t.ops.end[op] >= from && t.process_of(op) == process) return true;
  for (Row c = t.calls.size(); c-- > 0;)
    if (t.calls.end[c] >= from && t.threads[t.calls.thread[c]].process == process) return true;
  return false;
}

// Whether anything was recorded for a process before `to`, by the same rules.
bool recorded_until(const Trace& t, std::uint16_t process, Ns to) {
  const auto begins = [&](const auto& table) {
    for (Row r = 0; r < table.size() && table.start[r] <= to; ++r)
      if (t.threads[table.thread[r]].process == process) return true;
    return false;
  };
  if (begins(t.calls) || begins(t.os_calls)) return true;
  for (Row op = 0; op < t.ops.size() && t.ops.start[op] <= to; ++op)
    if (t.process_of(op) == process) return true;
  for (Row r = 0; r < t.ranges.size() && t.ranges.start[r] <= to; ++r)
    if (t.ranges.end[r] <= to && t.threads[t.ranges.thread[r]].process == process) return true;
  return false;
}

// A recording, or a part of one, may begin or end within a step, whose range goes on. A step at
// either end does not count if nothing was recorded for more than half of it.
void leave_out_cut_off(const Trace& trace, std::uint16_t process, HostSteps& steps) {
  if (const Ns begin = steps.begins.back().at;
      !recorded_from(trace, process, begin + (steps.end - begin) / 2)) {
    steps.end = begin;
    steps.begins.pop_back();
  }
  if (steps.begins.empty()) return;
  const Ns begin = steps.begins.front().at,
           end = steps.begins.size() > 1 ? steps.begins[1].at : steps.end;
  if (!recorded_until(trace, process, begin + (end - begin) / 2))
    steps.begins.erase(steps.begins.begin());
}

HostSteps steps_of(const Trace& trace, const Classes& classes, const RangeGroup& group) {
  HostSteps steps{.source = StepSource::ranges,
                  .described = fmt::format("{} '{}'", trace.ranges_are, group.pattern),
                  .noun = classes.unit_of_range(group.pattern),
                  .begins = {},
                  .levels = {}};
  // A step begins where the previous range ended, so that work launched between two ranges belongs
  // to the second. The work launched in the first range bounds the second step, so n ranges give n
  // - 1 steps. Marks stand between two steps, at the start or end of their range.
  const bool at_start =
      group.priority < classes.steps().size() && classes.steps()[group.priority].at == At::start;
  const auto boundary = [&](std::size_t i) {
    return at_start ? trace.ranges.start[group.rows[i]] : trace.ranges.end[group.rows[i]];
  };
  // From one end to the next is the step of the second range, or mark.
  const std::size_t shift = at_start ? 0 : 1;
  for (std::size_t i = 0; i + 1 < group.rows.size(); ++i)
    steps.begins.push_back({boundary(i), group.numbers.empty()
                                             ? static_cast<std::int64_t>(i + shift)
                                             : group.numbers[i + shift]});
  steps.end = boundary(group.rows.size() - 1);
  steps.cut_off = 1;
  return steps;
}

// By the order of the list; among equals the one with the most ranges: micro steps rather than
// none, steps rather than epochs.
bool better(const RangeGroup& a, const RangeGroup& b) {
  return std::tuple(a.priority, b.rows.size()) < std::tuple(b.priority, a.rows.size());
}

std::optional<HostSteps> best_of(const Trace& trace, const Classes& classes, std::uint16_t process,
                                 const std::vector<RangeGroup>& groups,
                                 const std::function<bool(const RangeGroup&)>& fits) {
  const RangeGroup* best = nullptr;
  for (const RangeGroup& group : groups)
    if (fits(group) && (!best || better(group, *best))) best = &group;
  if (!best) return std::nullopt;
  HostSteps steps = steps_of(trace, classes, *best);
  leave_out_cut_off(trace, process, steps);
  if (steps.begins.empty()) return std::nullopt;
  return steps;
}

}  // namespace

std::optional<HostSteps> steps_from_ranges(const Trace& trace, const Classes& classes,
                                           const DeviceSteps& device) {
  const StepTest test(trace, classes, device.ops);
  return best_of(trace, classes, device.process, grouped(trace, classes, device, ""),
                 [&](const RangeGroup& group) { return test.are_steps(group); });
}

std::optional<HostSteps> ranges_called(const Trace& trace, const Classes& classes,
                                       const DeviceSteps& device, const std::string& unit) {
  const StepTest test(trace, classes, device.ops);
  return best_of(trace, classes, device.process, grouped(trace, classes, device, unit),
                 [&](const RangeGroup& group) { return test.follow_each_other(group); });
}

}  // namespace gh

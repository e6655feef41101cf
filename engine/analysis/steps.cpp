#include "analysis/steps.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/parallel.hpp"

namespace gh {
namespace {

// Where the host goes from one step to the next.
struct Mark {
  Ns at = 0;
  std::int64_t number = 0;
};

struct Marks {
  StepSource source = StepSource::none;
  std::string described;
  std::vector<Mark> begins;  // where the host begins each step
  Ns end = 0;                // where it ends the last
};

// A range's name with its number taken out, and the number: "step 12" -> "step #", 12.
struct Counted {
  std::string pattern;
  std::optional<std::int64_t> number;
};
Counted counted(std::string name) {
  // torch.autograd.profiler.emit_nvtx appends sequence numbers and shapes: "..., seq = 12, op_id =
  // 34, sizes = [...]".
  for (const char* suffix : {", seq = ", ", op_id = ", ", sizes = "})
    if (const std::size_t at = name.find(suffix); at != std::string::npos) name.resize(at);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  // "epoch 1 step 7" counts steps, whatever number comes first.
  static const re2::RE2 noun("(?i)(?:step|iter|iteration|batch)[ _:=#./-]*(\\d)");
  static const re2::RE2 total(" *(of|/) *\\d+$");
  RE2::Replace(&name, total, "");  // "step 7 of 600"
  re2::StringPiece number;
  const auto from = RE2::PartialMatch(name, noun, &number)
                        ? name.begin() + (number.data() - name.data())
                        : std::find_if(name.begin(), name.end(), digit);
  if (from == name.end()) return {name, std::nullopt};
  const auto to = std::find_if_not(from, name.end(), digit);
  if (to - from > 15) return {name, std::nullopt};
  const std::string before(name.begin(), from);  // "ProfilerStep#12" has its sign already
  return {before + (before.ends_with('#') ? "" : "#") + std::string(to, name.end()),
          std::stoll(std::string(from, to))};
}

// Ranges with one name (numbers aside) on one thread.
struct RangeGroup {
  std::string pattern;
  std::size_t priority =
      0;  // position in schemas/ranges.toml; after its end for names that merely count
  Classes::StepPattern::At at = Classes::StepPattern::At::whole;
  std::vector<Row> rows;
  std::vector<std::int64_t> numbers;  // empty where they do not count
};

// When an operation was launched: steps are cut by what the host did. Without its call (cut
// reports, migrations) its own start serves.
Ns launched_at(const Trace& trace, Row op) {
  const Row call = trace.ops.call[op];
  return call == no_row ? trace.ops.start[op]
                        : std::min(trace.calls.start[call], trace.ops.start[op]);
}

constexpr std::size_t least_part = 1 << 16;  // operations that are worth a thread of their own

bool disjoint(const Trace& trace, const std::vector<Row>& rows) {
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (trace.ranges.start[rows[i]] < trace.ranges.end[rows[i - 1]]) return false;
  return true;
}

// When the operations of a device were launched, ready to be asked about any stretch of time. They
// come in order of start, and were launched nearly so: what is known of each few of them leads to
// where to look.
class Launches {
 public:
  Launches(const Trace& trace, const std::vector<Row>& ops)
      : trace_(trace), ops_(ops), blocks_((ops.size() + block - 1) / block) {
    in_parts(blocks_.size(), parts_of(blocks_.size(), least_part / block),
             [&](std::size_t, std::size_t begin, std::size_t end) {
               for (std::size_t b = begin; b < end; ++b)
                 each(b, [&](Ns at) {
                   blocks_[b].first = std::min(blocks_[b].first, at);
                   blocks_[b].last = std::max(blocks_[b].last, at);
                 });
             });
    Ns first = std::numeric_limits<Ns>::max();
    for (std::size_t b = blocks_.size(); b-- > 0;)
      blocks_[b].first_from = first = std::min(first, blocks_[b].first);
  }

  // Whether anything was launched in a stretch of time: nothing starts before it is launched.
  bool any(Span s) const {
    const auto from = std::partition_point(ops_.begin(), ops_.end(),
                                           [&](Row op) { return trace_.ops.start[op] < s.start; }) -
                      ops_.begin();
    constexpr std::size_t most_looked =
        256;  // where launches are far from the order of starts, sorting them pays
    bool found = false;
    for (std::size_t b = static_cast<std::size_t>(from) / block, looked = 0;
         !found && b < blocks_.size() && blocks_[b].first_from < s.end; ++b) {
      if (++looked > most_looked) return count(s) > 0;
      if (blocks_[b].last >= s.start && blocks_[b].first < s.end)
        each(b, [&](Ns at) { found = found || (at >= s.start && at < s.end); });
    }
    return found;
  }

  std::size_t count(Span s) const {
    if (sorted_.empty()) {
      sorted_.reserve(ops_.size());
      for (std::size_t b = 0; b < blocks_.size(); ++b)
        each(b, [&](Ns at) { sorted_.push_back(at); });
      std::sort(sorted_.begin(), sorted_.end());
    }
    const auto from = std::lower_bound(sorted_.begin(), sorted_.end(), s.start);
    return static_cast<std::size_t>(std::lower_bound(from, sorted_.end(), s.end) - from);
  }

  std::size_t size() const { return ops_.size(); }

 private:
  static constexpr std::size_t block = 64;
  struct Block {
    Ns first = std::numeric_limits<Ns>::max(), last = std::numeric_limits<Ns>::min();
    Ns first_from = 0;  // of this block and all after it
  };
  template <class Take>
  void each(std::size_t b, Take take) const {
    for (std::size_t i = b * block; i < std::min(ops_.size(), (b + 1) * block); ++i)
      take(launched_at(trace_, ops_[i]));
  }

  const Trace& trace_;
  const std::vector<Row>& ops_;
  std::vector<Block> blocks_;
  mutable std::vector<Ns> sorted_;  // once it has been needed
};

// How many ranges of a group have something launched inside; steps that launch nothing are no
// steps.
std::size_t launching(const Trace& trace, const std::vector<Row>& rows, const Launches& launches) {
  return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&](Row r) {
    return launches.any({trace.ranges.start[r], trace.ranges.end[r]});
  }));
}

Marks marks_of(const Trace& trace, const RangeGroup& group) {
  Marks marks{.source = StepSource::ranges,
              .described = fmt::format("{} '{}'", trace.ranges_are, group.pattern),
              .begins = {}};
  // A step begins where the range before has ended, so that what is launched between two ranges
  // belongs to the second; what was launched in the first range bounds the second step, so n ranges
  // give n - 1 steps. Marks stand between two steps.
  const bool at_start = group.at == Classes::StepPattern::At::start;
  const std::size_t shift =
      at_start ? 0 : 1;  // from one end to the next lies what the second range, or mark, belongs to
  const auto time = [&](std::size_t i) {
    return at_start ? trace.ranges.start[group.rows[i]] : trace.ranges.end[group.rows[i]];
  };
  for (std::size_t i = 0; i + 1 < group.rows.size(); ++i)
    marks.begins.push_back({time(i), group.numbers.empty() ? static_cast<std::int64_t>(i + shift)
                                                           : group.numbers[i + shift]});
  marks.end = time(group.rows.size() - 1);
  return marks;
}

std::optional<Marks> marks_from_ranges(const Trace& trace, const Classes& classes,
                                       std::uint16_t process, const Launches& launches) {
  // Which pattern a name matches is asked once for each distinct name, not for each range.
  std::map<NameId, std::pair<Counted, std::size_t>> known;
  std::map<std::pair<std::string, std::uint16_t>, RangeGroup> groups;
  const std::size_t unlisted = classes.steps().size();
  std::vector<std::uint8_t> never(trace.names.size());
  for (Row r = 0; r < trace.ranges.size(); ++r) {
    const NameId id = trace.ranges.name[r];
    if (never[id] || trace.threads[trace.ranges.thread[r]].process != process) continue;
    auto it = known.find(id);
    if (it == known.end()) {
      const std::string& name = trace.names[id];
      if (classes.is_no_step(name)) {
        never[id] = 1;
        continue;
      }
      Counted c = counted(name);
      std::size_t priority = 0;
      while (priority < unlisted && !classes.steps()[priority].match.match(name)) ++priority;
      // A name of no list may still count, but only one that ends in its number: "update 7", not
      // "aten::mm, op_id = 7, sizes = ...".
      if (priority == unlisted && !(c.number && c.pattern.ends_with('#') && name.size() < 64)) {
        never[id] = 1;
        continue;
      }
      it = known.emplace(id, std::pair(std::move(c), priority)).first;
    }
    const auto& [c, priority] = it->second;
    RangeGroup& group = groups[{c.pattern, trace.ranges.thread[r]}];
    group.pattern = c.pattern;
    group.priority = priority;
    group.at = priority < unlisted ? classes.steps()[priority].at : Classes::StepPattern::At::whole;
    group.rows.push_back(r);
    if (c.number) group.numbers.push_back(*c.number);
  }

  const RangeGroup* best = nullptr;
  for (auto& [key, group] : groups) {
    const bool counts =
        group.numbers.size() == group.rows.size() &&
        std::is_sorted(group.numbers.begin(), group.numbers.end(), std::less_equal<>());
    const bool listed = group.priority < unlisted,
               whole = group.at == Classes::StepPattern::At::whole;
    if (group.rows.size() < 2 || !disjoint(trace, group.rows)) continue;
    if (!listed && !(counts && group.rows.size() >= 3)) continue;
    if (whole && 10 * launching(trace, group.rows, launches) < 9 * group.rows.size()) continue;
    if (!counts) group.numbers.clear();
    if (!listed) {  // an unknown name has to cover what the process launched, or it is a phase of
                    // something
      const Ns from = trace.ranges.start[group.rows.front()],
               to = trace.ranges.end[group.rows.back()];
      if (2 * launches.count({from, to}) < launches.size()) continue;
    }
    // By the list's order; among equals the one with the most ranges: micro steps rather than none,
    // steps rather than epochs.
    if (!best || std::tuple(group.priority, -static_cast<std::ptrdiff_t>(group.rows.size())) <
                     std::tuple(best->priority, -static_cast<std::ptrdiff_t>(best->rows.size())))
      best = &group;
  }
  if (!best) return std::nullopt;
  return marks_of(trace, *best);
}

using Histogram = std::map<std::int64_t, double>;

// How alike two stretches are: the cosine of what they spend by kernel, in time or in launches.
double likeness(const Histogram& a, const Histogram& b) {
  double ab = 0, aa = 0, bb = 0;
  for (const auto& [name, x] : a) {
    aa += x * x;
    if (const auto it = b.find(name); it != b.end()) ab += x * it->second;
  }
  for (const auto& [name, x] : b) bb += x * x;
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

// Whether positions are about as far from each other throughout: cheap to ask, and most kernels of
// a layer fail it.
bool regular(const std::vector<std::size_t>& positions) {
  std::vector<Ns> distances;
  for (std::size_t k = 1; k < positions.size(); ++k)
    distances.push_back(static_cast<Ns>(positions[k] - positions[k - 1]));
  const Ns usual = median(distances);
  const auto near = std::count_if(distances.begin(), distances.end(),
                                  [&](Ns d) { return 10 * std::abs(d - usual) <= usual; });
  return 10 * near >= 8 * static_cast<std::ptrdiff_t>(distances.size());
}

// Whether an operation is of a kind that a step has and a layer has not: input, embedding, loss,
// optimizer, or a graph.
bool marks_a_step(const Trace& trace, const Classes& classes, const NameClasses& names, Row op) {
  if (trace.ops.kind[op] == OpKind::graph || trace.ops.copy[op] == CopyKind::h2d) return true;
  if (trace.ops.kind[op] != OpKind::kernel) return false;
  const std::string& c = classes.kernel_classes()[names.kernel[trace.ops.name[op]]];
  return c == "optimizer" || c == "softmax_loss" || c == "embedding";
}

// The steps of a trace without ranges that tell: a kernel that runs once a step cuts the sequence
// of launches into stretches that are alike. Of the kernels that do, the one with the most
// stretches wins, since several steps together are alike as well; layers are not taken for steps,
// because forward and backward differ and because they lack what a step has.
std::optional<Marks> marks_from_kernels(const Trace& trace, const Classes& classes,
                                        const NameClasses& names,
                                        const std::vector<Row>& device_ops) {
  constexpr std::size_t least_steps = 3,
                        least_kernels = 8;  // fewer repetitions, or shorter ones, prove no pattern
  constexpr double alike_time = 0.95,
                   alike_counts = 0.99;  // time varies with the data, counts do not
  std::vector<Row> launched;             // in order of launch
  for (const Row op : device_ops)
    if (!is_unified(trace.ops.copy[op])) launched.push_back(op);
  std::stable_sort(launched.begin(), launched.end(),
                   [&](Row a, Row b) { return launched_at(trace, a) < launched_at(trace, b); });
  const std::size_t n = launched.size();
  // Kernels by name; copies by direction, so that fetching and storing are not alike.
  const auto what = [&](std::size_t i) {
    const Row op = launched[i];
    return trace.ops.kind[op] == OpKind::kernel
               ? std::int64_t{trace.ops.name[op]}
               : -1 - static_cast<std::int64_t>(trace.ops.kind[op]) * 16 -
                     static_cast<std::int64_t>(trace.ops.copy[op]);
  };
  std::map<std::int64_t, std::vector<std::size_t>> at;  // positions of each kernel and graph
  for (std::size_t i = 0; i < n; ++i)
    if (trace.ops.kind[launched[i]] == OpKind::kernel ||
        trace.ops.kind[launched[i]] == OpKind::graph)
      at[what(i)].push_back(i);

  std::map<std::size_t, int>
      tried;  // kernels with the same count cut alike: three of them are enough
  std::optional<std::vector<std::size_t>> best;
  for (const auto& [name, positions] : at) {
    if (positions.size() < least_steps + 1 || positions.size() > n / least_kernels ||
        (best && positions.size() <= best->size()))
      continue;
    if (!regular(positions) || ++tried[positions.size()] > 3) continue;
    std::vector<Histogram> times(positions.size() - 1), counts(positions.size() - 1);
    for (std::size_t k = 0; k + 1 < positions.size(); ++k)
      for (std::size_t i = positions[k]; i < positions[k + 1]; ++i) {
        times[k][what(i)] += static_cast<double>(trace.span_of(launched[i]).length());
        counts[k][what(i)] += 1;
      }
    // Start-up and what follows training differ, the middle must not: the longest run of alike
    // stretches counts.
    std::size_t run_from = 0, run = 0, best_from = 0, best_run = 0;
    for (std::size_t k = 1; k < times.size(); ++k) {
      if (likeness(times[k - 1], times[k]) >= alike_time ||
          likeness(counts[k - 1], counts[k]) >= alike_counts)
        ++run;
      else {
        run_from = k;
        run = 0;
      }
      if (run > best_run) {
        best_run = run;
        best_from = run_from;
      }
    }
    const std::size_t steps = best_run + 1, from = positions[best_from],
                      to = positions[best_from + steps];
    if (steps < least_steps || 10 * steps < 7 * times.size() || 2 * (to - from) < n ||
        counts[best_from].size() < 4)
      continue;
    if (std::none_of(launched.begin() + static_cast<std::ptrdiff_t>(from),
                     launched.begin() + static_cast<std::ptrdiff_t>(positions[best_from + 1]),
                     [&](Row op) { return marks_a_step(trace, classes, names, op); }))
      continue;
    best.emplace(positions.begin() + static_cast<std::ptrdiff_t>(best_from),
                 positions.begin() + static_cast<std::ptrdiff_t>(best_from + steps + 1));
  }
  if (!best) return std::nullopt;

  // Any cut gives steps of the right length; the right one is where the host pauses. A place in a
  // stretch is told by what happens there and how often it happened before, which holds where
  // stretches differ a little in length.
  using Place = std::pair<std::int64_t, std::size_t>;
  const auto pause_before = [&](std::size_t i) {
    return i == 0 ? Ns{0} : launched_at(trace, launched[i]) - launched_at(trace, launched[i - 1]);
  };
  std::vector<std::map<Place, std::size_t>> places(best->size() - 1);  // by stretch
  std::map<Place, std::size_t> after_pause;  // in how many stretches the longest pause is before it
  for (std::size_t k = 0; k < places.size(); ++k) {
    std::map<std::int64_t, std::size_t> seen;
    std::pair<Ns, Place> longest{-1, {}};
    for (std::size_t i = (*best)[k] + 1; i <= (*best)[k + 1]; ++i) {
      const Place place{what(i), seen[what(i)]++};
      places[k][place] = i;
      longest = std::max(longest, {pause_before(i), place});
    }
    ++after_pause[longest.second];
  }
  const auto usual =
      std::max_element(after_pause.begin(), after_pause.end(),
                       [](const auto& x, const auto& y) { return x.second < y.second; });
  std::vector<std::size_t> cuts;
  for (const auto& stretch : places)
    if (const auto it = stretch.find(usual->first); it != stretch.end()) cuts.push_back(it->second);
  const bool complete = cuts.size() == places.size();
  if (!complete) cuts = *best;  // a missing cut would make one step of two
  // The kernel that was counted may stand late in a step: one more cut before the first and one
  // after the last, where they fit.
  const auto fits = [&](std::ptrdiff_t i) {
    return i >= 0 && i < static_cast<std::ptrdiff_t>(n) &&
           what(static_cast<std::size_t>(i)) == what(cuts.back());
  };
  const auto period = static_cast<std::ptrdiff_t>(cuts[1] - cuts[0]),
             last_period =
                 static_cast<std::ptrdiff_t>(cuts[cuts.size() - 1] - cuts[cuts.size() - 2]);
  if (const auto i = static_cast<std::ptrdiff_t>(cuts.front()) - period; complete && fits(i))
    cuts.insert(cuts.begin(), static_cast<std::size_t>(i));
  if (const auto i = static_cast<std::ptrdiff_t>(cuts.back()) + last_period; complete && fits(i))
    cuts.push_back(static_cast<std::size_t>(i));
  // What the host did before the very first launch was not recorded: that step would lack its
  // pause.
  if (cuts.front() == 0 && cuts.size() > least_steps + 1) cuts.erase(cuts.begin());
  Marks marks{
      .source = StepSource::kernels, .described = "the repeating pattern of kernels", .begins = {}};
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
    marks.begins.push_back({launched_at(trace, launched[cuts[k]]), static_cast<std::int64_t>(k)});
  marks.end = launched_at(trace, launched[cuts.back()]);
  return marks;
}

// What of a device's operations had been launched until each of some times of the host.
struct Launched {
  struct Until {
    std::size_t count = 0;
    Ns end = std::numeric_limits<Ns>::min();
  };                                              // how many, and when the last of them ended
  std::vector<Until> until;                       // by time
  Ns first_end = std::numeric_limits<Ns>::min();  // of what was launched first
};

Launched launched_until(const Trace& trace, const std::vector<Row>& ops, std::vector<Ns> times) {
  for (std::size_t i = 1; i < times.size(); ++i) times[i] = std::max(times[i], times[i - 1]);
  using First = std::pair<Ns, Ns>;  // a launch, and the end of what it launched
  constexpr First none{std::numeric_limits<Ns>::max(), std::numeric_limits<Ns>::min()};
  struct Part {
    std::vector<Launched::Until> until;
    First first;
  };
  std::vector<Part> parts(parts_of(ops.size(), std::max(least_part, times.size())));
  in_parts(ops.size(), parts.size(), [&](std::size_t p, std::size_t begin, std::size_t end) {
    std::vector<Launched::Until> until(
        times.size() +
        1);  // what was launched since the time before, the last of them never asked for
    First first = none;
    std::size_t at = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (is_unified(trace.ops.copy[ops[i]])) continue;
      const First launch{launched_at(trace, ops[i]), trace.ops.end[ops[i]]};
      first = std::min(first, launch);
      if ((at > 0 && times[at - 1] > launch.first) ||
          (at < times.size() &&
           times[at] <= launch.first))  // seldom: most are launched where the one before was
        at = static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), launch.first) -
                                      times.begin());
      ++until[at].count;
      until[at].end = std::max(until[at].end, launch.second);
    }
    parts[p] = {std::move(until), first};
  });
  Launched launched{.until = std::vector<Launched::Until>(times.size())};
  First first = none;
  Launched::Until so_far;
  for (const Part& part : parts) first = std::min(first, part.first);
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (const Part& part : parts) {
      so_far.count += part.until[i].count;
      so_far.end = std::max(so_far.end, part.until[i].end);
    }
    launched.until[i] = so_far;
  }
  launched.first_end = first.second;
  return launched;
}

// Cuts a device's time at the marks: every boundary is the latest end of what had been launched
// until then. Where nothing had, the end of the first operation is the boundary.
std::vector<Step> cut(const Trace& trace, const std::vector<Row>& ops, const Marks& marks) {
  std::vector<Ns> times;
  for (const Mark& m : marks.begins) times.push_back(m.at);
  times.push_back(marks.end);
  const Launched launched = launched_until(trace, ops, std::move(times));
  std::vector<Step> steps;
  for (std::size_t k = 0; k < marks.begins.size(); ++k) {
    const auto& before = launched.until[k];
    const auto& after = launched.until[k + 1];
    const Ns from = std::max(before.end, launched.first_end);
    if (after.count > before.count && after.end > from)
      steps.push_back({{from, after.end}, marks.begins[k].number, marks.begins[k].at});
  }
  return steps;
}

// What was launched inside the ranges: from a range's begin, or from the end of what had been
// launched before, if that is later.
std::vector<Step> steps_in_range(const Trace& trace, const DeviceSteps& device,
                                 const std::string& glob) {
  std::vector<Span> hosts;
  for (Row r = 0; r < trace.ranges.size(); ++r)
    if (trace.threads[trace.ranges.thread[r]].process == device.process &&
        glob_match(glob, trace.names[trace.ranges.name[r]]))
      hosts.push_back({trace.ranges.start[r], trace.ranges.end[r]});
  hosts = united(std::move(hosts));
  std::vector<Ns> times;
  for (const Span host : hosts) times.insert(times.end(), {host.start, host.end});
  const Launched launched = launched_until(trace, device.ops, std::move(times));
  std::vector<Step> steps;
  for (std::size_t k = 0; k < hosts.size(); ++k) {
    const auto& before = launched.until[2 * k];
    const auto& after = launched.until[2 * k + 1];
    const Ns from = std::max(before.end, hosts[k].start);
    if (after.count > before.count && after.end > from)
      steps.push_back({{from, after.end}, static_cast<std::int64_t>(steps.size()), hosts[k].start});
  }
  return steps;
}

std::string no_such_range(const Trace& trace, const std::string& glob) {
  std::set<std::string> names;
  for (const NameId id : trace.ranges.name) names.insert(trace.names[id]);
  if (names.empty())
    return fmt::format("--range '{}': the report has no {}", glob, trace.ranges_are);
  const std::vector<std::string> all(names.begin(), names.end());
  if (std::any_of(all.begin(), all.end(),
                  [&](const std::string& n) { return glob_match(glob, n); }))
    return fmt::format("--range '{}': nothing was launched inside ranges of that name", glob);
  const std::string hint = did_you_mean(glob, all);
  return fmt::format(
      "--range '{}': the report has no range of that name{}", glob,
      !hint.empty()
          ? hint
          : fmt::format(
                "; it has '{}'",
                fmt::join(std::vector<std::string>(
                              all.begin(), all.begin() + static_cast<std::ptrdiff_t>(
                                                             std::min<std::size_t>(all.size(), 5))),
                          "', '")));
}

// Steps at the front that took far longer than the rest are start-up: lazy loading, autotuning,
// first allocations.
void leave_out_startup(DeviceSteps& device) {
  if (device.steps.size() < 4) return;
  std::vector<Ns> lengths;
  for (const Step& s : device.steps) lengths.push_back(s.span.length());
  const Ns usual = median(lengths);
  std::size_t n = 0;
  const Ns most =
      (device.steps.size() < 5 ? 4 : 2) * usual;  // of a few steps only what is far out of line
  while (n < device.steps.size() / 4 && device.steps[n].span.length() > most) ++n;
  device.steps.erase(device.steps.begin(), device.steps.begin() + static_cast<std::ptrdiff_t>(n));
  device.left_out = static_cast<std::int64_t>(n);
}

}  // namespace

std::vector<DeviceSteps> find_steps(const Trace& trace, const Classes& classes,
                                    const NameClasses& names, const Selection& selection) {
  std::vector<DeviceSteps> devices(trace.devices.size());
  std::vector<std::size_t> on_stream(trace.streams.size()), on_device(devices.size());
  for (const std::uint32_t stream : trace.ops.stream) ++on_stream[stream];
  std::vector<std::map<std::uint16_t, std::size_t>> by_process(devices.size());
  for (std::size_t s = 0; s < on_stream.size(); ++s)
    if (const Stream& stream = trace.streams[s]; on_stream[s] > 0) {
      on_device[stream.device] += on_stream[s];
      by_process[stream.device][stream.process] += on_stream[s];
    }
  for (std::size_t d = 0; d < devices.size(); ++d) devices[d].ops.reserve(on_device[d]);
  for (Row op = 0; op < trace.ops.size(); ++op) devices[trace.device_of(op)].ops.push_back(op);
  for (std::uint16_t d = 0; d < devices.size(); ++d) {
    devices[d].device = d;
    std::size_t most = 0;
    for (const auto& [process, ops] : by_process[d])
      if (ops > most) {
        most = ops;
        devices[d].process = process;
      }
  }
  std::erase_if(devices, [](const DeviceSteps& d) { return d.ops.empty(); });
  std::sort(devices.begin(), devices.end(), [&](const DeviceSteps& a, const DeviceSteps& b) {
    return std::tuple(trace.devices[a.device].ordinal, a.device) <
           std::tuple(trace.devices[b.device].ordinal, b.device);
  });
  if (selection.rank) {
    std::vector<std::uint16_t> ranks;
    for (const DeviceSteps& d : devices)
      if (std::find(ranks.begin(), ranks.end(), d.process) == ranks.end())
        ranks.push_back(d.process);
    if (*selection.rank < 0 || static_cast<std::size_t>(*selection.rank) >= ranks.size())
      throw Error(fmt::format("--rank {}: the report has {} rank{}, counted from 0",
                              *selection.rank, ranks.size(), ranks.size() == 1 ? "" : "s"));
    std::erase_if(devices, [&](const DeviceSteps& d) {
      return d.process != ranks[static_cast<std::size_t>(*selection.rank)];
    });
  }
  if (selection.device) {
    std::vector<std::string> ordinals;
    for (const DeviceSteps& d : devices)
      ordinals.push_back(fmt::format("{}", trace.devices[d.device].ordinal));
    std::erase_if(devices, [&](const DeviceSteps& d) {
      return trace.devices[d.device].ordinal != *selection.device;
    });
    if (devices.empty())
      throw Error(fmt::format(
          "--device {}: nothing ran there; the report has work on device {}", *selection.device,
          ordinals.empty() ? "none" : fmt::format("{}", fmt::join(ordinals, ", "))));
  }

  if (!selection.range.empty() && selection.steps)
    throw Error("--range and --steps: give one of them; a range's stretches have no numbers");
  for (DeviceSteps& device : devices) {
    std::optional<Marks> marks;
    if (selection.range.empty()) {
      marks = marks_from_ranges(trace, classes, device.process, Launches(trace, device.ops));
      if (marks) device.steps = cut(trace, device.ops, *marks);
      if (device.steps.empty()) marks.reset();
      if (!marks && (marks = marks_from_kernels(trace, classes, names, device.ops)))
        device.steps = cut(trace, device.ops, *marks);
    } else {
      device.steps = steps_in_range(trace, device, selection.range);
      device.source = StepSource::selected_range;
      device.described = fmt::format("ranges that match '{}'", selection.range);
    }
    if (marks && !device.steps.empty()) {
      device.source = marks->source;
      device.described = marks->described;
      if (selection.steps) {
        const auto [first, last] = *selection.steps;
        const std::string available =
            fmt::format("{}:{}", device.steps.front().number, device.steps.back().number);
        std::erase_if(device.steps,
                      [&](const Step& s) { return s.number < first || s.number > last; });
        if (device.steps.empty())
          throw Error(
              fmt::format("--steps {}:{}: the report has steps {}", first, last, available));
      } else {
        leave_out_startup(device);
      }
    } else if (device.steps.empty() && selection.range.empty()) {
      if (selection.steps)
        throw Error(
            "--steps: no steps were found in the report; mark them with NVTX ranges such as \"step "
            "12\", or use --range");
      Ns end = trace.ops.end[device.ops.front()];
      for (const Row op : device.ops) end = std::max(end, trace.ops.end[op]);
      device.source = StepSource::none;
      device.described = "no steps were found: the whole window";
      device.steps = {
          {{trace.ops.start[device.ops.front()], end}, 0, launched_at(trace, device.ops.front())}};
    }
  }
  if (!selection.range.empty()) {
    std::erase_if(devices, [](const DeviceSteps& d) { return d.steps.empty(); });
    if (devices.empty()) throw Error(no_such_range(trace, selection.range));
  }
  return devices;
}

}  // namespace gh

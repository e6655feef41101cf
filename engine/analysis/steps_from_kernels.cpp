// The steps of a trace without ranges that tell. A kernel that runs once a step cuts the sequence
// of launches into pieces that are alike. Several steps in a row also look alike, so the kernel
// that cuts the trace into the most pieces is preferred. Layers are not taken for steps, because
// forward and backward differ and because they lack what a step has.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/host_steps.hpp"
#include "analysis/launch_times.hpp"

namespace gh {
namespace {

// Fewer repetitions, or shorter ones, prove no pattern.
constexpr std::size_t least_steps = 3, least_kernels = 8;
// Kernels with the same count cut alike: three of them are enough.
constexpr int most_tried = 3;
// Cosines. Time varies with the data, counts do not.
constexpr double alike_time = 0.95, alike_counts = 0.99;

using Positions = std::vector<std::size_t>;     // in the sequence of launches, in order
using Signature = std::int64_t;                 // of an operation: what is the same in every step
using Histogram = std::map<Signature, double>;  // time or launches

double cosine(const Histogram& a, const Histogram& b) {
  double ab = 0, aa = 0, bb = 0;
  for (const auto& [signature, x] : a) {
    aa += x * x;
    if (const auto it = b.find(signature); it != b.end()) ab += x * it->second;
  }
  for (const auto& [signature, x] : b) bb += x * x;
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

// Whether positions are about as far from each other throughout: cheap to ask, and most kernels of
// a layer fail it.
bool regular(const Positions& positions) {
  std::vector<Ns> distances;
  for (std::size_t k = 1; k < positions.size(); ++k)
    distances.push_back(static_cast<Ns>(positions[k] - positions[k - 1]));
  const Ns middle = median(distances);
  const auto near = std::count_if(distances.begin(), distances.end(),
                                  [&](Ns d) { return 10 * std::abs(d - middle) <= middle; });
  return 10 * near >= 8 * static_cast<std::ptrdiff_t>(distances.size());
}

// A run of pieces between positions.
struct Run {
  std::size_t first = 0, count = 0;
};

class LaunchSequence {
 public:
  LaunchSequence(const Trace& trace, const Classes& classes, const NameClasses& names,
                 const std::vector<Row>& device_ops)
      : trace_(trace), classes_(classes), names_(names) {
    for (const Row op : device_ops)
      if (!is_unified(trace.ops.copy[op])) ops_.push_back(op);
    std::stable_sort(ops_.begin(), ops_.end(),
                     [&](Row a, Row b) { return launched_at(trace, a) < launched_at(trace, b); });
  }

  Ns launched(std::size_t i) const { return launched_at(trace_, ops_[i]); }

  // Where the kernel that repeats once a step stands: n + 1 positions of n steps. Empty where there
  // is none.
  Positions repeating_kernel() const {
    std::map<Signature, Positions> at;  // of each kernel and graph
    for (std::size_t i = 0; i < ops_.size(); ++i)
      if (trace_.ops.kind[ops_[i]] == OpKind::kernel || trace_.ops.kind[ops_[i]] == OpKind::graph)
        at[signature(i)].push_back(i);
    std::map<std::size_t, int> tried;  // by count
    Positions best;
    for (const auto& [name, positions] : at) {
      if (positions.size() < least_steps + 1 || positions.size() > ops_.size() / least_kernels ||
          positions.size() <= best.size())
        continue;
      if (!regular(positions) || ++tried[positions.size()] > most_tried) continue;
      const Run run = steps_between(positions);
      if (run.count > 0)
        best.assign(positions.begin() + static_cast<std::ptrdiff_t>(run.first),
                    positions.begin() + static_cast<std::ptrdiff_t>(run.first + run.count + 1));
    }
    return best;
  }

  // Any cut gives steps of the right length; the right one is where the host pauses. Moves the
  // cuts there.
  Positions cut_at_pauses(const Positions& repeating) const {
    // A place in a piece is told by what happens there and how often it happened before, which
    // holds where pieces differ a little in length.
    using Place = std::pair<Signature, std::size_t>;
    std::vector<std::map<Place, std::size_t>> places(repeating.size() - 1);  // by piece
    std::map<Place, std::size_t> longest_before;  // in how many pieces the longest pause is there
    for (std::size_t k = 0; k < places.size(); ++k) {
      std::map<Signature, std::size_t> seen;
      std::pair<Ns, Place> longest{-1, {}};
      for (std::size_t i = repeating[k] + 1; i <= repeating[k + 1]; ++i) {
        const Place place{signature(i), seen[signature(i)]++};
        places[k][place] = i;
        longest = std::max(longest, {pause_before(i), place});
      }
      ++longest_before[longest.second];
    }
    const auto most =
        std::max_element(longest_before.begin(), longest_before.end(),
                         [](const auto& x, const auto& y) { return x.second < y.second; });
    Positions cuts;
    for (const auto& piece : places)
      if (const auto it = piece.find(most->first); it != piece.end()) cuts.push_back(it->second);
    if (cuts.size() < places.size()) return repeating;  // a missing cut would make one step of two
    add_ends(cuts);
    return cuts;
  }

 private:
  // Kernels by name; copies by direction, so that fetching and storing are not alike.
  Signature signature(std::size_t i) const {
    const Row op = ops_[i];
    return trace_.ops.kind[op] == OpKind::kernel
               ? Signature{trace_.ops.name[op]}
               : -1 - static_cast<Signature>(trace_.ops.kind[op]) * 16 -
                     static_cast<Signature>(trace_.ops.copy[op]);
  }

  Ns pause_before(std::size_t i) const { return i == 0 ? 0 : launched(i) - launched(i - 1); }

  // The pieces between positions that are steps, if these are; otherwise none. Start-up and what
  // follows training differ, the middle must not.
  Run steps_between(const Positions& positions) const {
    std::vector<Histogram> times(positions.size() - 1), counts(positions.size() - 1);
    for (std::size_t k = 0; k + 1 < positions.size(); ++k)
      for (std::size_t i = positions[k]; i < positions[k + 1]; ++i) {
        times[k][signature(i)] += static_cast<double>(trace_.span_of(ops_[i]).length());
        counts[k][signature(i)] += 1;
      }
    const Run run = longest_alike(times, counts);
    const std::size_t from = positions[run.first], to = positions[run.first + run.count];
    const bool enough = run.count >= least_steps && 10 * run.count >= 7 * times.size() &&
                        2 * (to - from) >= ops_.size() && counts[run.first].size() >= 4;
    return enough && holds_a_step(from, positions[run.first + 1]) ? run : Run{};
  }

  // The longest run of pieces of which each is like the one before.
  static Run longest_alike(const std::vector<Histogram>& times,
                           const std::vector<Histogram>& counts) {
    Run run{0, 1}, longest = run;
    for (std::size_t k = 1; k < times.size(); ++k) {
      if (cosine(times[k - 1], times[k]) >= alike_time ||
          cosine(counts[k - 1], counts[k]) >= alike_counts)
        ++run.count;
      else
        run = {k, 1};
      if (run.count > longest.count) longest = run;
    }
    return longest;
  }

  // Whether there is an operation of a kind that a step has and a layer has not: input, embedding,
  // loss, optimizer, or a graph.
  bool holds_a_step(std::size_t from, std::size_t to) const {
    for (std::size_t i = from; i < to; ++i) {
      const Row op = ops_[i];
      if (trace_.ops.kind[op] == OpKind::graph || trace_.ops.copy[op] == CopyKind::h2d) return true;
      if (trace_.ops.kind[op] != OpKind::kernel) continue;
      const std::string& c = classes_.kernel_classes()[names_.kernel[trace_.ops.name[op]]];
      if (c == "optimizer" || c == "softmax_loss" || c == "embedding") return true;
    }
    return false;
  }

  // The kernel that was counted may stand late in a step: one more cut before the first and one
  // after the last, where they fit.
  void add_ends(Positions& cuts) const {
    const auto fits = [&](std::ptrdiff_t i) {
      return i >= 0 && i < static_cast<std::ptrdiff_t>(ops_.size()) &&
             signature(static_cast<std::size_t>(i)) == signature(cuts.back());
    };
    const std::size_t n = cuts.size();
    const auto period = [&](std::size_t k) {
      return static_cast<std::ptrdiff_t>(cuts[k] - cuts[k - 1]);
    };
    const auto before = static_cast<std::ptrdiff_t>(cuts.front()) - period(1),
               after = static_cast<std::ptrdiff_t>(cuts.back()) + period(n - 1);
    if (fits(before)) cuts.insert(cuts.begin(), static_cast<std::size_t>(before));
    if (fits(after)) cuts.push_back(static_cast<std::size_t>(after));
  }

  const Trace& trace_;
  const Classes& classes_;
  const NameClasses& names_;
  std::vector<Row> ops_;  // in order of launch, migrations of unified memory aside
};

}  // namespace

std::optional<HostSteps> steps_from_kernels(const Trace& trace, const Classes& classes,
                                            const NameClasses& names,
                                            const std::vector<Row>& device_ops) {
  const LaunchSequence sequence(trace, classes, names, device_ops);
  const Positions repeating = sequence.repeating_kernel();
  if (repeating.empty()) return std::nullopt;
  Positions cuts = sequence.cut_at_pauses(repeating);
  // What the host did before the very first launch was not recorded: that step would lack its
  // pause.
  if (cuts.front() == 0 && cuts.size() > least_steps + 1) cuts.erase(cuts.begin());
  HostSteps steps{
      .source = StepSource::kernels, .described = "the repeating pattern of kernels", .begins = {}};
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
    steps.begins.push_back({sequence.launched(cuts[k]), static_cast<std::int64_t>(k)});
  steps.end = sequence.launched(cuts.back());
  return steps;
}

}  // namespace gh

#include "analysis/structure/repeated_runs.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/inner_repeat.hpp"

namespace gh {
namespace {

using Token = LaunchSequence::Token;

constexpr std::size_t least_units = 3, least_unit = 2, most_nested = 8;
// Of a unit: a repetition in it makes it a micro-batch rather than a layer.
constexpr double inner_share = 0.5;
// Of a unit's launches.
constexpr double least_alike = 0.4, nearly_alike = 0.8;
// Launches that are compared for one run; and units that are left out at its begin.
constexpr std::size_t most_compared = 4'000'000, most_left_out = 8;
// Of the units of a run: so many are nearly alike.
constexpr double most_units = 0.7;

class RunFinder {
 public:
  explicit RunFinder(const LaunchSequence& sequence)
      : sequence_(sequence), tokens_(sequence.exact().at) {}

  void find(std::size_t from, std::size_t to, std::size_t nested = 0) {
    if (to < from + least_units * least_unit || nested > most_nested) return;
    const auto repeat = repeat_within(sequence_, from, to);
    if (!repeat || repeat->length < least_unit) return;
    const std::size_t end = repeat->begin + repeat->length;
    RunFinder inner(sequence_);
    if (nested < most_nested) inner.find(repeat->begin, end, nested + 1);
    std::size_t held = 0;
    for (const RepeatedRun& run : inner.runs_) held += run.cuts.back() - run.cuts.front();
    if (static_cast<double>(held) >= inner_share * static_cast<double>(repeat->length)) {
      find(from, repeat->begin, nested + 1);
      std::size_t at = repeat->begin;
      for (; at + repeat->length <= to && same(repeat->begin, at, repeat->length);
           at += repeat->length)
        find(at, at + repeat->length, nested + 1);
      find(at, to, nested + 1);
      return;
    }
    const RepeatedRun run = cut(*repeat, from, to);
    if (run.cuts.size() <= least_units) return;
    find(from, run.cuts.front(), nested + 1);
    runs_.push_back(run);
    find(run.cuts.back(), to, nested + 1);
  }

  std::vector<RepeatedRun> runs() && { return std::move(runs_); }

 private:
  bool same(std::size_t a, std::size_t b, std::size_t length) const {
    return std::equal(tokens_.begin() + static_cast<std::ptrdiff_t>(a),
                      tokens_.begin() + static_cast<std::ptrdiff_t>(a + length),
                      tokens_.begin() + static_cast<std::ptrdiff_t>(b));
  }

  // Where the launch is that comes once in each unit: the first of those that agree on how many
  // units there are.
  std::vector<std::size_t> anchors(const InnerRepeat& repeat, std::size_t from,
                                   std::size_t to) const {
    std::map<Token, std::vector<std::size_t>> in_all;
    std::map<Token, std::size_t> in_one;
    for (std::size_t i = repeat.begin; i < repeat.begin + repeat.length; ++i) ++in_one[tokens_[i]];
    for (std::size_t i = from; i < to; ++i)
      if (const auto it = in_one.find(tokens_[i]); it != in_one.end() && it->second == 1)
        in_all[tokens_[i]].push_back(i);
    std::map<std::size_t, std::size_t> votes;
    for (const auto& [token, places] : in_all) ++votes[places.size()];
    // Too many are trimmed later.
    std::size_t count = 0, most = 0;
    for (const auto& [times, tokens] : votes)
      if (times >= least_units && tokens >= most) {
        most = tokens;
        count = times;
      }
    for (std::size_t i = repeat.begin; i < repeat.begin + repeat.length; ++i)
      if (const auto it = in_all.find(tokens_[i]); it != in_all.end() && it->second.size() == count)
        return it->second;
    return {};
  }

  // Whether most of the units have at `shift` from their anchors what the `n`-th has.
  bool most_agree(const std::vector<std::size_t>& anchors, std::size_t n, std::ptrdiff_t shift,
                  std::size_t from, std::size_t to) const {
    const auto at = [&](std::size_t k) { return static_cast<std::ptrdiff_t>(anchors[k]) + shift; };
    const auto inside = [&](std::ptrdiff_t place) {
      return place >= static_cast<std::ptrdiff_t>(from) && place < static_cast<std::ptrdiff_t>(to);
    };
    if (!inside(at(n))) return false;
    std::size_t agree = 0;
    for (std::size_t k = 0; k < anchors.size(); ++k)
      if (k != n && inside(at(k)) &&
          tokens_[static_cast<std::size_t>(at(k))] == tokens_[static_cast<std::size_t>(at(n))])
        ++agree;
    return 2 * agree >= anchors.size() - 1;
  }

  // Where a unit lies around its anchor.
  struct Extent {
    std::ptrdiff_t before = 0, after = 0;
  };

  // Units begin with the first launch of the first one that most of them have.
  Extent extent(const std::vector<std::size_t>& anchors, std::size_t length, std::size_t from,
                std::size_t to) const {
    const auto all = static_cast<std::ptrdiff_t>(length);
    Extent e;
    while (e.before + 1 < all && most_agree(anchors, 0, -e.before - 1, from, to)) ++e.before;
    e.after = all - 1 - e.before;
    return e;
  }

  // The anchor of a unit that lies in the repetition as a whole.
  static std::size_t typical_of(const std::vector<std::size_t>& anchors, const InnerRepeat& repeat,
                                Extent e) {
    const auto first = std::find_if(anchors.begin(), anchors.end(), [&](std::size_t a) {
      return a >= repeat.begin + static_cast<std::size_t>(e.before);
    });
    return first == anchors.end() ? anchors.back() : *first;
  }

  // The share of a typical unit's launches that there are around an anchor, in whatever order: a
  // compiler reorders the first and last layer.
  double alike(std::size_t typical, std::size_t anchor, Extent e, std::size_t from,
               std::size_t to) const {
    std::map<Token, std::ptrdiff_t> left;
    std::size_t agree = 0;
    const auto each = [&](std::size_t around, auto take) {
      for (std::ptrdiff_t shift = -e.before; shift <= e.after; ++shift) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(around) + shift;
        if (at >= static_cast<std::ptrdiff_t>(from) && at < static_cast<std::ptrdiff_t>(to))
          take(tokens_[static_cast<std::size_t>(at)]);
      }
    };
    each(typical, [&](Token token) { ++left[token]; });
    each(anchor, [&](Token token) { agree += left[token]-- > 0 ? 1 : 0; });
    return static_cast<double>(agree) / static_cast<double>(e.before + e.after + 1);
  }

  // Whether the launches between two shifts from one place are those from another.
  bool agrees(std::size_t place, std::size_t other, std::ptrdiff_t from, std::ptrdiff_t to) const {
    const auto token = [&](std::size_t at, std::ptrdiff_t shift) {
      const std::ptrdiff_t i = static_cast<std::ptrdiff_t>(at) + shift;
      return i < 0 || i >= static_cast<std::ptrdiff_t>(tokens_.size())
                 ? std::optional<Token>()
                 : tokens_[static_cast<std::size_t>(i)];
    };
    for (std::ptrdiff_t shift = from; shift <= to; ++shift)
      if (token(place, shift) != token(other, shift)) return false;
    return true;
  }

  // An odd unit may be among them, but hardly more.
  bool are_alike(const std::vector<std::size_t>& anchors, std::size_t typical, Extent e,
                 std::size_t from, std::size_t to) const {
    const auto count = std::count_if(anchors.begin(), anchors.end(), [&](std::size_t a) {
      return alike(typical, a, e, from, to) >= nearly_alike;
    });
    return static_cast<double>(count) >= most_units * static_cast<double>(anchors.size());
  }

  RepeatedRun cut(const InnerRepeat& repeat, std::size_t from, std::size_t to) const {
    RepeatedRun run;
    std::vector<std::size_t> all = anchors(repeat, from, to);
    if (all.empty() || all.size() * repeat.length > most_compared) return run;
    // What shares the anchor's launch with the units, but little else, is none.
    Extent e = extent(all, repeat.length, from, to);
    std::size_t typical = typical_of(all, repeat, e);
    for (std::size_t left_out = 0; left_out < most_left_out && all.size() >= least_units &&
                                   alike(typical, all.front(), e, from, to) < least_alike;
         ++left_out) {
      all.erase(all.begin());
      e = extent(all, repeat.length, from, to);
      typical = typical_of(all, repeat, e);
    }
    while (all.size() >= least_units && alike(typical, all.back(), e, from, to) < least_alike)
      all.pop_back();
    if (all.size() < least_units || !are_alike(all, typical, e, from, to)) return run;
    const auto before = static_cast<std::size_t>(e.before),
               after = static_cast<std::size_t>(e.after);
    run.cuts.push_back(all.front() - before);
    for (std::size_t k = 1; k < all.size(); ++k) {
      // An odd unit may be odd before its anchor; then it begins where the one before ends.
      const bool ends_before = !agrees(all[k], typical, -e.before, 0) &&
                               agrees(all[k - 1], typical, 0, e.after) &&
                               all[k - 1] + after < all[k];
      run.cuts.push_back(ends_before ? all[k - 1] + after + 1 : all[k] - before);
    }
    run.cuts.push_back(std::min(to, all.back() + after + 1));
    if (!std::is_sorted(run.cuts.begin(), run.cuts.end())) run.cuts.clear();
    return run;
  }

  const LaunchSequence& sequence_;
  const std::vector<Token>& tokens_;
  std::vector<RepeatedRun> runs_;
};

}  // namespace

std::vector<RepeatedRun> repeated_runs(const LaunchSequence& sequence, std::size_t from,
                                       std::size_t to) {
  RunFinder finder(sequence);
  finder.find(from, to);
  return std::move(finder).runs();
}

}  // namespace gh

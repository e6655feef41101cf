#include "analysis/periods.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/launch_turns.hpp"
#include "base/spans.hpp"

namespace gh {
namespace {

using Token = LaunchSequence::Token;

constexpr std::size_t least_count = TurnSearch::least_count;
// This share of the pieces between the ends has to be alike: every fourth step may save a
// checkpoint.
constexpr double least_same = 0.7;
// Cosines, and the share of kinds in common. Times vary with the data, and counts vary where a
// solver converges.
constexpr double alike_cosine = 0.95;
// A piece that contains the usual work and more, such as a checkpoint, is a repetition too...
constexpr double alike_share = 0.9;
// ... unless it is many times as long, such as backward, which follows the last layer forward.
constexpr double most_times_as_long = 4;
// Levels to try. Real programs nest a handful.
constexpr int most_tried = 64;

class Search {
 public:
  /// `of_sizes`: no entry is as large in the next repetition, so what is alike tells them.
  explicit Search(const LaunchSequence& sequence, bool of_sizes = false)
      : seq_(sequence),
        of_sizes_(of_sizes),
        busy_until_(seq_.size() + 1),
        usual_(seq_.alike().count),
        usual_ns_(seq_.alike().count),
        piece_(seq_.alike().count),
        piece_ns_(seq_.alike().count),
        orders_(seq_.in_order().count),
        seen_(seq_.exact().count) {
    for (std::size_t i = 0; i < seq_.size(); ++i)
      busy_until_[i + 1] = busy_until_[i] + static_cast<double>(seq_.busy_ns(i));
  }

  std::vector<Period> periods() {
    TurnSearch turns(seq_);
    std::vector<Period> found = periods_of(turns.all());
    if (found.empty()) found = periods_of(turns.of_several());
    std::stable_sort(found.begin(), found.end(),
                     [](const Period& a, const Period& b) { return a.count() < b.count(); });
    return found;
  }

  std::optional<Period> twice() {
    constexpr std::size_t least_kinds = 8;  // fewer recur by chance
    TurnSearch turns(seq_);
    const std::optional<Turns> two = turns.of_two();
    if (!two || two->kinds < least_kinds) return std::nullopt;
    Period period{.cuts = well_cut({two->first[0], two->first[1]}), .kinds = two->kinds, .seen = 2};
    if (period.cuts.size() != 3) return std::nullopt;
    finish(period);
    if (2 * period.busy_ns < busy_until_.back() || !period.is_whole() ||
        period.regular_fraction < 1)
      return std::nullopt;
    return period;
  }

  // Cuts repetitions of one size after another where the host pauses longest in the largest.
  Period by_size(const Period& period, std::size_t largest) {
    const std::size_t from = period.begin_of(largest);
    std::pair<Ns, std::size_t> longest{-1, 0};
    Place begin;
    each_place(period.cuts, largest, [&](std::size_t i, const Place& place) {
      if (seq_.pause_before(i) <= longest.first) return;
      longest = {seq_.pause_before(i), i - from};
      begin = place;
    });
    Period found{.cuts = cut_at(period.cuts, largest, longest.second, begin,
                                ends_of(period.cuts, largest), true),
                 .kinds = period.kinds,
                 .seen = period.seen};
    found.typical = of_median_length(found.cuts);
    finish(found);
    return found;
  }

  Period at(std::vector<std::size_t> cuts) const {
    Period period{.cuts = std::move(cuts)};
    period.typical = of_median_length(period.cuts);
    period.seen = period.count();
    finish(period);
    return period;
  }

 private:
  std::vector<Period> periods_of(const std::vector<Turns>& all) {
    std::vector<Period> found;
    int tried = 0;
    for (const Turns& turns : all) {
      if (!holds_half(turns.first.front(), turns.first.back() + 1)) continue;
      // Those with more evidence came earlier. Of equal evidence, the more regular one: where the
      // profiler lost launches, two repetitions may look like one.
      const auto same_level = [&](const Period& p) {
        return 2 * turns.first.size() < 3 * p.count() && 2 * p.count() < 3 * turns.first.size();
      };
      const auto same = std::find_if(found.begin(), found.end(), same_level);
      if (same != found.end() && (turns.kinds < std::max<std::size_t>(2, same->kinds) ||
                                  turns.first.size() == same->seen || same->regular_fraction == 1))
        continue;
      if (++tried > most_tried) break;
      std::optional<Period> period = period_of(turns);
      if (!period || period->is_weak()) continue;
      if (same == found.end())
        found.push_back(std::move(*period));
      else if (period->regular_fraction > same->regular_fraction)
        *same = std::move(*period);
    }
    return found;
  }

  bool holds_half(std::size_t from, std::size_t to) const {
    return 2 * (to - from) >= seq_.size() ||
           2 * (busy_until_[to] - busy_until_[from]) >= busy_until_.back();
  }

  bool is_graph(Places places) const { return seq_.is(places.front(), OpKind::graph); }

  // --- How alike pieces are

  void count_usual(std::size_t from, std::size_t to) {
    std::fill(usual_.begin(), usual_.end(), 0);
    std::fill(usual_ns_.begin(), usual_ns_.end(), 0);
    for (std::size_t i = from; i < to; ++i) {
      ++usual_[seq_.alike().at[i]];
      usual_ns_[seq_.alike().at[i]] += static_cast<double>(seq_.busy_ns(i));
    }
    usual_length_ = static_cast<double>(to - from);
    usual_square_ = usual_ns_square_ = 0;
    usual_kinds_ = 0;
    for (const double n : usual_) {
      usual_square_ += n * n;
      usual_kinds_ += n > 0;
    }
    for (const double ns : usual_ns_) usual_ns_square_ += ns * ns;
  }

  bool is_usual(std::size_t from, std::size_t to) {
    const double length = static_cast<double>(to - from);
    if (length > most_times_as_long * usual_length_ || most_times_as_long * length < usual_length_)
      return false;
    for (std::size_t i = from; i < to; ++i) {
      ++piece_[seq_.alike().at[i]];
      piece_ns_[seq_.alike().at[i]] += static_cast<double>(seq_.busy_ns(i));
    }
    double both = 0, product = 0, square = 0, product_ns = 0, square_ns = 0;
    double kinds = 0, common_kinds = 0;
    for (std::size_t i = from; i < to; ++i) {
      const Token t = seq_.alike().at[i];
      if (piece_[t] == 0) continue;
      both += std::min(piece_[t], usual_[t]);
      ++kinds;
      common_kinds += usual_[t] > 0;
      product += piece_[t] * usual_[t];
      square += piece_[t] * piece_[t];
      product_ns += piece_ns_[t] * usual_ns_[t];
      square_ns += piece_ns_[t] * piece_ns_[t];
      piece_[t] = piece_ns_[t] = 0;
    }
    return both >= alike_share * usual_length_ ||
           common_kinds >= alike_cosine * std::max(kinds, usual_kinds_) ||
           product >= alike_cosine * std::sqrt(square * usual_square_) ||
           (square_ns > 0 && product_ns >= alike_cosine * std::sqrt(square_ns * usual_ns_square_));
  }

  // --- From places to a period

  std::optional<Period> period_of(const Turns& turns) {
    const Places anchors = turns.first;
    std::vector<std::size_t> cuts(anchors.begin(), anchors.end());
    const std::size_t typical = of_median_length(cuts);
    count_usual(cuts[typical], cuts[typical + 1]);
    if (!has_work(cuts[typical], cuts[typical + 1])) return std::nullopt;
    // Start-up and what follows the loop differ; the middle must not.
    std::vector<char> alike(cuts.size() - 1);
    std::size_t unlike = 0, held = 0;
    double held_ns = 0;
    for (std::size_t k = 0; k < alike.size(); ++k) {
      alike[k] = is_usual(cuts[k], cuts[k + 1]);
      if (!alike[k] && 2 * ++unlike > alike.size()) return std::nullopt;
      if (!alike[k]) continue;
      held += cuts[k + 1] - cuts[k];
      held_ns += busy_until_[cuts[k + 1]] - busy_until_[cuts[k]];
    }
    const double of_all = least_of_loop(alike.size());
    if (static_cast<double>(held) < of_all * static_cast<double>(seq_.size()) &&
        held_ns < of_all * busy_until_.back())
      return std::nullopt;
    auto first = std::find(alike.begin(), alike.end(), 1);
    auto last = std::find(alike.rbegin(), alike.rend(), 1).base();
    // What holds more than all repetitions is none: the loop begins anew after it, as where a
    // program compiles again.
    for (auto k = first; k < last;) {
      const auto n = static_cast<std::size_t>(k - alike.begin());
      if (*k || cuts[n + 1] - cuts[n] <= held)
        ++k;
      else if (2 * std::count(first, k, 1) < std::count(first, last, 1))
        k = first = std::find(k, last, 1);
      else
        last = std::find(std::make_reverse_iterator(k), alike.rend(), 1).base();
    }
    if (first >= last) return std::nullopt;
    const auto count = static_cast<std::size_t>(last - first);
    if (static_cast<double>(std::count(first, last, 1)) < least_same * static_cast<double>(count))
      return std::nullopt;
    const auto skipped = static_cast<std::size_t>(first - alike.begin());
    cuts.assign(anchors.begin() + static_cast<std::ptrdiff_t>(skipped),
                anchors.begin() + static_cast<std::ptrdiff_t>(skipped + count + 1));
    cuts = well_cut(cuts);
    const std::size_t joined = split_joined(cuts);
    if (cuts.size() < least_count + 1 || !holds_half(cuts.front(), cuts.back()))
      return std::nullopt;
    if (!come_in_order(cuts)) return std::nullopt;
    Period period{.cuts = std::move(cuts), .kinds = turns.kinds, .seen = anchors.size() + joined};
    // A single kernel launched over and over is no loop worth reporting, but a graph contains many
    // kernels.
    period.typical = of_median_length(period.cuts);
    if (period.length() == 1 && !is_graph(anchors)) return std::nullopt;
    finish(period);
    return period;
  }

  void finish(Period& period) const {
    period.busy_ns = busy_until_[period.cuts.back()] - busy_until_[period.cuts.front()];
    period.typical_ns =
        busy_until_[period.end_of(period.typical)] - busy_until_[period.begin_of(period.typical)];
    period.regular_fraction = regular_fraction(period);
    find_what_recurs(period);
  }

  bool is_work(std::size_t i) const {
    return seq_.is(i, OpKind::kernel) || seq_.is(i, OpKind::graph);
  }

  void find_what_recurs(Period& period) const {
    constexpr double about = 0.2;  // of the usual number
    const std::vector<Token>& tokens = seq_.alike().at;
    struct Kind {
      bool is_work = false;
      double busy_ns = 0;
      std::vector<std::size_t> counts;  // of the repetitions that hold it
      std::size_t last = 0;             // the repetition that was counted last, from 1
    };
    std::vector<Kind> kinds(seq_.alike().count);
    for (std::size_t k = 0; k < period.count(); ++k)
      for (std::size_t i = period.begin_of(k); i < period.end_of(k); ++i) {
        if (seq_.op(i) == no_row) continue;
        Kind& kind = kinds[tokens[i]];
        kind.is_work = is_work(i) && seq_.busy_ns(i) > 0;  // ranks also meet after a validation
        kind.busy_ns += static_cast<double>(seq_.busy_ns(i));
        if (kind.last != k + 1) kind.counts.push_back(0);
        kind.last = k + 1;
        ++kind.counts.back();
      }
    const auto is_held = [&](const Kind& kind) {
      return static_cast<double>(kind.counts.size()) >=
             least_same * static_cast<double>(period.count());
    };
    // How much of a kind that is held recurs, from 0 to 1.
    const auto recurring_fraction = [&](Kind& kind) {
      kind.counts.resize(period.count());
      const auto middle = kind.counts.begin() + static_cast<std::ptrdiff_t>(kind.counts.size() / 2);
      std::nth_element(kind.counts.begin(), middle, kind.counts.end());
      const auto usual = static_cast<double>(*middle);
      const auto same = std::count_if(kind.counts.begin(), kind.counts.end(), [&](std::size_t n) {
        return std::abs(static_cast<double>(n) - usual) <= about * usual;
      });
      if (static_cast<double>(same) >= least_same * static_cast<double>(period.count())) return 1.0;
      double all = 0, within_usual = 0;
      for (const std::size_t n : kind.counts) {
        all += static_cast<double>(n);
        within_usual += std::min(static_cast<double>(n), usual);
      }
      return within_usual / all;
    };
    double busy_ns = 0, recurring_ns = 0;
    double of_work = 0, recurring = 0;
    for (Kind& kind : kinds) {
      if (kind.counts.empty()) continue;
      busy_ns += kind.busy_ns;
      of_work += kind.is_work;
      if (!is_held(kind)) continue;
      recurring += kind.is_work;
      recurring_ns += recurring_fraction(kind) * kind.busy_ns;
    }
    if (busy_ns > 0) period.recurring_busy_fraction = recurring_ns / busy_ns;
    if (of_work > 0) period.recurring_kinds_fraction = recurring / of_work;
  }

  // Which piece has the median length: the first of them.
  static std::size_t of_median_length(const std::vector<std::size_t>& cuts) {
    std::vector<std::size_t> lengths;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) lengths.push_back(cuts[k + 1] - cuts[k]);
    std::vector<std::size_t> sorted = lengths;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return static_cast<std::size_t>(std::find(lengths.begin(), lengths.end(), *middle) -
                                    lengths.begin());
  }

  double regular_fraction(const Period& period) const {
    const auto launches = [&](std::size_t k) {
      std::size_t n = 0;
      for (std::size_t i = period.begin_of(k); i < period.end_of(k); ++i) n += seq_.op(i) != no_row;
      return static_cast<double>(n);
    };
    const double usual = launches(period.typical);
    std::size_t regular = 0;
    for (std::size_t k = 0; k < period.count(); ++k)
      regular += std::abs(launches(k) - usual) <= 0.1 * usual;
    return static_cast<double>(regular) / static_cast<double>(period.count());
  }

  // Whether most of each piece occurs in the same order in the next. Pieces of a random mix of
  // launches contain about the same, but not in the same order.
  bool come_in_order(const std::vector<std::size_t>& cuts) {
    constexpr double least_share = 0.5;
    const std::vector<Token>& orders = seq_.in_order().at;
    std::size_t again = 0, all = 0;
    for (std::size_t k = 1; k + 1 < cuts.size(); ++k) {
      std::size_t before = 0, here = 0;
      for (std::size_t i = cuts[k - 1]; i < cuts[k]; ++i)
        if (orders[i] != 0) {
          ++orders_[orders[i]];
          ++before;
        }
      for (std::size_t i = cuts[k]; i < cuts[k + 1]; ++i) {
        here += orders[i] != 0;
        if (orders[i] == 0 || orders_[orders[i]] == 0) continue;
        --orders_[orders[i]];
        ++again;
      }
      for (std::size_t i = cuts[k - 1]; i < cuts[k]; ++i) orders_[orders[i]] = 0;
      all += std::min(before, here);
    }
    return static_cast<double>(again) >= least_share * static_cast<double>(all);
  }

  // A loop of copies alone is a model being loaded.
  bool has_work(std::size_t from, std::size_t to) const {
    for (std::size_t i = from; i < to; ++i)
      if (is_work(i)) return true;
    return false;
  }

  // --- Where a repetition begins

  // A place in a repetition is identified by its token and by how often that token came before it
  // in the repetition, which works even where repetitions differ a little.
  using Place = std::pair<Token, std::size_t>;

  Token token(std::size_t i) const { return (of_sizes_ ? seq_.alike() : seq_.exact()).at[i]; }

  // Calls take(i, place) between the k-th cut and the next.
  template <class Take>
  void each_place(const std::vector<std::size_t>& cuts, std::size_t k, Take take) {
    for (std::size_t i = cuts[k]; i < cuts[k + 1]; ++i) take(i, Place{token(i), seen_[token(i)]++});
    for (std::size_t i = cuts[k]; i < cuts[k + 1]; ++i) seen_[token(i)] = 0;
  }

  // Where the entries of the typical repetition occur again before the first cut and after the
  // last: one more repetition may have been cut off there. Skips other entries.
  struct Ends {
    std::vector<std::size_t> before, after;  // by place in the repetition; `nowhere` if not found
  };
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  Ends ends_of(const std::vector<std::size_t>& cuts, std::size_t typical) const {
    const std::size_t from = cuts[typical], length = cuts[typical + 1] - from;
    Ends ends{std::vector(length, nowhere), std::vector(length, nowhere)};
    find_along(from, from + length, cuts.back(), std::min(cuts.back() + 2 * length, seq_.size()), 1,
               ends.after);
    if (cuts.front() > 0)
      find_along(from + length - 1, from - 1, cuts.front() - 1,
                 cuts.front() - std::min(2 * length, cuts.front()) - 1, -1, ends.before);
    return ends;
  }

  // Matches the entries from `from` to `to` (not included) against those from `at` to `end`, in one
  // direction, as long as they match. Tolerates a few missing or additional entries.
  void find_along(std::size_t from, std::size_t to, std::size_t at, std::size_t end, int step,
                  std::vector<std::size_t>& found) const {
    constexpr int most_ahead = 32;
    const auto ahead = [&](std::size_t i, int n) {
      return i + static_cast<std::size_t>(n) * static_cast<std::size_t>(step);
    };
    const auto left = [&](std::size_t i, std::size_t last) {
      return step > 0 ? static_cast<std::int64_t>(last - i) : static_cast<std::int64_t>(i - last);
    };
    const std::size_t lowest = step > 0 ? from : ahead(to, -1);
    while (from != to && at != end) {
      int skip = 0;
      while (skip < most_ahead && skip < left(at, end) && token(ahead(at, skip)) != token(from))
        ++skip;
      if (skip < most_ahead && skip < left(at, end)) {
        at = ahead(at, skip);
        found[from - lowest] = at;
        at = ahead(at, 1);
        from = ahead(from, 1);
        continue;
      }
      int missing = 1;  // from the recording
      while (missing < most_ahead && missing < left(from, to) &&
             token(ahead(from, missing)) != token(at))
        ++missing;
      if (missing == most_ahead || missing >= left(from, to)) return;
      for (; missing > 0; --missing, from = ahead(from, 1)) found[from - lowest] = at;
    }
  }

  // How many repetitions are whole if they begin at this place of the typical one, not counting
  // those between the cuts, which always are.
  static int whole_at_ends(const Ends& ends, std::size_t place) {
    if (place == 0) return ends.after.back() != nowhere ? 1 : 0;
    return (ends.before[place] != nowhere) + (ends.after[place - 1] != nowhere) - 1;
  }

  // On either side of an entry. Where the profiler lost one launch in twenty, the same place of two
  // repetitions has 14 of these 16 in common on the average, and fewer than 12 in 1.5 % of all
  // places.
  static constexpr std::size_t neighbours = 8, least_common = 12;

  // How many of the entries around one come around another, too.
  std::size_t common_neighbours(std::size_t i, std::size_t other) const {
    const auto common = [&](const auto& neighbour) {
      std::vector<Token> of_one, of_other, both;
      for (std::size_t n = 1; n <= neighbours; ++n) {
        if (const std::size_t at = neighbour(i, n); at < seq_.size()) of_one.push_back(token(at));
        if (const std::size_t at = neighbour(other, n); at < seq_.size())
          of_other.push_back(token(at));
      }
      std::sort(of_one.begin(), of_one.end());
      std::sort(of_other.begin(), of_other.end());
      std::set_intersection(of_one.begin(), of_one.end(), of_other.begin(), of_other.end(),
                            std::back_inserter(both));
      return both.size();
    };
    // What lies before the first entry is no place: the difference wraps.
    return common([](std::size_t at, std::size_t n) { return at - n; }) +
           common([](std::size_t at, std::size_t n) { return at + n - 1; });
  }

  // Where a place is in the k-th repetition; `nowhere` if it is not.
  std::size_t found_in(const std::vector<std::size_t>& cuts, std::size_t k, const Place& place) {
    std::size_t found = nowhere;
    each_place(cuts, k, [&](std::size_t i, const Place& at) {
      if (at == place) found = i;
    });
    return found;
  }

  // The repetition of median length, or, if the profiler lost the place there at which most pause
  // for longest, one about as long that has it. What stands in for it lies among others.
  std::size_t typical_of(const std::vector<std::size_t>& cuts, const std::vector<Place>& longest_at,
                         const Place& of_most) {
    const std::size_t median = of_median_length(cuts), in_median = found_in(cuts, median, of_most);
    const auto apart = [&](std::size_t k) {
      const std::size_t a = cuts[k + 1] - cuts[k], b = cuts[median + 1] - cuts[median];
      return std::max(a, b) - std::min(a, b);
    };
    std::size_t best = median;
    for (std::size_t k = 0; k < longest_at.size() && longest_at[median] != of_most; ++k)
      if (longest_at[k] == of_most && (best == median || apart(k) < apart(best))) best = k;
    const bool is_lost = in_median == nowhere ||
                         common_neighbours(in_median, found_in(cuts, best, of_most)) < neighbours;
    return is_lost ? best : median;
  }

  // Any cut gives repetitions of the right length. Prefer to cut where the host pauses before it
  // starts over, or, if it hardly pauses, where the most repetitions are whole.
  std::vector<std::size_t> well_cut(const std::vector<std::size_t>& cuts) {
    constexpr double least_pause = 0.05;  // of a repetition
    std::vector<Place> longest_at;        // by repetition
    std::map<Place, std::size_t> votes_for;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      std::pair<Ns, Place> longest{-1, {}};
      each_place(cuts, k, [&](std::size_t i, const Place& place) {
        const Ns pause = seq_.pause_before(i);
        if (pause > longest.first) longest = {pause, place};
      });
      longest_at.push_back(longest.second);
      ++votes_for[longest.second];
    }
    const auto most =
        std::max_element(votes_for.begin(), votes_for.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::size_t typical = 2 * most->second >= longest_at.size()
                                    ? typical_of(cuts, longest_at, most->first)
                                    : of_median_length(cuts);
    const std::size_t from = cuts[typical];
    const Ends ends = ends_of(cuts, typical);
    const double took = static_cast<double>(seq_.begun(cuts.back()) - seq_.begun(cuts.front())) /
                        static_cast<double>(cuts.size() - 1);
    struct Choice {
      bool pauses = false;
      int whole = -2;
      std::size_t votes = 0;
    } best;
    std::pair<std::size_t, Place> chosen{0, {token(from), 0}};
    each_place(cuts, typical, [&](std::size_t i, const Place& place) {
      const auto votes = votes_for.find(place);
      Choice choice{.whole = whole_at_ends(ends, i - from),
                    .votes = votes == votes_for.end() ? 0 : votes->second};
      choice.pauses =
          2 * choice.votes >= cuts.size() - 1 &&
          static_cast<int>(cuts.size()) - 1 + choice.whole >= static_cast<int>(least_count) &&
          static_cast<double>(seq_.pause_before(i)) >= least_pause * took;
      if (std::tuple(choice.pauses, choice.whole, choice.votes) >
          std::tuple(best.pauses, best.whole, best.votes)) {
        best = choice;
        chosen = {i - from, place};
      }
    });
    return cut_at(cuts, typical, chosen.first, chosen.second, ends, best.pauses);
  }

  // Cuts at a place of the typical repetition, by which the others tell it. `at_pause`: those that
  // lack it, since the profiler lost it, pause for longest there all the same.
  std::vector<std::size_t> cut_at(const std::vector<std::size_t>& cuts, std::size_t typical,
                                  std::size_t place, const Place& told, const Ends& ends,
                                  bool at_pause) {
    std::vector<std::size_t> moved;
    if (place > 0 && ends.before[place] != nowhere) moved.push_back(ends.before[place]);
    const std::size_t at_front = moved.size();
    for (std::size_t k = 0; place > 0 && k + 1 < cuts.size(); ++k) {
      std::size_t found = nowhere, longest = std::min(cuts[k + 1], seq_.size() - 1);
      each_place(cuts, k, [&](std::size_t i, const Place& at) {
        if (at == told) found = i;
        if (i > cuts[k] && seq_.pause_before(i) > seq_.pause_before(longest)) longest = i;
      });
      // Where it was lost, a later one like it may stand in for it, but among others.
      const auto is_lost = [&, model = cuts[typical] + place] {
        return found == nowhere ||
               (2 * seq_.pause_before(found) < seq_.pause_before(longest) &&
                common_neighbours(longest, model) > common_neighbours(found, model));
      };
      if (at_pause && longest != found && is_lost()) found = longest;
      if (found != nowhere) moved.push_back(found);
    }
    // A missing cut would join two repetitions.
    if (place == 0 || moved.size() - at_front + 1 < cuts.size()) {
      moved = cuts;
      place = 0;
    }
    std::size_t end = place == 0 ? cuts[typical + 1] - cuts[typical] - 1 : place - 1;
    // The largest size is the last: what is freed after the others may stay at the program's end.
    while (of_sizes_ && end > 0 && ends.after[end] == nowhere &&
           seq_.op(cuts[typical] + end) == no_row)
      --end;
    if (ends.after[end] != nowhere) moved.push_back(ends.after[end] + 1);
    return moved;
  }

  // --- Repetitions that look like one

  // Cuts what holds the typical repetition several times, because the profiler lost the launch that
  // tells them; where most hold it once, and the entries around the begin of a repetition come once
  // more inside. Returns how often.
  std::size_t split_joined(std::vector<std::size_t>& cuts) {
    // Where more hold it several times, lengths depend on the data: one launch that tells the
    // repetitions is lost in one of twenty.
    constexpr double most_regular = 0.75;
    const std::size_t typical = of_median_length(cuts), begin = cuts[typical];
    count_usual(begin, cuts[typical + 1]);
    double regular = 0;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
      regular += 2 * static_cast<double>(cuts[k + 1] - cuts[k]) < 3 * usual_length_;
    if (regular < most_regular * static_cast<double>(cuts.size() - 1)) return 0;
    // Nothing comes before the first repetition of a recording, and nothing after the last.
    const std::size_t model = begin > 0 ? begin : cuts[typical + 1];
    std::vector<std::size_t> split;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
      for (std::size_t from = cuts[k], next = nowhere; from != nowhere; from = next) {
        split.push_back(from);
        next = next_begin(from, cuts[k + 1], model);
      }
    split.push_back(cuts.back());
    const std::size_t added = split.size() - cuts.size();
    cuts = std::move(split);
    return added;
  }

  // Where the second of several usual repetitions in a piece begins; `nowhere` if there is one.
  std::size_t next_begin(std::size_t from, std::size_t to, std::size_t model) {
    // Of a repetition: three deviations of the difference between two of 50 launches, of which one
    // in twenty is lost, are 13 %.
    constexpr double about = 0.15;
    const auto least = static_cast<std::size_t>((1 - about) * usual_length_),
               most = static_cast<std::size_t>((1 + about) * usual_length_);
    std::pair<std::size_t, std::size_t> best{0, nowhere};
    for (std::size_t i = from + least; i <= from + most && i + least <= to; ++i)
      best = std::max(best, {common_neighbours(i, model), i});
    const std::size_t at = best.second;
    const bool is_begin = best.first >= least_common && holds_usual(from, at) &&
                          holds_usual(at, std::min(to, at + most));
    return is_begin ? at : nowhere;
  }

  // Whether a piece holds most of the usual entries: the profiler may have lost some in either.
  bool holds_usual(std::size_t from, std::size_t to) {
    constexpr double most = 0.8;  // 90 % on the average, where one in twenty is lost
    double both = 0;
    for (std::size_t i = from; i < to; ++i)
      both += piece_[seq_.alike().at[i]]++ < usual_[seq_.alike().at[i]];
    for (std::size_t i = from; i < to; ++i) piece_[seq_.alike().at[i]] = 0;
    return both >= most * usual_length_;
  }

  const LaunchSequence& seq_;
  const bool of_sizes_;
  std::vector<double> busy_until_;  // device time of everything launched before
  // By alike token: of the typical piece, and of the piece compared to it.
  std::vector<double> usual_, usual_ns_, piece_, piece_ns_;
  std::vector<std::size_t> orders_;  // by in-order token; 0 outside of come_in_order
  std::vector<std::size_t> seen_;    // by exact token; 0 outside of each_place
  double usual_length_ = 0, usual_kinds_ = 0, usual_square_ = 0, usual_ns_square_ = 0;
};

}  // namespace

// Of 138 recordings whose unit is known, the unit's period leaves at most 0.5 % of the device's
// time out, and a quarter of the kinds: a log or a copy of a result comes once in a while. Layers
// that are no unit leave out 2 to 40 %, or more than 30 % of the kinds.
bool Period::is_whole() const {
  return recurring_busy_fraction >= 0.99 && recurring_kinds_fraction >= 0.7;
}

// Batches of different lengths, and steps of which some save or recompile, are a unit: 73 % and
// more recur. Where a loop is but a part of what repeats, 40 % and less do.
bool Period::is_nearly_whole() const {
  return recurring_busy_fraction >= least_same || leaves_little_out();
}

// Few kinds, however long they take, come once in a while: a checkpoint, a validation. Layers leave
// out 22 % and more of the kinds.
bool Period::leaves_little_out() const {
  return is_whole() || recurring_kinds_fraction >= alike_share;
}

bool are_sizes(const std::vector<Ns>& lengths) {
  constexpr std::size_t least_sizes = 4;
  constexpr double noise = 0.1;        // sizes differ by more
  constexpr double least_times = 2.5;  // the largest, of the median: a linear growth reaches 2
  if (lengths.empty()) return false;
  std::size_t grown = 0, shrunk = 0;
  double longest = static_cast<double>(lengths.front());
  for (const Ns ns : lengths) {
    const auto length = static_cast<double>(ns);
    grown += length > (1 + noise) * longest;
    shrunk += length < (1 - noise) * longest;
    longest = std::max(longest, length);
  }
  // Kernels are loaded for one size or another.
  return 5 * shrunk <= lengths.size() && grown >= least_sizes &&
         longest >= least_times * static_cast<double>(median(lengths));
}

std::optional<Period> cut_by_size(const LaunchSequence& sequence, const Period& period) {
  std::vector<Ns> lengths;
  for (std::size_t k = 0; k < period.count(); ++k) {
    lengths.push_back(0);
    for (std::size_t i = period.begin_of(k); i < period.end_of(k); ++i)
      lengths.back() += sequence.busy_ns(i);
  }
  if (!are_sizes(lengths)) return std::nullopt;
  const auto largest = std::max_element(lengths.begin(), lengths.end());
  return Search(sequence, true)
      .by_size(period, static_cast<std::size_t>(largest - lengths.begin()));
}

std::vector<Period> find_periods(const LaunchSequence& sequence) {
  if (sequence.size() < least_count) return {};
  return Search(sequence).periods();
}

std::optional<Period> find_twice(const LaunchSequence& sequence) {
  if (sequence.size() < 2) return std::nullopt;
  return Search(sequence).twice();
}

Period period_at(const LaunchSequence& sequence, std::vector<std::size_t> cuts) {
  return Search(sequence).at(std::move(cuts));
}

}  // namespace gh

#include "analysis/structure/periodic_events.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/analysis.hpp"
#include "analysis/causes.hpp"
#include "analysis/launch_times.hpp"
#include "analysis/structure/structure.hpp"
#include "base/profile.hpp"

namespace gh {
namespace {

// Steps among which long ones are looked for one by one: the search is quadratic in the long ones.
constexpr std::size_t most_searched = 1024;

// A loader that fills its queue in bursts may drift: where long steps are far apart, they may come
// this much sooner or later.
std::int64_t leeway(std::int64_t every) { return every / 16; }

// The logarithm of how many ways there are to choose m of n.
double log_choose(std::size_t n, std::size_t m) {
  const auto log_factorial = [](std::size_t k) { return std::lgamma(static_cast<double>(k) + 1); };
  return log_factorial(n) - log_factorial(m) - log_factorial(n - m);
}

// How many sets of `count` steps at one distance chance is expected to put among `longer` of `all`
// steps, if each may come `shift` steps sooner or later. Of n steps, n^2 / m^3 sets of m lie at one
// distance so that none is missing before the first, between them or after the last: there are some
// n / m^2 distances, with n / m places each for the first one.
double expected_by_chance(std::size_t all, std::size_t longer, std::size_t count,
                          std::int64_t shift) {
  const auto n = static_cast<double>(all), m = static_cast<double>(count);
  return std::exp(std::log(n * n / (m * m * m)) +
                  (m - 1) * std::log(2 * static_cast<double>(shift) + 1) +
                  log_choose(longer, count) - log_choose(all, count));
}

// Takes steps from the longest to shorter ones and asks of each whether, with one that was taken
// before, it begins a sequence of which none is missing. Of all that are found, the one that chance
// is least likely to make.
class RegularSearch {
 public:
  RegularSearch(const std::vector<bool>& known, std::size_t searched)
      : known_(known), is_long_(searched, false) {}

  std::optional<RegularSteps> best(const std::vector<Ns>& lengths) {
    const std::size_t n = is_long_.size();
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < n; ++k)
      if (!known_[k]) order.push_back(k);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return lengths[x] > lengths[y]; });
    // Of steps that take turns, half are long.
    order.resize(std::min(order.size(), (n + 1) / 2));
    std::size_t least = 3;  // steps that chance allows a period
    for (std::size_t taken = 0; taken < order.size(); ++taken) {
      is_long_[order[taken]] = true;
      // The more steps are long, the more of them chance puts at one distance.
      while (least <= taken && expected_by_chance(n, taken + 1, least, 0) > allowed(least)) ++least;
      const std::size_t longest_distance = (n + n / 16) / (least - 1);
      for (std::size_t other = 0; other < taken; ++other) {
        const auto [first, second] = std::minmax(order[taken], order[other]);
        const std::size_t every = second - first;
        if (every >= 2 && every <= longest_distance) try_distance(first, every, taken + 1);
      }
    }
    return best_;
  }

 private:
  struct Sequence {
    RegularSteps regular;
    std::size_t counted = 0;  // that are not known
    std::int64_t shift = 0;   // the widest
  };

  void try_distance(std::size_t at, std::size_t every, std::size_t longer) {
    // Most begin none: the step after the next one shows it.
    const auto third = static_cast<std::int64_t>(at + 2 * every),
               most = leeway(static_cast<std::int64_t>(every));
    if (third + most < static_cast<std::int64_t>(is_long_.size()) && !shift_of(third, most)) return;
    Sequence sequence{.regular = {.every = every, .steps = {at}}};
    sequence.counted = known_[at] ? 0 : 1;
    if (!follow(sequence, -1)) return;
    std::reverse(sequence.regular.steps.begin(), sequence.regular.steps.end());
    if (!follow(sequence, 1) || sequence.counted < 3) return;
    if (2 * sequence.counted < sequence.regular.steps.size()) return;
    const double expected =
        expected_by_chance(is_long_.size(), longer, sequence.counted, sequence.shift);
    if (expected > allowed(sequence.counted) || expected >= least_expected_) return;
    least_expected_ = expected;
    best_ = std::move(sequence.regular);
  }

  // Chance may show a period in one recording of fifty, over all numbers of steps that may have
  // one: half of that with three of them, half of the rest with four.
  static double allowed(std::size_t count) {
    return 0.02 * std::exp2(2 - static_cast<double>(count));
  }

  // Adds the long steps before or after the last one of a sequence; false if one is missing.
  bool follow(Sequence& sequence, std::int64_t direction) const {
    const auto every = static_cast<std::int64_t>(sequence.regular.every);
    const auto all = static_cast<std::int64_t>(is_long_.size());
    const std::int64_t most = leeway(every);
    while (true) {
      const std::int64_t place =
          static_cast<std::int64_t>(sequence.regular.steps.back()) + direction * every;
      const std::optional<std::int64_t> shift = shift_of(place, most);
      // At the ends the recording may have cut one off.
      if (!shift) return place - most < 0 || place + most >= all;
      sequence.shift = std::max(sequence.shift, std::abs(*shift));
      const auto step = static_cast<std::size_t>(place + *shift);
      sequence.regular.steps.push_back(step);
      sequence.counted += known_[step] ? 0 : 1;
    }
  }

  // By how much the long step that is nearest to a place lies beside it; known ones count too.
  std::optional<std::int64_t> shift_of(std::int64_t place, std::int64_t most) const {
    for (std::int64_t by = 0; by <= most; ++by)
      for (const std::int64_t shift : {-by, by}) {
        const auto at = static_cast<std::size_t>(place + shift);
        if (place + shift >= 0 && at < is_long_.size() && (is_long_[at] || known_[at]))
          return shift;
      }
    return std::nullopt;
  }

  const std::vector<bool>& known_;
  std::vector<bool> is_long_;
  std::optional<RegularSteps> best_;
  double least_expected_ = 1;
};

// What one device's steps hold.
class DeviceEvents {
 public:
  DeviceEvents(const Analysis& a, std::size_t device)
      : a_(a), device_(device), account_(a.account.devices[device]) {}

  std::vector<PeriodicEvent> find() const {
    const std::vector<Ns> lengths = a_.devices[device_].lengths();
    std::vector<bool> known(lengths.size(), false);
    std::vector<Found> found;
    std::size_t count = 0;
    while (const auto regular = find_regular(lengths, known)) {
      count += regular->steps.size();
      if (2 * count > lengths.size() + 1) break;  // else nothing would be usual
      for (const std::size_t step : regular->steps) known[step] = true;
      if (!stand_out(regular->steps, lengths, known)) {
        for (const std::size_t step : regular->steps) known[step] = false;
        break;
      }
      add(*regular, found);
    }
    if (found.empty()) return {};
    const std::vector<double> usual = mean_causes([&](std::size_t k) { return !known[k]; });
    std::vector<PeriodicEvent> events;
    for (const Found& f : found) {
      PeriodicEvent event = cost_of(f, usual);
      if (name_owner(event, known)) events.push_back(std::move(event));
    }
    return events;
  }

 private:
  struct Found {
    RegularSteps regular;
    std::size_t times = 0;  // one may spread over several steps
  };

  // Whether steps are longer than chance makes the usual ones: beyond Tukey's fence, which the
  // shorter half of those tells, since the longer half may hold other events.
  static bool stand_out(const std::vector<std::size_t>& steps, const std::vector<Ns>& lengths,
                        const std::vector<bool>& known) {
    std::vector<Ns> longer, usual;
    for (const std::size_t step : steps) longer.push_back(lengths[step]);
    for (std::size_t k = 0; k < lengths.size(); ++k)
      if (!known[k]) usual.push_back(lengths[k]);
    const Ns middle = median(usual);
    std::erase_if(usual, [&](Ns ns) { return ns > middle; });
    return median(longer) > middle + 4 * (middle - median(usual));
  }

  // What spreads over the step after it as well is one event.
  static void add(const RegularSteps& regular, std::vector<Found>& found) {
    const auto is_beside = [&](const RegularSteps& other) {
      const auto first = static_cast<std::int64_t>(regular.steps.front()),
                 other_first = static_cast<std::int64_t>(other.steps.front());
      const auto every = static_cast<std::int64_t>(regular.every);
      const std::int64_t apart = std::abs(first - other_first) % every;
      return other.every == regular.every && std::min(apart, every - apart) <= 1 + leeway(every);
    };
    const auto beside = std::find_if(found.begin(), found.end(),
                                     [&](const Found& f) { return is_beside(f.regular); });
    if (beside == found.end()) {
      found.push_back({regular, regular.steps.size()});
      return;
    }
    std::vector<std::size_t>& steps = beside->regular.steps;
    steps.insert(steps.end(), regular.steps.begin(), regular.steps.end());
    std::sort(steps.begin(), steps.end());
  }

  // What the steps that `takes` names spend by cause; the mean.
  template <class Takes>
  std::vector<double> mean_causes(Takes takes) const {
    std::vector<double> sums(a_.account.causes.size());
    double count = 0;
    for (std::size_t k = 0; k < account_.step_ns.size(); ++k) {
      if (!takes(k)) continue;
      ++count;
      for (std::size_t c = 0; c < sums.size(); ++c)
        sums[c] += static_cast<double>(account_.step_ns.of(k, c));
    }
    for (double& sum : sums) sum /= std::max(count, 1.0);
    return sums;
  }

  PeriodicEvent cost_of(const Found& found, const std::vector<double>& usual) const {
    const std::vector<std::size_t>& steps = found.regular.steps;
    const std::vector<double> held = mean_causes(
        [&](std::size_t k) { return std::binary_search(steps.begin(), steps.end(), k); });
    const double each = static_cast<double>(steps.size()) / static_cast<double>(found.times);
    PeriodicEvent event;
    event.every = static_cast<std::int64_t>(found.regular.every);
    for (std::size_t c = 0; c < held.size(); ++c) {
      const double more = each * (held[c] - usual[c]);
      event.extra_ns += more;
      if (more > event.cause_ns) std::tie(event.cause, event.cause_ns) = std::pair(c, more);
    }
    event.count = static_cast<std::int64_t>(found.times);
    event.cost_ns =
        event.extra_ns * static_cast<double>(found.times) / static_cast<double>(a_.step_count());
    for (const std::size_t step : steps) event.places.push_back({device_, step});
    return event;
  }

  // Names what takes most of the time that the event adds: in its steps, beyond what the steps
  // beside them hold of the same. False if they hold hardly more: where steps overlap, the same
  // work is exposed in some of them.
  bool name_owner(PeriodicEvent& event, const std::vector<bool>& known) const {
    constexpr std::size_t most_asked = 64;  // steps; they hold the same
    const std::size_t asked = std::min(event.places.size(), most_asked);
    std::map<Owner, Ns> more_ns;
    for (std::size_t n = 0; n < asked; ++n) {
      const std::size_t step = event.places[n].step;
      std::size_t beside = step;
      while (beside > 0 && known[beside]) --beside;
      while (beside < known.size() && known[beside]) ++beside;
      each_owner(event.cause, step, [&](const Owner& owner, Ns ns) { more_ns[owner] += ns; });
      if (beside < known.size())
        each_owner(event.cause, beside, [&](const Owner& owner, Ns ns) { more_ns[owner] -= ns; });
    }
    Ns all_ns = 0, most_ns = 0, sum_ns = 0;
    for (const auto& [owner, ns] : more_ns) {
      all_ns += std::max<Ns>(ns, 0);
      sum_ns += ns;
    }
    for (const auto& [owner, ns] : more_ns)
      if (2 * ns >= all_ns && ns > most_ns)
        std::tie(event.doing, event.within, most_ns) = std::tuple(owner.first, owner.second, ns);
    const double of_event = static_cast<double>(event.places.size()) / static_cast<double>(asked);
    return 2 * of_event * static_cast<double>(sum_ns) >=
           event.cause_ns * static_cast<double>(event.count);
  }

  // Calls take(owner, ns) for what a step holds of a cause: idle time, or the work's launches.
  template <class Take>
  void each_owner(std::size_t cause, std::size_t step, Take take) const {
    const Span span = a_.devices[device_].steps[step].span;
    const Cause& kind = a_.account.kinds[cause];
    if (kind.is_idle()) {
      const std::uint16_t process = a_.devices[device_].process;
      const HostWork& work = a_.structure().host_work();
      for (std::size_t i = first_idle(span.start);
           i < account_.idle.size() && account_.idle[i].span.start < span.end; ++i) {
        const Idle& idle = account_.idle[i];
        if (idle.cause != kind.idle) continue;
        const HostWork::Doing doing = work.during(idle, process);
        take({doing.name, doing.within}, idle.span.length());
      }
      return;
    }
    const Trace& t = a_.trace;
    const Causes causes(t, a_.classes, a_.names);
    const std::vector<std::uint8_t>& operators = a_.structure().operators();
    const std::vector<Row>& ops = a_.devices[device_].ops;
    auto op = std::partition_point(ops.begin(), ops.end(),
                                   [&](Row r) { return t.ops.start[r] < span.start; });
    const Ns first_launch = op == ops.end() ? 0 : launched_at(t, *op);
    for (; op != ops.end() && t.ops.start[*op] < span.end; ++op) {
      if (causes.of(*op) != cause) continue;
      // A range that was open from the first launch on is the step.
      const Row range =
          a_.structure().ranges().first_on_own_thread(t.calls, t.ops.call[*op], [&](Row r) {
            return operators[t.ranges.name[r]] == 0 && t.ranges.start[r] > first_launch;
          });
      take({range == no_row ? 0 : t.ranges.name[range], 0}, t.span_of(*op).length());
    }
  }

  // Of what ends after a moment.
  std::size_t first_idle(Ns at) const {
    const auto& idle = account_.idle;
    const auto first = std::partition_point(idle.begin(), idle.end(),
                                            [&](const Idle& i) { return i.span.end <= at; });
    return first.at;
  }

  using Owner = std::pair<NameId, NameId>;  // what, and the range around it

  const Analysis& a_;
  std::size_t device_;
  const DeviceAccount& account_;
};

// The same on several devices is one; on one device two of a kind come at different steps.
void add(PeriodicEvent event, std::vector<PeriodicEvent>& events) {
  const auto same = std::find_if(events.begin(), events.end(), [&](const PeriodicEvent& e) {
    return e.every == event.every && e.cause == event.cause &&
           e.places.back().device != event.places.front().device;
  });
  if (same == events.end()) {
    events.push_back(std::move(event));
    return;
  }
  const auto mean = [&](double& of, double other) {
    const auto has = static_cast<double>(same->places.size());
    const auto more = static_cast<double>(event.places.size());
    of = (of * has + other * more) / (has + more);
  };
  mean(same->extra_ns, event.extra_ns);
  same->cost_ns += event.cost_ns;
  mean(same->cause_ns, event.cause_ns);
  same->count = std::max(same->count, event.count);
  same->places.insert(same->places.end(), event.places.begin(), event.places.end());
}

}  // namespace

std::optional<RegularSteps> find_regular(const std::vector<Ns>& lengths,
                                         const std::vector<bool>& known) {
  const std::size_t searched = std::min(lengths.size(), most_searched);
  RegularSearch search(known, searched);
  std::optional<RegularSteps> found = search.best(lengths);
  if (!found || searched == lengths.size()) return found;
  // Beyond the steps that were searched, those count that are nearer to them than to the usual
  // ones.
  std::vector<Ns> longer;
  for (const std::size_t step : found->steps)
    if (!known[step]) longer.push_back(lengths[step]);
  const Ns least = std::midpoint(median(lengths), median(longer));
  const auto may_shift = static_cast<std::size_t>(leeway(static_cast<std::int64_t>(found->every)));
  for (std::size_t at = found->steps.back() + found->every; at < lengths.size();
       at += found->every) {
    const auto begin = lengths.begin() + static_cast<std::ptrdiff_t>(at - may_shift);
    const auto end =
        lengths.begin() + static_cast<std::ptrdiff_t>(std::min(at + may_shift + 1, lengths.size()));
    const auto longest = std::max_element(begin, end);
    if (*longest < least) continue;
    at = static_cast<std::size_t>(longest - lengths.begin());
    found->steps.push_back(at);
  }
  return found;
}

const std::vector<PeriodicEvent>& Analysis::periodic_events() const {
  return periodic_events_.get([this] {
    return timed("periodic events", [&] {
      return std::make_shared<const std::vector<PeriodicEvent>>(find_periodic_events(*this));
    });
  });
}

std::vector<PeriodicEvent> find_periodic_events(const Analysis& a) {
  std::vector<PeriodicEvent> events;
  if (!a.has_steps()) return events;
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    for (PeriodicEvent& event : DeviceEvents(a, d).find()) add(std::move(event), events);
  // What costs nothing is hidden by the GPU's work, and what costs hardly anything may be noise.
  constexpr double least_fraction = 0.02;  // changes no decision
  std::erase_if(events, [&](const PeriodicEvent& e) {
    return e.cost_ns < least_fraction * static_cast<double>(a.recorded_step_ns());
  });
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& x, const auto& y) { return x.cost_ns > y.cost_ns; });
  return events;
}

}  // namespace gh

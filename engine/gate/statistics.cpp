#include "gate/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gh {
namespace {

// From so many measurements a side on, a rank test can reach the level of 5 %: of four against
// four, one order in 35 is as extreme.
constexpr std::size_t enough = 4;

// Up to so many values a side, all orders are counted.
constexpr std::size_t most_exact = 20;

// A shift of medians stands out by so many standard errors, which are wider than those of means.
constexpr double standard_errors = 3, median_error = 1.2533;

// The standard deviation, from the median absolute deviation: one outlier does not widen it.
double spread(const std::vector<double>& v) {
  const double middle = median_of(v);
  std::vector<double> off;
  for (const double x : v) off.push_back(std::abs(x - middle));
  return 1.4826 * median_of(off);
}

// Whether a rank test of so many values can reach the level at all: two orders are the most
// extreme.
bool can_reach(double alpha, std::size_t n, std::size_t m) {
  const auto log_factorial = [](std::size_t k) { return std::lgamma(static_cast<double>(k) + 1); };
  const double log_orders = log_factorial(n + m) - log_factorial(n) - log_factorial(m);
  return 2 * std::exp(-log_orders) < alpha;
}

// Steps of one capture share the state of its machine, so that they are more alike than captures
// are: their shift also has to stand out by three standard errors of a difference of medians.
bool stands_out(double change, const std::vector<double>& x, const std::vector<double>& y) {
  const double error =
      median_error * std::hypot(spread(x) / std::sqrt(static_cast<double>(x.size())),
                                spread(y) / std::sqrt(static_cast<double>(y.size())));
  return std::abs(change) > standard_errors * error;
}

// The mean without the value that is the furthest up, or down.
double mean_without_extreme(const std::vector<double>& v, bool up) {
  if (v.size() < 2) return mean_of(v);
  const double extreme =
      up ? *std::max_element(v.begin(), v.end()) : *std::min_element(v.begin(), v.end());
  const double n = static_cast<double>(v.size());
  return (mean_of(v) * n - extreme) / (n - 1);
}

// What is left of a change of means without the value on each side that speaks most for it: one
// slow step may be bad luck.
double lasting_change(const std::vector<double>& x, const std::vector<double>& y) {
  const bool up = mean_of(y) > mean_of(x);
  const double left = mean_without_extreme(y, up) - mean_without_extreme(x, !up);
  return up ? std::max(0.0, left) : std::min(0.0, left);
}

// ---- Mann-Whitney

struct RankSum {
  double of_x = 0;
  double ties = 0;  // the sum of t^3 - t over groups of t equal values
};

RankSum rank_sum(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<std::pair<double, bool>> all;  // value, whether of x
  for (const double v : x) all.emplace_back(v, true);
  for (const double v : y) all.emplace_back(v, false);
  std::sort(all.begin(), all.end());
  RankSum sum;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t j = i;
    while (j < all.size() && all[j].first == all[i].first) ++j;
    const double t = static_cast<double>(j - i), rank = static_cast<double>(i + j + 1) / 2;
    sum.ties += t * t * t - t;
    for (; i < j; ++i) sum.of_x += all[i].second ? rank : 0;
  }
  return sum;
}

// The share of all orders of n and m values in which the statistic lies as far from its middle as
// `u` does.
double exact_p(std::size_t n, std::size_t m, double u, double middle) {
  // ways[k][u]: in how many ways k values of x, put among those of y so far, come to the statistic
  // u.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(n * m + 1, 0.0));
  ways[0][0] = 1;
  for (std::size_t place = 1; place <= n + m; ++place) {
    for (std::size_t k = std::min(place, n); k >= 1; --k) {
      if (place - k > m) break;  // more of y below than there are
      const std::size_t below = place - k;
      for (std::size_t v = n * m + 1; v-- > below;) ways[k][v] += ways[k - 1][v - below];
    }
  }
  double extreme = 0, total = 0;
  for (std::size_t v = 0; v <= n * m; ++v) {
    total += ways[n][v];
    if (std::abs(static_cast<double>(v) - middle) >= std::abs(u - middle) - 1e-9) {
      extreme += ways[n][v];
    }
  }
  return std::min(1.0, extreme / total);
}

// The normal approximation, corrected for ties and continuity.
double normal_p(double n, double m, double u, double middle, double ties) {
  const double all = n + m, variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
  if (variance <= 0) return 1;  // all values are the same
  return std::min(1.0,
                  std::erfc(std::max(0.0, std::abs(u - middle) - 0.5) / std::sqrt(2 * variance)));
}

// ---- what no test shows

// The standard deviation of `enough` values or more, without the one furthest from their median,
// which may be bad luck.
double usual_deviation(std::vector<double> v) {
  const double middle = median_of(v);
  std::sort(v.begin(), v.end(),
            [&](double a, double b) { return std::abs(a - middle) < std::abs(b - middle); });
  v.pop_back();
  const double mean = mean_of(v);
  double squares = 0;
  for (const double x : v) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / static_cast<double>(v.size() - 1));
}

// Whether a change that was tested and not proved is no more than the baseline's own measurements
// vary by. The other side's do not count: that they vary may be what got worse.
bool is_noise(const Difference& d, const std::vector<double>& x, const std::vector<double>& y,
              const GateSettings& settings) {
  if (*d.p < settings.alpha || std::abs(d.effect) > settings.noise_floor) return false;
  const double error = median_error * usual_deviation(x) *
                       std::hypot(1 / std::sqrt(static_cast<double>(x.size())),
                                  1 / std::sqrt(static_cast<double>(y.size())));
  return std::abs(d.after - d.before) <= standard_errors * error;
}

// What no test could have shown is real beyond the noise floor. So is what the test of ranks did
// not show of a mean, which a few steps can move, as long as it is not one of them alone. All else
// stays open, unless it is noise.
void judge_unproved(Difference& d, const std::vector<double>& x, const std::vector<double>& y,
                    double reference, const Yardstick& yardstick, const GateSettings& settings) {
  const bool tested = d.p.has_value();
  if (yardstick.exact) {
    d.open = true;
    return;
  }
  if (yardstick.means) {
    const double lasting = std::abs(relative_change(d.lasting, reference));
    d.real = lasting > settings.noise_floor && lasting > yardstick.least_effect;
    if (d.real && tested) d.basis += ", a few of them far off";
  } else {
    d.real = !tested && std::abs(d.effect) > settings.noise_floor;
  }
  d.open = !d.real && !(tested && is_noise(d, x, y, settings));
}

}  // namespace

double median_of(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double mean_of(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double mann_whitney_p(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.empty() || y.empty()) return 1;
  const RankSum ranks = rank_sum(x, y);
  const double n = static_cast<double>(x.size()), m = static_cast<double>(y.size());
  const double u = ranks.of_x - n * (n + 1) / 2, middle = n * m / 2;
  if (ranks.ties == 0 && x.size() <= most_exact && y.size() <= most_exact) {
    return exact_p(x.size(), y.size(), u, middle);
  }
  return normal_p(n, m, u, middle, ranks.ties);
}

double relative_change(double change, double reference) {
  if (reference > 0) return change / reference;
  return change == 0 ? 0 : std::copysign(1e9, change);
}

Difference difference_of(const Measurements& before, const Measurements& after,
                         const Yardstick& yardstick, const GateSettings& settings) {
  const bool by_captures = before.captures.size() >= enough && after.captures.size() >= enough;
  const bool by_steps =
      !by_captures && before.steps.size() >= enough && after.steps.size() >= enough;
  const bool of_captures = by_captures || before.steps.empty() || after.steps.empty();
  const std::vector<double>& x = of_captures ? before.captures : before.steps;
  const std::vector<double>& y = of_captures ? after.captures : after.steps;

  const auto middle = [&](const std::vector<double>& v) {
    return yardstick.means ? mean_of(v) : median_of(v);
  };
  const double tested_change = middle(y) - middle(x);

  Difference d;
  d.before = middle(yardstick.told_by_captures ? before.captures : x);
  d.after = middle(yardstick.told_by_captures ? after.captures : y);
  if (yardstick.means) d.lasting = lasting_change(x, y);
  const double change = d.after - d.before,
               reference = yardstick.reference.value_or(std::abs(d.before));
  d.effect = relative_change(change, reference);
  const bool counts = std::abs(d.effect) > yardstick.least_effect && change != 0;
  const bool tested = (by_captures || by_steps) && can_reach(settings.alpha, x.size(), y.size());

  if (tested) {
    d.p = mann_whitney_p(x, y);
    d.real = counts && *d.p < settings.alpha && change * tested_change > 0;
    d.basis = fmt::format("{} {} against {}", x.size(), by_captures ? "captures" : after.called,
                          y.size());
    if (by_steps && d.real && !stands_out(tested_change, x, y)) {
      d.real = false;
      d.basis += ", less than three standard errors";
    }
  } else if (yardstick.exact) {
    d.real = counts;
    d.basis = "counted";
  } else {
    d.basis = fmt::format("{} against {}, too few for a test, so only more than {} counts",
                          x.size(), y.size(), percent(settings.noise_floor));
  }
  if (!d.real && counts) judge_unproved(d, x, y, reference, yardstick, settings);
  return d;
}

std::string change_text(double effect) {
  return fmt::format("{}{:.{}f} %", effect < 0 ? "-" : "+", std::abs(effect) * 100,
                     std::abs(effect) < 0.0995 ? 1 : 0);
}

std::string basis_text(const Difference& d) {
  return d.p ? fmt::format("{}, p = {:.2g}", d.basis, *d.p) : d.basis;
}

}  // namespace gh
